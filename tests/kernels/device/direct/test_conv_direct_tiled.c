/* ConvDirectTiled through PoCL, on shapes where its tiles, input patches and blocks of channels
 * meet their limits. */
#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/toolchains/toolchain.h"
#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/test_effort.h"

static struct solution_runner *runner;
static const struct context *contexts;
static const struct solver *solver;

static const enum layout layouts[] = {LAYOUT_NCHW, LAYOUT_NHWC};

/* Runs each shape with one default config, of a target that changes with the layout; in the long
 * suite with the defaults of all targets. */
static void check_shapes(const struct conv_shape *shapes, int count)
{
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < (int)G_N_ELEMENTS(layouts) * CONTEXT_COUNT; j++) {
            struct perf_config config;
            struct problem p;
            if (!test_is_long() && (i + j / 2 + j % 2) % CONTEXT_COUNT != 0)
                continue;
            conv_shape_problem(&shapes[i], DIRECTION_F, layouts[j % 2], &p);
            solver->default_config(&p, &contexts[j / 2], &config);
            conv_trial_check_one(&p, runner, solver, &contexts[j / 2], &config);
        }
    }
}

static void blocks_may_hang_over_the_outputs(void)
{
    static const struct conv_shape shapes[] = {
        /* tiles reach over the last channel, row and column */
        {1, 5, 70, 1, 19, 37, 3, 3, 1, 1, 1},
        {2, 70, 20, 2, 16, 17, 3, 3, 1, 1, 1}, /* the last block of input channels is short */
        {1, 3, 8, 1, 33, 41, 7, 7, 3, 2, 1},   /* a first layer */
    };

    check_shapes(shapes, G_N_ELEMENTS(shapes));
}

static void patches_leave_out_what_is_not_read(void)
{
    static const struct conv_shape shapes[] = {
        /* the stride leaves out every second row and column */
        {1, 20, 40, 1, 33, 37, 1, 1, 0, 2, 1},
        {1, 6, 20, 1, 40, 44, 3, 3, 4, 2, 4}, /* stride and dilation have a common factor */
        /* stride and dilation have no common factor: the kernel's phases alternate */
        {1, 6, 20, 1, 31, 44, 2, 3, 1, 3, 2},
        {1, 4, 4, 1, 90, 100, 3, 3, 0, 1,
         40}, /* filter positions are too far apart for a patch that has all rows between */
    };

    check_shapes(shapes, G_N_ELEMENTS(shapes));
}

static void filters_may_reach_past_the_padded_input(void)
{
    static const struct conv_shape shapes[] = {
        {2, 3, 5, 1, 2, 3, 5, 4, 0, 1, 1},
        {1, 4, 9, 1, 4, 3, 3, 3, 1, 2, 3},
        {1, 2, 3, 1, 1, 1, 1, 1, 3, 2, 1}, /* more padding than input */
    };

    check_shapes(shapes, G_N_ELEMENTS(shapes));
}

/* Runs `count` configs drawn from the problem's space, other ones each day. */
static void check_draws(const struct conv_shape *shape, bool is_spare, int count)
{
    uint64_t draws = test_seed();

    for (int i = 0; i < count * CONTEXT_COUNT; i++) {
        const struct context *context = &contexts[i % CONTEXT_COUNT];
        struct perf_config config;
        struct problem p;
        conv_shape_problem(shape, DIRECTION_F, layouts[i / 3 % 2], &p);
        g_assert_true((solver_space(solver, &p, context) == solver->spare) == is_spare);
        g_assert_true(space_draw(solver_space(solver, &p, context), &p, context, &draws, &config));
        conv_trial_check_one(&p, runner, solver, context, &config);
    }
}

static void configs_of_every_target_are_right(void)
{
    static const struct conv_shape shape = {1, 18, 40, 1, 20, 36, 3, 3, 1, 1, 1};
    static const struct conv_shape strided = {2, 9, 34, 1, 41, 50, 5, 5, 2, 2, 1};

    check_draws(&shape, false, test_is_long() ? 40 : 2);
    check_draws(&strided, false, test_is_long() ? 40 : 1);
}

/* One output channel in a group, or about one row of outputs, is less than the tiles' sizes: only
 * the spare space has valid configs. */
static void small_problems_have_spare_configs(void)
{
    static const struct conv_shape depthwise = {2, 6, 6, 6, 11, 20, 3, 3, 1, 1, 1};
    static const struct conv_shape vector = {3, 40, 50, 1, 2, 2, 2, 2, 0, 1, 1};

    check_draws(&depthwise, true, test_is_long() ? 20 : 1);
    check_draws(&vector, true, test_is_long() ? 20 : 1);
}

static void defaults_are_in_the_space_in_force(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(13);
    int spare = 0;

    for (int i = 0; i < 2000; i++) {
        const struct context *context = &contexts[i % CONTEXT_COUNT];
        int groups = g_rand_int_range(random, 1, 5);
        const struct conv_shape shape = {g_rand_int_range(random, 1, 40),
                                         groups * g_rand_int_range(random, 1, 100),
                                         groups * g_rand_int_range(random, 1, 100),
                                         groups,
                                         g_rand_int_range(random, 1, 70),
                                         g_rand_int_range(random, 1, 70),
                                         g_rand_int_range(random, 1, 12),
                                         g_rand_int_range(random, 1, 12),
                                         g_rand_int_range(random, 0, 6),
                                         g_rand_int_range(random, 1, 30),
                                         g_rand_int_range(random, 1, 30)};
        struct perf_config config;
        struct problem p;
        conv_shape_problem(&shape, DIRECTION_F, layouts[i / 3 % 2], &p);
        g_assert_true(solver_applicable(solver, &p, context, NULL));
        solver->default_config(&p, context, &config);
        g_assert_true(
            space_contains(solver_space(solver, &p, context), &p, context, &config, NULL));
        spare += solver_space(solver, &p, context) == solver->spare;
    }
    g_assert_cmpint(spare, >, 100);
}

/* The number of weights and inputs that a workgroup works on at a time; the config with the most
 * needs the most local memory. */
static int64_t size_of(const struct perf_config *config)
{
    const int32_t *values = config->values;
    int64_t outputs = 1;

    for (int i = 0; i < 7; i++)
        outputs *= values[i];
    return outputs * values[8];
}

static int64_t compiled_local_bytes(const struct launch *launch)
{
    const struct kernel_source *source = kernel_source_find(launch->file, NULL);
    g_autoptr(GError) error = NULL;
    struct code_object object;
    int64_t bytes;

    toolchain_find("opencl")->compile(source->text, launch->options, launch->entry,
                                      contexts[CONTEXT_HOST].target, &object, &error);
    g_assert_no_error(error);
    bytes = object.local_bytes;
    code_object_clear(&object);
    return bytes;
}

static void configs_stay_within_local_memory(void)
{
    static const struct conv_shape shapes[] = {
        {1, 64, 64, 1, 56, 56, 3, 3, 1, 1, 1},
        {1, 64, 64, 1, 56, 56, 7, 7, 3, 2, 1},
    };

    for (int i = 0; i < (int)G_N_ELEMENTS(shapes) * CONTEXT_COUNT; i++) {
        const struct context *context = &contexts[i % CONTEXT_COUNT];
        struct perf_config config, largest = {0};
        struct solution solution;
        struct space_walk walk;
        struct problem p;
        conv_shape_problem(&shapes[i / CONTEXT_COUNT], DIRECTION_F, LAYOUT_NCHW, &p);
        space_walk_init(&walk, solver->space, &p, context);
        while (space_walk_next(&walk, &config)) {
            if (largest.count == 0 || size_of(&config) > size_of(&largest))
                largest = config;
        }
        g_assert_true(solver_solve(solver, &p, context, &largest, &solution, NULL));
        g_assert_cmpint(compiled_local_bytes(&solution.launches[0]), <=,
                        context->target->local_bytes);
        if (i % CONTEXT_COUNT != CONTEXT_HOST)
            g_assert_cmpint(compiled_local_bytes(&solution.launches[0]), >,
                            context->target->local_bytes / 2);
    }
}

static void one_binary_serves_all_batches(void)
{
    static const struct conv_shape one = {1, 20, 30, 1, 20, 20, 3, 3, 1, 1, 1};
    static const struct conv_shape many = {9, 20, 30, 1, 20, 20, 3, 3, 1, 1, 1};
    struct perf_config config;
    struct solution solutions[2];
    struct problem p;

    conv_shape_problem(&one, DIRECTION_F, LAYOUT_NCHW, &p);
    solver->default_config(&p, &contexts[CONTEXT_AMD], &config);
    g_assert_true(solver_solve(solver, &p, &contexts[CONTEXT_AMD], &config, &solutions[0], NULL));
    conv_shape_problem(&many, DIRECTION_F, LAYOUT_NCHW, &p);
    g_assert_true(solver_solve(solver, &p, &contexts[CONTEXT_AMD], &config, &solutions[1], NULL));
    g_assert_cmpstr(solutions[0].launches[0].options, ==, solutions[1].launches[0].options);
    g_assert_cmpint(9 * solutions[0].launches[0].grid[0], ==, solutions[1].launches[0].grid[0]);
}

static void what_is_too_large_is_refused(void)
{
    static const struct {
        struct conv_shape shape;
        const char *reason; /* NULL: every target serves the problem */
    } rows[] = {
        {{1, 2, 2, 1, 60, 60, 60, 60, 0, 1, 1}, NULL},
        {{1, 2, 2, 1, 1000, 1000, 1000, 1000, 0, 1, 1}, "local memory"},
        /* the patch leaves out most of the input */
        {{1, 2, 2, 1, 2000, 2000, 11, 11, 0, 1, 150}, NULL},
        {{1, 2, 2, 1, 9, 9, 3, 3, 0, 1 << 26, 1}, "strides"},
        {{1 << 19, 4, 1 << 9, 1, 8, 8, 1, 1, 0, 1, 1}, NULL},
        {{1 << 25, 4, 1 << 9, 1, 2, 2, 1, 1, 0, 1, 1}, "2^31"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows) * CONTEXT_COUNT; i++) {
        const char *reason = NULL, *expected = rows[i / CONTEXT_COUNT].reason;
        struct problem p;
        conv_shape_problem(&rows[i / CONTEXT_COUNT].shape, DIRECTION_F, LAYOUT_NCHW, &p);
        g_assert_cmpint(solver_applicable(solver, &p, &contexts[i % CONTEXT_COUNT], &reason), ==,
                        !expected);
        if (expected)
            g_assert_nonnull(strstr(reason, expected));
    }
}

static void add_tests(struct solution_runner *opened, const struct context *made)
{
    static const struct {
        const char *name;
        GTestFunc test;
    } tests[] = {
        {"blocks_may_hang_over_the_outputs", blocks_may_hang_over_the_outputs},
        {"patches_leave_out_what_is_not_read", patches_leave_out_what_is_not_read},
        {"filters_may_reach_past_the_padded_input", filters_may_reach_past_the_padded_input},
        {"configs_of_every_target_are_right", configs_of_every_target_are_right},
        {"small_problems_have_spare_configs", small_problems_have_spare_configs},
        {"defaults_are_in_the_space_in_force", defaults_are_in_the_space_in_force},
        {"configs_stay_within_local_memory", configs_stay_within_local_memory},
        {"one_binary_serves_all_batches", one_binary_serves_all_batches},
        {"what_is_too_large_is_refused", what_is_too_large_is_refused},
    };

    runner = opened;
    contexts = made;
    solver = solver_find("ConvDirectTiled");
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/conv_direct_tiled/", tests[i].name, NULL);
        g_test_add_func(path, tests[i].test);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
