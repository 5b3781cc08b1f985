#include "export/gate.h"

#include "export/kernel_db.h"

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

bool gate_init(struct gate *gate, Store *store, const char *target, const GPtrArray *results,
               GError **error)
{
    memset(gate, 0, sizeof *gate);
    if (!store_get_target(store, target, &gate->target, error)) {
        return false;
    }
    context_init(&gate->context, &gate->target);
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < results->len; i++) {
        add_keys(keys, ((const struct result *)results->pdata[i])->kept.kernel_keys);
    }
    guint count = 0;
    g_autofree gpointer *list = g_hash_table_get_keys_as_array(keys, &count);
    gate->kernels =
        store_known_kernels(store, (const char *const *)(void *)list, (int)count, error);
    gate->codes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return gate->kernels != NULL;
}

void gate_clear(struct gate *gate)
{
    g_clear_pointer(&gate->kernels, g_hash_table_unref);
    g_clear_pointer(&gate->codes, g_hash_table_unref);
}

void candidate_free(struct candidate *candidate)
{
    if (candidate != NULL) {
        g_strfreev(candidate->kernels);
        g_free(candidate);
    }
}

double gate_least_ms(const struct target *target, const struct problem *p, double flops)
{
    if (target->peak_flops <= 0) {
        return 0;
    }
    double speed = MAX(1, 4 / data_type_bytes(p->type[TENSOR_X]));
    if (speed > 1 && target->vendor != VENDOR_CPU) {
        speed *= 8;
    }
    return flops / (target->peak_flops * speed) * 1e3;
}

static char *check_solver(const struct result *result)
{
    const struct solver *solver = solver_find(result->solver);
    if (solver == NULL) {
        return g_strdup("the registry has no solver of that name");
    }
    if (solver->revision != result->revision) {
        return g_strdup_printf("it was measured at revision %d, the registry has %d: tune it again",
                               result->revision, solver->revision);
    }
    return NULL;
}

static char *check_config(const struct gate *gate, const struct result *result,
                          const struct solver *solver)
{
    struct perf_config config;
    g_autoptr(GError) error = NULL;
    const char *why = NULL;
    if (!problem_validate(&result->problem, &error)) {
        return g_strdup(error->message);
    }
    if (!solver_applicable(solver, &result->problem, &gate->context, &why)) {
        return g_strdup_printf("the solver does not apply: %s", why != NULL ? why : "no reason");
    }
    if (!solver_config_parse(solver, &result->problem, &gate->context, result->kept.config_text,
                             &config, &error)) {
        return g_strdup(error->message);
    }
    if (!perf_config_equal(&config, &result->kept.config)) {
        return g_strdup_printf("its config does not read back from '%s'", result->kept.config_text);
    }
    if (solver->space != NULL && result->kept.config_text[0] == '\0') {
        return g_strdup("the solver can be tuned and no params back its time");
    }
    return NULL;
}

static char *check_time(const struct gate *gate, const struct result *result)
{
    double time_ms = result->kept.outcome.median_ms;
    double least_ms = gate_least_ms(&gate->target, &result->problem, result->kept.flops);
    if (result->kept.outcome.failure != FAILURE_NONE) {
        return g_strdup_printf("its config has failed: %s",
                               failure_name(result->kept.outcome.failure));
    }
    if (!isfinite(time_ms) || time_ms < (double)FLT_MIN || time_ms > (double)FLT_MAX) {
        return g_strdup_printf("its time of %g ms is not a positive number", time_ms);
    }
    if (time_ms < least_ms) {
        return g_strdup_printf("its time of %g ms is impossible, %s needs %g ms at its peak",
                               time_ms, gate->target.id, least_ms);
    }
    return NULL;
}

static char *code_key(const struct gate *gate, const struct kernel_row *kernel)
{
    g_autofree char *name = kernel_db_name(kernel->file);
    g_autofree char *args = kernel_db_args(kernel->options, gate->target.arch);
    return g_strconcat(name, "\n", args, NULL);
}

static char *check_kernel(const struct gate *gate, const char *key)
{
    const struct kernel_row *kernel = g_hash_table_lookup(gate->kernels, key);
    if (kernel == NULL || kernel->failure != FAILURE_NONE || kernel->code_sha256[0] == '\0') {
        return g_strdup_printf("its kernel %.12s is not in the database", key);
    }
    if (strcmp(kernel->arch, gate->target.arch) != 0) {
        return g_strdup_printf("its kernel %.12s is built for %s", key, kernel->arch);
    }
    g_autofree char *code = code_key(gate, kernel);
    const char *taken = g_hash_table_lookup(gate->codes, code);
    if (taken != NULL && strcmp(taken, kernel->code_sha256) != 0) {
        return g_strdup_printf(
            "another code object has the name of its kernel %.12s (%s, options '%s')", key,
            kernel->file, kernel->options);
    }
    return NULL;
}

/* Notes the name in `taken` when it is new. */
static void take_kernel(struct gate *gate, const char *key, GPtrArray *taken)
{
    const struct kernel_row *kernel = g_hash_table_lookup(gate->kernels, key);
    g_autofree char *code = code_key(gate, kernel);
    if (!g_hash_table_contains(gate->codes, code)) {
        g_ptr_array_add(taken, g_strdup(code));
        g_hash_table_insert(gate->codes, g_steal_pointer(&code), kernel->code_sha256);
    }
}

/* All or none of the kernels are taken, so that a refused result binds no name. */
static char *take_kernels(struct gate *gate, char **keys)
{
    if (keys[0] == NULL || keys[0][0] == '\0') {
        return g_strdup("it names no kernel");
    }
    char *reason = NULL;
    g_autoptr(GPtrArray) taken = g_ptr_array_new_with_free_func(g_free);
    for (char **key = keys; *key != NULL && reason == NULL; key++) {
        reason = check_kernel(gate, *key);
        if (reason == NULL) {
            take_kernel(gate, *key, taken);
        }
    }
    for (guint i = 0; reason != NULL && i < taken->len; i++) {
        g_hash_table_remove(gate->codes, taken->pdata[i]);
    }
    return reason;
}

struct candidate *gate_pass(struct gate *gate, const struct result *result, char **reason)
{
    const struct solver *solver = solver_find(result->solver);
    *reason = check_solver(result);
    if (*reason == NULL) {
        *reason = check_config(gate, result, solver);
    }
    if (*reason == NULL) {
        *reason = check_time(gate, result);
    }
    g_auto(GStrv) keys = g_strsplit(result->kept.kernel_keys, ",", -1);
    if (*reason == NULL) {
        *reason = take_kernels(gate, keys);
    }
    if (*reason != NULL) {
        return NULL;
    }
    struct candidate *candidate = g_new0(struct candidate, 1);
    candidate->result = result;
    candidate->solver = solver;
    find_time_text(result->kept.outcome.median_ms, candidate->time_text);
    candidate->time_ms = g_ascii_strtod(candidate->time_text, NULL);
    candidate->kernels = g_steal_pointer(&keys);
    candidate->tunable = solver->space != NULL;
    perf_row_from_problem(&result->problem, &candidate->row);
    return candidate;
}
