#include "coordinator/network/shape.h"

#include <string.h>

static void test_types_have_names_and_data_types(void)
{
    for (int i = ELEMENT_NONE + 1; i < ELEMENT_TYPE_COUNT; i++) {
        enum element_type type;
        enum data_type data_type;
        g_assert_true(element_type_parse(element_type_name((enum element_type)i), &type));
        g_assert_cmpint(type, ==, i);
        g_assert_cmpint(element_type_bytes(type), >, 0);
        if (element_type_to_data_type(type, &data_type))
            g_assert_cmpint(element_type_of_data_type(data_type), ==, i);
    }
    enum element_type type;
    g_assert_false(element_type_parse("none", &type));
    g_assert_false(element_type_parse("Float32", &type));
    for (int i = TYPE_NONE + 1; i < DATA_TYPE_COUNT; i++)
        g_assert_cmpint(element_type_of_data_type((enum data_type)i), !=, ELEMENT_NONE);
    g_assert_cmpint(element_type_of_data_type(TYPE_NONE), ==, ELEMENT_NONE);
}

static void test_a_type_holds_what_it_represents(void)
{
    static const struct {
        enum element_type to, from;
        bool holds;
    } cases[] = {
        {ELEMENT_FLOAT32, ELEMENT_FLOAT16, true},
        {ELEMENT_FLOAT16, ELEMENT_FLOAT32, false},
        {ELEMENT_FLOAT32, ELEMENT_BFLOAT16, true},
        {ELEMENT_FLOAT16, ELEMENT_BFLOAT16, false},
        {ELEMENT_BFLOAT16, ELEMENT_FLOAT16, false},
        {ELEMENT_FLOAT16, ELEMENT_FLOAT8_E4M3, true},
        {ELEMENT_FLOAT16, ELEMENT_FLOAT8_E5M2, true},
        {ELEMENT_FLOAT8_E4M3, ELEMENT_FLOAT8_E5M2, false},
        {ELEMENT_FLOAT16, ELEMENT_INT8, true},
        {ELEMENT_FLOAT16, ELEMENT_UINT8, true},
        {ELEMENT_FLOAT16, ELEMENT_INT16, false},
        {ELEMENT_FLOAT32, ELEMENT_INT32, false},
        {ELEMENT_FLOAT64, ELEMENT_INT32, true},
        {ELEMENT_FLOAT64, ELEMENT_INT64, false},
        {ELEMENT_INT64, ELEMENT_UINT32, true},
        {ELEMENT_INT32, ELEMENT_UINT32, false},
        {ELEMENT_UINT64, ELEMENT_INT8, false},
        {ELEMENT_INT8, ELEMENT_BOOL, true},
        {ELEMENT_BOOL, ELEMENT_INT8, false},
        {ELEMENT_INT64, ELEMENT_FLOAT16, false},
        {ELEMENT_NONE, ELEMENT_FLOAT32, false},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(element_type_holds(cases[i].to, cases[i].from), ==, cases[i].holds);
}

static void test_strides_decide_what_a_shape_is(void)
{
    static const struct {
        int rank;
        int64_t dims[4], strides[4];
        bool packed, dense, broadcast;
        int64_t span;
        const char *text;
    } cases[] = {
        {0, {0}, {0}, true, true, false, 1, "float32[]"},
        {3, {2, 3, 4}, {12, 4, 1}, true, true, false, 24, "float32[2,3,4]"},
        {3, {2, 3, 4}, {1, 2, 6}, false, true, false, 24, "float32[2,3,4]{1,2,6}"},
        {3, {2, 1, 4}, {4, 77, 1}, true, true, false, 8, "float32[2,1,4]"},
        {2, {3, 4}, {0, 1}, false, false, true, 4, "float32[3,4]{0,1}"},
        {2, {3, 4}, {5, 1}, false, false, false, 14, "float32[3,4]{5,1}"},
        {2, {0, 4}, {4, 1}, true, true, false, 0, "float32[0,4]"},
        {4, {2, 3, 5, 7}, {105, 1, 21, 3}, false, true, false, 210, "float32[2,3,5,7]{105,1,21,3}"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct shape shape;
        g_assert_true(shape_set_strided(&shape, ELEMENT_FLOAT32, cases[i].rank, cases[i].dims,
                                        cases[i].strides, NULL));
        g_assert_cmpint(shape_is_packed(&shape), ==, cases[i].packed);
        g_assert_cmpint(shape_is_dense(&shape), ==, cases[i].dense);
        g_assert_cmpint(shape_is_broadcast(&shape), ==, cases[i].broadcast);
        g_assert_cmpint(shape_span(&shape), ==, cases[i].span);
        g_autofree char *text = shape_text(&shape);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

static void test_an_order_is_found_again(void)
{
    static const int nhwc[] = {0, 2, 3, 1};
    const int64_t dims[] = {2, 3, 5, 7};
    struct shape shape;
    int order[SHAPE_MAX_RANK];
    g_assert_true(shape_set_ordered(&shape, ELEMENT_FLOAT16, 4, dims, nhwc, NULL));
    g_assert_cmpint(shape.stride[1], ==, 1);
    g_assert_cmpint(shape.stride[3], ==, 3);
    shape_order(&shape, order);
    g_assert_cmpint(memcmp(order, nhwc, sizeof(nhwc)), ==, 0);
    g_assert_cmpint(shape_bytes(&shape), ==, 420);
    g_assert_false(shape_set_ordered(&shape, ELEMENT_FLOAT16, 4, dims, (int[]){0, 1, 1, 2}, NULL));
    g_assert_false(shape_is_known(&shape));
}

static void test_axes_of_size_one_are_normal(void)
{
    struct shape a, b;
    const int64_t dims[] = {4, 1, 3};
    g_assert_true(shape_set_strided(&a, ELEMENT_INT8, 3, dims, (int64_t[]){3, 99, 1}, NULL));
    g_assert_true(shape_set_packed(&b, ELEMENT_INT8, 3, dims, NULL));
    g_assert_true(shape_equal(&a, &b));
}

static void test_what_overflows_is_refused(void)
{
    static const struct {
        int rank;
        int64_t dims[SHAPE_MAX_RANK + 1], strides[SHAPE_MAX_RANK + 1];
        const char *says;
    } cases[] = {
        {9, {1}, {0}, "9 dimensions"},
        {-1, {1}, {0}, "-1 dimensions"},
        {2, {3, -4}, {0}, "dimension 1 of a tensor is -4"},
        {3, {1LL << 31, 1LL << 31, 4}, {0}, "too large"},
        {1, {1LL << 61}, {0}, "too large"}, /* the elements fit, their bytes do not */
        {2, {0, INT64_MAX}, {0}, "too large"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct shape shape;
        g_assert_false(
            shape_set_packed(&shape, ELEMENT_FLOAT32, cases[i].rank, cases[i].dims, &error));
        g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, cases[i].says));
        g_assert_false(shape_is_known(&shape));
    }
    struct shape shape;
    const int64_t dims[] = {3, 3};
    g_assert_false(
        shape_set_strided(&shape, ELEMENT_FLOAT32, 2, dims, (int64_t[]){INT64_MAX / 2, 1}, NULL));
    g_assert_false(shape_set_strided(&shape, ELEMENT_FLOAT32, 2, dims, (int64_t[]){-3, 1}, NULL));
}

static void test_dimensions_broadcast_from_the_last_axis(void)
{
    static const struct {
        int64_t a[3], b[3], common[3];
        int rank_a, rank_b, rank; /* 0: they do not */
    } cases[] = {
        {{2, 3}, {3}, {2, 3}, 2, 1, 2}, {{2, 1, 4}, {3, 1}, {2, 3, 4}, 3, 2, 3},
        {{0}, {5}, {5}, 0, 1, 1},       {{1}, {0}, {0}, 1, 1, 1},
        {{2}, {3}, {0}, 1, 1, -1},      {{2, 0}, {2, 3}, {0}, 2, 2, -1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct shape a, b;
        int rank;
        int64_t dims[SHAPE_MAX_RANK];
        shape_set_packed(&a, ELEMENT_INT32, cases[i].rank_a, cases[i].a, NULL);
        shape_set_packed(&b, ELEMENT_INT32, cases[i].rank_b, cases[i].b, NULL);
        bool ok = shape_broadcast_dims(&a, &b, &rank, dims, NULL);
        g_assert_cmpint(ok, ==, cases[i].rank >= 0);
        for (int j = 0; ok && j < rank; j++)
            g_assert_cmpint(dims[j], ==, cases[i].common[j]);
        if (ok)
            g_assert_cmpint(rank, ==, cases[i].rank);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shape/types_have_names_and_data_types", test_types_have_names_and_data_types);
    g_test_add_func("/shape/a_type_holds_what_it_represents", test_a_type_holds_what_it_represents);
    g_test_add_func("/shape/strides_decide_what_a_shape_is", test_strides_decide_what_a_shape_is);
    g_test_add_func("/shape/an_order_is_found_again", test_an_order_is_found_again);
    g_test_add_func("/shape/axes_of_size_one_are_normal", test_axes_of_size_one_are_normal);
    g_test_add_func("/shape/what_overflows_is_refused", test_what_overflows_is_refused);
    g_test_add_func("/shape/dimensions_broadcast_from_the_last_axis",
                    test_dimensions_broadcast_from_the_last_axis);
    return g_test_run();
}
