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

static void test_wrong_steps_are_named(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"bias", "*'bias'*begins with '+'*"},
        {"+", "*the steps are*"},
        {"+gelu", "*+gelu*the steps are*"},
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
        {"+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias+bias"
         "+bias+bias",
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
    g_test_add_func("/epilogue/wrong_steps_are_named", test_wrong_steps_are_named);
    return g_test_run();
}
