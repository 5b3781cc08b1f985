#include "tests/support/export/export_farm.h"

#include "schema/results/store_nights.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/farm/scratch_db.h"

#include <string.h>

#define CLAIM_BATCH 100

const char *const export_farm_keys[EXPORT_FARM_KEYS] = {
    "64-56-56-3x3-64-56-56-1-1x1-1x1-1x1-0-NCHW-FP32-F",
    "256-14-14-1x1-512-14-14-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "128-28-28-3x3-64-56-56-4-1x1-2x2-1x1-0-NCHW-FP32-B",
};

static bool is_named(const char *solvers, const char *name)
{
    g_auto(GStrv) names = g_strsplit(solvers, ",", -1);
    return solvers[0] == '\0' || g_strv_contains((const char *const *)names, name);
}

static GArray *plans_of(const struct export_farm *farm, const char *const *keys, int count,
                        const char *solvers)
{
    GArray *plans = g_array_new(FALSE, TRUE, sizeof(struct job_plan));
    for (int k = 0; k < count; k++) {
        struct job_plan plan = {.priority = 1, .multiplicity = k + 1};
        g_assert_true(problem_key_parse(keys[k], &plan.problem, NULL));
        for (int s = 0; s < solver_table_count; s++) {
            const struct solver *solver = solver_table[s];
            const char *why = NULL;
            if (!is_named(solvers, solver->name) ||
                !solver_applicable(solver, &plan.problem, &farm->context, &why)) {
                continue;
            }
            plan.solver = solver->name;
            plan.revision = solver->revision;
            plan.hash = solver_hash(solver);
            plan.provider = solver->provider;
            plan.algorithm = solver->algorithm;
            plan.dynamic = solver->dynamic;
            plan.tunable = solver->space != NULL;
            g_array_append_val(plans, plan);
        }
    }
    return plans;
}

void export_farm_init(struct export_farm *farm)
{
    export_farm_init_with(farm, export_farm_keys, EXPORT_FARM_KEYS);
}

void export_farm_add(struct export_farm *farm, const struct export_farm_order *order)
{
    g_autoptr(GError) error = NULL;
    char strategy[] = "random";
    g_autofree char *name = g_strdup(order->name), *identity = g_strdup(order->name);
    g_autofree char *target = g_strdup(farm->target_id);
    struct campaign campaign = {.name = name,
                                .identity = identity,
                                .target = target,
                                .strategy = strategy,
                                .round_configs = order->round_configs ? order->round_configs : 4,
                                .night = order->night};
    g_autoptr(GArray) plans = plans_of(farm, order->keys, order->count, order->solvers);
    for (guint i = 0; i < plans->len; i++)
        g_array_index(plans, struct job_plan, i).cause = order->cause;
    const struct job_plan *jobs = (const struct job_plan *)(void *)plans->data;
    bool made = order->night
                    ? store_create_night_campaign(farm->store, &campaign, jobs, (int)plans->len,
                                                  NULL, NULL, NULL, &error)
                    : store_create_campaign(farm->store, &campaign, jobs, (int)plans->len, NULL,
                                            NULL, &error);
    g_assert_no_error(error);
    g_assert_true(made);
    farm->campaign = campaign.id;
}

static void create_campaign(struct export_farm *farm, const char *const *keys, int count,
                            const char *solvers)
{
    export_farm_add(farm, &(struct export_farm_order){
                              .name = "test", .keys = keys, .count = count, .solvers = solvers});
}

void export_farm_enter(struct export_farm *farm, Store *store, const struct worker_info *info)
{
    g_autoptr(GError) error = NULL;
    memset(farm, 0, sizeof *farm);
    farm->store = store;
    farm->target_id = info->target;
    g_assert_true(target_parse(info->target, &farm->target, &error));
    context_init(&farm->context, &farm->target);
    g_assert_true(store_put_target(store, &farm->target, &error));
    g_assert_true(store_register_worker(store, info, &farm->worker, &error));
    g_assert_no_error(error);
}

void export_farm_init_with(struct export_farm *farm, const char *const *keys, int count)
{
    const struct worker_info info = {
        .node = "n", .process = "p", .target = EXPORT_FARM_TARGET, .stack = "test"};
    export_farm_enter(farm, scratch_store(), &info);
    create_campaign(farm, keys, count, "");
}

void export_farm_begin_anew(struct export_farm *farm, const char *const *keys, int count,
                            const char *solvers)
{
    g_autoptr(GError) error = NULL;
    store_change_campaign(farm->store, farm->campaign, "drop", &error);
    g_assert_no_error(error);
    create_campaign(farm, keys, count, solvers);
}

void export_farm_clear(struct export_farm *farm)
{
    store_close(farm->store);
}

/* Stores a kernel with made-up code for a launch; returns its key. */
static char *put_kernel(const struct export_farm *farm, const struct launch *launch, bool lost)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *code = g_strdup_printf("%s %s", launch->file, launch->options);
    char *key = g_compute_checksum_for_string(G_CHECKSUM_SHA256, code, -1);
    g_autofree char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, code, -1);
    struct kernel_row kernel = {.key = key,
                                .file = (char *)launch->file,
                                .entry = (char *)launch->entry,
                                .options = (char *)launch->options,
                                .arch = (char *)farm->target.arch,
                                .code_sha256 = sha256,
                                .built_by = farm->worker};
    kernel.code = g_bytes_new(code, strlen(code));
    if (lost)
        g_clear_pointer(&kernel.code, g_bytes_unref);
    g_assert_true(store_put_kernel(farm->store, &kernel, &error));
    g_clear_pointer(&kernel.code, g_bytes_unref);
    return key;
}

static char *put_kernels(const struct export_farm *farm, const struct job *job,
                         const struct perf_config *config, struct solution *solution)
{
    g_autoptr(GError) error = NULL;
    char key[PROBLEM_KEY_MAX];
    GString *joined = g_string_new(NULL);
    solution_init(solution);
    g_assert_true(solver_solve(solver_find(job->solver), &job->problem, &farm->context, config,
                               solution, &error));
    g_assert_no_error(error);
    bool lost =
        farm->lose_kernels && strcmp(problem_key(&job->problem, key), export_farm_keys[0]) == 0;
    for (int i = 0; i < solution->launch_count; i++) {
        g_autofree char *kernel = put_kernel(farm, &solution->launches[i], lost);
        g_string_append_printf(joined, "%s%s", i > 0 ? "," : "", kernel);
    }
    return g_string_free(joined, FALSE);
}

/* A made-up time in ms that depends on the problem and the solver only. */
static double time_of(const struct job *job)
{
    return 50 + problem_hash(&job->problem) % 97 + 0.123456789 * (double)strlen(job->solver);
}

static struct round *round_of(const struct export_farm *farm, const struct job *job,
                              struct kept *kept)
{
    struct solution *solution = g_new(struct solution, 1);
    const struct solver *solver = solver_find(job->solver);
    struct round *round = round_new(1);
    char text[CONFIG_TEXT_MAX];
    solver->default_config(&job->problem, &farm->context, &round->configs[0]);
    round->stack = g_strdup("test");
    round->kernel_keys[0] = put_kernels(farm, job, &round->configs[0], solution);
    round->outcomes[0] = (struct outcome){
        .failure = FAILURE_NONE, .n = 9, .min_ms = time_of(job), .median_ms = time_of(job)};
    *kept = (struct kept){.config = round->configs[0],
                          .config_text = g_strdup(perf_config_format(&round->configs[0], text)),
                          .kernel_keys = g_strdup(round->kernel_keys[0]),
                          .outcome = round->outcomes[0],
                          .workspace_bytes = solution->workspace_bytes,
                          .packed_bytes = solution->packed_bytes,
                          .flops = solution->flops,
                          .is_default = true};
    g_free(solution);
    return round;
}

static GPtrArray *claim(const struct export_farm *farm, enum pool pool, int batch)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) carried = g_ptr_array_new_with_free_func(g_free);
    for (int s = 0; s < solver_table_count; s++) {
        g_ptr_array_add(carried,
                        g_strdup_printf("%s:%d:%s", solver_table[s]->name,
                                        solver_table[s]->revision, solver_hash(solver_table[s])));
    }
    g_ptr_array_add(carried, NULL);
    struct claim wanted = {.worker = farm->worker,
                           .pool = pool,
                           .target = farm->target_id,
                           .solvers = (const char *const *)(void *)carried->pdata,
                           .batch = batch,
                           .lease_seconds = 60};
    GPtrArray *jobs = store_claim(farm->store, &wanted, &error);
    g_assert_no_error(error);
    return jobs;
}

void export_farm_work(const struct export_farm *farm)
{
    for (int pool = POOL_BUILD; pool <= POOL_EVAL; pool++) {
        g_autoptr(GPtrArray) jobs = claim(farm, (enum pool)pool, CLAIM_BATCH);
        g_assert_cmpuint(jobs->len, >, 0);
        for (guint i = 0; i < jobs->len; i++) {
            g_autoptr(GError) error = NULL;
            struct kept kept;
            struct round *round = round_of(farm, jobs->pdata[i], &kept);
            if (pool == POOL_BUILD) {
                for (int c = 0; c < round->config_count; c++)
                    round->outcomes[c] = (struct outcome){.failure = FAILURE_PENDING};
                store_built(farm->store, jobs->pdata[i], round, &error);
            } else {
                store_round(farm->store, jobs->pdata[i], round, &kept, 1, false, 1, &error);
            }
            g_assert_no_error(error);
            g_free(kept.config_text);
            g_free(kept.kernel_keys);
            round_free(round);
        }
    }
}

/* ---- a worker ---- */

static bool has_config(const GArray *configs, const struct perf_config *config)
{
    for (guint i = 0; i < configs->len; i++)
        if (perf_config_equal(&g_array_index(configs, struct perf_config, i), config))
            return true;
    return false;
}

/* The configs to try: the default, then those that the job's wish names, or the next untried ones
 * of the space. */
static GArray *configs_of(const struct export_farm *farm, const struct job *job, int wanted)
{
    const struct solver *solver = solver_find(job->solver);
    GArray *configs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    struct perf_config config = {0};
    struct space_walk walk;
    const struct space *space = solver_space(solver, &job->problem, &farm->context);
    if (solver->default_config)
        solver->default_config(&job->problem, &farm->context, &config);
    g_array_append_val(configs, config);
    for (guint i = 0; job->wish != NULL && i < job->wish->len; i++)
        if (!has_config(configs, &g_array_index(job->wish, struct perf_config, i)))
            g_array_append_vals(configs, &g_array_index(job->wish, struct perf_config, i), 1);
    if (job->wish != NULL || space == NULL)
        return configs;
    space_walk_init(&walk, space, &job->problem, &farm->context);
    while ((int)configs->len < wanted && space_walk_next(&walk, &config))
        if (!has_config(configs, &config))
            g_array_append_val(configs, config);
    return configs;
}

static void serve_build(const struct export_farm *farm, const struct export_farm_worker *worker,
                        const struct job *job)
{
    g_autoptr(GError) error = NULL;
    g_autofree struct solution *solution = g_new(struct solution, 1);
    g_autoptr(GArray) configs = configs_of(farm, job, worker->configs);
    struct round *round = round_new((int)configs->len);
    round->number = (int)job->rounds->len;
    round->stack = g_strdup(worker->stack ? worker->stack : "test");
    for (guint i = 0; i < configs->len; i++) {
        round->configs[i] = g_array_index(configs, struct perf_config, i);
        round->kernel_keys[i] = put_kernels(farm, job, &round->configs[i], solution);
    }
    store_built(farm->store, job, round, &error);
    g_assert_no_error(error);
    round_free(round);
}

static gint compare_kept(gconstpointer a, gconstpointer b)
{
    double left = ((const struct kept *)a)->outcome.median_ms;
    double right = ((const struct kept *)b)->outcome.median_ms;
    return (left > right) - (left < right);
}

static void clear_kept(gpointer data)
{
    g_free(((struct kept *)data)->config_text);
}

static void serve_eval(const struct export_farm *farm, const struct export_farm_worker *worker,
                       const struct job *job)
{
    g_autoptr(GError) error = NULL;
    g_autofree struct solution *solution = g_new(struct solution, 1);
    struct round *round = job->rounds->pdata[job->rounds->len - 1];
    g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(struct kept));
    g_array_set_clear_func(kept, clear_kept);
    round->drift = worker->drift;
    for (int i = 0; i < round->config_count; i++) {
        char text[CONFIG_TEXT_MAX];
        const char *detail = NULL;
        enum failure refused = worker->refuse
                                   ? worker->refuse(worker->data, job, &round->configs[i], &detail)
                                   : FAILURE_NONE;
        double ms =
            refused == FAILURE_NONE ? worker->measure(worker->data, job, &round->configs[i]) : 0;
        round->outcomes[i] = (struct outcome){.failure = refused != FAILURE_NONE ? refused
                                                         : ms > 0                ? FAILURE_NONE
                                                                                 : FAILURE_UNSTABLE,

                                              .n = ms > 0 ? 9 : 0,
                                              .min_ms = ms,
                                              .median_ms = ms,
                                              .spread = worker->spread};
        round->details[i] = g_strdup(detail);
        solution_init(solution);
        g_assert_true(solver_solve(solver_find(job->solver), &job->problem, &farm->context,
                                   &round->configs[i], solution, &error));
        const struct kept one = {.config = round->configs[i],
                                 .config_text =
                                     g_strdup(perf_config_format(&round->configs[i], text)),
                                 .kernel_keys = round->kernel_keys[i],
                                 .outcome = round->outcomes[i],
                                 .workspace_bytes = solution->workspace_bytes,
                                 .packed_bytes = solution->packed_bytes,
                                 .flops = solution->flops,
                                 .is_default = i == 0};
        if (ms > 0)
            g_array_append_val(kept, one);
        else
            g_free(one.config_text);
    }
    g_array_sort(kept, compare_kept);
    if (worker->conditions)
        store_conditions(farm->store, job, round->number, worker->conditions, &error);
    g_assert_no_error(error);
    store_round(farm->store, job, round, (const struct kept *)(void *)kept->data, (int)kept->len,
                false, 1, &error);
    g_assert_no_error(error);
}

void export_farm_serve(const struct export_farm *farm, const struct export_farm_worker *worker)
{
    static void (*const serve[])(const struct export_farm *, const struct export_farm_worker *,
                                 const struct job *) = {
        [POOL_BUILD] = serve_build, [POOL_EVAL] = serve_eval};
    for (bool any = true; any;) {
        any = false;
        for (int pool = POOL_BUILD; pool <= POOL_EVAL; pool++) {
            g_autoptr(GPtrArray) jobs =
                claim(farm, (enum pool)pool, worker->jobs ? worker->jobs : CLAIM_BATCH);
            for (guint i = 0; i < jobs->len; i++)
                serve[pool](farm, worker, jobs->pdata[i]);
            any = any || (jobs->len > 0 && worker->jobs == 0);
        }
    }
}
