#include "export/release/gate.h"
#include "schema/results/conditions.h"
#include "schema/store/drift.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_problems.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void add_keys(GHashTable *keys, const char *joined)
{
    g_auto(GStrv) split = g_strsplit(joined, ",", -1);
    for (char **key = split; *key != NULL; key++) {
        if (**key != '\0') {
            g_hash_table_add(keys, g_strdup(*key));
        }
    }
}

bool gate_init(struct gate *gate, Store *store, const char *target, GError **error)
{
    memset(gate, 0, sizeof *gate);
    if (!store_get_target(store, target, &gate->target, error)) {
        return false;
    }
    gate->damaged = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return true;
}

void gate_clear(struct gate *gate)
{
    g_clear_pointer(&gate->kernels, g_hash_table_unref);
    g_clear_pointer(&gate->damaged, g_hash_table_unref);
}

bool gate_learn_kernels(struct gate *gate, Store *store, const GPtrArray *results, GError **error)
{
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < results->len; i++) {
        const struct result *result = results->pdata[i];
        add_keys(keys, result->kept.kernel_keys);
    }
    guint count = 0;
    g_autofree gpointer *list = g_hash_table_get_keys_as_array(keys, &count);
    g_clear_pointer(&gate->kernels, g_hash_table_unref);
    gate->kernels =
        store_known_kernels(store, (const char *const *)(void *)list, (int)count, error);
    return gate->kernels != NULL;
}

bool gate_read_code(struct gate *gate, Store *store, const char *key, GError **error)
{
    g_autoptr(GError) bad = NULL;
    struct kernel_row *kernel = store_get_kernel(store, key, &bad);
    if (g_error_matches(bad, STORE_ERROR, STORE_ERROR_DAMAGED)) {
        g_hash_table_replace(gate->damaged, g_strdup(key), g_strdup(bad->message));
        return true;
    }
    if (kernel == NULL) {
        g_propagate_error(error, g_steal_pointer(&bad));
        return false;
    }
    kernel_row_free(kernel);
    return true;
}

void candidate_free(struct candidate *candidate)
{
    if (candidate != NULL) {
        g_strfreev(candidate->kernels);
        g_free(candidate);
    }
}

/* State shared by the tests of one result. A test may use what an earlier test has stored here. */
struct look {
    struct gate *gate;
    const struct result *result;
    const struct solver *solver; /* set by look_at_solver() */
    struct solution solution;    /* set by look_at_config() */
    struct context context; /* the one that the solution was made in; set by look_at_config() */
    char **keys;            /* keys of its kernels, NULL-terminated */
};

static char *look_at_row(struct look *look)
{
    return g_strdup(look->result->damage);
}

static char *look_at_job(struct look *look)
{
    if (look->result->problem_id == 0) {
        return g_strdup("the campaign has no such job, or not its problem and solver");
    }
    return NULL;
}

static char *look_at_rounds(struct look *look)
{
    const struct outcome *outcome = &look->result->kept.outcome;
    if (!look->result->verified) {
        return g_strdup_printf("no stored round of its job has the config '%s' verified, with "
                               "these kernels, in %g ms of %d runs",
                               look->result->kept.config_text, outcome->median_ms, outcome->n);
    }
    if (outcome->failure != FAILURE_NONE) {
        return g_strdup_printf("its config has failed: %s", failure_name(outcome->failure));
    }
    return NULL;
}

static char *look_at_solver(struct look *look)
{
    const struct result *result = look->result;
    look->solver = solver_find(result->solver);
    if (look->solver == NULL) {
        return g_strdup("the registry has no solver of that name");
    }
    if (look->solver->revision != result->revision) {
        return g_strdup_printf("it was measured at revision %d, the registry has %d: tune it again",
                               result->revision, look->solver->revision);
    }
    return NULL;
}

static char *look_at_config(struct look *look)
{
    struct perf_config config;
    g_autoptr(GError) error = NULL;
    const char *why = NULL;
    const struct target *target = &look->gate->target;
    struct context *context = &look->context;
    const struct problem *problem = &look->result->problem;
    const struct kept *kept = &look->result->kept;
    if (!problem_validate(problem, &error)) {
        return g_strdup(error->message);
    }
    context_init(context, target);
    if (!solver_applicable(look->solver, problem, context, &why)) {
        return g_strdup_printf("the solver does not apply: %s", why != NULL ? why : "no reason");
    }
    if (!solver_result_parse(look->solver, problem, target, kept->config_text,
                             kept->workspace_bytes, context, &config, &error)) {
        return g_strdup(error->message);
    }
    if (!perf_config_equal(&config, &kept->config)) {
        return g_strdup_printf("its config does not read back from '%s'", kept->config_text);
    }
    if (look->solver->space != NULL && kept->config_text[0] == '\0') {
        return g_strdup("the solver can be tuned and no params back its time");
    }
    if (!solver_solve(look->solver, problem, context, &config, &look->solution, &error)) {
        return g_strdup(error->message);
    }
    return NULL;
}

/* Compares the stated workspace and packed filter with those that the config needs: a library allocates what the
 * entry states. */
static char *look_at_workspace(struct look *look)
{
    uint64_t stated = look->result->kept.workspace_bytes, needed = look->solution.workspace_bytes;
    uint64_t packed = look->result->kept.packed_bytes;
    if (packed != look->solution.packed_bytes) {
        return g_strdup_printf("its packed filter of %" G_GUINT64_FORMAT
                               " bytes is not the %" G_GUINT64_FORMAT " of its solution",
                               packed, look->solution.packed_bytes);
    }
    return stated == needed
               ? NULL
               : g_strdup_printf("its workspace of %" G_GUINT64_FORMAT
                                 " bytes is not the %" G_GUINT64_FORMAT " of its solution",
                                 stated, needed);
}

static bool is_time(double ms)
{
    return isfinite(ms) && ms >= (double)FLT_MIN && ms <= (double)FLT_MAX;
}

/* Refuses a time that is shorter than the device needs for the operations. The solution made here
 * states their number; the worker's statement is not used. */
static char *look_at_time(struct look *look)
{
    const struct outcome *outcome = &look->result->kept.outcome;
    const struct target *target = &look->gate->target;
    double least_ms =
        target_least_ms(target, problem_peak_type(&look->result->problem), look->solution.flops);
    if (!is_time(outcome->median_ms) || !is_time(outcome->min_ms)) {
        return g_strdup_printf("its time of %g ms (at the least %g) is not a positive number",
                               outcome->median_ms, outcome->min_ms);
    }
    if (outcome->n < 1 || outcome->median_ms < outcome->min_ms) {
        return g_strdup_printf("its time of %g ms is no median of %d runs of %g ms and more",
                               outcome->median_ms, outcome->n, outcome->min_ms);
    }
    if (outcome->min_ms < least_ms) {
        return g_strdup_printf("its time of %g ms is impossible, %s needs %g ms at its peak",
                               outcome->min_ms, target->id, least_ms);
    }
    return NULL;
}

static char *look_at_drift(struct look *look)
{
    double drift = look->result->drift;
    if (look->gate->allow_drift || !drift_is_large(drift)) {
        return NULL;
    }
    return g_strdup_printf(
        "the device drifted while its round was measured: the default config took "
        "%.2f times as long at the end as at the beginning; `skipjack campaign "
        "remeasure` measures it again, --allow-drift takes it as it is",
        drift);
}

static char *look_at_throttle(struct look *look)
{
    unsigned throttle = look->result->throttle & THROTTLE_MARKED;
    if (look->gate->allow_drift || throttle == 0) {
        return NULL;
    }
    g_autofree char *reasons = conditions_throttle_text(throttle);
    return g_strdup_printf("the device was throttled while its round was measured (%s); `skipjack "
                           "campaign remeasure` measures it again, --allow-drift takes it as it is",
                           reasons);
}

static bool is_launch(const struct kernel_row *kernel, const struct launch *launch)
{
    return strcmp(kernel->file, launch->file) == 0 && strcmp(kernel->options, launch->options) == 0;
}

static bool is_of_solution(const struct kernel_row *kernel, const struct solution *solution)
{
    for (int i = 0; i < solution->launch_count; i++) {
        if (is_launch(kernel, &solution->launches[i])) {
            return true;
        }
    }
    return false;
}

static char *check_kernel(const struct gate *gate, const struct solution *solution, const char *key)
{
    const struct kernel_row *kernel = g_hash_table_lookup(gate->kernels, key);
    const char *damage = g_hash_table_lookup(gate->damaged, key);
    if (kernel == NULL || kernel->failure != FAILURE_NONE || kernel->code_sha256[0] == '\0') {
        return g_strdup_printf("its kernel %.12s is not in the database", key);
    }
    if (damage != NULL) {
        return g_strdup(damage);
    }
    if (strcmp(kernel->arch, gate->target.arch) != 0) {
        return g_strdup_printf("its kernel %.12s is built for %s", key, kernel->arch);
    }
    if (!is_of_solution(kernel, solution)) {
        return g_strdup_printf("its kernel %.12s (%s, options '%s') is not of its solution", key,
                               kernel->file, kernel->options);
    }
    return NULL;
}

/* Checks that the result names a kernel for every launch of the solution. */
static char *check_launches(const struct look *look)
{
    for (int i = 0; i < look->solution.launch_count; i++) {
        const struct launch *launch = &look->solution.launches[i];
        bool named = false;
        for (char **key = look->keys; *key != NULL && !named; key++) {
            named = is_launch(g_hash_table_lookup(look->gate->kernels, *key), launch);
        }
        if (!named) {
            return g_strdup_printf("it does not name the kernel %s of its solution (options '%s')",
                                   launch->file, launch->options);
        }
    }
    return NULL;
}

static char *look_at_kernels(struct look *look)
{
    if (look->keys[0] == NULL || look->keys[0][0] == '\0') {
        return g_strdup("it names no kernel");
    }
    char *reason = NULL;
    for (char **key = look->keys; *key != NULL && reason == NULL; key++) {
        reason = check_kernel(look->gate, &look->solution, *key);
    }
    return reason != NULL ? reason : check_launches(look);
}

/* The tests of a result in their order. The first one that fails is the reason for refusing the
 * result. */
static const struct {
    enum refusal why;
    char *(*look)(struct look *look);
    bool at_measured; /* true: the test is skipped for results that were built and not measured */
} looks[] = {
    {REFUSAL_DAMAGED, look_at_row, false},      {REFUSAL_FOREIGN, look_at_job, false},
    {REFUSAL_UNVERIFIED, look_at_rounds, true}, {REFUSAL_SOLVER, look_at_solver, false},
    {REFUSAL_CONFIG, look_at_config, false},    {REFUSAL_CONFIG, look_at_workspace, true},
    {REFUSAL_TIME, look_at_time, true},         {REFUSAL_DRIFT, look_at_drift, true},
    {REFUSAL_THROTTLE, look_at_throttle, true}, {REFUSAL_KERNEL, look_at_kernels, false},
};

/* Rounds a time to the digits that files state: in the same way for all, so that low <= median <= high
 * remains true. */
static double rounded(double time_ms)
{
    char text[FIND_TIME_MAX];
    return g_ascii_strtod(find_time_text(time_ms, text), NULL);
}

static struct candidate *make_candidate(struct look *look)
{
    const struct result *result = look->result;
    struct candidate *candidate = g_new0(struct candidate, 1);
    candidate->result = result;
    candidate->solver = look->solver;
    find_time_text(result->kept.outcome.median_ms, candidate->time_text);
    candidate->time_ms = g_ascii_strtod(candidate->time_text, NULL);
    candidate->low_ms = rounded(result->kept.outcome.low_ms);
    candidate->high_ms = rounded(result->kept.outcome.high_ms);
    candidate->workspace_bytes = look->solution.workspace_bytes;
    candidate->estimate =
        look->gate->built_only ? look->solver->estimate(&result->problem, &look->context) : 0;
    candidate->kernels = g_steal_pointer(&look->keys);
    candidate->tunable = look->solver->space != NULL;
    return candidate;
}

struct candidate *gate_pass(struct gate *gate, const struct result *result, enum refusal *why,
                            char **reason)
{
    struct candidate *candidate = NULL;
    struct look *look = g_new0(struct look, 1);
    look->gate = gate;
    look->result = result;
    look->keys = g_strsplit(result->kept.kernel_keys, ",", -1);
    *reason = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(looks) && *reason == NULL; i++) {
        if (looks[i].at_measured && gate->built_only) {
            continue;
        }
        *why = looks[i].why;
        *reason = looks[i].look(look);
    }
    if (*reason == NULL) {
        candidate = make_candidate(look);
    }
    g_strfreev(look->keys);
    g_free(look);
    return candidate;
}
