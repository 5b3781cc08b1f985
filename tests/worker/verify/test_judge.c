/* Making a judge on PoCL or (SKIPJACK_TEST_DEVICE=gpu) the first GPU: what it refuses, and how a device that computes
 * wrong is found out. */
#include "worker/verify/judge.h"

#include <string.h>

#include "tests/support/kernels/judge_device.h"
#include "tests/support/kernels/judge_sides.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "worker/protocol/frames.h"
#include "worker/verify/judge_state.h"

enum lie { LIE_VALUE, LIE_MAGNITUDE, LIE_NOT_GATHERED, LIE_NOTHING_SEEN, LIE_ALL_RIGHT, LIE_COUNT };

static enum lie lie;
static const struct device_row *healthy;

static bool read_lies(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                      GError **error)
{
    bool done = healthy->read(from, offset, to, bytes, error);
    if (lie == LIE_VALUE && bytes == JUDGE_SAMPLE_BYTES)
        ((double *)to)[4 * 1234] += 1e-9;
    if (lie == LIE_MAGNITUDE && bytes == JUDGE_SAMPLE_BYTES)
        ((double *)to)[4 * 1234 + 1] *= 1.001;
    if (lie == LIE_NOT_GATHERED && bytes == JUDGE_SAMPLE_BYTES)
        memset((char *)to + bytes / 2, 0xff, (gsize)bytes / 2);
    if (lie == LIE_NOTHING_SEEN && bytes == JUDGE_FOUND_BYTES)
        memset(to, 0, (gsize)bytes);
    /* the last of three arrays, which counts wrong elements */
    if (lie == LIE_ALL_RIGHT && bytes == JUDGE_FOUND_BYTES)
        memset((char *)to + bytes / 3 * 2, 0, (gsize)bytes / 3);
    return done;
}

static void expect_doubt(const char *key)
{
    struct device_row row = *healthy;
    struct problem p;
    judge_sides_problem(key, &p);
    row.read = read_lies;
    for (int i = 0; i < LIE_COUNT; i++) {
        g_autoptr(GError) error = NULL;
        struct judge_sides s;
        judge_sides_init(&s, &p);
        lie = (enum lie)i;
        judge_test_device->row = &row;
        g_assert_false(judge_sides_judge(&s, &error));
        judge_test_device->row = healthy;
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT);
        judge_sides_clear(&s);
    }
}

static void test_sick(void)
{
    static const char *const keys[] = {
        JUDGE_TEST_KEY,
        "pool(max)-24-9-11-3x3-24-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F",
        "pool(max)-4-5-6-7-3x3x3-4-3-3-4-2-1x1x1-2x2x2-1x1x1-0-NCDHW-FP32-F",
        "softmax-21-5-7-1x1-21-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F",
        "resize(nearest,align_corners,ceil)-8-12-9-1x1-8-17-1-2-0x0-1x1-1x1-0-NCHW-FP32-F",
        "lrn(5,0.0001,0.75,1)-24-9-11-1x1-24-9-11-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        expect_doubt(keys[i]);
}

static void test_too_large(void)
{
    g_autoptr(GError) error = NULL;
    struct problem p;
    struct device_memory *const none[OPERAND_COUNT] = {NULL};
    struct tensor tensors[OPERAND_COUNT];
    judge_sides_problem(JUDGE_TEST_KEY, &p);
    p.n = 1 << 30;
    for (int t = 0; t < OPERAND_COUNT; t++)
        tensor_init(&tensors[t], &p, (enum tensor_role)t);
    g_assert_null(judge_new(judge_test_device, judge_test_program, &p, tensors, JUDGE_TEST_SEED,
                            none, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY);
}

/* The device's functions are not exact enough for FP64. */
static void test_double(void)
{
    static const char *const refused[] = {
        "softmax-21-5-7-1x1-21-5-7-2-0x0-1x1-1x1-0-NCHW-FP64-F",
        "lrn(5,0.5,0.75,1)-24-9-11-1x1-24-9-11-2-0x0-1x1-1x1-0-NCHW-FP64-F",
        "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP64-F+relu",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        struct judge_sides s;
        judge_sides_problem(refused[i], &p);
        judge_sides_init(&s, &p);
        g_assert_false(judge_sides_judge(&s, &error));
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_INVALID);
        judge_sides_clear(&s);
    }
}

static void add_tests(struct device *opened, struct device_program *loaded)
{
    judge_test_device = opened;
    healthy = opened->row;
    judge_test_program = loaded;
    g_test_add_func("/judge/refuses_functions_in_double_precision", test_double);
    g_test_add_func("/judge/wrong_device_is_doubted", test_sick);
    g_test_add_func("/judge/reference_too_large_for_the_device_is_refused", test_too_large);
}

int main(int argc, char **argv)
{
    return judge_device_main(argc, argv, "/judge/needs_a_device", add_tests);
}
