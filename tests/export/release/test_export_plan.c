/* The choice of the results that become rows of the files, with the test's own solvers and no
 * database. */
#include "tests/support/export/export_scene.h"

#include <string.h>

/* Replaces the program's table of solvers. */
const struct solver *const solver_table[] = {
    &export_scene_solvers[0], &export_scene_solvers[1], &export_scene_solvers[2],
    &export_scene_solvers[3], &export_scene_solvers[4],
};
const int solver_table_count = EXPORT_SCENE_SOLVERS;

/* Two problems with one perf-db row: forward inputs of 55 and of 56 give the same output of 28. */
#define ODD  "128-28-28-3x3-64-55-55-4-1x1-2x2-1x1-0-NCHW-FP32-B"
#define EVEN "128-28-28-3x3-64-56-56-4-1x1-2x2-1x1-0-NCHW-FP32-B"

static const char *line(const struct export_scene *scene, guint index)
{
    return index < scene->lines->len ? scene->lines->pdata[index] : NULL;
}

static const char *own_line(const struct export_scene *scene, guint index)
{
    return index < scene->own_lines->len ? scene->own_lines->pdata[index] : NULL;
}

#define ENTRY(NAME, TIME, ALGO) NAME ":" TIME ",0,miopenConvolution" ALGO "AlgoDirect"

static void best_four_are_sorted_by_time_then_name(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD, "ConvD", "", 0.5);
    export_scene_add(&scene, 2, EXPORT_SCENE_FORWARD, "ConvA", "", 9);
    export_scene_add(&scene, 3, EXPORT_SCENE_FORWARD, "ConvTuned", "4", 0.25);
    export_scene_add(&scene, 4, EXPORT_SCENE_FORWARD, "ConvC", "", 0.5000000001);
    export_scene_add(&scene, 5, EXPORT_SCENE_FORWARD, "ConvB", "", 1);
    export_scene_choose(&scene);
    g_assert_cmpstr(
        line(&scene, 0), ==,
        EXPORT_SCENE_FORWARD "=" ENTRY("ConvTuned", "0.25", "Fwd") ";" ENTRY(
            "ConvC", "0.5", "Fwd") ";" ENTRY("ConvD", "0.5", "Fwd") ";" ENTRY("ConvB", "1", "Fwd"));
    g_assert_cmpint(scene.summary.find_entries, ==, 4);
    g_assert_cmpint(scene.summary.perf_records, ==, 1);
    g_assert_cmpint(scene.summary.refused.count, ==, 0);
    export_scene_clear(&scene);
}

static void only_the_best_config_of_a_job_is_exported(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD, "ConvTuned", "4", 0.25);
    export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD, "ConvTuned", "1", 0.5);
    export_scene_choose(&scene);
    g_assert_cmpstr(line(&scene, 0), ==,
                    EXPORT_SCENE_FORWARD "=" ENTRY("ConvTuned", "0.25", "Fwd"));
    g_assert_cmpuint(scene.records->len, ==, 1);
    g_assert_cmpstr(scene.records->pdata[0], ==, "4");
    g_assert_cmpuint(scene.kernels->len, ==, 1);
    export_scene_clear(&scene);
}

static void heavier_problem_gives_a_shared_row_its_params(void)
{
    /* ODD's params save 1 ms in each of 20 layers; EVEN's save 2 ms in each of 5: ODD's params get
     * the row. */
    struct export_scene scene;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, ODD, "ConvTuned", "2", 1)->multiplicity = 20;
    export_scene_add(&scene, 1, ODD, "ConvTuned", "1", 2)->kept.is_default = true;
    export_scene_add(&scene, 2, EVEN, "ConvTuned", "4", 1)->multiplicity = 5;
    export_scene_add(&scene, 2, EVEN, "ConvTuned", "2", 1.5);
    export_scene_add(&scene, 2, EVEN, "ConvTuned", "1", 3)->kept.is_default = true;
    export_scene_choose(&scene);
    g_assert_cmpint(scene.summary.merged, ==, 1);
    g_assert_cmpuint(scene.records->len, ==, 1);
    g_assert_cmpstr(scene.records->pdata[0], ==, "2");
    g_assert_cmpstr(line(&scene, 0), ==, ODD "=" ENTRY("ConvTuned", "1", "BwdData"));
    /* EVEN's entry states EVEN's time with ODD's params. */
    g_assert_cmpstr(line(&scene, 1), ==, EVEN "=" ENTRY("ConvTuned", "1.5", "BwdData"));
    g_assert_cmpuint(scene.kernels->len, ==, 2);
    /* The .sjdb keeps params of each problem, so its entry states EVEN's own best time. */
    g_assert_cmpstr(own_line(&scene, 1), ==, EVEN "=" ENTRY("ConvTuned", "1", "BwdData"));
    export_scene_clear(&scene);
}

static GPtrArray *(*list_results)(const struct export_source *source,
                                  const struct result_part *part, GError **error);

/* Changes the best config of results that the export reads a second time. */
static GPtrArray *list_and_change(const struct export_source *source,
                                  const struct result_part *part, GError **error)
{
    GPtrArray *results = list_results(source, part, error);
    for (guint i = 0; part->jobs != NULL && i < results->len; i++) {
        struct result *result = results->pdata[i];
        g_free(result->kept.config_text);
        result->kept.config_text = g_strdup("2");
    }
    return results;
}

/* The export ends with an error: an entry would state the time of params that its perf-db row does
 * not hold. */
static void results_that_change_meanwhile_end_the_export(void)
{
    struct export_scene scene;
    g_autoptr(GError) error = NULL;
    int64_t results = 0;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, ODD, "ConvTuned", "2", 1)->multiplicity = 20;
    export_scene_add(&scene, 1, ODD, "ConvTuned", "1", 2)->kept.is_default = true;
    export_scene_add(&scene, 2, EVEN, "ConvTuned", "4", 1);
    list_results = scene.source.list;
    scene.source.list = list_and_change;
    g_assert_true(export_spool_open(&scene.spool, temp_folder_path(scene.folder, "s"), &error));
    g_assert_false(export_plan_make(&scene.source, &scene.spool, &scene.summary, &results, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK);
    g_assert_true(error == NULL || strstr(error->message, "changed meanwhile") != NULL);
    export_spool_close(&scene.spool);
    export_scene_clear(&scene);
}

static void params_not_valid_for_the_other_problem_take_its_entry_away(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, ODD, "ConvTuned", "2", 1);
    export_scene_add(&scene, 2, EVEN, "ConvTuned", "8", 1);
    export_scene_add(&scene, 2, EVEN, "ConvTuned", "1", 3)->kept.is_default = true;
    export_scene_choose(&scene);
    g_assert_cmpuint(scene.lines->len, ==, 1);
    g_assert_cmpstr(line(&scene, 0), ==, EVEN "=" ENTRY("ConvTuned", "1", "BwdData"));
    g_assert_nonnull(strstr(export_scene_reason(&scene, 0), "not valid for it"));
    g_assert_cmpstr(own_line(&scene, 0), ==, ODD "=" ENTRY("ConvTuned", "1", "BwdData"));
    export_scene_clear(&scene);
}

/* Where problems share a perf-db row, an entry states the time with the row's params if that was
 * measured, and the workspace that these params need. */
static void entry_of_a_shared_row_states_the_workspace_of_its_params(void)
{
    for (int measured = 0; measured < 2; measured++) {
        struct export_scene scene;
        export_scene_init(&scene);
        export_scene_add(&scene, 1, ODD, "ConvTuned", "16", 1)->multiplicity = 20;
        export_scene_add(&scene, 1, ODD, "ConvTuned", "1", 2)->kept.is_default = true;
        export_scene_add(&scene, 2, EVEN, "ConvTuned", "1", 1)->kept.is_default = true;
        if (measured == 1) {
            export_scene_add(&scene, 2, EVEN, "ConvTuned", "16", 1.5);
        }
        export_scene_choose(&scene);
        g_assert_cmpstr(line(&scene, 0), ==,
                        ODD "=ConvTuned:1,4096,miopenConvolutionBwdDataAlgoDirect");
        g_assert_cmpstr(
            line(&scene, 1), ==,
            measured == 1 ? EVEN "=ConvTuned:1.5,4096,miopenConvolutionBwdDataAlgoDirect" : NULL);
        g_assert_cmpint(scene.summary.refused.by[REFUSAL_SHARED_ROW], ==, 1 - measured);
        g_assert_true(measured == 1 ||
                      strstr(export_scene_reason(&scene, 0), "workspace of 4096 bytes") != NULL);
        g_assert_cmpstr(own_line(&scene, 1), ==, EVEN "=" ENTRY("ConvTuned", "1", "BwdData"));
        export_scene_clear(&scene);
    }
}

static void problem_with_an_epilogue_is_counted_and_in_our_own_file_alone(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD "+relu", "ConvA", "", 1);
    export_scene_add(&scene, 2, EXPORT_SCENE_FORWARD "+relu", "ConvB", "", 1);
    export_scene_add(&scene, 3, EXPORT_SCENE_FORWARD, "ConvB", "", 1);
    export_scene_choose(&scene);
    g_assert_cmpint(scene.summary.inexpressible, ==, 1);
    g_assert_cmpuint(scene.own_lines->len, ==, 2);
    g_assert_cmpstr(own_line(&scene, 0), ==,
                    EXPORT_SCENE_FORWARD
                    "+relu=" ENTRY("ConvA", "1", "Fwd") ";" ENTRY("ConvB", "1", "Fwd"));
    g_assert_cmpint(scene.summary.find_keys, ==, 1);
    export_scene_clear(&scene);
}

static void problems_that_no_key_names_are_counted_by_what_they_have(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD "_sx300000x3136x0x56x1+relu", "ConvA", "", 1);
    export_scene_add(&scene, 2, EXPORT_SCENE_FORWARD "_sx300000x3136x0x56x1", "ConvB", "", 1);
    export_scene_add(&scene, 3, EXPORT_SCENE_FORWARD "+tanh", "ConvB", "", 1);
    export_scene_add(&scene, 4, EXPORT_SCENE_FORWARD, "ConvB", "", 1);
    export_scene_choose(&scene);
    g_assert_cmpint(scene.summary.inexpressible, ==, 3);
    g_assert_cmpint(scene.summary.lacks[LACK_STRIDES], ==, 2);
    g_assert_cmpint(scene.summary.lacks[LACK_EPILOGUE], ==, 1);
    g_assert_cmpint(scene.summary.find_keys, ==, 1);
    g_assert_cmpint(scene.summary.perf_records, ==, 0);
    g_assert_cmpuint(scene.own_lines->len, ==, 4);
    export_scene_clear(&scene);
}

/* ---- names of code objects ---- */

static void one_name_holds_one_code_object(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    struct result *one = export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD, "ConvA", "", 1);
    struct result *same = export_scene_add(&scene, 2, EXPORT_SCENE_FORWARD, "ConvB", "", 2);
    struct result *other = export_scene_add(&scene, 3, EXPORT_SCENE_FORWARD, "ConvC", "", 3);
    struct result *const all[] = {one, same, other};
    for (int i = 0; i < 3; i++) {
        static const char *const keys[] = {"one", "same", "other"};
        g_free(all[i]->kept.kernel_keys);
        all[i]->kept.kernel_keys = g_strdup(keys[i]);
        export_scene_add_kernel(&scene, keys[i], "-DCONFIG=0 -DHEIGHT=56",
                                i == 2 ? "another" : "the code");
    }
    export_scene_choose(&scene);
    g_assert_cmpint(scene.summary.find_entries, ==, 2);
    g_assert_cmpuint(scene.kernels->len, ==, 1);
    g_assert_nonnull(strstr(export_scene_reason(&scene, 0), "another code object has the name"));
    export_scene_clear(&scene);
}

/* Kernel names go to problems without epilogues first, although here the key with an epilogue sorts
 * first and its result is faster. */
static void names_go_to_problems_without_epilogues_first(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    struct result *fused =
        export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD "+relu", "ConvA", "", 1);
    export_scene_add(&scene, 2, EXPORT_SCENE_FORWARD, "ConvB", "", 2);
    g_free(fused->kept.kernel_keys);
    fused->kept.kernel_keys = g_strdup("other");
    export_scene_add_kernel(&scene, "other", "-DCONFIG=0 -DHEIGHT=56", "another");
    export_scene_choose(&scene);
    g_assert_cmpint(scene.summary.refused.by[REFUSAL_KERNEL], ==, 1);
    g_assert_nonnull(strstr(export_scene_reason(&scene, 0), "another code object has the name"));
    g_assert_cmpint(scene.summary.find_keys, ==, 1);
    g_assert_cmpuint(scene.own_lines->len, ==, 1);
    export_scene_clear(&scene);
}

/* With the shared row's params EVEN would run its own code object, whose name is already given to
 * EXPORT_SCENE_FORWARD's: EVEN gets no entry. */
static void a_loser_may_not_take_another_code_objects_name(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, ODD, "ConvTuned", "2", 1)->multiplicity = 20;
    export_scene_add(&scene, 1, ODD, "ConvTuned", "1", 2)->kept.is_default = true;
    export_scene_add(&scene, 2, EVEN, "ConvTuned", "4", 1);
    struct result *measured = export_scene_add(&scene, 2, EVEN, "ConvTuned", "2", 1.5);
    export_scene_add(&scene, 3, EXPORT_SCENE_FORWARD, "ConvTuned", "2", 1);
    g_free(measured->kept.kernel_keys);
    measured->kept.kernel_keys = g_strdup("other");
    export_scene_add_kernel(&scene, "other", "-DCONFIG=2 -DHEIGHT=56", "another");
    export_scene_choose(&scene);
    g_assert_cmpint(scene.summary.merged, ==, 1);
    g_assert_cmpint(scene.summary.refused.by[REFUSAL_KERNEL], ==, 1);
    g_assert_cmpuint(scene.lines->len, ==, 2);
    g_assert_cmpuint(scene.own_lines->len, ==, 3);
    g_assert_cmpstr(own_line(&scene, 1), ==, EVEN "=" ENTRY("ConvTuned", "1", "BwdData"));
    export_scene_clear(&scene);
}

/* ---- build-only campaigns ---- */

/* Returns "solver config workspace" of all entries of a problem that the .sjdb gets, in their order. */
static char *own_configs(struct export_scene *scene)
{
    GString *text = g_string_new(NULL);
    const struct planned_line *planned = NULL;
    g_autoptr(ExportLines) lines = export_lines_open(&scene->spool, SPOOL_OWN, 4, NULL);
    while (export_lines_next(lines, &planned, NULL) == READ_ROW) {
        for (guint i = 0; i < planned->entries->len; i++) {
            const struct planned_entry *entry =
                &g_array_index(planned->entries, struct planned_entry, i);
            g_assert_cmpfloat(entry->time_ms, ==, 0);
            g_string_append_printf(text, "%s%s %s %d", text->len > 0 ? ", " : "",
                                   entry->solver->name, entry->params, (int)entry->workspace_bytes);
        }
    }
    return g_string_free(text, FALSE);
}

/* A built config has no time, outcome and stated workspace. */
static void add_built(struct export_scene *scene, int64_t job, const char *solver,
                      const char *config)
{
    struct result *result = export_scene_add(scene, job, EXPORT_SCENE_FORWARD, solver, config, 0);
    result->verified = false;
    result->kept.workspace_bytes = 0;
}

static void make_built_plan(struct export_scene *scene)
{
    int64_t results = 0;
    export_scene_init(scene);
    scene->gate.built_only = true;
    add_built(scene, 1, "ConvTuned", "4");
    add_built(scene, 1, "ConvTuned", "16");
    add_built(scene, 1, "ConvTuned", "1");
    add_built(scene, 1, "ConvTuned", "4"); /* of a later round */
    add_built(scene, 2, "ConvC", "");
    add_built(scene, 3, "ConvB", "");
    add_built(scene, 4, "ConvA", "");
    g_assert_true(export_spool_open(&scene->spool, temp_folder_path(scene->folder, "s"), NULL));
    g_assert_true(export_plan_make(&scene->source, &scene->spool, &scene->summary, &results, NULL));
}

static void built_configs_are_ordered_by_estimate_then_as_proposed(void)
{
    struct export_scene scene;
    make_built_plan(&scene);
    g_autofree char *all = own_configs(&scene);
    g_assert_cmpstr(
        all, ==, "ConvB  0, ConvTuned 4 0, ConvTuned 16 4096, ConvTuned 1 0, ConvA  0, ConvC  0");
    g_assert_cmpint(scene.summary.refused.count, ==, 0);
    g_assert_cmpint(scene.summary.built_configs, ==, 6);
    g_assert_cmpint(scene.summary.built_problems, ==, 1);
    g_assert_cmpint(scene.summary.kernels, ==, 4); /* ConvA, ConvB and ConvC share one */
    g_assert_cmpuint(json_object_size(scene.summary.beyond_sjdb), ==, 0);
    export_spool_close(&scene.spool);
    export_scene_clear(&scene);
}

static void no_solver_loses_all_its_configs_to_another_ones(void)
{
    static const struct {
        int most;
        const char *kept, *left_out;
    } steps[] = {
        {5, "ConvB  0, ConvTuned 4 0, ConvTuned 16 4096, ConvA  0, ConvC  0", "{\"ConvTuned\": 1}"},
        {4, "ConvB  0, ConvTuned 4 0, ConvA  0, ConvC  0", "{\"ConvTuned\": 1}"},
        {2, "ConvB  0, ConvTuned 4 0", "{\"ConvA\": 1, \"ConvC\": 1}"},
    };
    struct export_scene scene;
    make_built_plan(&scene);
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        json_t *counts = export_spool_limit_own(&scene.spool, steps[i].most, NULL);
        g_autofree char *kept = own_configs(&scene);
        char *left_out = json_dumps(counts, 0);
        g_assert_cmpstr(kept, ==, steps[i].kept);
        g_assert_cmpstr(left_out, ==, steps[i].left_out);
        free(left_out);
        json_decref(counts);
    }
    export_spool_close(&scene.spool);
    export_scene_clear(&scene);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export_plan/best_four_are_sorted_by_time_then_name",
                    best_four_are_sorted_by_time_then_name);
    g_test_add_func("/export_plan/built_configs_are_ordered_by_estimate_then_as_proposed",
                    built_configs_are_ordered_by_estimate_then_as_proposed);
    g_test_add_func("/export_plan/no_solver_loses_all_its_configs_to_another_ones",
                    no_solver_loses_all_its_configs_to_another_ones);
    g_test_add_func("/export_plan/only_the_best_config_of_a_job_is_exported",
                    only_the_best_config_of_a_job_is_exported);
    g_test_add_func("/export_plan/heavier_problem_gives_a_shared_row_its_params",
                    heavier_problem_gives_a_shared_row_its_params);
    g_test_add_func("/export_plan/results_that_change_meanwhile_end_the_export",
                    results_that_change_meanwhile_end_the_export);
    g_test_add_func("/export_plan/params_not_valid_for_the_other_problem_take_its_entry_away",
                    params_not_valid_for_the_other_problem_take_its_entry_away);
    g_test_add_func("/export_plan/entry_of_a_shared_row_states_the_workspace_of_its_params",
                    entry_of_a_shared_row_states_the_workspace_of_its_params);
    g_test_add_func("/export_plan/problem_with_an_epilogue_is_counted_and_in_our_own_file_alone",
                    problem_with_an_epilogue_is_counted_and_in_our_own_file_alone);
    g_test_add_func("/export_plan/problems_that_no_key_names_are_counted_by_what_they_have",
                    problems_that_no_key_names_are_counted_by_what_they_have);
    g_test_add_func("/export_plan/one_name_holds_one_code_object", one_name_holds_one_code_object);
    g_test_add_func("/export_plan/names_go_to_problems_without_epilogues_first",
                    names_go_to_problems_without_epilogues_first);
    g_test_add_func("/export_plan/a_loser_may_not_take_another_code_objects_name",
                    a_loser_may_not_take_another_code_objects_name);
    return g_test_run();
}
