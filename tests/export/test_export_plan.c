/* The gate and the choice of rows, with solvers of the test's own and nothing stored. */
#include "export/release/export_plan.h"
#include "tests/support/temp_folder.h"

#include <math.h>
#include <string.h>

/* ---- solvers: one that can be tuned, for all directions, and five that cannot ---- */

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

/* What is right for a forward input of 56 is not always right for one of 55. 16 needs a workspace. */
#define WORKSPACE 4096
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

/* One launch, whose options tell problem and config. */
static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    static const int64_t items[3] = {64, 1, 1};
    static const int block[3] = {64, 1, 1};
    (void)context;
    (void)error;
    struct launch *launch = solution_add_launch(solution, "conv.cl", "conv");
    launch_option_int(launch, "CONFIG", config->count > 0 ? config->values[0] : 0);
    launch_option_int(launch, "HEIGHT", p->in[AXIS_H]);
    launch_sort_options(launch);
    launch_set_grid(launch, items, block);
    solution->flops = 1e9;
    solution->workspace_bytes = config->count > 0 && config->values[0] == 16 ? WORKSPACE : 0;
    return true;
}

#define SOLVER(NAME, SPACE, DEFAULT)                                                               \
    {                                                                                              \
        .provider = "test", .name = NAME, .revision = 3, .algorithm = "Direct",                    \
        .sources = sources, .is_applicable = applies, .default_config = DEFAULT, .space = SPACE,   \
        .solve = solve                                                                             \
    }
static const struct solver solvers[] = {
    SOLVER("ConvTuned", &space, usual), SOLVER("ConvA", NULL, none), SOLVER("ConvB", NULL, none),
    SOLVER("ConvC", NULL, none),        SOLVER("ConvD", NULL, none),
};
/* In place of the program's own table. */
const struct solver *const solver_table[] = {&solvers[0], &solvers[1], &solvers[2], &solvers[3],
                                             &solvers[4]};
const int solver_table_count = G_N_ELEMENTS(solver_table);

/* ---- a campaign's results, made by hand ---- */

#define FORWARD "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
/* Two problems that perf-db cannot tell apart: forward inputs of 55 and of 56. */
#define ODD     "128-28-28-3x3-64-55-55-4-1x1-2x2-1x1-0-NCHW-FP32-B"
#define EVEN    "128-28-28-3x3-64-56-56-4-1x1-2x2-1x1-0-NCHW-FP32-B"

struct scene {
    struct export_source source;
    struct export_wish wish;
    struct gate gate;
    struct export_spool spool;
    struct export_summary summary;
    TempFolder *folder;
    GPtrArray *results; /* struct result * */
    /* what was planned, as texts */
    GPtrArray *lines, *own_lines, *records, *kernels;
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
    /* Jobs are numbered from 1: each is a part, and what comes behind the ninth. */
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
    const struct scene *scene = (const struct scene *)(const void *)source;
    GPtrArray *list = g_ptr_array_new();
    (void)error;
    for (guint i = 0; i < scene->results->len; i++) {
        struct result *result = scene->results->pdata[i];
        if (result->job > part->after && result->job <= part->last && is_named(part, result->job))
            g_ptr_array_add(list, result);
    }
    return list;
}

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->source = (struct export_source){
        .advance = advance, .list = list_part, .wish = &scene->wish, .gate = &scene->gate};
    scene->wish.top = FIND_ENTRIES_MAX;
    scene->folder = temp_folder_new();
    g_assert_true(target_parse("gfx90a68", &scene->gate.target, NULL));
    context_init(&scene->gate.context, &scene->gate.target);
    scene->gate.kernels = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_kernel);
    scene->gate.damaged = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    scene->results = g_ptr_array_new_with_free_func(free_result);
    refusals_init(&scene->summary.refused, temp_folder_path(scene->folder, "refused"));
    scene->lines = g_ptr_array_new_with_free_func(g_free);
    scene->own_lines = g_ptr_array_new_with_free_func(g_free);
    scene->records = g_ptr_array_new_with_free_func(g_free);
    scene->kernels = g_ptr_array_new_with_free_func(g_free);
}

static void scene_clear(struct scene *scene)
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

static struct kernel_row *add_kernel(struct scene *scene, const char *key, const char *options,
                                     const char *code)
{
    struct kernel_row *kernel = g_new0(struct kernel_row, 1);
    kernel->key = g_strdup(key);
    kernel->file = g_strdup("conv.cl");
    kernel->entry = g_strdup("conv");
    kernel->options = g_strdup(options);
    kernel->arch = g_strdup("gfx90a");
    kernel->code_sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, code, -1);
    g_hash_table_insert(scene->gate.kernels, kernel->key, kernel);
    return kernel;
}

/* A job's result of this rank, with a kernel of its own. */
static struct result *add(struct scene *scene, int64_t job, const char *key, const char *solver,
                          const char *config, double time_ms)
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
    result->kept.workspace_bytes = strcmp(config, "16") == 0 ? WORKSPACE : 0;
    for (guint i = 0; i < scene->results->len; i++) {
        result->rank += ((struct result *)scene->results->pdata[i])->job == job;
    }
    add_kernel(scene, kernel, options, options);
    g_ptr_array_add(scene->results, result);
    return result;
}

static void read_lines(struct scene *scene, int files, GPtrArray *list)
{
    const struct planned_line *planned = NULL;
    g_autoptr(ExportLines) lines = export_lines_open(&scene->spool, files, scene->wish.top, NULL);
    while (export_lines_next(lines, &planned, NULL) == READ_ROW)
        g_ptr_array_add(list, g_strdup(planned->text->str));
}

static void choose(struct scene *scene)
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

static const char *line(const struct scene *scene, guint index)
{
    return index < scene->lines->len ? scene->lines->pdata[index] : NULL;
}

static const char *own_line(const struct scene *scene, guint index)
{
    return index < scene->own_lines->len ? scene->own_lines->pdata[index] : NULL;
}

static const char *reason(const struct scene *scene, guint index)
{
    return index < scene->summary.refused.listed->len
               ? ((const struct export_refusal *)scene->summary.refused.listed->pdata[index])
                     ->reason
               : "";
}

#define ENTRY(NAME, TIME, ALGO) NAME ":" TIME ",0,miopenConvolution" ALGO "AlgoDirect"

/* ---- choosing ---- */

static void best_four_are_sorted_by_time_then_name(void)
{
    struct scene scene;
    scene_init(&scene);
    add(&scene, 1, FORWARD, "ConvD", "", 0.5);
    add(&scene, 2, FORWARD, "ConvA", "", 9);
    add(&scene, 3, FORWARD, "ConvTuned", "4", 0.25);
    add(&scene, 4, FORWARD, "ConvC", "", 0.5000000001);
    add(&scene, 5, FORWARD, "ConvB", "", 1);
    choose(&scene);
    g_assert_cmpstr(
        line(&scene, 0), ==,
        FORWARD "=" ENTRY("ConvTuned", "0.25", "Fwd") ";" ENTRY("ConvC", "0.5", "Fwd") ";" ENTRY(
            "ConvD", "0.5", "Fwd") ";" ENTRY("ConvB", "1", "Fwd"));
    g_assert_cmpint(scene.summary.find_entries, ==, 4);
    g_assert_cmpint(scene.summary.perf_records, ==, 1);
    g_assert_cmpint(scene.summary.refused.count, ==, 0);
    scene_clear(&scene);
}

static void only_the_best_config_of_a_job_is_exported(void)
{
    struct scene scene;
    scene_init(&scene);
    add(&scene, 1, FORWARD, "ConvTuned", "4", 0.25);
    add(&scene, 1, FORWARD, "ConvTuned", "1", 0.5);
    choose(&scene);
    g_assert_cmpstr(line(&scene, 0), ==, FORWARD "=" ENTRY("ConvTuned", "0.25", "Fwd"));
    g_assert_cmpuint(scene.records->len, ==, 1);
    g_assert_cmpstr(scene.records->pdata[0], ==, "4");
    g_assert_cmpuint(scene.kernels->len, ==, 1);
    scene_clear(&scene);
}

static void heavier_problem_gives_a_shared_row_its_params(void)
{
    /* ODD saves 1 ms twenty times, EVEN 2 ms five times. */
    struct scene scene;
    scene_init(&scene);
    add(&scene, 1, ODD, "ConvTuned", "2", 1)->multiplicity = 20;
    add(&scene, 1, ODD, "ConvTuned", "1", 2)->kept.is_default = true;
    add(&scene, 2, EVEN, "ConvTuned", "4", 1)->multiplicity = 5;
    add(&scene, 2, EVEN, "ConvTuned", "2", 1.5);
    add(&scene, 2, EVEN, "ConvTuned", "1", 3)->kept.is_default = true;
    choose(&scene);
    g_assert_cmpint(scene.summary.merged, ==, 1);
    g_assert_cmpuint(scene.records->len, ==, 1);
    g_assert_cmpstr(scene.records->pdata[0], ==, "2");
    g_assert_cmpstr(line(&scene, 0), ==, ODD "=" ENTRY("ConvTuned", "1", "BwdData"));
    /* EVEN's time is what these params took. */
    g_assert_cmpstr(line(&scene, 1), ==, EVEN "=" ENTRY("ConvTuned", "1.5", "BwdData"));
    g_assert_cmpuint(scene.kernels->len, ==, 2);
    /* As it was measured it stands where problems have params of their own. */
    g_assert_cmpstr(own_line(&scene, 1), ==, EVEN "=" ENTRY("ConvTuned", "1", "BwdData"));
    scene_clear(&scene);
}

static void params_not_valid_for_the_other_problem_take_its_entry_away(void)
{
    struct scene scene;
    scene_init(&scene);
    add(&scene, 1, ODD, "ConvTuned", "2", 1);
    add(&scene, 2, EVEN, "ConvTuned", "8", 1);
    add(&scene, 2, EVEN, "ConvTuned", "1", 3)->kept.is_default = true;
    choose(&scene);
    g_assert_cmpuint(scene.lines->len, ==, 1);
    g_assert_cmpstr(line(&scene, 0), ==, EVEN "=" ENTRY("ConvTuned", "1", "BwdData"));
    g_assert_nonnull(strstr(reason(&scene, 0), "not valid for it"));
    g_assert_cmpstr(own_line(&scene, 0), ==, ODD "=" ENTRY("ConvTuned", "1", "BwdData"));
    scene_clear(&scene);
}

/* Its time stands for the row's params where these are measured; its workspace is what they need. */
static void entry_of_a_shared_row_states_the_workspace_of_its_params(void)
{
    for (int measured = 0; measured < 2; measured++) {
        struct scene scene;
        scene_init(&scene);
        add(&scene, 1, ODD, "ConvTuned", "16", 1)->multiplicity = 20;
        add(&scene, 1, ODD, "ConvTuned", "1", 2)->kept.is_default = true;
        add(&scene, 2, EVEN, "ConvTuned", "1", 1)->kept.is_default = true;
        if (measured == 1) {
            add(&scene, 2, EVEN, "ConvTuned", "16", 1.5);
        }
        choose(&scene);
        g_assert_cmpstr(line(&scene, 0), ==,
                        ODD "=ConvTuned:1,4096,miopenConvolutionBwdDataAlgoDirect");
        g_assert_cmpstr(
            line(&scene, 1), ==,
            measured == 1 ? EVEN "=ConvTuned:1.5,4096,miopenConvolutionBwdDataAlgoDirect" : NULL);
        g_assert_cmpint(scene.summary.refused.by[REFUSAL_SHARED_ROW], ==, 1 - measured);
        g_assert_true(measured == 1 ||
                      strstr(reason(&scene, 0), "workspace of 4096 bytes") != NULL);
        g_assert_cmpstr(own_line(&scene, 1), ==, EVEN "=" ENTRY("ConvTuned", "1", "BwdData"));
        scene_clear(&scene);
    }
}

static void problem_with_an_epilogue_is_counted_and_in_our_own_file_alone(void)
{
    struct scene scene;
    scene_init(&scene);
    add(&scene, 1, FORWARD "+relu", "ConvA", "", 1);
    add(&scene, 2, FORWARD "+relu", "ConvB", "", 1);
    add(&scene, 3, FORWARD, "ConvB", "", 1);
    choose(&scene);
    g_assert_cmpint(scene.summary.inexpressible, ==, 1);
    g_assert_cmpuint(scene.own_lines->len, ==, 2);
    g_assert_cmpstr(own_line(&scene, 0), ==,
                    FORWARD "+relu=" ENTRY("ConvA", "1", "Fwd") ";" ENTRY("ConvB", "1", "Fwd"));
    g_assert_cmpint(scene.summary.find_keys, ==, 1);
    scene_clear(&scene);
}

/* ---- the gate ---- */

static void spoil_solver(struct result *result)
{
    g_free(result->solver);
    result->solver = g_strdup("ConvGone");
}

static void spoil_revision(struct result *result)
{
    result->revision = 2;
}

static void spoil_config(struct result *result)
{
    g_free(result->kept.config_text);
    result->kept.config_text = g_strdup("3");
}

static void spoil_config_values(struct result *result)
{
    result->kept.config.values[0] = 1;
}

static void spoil_problem(struct result *result)
{
    result->problem.n = 1000;
}

static void spoil_workspace(struct result *result)
{
    result->kept.workspace_bytes += 4096;
}

static void spoil_zero(struct result *result)
{
    result->kept.outcome.median_ms = 0;
}

static void spoil_nan(struct result *result)
{
    result->kept.outcome.median_ms = (double)NAN;
}

static void spoil_tiny(struct result *result)
{
    result->kept.outcome.median_ms = 1e-60;
}

/* Whatever operations the worker stated. */
static void spoil_impossible(struct result *result)
{
    result->kept.outcome.min_ms = 1e-6;
    result->kept.flops = 0;
}

static void spoil_minimum(struct result *result)
{
    result->kept.outcome.min_ms = 0.5;
}

static void spoil_count(struct result *result)
{
    result->kept.outcome.n = 0;
}

static void spoil_damage(struct result *result)
{
    result->damage = g_strdup("a problem has no such layout");
}

static void spoil_job(struct result *result)
{
    result->problem_id = 0;
}

static void spoil_verified(struct result *result)
{
    result->verified = false;
}

static void spoil_failed(struct result *result)
{
    result->kept.outcome.failure = FAILURE_WRONG_RESULT;
}

static void spoil_kernel(struct result *result)
{
    g_free(result->kept.kernel_keys);
    result->kept.kernel_keys = g_strdup("1:4,0123456789abcdef");
}

static void spoil_other_kernel(struct result *result)
{
    g_free(result->kept.kernel_keys);
    result->kept.kernel_keys = g_strdup("2:");
}

static void spoil_kernels(struct result *result)
{
    result->kept.kernel_keys[0] = '\0';
}

static void result_that_does_not_pass_is_named_with_the_reason(void)
{
    static const struct {
        void (*spoil)(struct result *result);
        enum refusal why;
        const char *reason;
    } cases[] = {
        {spoil_damage, REFUSAL_DAMAGED, "no such layout"},
        {spoil_job, REFUSAL_FOREIGN, "no such job"},
        {spoil_verified, REFUSAL_UNVERIFIED, "no stored round"},
        {spoil_failed, REFUSAL_UNVERIFIED, "wrong result"},
        {spoil_solver, REFUSAL_SOLVER, "no solver of that name"},
        {spoil_revision, REFUSAL_SOLVER, "measured at revision 2, the registry has 3"},
        {spoil_config, REFUSAL_CONFIG, "3"},
        {spoil_config_values, REFUSAL_CONFIG, "does not read back from '4'"},
        {spoil_problem, REFUSAL_CONFIG, "needs a batch below 1000"},
        {spoil_workspace, REFUSAL_CONFIG, "4096 bytes is not the 0 of its solution"},
        {spoil_zero, REFUSAL_TIME, "not a positive number"},
        {spoil_nan, REFUSAL_TIME, "not a positive number"},
        {spoil_tiny, REFUSAL_TIME, "not a positive number"},
        {spoil_minimum, REFUSAL_TIME, "is no median"},
        {spoil_count, REFUSAL_TIME, "is no median"},
        {spoil_impossible, REFUSAL_TIME, "is impossible, gfx90a68 needs"},
        {spoil_kernel, REFUSAL_KERNEL, "kernel 0123456789ab is not in the database"},
        {spoil_kernels, REFUSAL_KERNEL, "names no kernel"},
        {spoil_other_kernel, REFUSAL_KERNEL, "is not of its solution"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct scene scene;
        scene_init(&scene);
        cases[i].spoil(add(&scene, 1, FORWARD, "ConvTuned", "4", 0.25));
        add(&scene, 2, FORWARD, "ConvA", "", 1);
        choose(&scene);
        if (strstr(reason(&scene, 0), cases[i].reason) == NULL) {
            g_test_message("%zu: '%s'", i, reason(&scene, 0));
            g_test_fail();
        }
        g_assert_cmpint(scene.summary.refused.by[cases[i].why], ==, 1);
        g_assert_cmpint(scene.summary.find_entries, ==, 1);
        g_assert_cmpuint(scene.records->len, ==, 0);
        g_assert_cmpuint(scene.kernels->len, ==, 1);
        scene_clear(&scene);
    }
}

static void one_name_holds_one_code_object(void)
{
    struct scene scene;
    scene_init(&scene);
    struct result *one = add(&scene, 1, FORWARD, "ConvA", "", 1);
    struct result *same = add(&scene, 2, FORWARD, "ConvB", "", 2);
    struct result *other = add(&scene, 3, FORWARD, "ConvC", "", 3);
    struct result *const all[] = {one, same, other};
    for (int i = 0; i < 3; i++) {
        static const char *const keys[] = {"one", "same", "other"};
        g_free(all[i]->kept.kernel_keys);
        all[i]->kept.kernel_keys = g_strdup(keys[i]);
        add_kernel(&scene, keys[i], "-DCONFIG=0 -DHEIGHT=56", i == 2 ? "another" : "the code");
    }
    choose(&scene);
    g_assert_cmpint(scene.summary.find_entries, ==, 2);
    g_assert_cmpuint(scene.kernels->len, ==, 1);
    g_assert_nonnull(strstr(reason(&scene, 0), "another code object has the name"));
    scene_clear(&scene);
}

/* The key with an epilogue sorts first, and its result is faster. */
static void names_go_to_problems_without_epilogues_first(void)
{
    struct scene scene;
    scene_init(&scene);
    struct result *fused = add(&scene, 1, FORWARD "+relu", "ConvA", "", 1);
    add(&scene, 2, FORWARD, "ConvB", "", 2);
    g_free(fused->kept.kernel_keys);
    fused->kept.kernel_keys = g_strdup("other");
    add_kernel(&scene, "other", "-DCONFIG=0 -DHEIGHT=56", "another");
    choose(&scene);
    g_assert_cmpint(scene.summary.refused.by[REFUSAL_KERNEL], ==, 1);
    g_assert_nonnull(strstr(reason(&scene, 0), "another code object has the name"));
    g_assert_cmpint(scene.summary.find_keys, ==, 1);
    g_assert_cmpuint(scene.own_lines->len, ==, 1);
    scene_clear(&scene);
}

/* What EVEN would run with the row's params has the name of what FORWARD runs. */
static void who_gives_way_may_not_take_another_name(void)
{
    struct scene scene;
    scene_init(&scene);
    add(&scene, 1, ODD, "ConvTuned", "2", 1)->multiplicity = 20;
    add(&scene, 1, ODD, "ConvTuned", "1", 2)->kept.is_default = true;
    add(&scene, 2, EVEN, "ConvTuned", "4", 1);
    struct result *measured = add(&scene, 2, EVEN, "ConvTuned", "2", 1.5);
    add(&scene, 3, FORWARD, "ConvTuned", "2", 1);
    g_free(measured->kept.kernel_keys);
    measured->kept.kernel_keys = g_strdup("other");
    add_kernel(&scene, "other", "-DCONFIG=2 -DHEIGHT=56", "another");
    choose(&scene);
    g_assert_cmpint(scene.summary.merged, ==, 1);
    g_assert_cmpint(scene.summary.refused.by[REFUSAL_KERNEL], ==, 1);
    g_assert_cmpuint(scene.lines->len, ==, 2);
    g_assert_cmpuint(scene.own_lines->len, ==, 3);
    g_assert_cmpstr(own_line(&scene, 1), ==, EVEN "=" ENTRY("ConvTuned", "1", "BwdData"));
    scene_clear(&scene);
}

static void kernel_of_another_target_is_refused(void)
{
    struct scene scene;
    scene_init(&scene);
    add(&scene, 1, FORWARD, "ConvA", "", 1);
    struct kernel_row *kernel = g_hash_table_lookup(scene.gate.kernels, "1:");
    g_free(kernel->arch);
    kernel->arch = g_strdup("gfx1030");
    choose(&scene);
    g_assert_nonnull(strstr(reason(&scene, 0), "built for gfx1030"));
    scene_clear(&scene);
}

static void least_time_follows_the_peak_and_the_type(void)
{
    struct target target;
    struct problem problem;
    problem_init(&problem);
    g_assert_true(target_parse("gfx90a68", &target, NULL));
    target.peak_flops = 1e12;
    g_assert_cmpfloat_with_epsilon(target_least_ms(&target, problem.type[TENSOR_X], 1e9), 1, 1e-9);
    problem.type[TENSOR_X] = TYPE_FP16;
    g_assert_cmpfloat_with_epsilon(target_least_ms(&target, problem.type[TENSOR_X], 1e9), 1. / 4,
                                   1e-9);
    target.vendor = VENDOR_CPU;
    g_assert_cmpfloat_with_epsilon(target_least_ms(&target, problem.type[TENSOR_X], 1e9), 1. / 2,
                                   1e-9);
    target.peak_flops = 0;
    g_assert_cmpfloat(target_least_ms(&target, problem.type[TENSOR_X], 1e9), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export_plan/best_four_are_sorted_by_time_then_name",
                    best_four_are_sorted_by_time_then_name);
    g_test_add_func("/export_plan/only_the_best_config_of_a_job_is_exported",
                    only_the_best_config_of_a_job_is_exported);
    g_test_add_func("/export_plan/heavier_problem_gives_a_shared_row_its_params",
                    heavier_problem_gives_a_shared_row_its_params);
    g_test_add_func("/export_plan/params_not_valid_for_the_other_problem_take_its_entry_away",
                    params_not_valid_for_the_other_problem_take_its_entry_away);
    g_test_add_func("/export_plan/entry_of_a_shared_row_states_the_workspace_of_its_params",
                    entry_of_a_shared_row_states_the_workspace_of_its_params);
    g_test_add_func("/export_plan/problem_with_an_epilogue_is_counted_and_in_our_own_file_alone",
                    problem_with_an_epilogue_is_counted_and_in_our_own_file_alone);
    g_test_add_func("/export_plan/result_that_does_not_pass_is_named_with_the_reason",
                    result_that_does_not_pass_is_named_with_the_reason);
    g_test_add_func("/export_plan/one_name_holds_one_code_object", one_name_holds_one_code_object);
    g_test_add_func("/export_plan/names_go_to_problems_without_epilogues_first",
                    names_go_to_problems_without_epilogues_first);
    g_test_add_func("/export_plan/who_gives_way_may_not_take_another_name",
                    who_gives_way_may_not_take_another_name);
    g_test_add_func("/export_plan/kernel_of_another_target_is_refused",
                    kernel_of_another_target_is_refused);
    g_test_add_func("/export_plan/least_time_follows_the_peak_and_the_type",
                    least_time_follows_the_peak_and_the_type);
    return g_test_run();
}
