#include "worker/verify/verify.h"

#include <string.h>

/* A row of five elements, and then three places between the elements. */
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
    data[4] = 1; /* the last element of the first row */
    verify_holes(&y, data, 0xff, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    data[5] = 1;
    verify_holes(&y, data, 0xff, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_OUT_OF_BOUNDS);
    g_assert_nonnull(strstr(verdict.detail, " 5 elements from its start"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/verify/write_into_a_gap_is_found", test_holes);
    return g_test_run();
}
