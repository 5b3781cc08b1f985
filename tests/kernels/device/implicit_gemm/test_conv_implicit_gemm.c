/* Properties of the implicit matrix product: the phases of backward data (B), the split sums of
 * weight gradients (W), and results that do not depend on which parts of the shape are compiled
 * in. */
#include <string.h>

#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/pocl_leaks.h"

static struct solution_runner *runner;
static const struct context *contexts;

static const char *const forms[] = {"ConvImplicitGemm", "ConvImplicitGemmStatic",
                                    "ConvImplicitGemmPartial"};

struct shape {
    int n, c, k, groups;
    int in[AXIS_COUNT], fil[AXIS_COUNT], pad[AXIS_COUNT], stride[AXIS_COUNT], dilation[AXIS_COUNT];
};

static void make_problem(const struct shape *shape, enum direction direction, struct problem *p)
{
    g_autoptr(GError) error = NULL;

    problem_init(p);
    p->direction = direction;
    p->n = shape->n;
    p->c = shape->c;
    p->k = shape->k;
    p->groups = shape->groups;
    p->spatial_dim = shape->in[AXIS_D] > 1 ? 3 : 2;
    for (int a = 0; a < AXIS_COUNT; a++) {
        p->in[a] = shape->in[a];
        p->fil[a] = shape->fil[a];
        p->pad[a] = shape->pad[a];
        p->stride[a] = shape->stride[a];
        p->dilation[a] = shape->dilation[a];
    }
    for (int t = 0; t < TENSOR_COUNT && p->spatial_dim == 3; t++)
        p->layout[t] = LAYOUT_NCDHW;
    problem_set_output(p);
    problem_validate(p, &error);
    g_assert_no_error(error);
}

/* Runs the default configs for a CPU and for a GPU. */
static void check_defaults(const char *name, const struct problem *p, GRand *random)
{
    const struct solver *solver = solver_find(name);
    struct conv_trial trial;

    conv_trial_init(&trial, p, TRIAL_PADDED, random);
    for (int i = CONTEXT_HOST; i <= CONTEXT_AMD; i++) {
        struct perf_config config;
        solver->default_config(p, &contexts[i], &config);
        conv_trial_check(&trial, runner, solver, &contexts[i], &config);
    }
    conv_trial_clear(&trial);
}

/* ---- B's phases ---- */

static const struct shape strided[] = {
    /* each phase of the stride has other filter positions, some phases have none */
    {1, 3, 5, 1, {1, 11, 13}, {1, 3, 3}, {0, 1, 1}, {1, 2, 2}, {1, 1, 1}},
    {2, 3, 5, 1, {1, 13, 17}, {1, 5, 2}, {0, 2, 0}, {1, 3, 3}, {1, 1, 1}},
    {1, 4, 6, 2, {1, 12, 9}, {1, 1, 1}, {0, 0, 0}, {1, 4, 2}, {1, 1, 1}},
    /* the dilation shares a factor with the stride, is a multiple of it, or neither */
    {1, 3, 4, 1, {1, 23, 25}, {1, 3, 4}, {0, 3, 2}, {1, 4, 6}, {1, 2, 4}},
    {1, 3, 4, 1, {1, 21, 19}, {1, 3, 3}, {0, 0, 1}, {1, 3, 2}, {1, 3, 4}},
    {1, 3, 4, 1, {1, 19, 20}, {1, 4, 3}, {0, 2, 5}, {1, 5, 3}, {1, 3, 2}},
    /* strides longer than the input, padding wider than the filter */
    {2, 3, 4, 1, {1, 3, 5}, {1, 3, 2}, {0, 4, 3}, {1, 7, 9}, {1, 1, 1}},
    /* 3D, three different strides */
    {1, 2, 3, 1, {7, 8, 9}, {3, 2, 3}, {1, 0, 2}, {2, 3, 1}, {1, 2, 2}},
};

/* The solvers ConvImplicitGemm (dynamic) and its static form alternate. */
static void phases_of_all_strides_and_dilations_are_right(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);

    for (gsize i = 0; i < G_N_ELEMENTS(strided); i++) {
        struct problem p;
        make_problem(&strided[i], DIRECTION_B, &p);
        check_defaults(forms[i % 2], &p, random);
    }
}

/* Each input position is computed in one phase only: the matrix has as many columns as input
 * positions, where each phase's count is rounded up to a block. */
static void a_strided_backward_convolution_has_no_more_columns_than_positions(void)
{
    const struct solver *solver = solver_find("ConvImplicitGemm");
    const struct shape shape = {4,         64,        64,        1,        {1, 64, 64},
                                {1, 3, 3}, {0, 1, 1}, {1, 2, 2}, {1, 1, 1}};
    struct shape dense = shape;
    struct problem p;
    int64_t blocks[2];

    dense.stride[AXIS_H] = dense.stride[AXIS_W] = 1;
    for (int i = 0; i < 2; i++) {
        struct perf_config config;
        struct solution solution;
        make_problem(i ? &dense : &shape, DIRECTION_B, &p);
        solver->default_config(&p, &contexts[CONTEXT_AMD], &config);
        g_assert_true(solver_solve(solver, &p, &contexts[CONTEXT_AMD], &config, &solution, NULL));
        blocks[i] = solution.launches[0].grid[0] * solution.launches[0].grid[1] *
                    solution.launches[0].grid[2];
    }
    g_assert_cmpint(blocks[0], ==, blocks[1]);
}

static void filters_may_reach_past_the_padded_input(void)
{
    static const struct shape past[] = {
        {2, 3, 4, 1, {1, 2, 3}, {1, 5, 4}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}},
        {1, 3, 4, 1, {1, 4, 2}, {1, 3, 3}, {0, 1, 0}, {1, 2, 3}, {1, 4, 2}},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(6);

    for (gsize i = 0; i < G_N_ELEMENTS(past); i++) {
        for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
            struct problem p;
            make_problem(&past[i], (enum direction)direction, &p);
            check_defaults("ConvImplicitGemm", &p, random);
        }
    }
}

/* ---- split sums ---- */

static int param_index(const struct solver *solver, const char *name)
{
    for (int i = 0; i < solver->space->param_count; i++) {
        if (strcmp(solver->space->params[i].name, name) == 0)
            return i;
    }
    g_assert_not_reached();
}

static const struct shape long_sums = {5,         3,         4,         1,        {1, 20, 21},
                                       {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}};

static void split_sums_are_right_and_the_same_each_time(void)
{
    static const int splits[] = {1, 4, 16};
    const struct solver *solver = solver_find("ConvImplicitGemm");
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    struct perf_config config;
    struct conv_trial trial;
    struct problem p;

    make_problem(&long_sums, DIRECTION_W, &p);
    conv_trial_init(&trial, &p, TRIAL_SPREAD, random);
    solver->default_config(&p, &contexts[CONTEXT_HOST], &config);
    for (gsize i = 0; i < G_N_ELEMENTS(splits); i++) {
        const struct run_tensor *w = &trial.tensors[TENSOR_W];
        g_autofree void *first = NULL;
        config.values[param_index(solver, "SPLITS")] = splits[i];
        conv_trial_check(&trial, runner, solver, &contexts[CONTEXT_HOST], &config);
        first = g_memdup2(w->data, w->bytes);
        conv_trial_check(&trial, runner, solver, &contexts[CONTEXT_HOST], &config);
        g_assert_cmpmem(first, w->bytes, w->data, w->bytes);
    }
    conv_trial_clear(&trial);
}

static void workspace_limits_choose_the_parts(void)
{
    const struct solver *solver = solver_find("ConvImplicitGemm");
    struct context limited = contexts[CONTEXT_AMD];
    struct perf_config config;
    struct solution solution;
    struct problem p;
    uint64_t most;

    make_problem(&long_sums, DIRECTION_W, &p);
    most = solver_workspace_bytes(solver, &p, &limited);
    solver->default_config(&p, &limited, &config);
    g_assert_true(solver_solve(solver, &p, &limited, &config, &solution, NULL));
    g_assert_cmpuint(solution.workspace_bytes, >, 0);
    g_assert_cmpuint(solution.workspace_bytes, <=, most);

    limited.workspace_limit = 0;
    g_assert_cmpuint(solver_workspace_bytes(solver, &p, &limited), ==, 0);
    solver->default_config(&p, &limited, &config);
    g_assert_true(solver_solve(solver, &p, &limited, &config, &solution, NULL));
    g_assert_cmpuint(solution.workspace_bytes, ==, 0);
}

/* ---- shapes that are compiled in ---- */

static const struct shape plain[] = {
    {2, 6, 10, 2, {1, 9, 11}, {1, 3, 2}, {0, 1, 1}, {1, 2, 1}, {1, 1, 2}},
    {3, 5, 7, 1, {1, 14, 8}, {1, 1, 5}, {0, 0, 2}, {1, 1, 3}, {1, 1, 1}},
};

static void options_of(const char *name, const struct problem *p, char options[LAUNCH_OPTIONS_MAX])
{
    const struct solver *solver = solver_find(name);
    struct perf_config config;
    struct solution solution;

    solver->default_config(p, &contexts[CONTEXT_AMD], &config);
    g_assert_true(solver_solve(solver, p, &contexts[CONTEXT_AMD], &config, &solution, NULL));
    g_strlcpy(options, solution.launches[0].options, LAUNCH_OPTIONS_MAX);
}

static void shapes_are_compiled_in_by_the_static_form_alone(void)
{
    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
            char options[2][LAUNCH_OPTIONS_MAX];
            struct problem p;
            for (int j = 0; j < 2; j++) {
                make_problem(&plain[j], (enum direction)direction, &p);
                options_of(forms[i], &p, options[j]);
            }
            g_assert_cmpint(strcmp(options[0], options[1]) == 0, ==,
                            solver_find(forms[i])->dynamic);
        }
    }
}

/* Problems that differ in batch and image sizes alone share a kernel of the partial form, which
 * leaves these two as arguments by default. */
static void partial_kernels_serve_other_batches_and_images(void)
{
    struct shape other = plain[0];
    char options[2][LAUNCH_OPTIONS_MAX];
    struct problem p;

    make_problem(&plain[0], DIRECTION_F, &p);
    options_of("ConvImplicitGemmPartial", &p, options[0]);
    other.n = 7;
    other.in[AXIS_H] = 30;
    other.c = 4;
    make_problem(&other, DIRECTION_F, &p);
    options_of("ConvImplicitGemmPartial", &p, options[1]);
    g_assert_cmpstr(options[0], ==, options[1]);
    other.fil[AXIS_W] = 3;
    make_problem(&other, DIRECTION_F, &p);
    options_of("ConvImplicitGemmPartial", &p, options[1]);
    g_assert_cmpstr(options[0], !=, options[1]);
}

/* Runs a config and returns the bytes of the output buffer. */
static GBytes *result_of(struct conv_trial *trial, const char *name, const struct context *context,
                         const struct perf_config *config)
{
    const struct run_tensor *output = &trial->tensors[problem_output_role(&trial->p)];

    conv_trial_check(trial, runner, solver_find(name), context, config);
    return g_bytes_new(output->data, output->bytes);
}

/* Each parameter is compiled in alone, and all together: sums keep their order, so results are
 * equal to the last bit. B, which uses most of the shape, is computed with a GPU's config. */
static void results_are_equal_whatever_is_compiled_in(void)
{
    const struct solver *partial = solver_find("ConvImplicitGemmPartial");
    int first = param_index(partial, "FIX_FILTER");
    g_autoptr(GRand) random = g_rand_new_with_seed(8);

    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        const struct context *context =
            &contexts[direction == DIRECTION_B ? CONTEXT_AMD : CONTEXT_HOST];
        g_autoptr(GBytes) expected = NULL;
        struct perf_config config;
        struct conv_trial trial;
        struct problem p;
        make_problem(&plain[0], (enum direction)direction, &p);
        conv_trial_init(&trial, &p, TRIAL_PADDED, random);
        solver_find(forms[0])->default_config(&p, context, &config);
        expected = result_of(&trial, forms[0], context, &config);
        partial->default_config(&p, context, &config);
        for (int fixed = first; fixed <= config.count; fixed++) {
            g_autoptr(GBytes) result = NULL;
            for (int i = first; i < config.count; i++)
                config.values[i] = i == fixed || fixed == config.count;
            result = result_of(&trial, partial->name, context, &config);
            g_assert_true(g_bytes_equal(result, expected));
        }
        conv_trial_clear(&trial);
    }
}

static void add_tests(struct solution_runner *opened, const struct context *made)
{
    runner = opened;
    contexts = made;
    g_test_add_func("/conv_implicit_gemm/phases_of_all_strides_and_dilations_are_right",
                    phases_of_all_strides_and_dilations_are_right);
    g_test_add_func("/conv_implicit_gemm/"
                    "a_strided_backward_convolution_has_no_more_columns_than_positions",
                    a_strided_backward_convolution_has_no_more_columns_than_positions);
    g_test_add_func("/conv_implicit_gemm/filters_may_reach_past_the_padded_input",
                    filters_may_reach_past_the_padded_input);
    g_test_add_func("/conv_implicit_gemm/split_sums_are_right_and_the_same_each_time",
                    split_sums_are_right_and_the_same_each_time);
    g_test_add_func("/conv_implicit_gemm/workspace_limits_choose_the_parts",
                    workspace_limits_choose_the_parts);
    g_test_add_func("/conv_implicit_gemm/shapes_are_compiled_in_by_the_static_form_alone",
                    shapes_are_compiled_in_by_the_static_form_alone);
    g_test_add_func("/conv_implicit_gemm/partial_kernels_serve_other_batches_and_images",
                    partial_kernels_serve_other_batches_and_images);
    g_test_add_func("/conv_implicit_gemm/results_are_equal_whatever_is_compiled_in",
                    results_are_equal_whatever_is_compiled_in);
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
