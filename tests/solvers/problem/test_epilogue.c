#include "solvers/problem/epilogue.h"

static void test_canonical_forms(void)
{
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        {"", ""},
        {"+bias", "+bias"},
        {"+bias+clip(0,6)", "+bias+clip(0,6)"},
        {"+clip(-0,6.000)", "+clip(0,6)"},
        {"+clip(-1e3,1e+20)", "+clip(-1000,1e+20)"},
        {"+leaky(0.01)", "+leaky(0.01)"},
        {"+leaky(.333333333333)", "+leaky(0.333333333)"},
        {"+add(FP16,NHWC)+requant(INT8,channel)", "+add(FP16,NHWC)+requant(INT8,channel)"},
        {"+sigmoid+tanh+relu+requant(FP8,tensor)", "+sigmoid+tanh+relu+requant(FP8,tensor)"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        char out[EPILOGUE_MAX], again[EPILOGUE_MAX];
        g_assert_true(epilogue_canonical(rows[i].text, out, &error));
        g_assert_no_error(error);
        g_assert_cmpstr(out, ==, rows[i].canonical);
        g_assert_true(epilogue_canonical(out, again, NULL));
        g_assert_cmpstr(again, ==, out);
    }
}

/* Each step alone, as the header's table lists them. */
static void test_every_step(void)
{
    static const struct {
        const char *text;
        enum epilogue_op op;
        enum tensor_role reads; /* TENSOR_X: none */
        unsigned classes;
    } rows[] = {
        {"+bias", EPILOGUE_BIAS, TENSOR_BIAS, EPILOGUE_DOES_BIAS},
        {"+scale(channel)", EPILOGUE_SCALE, TENSOR_SCALES, EPILOGUE_DOES_SCALES},
        {"+requant(FP32,tensor)", EPILOGUE_REQUANT, TENSOR_SCALES, EPILOGUE_DOES_SCALES},
        {"+add(FP16,NCHW)", EPILOGUE_ADD, TENSOR_RESIDUAL, EPILOGUE_DOES_RESIDUAL},
        {"+sub(FP16,NCHW)", EPILOGUE_SUB, TENSOR_RESIDUAL, EPILOGUE_DOES_RESIDUAL},
        {"+mul(FP32,NCHW)", EPILOGUE_MUL, TENSOR_RESIDUAL, EPILOGUE_DOES_RESIDUAL},
        {"+div(FP32,NCHW)", EPILOGUE_DIV, TENSOR_RESIDUAL, EPILOGUE_DOES_RESIDUAL},
        {"+max(BF16,NCHW)", EPILOGUE_GREATER, TENSOR_RESIDUAL, EPILOGUE_DOES_RESIDUAL},
        {"+min(INT8,NHWC)", EPILOGUE_SMALLER, TENSOR_RESIDUAL,
         EPILOGUE_DOES_RESIDUAL | EPILOGUE_DOES_ANY_RESIDUAL},
        {"+relu", EPILOGUE_RELU, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+clip(0,6)", EPILOGUE_CLIP, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+leaky(0.1)", EPILOGUE_LEAKY, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+prelu", EPILOGUE_PRELU, TENSOR_SCALES, EPILOGUE_DOES_SCALES},
        {"+elu(1)", EPILOGUE_ELU, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+affine(2,-1)", EPILOGUE_AFFINE, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+hardsigmoid(0.2,0.5)", EPILOGUE_HARDSIGMOID, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+sigmoid", EPILOGUE_SIGMOID, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+tanh", EPILOGUE_TANH, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+exp", EPILOGUE_EXP, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+sqrt", EPILOGUE_SQRT, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+abs", EPILOGUE_ABS, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+erf", EPILOGUE_ERF, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+silu", EPILOGUE_SILU, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+hardswish", EPILOGUE_HARDSWISH, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+softplus", EPILOGUE_SOFTPLUS, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+mish", EPILOGUE_MISH, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
        {"+gelu", EPILOGUE_GELU, TENSOR_X, EPILOGUE_DOES_ACTIVATION},
    };
    g_assert_cmpuint(G_N_ELEMENTS(rows), ==, EPILOGUE_GELU);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct epilogue epilogue;
        struct problem p;
        char text[EPILOGUE_MAX];
        g_assert_true(epilogue_parse(rows[i].text, &epilogue, &error));
        g_assert_no_error(error);
        g_assert_cmpint(epilogue.count, ==, 1);
        g_assert_cmpint(epilogue.steps[0].op, ==, rows[i].op);
        g_assert_true(epilogue_print(&epilogue, text));
        g_assert_cmpstr(text, ==, rows[i].text);
        problem_init(&p);
        p.k = 3;
        p.in[AXIS_W] = 5; /* NCHW and NHWC differ */
        problem_set_output(&p);
        g_strlcpy(p.epilogue, rows[i].text, sizeof p.epilogue);
        g_assert_true(problem_validate(&p, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(problem_epilogue_classes(&p), ==, rows[i].classes);
        for (int role = TENSOR_RESIDUAL; role < OPERAND_COUNT; role++) {
            g_assert_true(problem_has_operand(&p, (enum tensor_role)role) ==
                          (role == (int)rows[i].reads));
        }
    }
}

static void test_arguments_are_kept(void)
{
    struct epilogue epilogue;
    g_assert_true(
        epilogue_parse("+bias+add(INT8,NHWC)+clip(-1.5,6)+requant(INT8,channel)", &epilogue, NULL));
    g_assert_cmpint(epilogue.count, ==, 4);
    const struct epilogue_step *residual = epilogue_residual(&epilogue);
    g_assert_true(residual == &epilogue.steps[1]);
    g_assert_cmpint(residual->type, ==, TYPE_INT8);
    g_assert_cmpint(residual->layout, ==, LAYOUT_NHWC);
    g_assert_cmpfloat(epilogue.steps[2].a, ==, -1.5);
    g_assert_cmpfloat(epilogue.steps[2].b, ==, 6);
    g_assert_true(epilogue.steps[3].per_channel);
    g_assert_cmpint(epilogue_scales(&epilogue, 64), ==, 65);
    g_assert_true(epilogue_parse("+scale(tensor)", &epilogue, NULL));
    g_assert_cmpint(epilogue_scales(&epilogue, 64), ==, 2);
    g_assert_null(epilogue_residual(&epilogue));
    g_assert_true(epilogue_parse("+prelu", &epilogue, NULL));
    g_assert_cmpint(epilogue_scales(&epilogue, 64), ==, 65);
    g_assert_true(epilogue_parse("+relu", &epilogue, NULL));
    g_assert_cmpint(epilogue_scales(&epilogue, 64), ==, 0);
}

/* Values computed by hand from the header's formulas: v, bias 10, residual 4, scale 0.5. */
static void test_steps_compute_their_formula(void)
{
    static const struct {
        const char *text;
        double v, result;
    } rows[] = {
        {"", 3, 3},
        {"+bias", 3, 13},
        {"+scale(channel)", 3, 1.5},
        {"+requant(INT8,tensor)", -3, -1.5},
        {"+add(FP32,NCHW)", 3, 7},
        {"+sub(FP32,NCHW)", 3, -1},
        {"+mul(FP32,NCHW)", 3, 12},
        {"+div(FP32,NCHW)", 3, 0.75},
        {"+max(FP32,NCHW)", 3, 4},
        {"+max(FP32,NCHW)", 5, 5},
        {"+min(FP32,NCHW)", 3, 3},
        {"+min(FP32,NCHW)", 5, 4},
        {"+relu", -3, 0},
        {"+relu", 3, 3},
        {"+clip(0,6)", 7, 6},
        {"+clip(0,6)", -7, 0},
        {"+clip(0,6)", 2, 2},
        {"+leaky(0.1)", -10, -1},
        {"+leaky(0.1)", 10, 10},
        {"+prelu", -3, -1.5},
        {"+prelu", 3, 3},
        {"+elu(2)", -1, -1.2642411176571153},
        {"+elu(2)", 1, 1},
        {"+affine(2,-1)", 3, 5},
        {"+hardsigmoid(0.2,0.5)", 1, 0.7},
        {"+hardsigmoid(0.2,0.5)", 9, 1},
        {"+hardsigmoid(0.2,0.5)", -9, 0},
        {"+sigmoid", 1, 0.7310585786300049},
        {"+sigmoid", -1000, 0},
        {"+tanh", 1, 0.7615941559557649},
        {"+exp", 1, 2.718281828459045},
        {"+sqrt", 9, 3},
        {"+abs", -3, 3},
        {"+erf", 1, 0.8427007929497149},
        {"+silu", 1, 0.7310585786300049},
        {"+hardswish", 1, 4.0 / 6},
        {"+hardswish", -4, 0},
        {"+hardswish", 8, 8},
        {"+softplus", 0, 0.6931471805599453},
        {"+softplus", 1000, 1000},
        {"+softplus", -1000, 0},
        {"+mish", 1, 0.8650983882673103},
        {"+gelu", 1, 0.8413447460685429},
        {"+gelu", -1, -0.15865525393145707},
        {"+bias+relu", -20, 0},
        {"+relu+bias", -20, 10},
        {"+bias+add(FP32,NCHW)+clip(0,16)", 3, 16},
        {"+add(FP32,NCHW)+scale(channel)+bias", 2, 13},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct epilogue epilogue;
        g_assert_true(epilogue_parse(rows[i].text, &epilogue, NULL));
        g_assert_cmpfloat_with_epsilon(epilogue_apply(&epilogue, rows[i].v, 10, 4, 0.5),
                                       rows[i].result, 1e-12);
    }
}

static void test_wrong_steps_are_named(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"bias", "*'bias'*begins with '+'*"},
        {"+", "*no step of an epilogue has this name*"},
        {"+swish", "*+swish*no step of an epilogue has this name*"},
        {"+reluu", "*no step of an epilogue has this name*"},
        {"+bias+relu+bias", "*at most one bias*"},
        {"+add(FP32,NCHW)+mul(FP32,NCHW)", "*one second tensor*"},
        {"+scale(tensor)+prelu", "*one step with scales*"},
        {"+relu+relu+relu+relu+relu+relu+relu+relu+relu", "*at most 8 steps*"},
        {"+prelu(channel)", "*at '(channel)'*"},
        {"+scale(row)", "*channel*"},
        {"+clip(0,6,7)", "*expected ')'*"},
        {"+bias(1)", "*at '(1)'*"},
        {"+clip(0)", "*more arguments*"},
        {"+clip(6,0)", "*lower bound*"},
        {"+clip(0,6", "*expected ')'*"},
        {"+clip(0,nan)", "*finite number*"},
        {"+clip(0,1e999)", "*finite number*"},
        {"+leaky( 1)", "*finite number*"},
        {"+leaky(0x1)", "*finite number*"},
        {"+add(FP99,NHWC)", "*data type*"},
        {"+add(FP16,NHCW)", "*layout*"},
        {"+requant(INT8,row)", "*channel*"},
        {"+affine(1.23456789,1.23456789)+affine(1.23456789,1.23456789)+affine(1.23456789,1.23456789)"
         "+affine(1.23456789,1.23456789)",
         "*too long*"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        char out[EPILOGUE_MAX];
        g_assert_false(epilogue_canonical(rows[i].text, out, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX);
        g_assert_true(g_pattern_match_simple(rows[i].message, error->message));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/epilogue/canonical_form_is_a_fixed_point", test_canonical_forms);
    g_test_add_func("/epilogue/every_step_is_known_with_its_operand", test_every_step);
    g_test_add_func("/epilogue/arguments_are_kept", test_arguments_are_kept);
    g_test_add_func("/epilogue/steps_compute_their_formula", test_steps_compute_their_formula);
    g_test_add_func("/epilogue/wrong_steps_are_named", test_wrong_steps_are_named);
    return g_test_run();
}
