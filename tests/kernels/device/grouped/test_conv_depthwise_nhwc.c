/* ConvDepthwiseNhwc run through PoCL on problems that conv_family's random ones seldom meet. */
#include <math.h>
#include <string.h>

#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/pocl_leaks.h"

static struct solution_runner *runner;
static const struct context *contexts;
static const struct solver *solver;
static const struct context *context;

struct shape {
    int n, channels, in_h, in_w, fil_h, fil_w, pad, stride, dilation;
};

static void make_problem(const struct shape *shape, enum direction direction, struct problem *p)
{
    const struct conv_shape as = {shape->n,    shape->channels, shape->channels, shape->channels,
                                  shape->in_h, shape->in_w,     shape->fil_h,    shape->fil_w,
                                  shape->pad,  shape->stride,   shape->dilation};

    conv_shape_problem(&as, direction, LAYOUT_NHWC, p);
}

static void check_packed(const struct problem *p, const struct perf_config *config)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    struct conv_trial trial;

    conv_trial_init(&trial, p, TRIAL_PACKED, random);
    conv_trial_check(&trial, runner, solver, context, config);
    conv_trial_clear(&trial);
}

/* Small configs, which PoCL compiles quickly. */
static void configs_of_many_shapes_are_right(void)
{
    static const struct {
        struct shape shape;
        enum direction direction;
        struct perf_config config;
    } rows[] = {
        /* B: phases that lie apart, positions that no output reads, a tile before the first one */
        {{2, 4, 9, 11, 3, 3, 1, 2, 2}, DIRECTION_B, {5, {64, 4, 1, 2, 0}}},
        {{1, 6, 13, 10, 2, 3, 4, 3, 1}, DIRECTION_B, {5, {64, 2, 2, 1, 0}}},
        /* large filters that are loaded from memory at each use: F skips input rows, B keeps
         * several rows at a time */
        {{1, 8, 17, 20, 7, 7, 6, 1, 2}, DIRECTION_F, {5, {64, 4, 1, 2, 0}}},
        {{1, 8, 11, 9, 7, 6, 3, 2, 1}, DIRECTION_B, {5, {64, 4, 1, 1, 0}}},
        /* W: rows of the filter in several passes; channels in two blocks, one of them filled up */
        {{2, 4, 9, 12, 7, 5, 2, 1, 1}, DIRECTION_W, {5, {64, 4, 1, 2, 0}}},
        {{3, 65, 7, 9, 2, 2, 0, 2, 1}, DIRECTION_W, {5, {64, 1, 2, 1, 1}}},
        /* more channels than a workgroup has work-items, and a filter that reaches past the padded
         * input */
        {{1, 131, 4, 5, 6, 2, 0, 1, 1}, DIRECTION_F, {5, {64, 1, 1, 1, 0}}},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *why = "";
        struct problem p;
        make_problem(&rows[i].shape, rows[i].direction, &p);
        if (!solver_config_valid(solver, &p, context, &rows[i].config, &why))
            g_error("row %d: %s", (int)i, why);
        check_packed(&p, &rows[i].config);
    }
}

static void split_sums_are_the_same_every_time(void)
{
    static const struct shape shape = {6, 4, 40, 40, 3, 2, 1, 1, 1};
    const struct perf_config config = {5, {64, 4, 1, 1, 1}};
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_autofree void *first = NULL;
    struct conv_trial trial;
    struct solution solution;
    struct problem p;

    make_problem(&shape, DIRECTION_W, &p);
    g_assert_true(solver_solve(solver, &p, context, &config, &solution, NULL));
    g_assert_cmpint(solution.launch_count, ==, 2);
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    conv_trial_check(&trial, runner, solver, context, &config);
    first = g_memdup2(trial.tensors[TENSOR_W].data, trial.tensors[TENSOR_W].bytes);
    conv_trial_run(&trial, runner, &solution);
    g_assert_cmpmem(first, trial.tensors[TENSOR_W].bytes, trial.tensors[TENSOR_W].data,
                    trial.tensors[TENSOR_W].bytes);
    conv_trial_clear(&trial);
}

/* The last row and column of x, which no output reads, are filled with NaN: results must not
 * change, although in W a work-item's unit of positions reaches there. */
static void nan_in_inputs_that_no_output_reads_changes_nothing(void)
{
    static const struct shape shape = {1, 4, 10, 12, 3, 3, 0, 2, 1};
    const struct perf_config config = {5, {64, 4, 2, 2, 0}};
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    struct conv_trial trial;
    struct problem p;
    int64_t sizes[5], count;

    make_problem(&shape, DIRECTION_W, &p);
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    count = conv_plain_sizes(&p, TENSOR_X, sizes);
    for (int64_t i = 0; i < count; i++) {
        struct run_tensor *x = &trial.tensors[TENSOR_X];
        if (i % sizes[4] == sizes[4] - 1 || i / sizes[4] % sizes[3] == sizes[3] - 1)
            conv_store(&p, TENSOR_X, x->strides, (char *)trial.before[TENSOR_X] + x->start, i, NAN);
    }
    conv_trial_check(&trial, runner, solver, context, &config);
    conv_trial_clear(&trial);
}

static void defaults_are_in_the_space(void)
{
    static const struct shape shapes[] = {
        {64, 32, 112, 112, 3, 3, 1, 1, 1}, {64, 960, 7, 7, 3, 3, 1, 1, 1},
        {1, 3, 1, 1, 1, 1, 0, 1, 1},       {8, 240, 14, 14, 5, 5, 2, 2, 1},
        {1, 7, 9, 300, 7, 7, 3, 4, 5},     {2, 2048, 5, 5, 7, 1, 0, 3, 2},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(shapes) * DIRECTION_COUNT * 2; i++) {
        const struct context *asked = &contexts[CONTEXT_AMD + i % 2];
        struct perf_config config;
        struct problem p;
        make_problem(&shapes[i / 2 / DIRECTION_COUNT], (enum direction)(i / 2 % DIRECTION_COUNT),
                     &p);
        g_assert_true(solver_applicable(solver, &p, asked, NULL));
        solver->default_config(&p, asked, &config);
        g_assert_true(space_contains(solver->space, &p, asked, &config, NULL));
    }
}

static void without_workspace_sums_are_not_split(void)
{
    static const struct shape shape = {8, 32, 40, 40, 3, 3, 1, 1, 1};
    struct context limited = *context;
    struct perf_config config;
    struct space_walk walk;
    struct problem p;
    int configs = 0;

    make_problem(&shape, DIRECTION_W, &p);
    solver->default_config(&p, &limited, &config);
    g_assert_cmpint(config.values[4], >, 0);
    limited.workspace_limit = 0;
    g_assert_true(solver_applicable(solver, &p, &limited, NULL));
    solver->default_config(&p, &limited, &config);
    g_assert_cmpint(config.values[4], ==, 0);
    space_walk_init(&walk, solver->space, &p, &limited);
    for (; space_walk_next(&walk, &config); configs++)
        g_assert_cmpint(config.values[4], ==, 0);
    g_assert_cmpint(configs, >, 10);
}

static void what_it_cannot_do_is_refused(void)
{
    static const struct {
        int channels, k, groups, filter, stride, dilation;
        enum layout layout;
        int context;
        const char *reason;
    } rows[] = {
        {8, 8, 8, 7, 4, 5, LAYOUT_NHWC, CONTEXT_AMD, NULL},
        {8, 8, 8, 3, 1, 1, LAYOUT_NHWC, CONTEXT_HOST, "a GPU"},
        {8, 16, 8, 3, 1, 1, LAYOUT_NHWC, CONTEXT_AMD, "one input and one output channel each"},
        {8, 8, 4, 3, 1, 1, LAYOUT_NHWC, CONTEXT_AMD, "one input and one output channel each"},
        {1, 1, 1, 3, 1, 1, LAYOUT_NHWC, CONTEXT_AMD, "several groups"},
        {8, 8, 8, 3, 1, 1, LAYOUT_NCHW, CONTEXT_AMD, "NHWC"},
        {8, 8, 8, 8, 1, 1, LAYOUT_NHWC, CONTEXT_AMD, "7x7"},
        {8, 8, 8, 3, 5, 1, LAYOUT_NHWC, CONTEXT_AMD, "strides up to 4"},
        {8, 8, 8, 3, 1, 17, LAYOUT_NHWC, CONTEXT_AMD, "32 positions"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct conv_shape as = {2,
                                      rows[i].channels,
                                      rows[i].k,
                                      rows[i].groups,
                                      50,
                                      50,
                                      rows[i].filter,
                                      rows[i].filter,
                                      0,
                                      rows[i].stride,
                                      rows[i].dilation};
        const char *reason = NULL;
        struct problem p;
        conv_shape_problem(&as, DIRECTION_F, rows[i].layout, &p);
        if (rows[i].context == CONTEXT_HOST && !context_is_cpu(&contexts[CONTEXT_HOST]))
            continue;
        g_assert_cmpint(solver_applicable(solver, &p, &contexts[rows[i].context], &reason), ==,
                        !rows[i].reason);
        if (rows[i].reason)
            g_assert_nonnull(strstr(reason, rows[i].reason));
    }
}

static void add_tests(struct solution_runner *opened, const struct context *made)
{
    static const struct {
        const char *name;
        GTestFunc test;
    } tests[] = {
        {"configs_of_many_shapes_are_right", configs_of_many_shapes_are_right},
        {"split_sums_are_the_same_every_time", split_sums_are_the_same_every_time},
        {"nan_in_inputs_that_no_output_reads_changes_nothing",
         nan_in_inputs_that_no_output_reads_changes_nothing},
        {"defaults_are_in_the_space", defaults_are_in_the_space},
        {"without_workspace_sums_are_not_split", without_workspace_sums_are_not_split},
        {"what_it_cannot_do_is_refused", what_it_cannot_do_is_refused},
    };

    runner = opened;
    contexts = made;
    context = &contexts[CONTEXT_NVIDIA];
    solver = solver_find("ConvDepthwiseNhwc");
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/conv_depthwise_nhwc/", tests[i].name, NULL);
        g_test_add_func(path, tests[i].test);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
