/* Times of the same turns are compared, whatever the device did between turns. */
#include "coordinator/network/autotune/turns.h"

#include <glib.h>

#define TURNS 9

static void drift_leaves_the_ratio_as_it_is(void)
{
    double of[TURNS], to[TURNS];
    struct turns_ratio ratio;
    for (int i = 0; i < TURNS; i++) {
        double drift = 1 + 0.1 * i;
        to[i] = 2 * drift;
        of[i] = 2 * drift * (i % 2 ? 0.94 : 0.96);
    }
    turns_compare(of, to, TURNS, &ratio);
    g_assert_cmpfloat_with_epsilon(ratio.median, 0.96, 1e-9);
    g_assert_cmpfloat_with_epsilon(ratio.low, 0.94, 1e-9);
    g_assert_cmpfloat_with_epsilon(ratio.high, 0.96, 1e-9);
    g_assert_false(turns_within_noise(&ratio));
}

static void an_interval_that_holds_1_is_noise(void)
{
    static const struct {
        double ratios[7];
        bool within_noise;
    } rows[] = {
        {{0.9, 1.1, 0.95, 1.05, 1, 0.97, 1.02}, true},
        {{0.9, 0.91, 0.95, 0.92, 0.9, 0.97, 1.02}, true}, /* of 7 turns the interval holds all */
        {{0.9, 0.91, 0.95, 0.92, 0.9, 0.97, 0.99}, false},
        {{1.2, 1.1, 1.15, 1.05, 1.3, 1.07, 1.02}, false},
    };
    static const double ones[7] = {1, 1, 1, 1, 1, 1, 1};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct turns_ratio ratio;
        turns_compare(rows[i].ratios, ones, 7, &ratio);
        g_assert_cmpint(turns_within_noise(&ratio), ==, rows[i].within_noise);
    }
}

static void few_turns_have_no_interval(void)
{
    static const double of[5] = {1, 1, 1, 1, 1}, to[5] = {2, 2, 2, 2, 2.5};
    struct turns_ratio ratio;
    turns_compare(of, to, 5, &ratio);
    g_assert_false(ratio.has_interval);
    g_assert_true(turns_within_noise(&ratio));
    g_assert_cmpfloat(ratio.low, ==, 0.4);
    g_assert_cmpfloat(ratio.high, ==, 0.5);
}

static void no_turns_have_no_ratio(void)
{
    char text[TURNS_RATIO_TEXT];
    struct turns_ratio ratio;
    turns_compare(NULL, NULL, 0, &ratio);
    g_assert_cmpstr(turns_ratio_text(&ratio, text), ==, "-");
    json_t *json = turns_ratio_json(&ratio);
    g_assert_true(json_is_null(json));
    json_decref(json);
    g_assert_true(turns_within_noise(&ratio));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/turns/drift_leaves_the_ratio_as_it_is", drift_leaves_the_ratio_as_it_is);
    g_test_add_func("/turns/an_interval_that_holds_1_is_noise", an_interval_that_holds_1_is_noise);
    g_test_add_func("/turns/few_turns_have_no_interval", few_turns_have_no_interval);
    g_test_add_func("/turns/no_turns_have_no_ratio", no_turns_have_no_ratio);
    return g_test_run();
}
