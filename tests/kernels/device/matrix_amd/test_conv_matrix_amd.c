/*
 * ConvMfma and ConvWmma run through PoCL with emulated instructions (matrix_unit_amd_emulated.h): all of the
 * kernel is tested except the matrix units.
 */
#include <string.h>

#include "solvers/framework/solver.h"
#include "solvers/matrix_amd/matrix_amd_shape.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/kernels/random_epilogue.h"
#include "tests/support/test_effort.h"

/* Only this test compiles with this option. -cl-opt-disable: with optimization PoCL compiles the
 * emulation's loops five times as long. */
#define EMULATED " -DMATRIX_EMULATED=1 -cl-opt-disable"

/* Epilogues drawn for a case: one on one of EPILOGUE_DAYS days, or many in the long suite. */
#define EPILOGUE_DAYS  6
/* Cases of FP8 and BF8 take turns: each runs on one of so many days. */
#define FLOAT8_DAYS    2
#define EPILOGUES_LONG 16

static struct solution_runner *runner;

/* Sizes that are no multiples of a block, with strides, dilation, padding and groups in each
 * direction. `moved` is in NCHW with channels that fill no chunk, so its tensors are copied to
 * another layout first. */
static const struct conv_shape strided = {2, 32, 64, 2, 7, 8, 3, 2, 1, 2, 1},
                               dilated = {1, 16, 80, 1, 6, 7, 3, 3, 2, 1, 2},
                               plain = {2, 96, 32, 1, 7, 6, 1, 1, 0, 1, 1},
                               images = {5, 16, 16, 1, 3, 3, 1, 1, 0, 1, 1},
                               moved = {2, 10, 18, 2, 5, 7, 3, 2, 1, 1, 1};

static const struct {
    const char *target, *type; /* of all tensors, or of x, w and y */
    enum direction direction;
    const char *config; /* BLOCK_M, BLOCK_N, WAVE_M, WAVE_N, UNIT, BLOCK_K, BUFFERS, SPLITS */
    const struct conv_shape *shapes[2];
} cases[] = {
    {"gfx90a68", "FP32", DIRECTION_F, "64,64,32,64,32,16,2,1", {&strided, &dilated}},
    {"gfx90a68", "FP32", DIRECTION_B, "64,32,32,32,16,32,1,1", {&strided, &moved}},
    {"gfx942130", "FP16", DIRECTION_W, "64,128,32,128,32,32,1,2", {&strided, &moved}},
    {"gfx942130", "TF32", DIRECTION_F, "64,64,32,64,32,16,2,1", {&strided, &moved}},
    {"gfx942130", "TF32", DIRECTION_B, "64,32,32,32,16,32,1,1", {&strided, &dilated}},
    {"gfx942130", "TF32", DIRECTION_W, "64,64,32,32,32,32,1,2", {&strided, &moved}},
    {"gfx908_60", "BF16", DIRECTION_F, "64,64,64,32,32,32,1,1", {&plain, &dilated}},
    {"gfx908_60", "INT8", DIRECTION_F, "64,64,32,32,16,64,2,1", {&strided, &plain}},
    {"gfx942130", "INT8", DIRECTION_F, "64,32,32,32,32,64,1,1", {&dilated, &moved}},
    {"gfx1100_48", "FP16", DIRECTION_F, "64,32,32,16,16,32,1,1", {&strided, &dilated}},
    {"gfx1100_48", "BF16", DIRECTION_W, "64,64,64,32,16,32,2,1", {&strided, &images}},
    {"gfx1100_48", "INT8", DIRECTION_F, "32,64,16,64,16,64,1,1", {&plain, &images}},
    {"gfx1201_64", "FP16", DIRECTION_B, "64,32,32,32,16,64,2,1", {&strided, &plain}},
    {"gfx1201_64", "INT8", DIRECTION_F, "64,64,64,32,16,64,2,1", {&dilated, &plain}},
    {"gfx942130", "FP8-FP8-FP8", DIRECTION_F, "64,64,32,32,16,64,2,1", {&strided, &moved}},
    {"gfx942130", "BF8-FP8-FP32", DIRECTION_F, "64,32,32,32,32,64,1,1", {&dilated, &moved}},
    {"gfx942130", "FP8-BF8-FP16", DIRECTION_F, "64,64,32,32,16,64,1,1", {&plain, &strided}},
    {"gfx1201_64", "FP8-BF8-BF8", DIRECTION_F, "64,64,64,32,16,64,2,1", {&dilated, &moved}},
    {"gfx1201_64", "BF8-FP8-BF16", DIRECTION_F, "64,32,32,32,16,64,1,1", {&strided, &plain}},
    /* Work-items transpose two, four or eight terms of bytes at a time. */
    {"gfx942130", "FP8-FP8-FP8", DIRECTION_B, "64,64,32,64,32,64,2,1", {&strided, &moved}},
    {"gfx942130", "FP32-FP8-BF8", DIRECTION_B, "64,64,64,64,16,64,1,1", {&dilated, &plain}},
    {"gfx942130", "FP8-BF8-BF8", DIRECTION_W, "64,64,64,64,32,64,1,2", {&strided, &moved}},
    {"gfx942130", "BF8-FP32-FP8", DIRECTION_W, "64,64,64,64,32,128,1,1", {&plain, &images}},
    {"gfx1201_64", "FP16-BF8-FP8", DIRECTION_B, "64,64,32,32,16,64,2,1", {&strided, &moved}},
    {"gfx1201_64", "BF8-FP16-FP8", DIRECTION_W, "64,64,32,64,16,64,1,2", {&strided, &plain}},
};

static void make_problem(gsize row, const struct conv_shape *shape, struct problem *p)
{
    g_auto(GStrv) names = g_strsplit(cases[row].type, "-", TENSOR_COUNT);
    enum data_type type;

    bool is_tf32 = strcmp(cases[row].type, OP_MODE_TF32) == 0;
    g_assert_true(data_type_parse(is_tf32 ? "FP32" : names[0], &type));
    conv_shape_problem(shape, cases[row].direction, shape == &moved ? LAYOUT_NCHW : LAYOUT_NHWC, p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        p->type[t] = type;
    if (type == TYPE_INT8)
        p->type[TENSOR_Y] = TYPE_INT32;
    for (int t = 1; names[1] && t < TENSOR_COUNT; t++)
        g_assert_true(data_type_parse(names[t], &p->type[t]));
    if (is_tf32)
        g_strlcpy(p->mode, OP_MODE_TF32, sizeof p->mode);
    g_assert_true(problem_validate(p, NULL));
}

/* Returns the solution with emulated instructions. The config need not be in the space, which
 * excludes blocks larger than a small problem. */
static void solve_emulated(gsize row, const struct problem *p, struct solution *solution)
{
    g_autoptr(GError) error = NULL;
    struct perf_config config;
    struct context context;
    struct target target;
    const struct solver *solver =
        solver_find(g_str_has_prefix(cases[row].target, "gfx9") ? "ConvMfma" : "ConvWmma");

    g_assert_true(target_parse(cases[row].target, &target, &error));
    context_init(&context, &target);
    g_assert_true(solver_applicable(solver, p, &context, NULL));
    g_assert_true(perf_config_parse(cases[row].config, MATRIX_AMD_PARAMS, &config, &error));
    solution_init(solution);
    g_assert_true(solver->solve(p, &context, &config, solution, &error));
    for (int i = 0; i < solution->launch_count; i++) {
        struct launch *launch = &solution->launches[i];
        if (strcmp(launch->file, "conv_matrix_amd.cl") == 0)
            g_assert_cmpuint(g_strlcat(launch->options, EMULATED, LAUNCH_OPTIONS_MAX), <,
                             LAUNCH_OPTIONS_MAX);
    }
}

/* The emulation reads FP8 and BF8 in the form of the device on which it runs. */
static void check(gsize row, const struct problem *p, GRand *random)
{
    struct conv_trial trial;
    struct solution solution;
    int64_t first = 0;

    solve_emulated(row, p, &solution);
    conv_trial_init(&trial, p, TRIAL_PACKED, random);
    conv_trial_run(&trial, runner, &solution);
    g_assert_cmpint(conv_trial_wrong(&trial, &solution.rounding, &first), ==, 0);
    g_assert_cmpint(conv_trial_stray(&trial), ==, 0);
    conv_trial_clear(&trial);
}

static void is_right_by_the_documented_layouts(gconstpointer data)
{
    gsize row = (gsize)GPOINTER_TO_SIZE(data);
    g_autoptr(GRand) random = g_rand_new_with_seed(7);

    for (gsize i = 0; i < G_N_ELEMENTS(cases[row].shapes); i++) {
        struct problem p;
        make_problem(row, cases[row].shapes[i], &p);
        check(row, &p, random);
    }
}

/* The result is a part of a tensor with `more` further channels: written in its place, or where that is no multiple of 16
 * bytes, copied there. */
static void spread_result(int64_t more, struct problem *p)
{
    enum tensor_role role = problem_output_role(p);
    int64_t sizes[5], strides[5];

    problem_operand_sizes(p, role, sizes);
    strides[1] = 1;
    strides[4] = sizes[1] + more;
    strides[3] = strides[4] * sizes[4];
    strides[2] = strides[3] * sizes[3];
    strides[0] = strides[2] * sizes[2];
    problem_set_strides(p, role, strides);
    g_assert_true(problem_operand_is_strided(p, role));
    g_assert_true(problem_validate(p, NULL));
}

static void parts_of_concatenations_are_written(gconstpointer data)
{
    gsize row = (gsize)GPOINTER_TO_SIZE(data);
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    const int64_t more[] = {32, 5};

    for (gsize i = 0; i < G_N_ELEMENTS(more); i++) {
        struct problem p;
        make_problem(row, cases[row].shapes[0], &p);
        spread_result(more[i], &p);
        check(row, &p, random);
    }
}

/* Sums in registers, in each unit's layout of lanes, get the epilogue of their row and column. Each
 * case also has tensors that are copied first. */
static void epilogues_are_done(gconstpointer data)
{
    gsize row = (gsize)GPOINTER_TO_SIZE(data);
    guint32 count = test_is_long() ? EPILOGUES_LONG : 1, first = test_seed() / EPILOGUE_DAYS;

    for (guint32 i = first; i < first + count; i++) {
        g_autoptr(GRand) random = g_rand_new_with_seed(test_seed() * 100 + i - first);
        struct problem p;
        make_problem(row, i % 2 == 0 ? cases[row].shapes[i / 2 % 2] : &moved, &p);
        g_assert_true(random_epilogue(random, EPILOGUE_DOES_ALL, &p));
        g_assert_true(problem_validate(&p, NULL));
        check(row, &p, random);
        if (g_test_failed()) {
            g_test_message("the epilogue is %s", p.epilogue);
            return;
        }
    }
}

static void add_tests(void)
{
    static const char *const directions[] = {"F", "B", "W"};

    for (gsize row = 0; row < G_N_ELEMENTS(cases); row++) {
        bool is_float8 = strchr(cases[row].type, '-') != NULL;
        if (is_float8 && !test_is_turn((int)row, FLOAT8_DAYS))
            continue;
        g_autofree char *path = g_strdup_printf(
            "/conv_matrix_amd/is_right_by_the_documented_layouts/%s_%s_%s_%s", cases[row].target,
            cases[row].type, directions[cases[row].direction], cases[row].config);
        g_autofree char *fused =
            g_strdup_printf("/conv_matrix_amd/epilogues_are_done/%s_%s_%s_%s", cases[row].target,
                            cases[row].type, directions[cases[row].direction], cases[row].config);
        g_autofree char *part = g_strdup_printf(
            "/conv_matrix_amd/parts_of_concatenations_are_written/%s_%s_%s_%s", cases[row].target,
            cases[row].type, directions[cases[row].direction], cases[row].config);
        g_test_add_data_func(path, GSIZE_TO_POINTER(row), is_right_by_the_documented_layouts);
        if (cases[row].direction != DIRECTION_W && test_is_turn((int)row, EPILOGUE_DAYS))
            g_test_add_data_func(fused, GSIZE_TO_POINTER(row), epilogues_are_done);
        if (cases[row].direction != DIRECTION_W && test_is_turn((int)row + 1, EPILOGUE_DAYS))
            g_test_add_data_func(part, GSIZE_TO_POINTER(row), parts_of_concatenations_are_written);
    }
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    double seconds;
    int status, kernels;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    if (!runner || solution_runner_target(runner)->vendor != VENDOR_CPU) {
        g_print("1..0 # SKIP PoCL is not on this machine, or the device is another one\n");
        return 0;
    }
    solution_runner_hurry(runner, true);
    add_tests();
    status = g_test_run();
    seconds = solution_runner_compile_seconds(runner, &kernels);
    g_print("# %d kernels compiled in %.0f s\n", kernels, seconds);
    solution_runner_free(runner);
    return status;
}
