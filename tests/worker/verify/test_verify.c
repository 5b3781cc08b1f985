#include "worker/verify/verify.h"

#include <math.h>
#include <string.h>

/* Rows of five elements with gaps of three elements, which are not compared. */
static void test_holes(void)
{
    struct problem p;
    struct tensor y;
    struct verdict verdict;

    problem_init(&p);
    p.k = 3;
    p.in[AXIS_H] = 4;
    p.in[AXIS_W] = 5;
    problem_set_output(&p);
    tensor_init(&y, &p, TENSOR_Y);
    tensor_set_strides(&y, (const int64_t[TENSOR_AXES]){400, 32, 32, 8, 1});
    g_autofree float *data = g_malloc((gsize)tensor_bytes(&y));
    memset(data, 0xff, (gsize)tensor_bytes(&y));
    data[4] = 1; /* the first row's last element */
    verify_holes(&y, data, 0xff, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    data[5] = 1;
    verify_holes(&y, data, 0xff, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_OUT_OF_BOUNDS);
    g_assert_nonnull(strstr(verdict.detail, " 5 elements from its start"));
}

/* An output of one element, 100 in the reference, that came out as `got`. A NaN as the reference says that the element
 * was not computed. */
static void judge(enum data_type type, const struct tolerance *tolerance, double expected,
                  double got, struct verdict *verdict)
{
    double value = expected;
    float magnitude = isnan(expected) ? NAN : 100, largest = 100;
    const struct reference reference = {
        .role = TENSOR_Y, .value = &value, .magnitude = &magnitude, .count = 1, .largest = largest};
    struct problem p;
    struct tensor y;
    uint8_t data[8] = {0};

    problem_init(&p);
    p.type[TENSOR_Y] = type;
    problem_set_output(&p);
    tensor_init(&y, &p, TENSOR_Y);
    tensor_store(type, data, 0, got);
    verify_output(&y, data, 0xff, &reference, tolerance, verdict);
}

/* With a tolerance of 1: 0.01 of the magnitude. */
static void test_limit(void)
{
    static const struct tolerance near = {.per_magnitude = 0.01, .overflow = INFINITY};
    static const struct tolerance exact = {.exact = true, .overflow = INFINITY};
    static const struct {
        enum data_type type;
        double expected, got;
        bool is_wrong;
    } rows[] = {
        {TYPE_FP32, 100, 100, false},     {TYPE_FP32, 100, 100.9, false},
        {TYPE_FP32, 100, 99.1, false},    {TYPE_FP32, 100, 101.1, true},
        {TYPE_FP32, 100, 98.9, true},     {TYPE_FP32, 100, NAN, true},
        {TYPE_FP32, 100, INFINITY, true}, {TYPE_INT32, 100, 100, false},
        {TYPE_INT32, 100, 101, true},     {TYPE_INT32, 100, 99, true},
        {TYPE_FP32, NAN, 1, false},       {TYPE_FP32, NAN, NAN, true},
        {TYPE_FP32, NAN, INFINITY, true}, {TYPE_INT32, NAN, 5, false},
        {TYPE_INT32, NAN, -1, true}, /* the poison */
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct verdict verdict;
        judge(rows[i].type, rows[i].type == TYPE_INT32 ? &exact : &near, rows[i].expected,
              rows[i].got, &verdict);
        g_test_message("%g for %g", rows[i].got, rows[i].expected);
        g_assert_cmpint(verdict.failure, ==,
                        rows[i].is_wrong ? FAILURE_WRONG_RESULT : FAILURE_NONE);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/verify/write_into_a_gap_is_found", test_holes);
    g_test_add_func("/verify/errors_above_the_tolerance_are_wrong", test_limit);
    return g_test_run();
}
