#include "worker/verify/tensor.h"

#include <glib.h>
#include <math.h>
#include <string.h>

struct row {
    float value;
    uint16_t stored;
};

static void test_known_halves(void)
{
    static const struct row rows[] = {
        {0.0f, 0x0000},      {-0.0f, 0x8000},           {1.0f, 0x3c00},
        {-2.0f, 0xc000},     {65504.0f, 0x7bff},        {65519.0f, 0x7bff},
        {65520.0f, 0x7c00},  {INFINITY, 0x7c00},        {0x1p-14f, 0x0400},
        {0x1p-24f, 0x0001},  {0x1p-25f, 0x0000},        {0x1.8p-25f, 0x0001},
        {0x1p-26f, 0x0000},  {1.0f + 0x1p-11f, 0x3c00}, {1.0f + 0x3p-11f, 0x3c02},
        {-INFINITY, 0xfc00},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmphex(half_from_float(rows[i].value), ==, rows[i].stored);
    g_assert_true(isnan(half_to_float(half_from_float(NAN))));
}

static void test_known_bfloat16s(void)
{
    static const struct row rows[] = {
        {0.0f, 0x0000},
        {-0.0f, 0x8000},
        {1.0f, 0x3f80},
        {1.0f + 0x1p-8f, 0x3f80},
        {1.0f + 0x3p-8f, 0x3f82},
        {INFINITY, 0x7f80},
        {0x1.fffffep127f, 0x7f80},
        {0x1p-133f, 0x0001},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmphex(bfloat16_from_float(rows[i].value), ==, rows[i].stored);
    g_assert_true(isnan(bfloat16_to_float(bfloat16_from_float(-NAN))));
}

static void test_all_values_come_back(void)
{
    for (uint32_t stored = 0; stored <= UINT16_MAX; stored++) {
        float half = half_to_float((uint16_t)stored), brain = bfloat16_to_float((uint16_t)stored);
        if (!isnan(half))
            g_assert_cmphex(half_from_float(half), ==, stored);
        if (!isnan(brain))
            g_assert_cmphex(bfloat16_from_float(brain), ==, stored);
    }
}

/* A float rounds to a half if neither of the half's neighbours is nearer. */
static void test_rounding_is_to_the_nearest(void)
{
    for (float value = 0x1p-26f; value < 60000.0f; value *= 1.000977f) {
        uint16_t stored = half_from_float(value);
        float off = fabsf(half_to_float(stored) - value);
        g_assert_true(off <= fabsf(half_to_float((uint16_t)(stored + 1)) - value));
        if (stored > 0)
            g_assert_true(off <= fabsf(half_to_float((uint16_t)(stored - 1)) - value));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/tensor/half/known_values_convert", test_known_halves);
    g_test_add_func("/tensor/half/known_bfloat16_values_convert", test_known_bfloat16s);
    g_test_add_func("/tensor/half/every_stored_value_comes_back", test_all_values_come_back);
    g_test_add_func("/tensor/half/rounding_is_to_the_nearest", test_rounding_is_to_the_nearest);
    return g_test_run();
}
