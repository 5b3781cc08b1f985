/* Checks of the solvers of operators: sizes up to the largest, strides that decide the axes of a launch, and the bytes
 * that a solution cannot avoid. */
#include <string.h>

#include "solvers/framework/solver.h"
#include "solvers/operators/operator_common.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/table_problems.h"

#define DRAWN 4

static struct target targets[TABLE_TARGETS];

static void read_key(const char *key, struct problem *p)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(problem_key_parse(key, p, &error) && problem_validate(p, &error));
    g_assert_no_error(error);
}

/* ---- sizes ---- */

static void solves_what_it_serves(const struct solver *solver, const struct problem *p,
                                  const struct context *context)
{
    g_autoptr(GError) error = NULL;
    struct perf_config config;
    struct solution solution;
    uint64_t state = 5;
    const char *reason = NULL;

    if (!solver_applicable(solver, p, context, &reason)) {
        g_assert_nonnull(reason);
        return;
    }
    solver->default_config(p, context, &config);
    const struct space *space = solver_space(solver, p, context);
    for (int i = 0; i <= DRAWN; i++) {
        bool solved = solver_solve(solver, p, context, &config, &solution, &error);
        g_assert_no_error(error);
        g_assert_true(solved);
        if (!space || !space_draw(space, p, context, &state, &config))
            break;
    }
}

/* Sets one size of the problem; false where no such problem is valid. */
static bool grow(struct problem *p, int dimension, int64_t size)
{
    switch (dimension) {
    case 0: p->n = size; break;
    case 1: p->c = p->k = size; break;
    case 2: p->in[AXIS_H] = size; break;
    case 3: p->in[AXIS_W] = size; break;
    default: p->fil[AXIS_H] = p->in[AXIS_H] = p->kind == OP_POOL ? size : 1; break;
    }
    if (p->kind != OP_RESIZE)
        problem_set_output(p);
    return problem_validate(p, NULL);
}

static void huge_sizes_are_refused_or_fit(void)
{
    g_autoptr(GPtrArray) problems = table_problems_operators();
    for (guint i = 0; i < problems->len; i++) {
        for (int dimension = 0; dimension < 5; dimension++) {
            for (int bits = 20; bits <= 31; bits++) {
                struct problem p = *(struct problem *)problems->pdata[i];
                if (!grow(&p, dimension, ((int64_t)1 << bits) - 1))
                    continue;
                for (int s = 0; s < solver_table_count; s++) {
                    struct context context;
                    context_init(&context, &targets[(gsize)bits % TABLE_TARGETS]);
                    if (solver_table[s]->kind == p.kind)
                        solves_what_it_serves(solver_table[s], &p, &context);
                }
            }
        }
    }
}

/* ---- axes ---- */

static int rank_of(const char *key)
{
    struct operator_axes axes;
    struct problem p;
    read_key(key, &p);
    operator_piece_axes(&p, &axes);
    return axes.count;
}

static void axes_merge_where_all_tensors_allow_it(void)
{
    /* packed tensors are one line */
    g_assert_cmpint(
        rank_of("pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP32-F+add(FP16,NCHW)+relu"), ==,
        1);
    /* a value for each channel keeps them apart */
    g_assert_cmpint(rank_of("pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP32-F+bias"), ==, 3);
    g_assert_cmpint(rank_of("pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F+bias"),
                    ==, 2);
    /* a change of layout leaves images, positions and channels */
    g_assert_cmpint(rank_of("pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-NCHW-NHWC-FP32-F"), ==,
                    3);
    /* a factor for each channel repeats along positions */
    g_assert_cmpint(rank_of("pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP32-F_sr8x1x0x0x0"
                            "+mul(FP32,NCHW)"),
                    ==, 2);
    /* gaps behind rows */
    g_assert_cmpint(rank_of("pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP32-F_sx320x40x0x8x1"),
                    ==, 2);
    /* a pool's axes stay */
    g_assert_cmpint(rank_of("pool(max)-8-4-6-2x2-8-2-3-2-0x0-2x2-1x1-0-NCHW-FP32-F"), ==, 4);
}

/* ---- work ---- */

static double bytes_of(const char *key, const char *solver, double *written)
{
    struct perf_config config;
    struct solution solution;
    struct context context;
    struct problem p;
    read_key(key, &p);
    context_init(&context, &targets[0]);
    solver_find(solver)->default_config(&p, &context, &config);
    g_assert_true(solver_solve(solver_find(solver), &p, &context, &config, &solution, NULL));
    *written = solution.write_bytes;
    return solution.read_bytes;
}

static void bytes_are_the_least_that_any_kernel_moves(void)
{
    double written;
    /* a strided 1x1 window reads a quarter */
    g_assert_cmpfloat(
        bytes_of("pool(max)-8-4-6-1x1-8-2-3-2-0x0-2x2-1x1-0-NCHW-FP32-F", "PoolNaive", &written),
        ==, 4.0 * 2 * 8 * 2 * 3);
    g_assert_cmpfloat(written, ==, 4.0 * 2 * 8 * 2 * 3);
    /* a factor for each channel is read once */
    g_assert_cmpfloat(bytes_of("pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP16-F_sr8x1x0x0x0"
                               "+mul(FP32,NCHW)",
                               "PointwisePieces", &written),
                      ==, 2.0 * 2 * 8 * 30 + 4.0 * 2 * 8);
    /* a cast writes what it casts to */
    g_assert_cmpfloat(bytes_of("pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-INT8INT8FP32-F"
                               "+scale(channel)",
                               "PointwiseNaive", &written),
                      ==, 2.0 * 8 * 30 + 4.0 * 9);
    g_assert_cmpfloat(written, ==, 4.0 * 2 * 8 * 30);
}

static void find_dbs_do_not_name_their_algorithm(void)
{
    char buffer[64];
    for (int s = 0; s < solver_table_count; s++) {
        bool is_conv = solver_table[s]->kind == OP_CONV;
        const char *name = solver_algorithm(solver_table[s], DIRECTION_F, buffer);
        g_assert_true(g_str_has_prefix(name, "miopen") == is_conv);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    table_targets(targets);
    g_test_add_func("/operator_solvers/huge_sizes_are_refused_or_fit",
                    huge_sizes_are_refused_or_fit);
    g_test_add_func("/operator_solvers/axes_merge_where_all_tensors_allow_it",
                    axes_merge_where_all_tensors_allow_it);
    g_test_add_func("/operator_solvers/bytes_are_the_least_that_any_kernel_moves",
                    bytes_are_the_least_that_any_kernel_moves);
    g_test_add_func("/operator_solvers/find_dbs_do_not_name_their_algorithm",
                    find_dbs_do_not_name_their_algorithm);
    return g_test_run();
}
