/* ConvDepthwise run through PoCL on problems that conv_family's random ones seldom meet. */
#include <math.h>
#include <string.h>

#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/test_effort.h"

static struct solution_runner *runner;
static const struct context *contexts;
static const struct solver *solver;

/* The lanes of a vector are along another axis in each layout. */
static const enum layout layouts[] = {LAYOUT_NCHW, LAYOUT_NHWC, LAYOUT_CHWN};

struct shape {
    int n, channels, multiplier, in_h, in_w, fil_h, fil_w, pad, stride, dilation;
};

static void make_problem(const struct shape *shape, enum direction direction, enum layout layout,
                         struct problem *p)
{
    const struct conv_shape as = {
        shape->n,        shape->channels, shape->channels * shape->multiplier,
        shape->channels, shape->in_h,     shape->in_w,
        shape->fil_h,    shape->fil_w,    shape->pad,
        shape->stride,   shape->dilation};

    conv_shape_problem(&as, direction, layout, p);
}

/* Runs each shape in every direction; layouts and targets alternate, or in the long suite are all
 * run. */
static void check_shapes(const struct shape *shapes, int count)
{
    int turns = test_is_long() ? CONTEXT_COUNT * (int)G_N_ELEMENTS(layouts) : 1;

    for (int i = 0; i < count * DIRECTION_COUNT * turns; i++) {
        int shape = i / turns / DIRECTION_COUNT, direction = i / turns % DIRECTION_COUNT;
        int turn = (test_is_long() ? i % turns : 4 * direction) + shape;
        const struct context *context = &contexts[turn / 3 % CONTEXT_COUNT];
        struct perf_config config;
        struct problem p;
        make_problem(&shapes[shape], (enum direction)direction,
                     layouts[turn % (int)G_N_ELEMENTS(layouts)], &p);
        solver->default_config(&p, context, &config);
        conv_trial_check_one(&p, runner, solver, context, &config);
    }
}

static void several_outputs_may_share_an_input_channel(void)
{
    static const struct shape shapes[] = {
        {2, 5, 3, 9, 11, 3, 3, 1, 1, 1},
        {3, 9, 2, 8, 8, 3, 3, 0, 2, 1},
    };

    check_shapes(shapes, G_N_ELEMENTS(shapes));
}

static void large_filters_are_right(void)
{
    static const struct shape shapes[] = {
        {1, 3, 1, 20, 24, 31, 29, 15, 1, 1}, /* the filter has more positions than registers */
        {1, 2, 1, 5, 90, 1, 81, 40, 1, 1}, /* a filter row is longer than the registers can hold */
        /* filter rows are so far apart that each needs its own input rows */
        {1, 2, 1, 30, 70, 5, 3, 20, 2, 25},
    };

    check_shapes(shapes, G_N_ELEMENTS(shapes));
}

static void phases_of_the_stride_are_met_by_some_positions_only(void)
{
    static const struct shape shapes[] = {
        {2, 4, 1, 17, 13, 3, 2, 1, 4, 2}, /* odd phases of the stride contain no filter position */
        {1, 5, 1, 20, 23, 4, 5, 2, 3, 2}, /* the dilation passes through all phases of the stride */
        {1, 3, 2, 6, 5, 3, 3, 1, 7, 1},   /* the stride is longer than the input */
        {1, 3, 1, 30, 31, 2, 2, 0, 12, 1}, /* the stride is too long for vectors of outputs */
    };

    check_shapes(shapes, G_N_ELEMENTS(shapes));
}

static void filters_may_reach_past_the_padded_input(void)
{
    static const struct shape shapes[] = {
        {2, 3, 1, 2, 3, 5, 4, 0, 1, 1},
        {1, 4, 1, 4, 3, 3, 3, 1, 2, 3},
        {1, 2, 1, 1, 1, 1, 1, 3, 2, 1}, /* more padding than input */
    };

    check_shapes(shapes, G_N_ELEMENTS(shapes));
}

static void configs_of_every_target_are_right(void)
{
    static const struct shape shapes[] = {
        {3, 20, 1, 19, 37, 3, 3, 1, 1, 1},
        {2, 18, 2, 21, 40, 5, 5, 2, 2, 1},
    };
    uint64_t draws = test_seed();
    int rounds = test_is_long() ? 20 : 1;

    for (int i = 0; i < rounds * CONTEXT_COUNT * DIRECTION_COUNT * (int)G_N_ELEMENTS(layouts);
         i++) {
        const struct context *context = &contexts[i % CONTEXT_COUNT];
        struct perf_config config;
        struct problem p;
        /* Targets, directions and layouts alternate by the day. */
        if (!test_is_turn(i + i / 2, 2))
            continue;
        make_problem(&shapes[i / 2 % G_N_ELEMENTS(shapes)], (enum direction)(i / 3 % 3),
                     layouts[i / 9 % G_N_ELEMENTS(layouts)], &p);
        g_assert_true(space_draw(solver->space, &p, context, &draws, &config));
        conv_trial_check_one(&p, runner, solver, context, &config);
    }
}

static void defaults_are_in_the_space(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(13);

    for (int i = 0; i < 2000; i++) {
        const struct context *context = &contexts[i % CONTEXT_COUNT];
        const struct shape shape = {
            g_rand_int_range(random, 1, 40),  g_rand_int_range(random, 2, 300),
            g_rand_int_range(random, 1, 4),   g_rand_int_range(random, 1, 60),
            g_rand_int_range(random, 1, 60),  g_rand_int_range(random, 1, 12),
            g_rand_int_range(random, 1, 40),  g_rand_int_range(random, 0, 6),
            g_rand_int_range(random, 1, 100), g_rand_int_range(random, 1, 40)};
        struct perf_config config;
        struct problem p;
        const char *why = "";
        make_problem(&shape, (enum direction)(i % 3), layouts[i / 3 % G_N_ELEMENTS(layouts)], &p);
        solver->default_config(&p, context, &config);
        if (!space_contains(solver->space, &p, context, &config, &why))
            g_test_message("%d: %s", i, why);
        g_assert_true(space_contains(solver->space, &p, context, &config, NULL));
    }
}

/* Filter, stride, dilation and multiplier are compiled in; sizes of images and padding are
 * arguments. */
static void one_binary_serves_images_of_all_sizes(void)
{
    static const struct shape shapes[] = {
        {2, 20, 1, 40, 45, 3, 3, 1, 1, 1},
        {1, 18, 1, 33, 50, 3, 3, 0, 1, 1},
    };

    for (int j = 0; j < DIRECTION_COUNT * CONTEXT_COUNT; j++) {
        struct solution solutions[2];
        for (int i = 0; i < 2; i++) {
            struct perf_config config;
            struct problem p;
            make_problem(&shapes[i], (enum direction)(j % 3), LAYOUT_NHWC, &p);
            solver->default_config(&p, &contexts[j / 3], &config);
            g_assert_true(solver_solve(solver, &p, &contexts[j / 3], &config, &solutions[i], NULL));
        }
        g_assert_cmpstr(solutions[0].launches[0].options, ==, solutions[1].launches[0].options);
    }
}

/* Many outputs, few channels: there a GPU's default splits the sums. */
static const struct shape few_channels = {8, 2, 1, 40, 40, 3, 3, 1, 1, 1};

static void split_sums_are_the_same_every_time(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_autofree void *first = NULL;
    struct perf_config config;
    struct conv_trial trial;
    struct solution solution;
    struct problem p;

    make_problem(&few_channels, DIRECTION_W, LAYOUT_NCHW, &p);
    solver->default_config(&p, &contexts[CONTEXT_AMD], &config);
    g_assert_true(solver_solve(solver, &p, &contexts[CONTEXT_AMD], &config, &solution, NULL));
    g_assert_cmpint(solution.launch_count, ==, 2);
    g_assert_cmpuint(solution.workspace_bytes, >, 0);
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    conv_trial_check(&trial, runner, solver, &contexts[CONTEXT_AMD], &config);
    first = g_memdup2(trial.tensors[TENSOR_W].data, trial.tensors[TENSOR_W].bytes);
    conv_trial_run(&trial, runner, &solution);
    g_assert_cmpmem(first, trial.tensors[TENSOR_W].bytes, trial.tensors[TENSOR_W].data,
                    trial.tensors[TENSOR_W].bytes);
    conv_trial_clear(&trial);
}

static void without_workspace_sums_are_not_split(void)
{
    struct context context = contexts[CONTEXT_AMD];
    struct perf_config config;
    struct solution solution;
    struct space_walk walk;
    struct problem p;
    int configs = 0;

    context.workspace_limit = 0;
    make_problem(&few_channels, DIRECTION_W, LAYOUT_NCHW, &p);
    g_assert_true(solver_applicable(solver, &p, &context, NULL));
    solver->default_config(&p, &context, &config);
    g_assert_true(solver_solve(solver, &p, &context, &config, &solution, NULL));
    g_assert_cmpuint(solution.workspace_bytes, ==, 0);
    space_walk_init(&walk, solver->space, &p, &context);
    for (; space_walk_next(&walk, &config); configs++) {
        g_assert_true(solver_solve(solver, &p, &context, &config, &solution, NULL));
        g_assert_cmpuint(solution.workspace_bytes, ==, 0);
    }
    g_assert_cmpint(configs, >, 10);
}

/* The last row and column of x, which no output reads, are filled with NaN: results must not
 * change. */
static void nan_in_inputs_that_no_output_reads_changes_nothing(void)
{
    static const struct shape shape = {1, 3, 1, 10, 12, 3, 3, 0, 2, 1};

    for (int j = 0; j < 2 * CONTEXT_COUNT; j++) {
        g_autoptr(GRand) random = g_rand_new_with_seed(3);
        struct perf_config config;
        struct conv_trial trial;
        struct problem p;
        int64_t sizes[5], count;
        make_problem(&shape, j % 2 ? DIRECTION_W : DIRECTION_F, LAYOUT_NCHW, &p);
        conv_trial_init(&trial, &p, TRIAL_PACKED, random);
        count = conv_plain_sizes(&p, TENSOR_X, sizes);
        for (int64_t i = 0; i < count; i++) {
            struct run_tensor *x = &trial.tensors[TENSOR_X];
            if (i % sizes[4] == sizes[4] - 1 || i / sizes[4] % sizes[3] == sizes[3] - 1)
                conv_store(&p, TENSOR_X, x->strides, (char *)trial.before[TENSOR_X] + x->start, i,
                           NAN);
        }
        solver->default_config(&p, &contexts[j / 2], &config);
        conv_trial_check(&trial, runner, solver, &contexts[j / 2], &config);
        conv_trial_clear(&trial);
    }
}

static void what_is_no_depthwise_convolution_is_refused(void)
{
    static const struct {
        int c, k, groups;
        const char *reason;
    } rows[] = {
        {8, 8, 4, "one input channel each"},
        {1, 8, 1, "several groups"},
        {8, 16, 8, NULL},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *reason = NULL;
        struct problem p;
        problem_init(&p);
        p.c = rows[i].c;
        p.k = rows[i].k;
        p.groups = rows[i].groups;
        problem_set_output(&p);
        g_assert_cmpint(solver_applicable(solver, &p, &contexts[CONTEXT_HOST], &reason), ==,
                        !rows[i].reason);
        if (rows[i].reason)
            g_assert_nonnull(strstr(reason, rows[i].reason));
    }
}

/* Work-items are counted in 32 bits, element offsets in 64 bits. */
static void problems_of_too_many_elements_are_refused(void)
{
    static const struct shape large = {64, 1024, 1, 181, 181, 3, 3, 1, 1, 1};
    static const struct shape larger = {64, 1024, 1, 182, 182, 3, 3, 1, 1, 1};
    const char *reason = NULL;
    struct problem p;

    for (int direction = DIRECTION_F; direction <= DIRECTION_B; direction++) {
        make_problem(&large, (enum direction)direction, LAYOUT_NCHW, &p);
        g_assert_true(solver_applicable(solver, &p, &contexts[CONTEXT_AMD], &reason));
        make_problem(&larger, (enum direction)direction, LAYOUT_NCHW, &p);
        g_assert_false(solver_applicable(solver, &p, &contexts[CONTEXT_AMD], &reason));
        g_assert_nonnull(strstr(reason, "2^31"));
    }
}

static void add_tests(struct solution_runner *opened, const struct context *made)
{
    static const struct {
        const char *name;
        GTestFunc test;
    } tests[] = {
        {"several_outputs_may_share_an_input_channel", several_outputs_may_share_an_input_channel},
        {"large_filters_are_right", large_filters_are_right},
        {"phases_of_the_stride_are_met_by_some_positions_only",
         phases_of_the_stride_are_met_by_some_positions_only},
        {"filters_may_reach_past_the_padded_input", filters_may_reach_past_the_padded_input},
        {"configs_of_every_target_are_right", configs_of_every_target_are_right},
        {"defaults_are_in_the_space", defaults_are_in_the_space},
        {"one_binary_serves_images_of_all_sizes", one_binary_serves_images_of_all_sizes},
        {"split_sums_are_the_same_every_time", split_sums_are_the_same_every_time},
        {"without_workspace_sums_are_not_split", without_workspace_sums_are_not_split},
        {"nan_in_inputs_that_no_output_reads_changes_nothing",
         nan_in_inputs_that_no_output_reads_changes_nothing},
        {"what_is_no_depthwise_convolution_is_refused",
         what_is_no_depthwise_convolution_is_refused},
        {"problems_of_too_many_elements_are_refused", problems_of_too_many_elements_are_refused},
    };

    runner = opened;
    contexts = made;
    solver = solver_find("ConvDepthwise");
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/conv_depthwise/", tests[i].name, NULL);
        g_test_add_func(path, tests[i].test);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
