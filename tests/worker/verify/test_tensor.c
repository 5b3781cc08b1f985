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

/* ---- operands ---- */

static void test_operands_have_their_form(void)
{
    struct problem p;
    struct tensor tensor;
    problem_init(&p);
    p.c = 3;
    p.k = 5;
    p.n = 2;
    p.type[TENSOR_X] = p.type[TENSOR_W] = p.type[TENSOR_Y] = TYPE_INT8;
    g_strlcpy(p.epilogue, "+bias+requant(INT8,channel)+add(INT8,NHWC)", sizeof p.epilogue);
    tensor_init(&tensor, &p, TENSOR_BIAS);
    g_assert_cmpint(tensor.type, ==, TYPE_INT32);
    g_assert_cmpint(tensor_count(&tensor), ==, 5);
    g_assert_cmpint(tensor_bytes(&tensor), ==, 20);
    tensor_init(&tensor, &p, TENSOR_SCALES);
    g_assert_cmpint(tensor.type, ==, TYPE_FP32);
    g_assert_cmpint(tensor_count(&tensor), ==, 6);
    tensor_init(&tensor, &p, TENSOR_RESIDUAL);
    g_assert_cmpint(tensor_count(&tensor), ==, 10);
    g_assert_cmpint(tensor.stride[1], ==, 1);
    p.epilogue[0] = '\0';
    for (int t = TENSOR_RESIDUAL; t < OPERAND_COUNT; t++) {
        tensor_init(&tensor, &p, (enum tensor_role)t);
        g_assert_false(tensor_exists(&tensor));
        g_assert_cmpint(tensor_bytes(&tensor), ==, 0);
        g_assert_cmpint(tensor_count(&tensor), ==, 0);
    }
}

static void test_overlaps_are_found(void)
{
    static const struct {
        int64_t stride[TENSOR_AXES];
        bool overlaps;
    } rows[] = {{{60, 20, 20, 5, 1}, false}, {{60, 20, 20, 4, 1}, true},
                {{1, 2, 0, 6, 24}, false},   {{1, 2, 0, 5, 24}, true},
                {{0, 1, 0, 0, 0}, false},    {{120, 40, 7, 9, 2}, false},
                {{120, 40, 7, 8, 2}, true}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct tensor tensor = {.type = TYPE_FP32, .block = 1, .extent = {2, 3, 1, 4, 5}};
        tensor_set_strides(&tensor, rows[i].stride);
        g_test_message("row %d", (int)i);
        g_assert_cmpint(tensor_overlaps(&tensor), ==, rows[i].overlaps);
    }
}

/* Integers are rounded to nearest, ties to even, and keep to their range. */
static void test_integers_are_rounded(void)
{
    static const struct {
        double value;
        int stored;
    } rows[] = {{2.5, 2}, {3.5, 4}, {-0.5, 0}, {-2.51, -3}, {127.5, 127}, {1e9, 127}, {-1e9, -128}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        int8_t stored = 99;
        tensor_store(TYPE_INT8, &stored, 0, rows[i].value);
        g_assert_cmpint((int)stored, ==, rows[i].stored);
        g_assert_cmpfloat(tensor_round(TYPE_INT8, rows[i].value), ==, rows[i].stored);
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
    g_test_add_func("/tensor/operands_have_their_form", test_operands_have_their_form);
    g_test_add_func("/tensor/overlaps_are_found", test_overlaps_are_found);
    g_test_add_func("/tensor/integers_are_rounded_and_keep_to_their_range",
                    test_integers_are_rounded);
    return g_test_run();
}
