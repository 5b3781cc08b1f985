/* Plain kernels run through PoCL and compared with a sum in double precision. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/conv_trial.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_effort.h"

static struct solution_runner *runner;
static struct context context;

static void check(const char *solver_name, const struct problem *p,
                  const struct perf_config *config, GRand *random, enum trial_strides strides)
{
    g_autoptr(GError) error = NULL;
    struct conv_trial trial;

    g_assert_true(problem_validate(p, &error));
    g_assert_no_error(error);
    conv_trial_init(&trial, p, strides, random);
    conv_trial_check(&trial, runner, solver_find(solver_name), &context, config);
    conv_trial_clear(&trial);
}

static const enum layout layouts_3d[] = {LAYOUT_NCDHW, LAYOUT_NDHWC};

/* A random problem in that layout; 3D problems are small, and blocked layouts have whole blocks of
 * channels. */
static void random_naive_problem(GRand *random, struct problem *p, enum direction direction,
                                 enum layout layout)
{
    bool is_3d = layout == LAYOUT_NCDHW || layout == LAYOUT_NDHWC;

    conv_random_problem(random, p);
    p->direction = direction;
    if (is_3d) {
        p->spatial_dim = 3;
        p->in[AXIS_D] = g_rand_int_range(random, 5, 9);
        p->fil[AXIS_D] = g_rand_int_range(random, 1, 4);
        p->pad[AXIS_D] = g_rand_int_range(random, 0, 2);
        p->stride[AXIS_D] = g_rand_int_range(random, 1, 3);
        p->dilation[AXIS_D] = g_rand_int_range(random, 1, 3);
        p->c = p->groups * 3;
        p->k = p->groups * 4;
        problem_set_output(p);
    }
    if (problem_layout_block(layout) > 1) {
        p->groups = 1;
        p->c = 8 * g_rand_int_range(random, 1, 3);
        p->k = 8 * g_rand_int_range(random, 1, 4);
    }
    for (int t = 0; t < TENSOR_COUNT; t++)
        p->layout[t] = layout;
}

static void check_naive(enum direction direction, const enum data_type types[TENSOR_COUNT],
                        const enum layout *layouts, int layout_count, enum trial_strides strides)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(17);
    const struct perf_config none = {0};

    for (int i = 0; i < test_effort(2) * layout_count; i++) {
        struct problem p;
        random_naive_problem(random, &p, direction, layouts[i % layout_count]);
        memcpy(p.type, types, sizeof(p.type));
        check("ConvDirectNaive", &p, &none, random, strides);
    }
}

static const enum data_type fp32[] = {TYPE_FP32, TYPE_FP32, TYPE_FP32};
static const enum layout plain_layouts[] = {LAYOUT_NCHW, LAYOUT_NHWC, LAYOUT_CHWN, LAYOUT_NCDHW,
                                            LAYOUT_NDHWC};

static void naive_serves_every_direction(void)
{
    for (int direction = 0; direction < DIRECTION_COUNT; direction++)
        check_naive((enum direction)direction, fp32, plain_layouts, G_N_ELEMENTS(plain_layouts),
                    TRIAL_PACKED);
}

static void naive_serves_tensors_that_are_not_packed(void)
{
    for (int direction = 0; direction < DIRECTION_COUNT; direction++)
        check_naive((enum direction)direction, fp32, layouts_3d, G_N_ELEMENTS(layouts_3d),
                    TRIAL_PADDED);
}

static void naive_serves_blocked_layouts(void)
{
    static const enum layout by_4[] = {LAYOUT_NCHWC4, LAYOUT_CHWNC4};
    static const enum layout by_8[] = {LAYOUT_NCHWC8, LAYOUT_CHWNC8};

    check_naive(DIRECTION_F, fp32, by_4, 2, TRIAL_PACKED);
    check_naive(DIRECTION_F, fp32, by_8, 2, TRIAL_PACKED);
    check_naive(DIRECTION_B, fp32, by_4, 1, TRIAL_PACKED);
    check_naive(DIRECTION_W, fp32, by_4, 1, TRIAL_PACKED);
}

static void naive_serves_every_type(void)
{
    static const struct {
        enum direction direction;
        enum data_type types[TENSOR_COUNT];
    } cases[] = {
        {DIRECTION_F, {TYPE_FP16, TYPE_FP16, TYPE_FP16}},
        {DIRECTION_B, {TYPE_FP16, TYPE_FP16, TYPE_FP16}},
        {DIRECTION_F, {TYPE_BF16, TYPE_BF16, TYPE_BF16}},
        {DIRECTION_W, {TYPE_BF16, TYPE_BF16, TYPE_BF16}},
        {DIRECTION_F, {TYPE_INT8, TYPE_INT8, TYPE_INT32}},
        {DIRECTION_F, {TYPE_FP64, TYPE_FP64, TYPE_FP64}},
        {DIRECTION_F, {TYPE_FP16, TYPE_FP16, TYPE_FP32}},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        check_naive(cases[i].direction, cases[i].types, plain_layouts, 2, TRIAL_PACKED);
}

/* ---- 16-bit floats: a 1x1 filter of the value 1 copies x to y, from one type to the other,
 * exactly ---- */

#define COPY_H 256
#define COPY_W 512

static const struct small_type {
    enum data_type type;
    int mantissa_bits, bias;
    int infinity; /* stored */
} small_types[] = {{TYPE_FP16, 10, 15, 0x7c00}, {TYPE_BF16, 7, 127, 0x7f80}};

/* The value of a positive 16-bit float; infinity counts as the value that the next step would
 * have. */
static double small_value(const struct small_type *small, int stored)
{
    int one = 1 << small->mantissa_bits, exponent = stored >> small->mantissa_bits;

    return ldexp(exponent ? one + stored % one : stored,
                 MAX(exponent, 1) - small->bias - small->mantissa_bits);
}

static void copy_types(enum data_type from, enum data_type to, void *x, void *y)
{
    const struct solver *naive = solver_find("ConvDirectNaive");
    const struct perf_config none = {0};
    const float one = 1;
    struct run_tensor tensors[OPERAND_COUNT] = {0};
    void *const data[TENSOR_COUNT] = {x, (void *)&one, y};
    struct solution solution;
    struct problem p;

    problem_init(&p);
    p.in[AXIS_H] = COPY_H;
    p.in[AXIS_W] = COPY_W;
    p.type[TENSOR_X] = from;
    p.type[TENSOR_Y] = to;
    problem_set_output(&p);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        tensors[t].start = 0;
        tensors[t].data = data[t];
        tensors[t].bytes = (gsize)problem_tensor_bytes(&p, (enum tensor_role)t);
        problem_packed_strides(&p, (enum tensor_role)t, tensors[t].strides);
    }
    g_assert_true(solver_solve(naive, &p, &context, &none, &solution, NULL));
    solution_run(runner, &solution, tensors, 1);
}

static void every_16_bit_float_is_loaded(gconstpointer data)
{
    const struct small_type *small = data;
    g_autofree guint16 *x = g_new0(guint16, COPY_H * COPY_W);
    g_autofree float *y = g_new0(float, COPY_H *COPY_W);
    int wrong = 0;

    for (int i = 0; i <= UINT16_MAX; i++)
        x[i] = (guint16)i;
    copy_types(small->type, TYPE_FP32, x, y);
    for (int i = 0; i <= UINT16_MAX; i++) {
        int magnitude = i & 0x7fff;
        double value = magnitude == small->infinity ? INFINITY : small_value(small, magnitude);
        bool same = magnitude > small->infinity ? (bool)isnan(y[i])
                                                : (double)y[i] == (i == magnitude ? value : -value);
        wrong += !same;
    }
    g_assert_cmpint(wrong, ==, 0);
}

/* A value halfway between two neighbours is rounded to the even one, other values to the nearer
 * one. For rounding, infinity is the neighbour of the largest finite value. */
static void every_16_bit_float_is_rounded_to(gconstpointer data)
{
    const struct small_type *small = data;
    g_autofree float *x = g_new0(float, COPY_H *COPY_W);
    g_autofree guint16 *y = g_new0(guint16, COPY_H * COPY_W);
    int wrong = 0;

    for (int i = 0; i < 3 * small->infinity; i++) {
        float middle = (float)((small_value(small, i / 3) + small_value(small, i / 3 + 1)) / 2);
        float value = i % 3 == 0 ? nextafterf(middle, 0)
                                 : (i % 3 == 1 ? middle : nextafterf(middle, INFINITY));
        x[i] = i % 2 ? -value : value;
    }
    x[3 * small->infinity] = NAN;
    x[3 * small->infinity + 1] = FLT_MAX;
    x[3 * small->infinity + 2] = INFINITY;
    copy_types(TYPE_FP32, small->type, x, y);
    for (int i = 0; i < 3 * small->infinity; i++) {
        int below = i / 3, nearest = below + (i % 3 == 0 ? 0 : i % 3 == 1 ? below % 2 : 1);
        wrong += y[i] != (nearest | (i % 2 ? 0x8000 : 0));
    }
    g_assert_cmpint(wrong, ==, 0);
    g_assert_cmpint(y[3 * small->infinity] & 0x7fff, >, small->infinity);
    g_assert_cmpint(y[3 * small->infinity + 1], ==, small->infinity);
    g_assert_cmpint(y[3 * small->infinity + 2], ==, small->infinity);
}

/* First the shapes where tiles, padding and vectors meet their limits, then random ones. */
static void edge_problem(int index, GRand *random, struct problem *p)
{
    static const struct {
        int n, c, k, groups, in_h, in_w, fil_h, fil_w, pad, stride, dilation;
    } edges[] = {
        {1, 3, 5, 1, 1, 1, 1, 1, 0, 1, 1},     /* one output */
        {2, 7, 9, 1, 3, 3, 3, 3, 0, 1, 1},     /* 1x1 output of a 3x3 filter */
        {1, 70, 66, 1, 8, 8, 1, 1, 0, 1, 1},   /* 1x1; the positions fill whole tiles */
        {1, 300, 33, 1, 7, 7, 1, 1, 0, 1, 1},  /* 1x1; positions and channels fill tiles partly */
        {1, 64, 16, 1, 14, 14, 1, 1, 0, 2, 1}, /* strided 1x1 */
        {2, 40, 24, 1, 16, 16, 3, 3, 1, 1, 1}, /* rows of one vector */
        {1, 12, 12, 12, 9, 20, 3, 3, 1, 1, 1}, /* depthwise */
        {1, 3, 8, 1, 33, 17, 7, 7, 3, 2, 1},   /* a first layer */
        {1, 4, 6, 2, 5, 40, 1, 9, 4, 1, 1},    /* a wide filter */
        {1, 2, 3, 1, 4, 4, 3, 3, 5, 1, 1},     /* more padding than input */
        {1, 1, 1, 1, 25, 30, 25, 30, 0, 3, 1}, /* a filter as large as the input */
        {1, 9, 5, 1, 2, 3, 5, 4, 0, 1, 1},     /* a filter that reaches past the input */
        /* the dilation passes through all phases of the stride */
        {1, 5, 9, 1, 20, 23, 3, 3, 1, 3, 2},
        {2, 6, 8, 2, 24, 21, 4, 5, 2, 4, 2}, /* the dilation meets only some phases of the stride */
    };
    if (index >= (int)G_N_ELEMENTS(edges)) {
        conv_random_problem(random, p);
        return;
    }
    problem_init(p);
    p->n = edges[index].n;
    p->c = edges[index].c;
    p->k = edges[index].k;
    p->groups = edges[index].groups;
    p->in[AXIS_H] = edges[index].in_h;
    p->in[AXIS_W] = edges[index].in_w;
    p->fil[AXIS_H] = edges[index].fil_h;
    p->fil[AXIS_W] = edges[index].fil_w;
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        p->pad[a] = edges[index].pad;
        p->stride[a] = edges[index].stride;
        p->dilation[a] = edges[index].dilation;
    }
    problem_set_output(p);
}

/* Config n of the problem's space, modulo the space's size. */
static void nth_config(const struct solver *solver, const struct problem *p, int64_t n,
                       struct perf_config *config)
{
    const struct space *space = solver_space(solver, p, &context);
    int64_t count = space_count(space, p, &context);
    struct space_walk walk;

    if (count == 0) {
        solver->default_config(p, &context, config);
        return;
    }
    space_walk_init(&walk, space, p, &context);
    for (int64_t i = 0; i <= n % count; i++)
        g_assert_true(space_walk_next(&walk, config));
}

/* A dynamic kernel is compiled once for a config: a few configs run all problems. */
static void cpu_gemm_is_right_for_many_problems(void)
{
    const struct solver *solver = solver_find("ConvCpuGemm");
    struct problem large;

    problem_init(&large);
    large.c = large.k = 1024;
    for (int i = 0; i < test_effort(7); i++) {
        g_autoptr(GRand) random = g_rand_new_with_seed(29);
        struct perf_config config;
        nth_config(solver, &large, 9 * i, &config);
        for (int j = 0; j < 42; j++) {
            struct problem p;
            edge_problem(j, random, &p);
            check(solver->name, &p, &config, random, TRIAL_PACKED);
        }
    }
}

/* A static kernel is compiled for each problem: many problems, each with another config. */
static void cpu_direct_is_right_for_many_problems(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(31);
    const struct solver *solver = solver_find("ConvCpuDirect");

    for (int i = 0; i < test_effort(28); i++) {
        struct problem p;
        struct perf_config config;
        edge_problem(i, random, &p);
        nth_config(solver, &p, 5 * i, &config);
        check(solver->name, &p, &config, random, TRIAL_PACKED);
    }
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    int status;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    if (!runner) {
        g_print("1..0 # SKIP no such OpenCL device on this machine\n");
        return 0;
    }
    solution_runner_hurry(runner, true);
    context_init(&context, solution_runner_target(runner));
    g_test_add_func("/conv_kernels/naive/serves_every_direction", naive_serves_every_direction);
    g_test_add_func("/conv_kernels/naive/serves_tensors_that_are_not_packed",
                    naive_serves_tensors_that_are_not_packed);
    for (gsize i = 0; i < G_N_ELEMENTS(small_types); i++) {
        const char *type = data_type_name(small_types[i].type);
        g_autofree char *load = g_strdup_printf("/conv_kernels/naive/loads_every_%s", type);
        g_autofree char *store = g_strdup_printf("/conv_kernels/naive/rounds_to_every_%s", type);
        g_test_add_data_func(load, &small_types[i], every_16_bit_float_is_loaded);
        g_test_add_data_func(store, &small_types[i], every_16_bit_float_is_rounded_to);
    }
    g_test_add_func("/conv_kernels/naive/serves_blocked_layouts", naive_serves_blocked_layouts);
    g_test_add_func("/conv_kernels/naive/serves_every_type", naive_serves_every_type);
    g_test_add_func("/conv_kernels/cpu_gemm/is_right_for_many_problems",
                    cpu_gemm_is_right_for_many_problems);
    g_test_add_func("/conv_kernels/cpu_direct/is_right_for_many_problems",
                    cpu_direct_is_right_for_many_problems);
    status = g_test_run();
    solution_runner_free(runner);
    return status;
}
