#include "tests/support/export/export_scene.h"

#include <string.h>

static bool applies(const struct problem *p, const struct context *context, const char **reason)
{
    (void)context;
    *reason = "needs a batch below 1000";
    return p->n < 1000;
}

static void usual(const struct problem *p, const struct context *context,
                  struct perf_config *config)
{
    (void)p;
    (void)context;
    config->count = 1;
    config->values[0] = 1;
}

static void none(const struct problem *p, const struct context *context, struct perf_config *config)
{
    (void)p;
    (void)context;
    config->count = 0;
}

/* Config 8 is valid for even heights only, so problems that share a perf-db row can differ in
 * it. */
static bool fits(const struct problem *p, const struct context *context, const int32_t *values)
{
    (void)context;
    return values[0] != 8 || p->in[AXIS_H] % 2 == 0;
}

static const int32_t values[] = {1, 2, 4, 8, 16};
static const struct space_param params[] = {{"tile", G_N_ELEMENTS(values), values}};
static const struct space_constraint constraints[] = {{"tile_fits", "shape", 1, fits}};
static const struct space space = {1, params, 1, constraints};
static const char *const sources[] = {NULL};

struct launch *export_scene_launch(const struct problem *p, const struct perf_config *config,
                                   struct solution *solution)
{
    static const int64_t items[3] = {64, 1, 1};
    static const int block[3] = {64, 1, 1};
    struct launch *launch = solution_add_launch(solution, "conv.cl", "conv");
    launch_option_int(launch, "CONFIG", config->count > 0 ? config->values[0] : 0);
    launch_option_int(launch, "HEIGHT", p->in[AXIS_H]);
    launch_sort_options(launch);
    launch_set_grid(launch, items, block);
    return launch;
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)context;
    (void)error;
    export_scene_launch(p, config, solution);
    solution->flops = 1e9;
    solution->workspace_bytes =
        config->count > 0 && config->values[0] == 16 ? EXPORT_SCENE_WORKSPACE : 0;
    return true;
}

/* ConvB states the highest estimate, ConvTuned the next one, all others the same. */
static double usual_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 1;
}

static double tuned_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 1.5;
}

static double high_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 2;
}

#define SOLVER(NAME, SPACE, DEFAULT, ESTIMATE)                                                     \
    {                                                                                              \
        .provider = "test", .name = NAME, .revision = 3, .algorithm = "Direct",                    \
        .sources = sources, .is_applicable = applies, .default_config = DEFAULT, .space = SPACE,   \
        .solve = solve, .any_strides = true, .epilogues = EPILOGUE_DOES_ALL, .estimate = ESTIMATE  \
    }
const struct solver export_scene_solvers[EXPORT_SCENE_SOLVERS] = {
    SOLVER("ConvTuned", &space, usual, tuned_estimate), SOLVER("ConvA", NULL, none, usual_estimate),
    SOLVER("ConvB", NULL, none, high_estimate),         SOLVER("ConvC", NULL, none, usual_estimate),
    SOLVER("ConvD", NULL, none, usual_estimate),
};

static void free_result(void *result)
{
    result_free(result);
}

static void free_kernel(void *kernel)
{
    kernel_row_free(kernel);
}

static bool advance(const struct export_source *source, struct result_part *part, GError **error)
{
    (void)error;
    part->after = part->last;
    /* After an empty part each of the jobs 1 to 9 is a part, and all later jobs are the last one. With
     * part_results above 1 all jobs are one part. */
    part->last = part->after == INT64_MIN ? 0 : part->after < 9 ? part->after + 1 : INT64_MAX;
    if (source->part_results > 1)
        part->last = INT64_MAX;
    return true;
}

static bool is_named(const struct result_part *part, int64_t job)
{
    for (int i = 0; part->jobs != NULL && i < part->job_count; i++)
        if (part->jobs[i] == job)
            return true;
    return part->jobs == NULL;
}

static GPtrArray *list_part(const struct export_source *source, const struct result_part *part,
                            GError **error)
{
    const struct export_scene *scene = (const struct export_scene *)(const void *)source;
    GPtrArray *list = g_ptr_array_new();
    (void)error;
    for (guint i = 0; i < scene->results->len; i++) {
        struct result *result = scene->results->pdata[i];
        if (result->job > part->after && result->job <= part->last && is_named(part, result->job))
            g_ptr_array_add(list, result);
    }
    return list;
}

static bool still_there(const struct export_source *source, GError **error)
{
    (void)source;
    (void)error;
    return true;
}

void export_scene_init(struct export_scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->source = (struct export_source){.advance = advance,
                                           .list = list_part,
                                           .still_there = still_there,
                                           .wish = &scene->wish,
                                           .gate = &scene->gate};
    scene->wish.top = FIND_ENTRIES_MAX;
    scene->folder = temp_folder_new();
    g_assert_true(target_parse("gfx90a68", &scene->gate.target, NULL));
    scene->gate.kernels = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_kernel);
    scene->gate.damaged = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    scene->results = g_ptr_array_new_with_free_func(free_result);
    refusals_init(&scene->summary.refused, temp_folder_path(scene->folder, "refused"));
    scene->lines = g_ptr_array_new_with_free_func(g_free);
    scene->own_lines = g_ptr_array_new_with_free_func(g_free);
    scene->records = g_ptr_array_new_with_free_func(g_free);
    scene->kernels = g_ptr_array_new_with_free_func(g_free);
}

void export_scene_clear(struct export_scene *scene)
{
    gate_clear(&scene->gate);
    export_summary_clear(&scene->summary);
    g_ptr_array_unref(scene->results);
    g_ptr_array_unref(scene->lines);
    g_ptr_array_unref(scene->own_lines);
    g_ptr_array_unref(scene->records);
    g_ptr_array_unref(scene->kernels);
    temp_folder_free(scene->folder);
}

struct kernel_row *export_scene_add_kernel(struct export_scene *scene, const char *key,
                                           const char *options, const char *code)
{
    struct kernel_row *kernel = g_new0(struct kernel_row, 1);
    kernel->key = g_strdup(key);
    kernel->file = g_strdup("conv.cl");
    kernel->entry = g_strdup("conv");
    kernel->options = g_strdup(options);
    kernel->arch = g_strdup("gfx90a");
    kernel->code_sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, code, -1);
    g_hash_table_replace(scene->gate.kernels, kernel->key, kernel);
    return kernel;
}

struct result *export_scene_add(struct export_scene *scene, int64_t job, const char *key,
                                const char *solver, const char *config, double time_ms)
{
    struct result *result = g_new0(struct result, 1);
    g_autofree char *kernel = g_strdup_printf("%d:%s", (int)job, config);
    g_assert_true(problem_key_parse(key, &result->problem, NULL));
    g_autofree char *options =
        g_strdup_printf("-DCONFIG=%s -DHEIGHT=%d", config[0] != '\0' ? config : "0",
                        (int)result->problem.in[AXIS_H]);
    result->problem_id = job;
    result->verified = true;
    result->job = job;
    result->solver = g_strdup(solver);
    result->algorithm = g_strdup("Direct");
    result->revision = 3;
    result->multiplicity = 1;
    result->kept.config_text = g_strdup(config);
    g_assert_true(perf_config_parse(config, config[0] != '\0', &result->kept.config, NULL));
    result->kept.kernel_keys = g_strdup(kernel);
    result->kept.outcome.median_ms = time_ms;
    result->kept.outcome.min_ms = time_ms;
    result->kept.outcome.n = 10;
    result->kept.flops = 1e6;
    result->kept.workspace_bytes = strcmp(config, "16") == 0 ? EXPORT_SCENE_WORKSPACE : 0;
    for (guint i = 0; i < scene->results->len; i++) {
        result->rank += ((struct result *)scene->results->pdata[i])->job == job;
    }
    export_scene_add_kernel(scene, kernel, options, options);
    g_ptr_array_add(scene->results, result);
    return result;
}

static void read_lines(struct export_scene *scene, int files, GPtrArray *list)
{
    const struct planned_line *planned = NULL;
    g_autoptr(ExportLines) lines = export_lines_open(&scene->spool, files, scene->wish.top, NULL);
    while (export_lines_next(lines, &planned, NULL) == READ_ROW)
        g_ptr_array_add(list, g_strdup(planned->text->str));
}

void export_scene_choose(struct export_scene *scene)
{
    int64_t results = 0;
    g_autoptr(GError) error = NULL;
    const struct perf_record *record = NULL;
    struct planned_kernel kernel;
    g_assert_true(export_spool_open(&scene->spool, temp_folder_path(scene->folder, "s"), &error));
    g_assert_true(
        export_plan_make(&scene->source, &scene->spool, &scene->summary, &results, &error));
    g_assert_no_error(error);
    g_assert_cmpint(results, ==, scene->results->len);
    read_lines(scene, SPOOL_MIOPEN, scene->lines);
    read_lines(scene, SPOOL_OWN, scene->own_lines);
    ExportRecords *records = export_records_open(&scene->spool, &error);
    while (export_records_next(records, &record, &error) == READ_ROW)
        g_ptr_array_add(scene->records, g_strdup(record->params));
    export_records_close(records);
    ExportKernels *kernels = export_kernels_open(&scene->spool, SPOOL_MIOPEN, &error);
    while (export_kernels_next(kernels, &kernel, &error) == READ_ROW)
        g_ptr_array_add(scene->kernels, g_strdup(kernel.key));
    export_kernels_close(kernels);
    g_assert_no_error(error);
    export_spool_close(&scene->spool);
    g_assert_cmpint(scene->summary.find_keys, ==, (int)scene->lines->len);
    g_assert_cmpint(scene->summary.perf_records, ==, (int)scene->records->len);
    g_assert_cmpint(scene->summary.kernels, ==, (int)scene->kernels->len);
}

const char *export_scene_reason(const struct export_scene *scene, guint index)
{
    return index < scene->summary.refused.listed->len
               ? ((const struct export_refusal *)scene->summary.refused.listed->pdata[index])
                     ->reason
               : "";
}
