/* What solvers of NVIDIA's matrix units share: how terms are split, and what moved tensors need. */
#include "solvers/matrix_common.h"
#include "solvers/matrix_transform.h"
#include "solvers/solver.h"

static struct target target;
static struct context context;

static void set_problem(struct problem *p, enum direction direction, enum layout layout,
                        int64_t size, int64_t filter, int64_t stride)
{
    problem_init(p);
    p->direction = direction;
    p->n = 64;
    p->c = p->k = 64;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->type[t] = TYPE_FP16;
        p->layout[t] = layout;
    }
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        p->in[a] = size;
        p->fil[a] = filter;
        p->pad[a] = filter / 2;
        p->stride[a] = stride;
    }
    problem_set_output(p);
    g_assert_true(problem_validate(p, NULL));
}

/* 64 images of 112 by 112 are 802816 terms of W; a sum in FP32 by units that cut takes 32768. */
static void long_sums_are_always_split(void)
{
    static const char *const names[] = {"ConvMatrix", "ConvWgmma"};

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        const struct solver *solver = solver_find(names[i]);
        const char *reason = NULL;
        struct perf_config config;
        struct space_walk walk;
        struct problem p;
        int configs = 0;
        set_problem(&p, DIRECTION_W, LAYOUT_NHWC, 112, 3, 1);
        solver->default_config(&p, &context, &config);
        g_assert_cmpint(config.values[config.count - 1], >=, 802816 / 32768);
        space_walk_init(&walk, solver->space, &p, &context);
        for (; space_walk_next(&walk, &config); configs++)
            g_assert_cmpint(config.values[config.count - 1], >=, 802816 / 32768);
        g_assert_cmpint(configs, >, 10);
        context.workspace_limit = 1 << 20;
        g_assert_false(solver_applicable(solver, &p, &context, &reason));
        g_assert_cmpstr(
            reason, ==,
            "needs shorter sums, or a workspace for their parts and for tensors that are "
            "moved");
        context_init(&context, &target);
    }
}

static void phases_leave_out_what_does_not_meet(void)
{
    static const struct {
        int64_t size, filter, stride;
        struct matrix_product product;
    } rows[] = {
        {56, 3, 1, {64 * 56 * 56, 64, 64 * 9, 1}},
        {56, 3, 2, {64 * 28 * 28, 64, 64 * 4, 4}},
        {56, 1, 2, {64 * 28 * 28, 64, 64, 4}},
        {55, 5, 3, {64 * 19 * 19, 64, 64 * 4, 9}},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct matrix_product product;
        struct problem p;
        set_problem(&p, DIRECTION_B, LAYOUT_NHWC, rows[i].size, rows[i].filter, rows[i].stride);
        product = matrix_product_of(&p);
        g_assert_cmpfloat(product.rows, ==, rows[i].product.rows);
        g_assert_cmpfloat(product.columns, ==, rows[i].product.columns);
        g_assert_cmpfloat(product.terms, ==, rows[i].product.terms);
        g_assert_cmpfloat(product.layers, ==, rows[i].product.layers);
    }
}

static void only_what_lies_otherwise_is_moved(void)
{
    static const struct {
        enum layout layout;
        int64_t c, filter;
        int launches;
    } rows[] = {
        {LAYOUT_NHWC, 64, 3, 1}, /* nothing */
        {LAYOUT_NCHW, 64, 1, 3}, /* x and y: a filter of one position lies alike in both */
        {LAYOUT_NCHW, 64, 3, 4},
        {LAYOUT_NHWC, 3, 3, 3}, /* x and w, for their channels */
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct solver *solver = solver_find("ConvWgmma");
        struct perf_config config;
        struct solution solution;
        struct problem p;
        set_problem(&p, DIRECTION_F, rows[i].layout, 56, rows[i].filter, 1);
        p.c = rows[i].c;
        solver->default_config(&p, &context, &config);
        g_assert_true(solver_solve(solver, &p, &context, &config, &solution, NULL));
        g_assert_cmpint(solution.launch_count, ==, rows[i].launches);
        g_assert_cmpint(matrix_transform_bytes(&p, 8) > 0, ==, rows[i].launches > 1);
        g_assert_cmpuint(solution.workspace_bytes, <=,
                         solver_workspace_bytes(solver, &p, &context));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_assert_true(target_parse("sm_90_132_80g", &target, NULL));
    context_init(&context, &target);
    g_test_add_func("/matrix_common/long_sums_are_always_split", long_sums_are_always_split);
    g_test_add_func("/matrix_common/phases_leave_out_what_does_not_meet",
                    phases_leave_out_what_does_not_meet);
    g_test_add_func("/matrix_common/only_what_lies_otherwise_is_moved",
                    only_what_lies_otherwise_is_moved);
    return g_test_run();
}
