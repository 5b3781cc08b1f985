/* ConvCpuBlocked on shapes where tiles, blocks of terms and copies begin or end. */
#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/conv_trial.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/temp_folder.h"

static struct solution_runner *runner;
static struct context context;

static const struct solver *solver(void)
{
    return solver_find("ConvCpuBlocked");
}

static void set_problem(struct problem *p, int64_t c, int64_t k, int64_t size, int64_t filter)
{
    problem_init(p);
    p->n = 2;
    p->c = c;
    p->k = k;
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        p->in[a] = size;
        p->fil[a] = filter;
    }
    problem_set_output(p);
    g_assert_true(problem_validate(p, NULL));
}

static void check(const struct problem *p, const struct perf_config *config,
                  enum trial_strides strides, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    struct conv_trial trial;

    conv_trial_init(&trial, p, strides, random);
    g_assert_true(conv_trial_check(&trial, runner, solver(), &context, config));
    conv_trial_clear(&trial);
}

static const struct perf_config wide = {4, {16, 1, 14, 256}};
static const struct perf_config narrow = {4, {8, 2, 7, 256}};

/* Planes narrower than, as wide as and wider than a tile, with and without gaps between rows. */
static void rows_narrower_than_a_tile_are_right(void)
{
    for (int64_t size = 1; size <= 16; size += size < 4 ? 1 : 3) {
        for (int filter = 1; filter <= MIN(size, 3); filter += 2) {
            struct problem p;
            set_problem(&p, 3, 20, size + filter - 1, filter);
            p.in[AXIS_W] += 2;
            problem_set_output(&p);
            for (int strides = TRIAL_PACKED; strides <= TRIAL_SPREAD; strides++) {
                check(&p, &wide, (enum trial_strides)strides, 1);
                check(&p, &narrow, (enum trial_strides)strides, 2);
            }
        }
    }
}

/* Depending on their strides, weights are loaded as vectors, lane by lane or one by one. */
static void sums_of_several_blocks_are_right(gconstpointer data)
{
    static const enum layout layouts[] = {LAYOUT_NCHW, LAYOUT_NHWC, LAYOUT_CHWN, LAYOUT_NCHWC8};
    enum direction direction = (enum direction)GPOINTER_TO_INT(data);

    for (gsize l = 0; l < G_N_ELEMENTS(layouts); l++) {
        for (int filter = 1; filter <= 3; filter += 2) {
            struct problem p;
            set_problem(&p, filter == 1 ? 520 : 64, filter == 1 ? 272 : 40, 6, filter);
            p.direction = direction;
            p.pad[AXIS_H] = p.pad[AXIS_W] = filter / 2;
            problem_set_output(&p);
            for (int t = 0; t < TENSOR_COUNT; t++)
                p.layout[t] = layouts[l];
            check(&p, &wide, TRIAL_PACKED, 3);
            check(&p, &narrow, TRIAL_PACKED, 4);
            if (problem_layout_block(layouts[l]) == 1)
                check(&p, &narrow, TRIAL_PADDED, 5);
        }
    }
}

/* For a filter that reaches past the input, MIOpen's rule makes the output one position; the kernel
 * then reads beyond the input's rows. */
static void a_filter_past_one_axis_is_right(void)
{
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        struct problem p;
        set_problem(&p, 8, 8, 56, 1);
        p.groups = 8;
        p.fil[a] = 64;
        problem_set_output(&p);
        g_assert_true(problem_validate(&p, NULL));
        check(&p, &narrow, TRIAL_PACKED, 7);
        check(&p, &narrow, TRIAL_SPREAD, 8);
        p.direction = DIRECTION_B;
        check(&p, &narrow, TRIAL_PACKED, 9);
    }
}

/* Tests the default configs of CPUs with vectors of 4, 8 and 16 floats, on any CPU. */
static void an_input_without_padding_is_read_in_place(gconstpointer target_id)
{
    struct target target;
    struct context named;
    const struct {
        int64_t size, filter, pad, stride;
        enum direction direction;
        enum data_type type;
        enum layout layout;
        int launches;
    } cases[] = {
        {28, 1, 0, 1, DIRECTION_F, TYPE_FP32, LAYOUT_NCHW, 1},
        {28, 1, 0, 1, DIRECTION_F, TYPE_FP32, LAYOUT_NHWC, 1},
        {7, 1, 0, 1, DIRECTION_F, TYPE_FP32, LAYOUT_NCHW, 1},
        {28, 3, 0, 1, DIRECTION_F, TYPE_FP32, LAYOUT_NCHW, 1},
        {28, 1, 0, 1, DIRECTION_B, TYPE_FP32, LAYOUT_NCHW, 1},
        {28, 3, 2, 1, DIRECTION_B, TYPE_FP32, LAYOUT_NCHW, 1},
        {28, 3, 1, 1, DIRECTION_F, TYPE_FP32, LAYOUT_NCHW, 2},
        {28, 1, 0, 2, DIRECTION_F, TYPE_FP32, LAYOUT_NCHW, 2},
        {28, 1, 0, 1, DIRECTION_F, TYPE_BF16, LAYOUT_NCHW, 2},
        {28, 1, 0, 1, DIRECTION_F, TYPE_FP32, LAYOUT_NCHWC8, 2},
        {2, 1, 0, 1, DIRECTION_F, TYPE_FP32, LAYOUT_NCHW, 2},
    };

    g_assert_true(target_parse(target_id, &target, NULL));
    context_init(&named, &target);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct solution solution = {0};
        struct perf_config config;
        struct problem p;
        set_problem(&p, 16, 16, cases[i].size, cases[i].filter);
        p.direction = cases[i].direction;
        for (int a = AXIS_H; a <= AXIS_W; a++) {
            p.pad[a] = cases[i].pad;
            p.stride[a] = cases[i].stride;
        }
        problem_set_output(&p);
        for (int t = 0; t < TENSOR_COUNT; t++) {
            p.type[t] = cases[i].type;
            p.layout[t] = cases[i].layout;
        }
        solver()->default_config(&p, &named, &config);
        g_assert_true(solver_solve(solver(), &p, &named, &config, &solution, NULL));
        /* one more launch packs the filter */
        g_assert_cmpint(solution.pack_count, ==, 1);
        g_assert_cmpint(solution.launch_count - 1, ==, cases[i].launches);
        g_assert_cmpint(solution.workspace_bytes > 0, ==, cases[i].launches > 1);
        g_assert_cmpuint(solution.workspace_bytes, <=,
                         solver_workspace_bytes(solver(), &p, &named));
    }
}

/* With a stride, a backward problem would multiply many zeros, which cost time as other terms do:
 * the estimate is low. */
static void zeros_between_outputs_lower_the_estimate(void)
{
    struct problem p;
    double plain;

    set_problem(&p, 32, 32, 28, 1);
    p.direction = DIRECTION_B;
    plain = solver()->estimate(&p, &context);
    p.stride[AXIS_H] = p.stride[AXIS_W] = 2;
    problem_set_output(&p);
    g_assert_cmpfloat(solver()->estimate(&p, &context), ==, plain / 4);
}

static void every_shape_of_tile_is_right(void)
{
    static const struct perf_config configs[] = {
        {4, {8, 4, 4, 256}},  {4, {8, 1, 28, 512}},  {4, {8, 3, 8, 256}},
        {4, {16, 4, 6, 512}}, {4, {16, 2, 12, 256}}, {4, {16, 3, 7, 256}},
    };
    struct problem p;

    set_problem(&p, 33, 70, 31, 3);
    p.n = 1;
    p.pad[AXIS_H] = p.pad[AXIS_W] = 1;
    p.stride[AXIS_H] = 2;
    problem_set_output(&p);
    for (gsize i = 0; i < G_N_ELEMENTS(configs); i++)
        check(&p, &configs[i], TRIAL_PADDED, 6);
}

static const char *const target_ids[] = {"cpu-athlon64_2", "cpu-haswell_2", "cpu-skylake-avx512_2"};

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    int status;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    if (!runner) {
        g_print("1..0 # SKIP no PoCL on this machine\n");
        return 0;
    }
    solution_runner_hurry(runner, true);
    context_init(&context, solution_runner_target(runner));
    g_test_add_func("/conv_cpu_blocked/rows_narrower_than_a_tile_are_right",
                    rows_narrower_than_a_tile_are_right);
    g_test_add_data_func("/conv_cpu_blocked/forward/sums_of_several_blocks_are_right",
                         GINT_TO_POINTER(DIRECTION_F), sums_of_several_blocks_are_right);
    g_test_add_data_func("/conv_cpu_blocked/backward/sums_of_several_blocks_are_right",
                         GINT_TO_POINTER(DIRECTION_B), sums_of_several_blocks_are_right);
    g_test_add_func("/conv_cpu_blocked/every_shape_of_tile_is_right", every_shape_of_tile_is_right);
    g_test_add_func("/conv_cpu_blocked/a_filter_past_one_axis_is_right",
                    a_filter_past_one_axis_is_right);
    for (gsize i = 0; i < G_N_ELEMENTS(target_ids); i++) {
        g_autofree char *path = g_strdup_printf(
            "/conv_cpu_blocked/%s/an_input_without_padding_is_read_in_place", target_ids[i]);
        g_test_add_data_func(path, target_ids[i], an_input_without_padding_is_read_in_place);
    }
    g_test_add_func("/conv_cpu_blocked/zeros_between_outputs_lower_the_estimate",
                    zeros_between_outputs_lower_the_estimate);
    status = g_test_run();
    solution_runner_free(runner);
    return status;
}
