#include "worker/agent/eval/twins.h"

#include <string.h>

/* A solution of two launches, and the keys of its kernels. */
struct recipe {
    struct solution solution;
    struct kernel_row kernels[2];
    int64_t job;
};

static void make_recipe(struct recipe *recipe)
{
    static const char *const files[] = {"first.cl", "second.cl"};
    *recipe = (struct recipe){.job = 7};
    solution_init(&recipe->solution);
    recipe->solution.flops = 1000;
    for (int i = 0; i < 2; i++) {
        struct launch *launch = solution_add_launch(&recipe->solution, files[i], "run");
        launch_arg_tensor(launch, TENSOR_X);
        launch_arg_float32(launch, 0.1);
        launch_arg_int32(launch, 3);
        launch_set_grid(launch, (const int64_t[]){640, 1, 1}, (const int[]){64, 1, 1});
        recipe->kernels[i] = (struct kernel_row){.toolchain = (char *)"nvrtc",
                                                 .code_sha256 = (char *)(i ? "abc" : "def")};
    }
}

static char *name_of(const struct recipe *recipe)
{
    const struct kernel_row *rows[SOLUTION_LAUNCHES_MAX] = {&recipe->kernels[0],
                                                            &recipe->kernels[1]};
    return twins_name(recipe->job, &recipe->solution, rows);
}

static void other_options(struct recipe *r)
{
    launch_option_int(&r->solution.launches[0], "UNROLL", 4);
    r->kernels[0].key = (char *)"another";
}
static void other_code(struct recipe *r)
{
    r->kernels[1].code_sha256 = (char *)"abd";
}
static void other_grid(struct recipe *r)
{
    r->solution.launches[1].grid[0] = 704;
}
static void other_block(struct recipe *r)
{
    r->solution.launches[0].block[0] = 32;
}
static void other_local_memory(struct recipe *r)
{
    r->solution.launches[0].local_bytes = 1024;
}
static void other_argument(struct recipe *r)
{
    r->solution.launches[1].args[2].value = 4;
}
static void other_float(struct recipe *r)
{
    r->solution.launches[1].args[1].real = 0.1000001;
}
static void other_tensor(struct recipe *r)
{
    r->solution.launches[0].args[0].tensor = TENSOR_W;
}
static void other_workspace(struct recipe *r)
{
    r->solution.workspace_bytes = 512;
}
static void other_operations(struct recipe *r)
{
    r->solution.flops = 999;
}
static void other_job(struct recipe *r)
{
    r->job = 8;
}
static void one_launch_less(struct recipe *r)
{
    r->solution.launch_count = 1;
}
static void nobody_knows_its_bytes(struct recipe *r)
{
    r->kernels[1].code_sha256 = (char *)"";
}
static void bytes_that_differ_anyway(struct recipe *r)
{
    r->kernels[1].toolchain = (char *)"opencl";
}
static void nobody_knows_its_toolchain(struct recipe *r)
{
    r->kernels[0].toolchain = (char *)"cobol";
}

static void twins_have_equal_code_grid_and_arguments(void)
{
    static const struct {
        void (*change)(struct recipe *recipe);
        enum { SAME, OTHER, NONE } expected;
    } cases[] = {
        {other_options, SAME},
        {other_code, OTHER},
        {other_grid, OTHER},
        {other_block, OTHER},
        {other_argument, OTHER},
        {other_local_memory, OTHER},
        {other_float, OTHER},
        {other_tensor, OTHER},
        {other_workspace, OTHER},
        {other_operations, OTHER},
        {other_job, OTHER},
        {one_launch_less, OTHER},
        {nobody_knows_its_bytes, NONE},
        {bytes_that_differ_anyway, NONE},
        {nobody_knows_its_toolchain, NONE},
    };
    struct recipe recipe;
    make_recipe(&recipe);
    g_autofree char *usual = name_of(&recipe);
    g_assert_nonnull(usual);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        make_recipe(&recipe);
        cases[i].change(&recipe);
        g_autofree char *name = name_of(&recipe);
        g_test_message("case %zu", i);
        if (cases[i].expected == NONE)
            g_assert_null(name);
        else
            g_assert_true((g_strcmp0(name, usual) == 0) == (cases[i].expected == SAME));
    }
}

/* A round of two configs, of which the first has this outcome. */
static struct round *make_round(enum failure failure, const char *detail)
{
    struct round *round = round_new(2);
    for (int i = 0; i < 2; i++)
        round->configs[i] = (struct perf_config){.count = 2, .values = {i, 8}};
    round->outcomes[0] = (struct outcome){.failure = failure,
                                          .n = 9,
                                          .min_ms = 1,
                                          .median_ms = 2,
                                          .spread = 0.1,
                                          .error = 0.5,
                                          .build_seconds = 3,
                                          .eval_seconds = 4};
    round->outcomes[1] = (struct outcome){.failure = FAILURE_PENDING, .build_seconds = 5};
    g_free(round->details[0]);
    round->details[0] = g_strdup(detail);
    return round;
}

static void what_kernels_decide_is_taken_over(void)
{
    static const struct {
        enum failure failure;
        bool taken;
    } cases[] = {
        {FAILURE_NONE, true},          {FAILURE_SLOW, true},          {FAILURE_WRONG_RESULT, true},
        {FAILURE_OUT_OF_BOUNDS, true}, {FAILURE_DEVICE_FAULT, false}, {FAILURE_RUN_TIMEOUT, false},
        {FAILURE_UNSTABLE, false},     {FAILURE_LAUNCH_ERROR, false}, {FAILURE_PENDING, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *words = cases[i].failure == FAILURE_NONE ? NULL : "its words";
        Twins *twins = twins_new();
        struct work work = {.round = make_round(cases[i].failure, words)};
        const struct outcome *outcome = &work.round->outcomes[1];
        twins_record(twins, "name", &work, 0);
        g_assert_false(twins_take(twins, "another name", &work, 1));
        g_assert_false(twins_was_right(twins, "another name"));
        g_assert_cmpint(twins_was_right(twins, "name"), ==,
                        cases[i].failure == FAILURE_NONE || cases[i].failure == FAILURE_SLOW);
        g_assert_cmpint(twins_take(twins, "name", &work, 1), ==, cases[i].taken);
        if (cases[i].taken) {
            g_assert_cmpint(outcome->failure, ==, cases[i].failure);
            g_assert_cmpint(outcome->n, ==, 9);
            g_assert_cmpfloat(outcome->median_ms, ==, 2);
            g_assert_cmpfloat(outcome->build_seconds, ==, 5);
            g_assert_cmpfloat(outcome->eval_seconds, ==, 0);
            g_assert_nonnull(strstr(work.round->details[1], "config 0,8"));
            g_assert_true(!words || strstr(work.round->details[1], words));
        } else {
            g_assert_cmpint(outcome->failure, ==, FAILURE_PENDING);
        }
        round_free(work.round);
        twins_free(twins);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/twins/twins_have_equal_code_grid_and_arguments",
                    twins_have_equal_code_grid_and_arguments);
    g_test_add_func("/twins/what_kernels_decide_is_taken_over", what_kernels_decide_is_taken_over);
    return g_test_run();
}
