#include "worker/verify/epilogue_bound.h"

#include <math.h>
#include <string.h>

/* Steps with arguments that networks have, each alone and some in a row. */
static const char *const epilogues[] = {
    "+bias",
    "+scale(channel)",
    "+add(FP32,NCHW)",
    "+sub(FP32,NCHW)",
    "+mul(FP32,NCHW)",
    "+div(FP32,NCHW)",
    "+max(FP32,NCHW)",
    "+min(FP32,NCHW)",
    "+relu",
    "+clip(0,6)",
    "+leaky(0.1)",
    "+leaky(-3)",
    "+prelu",
    "+elu(1.5)",
    "+affine(-2,0.3)",
    "+hardsigmoid(0.2,0.5)",
    "+sigmoid",
    "+tanh",
    "+exp",
    "+abs",
    "+erf",
    "+silu",
    "+hardswish",
    "+softplus",
    "+mish",
    "+gelu",
    "+bias+add(FP32,NCHW)+relu",
    "+scale(channel)+bias+silu+mul(FP32,NCHW)+hardswish",
    "+bias+tanh+exp+affine(3,1)+softplus+gelu",
};

static void make_problem(struct problem *p, const char *epilogue)
{
    g_autoptr(GError) error = NULL;
    problem_init(p);
    p->c = p->k = 3;
    g_strlcpy(p->epilogue, epilogue, sizeof p->epilogue);
    problem_validate(p, &error);
    g_assert_no_error(error);
}

/* The steps as a kernel does them, each result rounded to FP32. */
static double do_in_float(const struct epilogue *epilogue, double v,
                          const struct epilogue_inputs *inputs)
{
    v = (double)(float)v;
    for (int i = 0; i < epilogue->count; i++) {
        const struct epilogue one = {.count = 1, .steps = {epilogue->steps[i]}};
        v = (double)(float)epilogue_apply(&one, v, inputs->bias, inputs->residual, inputs->scale);
    }
    return v;
}

/* A sum that is off by E gives a result that is off by gain * E + slack at most; and the bound is no more than some
 * times the largest error that occurs, but where a function is flat. */
static void test_bound_holds(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    for (gsize i = 0; i < G_N_ELEMENTS(epilogues); i++) {
        struct epilogue_bound bound;
        struct problem p;
        double worst = 0;
        make_problem(&p, epilogues[i]);
        epilogue_bound_init(&bound, &p);
        for (int k = 0; k < 20000; k++) {
            double sum = (double)(float)g_rand_double_range(random, -9, 9);
            double magnitude = fabs(sum) + 2, off = 16 * 0x1p-24 * magnitude;
            /* do_in_float() rounds it once more */
            double moved = sum + 0.9 * g_rand_double_range(random, -off, off);
            const struct epilogue_inputs inputs = {
                .bias = (double)(float)g_rand_double_range(random, -3, 3),
                .scale = (double)(float)g_rand_double_range(random, 0.25, 2),
                .residual = (double)(float)g_rand_double_range(random, 0.25, 1),
                .residual_scale = 1,
            };
            struct bounded at;
            epilogue_bound_at(&bound, sum, magnitude, &inputs, &at);
            g_assert_cmpfloat(
                at.value, ==,
                epilogue_apply(&bound.epilogue, sum, inputs.bias, inputs.residual, inputs.scale));
            double error = fabs(do_in_float(&bound.epilogue, moved, &inputs) - at.value);
            worst = fmax(worst, error / (at.gain * off + at.slack + 0x1p-24 * fabs(at.value)));
        }
        g_test_message("%s: at most %.2f of the bound", epilogues[i], worst);
        g_assert_cmpfloat(worst, <=, 1);
        g_assert_cmpfloat(worst, >, 0.02);
    }
}

static const struct epilogue_inputs nothing = {.residual_scale = 1};

/* ---- kernels that cancel ---- */

static float erf_by_difference(float v)
{
    return 1 - erfcf(v);
}

static float tanh_by_difference(float v)
{
    return 1 - 2 / (1 + expf(2 * v));
}

static float sigmoid_by_difference(float v)
{
    return 1 - 1 / (1 + expf(v));
}

static float silu_by_difference(float v)
{
    return v * sigmoid_by_difference(v);
}

static float softplus_by_log(float v)
{
    return logf(1 + expf(v));
}

static float mish_by_log(float v)
{
    return v * tanhf(softplus_by_log(v));
}

static float gelu_by_sum(float v)
{
    return v / 2 * (1 + erff(v * 0.70710678f));
}

static float elu_by_difference(float v)
{
    return expf(v) - 1;
}

/* A kernel whose function cancels has few right digits where the result is small: it is wrong there. */
static void test_cancelling(void)
{
    static const struct {
        const char *epilogue;
        float (*cancels)(float v);
        float v;
    } rows[] = {
        {"+erf", erf_by_difference, 1e-3f},
        {"+tanh", tanh_by_difference, 1e-3f},
        {"+sigmoid", sigmoid_by_difference, -12},
        {"+silu", silu_by_difference, -12},
        {"+softplus", softplus_by_log, -12},
        {"+mish", mish_by_log, -12},
        {"+gelu", gelu_by_sum, -4.9f},
        {"+elu(1)", elu_by_difference, -1.7e-4f},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct epilogue_bound bound;
        struct problem p;
        struct bounded at;
        make_problem(&p, rows[i].epilogue);
        epilogue_bound_init(&bound, &p);
        double v = (double)rows[i].v, magnitude = fabs(v), off = 3 * 0x1p-24 * magnitude;
        epilogue_bound_at(&bound, v, magnitude, &nothing, &at);
        double error = fabs((double)rows[i].cancels(rows[i].v) - at.value);
        double most = at.gain * off + at.slack + 0x1p-24 * fabs(at.value);
        g_test_message("%s: %.3g of %.3g, allowed %.3g", rows[i].epilogue, error, at.value, most);
        g_assert_cmpfloat(error, >, most);
    }
}

/* A root of a sum that may have either sign takes any result; else the right result is a NaN or a number. */
static void test_sqrt(void)
{
    struct epilogue_bound bound;
    struct problem p;
    struct bounded at;
    make_problem(&p, "+sqrt");
    epilogue_bound_init(&bound, &p);
    epilogue_bound_at(&bound, 4, 5, &nothing, &at);
    g_assert_cmpfloat(at.value, ==, 2);
    g_assert_cmpfloat(at.gain, >=, 0.25);
    g_assert_true(isfinite(at.slack));
    epilogue_bound_at(&bound, -4, 5, &nothing, &at);
    g_assert_true(isnan(at.value));
    epilogue_bound_at(&bound, -1e-7, 5, &nothing, &at);
    g_assert_true(isinf(at.slack));
    p.type[TENSOR_Y] = TYPE_INT8; /* where kernels store 0 for a NaN */
    epilogue_bound_init(&bound, &p);
    epilogue_bound_at(&bound, -4, 5, &nothing, &at);
    g_assert_cmpfloat(at.value, ==, 0);
}

/* INT8 sums are exact, their bias wraps at 32 bits, and the residual comes in its own unit. */
static void test_integers(void)
{
    struct epilogue_bound bound;
    struct problem p;
    struct bounded at;
    make_problem(&p, "");
    p.type[TENSOR_X] = p.type[TENSOR_W] = p.type[TENSOR_Y] = TYPE_INT8;
    strcpy(p.epilogue, "+bias+requant(INT8,channel)+add(INT8,NCHW)");
    epilogue_bound_init(&bound, &p);
    const struct epilogue_inputs inputs = {
        .bias = 100, .scale = 0.125, .residual = -6, .residual_scale = 0.5};
    epilogue_bound_at(&bound, 60, 600, &inputs, &at);
    g_assert_cmpfloat(at.value, ==, 17);
    g_assert_cmpfloat(at.slack, <, 1e-4);
    epilogue_bound_at(&bound, 60000, 60000, &inputs, &at);
    g_assert_cmpfloat(at.value, ==, 127);
    const struct epilogue_inputs large = {.bias = INT32_MAX, .scale = 1, .residual_scale = 1};
    epilogue_bound_at(&bound, 1, 1, &large, &at);
    g_assert_cmpfloat(at.value, ==, -128);
}

static void test_overflow(void)
{
    struct epilogue_bound bound;
    struct problem p;
    struct bounded at;
    make_problem(&p, "+exp");
    epilogue_bound_init(&bound, &p);
    epilogue_bound_at(&bound, 800, 800, &nothing, &at);
    g_assert_true(isinf(at.value) || at.value > 1e300);
    g_assert_true(isfinite(at.gain) && isfinite(at.slack));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/epilogue_bound/rounding_errors_stay_below_it", test_bound_holds);
    g_test_add_func("/epilogue_bound/functions_that_cancel_are_wrong", test_cancelling);
    g_test_add_func("/epilogue_bound/root_of_a_sum_of_open_sign_may_be_anything", test_sqrt);
    g_test_add_func("/epilogue_bound/integers_keep_to_their_range", test_integers);
    g_test_add_func("/epilogue_bound/stays_finite_where_results_overflow", test_overflow);
    return g_test_run();
}
