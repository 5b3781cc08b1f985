/* The costs of ConvGrouped's tiles, with expected figures computed by hand, the reasons for which it refuses problems, and
 * how its estimate compares with those of solvers that serve the same ones. */
#include <string.h>

#include "solvers/framework/solver.h"
#include "solvers/grouped/grouped_shape.h"
#include "solvers/problem/problem_key.h"

static struct target target;
static struct context context;

static void problem_of(const char *key, struct problem *p)
{
    g_assert_true(problem_key_parse(key, p, NULL));
}

/* How the expected figures follow. In F and W, 32 positions of a row read 34 columns of x, and 2 columns of padding
 * where the row goes on in the next image: 36. In B with the stride 2 a position is 2 x 2 elements of x; 32 positions
 * read 33 columns of y, and 1 of padding at each of two images' ends: 35. In local memory an even number of chunks (16
 * bytes) takes one chunk more, against bank conflicts: 4 chunks take 80 bytes, 8 take 144, 18 take 304. */
static const struct tile_case {
    const char *key;
    int32_t values[GROUPED_PARAM_COUNT];
    int64_t items, bundles;
    double tiles, local_bytes, registers;
} tile_cases[] = {
    {"256-56-56-3x3-256-56-56-32-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g32",
     {8, 32, 8, 4, 1, 1},
     128,
     4,
     7 * 56,
     10 * 36 * 144 + 64 * 144 + 4 * 16 * 80,
     3 * 2 * 4 * 2 + 3 * 4 * 4},
    {"512-28-28-3x3-512-56-56-32-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-B_g32",
     {4, 32, 4, 4, 0, 1},
     128,
     8,
     7 * 28,
     5 * 35 * 144 + 64 * 304 + 4 * 16 * 80,
     (4 * 4 + 2) * 4},
    {"256-56-56-3x3-256-56-56-32-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-W_g32",
     {4, 32, 8, 2, 1, 64},
     256,
     4,
     14 * 56,
     2 * (6 * 36 + 4 * 32) * 144,
     3 * 2 * 2 * 4 + 3 * 2 * 2},
};

static void tiles_take_what_kernels_have(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(tile_cases); i++) {
        const struct tile_case *row = &tile_cases[i];
        struct problem p;
        problem_of(row->key, &p);
        g_assert_cmpint(grouped_items(&p, row->values), ==, row->items);
        g_assert_cmpint(grouped_bundles(&p, row->values), ==, row->bundles);
        g_assert_cmpfloat(grouped_tiles(&p, row->values), ==, row->tiles);
        g_assert_cmpfloat(grouped_local_bytes(&p, row->values), ==, row->local_bytes);
        g_assert_cmpfloat(grouped_registers(&p, row->values), ==, row->registers);
    }
}

static void refused_problems_have_a_reason(void)
{
    static const struct {
        const char *key, *reason;
    } cases[] = {
        {"256-8-8-3x3-256-8-8-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g2", "four to 64 channels"},
        {"64-8-8-3x3-64-8-8-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g32", "four to 64 channels"},
        {"64-8-8-3x3-64-8-8-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_g8", "FP16 or BF16"},
        {"64-60-60-31x31-64-60-60-2-15x15-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-W", "smaller filter"},
    };
    const struct solver *solver = solver_find("ConvGrouped");

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *reason = "";
        struct problem p;
        problem_of(cases[i].key, &p);
        g_assert_false(solver_applicable(solver, &p, &context, &reason));
        g_assert_nonnull(strstr(reason, cases[i].reason));
    }
}

/* W sums over 802816 positions here, and a sum in FP32 may have 32768 terms: the sum is split, and its parts need a
 * workspace. */
static void long_sums_need_a_workspace(void)
{
    const struct solver *solver = solver_find("ConvGrouped");
    const char *reason = "";
    struct perf_config config;
    struct problem p;

    problem_of("64-112-112-3x3-64-112-112-64-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-W_g8", &p);
    solver->default_config(&p, &context, &config);
    g_assert_cmpint(config.values[GROUPED_SPLITS], >=, 802816 / 32768);
    context.workspace_limit = 1 << 16;
    g_assert_false(solver_applicable(solver, &p, &context, &reason));
    g_assert_nonnull(strstr(reason, "workspace"));
    context_init(&context, &target);
}

static double estimate(const char *name, const char *key)
{
    const struct solver *solver = solver_find(name);
    struct problem p;

    problem_of(key, &p);
    g_assert_true(solver_applicable(solver, &p, &context, NULL));
    return solver->estimate(&p, &context);
}

/* ConvGrouped pads a result of one or two channels to eight, and copies it. With groups of four channels it still wastes
 * the least. */
static void padded_and_copied_channels_lower_the_estimate(void)
{
    static const struct {
        const char *key, *higher, *lower;
    } cases[] = {
        {"64-512-1024-3x3-1-514-1026-1-2x2-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F", "ConvFewOutputs",
         "ConvGrouped"},
        {"2-388-388-1x1-64-388-388-16-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B", "ConvMatrixSmall",
         "ConvGrouped"},
        {"1-56-56-7x7-3-227-227-1-0x0-4x4-1x1-0-NHWC-NHWC-NHWC-FP16-W", "ConvGrouped",
         "ConvIm2ColGemm"},
        {"128-56-56-3x3-128-56-56-16-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g32", "ConvGrouped",
         "ConvDirectTiled"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_message("%s", cases[i].key);
        g_assert_cmpfloat(estimate(cases[i].higher, cases[i].key), >,
                          estimate(cases[i].lower, cases[i].key));
    }
    /* In NCHW all tensors are copied. */
    g_assert_cmpfloat_with_epsilon(
        estimate("ConvGrouped", "256-56-56-3x3-256-56-56-32-1x1-1x1-1x1-0-NCHW-FP16-F_g32"),
        0.7 * estimate("ConvGrouped",
                       "256-56-56-3x3-256-56-56-32-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g32"),
        0.5);
}

/* ConvFewOutputs multiplies each position of the source with the whole filter. With the stride 2 F needs a quarter of these
 * products, B needs all. */
static void a_stride_leaves_products_unused(void)
{
    double plain = estimate("ConvFewOutputs",
                            "64-224-224-7x7-3-224-224-16-3x3-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F");

    g_assert_cmpfloat(estimate("ConvFewOutputs",
                               "64-447-447-7x7-3-224-224-16-3x3-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F"),
                      ==, plain / 4);
    g_assert_cmpfloat(estimate("ConvFewOutputs",
                               "64-112-112-7x7-3-224-224-256-3x3-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-B"),
                      ==, plain);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_true(target_parse("sm_90_132_80g", &target, NULL));
    context_init(&context, &target);
    g_test_add_func("/grouped_shape/costs_of_tiles_are_the_kernels", tiles_take_what_kernels_have);
    g_test_add_func("/grouped_shape/refused_problems_have_a_reason",
                    refused_problems_have_a_reason);
    g_test_add_func("/grouped_shape/long_sums_need_a_workspace", long_sums_need_a_workspace);
    g_test_add_func("/grouped_shape/padded_and_copied_channels_lower_the_estimate",
                    padded_and_copied_channels_lower_the_estimate);
    g_test_add_func("/grouped_shape/a_stride_leaves_products_unused",
                    a_stride_leaves_products_unused);
    return g_test_run();
}
