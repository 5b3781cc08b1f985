/* Shared code of the solvers for NVIDIA's matrix units: how sums are split, the workspace of copied
 * tensors, and, shared with AMD's, which positions fit an int. */
#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_transform.h"
#include "solvers/framework/solver.h"
#include "solvers/matrix_nvidia/matrix_common.h"
#include "solvers/problem/problem_key.h"

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

/* W over 64 images of 112 x 112 sums 802816 terms. Units that truncate FP32 sums may add 32768
 * terms at most, so the sum is split. */
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
            "needs shorter sums, or a workspace for their parts and for copies of tensors");
        context_init(&context, &target);
    }
}

/* ConvFewChannelsMatrixW splits sums into parts of rows, by a space of its own. */
static void long_sums_of_few_channels_are_split_too(void)
{
    const struct solver *solver = solver_find("ConvFewChannelsMatrixW");
    struct perf_config config;
    struct space_walk walk;
    struct problem p;
    int configs = 0;

    g_assert_true(problem_key_parse(
        "64-112-112-7x7-3-224-224-64-3x3-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-W", &p, NULL));
    solver->default_config(&p, &context, &config);
    g_assert_cmpint(config.values[config.count - 1], >=, 802816 / 32768);
    space_walk_init(&walk, solver->space, &p, &context);
    for (; space_walk_next(&walk, &config); configs++)
        g_assert_cmpint(config.values[config.count - 1], >=, 802816 / 32768);
    g_assert_cmpint(configs, >, 10);
    p.n *= 1024;
    problem_set_output(&p);
    g_assert_false(solver_applicable(solver, &p, &context, NULL));
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

static void only_other_layouts_are_copied(void)
{
    static const struct {
        enum layout layout;
        int64_t c, filter;
        int launches;
    } rows[] = {
        {LAYOUT_NHWC, 64, 3, 1}, /* nothing */
        /* x and y are copied; a filter of one position is the same in both layouts */
        {LAYOUT_NCHW, 64, 1, 3},
        {LAYOUT_NCHW, 64, 3, 4},
        {LAYOUT_NHWC, 3, 3, 3}, /* x and w are copied, since 3 channels are filled up */
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

/* Returns whether the solver serves the problem; asserts that each launch has a grid that CUDA
 * allows. */
static bool serves(const struct solver *solver, const struct problem *p,
                   const struct context *unlimited)
{
    struct perf_config config;
    struct solution solution;

    if (!solver_applicable(solver, p, unlimited, NULL))
        return false;
    solver->default_config(p, unlimited, &config);
    g_assert_true(solver_solve(solver, p, unlimited, &config, &solution, NULL));
    for (int i = 0; i < solution.launch_count; i++) {
        const struct launch *launch = &solution.launches[i];
        g_assert_cmpint(launch->grid[0] / launch->block[0], <=, INT32_MAX);
    }
    return true;
}

/* Rows come in pairs: the first problem exceeds what kernels count in int, or CUDA's limit of
 * workgroups; the second just fits. */
static void places_in_kernels_stay_below_32_bits(void)
{
#define F16  "-0-NHWC-NHWC-NHWC-FP16-"
#define DEEP "-0-NDHWC-NDHWC-NDHWC-FP16-"
    static const struct {
        const char *key;
        bool by_amd, served;
    } rows[] = {
        {"8-65536-40000-1x1-8-16384-10000-1-0x0-4x4-1x1" F16 "F", false, false},
        {"8-65536-30000-1x1-8-16384-7500-1-0x0-4x4-1x1" F16 "F", false, true},
        {"8-2048-1250-1x1-8-65536-40000-1-0x0-32x32-1x1" F16 "W", false, false},
        {"8-2048-938-1x1-8-65536-30000-1-0x0-32x32-1x1" F16 "W", false, true},
        {"8-256-256-1x1-8-32-32-40000-112x112-1x1-1x1" F16 "B", false, false},
        {"8-256-256-1x1-8-32-32-30000-112x112-1x1-1x1" F16 "B", false, true},
        {"8-1-1-64x64-1048576-64-64-1-0x0-1x1-1x1" F16 "B", false, false},
        {"8-1-1-64x64-262144-64-64-1-0x0-1x1-1x1" F16 "B", false, true},
        {"2147450880-1-1-1x1-524280-1-1-1-0x0-1x1-1x1" F16 "F_g65535", true, false},
        {"2143256640-1-1-1x1-524280-1-1-1-0x0-1x1-1x1" F16 "F_g65535", true, true},
        {"524280-1-1-1x1-2147450880-1-1-1-0x0-1x1-1x1" F16 "F_g65535", true, false},
        {"524280-1-1-1x1-2143256640-1-1-1-0x0-1x1-1x1" F16 "F_g65535", true, true},
        {"524288-45-1-3x3-524288-227-3-397-0x1-5x3-3x1" F16 "B", false, false},
        {"524288-45-1-3x3-524288-227-3-187-0x1-5x3-3x1" F16 "B", false, true},
        /* depth counts like the other axes, as one of its own, as images and as rows */
        {"8-40000-256-256-2x2x2-8-13333-64-64-1-0x0x0-3x4x4-1x1x1" DEEP "F", false, false},
        {"8-30000-256-256-2x2x2-8-10000-64-64-1-0x0x0-3x4x4-1x1x1" DEEP "F", false, true},
        {"8-64-1024-1024-1x2x2-8-64-64-64-40-0x0x0-1x16x16-1x1x1" DEEP "F", false, false},
        {"8-64-1024-1024-1x2x2-8-64-64-64-30-0x0x0-1x16x16-1x1x1" DEEP "F", false, true},
        {"8-64-1024-40000-2x1x1-8-16-1024-40000-1-0x0x0-4x1x1-1x1x1" DEEP "F", false, false},
        {"8-64-1024-30000-2x1x1-8-16-1024-30000-1-0x0x0-4x1x1-1x1x1" DEEP "F", false, true},
    };
    static const char *const askers[][2] = {
        {"ConvMatrix", "sm_80_108_80g"}, {"ConvMatrix", "sm_90_132_80g"},
        {"ConvWgmma", "sm_90_132_80g"},  {"ConvMfma", "gfx90a68"},
        {"ConvMfma", "gfx94268"},        {"ConvWmma", "gfx1100_48"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows) * G_N_ELEMENTS(askers); i++) {
        const char *const *asker = askers[i % G_N_ELEMENTS(askers)];
        gsize r = i / G_N_ELEMENTS(askers);
        struct target asked;
        struct context unlimited;
        struct problem p;
        g_assert_true(target_parse(asker[1], &asked, NULL));
        context_init(&unlimited, &asked);
        g_assert_true(problem_key_parse(rows[r].key, &p, NULL) && problem_validate(&p, NULL));
        if ((asked.vendor == VENDOR_NVIDIA || rows[r].by_amd) &&
            serves(solver_find(asker[0]), &p, &unlimited) != rows[r].served) {
            g_test_message("%s for %s: %s", asker[0], asker[1], rows[r].key);
            g_test_fail();
        }
    }
#undef F16
#undef DEEP
}

/* Where a problem asks for TF32, its inputs may be rounded or cut off, which the solution says; plain FP32 problems get
 * none of that. By wgmma B's filter is copied with k innermost, and W is not served. */
static void only_problems_that_ask_get_tf32(void)
{
#define LAST   "64-28-28-3x3-64-28-28-8-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-"
#define PLANES "21-28-28-3x3-64-28-28-8-1x1-1x1-1x1-0-NCHW-FP32-"
    static const struct {
        const char *solver, *key;
        double inputs; /* 0: not served */
        int copies;
    } rows[] = {
        {"ConvMatrix", LAST "F_cxTF32", 0x1p-11, 0},
        {"ConvMatrix", PLANES "F_cxTF32", 0x1p-11, 3},
        {"ConvMatrix", LAST "B_cxTF32", 0x1p-11, 0},
        {"ConvMatrix", PLANES "B_cxTF32", 0x1p-11, 3},
        {"ConvMatrix", LAST "W_cxTF32", 0x1p-11, 0},
        {"ConvMatrix", LAST "F", 0, 0},
        {"ConvMatrix", LAST "B", 0, 0},
        {"ConvWgmma", LAST "F_cxTF32", 0x1p-10, 0},
        {"ConvWgmma", PLANES "F_cxTF32", 0x1p-10, 3},
        {"ConvWgmma", LAST "B_cxTF32", 0x1p-10, 1},
        {"ConvWgmma", PLANES "B_cxTF32", 0x1p-10, 3},
        {"ConvWgmma", LAST "W_cxTF32", 0, 0},
        {"ConvWgmma", LAST "F", 0, 0},
        {"ConvTma", LAST "F_cxTF32", 0x1p-10, 0},
        {"ConvTma", PLANES "F_cxTF32", 0x1p-10, 3},
        {"ConvTma", LAST "B_cxTF32", 0x1p-10, 1},
        {"ConvTma", PLANES "B_cxTF32", 0x1p-10, 3},
        {"ConvTma", LAST "W_cxTF32", 0, 0},
        {"ConvTma", LAST "F", 0, 0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct solver *solver = solver_find(rows[i].solver);
        int copies = 0;
        struct problem p;
        struct perf_config config = {0};
        struct solution solution;
        g_test_message("%s: %s", rows[i].solver, rows[i].key);
        g_assert_true(problem_key_parse(rows[i].key, &p, NULL));
        g_assert_cmpint(solver_applicable(solver, &p, &context, NULL), ==, rows[i].inputs > 0);
        if (rows[i].inputs == 0)
            continue;
        solver->default_config(&p, &context, &config);
        g_assert_true(solver_solve(solver, &p, &context, &config, &solution, NULL));
        g_assert_cmpfloat(solution.rounding.inputs, ==, rows[i].inputs);
        g_assert_cmpfloat(solution.rounding.terms, ==, conv_shortest_sum(&p));
        for (int l = 0; l < solution.launch_count; l++)
            copies += g_str_has_prefix(solution.launches[l].file, "conv_transpose");
        g_assert_cmpint(copies, ==, rows[i].copies);
        g_assert_cmpuint(solution.workspace_bytes, <=,
                         solver_workspace_bytes(solver, &p, &context));
    }
#undef LAST
#undef PLANES
}

/* FP8 and BF8 need instructions of sm_89 or their making from FP16's, and are multiplied forward alone. Their solution says that
 * products are cut off, which an epilogue's second tensor does not change. */
static void eight_bit_floats_are_served_forward_from_sm_89(void)
{
#define SIZES "64-28-28-3x3-64-28-28-8-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-"
    static const struct {
        const char *solver, *target, *key;
        bool served;
    } rows[] = {
        {"ConvMatrix", "sm_89_142_48g", SIZES "FP8-F", true},
        {"ConvMatrix", "sm_90_132_80g", SIZES "BF8FP8FP32-F", true},
        {"ConvMatrix", "sm_120_170_32g", SIZES "FP8BF8BF16-F+bias+add(FP8,NHWC)+relu", true},
        {"ConvMatrix", "sm_80_108_40g", SIZES "FP16-F+bias+add(FP8,NHWC)+relu", true},
        {"ConvMatrix", "sm_89_142_48g", SIZES "FP8FP8FP64-F", false},
        {"ConvMatrix", "sm_89_142_48g", SIZES "FP16FP8FP16-F", false},
        {"ConvMatrix", "sm_89_142_48g", SIZES "FP8-F_ciBF8", false},
        {"ConvMatrix", "sm_86_84_24g", SIZES "FP8-F", false},
        {"ConvMatrix", "sm_89_142_48g", SIZES "FP8-B", false},
        {"ConvMatrix", "sm_89_142_48g", SIZES "FP8-W", false},
        {"ConvWgmma", "sm_90_132_80g", SIZES "FP8BF8FP16-F+bias+add(BF8,NHWC)", true},
        {"ConvWgmma", "sm_120_170_32g", SIZES "FP8-F", false},
        {"ConvWgmma", "sm_90_132_80g", SIZES "BF8-B", false},
        {"ConvTma", "sm_90_132_80g", SIZES "FP8-F", false},
        {"ConvTma", "sm_90_132_80g", SIZES "FP16-F+bias+add(FP8,NHWC)+relu", false},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct solver *solver = solver_find(rows[i].solver);
        struct perf_config config = {0};
        struct solution solution;
        struct target asked;
        struct context unlimited;
        struct problem p;
        g_test_message("%s for %s: %s", rows[i].solver, rows[i].target, rows[i].key);
        g_assert_true(target_parse(rows[i].target, &asked, NULL));
        context_init(&unlimited, &asked);
        g_assert_true(problem_key_parse(rows[i].key, &p, NULL) && problem_validate(&p, NULL));
        g_assert_cmpint(solver_applicable(solver, &p, &unlimited, NULL), ==, rows[i].served);
        if (!rows[i].served)
            continue;
        solver->default_config(&p, &unlimited, &config);
        g_assert_true(solver_solve(solver, &p, &unlimited, &config, &solution, NULL));
        g_assert_cmpfloat(solution.rounding.products, ==,
                          p.type[TENSOR_X] == TYPE_FP16 ? 0 : 0x1p-13);
        g_assert_cmpfloat(solution.rounding.chain, ==,
                          solver == solver_find("ConvWgmma") && p.type[TENSOR_X] != TYPE_FP16 ? 4
                                                                                              : 0);
    }
#undef SIZES
}

/* ConvWgmma keeps two sums of each element in FP8, so that the widest block has half of FP16's columns or fewer. */
static void two_sums_of_an_element_halve_a_block(void)
{
    static const struct {
        const char *type;
        int columns_most;
    } rows[] = {{"FP16", 256}, {"FP8", 128}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *key = g_strdup_printf(
            "256-28-28-3x3-512-28-28-64-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-%s-F", rows[i].type);
        const struct solver *solver = solver_find("ConvWgmma");
        struct perf_config config = {0};
        struct target asked;
        struct context unlimited;
        struct problem p;
        g_assert_true(target_parse("sm_90_132_80g", &asked, NULL));
        context_init(&unlimited, &asked);
        g_assert_true(problem_key_parse(key, &p, NULL) && problem_validate(&p, NULL));
        solver->default_config(&p, &unlimited, &config);
        g_assert_cmpint(config.values[1], ==, rows[i].columns_most);
        g_assert_true(space_contains(solver->space, &p, &unlimited, &config, NULL));
    }
}

/* Solvers of matrix units, fastest first, as plans without measurements order them: all are faster in TF32 than on vector
 * units, and slower than in FP16. */
static void tf32_is_estimated_between_fp32_and_fp16(void)
{
    static const char *const names[] = {"ConvTma", "ConvWgmma", "ConvMatrix", "ConvWinograd",
                                        "ConvSimt"};
    double before = G_MAXDOUBLE;
    struct problem p, half;

    g_assert_true(problem_key_parse(
        "256-28-28-3x3-256-28-28-32-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_cxTF32", &p, NULL));
    g_assert_true(problem_key_parse(
        "256-28-28-3x3-256-28-28-32-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F", &half, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        const struct solver *solver = solver_find(names[i]);
        double estimate = solver->estimate(&p, &context);
        g_assert_cmpfloat(estimate, <, before);
        if (solver->native && solver_applicable(solver, &half, &context, NULL))
            g_assert_cmpfloat(estimate, <, solver->estimate(&half, &context));
        before = estimate;
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_assert_true(target_parse("sm_90_132_80g", &target, NULL));
    context_init(&context, &target);
    g_test_add_func("/matrix_common/long_sums_are_always_split", long_sums_are_always_split);
    g_test_add_func("/matrix_common/long_sums_of_few_channels_are_split_too",
                    long_sums_of_few_channels_are_split_too);
    g_test_add_func("/matrix_common/phases_leave_out_filter_positions_that_do_not_meet",
                    phases_leave_out_what_does_not_meet);
    g_test_add_func("/matrix_common/only_problems_that_ask_get_tf32",
                    only_problems_that_ask_get_tf32);
    g_test_add_func("/matrix_common/eight_bit_floats_are_served_forward_from_sm_89",
                    eight_bit_floats_are_served_forward_from_sm_89);
    g_test_add_func("/matrix_common/two_sums_of_an_element_halve_a_block",
                    two_sums_of_an_element_halve_a_block);
    g_test_add_func("/matrix_common/tf32_is_estimated_between_fp32_and_fp16",
                    tf32_is_estimated_between_fp32_and_fp16);
    g_test_add_func("/matrix_common/only_other_layouts_are_copied", only_other_layouts_are_copied);
    g_test_add_func("/matrix_common/places_in_kernels_stay_below_32_bits",
                    places_in_kernels_stay_below_32_bits);
    return g_test_run();
}
