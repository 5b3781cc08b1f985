/* Loops over many elements on several threads give what a plain loop gives. */
#include "worker/verify/parallel.h"

#include <math.h>
#include <pthread.h>

#include "solvers/problem/problem_key.h"
#include "worker/verify/verify.h"

#define PARTS 1000

static void count_part(void *data, int64_t part)
{
    ((int *)data)[part]++;
}

static void test_parts(void)
{
    static const int threads[] = {0, 1, 3, 16};
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++) {
        int calls[PARTS + 1] = {0};
        parallel_parts(threads[i], PARTS, count_part, calls);
        for (int part = 0; part < PARTS; part++)
            g_assert_cmpint(calls[part], ==, 1);
        g_assert_cmpint(calls[PARTS], ==, 0);
        parallel_parts(threads[i], 0, count_part, calls);
        parallel_parts(threads[i], 1, count_part, calls);
        g_assert_cmpint(calls[0], ==, 2);
        g_assert_cmpint(calls[1], ==, 1);
    }
}

/* Threads get stacks that no address space has room for, so none can be started, as where a limit on a user's or a
 * container's threads is reached. */
static void test_no_threads(void)
{
    pthread_attr_t huge, usual;
    int calls[PARTS] = {0};
    g_assert_cmpint(pthread_getattr_default_np(&usual), ==, 0);
    g_assert_cmpint(pthread_getattr_default_np(&huge), ==, 0);
    g_assert_cmpint(pthread_attr_setstacksize(&huge, (size_t)1 << 60), ==, 0);
    g_assert_cmpint(pthread_setattr_default_np(&huge), ==, 0);
    parallel_parts(4, PARTS, count_part, calls);
    for (int part = 0; part < PARTS; part++)
        g_assert_cmpint(calls[part], ==, 1);
    g_assert_cmpint(pthread_setattr_default_np(&usual), ==, 0);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&usual);
}

static void test_pieces(void)
{
    g_assert_cmpint(parallel_pieces(0), ==, 0);
    g_assert_cmpint(parallel_pieces(PARALLEL_PIECE), ==, 1);
    g_assert_cmpint(parallel_pieces(PARALLEL_PIECE + 1), ==, 2);
    g_assert_cmpint(parallel_piece_end(1, PARALLEL_PIECE + 1), ==, PARALLEL_PIECE + 1);
}

/* A tensor of several pieces with gaps between its rows: its dense form, and a wrong element in the last piece. */
static void test_tensor_of_pieces(void)
{
    g_autoptr(GError) error = NULL;
    struct problem p;
    struct tensor tensor;
    struct tolerance tolerance;
    struct verdict verdict;
    problem_key_parse("7-150-101-1x1-7-150-101-3-0x0-1x1-1x1-0-NCHW-FP32-F", &p, &error);
    g_assert_no_error(error);
    tensor_init(&tensor, &p, TENSOR_Y);
    const int64_t stride[TENSOR_AXES] = {7 * 150 * 103, 150 * 103, 150 * 103, 103, 1};
    tensor_set_strides(&tensor, stride);
    int64_t count = tensor_count(&tensor);
    g_assert_cmpint(count, >, 4 * PARALLEL_PIECE);
    g_autofree float *data = g_new(float, tensor_elements(&tensor));
    struct reference reference = {.role = TENSOR_Y, .count = count, .largest = 1, .length = 7};
    g_autofree double *value = g_new(double, count), *dense = g_new(double, count);
    g_autofree float *magnitude = g_new(float, count);
    reference.value = value;
    reference.magnitude = magnitude;
    for (int64_t i = 0; i < count; i++) {
        value[i] = (double)(i % 1000);
        magnitude[i] = 1;
    }
    tensor_from_dense(&tensor, value, data);
    tensor_to_dense(&tensor, data, dense);
    for (int64_t i = 0; i < count; i++)
        g_assert_cmpfloat(dense[i], ==, value[i]);
    tolerance_init(&tolerance, &p, NULL, 7);
    verify_output(&tensor, data, 0xff, &reference, &tolerance, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    data[tensor_elements(&tensor) - 1] += 1; /* element (2,6,0,149,100) */
    data[7] += 0.01f;
    verify_output(&tensor, data, 0xff, &reference, &tolerance, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
    g_assert_true(g_str_has_prefix(verdict.detail, "2 of 318150 elements are wrong, the worst at "
                                                   "(2,6,0,149,100): got 150"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/parallel/each_part_is_done_once", test_parts);
    g_test_add_func("/parallel/parts_are_done_where_no_thread_can_be_started", test_no_threads);
    g_test_add_func("/parallel/pieces_cover_all_elements", test_pieces);
    g_test_add_func("/parallel/tensors_of_several_pieces_are_read_and_compared",
                    test_tensor_of_pieces);
    return g_test_run();
}
