/* Coverage computed for the test's own solvers: a problem's k decides which solvers serve it. */
#include "coordinator/reports/coverage.h"

#include "coordinator/import/import.h"
#include "coordinator/plan/plan.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/real_data.h"
#include "tests/support/test_effort.h"

#include <string.h>

static struct target target;

/* ---- solvers ---- */

static bool serves_all(const struct problem *p, const struct context *context, const char **reason)
{
    (void)p;
    (void)context;
    (void)reason;
    return true;
}

static bool serves_even(const struct problem *p, const struct context *context, const char **reason)
{
    (void)context;
    *reason = "needs k % 2 = 0";
    return p->k % 2 == 0;
}

static bool serves_fours(const struct problem *p, const struct context *context,
                         const char **reason)
{
    (void)context;
    *reason = "needs k % 4 = 0";
    return p->k % 4 == 0;
}

static bool divides_k(const struct problem *p, const struct context *context, const int32_t *values)
{
    (void)context;
    return p->k % values[0] == 0;
}

static const struct space_param params[] = {{"DIVISOR", 3, (const int32_t[]){4, 8, 16}}};
static const struct space_constraint constraints[] = {{"divides_k", "divisibility", 1, divides_k}};
static const struct space divisors = {1, params, 1, constraints};

static const struct space_param large_params[] = {
    {"A", 3, (const int32_t[]){1, 2, 3}}, {"B", 3, (const int32_t[]){1, 2, 3}},
    {"C", 3, (const int32_t[]){1, 2, 3}}, {"D", 3, (const int32_t[]){1, 2, 3}},
    {"E", 3, (const int32_t[]){1, 2, 3}}, {"F", 3, (const int32_t[]){1, 2, 3}},
    {"G", 3, (const int32_t[]){1, 2, 3}}, {"H", 3, (const int32_t[]){1, 2, 3}},
    {"I", 3, (const int32_t[]){1, 2, 3}}, {"J", 3, (const int32_t[]){1, 2, 3}},
    {"K", 3, (const int32_t[]){1, 2, 3}},
};
static const struct space large = {G_N_ELEMENTS(large_params), large_params, 0, NULL};

static const struct solver naive = {
    .name = PLAN_NAIVE_SOLVER, .algorithm = "Direct", .is_applicable = serves_even};
static const struct solver tiled = {
    .name = "Tiled", .algorithm = "Direct", .is_applicable = serves_even, .space = &divisors};
static const struct solver gemm = {
    .name = "Gemm", .algorithm = "GEMM", .is_applicable = serves_fours, .space = &large};
static const struct solver other_gemm = {
    .name = "OtherGemm", .algorithm = "GEMM", .is_applicable = serves_fours};
static const struct solver *const table[] = {&naive, &tiled, &gemm, &other_gemm};

/* ---- problems ---- */

static ProblemList *problems_with(const int *k, int count)
{
    ProblemList *list = problem_list_new();
    for (int i = 0; i < count; i++) {
        struct problem p;
        problem_init(&p);
        p.k = k[i];
        problem_set_output(&p);
        problem_list_add(list, &p, 1);
    }
    return list;
}

static struct coverage *cover(const ProblemList *list)
{
    const struct coverage_request request = {
        .target = &target, .problems = list, .solvers = table, .solver_count = 4};
    return coverage_new(&request);
}

static const struct coverage_problem *problem_at(const struct coverage *coverage, guint i)
{
    return &g_array_index(coverage->problems, struct coverage_problem, i);
}

static const struct coverage_solver *solver_at(const struct coverage *coverage, guint i)
{
    return &g_array_index(coverage->solvers, struct coverage_solver, i);
}

/* ---- tests ---- */

static void each_problem_counts_once(void)
{
    const int k[] = {4, 4, 3, 2};
    g_autoptr(ProblemList) list = problems_with(k, G_N_ELEMENTS(k));
    struct coverage *coverage = cover(list);
    const int *solvers = (const int *)(const void *)coverage->solver_histogram->data;
    const int *families = (const int *)(const void *)coverage->family_histogram->data;
    g_assert_cmpuint(coverage->problems->len, ==, 3);
    g_assert_cmpint(solvers[0], ==, 1);
    g_assert_cmpint(solvers[1], ==, 1);
    g_assert_cmpint(solvers[2], ==, 0);
    g_assert_cmpint(solvers[3], ==, 1);
    g_assert_cmpint(families[0], ==, 1);
    g_assert_cmpint(families[1], ==, 1);
    g_assert_cmpint(families[2], ==, 1);
    const int *others = (const int *)(const void *)coverage->other_family_histogram->data;
    /* one of the two has only a solver of the naive solver's family */
    g_assert_cmpint(others[0], ==, 2);
    g_assert_cmpint(others[1], ==, 1);
    g_assert_cmpint(coverage->unserved, ==, 1);
    coverage_free(coverage);
}

static void a_family_is_counted_without_the_naive_solver(void)
{
    const int k[] = {4, 8, 2, 3};
    g_autoptr(ProblemList) list = problems_with(k, G_N_ELEMENTS(k));
    static const struct solver *const alone[] = {&naive, &gemm, &other_gemm};
    const struct coverage_request request = {
        .target = &target, .problems = list, .solvers = alone, .solver_count = 3};
    struct coverage *coverage = coverage_new(&request);
    const struct coverage_family *family =
        &g_array_index(coverage->families, struct coverage_family, 0);
    g_assert_cmpuint(coverage->families->len, ==, 1);
    g_assert_cmpstr(family->name, ==, "GEMM");
    g_assert_cmpint(family->problems, ==, 2);
    coverage_free(coverage);
}

static void the_poorest_come_first(void)
{
    const int k[] = {4, 6, 8, 3, 2};
    g_autoptr(ProblemList) list = problems_with(k, G_N_ELEMENTS(k));
    struct coverage *coverage = cover(list);
    const int order[] = {3, 1, 4, 0, 2}; /* problems by number of solvers: 0, 1, 1, 3, 3 */
    for (guint i = 0; i < coverage->problems->len; i++)
        g_assert_cmpint(problem_at(coverage, i)->index, ==, order[i]);
    g_assert_false(problem_at(coverage, 0)->naive);
    g_assert_true(problem_at(coverage, 1)->naive);
    g_assert_cmpuint(coverage_poorest(coverage, 1), ==, 1);
    g_assert_cmpuint(coverage_poorest(coverage, 3), ==, 3);
    g_assert_cmpuint(coverage_poorest(coverage, 20), ==, 5);
    coverage_free(coverage);
}

static void all_that_are_as_poor_are_among_the_poorest(void)
{
    const int k[] = {2, 6, 10, 4};
    g_autoptr(ProblemList) list = problems_with(k, G_N_ELEMENTS(k));
    struct coverage *coverage = cover(list);
    g_assert_cmpuint(coverage_poorest(coverage, 1), ==, 3);
    coverage_free(coverage);
}

static void spaces_of_one_config_and_of_none_are_told_apart(void)
{
    const int k[] = {2, 4, 12, 8, 16, 6};
    g_autoptr(ProblemList) list = problems_with(k, G_N_ELEMENTS(k));
    struct coverage *coverage = cover(list);
    const struct coverage_solver *summary = solver_at(coverage, 1);
    g_assert_cmpint(summary->problems, ==, 6);
    g_assert_cmpint(summary->counted, ==, 6);
    g_assert_cmpint(summary->least, ==, 0);
    g_assert_cmpint(summary->median, ==, 1); /* of 0 0 1 1 2 3 */
    g_assert_cmpint(summary->most, ==, 3);
    g_assert_cmpint(summary->with_one, ==, 2);
    g_assert_cmpint(summary->with_no_config, ==, 2);
    coverage_free(coverage);
}

static void large_spaces_are_not_walked_to_the_end(void)
{
    const int k[] = {4};
    g_autoptr(ProblemList) list = problems_with(k, G_N_ELEMENTS(k));
    struct coverage *coverage = cover(list);
    g_assert_cmpint(solver_at(coverage, 2)->most, ==, PLAN_COUNTED_MAX); /* of 3^11 */
    g_assert_cmpint(solver_at(coverage, 3)->counted, ==, 0);
    coverage_free(coverage);
}

static void count_call(int done, int total, void *data)
{
    int *calls = data;
    g_assert_cmpint(done, ==, ++*calls);
    g_assert_cmpint(total, >=, done);
}

static void of_many_problems_an_even_sample_is_counted(void)
{
    static const struct solver all = {
        .name = "All", .algorithm = "Direct", .is_applicable = serves_all, .space = &divisors};
    static const struct solver *const alone[] = {&all};
    enum { MANY = 2 * COVERAGE_SAMPLE + 1 };
    g_autofree int *k = g_new(int, MANY);
    for (int i = 0; i < MANY; i++)
        k[i] = i + 1;
    g_autoptr(ProblemList) list = problems_with(k, MANY);
    int calls = 0;
    const struct coverage_request request = {.target = &target,
                                             .problems = list,
                                             .solvers = alone,
                                             .solver_count = 1,
                                             .progress = count_call,
                                             .data = &calls};
    struct coverage *coverage = coverage_new(&request);
    const struct coverage_solver *summary = solver_at(coverage, 0);
    g_assert_cmpint(summary->problems, ==, MANY);
    /* configs are counted for every third problem: k = 1, 4, 7 ... */
    g_assert_cmpint(summary->counted, ==, (MANY + 2) / 3);
    /* spaces of one config are found among all problems: k = 4, 12, 20 ... */
    g_assert_cmpint(summary->with_one, ==, (MANY + 4) / 8);
    g_assert_cmpint(summary->with_no_config, ==, MANY - MANY / 4);
    g_assert_cmpint(calls, ==, summary->counted);
    coverage_free(coverage);
}

static void json_answers_a_script(void)
{
    const int k[] = {4, 3, 2};
    g_autoptr(ProblemList) list = problems_with(k, G_N_ELEMENTS(k));
    struct coverage *coverage = cover(list);
    json_t *json = coverage_json(coverage);
    const char *key = NULL, *name = NULL, *family = NULL;
    int problems = 0, none = 0, three = 0, others = 0, direct = 0, gemms = 0, unserved = 0,
        counted = 0;
    double one_config = -1;
    g_assert_cmpint(json_unpack(json, "{s:i, s:i, s:{s:i, s:i}, s:{s:i, s:i}, s:{s:i}}", "problems",
                                &problems, "unserved", &unserved, "histogram", "0", &none, "3",
                                &three, "families", "Direct", &direct, "GEMM", &gemms,
                                "other_family_histogram", "1", &others),
                    ==, 0);
    g_assert_cmpint(problems, ==, 3);
    g_assert_cmpint(unserved, ==, 1);
    g_assert_cmpint(none, ==, 1);
    g_assert_cmpint(three, ==, 1);
    g_assert_cmpint(others, ==, 1);
    g_assert_cmpint(direct, ==, 2);
    g_assert_cmpint(gemms, ==, 1);
    g_assert_null(json_object_get(json_object_get(json, "histogram"), "2"));
    json_t *poorest = json_object_get(json, "poorest");
    g_assert_cmpuint(json_array_size(poorest), ==, 3);
    g_assert_cmpint(json_unpack(json_array_get(poorest, 1), "{s:s, s:i, s:[s], s:[s]}", "key", &key,
                                "count", &counted, "solvers", &name, "families", &family),
                    ==, 0);
    g_assert_cmpstr(key, ==, "1-1-1-1x1-2-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F");
    g_assert_cmpint(counted, ==, 1);
    g_assert_cmpstr(name, ==, "Tiled");
    g_assert_cmpstr(family, ==, "Direct");
    json_t *solvers = json_object_get(json, "solvers");
    g_assert_cmpuint(json_array_size(solvers), ==, 4);
    g_assert_cmpint(json_unpack(json_array_get(solvers, 1), "{s:i, s:F}", "configs_max", &counted,
                                "share_one_config", &one_config),
                    ==, 0);
    g_assert_cmpint(counted, ==, 1);
    g_assert_cmpfloat(one_config, ==, 0.5);
    g_assert_true(json_is_null(json_object_get(json_array_get(solvers, 0), "configs_max")));
    json_decref(json);
    coverage_free(coverage);
}

/* ---- the lists of the data set ---- */

/* Kinds of problems for which few kernels exist: INT8, and 3D convolutions of 16-bit types. */
static bool is_rare(const struct problem *p)
{
    return p->type[TENSOR_X] == TYPE_INT8 ||
           (p->spatial_dim == 3 && p->type[TENSOR_X] != TYPE_FP32);
}

static void check_rule(const struct coverage *coverage)
{
    for (guint i = 0; i < coverage->problems->len; i++) {
        const struct coverage_problem *problem = problem_at(coverage, i);
        const struct problem *p = &problem_list_get(coverage->list, problem->index)->problem;
        int least = is_rare(p) ? 2 : 3, families = problem->other_families;
        char key[PROBLEM_KEY_MAX];
        if (problem->naive && problem->solvers >= least && (is_rare(p) || families >= 2))
            continue;
        g_test_message("%s on %s: %d solvers beside the naive one, of %d families beside its own",
                       problem_key(p, key), coverage->target, problem->solvers, families);
        g_test_fail();
    }
}

/* Reads all lists of the data folder into one import. Where the folder has no lists, skips the test
 * and returns NULL. */
static Import *read_lists(void)
{
    g_autofree char *folder = real_data("problems");
    g_autoptr(GDir) dir = folder ? g_dir_open(folder, 0, NULL) : NULL;
    static const struct import_options options;
    if (!dir)
        return NULL;
    Import *import = import_new(&options);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_assert_true(import_file(import, path, NULL));
    }
    return import;
}

/* The problems of the lists; under a sanitizer few of them, others each day. Free with problem_list_free(). */
static ProblemList *looked_at(const ProblemList *all)
{
    ProblemList *some = problem_list_new();
    for (int i = 0; i < problem_list_count(all); i++)
        if (test_is_case(i) && test_is_case(i / 6))
            problem_list_add(some, &problem_list_get(all, i)->problem, 1);
    return some;
}

static void every_problem_of_the_lists_has_several_candidates(void)
{
    static const char *const targets[] = {"gfx90a68", "sm_90_132_80g", "cpu-skylake-avx512_2"};
    g_autoptr(Import) import = read_lists();
    if (!import)
        return;
    g_assert_cmpint(problem_list_count(import->problems), >, 2000);
    g_autoptr(ProblemList) problems = looked_at(import->problems);
    for (gsize i = 0; i < G_N_ELEMENTS(targets); i++) {
        struct target listed;
        g_assert_true(target_parse(targets[i], &listed, NULL));
        const struct coverage_request request = {.target = &listed,
                                                 .problems = problems,
                                                 .solvers = solver_table,
                                                 .solver_count = solver_table_count};
        struct coverage *coverage = coverage_new(&request);
        check_rule(coverage);
        coverage_free(coverage);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    if (!target_parse("gfx90a68", &target, NULL))
        g_error("gfx90a68 is no target");
    g_test_add_func("/coverage/each_problem_counts_once", each_problem_counts_once);
    g_test_add_func("/coverage/a_family_is_counted_without_the_naive_solver",
                    a_family_is_counted_without_the_naive_solver);
    g_test_add_func("/coverage/the_poorest_come_first", the_poorest_come_first);
    g_test_add_func("/coverage/all_that_are_as_poor_are_among_the_poorest",
                    all_that_are_as_poor_are_among_the_poorest);
    g_test_add_func("/coverage/spaces_of_one_config_and_of_none_are_told_apart",
                    spaces_of_one_config_and_of_none_are_told_apart);
    g_test_add_func("/coverage/large_spaces_are_not_walked_to_the_end",
                    large_spaces_are_not_walked_to_the_end);
    g_test_add_func("/coverage/of_many_problems_an_even_sample_is_counted",
                    of_many_problems_an_even_sample_is_counted);
    g_test_add_func("/coverage/json_answers_a_script", json_answers_a_script);
    g_test_add_func("/coverage/every_problem_of_the_lists_has_several_candidates",
                    every_problem_of_the_lists_has_several_candidates);
    return g_test_run();
}
