/* FP8 and BF8 in both forms: the host's code and the device header's, compiled as C, against a search through all codes.
 * Then the header compiles for GPUs, with their instructions. At last it runs on PoCL or (SKIPJACK_TEST_DEVICE=gpu) on the
 * first GPU, in small kernels: 1x1 convolutions with a filter of 1 convert x to the type of y. */
#include "worker/verify/float8.h"

#include <math.h>
#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/program.h"
#include "kernels/toolchains/toolchain.h"
#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/kernels/solution_run.h"
#include "tests/support/temp_folder.h"

/* The header's words for NVIDIA's compiler, as C. */
#define __device__
#define __forceinline__ inline
#include "kernels/device/common/float8.h"

static const enum data_type types[] = {TYPE_FP8, TYPE_BF8, TYPE_FP8_FNUZ, TYPE_BF8_FNUZ};

static int fraction_of(enum data_type type)
{
    return type == TYPE_FP8 || type == TYPE_FP8_FNUZ ? FLOAT8_FP8 : FLOAT8_BF8;
}

static bool is_fnuz(enum data_type type)
{
    return type == TYPE_FP8_FNUZ || type == TYPE_BF8_FNUZ;
}

static bool same(float a, float b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* ---- the numbers of the specifications ---- */

static void test_known_numbers(void)
{
    static const struct {
        enum data_type type;
        uint8_t code;
        float number;
    } rows[] = {
        {TYPE_FP8, 0x00, 0},
        {TYPE_FP8, 0x80, -0.0f},
        {TYPE_FP8, 0x01, 0x1p-9f},
        {TYPE_FP8, 0x07, 0x7p-9f},
        {TYPE_FP8, 0x08, 0x1p-6f},
        {TYPE_FP8, 0x38, 1},
        {TYPE_FP8, 0x7e, 448},
        {TYPE_FP8, 0xfe, -448},
        {TYPE_FP8, 0x7f, NAN},
        {TYPE_FP8, 0xff, NAN},
        {TYPE_BF8, 0x01, 0x1p-16f},
        {TYPE_BF8, 0x04, 0x1p-14f},
        {TYPE_BF8, 0x3c, 1},
        {TYPE_BF8, 0x7b, 57344},
        {TYPE_BF8, 0x7c, INFINITY},
        {TYPE_BF8, 0xfc, -INFINITY},
        {TYPE_BF8, 0x7d, NAN},
        {TYPE_BF8, 0xff, NAN},
        {TYPE_FP8_FNUZ, 0x80, NAN},
        {TYPE_FP8_FNUZ, 0x01, 0x1p-10f},
        {TYPE_FP8_FNUZ, 0x40, 1},
        {TYPE_FP8_FNUZ, 0x7f, 240},
        {TYPE_FP8_FNUZ, 0xff, -240},
        {TYPE_BF8_FNUZ, 0x80, NAN},
        {TYPE_BF8_FNUZ, 0x01, 0x1p-17f},
        {TYPE_BF8_FNUZ, 0x40, 1},
        {TYPE_BF8_FNUZ, 0x7f, 57344},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_test_message("row %d", (int)i);
        g_assert_true(same(float8_to_float(rows[i].type, rows[i].code), rows[i].number));
    }
    g_assert_cmpfloat(float8_largest(TYPE_FP8_FNUZ), ==, 240);
    g_assert_cmpfloat(float8_least(TYPE_BF8), ==, 0x1p-16);
    g_assert_cmpfloat(float8_unit(TYPE_FP8), ==, 0x1p-4);
    g_assert_cmpfloat(float8_unit(TYPE_BF8_FNUZ), ==, 0x1p-3);
    g_assert_false(float8_is_type(TYPE_FP16));
}

static void test_target_has_form(void)
{
    static const struct {
        const char *id;
        bool fnuz;
    } rows[] = {{"gfx942130", true},
                {"gfx942_38_cpx_nps4", true},
                {"gfx94068", true},
                {"gfx90a68", false},
                {"gfx1201_64", false},
                {"sm_90_132_80g", false},
                {"cpu-skylake-avx512_2", false}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct target target;
        struct problem p;
        target_parse(rows[i].id, &target, &error);
        g_assert_no_error(error);
        problem_init(&p);
        p.type[TENSOR_X] = TYPE_FP8;
        p.cast[TENSOR_W] = TYPE_BF8;
        p.cast[TENSOR_Y] = TYPE_BF8;
        g_strlcpy(p.epilogue, "+add(BF8,NCHW)", sizeof p.epilogue);
        target_set_forms(&target, &p);
        g_test_message("%s", rows[i].id);
        g_assert_cmpint(problem_operand_type(&p, TENSOR_X), ==,
                        rows[i].fnuz ? TYPE_FP8_FNUZ : TYPE_FP8);
        g_assert_cmpint(problem_operand_type(&p, TENSOR_W), ==, TYPE_FP32);
        g_assert_cmpint(problem_cast_type(&p, TENSOR_W), ==,
                        rows[i].fnuz ? TYPE_BF8_FNUZ : TYPE_BF8);
        g_assert_cmpint(problem_cast_type(&p, TENSOR_Y), ==, TYPE_NONE);
        g_assert_cmpint(problem_operand_type(&p, TENSOR_RESIDUAL), ==,
                        rows[i].fnuz ? TYPE_BF8_FNUZ : TYPE_BF8);
    }
}

/* ---- all codes, and all places where rounding changes ---- */

static void test_all_codes(void)
{
    for (gsize t = 0; t < G_N_ELEMENTS(types); t++) {
        for (unsigned code = 0; code < 256; code++) {
            enum data_type type = types[t];
            float number = (float)float8_number(type, (guint8)code);
            float device = float8_value(code, fraction_of(type), is_fnuz(type));
            g_test_message("%s %02x", data_type_name(type), code);
            g_assert_true(same(float8_to_float(type, (uint8_t)code), number));
            g_assert_true(same(device, number));
            if (!isfinite(number))
                continue;
            g_assert_cmphex(float8_from_float(type, number), ==, code);
            g_assert_cmphex(float8_code(number, fraction_of(type), is_fnuz(type)), ==, code);
        }
    }
}

/* Floats around which rounding changes: each number, the middle between it and the next one, and their neighbours among
 * floats; then floats out of range, of either sign. */
static int edge_cases(enum data_type type, float edges[4096])
{
    static const float others[] = {0x1p-149f, 0x1p-126f, 0x1p-30f, 0x1p-18f, 460,   464,
                                   465,       512,       61440,    65536,    1e30f, 0x1.fffffep127f,
                                   INFINITY};
    int count = 0;

    for (int code = 0; code < 0x7f; code++) {
        float number = (float)float8_number(type, (guint8)code);
        float next = (float)float8_number(type, (guint8)(code + 1));
        float middle = (number + next) / 2;
        const float near[] = {number, nextafterf(number, 1e9f), nextafterf(number, 0),
                              middle, nextafterf(middle, 1e9f), nextafterf(middle, 0)};
        for (gsize i = 0; i < G_N_ELEMENTS(near) && isfinite(number) && isfinite(next); i++)
            edges[count++] = near[i];
    }
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        edges[count++] = others[i];
    for (int i = 0; i < count; i++)
        edges[count + i] = -edges[i];
    return 2 * count;
}

/* The right code: +-0 keeps its sign where the form has one. */
static uint8_t right_code(enum data_type type, float value)
{
    uint8_t code = float8_nearest(type, (double)value);

    if ((code & 0x7f) == 0)
        return signbit(value) && !is_fnuz(type) ? 0x80 : 0;
    return code;
}

static void test_rounding(void)
{
    float edges[4096];

    for (gsize t = 0; t < G_N_ELEMENTS(types); t++) {
        int count = edge_cases(types[t], edges);
        for (int i = 0; i < count; i++) {
            unsigned code = right_code(types[t], edges[i]);
            g_test_message("%s %a", data_type_name(types[t]), (double)edges[i]);
            g_assert_cmphex(float8_from_float(types[t], edges[i]), ==, code);
            g_assert_cmphex(float8_code(edges[i], fraction_of(types[t]), is_fnuz(types[t])), ==,
                            code);
        }
        g_assert_true(isnan(float8_to_float(types[t], float8_from_float(types[t], -NAN))));
        g_assert_cmphex(float8_code(-NAN, fraction_of(types[t]), is_fnuz(types[t])), ==,
                        is_fnuz(types[t]) ? 0x80 : 0x7f);
    }
}

/* Every float of some million, evenly over all their codes. */
static void test_host_is_device(void)
{
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 7919) {
        uint32_t word = (uint32_t)bits;
        float value;
        memcpy(&value, &word, sizeof(value));
        for (gsize t = 0; t < G_N_ELEMENTS(types); t++)
            g_assert_cmphex(float8_from_float(types[t], value), ==,
                            float8_code(value, fraction_of(types[t]), is_fnuz(types[t])));
    }
}

/* ---- on a device ---- */

static struct solution_runner *runner;
static struct context context;

/* Converts `count` elements from the type of x to the type of y. */
static void convert(enum data_type from, enum data_type to, bool fnuz, int count, void *x, void *y)
{
    const struct solver *naive = solver_find("ConvDirectNaive");
    const struct perf_config none = {0};
    struct run_tensor tensors[OPERAND_COUNT] = {0};
    float one = 1;
    void *const data[TENSOR_COUNT] = {x, &one, y};
    struct solution solution;
    struct problem p;
    g_autoptr(GError) error = NULL;

    problem_init(&p);
    p.in[AXIS_W] = count;
    p.type[TENSOR_X] = from;
    p.type[TENSOR_Y] = to;
    problem_set_output(&p);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        tensors[t].data = data[t];
        tensors[t].bytes = (gsize)problem_tensor_bytes(&p, (enum tensor_role)t);
        problem_packed_strides(&p, (enum tensor_role)t, tensors[t].strides);
    }
    solver_solve(naive, &p, &context, &none, &solution, &error);
    g_assert_no_error(error);
    if (fnuz) {
        launch_option_int(&solution.launches[0], "FLOAT8_FNUZ", 1);
        launch_sort_options(&solution.launches[0]);
    }
    solution_run(runner, &solution, tensors, 1);
}

/* A GPU whose instructions have one form runs that form alone. */
static void test_runner(void)
{
    float edges[4096], numbers[256];
    uint8_t codes[4096], all[256];

    for (gsize t = 0; t < G_N_ELEMENTS(types); t++) {
        enum data_type type = types[t], named = fraction_of(type) == 3 ? TYPE_FP8 : TYPE_BF8;
        int count = edge_cases(type, edges);
        if (!context_is_cpu(&context) && is_fnuz(type))
            continue;
        for (int i = 0; i < 256; i++)
            all[i] = (uint8_t)i;
        convert(named, TYPE_FP32, is_fnuz(type), 256, all, numbers);
        for (int i = 0; i < 256; i++) {
            g_test_message("%s %02x", data_type_name(type), (unsigned)i);
            g_assert_true(same(numbers[i] + 0.0f, float8_to_float(type, (uint8_t)i) + 0.0f));
        }
        edges[count++] = NAN;
        convert(TYPE_FP32, named, is_fnuz(type), count, edges, codes);
        for (int i = 0; i < count; i++) {
            g_test_message("%s %a", data_type_name(type), (double)edges[i]);
            /* The kernel adds the element to 0, which makes a 0 of -0. */
            g_assert_cmphex(codes[i], ==, float8_from_float(type, edges[i] + 0.0f));
        }
    }
}

/* ---- for GPUs ---- */

struct gpu {
    const char *target, *toolchain;
};

/* The instructions of the targets that have some; elsewhere the integer code. */
static void compiles_for(gconstpointer data)
{
    static const struct {
        enum direction direction;
        enum data_type type[TENSOR_COUNT], cast[TENSOR_COUNT];
    } rows[] = {
        {DIRECTION_F, {TYPE_FP8, TYPE_BF8, TYPE_FP8}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
        {DIRECTION_B, {TYPE_BF8, TYPE_FP16, TYPE_FP16}, {TYPE_NONE, TYPE_BF8, TYPE_FP8}},
    };
    const struct gpu *gpu = data;
    const struct toolchain *toolchain = toolchain_find(gpu->toolchain);
    const struct perf_config none = {0};
    struct context named;
    struct target target;
    g_autoptr(GError) error = NULL;

    g_assert_true(target_parse(gpu->target, &target, NULL));
    if (!toolchain->can_compile(&target, &error)) {
        g_test_skip(error->message);
        return;
    }
    context_init(&named, &target);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct code_object object = {0};
        struct solution solution;
        struct problem p;
        problem_init(&p);
        p.direction = rows[i].direction;
        memcpy(p.type, rows[i].type, sizeof(p.type));
        memcpy(p.cast, rows[i].cast, sizeof(p.cast));
        g_strlcpy(p.epilogue, "+add(BF8,NCHW)", sizeof p.epilogue);
        g_assert_true(
            solver_solve(solver_find("ConvDirectNaive"), &p, &named, &none, &solution, &error));
        const struct launch *launch = &solution.launches[0];
        const struct program launched = {launch->file, launch->options, launch->entry, NULL};
        program_build(toolchain, &launched, &target, &object, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(object.log, ==, "");
        code_object_clear(&object);
    }
}

int main(int argc, char **argv)
{
    static const struct gpu gpus[] = {
        {"gfx90a68", "clang"},      {"gfx942130", "clang"},     {"gfx1201_64", "clang"},
        {"sm_80_108_80g", "nvrtc"}, {"sm_90_132_80g", "nvrtc"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    int status;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/float8/known_numbers_have_their_codes", test_known_numbers);
    g_test_add_func("/float8/target_says_the_form", test_target_has_form);
    g_test_add_func("/float8/all_codes_are_read_right", test_all_codes);
    g_test_add_func("/float8/rounds_to_nearest_even_and_saturates", test_rounding);
    g_test_add_func("/float8/host_and_device_round_alike", test_host_is_device);
    for (gsize i = 0; i < G_N_ELEMENTS(gpus); i++) {
        g_autofree char *path = g_strdup_printf("/float8/compiles_for_%s", gpus[i].target);
        g_test_add_data_func(path, &gpus[i], compiles_for);
    }
    runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    if (runner) {
        context_init(&context, solution_runner_target(runner));
        solution_runner_hurry(runner, true);
        g_test_add_func("/float8/device_converts_as_the_host", test_runner);
    }
    status = g_test_run();
    if (runner)
        solution_runner_free(runner);
    return status;
}
