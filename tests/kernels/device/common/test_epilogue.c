/* Each step of the device header epilogue.h, compiled as C, over the range of its input, against
 * epilogue_apply(). Then small kernels with it: depthwise 1x1 convolutions with filters of 1 store
 * the epilogue of x. At last all steps compile for GPUs without a warning. */
#include <math.h>
#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/program.h"
#include "kernels/toolchains/toolchain.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/epilogue.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/kernels/solution_run.h"
#include "tests/support/temp_folder.h"

/* The header's words for NVIDIA's compiler, as C. */
#define __device__
#define __forceinline__ inline
#define EPILOGUE        1
#define EP0             0
#include "kernels/device/common/epilogue.h"

#define CHANNELS  4
#define POSITIONS 512
#define COUNT     (CHANNELS * POSITIONS)

static struct solution_runner *runner;
static struct context context;

/* ---- a run ---- */

struct operands {
    float residual[COUNT], bias[CHANNELS], scales[CHANNELS + 1];
};

static void set_problem(struct problem *p, const char *epilogue)
{
    g_autoptr(GError) error = NULL;

    problem_init(p);
    p->c = p->k = p->groups = CHANNELS;
    p->in[AXIS_W] = POSITIONS;
    problem_set_output(p);
    g_strlcpy(p->epilogue, epilogue, sizeof(p->epilogue));
    problem_validate(p, &error);
    g_assert_no_error(error);
}

static void run(const struct problem *p, struct operands *operands, void *x, void *w, void *y)
{
    const struct solver *naive = solver_find("ConvDirectNaive");
    const struct perf_config none = {0};
    void *const data[TENSOR_PACKED] = {
        x, w, y, operands->residual, operands->bias, operands->scales};
    struct run_tensor tensors[OPERAND_COUNT] = {0};
    struct solution solution;
    g_autoptr(GError) error = NULL;

    for (int t = 0; t < TENSOR_PACKED; t++) {
        if (!problem_has_operand(p, (enum tensor_role)t))
            continue;
        tensors[t].data = data[t];
        tensors[t].bytes = (gsize)problem_tensor_bytes(p, (enum tensor_role)t);
        problem_packed_strides(p, (enum tensor_role)t, tensors[t].strides);
    }
    solver_solve(naive, p, &context, &none, &solution, &error);
    g_assert_no_error(error);
    solution_run(runner, &solution, tensors, 1);
}

/* ---- steps ---- */

static const struct step {
    const char *text;
    double low, high; /* the inputs */
    double ulps;      /* allowed, of FP32 */
    double absolute;  /* allowed besides */
} steps[] = {
    {"+bias", -100, 100, 1, 0},
    {"+scale(channel)", -100, 100, 1, 0},
    {"+scale(tensor)", -100, 100, 1, 0},
    {"+add(FP32,NCHW)", -100, 100, 1, 0},
    {"+sub(FP32,NCHW)", -100, 100, 1, 0},
    {"+mul(FP32,NCHW)", -100, 100, 1, 0},
    {"+div(FP32,NCHW)", -100, 100, 3, 0},
    {"+max(FP32,NCHW)", -2, 2, 0, 0},
    {"+min(FP32,NCHW)", -2, 2, 0, 0},
    {"+relu", -3, 3, 0, 0},
    {"+clip(-1.5,6)", -10, 10, 0, 0},
    {"+leaky(0.01)", -10, 10, 2, 0},
    {"+prelu", -10, 10, 1, 0},
    {"+elu(1)", -20, 2, 4, 0},
    {"+elu(0.5)", -0.01, 0.01, 4, 0},
    {"+affine(0.5,-3)", 10, 100, 2, 0},
    {"+hardsigmoid(0.25,0.5)", -4, 4, 2, 1e-7},
    {"+sigmoid", -87, 100, 4, 0},
    {"+tanh", -12, 12, 4, 0},
    {"+tanh", -0.01, 0.01, 4, 0},
    {"+exp", -87, 88.5, 2, 0},
    {"+exp", -0.1, 0.1, 2, 0},
    {"+sqrt", 0, 1e-3, 2, 0},
    {"+sqrt", 1, 1e30, 2, 0},
    {"+abs", -10, 10, 0, 0},
    {"+erf", -6, 6, 4, 0},
    {"+erf", -0.01, 0.01, 4, 0},
    {"+silu", -87, 100, 6, 0},
    {"+hardswish", -5, 5, 4, 1e-7},
    {"+softplus", -80, 100, 4, 0},
    {"+softplus", -87, -60, 4, 0},
    {"+mish", -80, 20, 6, 0},
    {"+gelu", -12.9, 12.9, 6, 0},
    {"+gelu", -0.01, 0.01, 6, 0},
    {"+gelu+abs+sqrt", -12.9, 12.9, 6, 0},
    {"+bias+scale(channel)+mul(FP32,NCHW)+relu+affine(2,1)+abs+sqrt+clip(0,5)", -3, 3, 8, 1e-6},
};

static double ulp(double value)
{
    int exponent;

    frexp(MAX(fabs(value), 0x1p-126), &exponent);
    return ldexp(1, exponent - 24);
}

#define INPUTS 100000

static float apply_on_device(const struct epilogue *epilogue, float v, float bias, float residual,
                             float scale)
{
    for (int i = 0; i < epilogue->count; i++) {
        const struct epilogue_step *step = &epilogue->steps[i];
        EPILOGUE_STEP((int)step->op, (float)step->a, (float)step->b)
    }
    return v;
}

static void check_step(const struct step *step)
{
    struct epilogue epilogue;
    double worst = 0, at = 0;

    g_assert_true(epilogue_parse(step->text, &epilogue, NULL));
    for (int i = 0; i <= INPUTS; i++) {
        float v = (float)(step->low + (step->high - step->low) * i / INPUTS);
        float bias = (float)(i % 17) / 8 - 1, scale = (float)(i % 13) / 8 - 0.75f;
        float residual = 0.25f + (float)(i % 7) / 9;
        double right = epilogue_apply(&epilogue, v, bias, residual, scale);
        double result = apply_on_device(&epilogue, v, bias, residual, scale);
        double error = MAX(fabs(result - right) - step->absolute, 0) / ulp(right);
        if (!(error <= worst)) {
            worst = error;
            at = v;
        }
    }
    g_test_message("%s: %.2f ulp, at %.9g", step->text, worst, at);
    g_assert_cmpfloat(worst, <=, step->ulps + 0.5);
}

static void every_step_is_right(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
        check_step(&steps[i]);
}

/* ---- special inputs ---- */

static void check_special(const char *text, const float *inputs, const float *right, int count)
{
    struct epilogue epilogue;

    g_assert_true(epilogue_parse(text, &epilogue, NULL));
    for (int i = 0; i < count; i++) {
        float result = apply_on_device(&epilogue, inputs[i], 0, 0, 0);
        if (isnan(right[i]))
            g_assert_true(isnan(result));
        else
            g_assert_cmpfloat(result, ==, right[i]);
    }
}

static void infinities_and_nan_are_kept(void)
{
    static const float inputs[] = {INFINITY, -INFINITY, NAN, 1000, -1000};

    check_special("+exp", inputs, (const float[]){INFINITY, 0, NAN, INFINITY, 0}, 5);
    check_special("+sigmoid", inputs, (const float[]){1, 0, NAN, 1, 0}, 5);
    check_special("+tanh", inputs, (const float[]){1, -1, NAN, 1, -1}, 5);
    check_special("+erf", inputs, (const float[]){1, -1, NAN, 1, -1}, 5);
    check_special("+softplus", inputs, (const float[]){INFINITY, 0, NAN, 1000, 0}, 5);
    check_special("+gelu", (const float[]){INFINITY, NAN, 1000, -1000, 0},
                  (const float[]){INFINITY, NAN, 1000, 0, 0}, 5);
    check_special("+relu", inputs, (const float[]){INFINITY, 0, NAN, 1000, 0}, 5);
    check_special("+sqrt", (const float[]){INFINITY, -1, NAN, 0, 4},
                  (const float[]){INFINITY, NAN, NAN, 0, 2}, 5);
}

/* Stores round to nearest, ties to even. */
static void integers_are_rounded(void)
{
    for (int i = -5000; i <= 5000; i++) {
        float v = (float)i / 16;
        g_assert_cmpint((int)epilogue_round_INT8(v), ==, CLAMP(lrintf(v), INT8_MIN, INT8_MAX));
        g_assert_cmpint(epilogue_round_INT32(v), ==, lrintf(v));
        g_assert_cmpint(epilogue_round_INT32(v * 1e5f), ==, lrintf(v * 1e5f));
    }
    g_assert_cmpint(epilogue_round_INT32(3e9f), ==, INT32_MAX);
    g_assert_cmpint(epilogue_round_INT32(-3e9f), ==, INT32_MIN);
    g_assert_cmpint(epilogue_round_INT32(NAN), ==, 0);
    g_assert_cmpint((int)epilogue_round_INT8(NAN), ==, 0);
    g_assert_cmpint((int)epilogue_round_INT8(INFINITY), ==, INT8_MAX);
}

/* ---- INT8 ---- */

/* sums of 1 product, a bias that wraps, scales and a residual with a scale of its own */
static void integers_round_to_even_and_saturate(void)
{
    static const struct {
        gint8 x;
        gint32 bias;
        float scale;
        gint8 right;
    } cases[] = {
        {1, 0, 0.5f, 0},     {3, 0, 0.5f, 2},    {5, 0, 0.5f, 2},    {-1, 0, 0.5f, 0},
        {-3, 0, 0.5f, -2},   {7, 100, 10, 127},  {-7, -99, 9, -128}, {1, INT32_MAX, 1, -128},
        {127, 0, 1, 127},    {-128, 0, 1, -128}, {2, 3, 1.25f, 6},   {2, 4, 1.25f, 8},
        {0, 0, INFINITY, 0}, /* 0 times infinity is no number, which is stored as 0 */
    };
    g_autofree struct operands *operands = g_new0(struct operands, 1);

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        gint8 x[COUNT] = {cases[i].x}, w[CHANNELS] = {1}, y[COUNT];
        gint32 bias = cases[i].bias;
        struct problem p;
        set_problem(&p, "");
        p.type[TENSOR_X] = p.type[TENSOR_W] = p.type[TENSOR_Y] = TYPE_INT8;
        g_strlcpy(p.epilogue, "+bias+requant(INT8,channel)", sizeof(p.epilogue));
        g_assert_true(problem_validate(&p, NULL));
        memcpy(operands->bias, &bias, sizeof bias);
        operands->scales[0] = cases[i].scale;
        run(&p, operands, x, w, y);
        g_assert_true(y[0] == cases[i].right);
    }
}

static void an_int8_residual_has_the_last_scale(gconstpointer scope)
{
    g_autofree struct operands *operands = g_new0(struct operands, 1);
    gint8 x[COUNT], w[CHANNELS] = {1, 1, 1, 1};
    bool per_channel = strcmp(scope, "channel") == 0;
    g_autofree float *y = g_new0(float, COUNT);
    struct problem p;

    set_problem(&p, "");
    p.type[TENSOR_X] = p.type[TENSOR_W] = TYPE_INT8;
    g_snprintf(p.epilogue, sizeof(p.epilogue), "+scale(%s)+add(INT8,NCHW)", (const char *)scope);
    g_assert_true(problem_validate(&p, NULL));
    for (int i = 0; i < COUNT; i++) {
        x[i] = (gint8)(i % 100);
        ((gint8 *)operands->residual)[i] = (gint8)(i % 50 - 25);
    }
    for (int k = 0; k <= CHANNELS; k++)
        operands->scales[k] = (float)(1 << k);
    run(&p, operands, x, w, y);
    for (int i = 0; i < COUNT; i++) {
        double scale = per_channel ? 1 << i / POSITIONS : 1, last = per_channel ? 1 << CHANNELS : 2;
        g_assert_cmpfloat(y[i], ==, i % 100 * scale + (i % 50 - 25) * last);
    }
}

/* ---- GPUs ---- */

/* All steps, in as few kernels as their number and length allow. */
static const char *const all_steps[] = {
    "+bias+scale(channel)+add(FP16,NCHW)+relu+clip(-1.5,6)+leaky(0.01)+elu(1)+affine(2,1)",
    "+bias+scale(tensor)+sub(INT8,NCHW)+hardsigmoid(0.25,0.5)+sigmoid+tanh+exp+sqrt",
    "+prelu+mul(BF16,NCHW)+abs+erf+silu+hardswish+softplus+mish",
    "+scale(channel)+div(INT32,NCHW)+gelu",
};

static void compile_for(const char *target_id, const char *toolchain_name)
{
    const struct toolchain *toolchain = toolchain_find(toolchain_name);
    const struct solver *naive = solver_find("ConvDirectNaive");
    const struct perf_config none = {0};
    struct context named;
    struct target target;
    g_autoptr(GError) error = NULL;

    g_assert_true(target_parse(target_id, &target, NULL));
    if (!toolchain->can_compile(&target, &error)) {
        g_test_skip(error->message);
        return;
    }
    context_init(&named, &target);
    for (gsize i = 0; i < G_N_ELEMENTS(all_steps); i++) {
        struct code_object object = {0};
        struct solution solution;
        struct problem p;
        set_problem(&p, all_steps[i]);
        g_assert_true(solver_solve(naive, &p, &named, &none, &solution, NULL));
        const struct launch *launch = &solution.launches[0];
        const struct program launched = {launch->file, launch->options, launch->entry, NULL};
        program_build(toolchain, &launched, &target, &object, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(object.log, ==, "");
        g_assert_cmpint(object.spills, ==, 0);
        code_object_clear(&object);
    }
}

static void every_step_compiles_for_amd(void)
{
    compile_for("gfx90a68", "clang");
}

static void every_step_compiles_for_nvidia(void)
{
    compile_for("sm_90_132_80g", "nvrtc");
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    int status;

    g_test_init(&argc, &argv, NULL);
    runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    if (!runner) {
        g_print("1..0 # SKIP there is no such device on this machine\n");
        return 0;
    }
    context_init(&context, solution_runner_target(runner));
    solution_runner_hurry(runner, true);
    g_test_add_func("/epilogue/every_step_is_right", every_step_is_right);
    g_test_add_func("/epilogue/infinities_and_nan_are_kept", infinities_and_nan_are_kept);
    g_test_add_func("/epilogue/integers_are_rounded", integers_are_rounded);
    g_test_add_func("/epilogue/integers_round_to_even_and_saturate",
                    integers_round_to_even_and_saturate);
    g_test_add_data_func("/epilogue/an_int8_residual_has_the_last_scale_of_all", "channel",
                         an_int8_residual_has_the_last_scale);
    g_test_add_data_func("/epilogue/an_int8_residual_has_the_second_of_two_scales", "tensor",
                         an_int8_residual_has_the_last_scale);
    g_test_add_func("/epilogue/every_step_compiles_for_amd", every_step_compiles_for_amd);
    g_test_add_func("/epilogue/every_step_compiles_for_nvidia", every_step_compiles_for_nvidia);
    status = g_test_run();
    solution_runner_free(runner);
    return status;
}
