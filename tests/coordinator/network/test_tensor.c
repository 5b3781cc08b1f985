#include "coordinator/network/tensor.h"
#include "tests/support/test_effort.h"

#include <math.h>
#include <string.h>

static double written(enum element_type type, double value)
{
    uint64_t space = 0;
    element_write(&space, type, 0, value);
    return element_read(&space, type, 0);
}

static void test_every_small_float_reads_and_writes_itself(void)
{
    static const struct {
        enum element_type type;
        int count;
    } cases[] = {{ELEMENT_FLOAT16, 65536},
                 {ELEMENT_BFLOAT16, 65536},
                 {ELEMENT_FLOAT8_E4M3, 256},
                 {ELEMENT_FLOAT8_E5M2, 256}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (int bits = 0; bits < cases[i].count; bits++) {
            uint16_t space = (uint16_t)bits, back = 0;
            double value = element_read(&space, cases[i].type, 0);
            if (isnan(value) || (isinf(value) && cases[i].type == ELEMENT_FLOAT8_E5M2))
                continue;
            element_write(&back, cases[i].type, 0, value);
            g_assert_cmphex(back, ==, space);
        }
    }
}

static void test_known_values(void)
{
    static const struct {
        enum element_type type;
        double value, stored;
    } cases[] = {
        {ELEMENT_FLOAT16, 0.5, 0.5},
        {ELEMENT_FLOAT16, 65504, 65504},
        {ELEMENT_FLOAT16, 65519.999, 65504},
        {ELEMENT_FLOAT16, 65520, (double)INFINITY},
        {ELEMENT_FLOAT16, 2049, 2048}, /* ties to even */
        {ELEMENT_FLOAT16, 2051, 2052},
        {ELEMENT_FLOAT16, 0x1p-24, 0x1p-24},
        {ELEMENT_FLOAT16, 0x1p-25, 0},
        {ELEMENT_FLOAT16, 0x1.8p-25, 0x1p-24},
        {ELEMENT_BFLOAT16, 257, 256},
        {ELEMENT_BFLOAT16, 0x1p127, 0x1p127},
        {ELEMENT_FLOAT8_E4M3, 448, 448},
        {ELEMENT_FLOAT8_E4M3, 1e9, 448},
        {ELEMENT_FLOAT8_E4M3, -(double)INFINITY, -448},
        {ELEMENT_FLOAT8_E5M2, 1e9, 57344},
        {ELEMENT_INT8, 127.9, 127},
        {ELEMENT_INT8, -1e9, -128},
        {ELEMENT_INT32, (double)NAN, 0},
        {ELEMENT_INT64, 1e300, 0x1p63},
        {ELEMENT_UINT8, -3, 0},
        {ELEMENT_UINT64, 0x1p63, 0x1p63},
        {ELEMENT_BOOL, 0.25, 1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpfloat(written(cases[i].type, cases[i].value), ==, cases[i].stored);
    g_assert_true(isnan(written(ELEMENT_FLOAT8_E4M3, (double)NAN)));
    g_assert_true(isnan(written(ELEMENT_BFLOAT16, (double)NAN)));
}

static void test_rounding_is_to_the_nearest(void)
{
    static const enum element_type types[] = {ELEMENT_FLOAT16, ELEMENT_BFLOAT16,
                                              ELEMENT_FLOAT8_E4M3, ELEMENT_FLOAT8_E5M2};
    static const int digits[] = {11, 8, 4, 3};
    g_autoptr(GRand) rand = g_rand_new_with_seed(test_seed());
    for (int i = 0; i < test_effort(100000); i++) {
        double value = g_rand_double_range(rand, -1, 1) * exp2(g_rand_int_range(rand, -4, 7));
        for (gsize t = 0; t < G_N_ELEMENTS(types); t++) {
            int exponent;
            frexp(value, &exponent);
            double unit = exp2(exponent - digits[t]);
            if (fabs(value) < 0.02)
                continue; /* subnormal in some of the types */
            g_assert_cmpfloat(written(types[t], value), ==, rint(value / unit) * unit);
        }
    }
}

static void test_a_tensor_is_seen_through_a_view(void)
{
    static const int32_t numbers[] = {1, 2, 3, 4, 5, 6};
    struct shape shape;
    shape_set_packed(&shape, ELEMENT_INT32, 2, (int64_t[]){2, 3}, NULL);
    g_autoptr(Tensor) base = tensor_take(&shape, g_memdup2(numbers, sizeof(numbers)));
    struct view view;
    view_identity(&view, &base->shape);
    view_transpose(&view, (int[]){1, 0});
    view_broadcast(&view, 3, (int64_t[]){2, 3, 2});
    view_cast(&view, ELEMENT_FLOAT16);
    g_autoptr(Tensor) seen = tensor_through_view(base, &view);
    static const double wanted[] = {1, 4, 2, 5, 3, 6, 1, 4, 2, 5, 3, 6};
    for (int i = 0; i < 12; i++)
        g_assert_cmpfloat(tensor_double(seen, i), ==, wanted[i]);
    g_assert_cmpint(tensor_int64(seen, 3), ==, 5);
    g_autoptr(Tensor) blank = tensor_new(&shape, NULL, NULL);
    g_autoptr(Tensor) blank_seen = tensor_through_view(blank, &view);
    g_assert_false(tensor_has_data(blank_seen));
    g_assert_true(shape_equal(&blank_seen->shape, &seen->shape));
}

static void test_equal_tensors_and_wrong_sizes(void)
{
    g_autoptr(Tensor) a = tensor_new_int64s((int64_t[]){1, -1}, 2);
    g_autoptr(Tensor) b = tensor_new_int64s((int64_t[]){1, -1}, 2);
    g_autoptr(Tensor) c = tensor_new_int64s((int64_t[]){1, 2}, 2);
    g_autoptr(Tensor) blank = tensor_new(&a->shape, NULL, NULL);
    g_autoptr(Tensor) scalar = tensor_new_int64(7);
    g_assert_true(tensor_equal(a, b));
    g_assert_false(tensor_equal(a, c));
    g_assert_false(tensor_equal(a, blank));
    g_assert_true(tensor_equal(NULL, NULL));
    g_assert_false(tensor_equal(a, NULL));
    g_assert_cmpint(scalar->shape.rank, ==, 0);
    g_assert_cmpint(tensor_int64(scalar, 0), ==, 7);
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = g_bytes_new_static("1234567", 7);
    g_assert_null(tensor_new(&a->shape, bytes, &error));
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "7 bytes of data, not 16"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tensor/every_small_float_reads_and_writes_itself",
                    test_every_small_float_reads_and_writes_itself);
    g_test_add_func("/tensor/known_values_are_stored", test_known_values);
    g_test_add_func("/tensor/rounding_is_to_the_nearest", test_rounding_is_to_the_nearest);
    g_test_add_func("/tensor/a_tensor_is_seen_through_a_view",
                    test_a_tensor_is_seen_through_a_view);
    g_test_add_func("/tensor/equal_tensors_and_wrong_sizes", test_equal_tensors_and_wrong_sizes);
    return g_test_run();
}
