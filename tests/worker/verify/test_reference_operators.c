/* The references of pools, pointwise operators, softmax, resizes and LRN, against plain loops. */
#include <math.h>
#include <string.h>

#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/operator_family.h"
#include "tests/support/kernels/operator_reference.h"
#include "tests/support/test_effort.h"
#include "worker/verify/random.h"
#include "worker/verify/reference.h"
#include "worker/verify/tensor.h"
#include "worker/verify/tolerance.h"
#include "worker/verify/verify.h"

#define PROBLEMS 400

static double *random_elements(GRand *random, const struct problem *p, enum tensor_role role)
{
    int64_t sizes[5], count = 1;
    problem_operand_sizes(p, role, sizes);
    for (int i = 0; i < 5; i++)
        count *= sizes[i];
    double *dense = g_new(double, MAX(count, 1));
    for (int64_t i = 0; i < count; i++)
        dense[i] =
            tensor_round(problem_operand_type(p, role), g_rand_double_range(random, -100, 100));
    return dense;
}

/* Without an epilogue, whose steps test_epilogue_bound and others try. */
static void check_problem(const struct problem *p, GRand *random, int threads)
{
    g_autoptr(GError) error = NULL;
    char key[PROBLEM_KEY_MAX];
    g_autofree double *x = random_elements(random, p, TENSOR_X);
    g_autofree double *y = random_elements(random, p, TENSOR_Y);
    const double *dense[OPERAND_COUNT] = {[TENSOR_X] = x};
    double *plain[TENSOR_COUNT] = {[TENSOR_X] = x, [TENSOR_Y] = y};
    struct reference *reference = reference_compute(p, dense, threads, 0, &error);
    g_assert_no_error(error);
    g_autofree double *magnitude = g_new(double, reference->count);
    operator_reference(p, plain, magnitude);
    for (int64_t i = 0; i < reference->count; i++) {
        double right = y[i];
        if (p->type[TENSOR_Y] == TYPE_INT8)
            right = CLAMP(right, -128, 127);
        if (!(fabs(reference->value[i] - right) <= 1e-9 * (1 + fabs(right))) ||
            !isfinite(reference->magnitude[i])) {
            g_test_message("%s: element %" G_GINT64_FORMAT " is %g, not %g", problem_key(p, key), i,
                           reference->value[i], right);
            g_test_fail();
            break;
        }
    }
    reference_unref(reference);
}

static void kinds_are_right(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed());
    for (int i = 0; i < test_effort(PROBLEMS); i++) {
        struct problem p;
        operator_random_problem(random, (enum op_kind)(OP_POOL + i % (OP_KIND_COUNT - 1)), false,
                                &p);
        if (strstr(p.mode, ",-2") == NULL) /* an LRN whose sum may be negative */
            check_problem(&p, random, 1 + i % 3);
    }
}

static struct reference *of_key(const char *key, const double *x)
{
    g_autoptr(GError) error = NULL;
    const double *dense[OPERAND_COUNT] = {[TENSOR_X] = x};
    struct problem p;
    problem_key_parse(key, &p, &error);
    g_assert_no_error(error);
    struct reference *reference = reference_compute(&p, dense, 1, 0, &error);
    g_assert_no_error(error);
    return reference;
}

static void expect(const char *key, const double *x, const double *right, int count)
{
    struct reference *reference = of_key(key, x);
    g_assert_cmpint(reference->count, ==, count);
    for (int i = 0; i < count; i++)
        g_assert_cmpfloat_with_epsilon(reference->value[i], right[i], 1e-9);
    reference_unref(reference);
}

/* Numbers by hand, from the definitions of ONNX's operators. */
static void known_numbers_are_found(void)
{
    const double four[] = {1, 2, 3, 4};
    /* the last window reaches behind the end, as with ceil_mode */
    expect("pool(average)-1-1-4-1x3-1-1-2-1-0x0-1x2-1x1-0-NCHW-FP32-F", four,
           (const double[]){2, 3.5}, 2);
    expect("pool(average_all)-1-1-4-1x3-1-1-2-1-0x1-1x2-1x1-0-NCHW-FP32-F", four,
           (const double[]){1, 3}, 2);
    expect("pool(max)-1-1-4-1x3-1-1-2-1-0x1-1x2-1x1-0-NCHW-FP32-F", four, (const double[]){2, 4},
           2);
    expect("resize(nearest,asymmetric,floor)-1-1-4-1x1-1-1-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", four,
           (const double[]){1, 1, 2, 2, 3, 3, 4, 4}, 8);
    expect("resize(nearest,half_pixel,round_prefer_floor)-1-1-4-1x1-1-1-2-1-0x0-1x1-1x1-0-NCHW-"
           "FP32-F",
           four, (const double[]){1, 3}, 2);
    expect("resize(linear,half_pixel)-1-1-4-1x1-1-1-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", four,
           (const double[]){1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4}, 8);
    expect("resize(linear,align_corners)-1-1-4-1x1-1-1-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", four,
           (const double[]){1, 1.5, 2, 2.5, 3, 3.5, 4}, 7);
    expect("softmax-2-1-1-1x1-2-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F", (const double[]){0, log(3)},
           (const double[]){0.25, 0.75}, 2);
    expect("lrn(3,3,1,1)-4-1-1-1x1-4-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F", four,
           (const double[]){1.0 / 6, 2.0 / 15, 3.0 / 30, 4.0 / 26}, 4);
}

static bool is_integer(enum data_type type)
{
    return type == TYPE_INT8 || type == TYPE_INT32;
}

/* Moves an element by five percent, or by one where it is an integer. */
static void spoil(const struct tensor *y, const struct reference *reference, int64_t index,
                  void *data)
{
    struct tensor_walk walk;
    double value = reference->value[index];
    double step = 0.05 * fmax(fabs(value), (double)reference->magnitude[index]) + 1e-3;
    tensor_walk_init(&walk, y);
    for (int64_t i = 0; i < index; i++)
        tensor_walk_next(&walk);
    if (is_integer(y->type)) {
        /* away from the value: at a tie both neighbours are right */
        double nearest = nearbyint(value), most = y->type == TYPE_INT8 ? 127 : INT32_MAX;
        step = nearest >= value ? 1 : -1;
        step = fabs(nearest + step) > most ? -step : step;
        value = nearest;
    }
    tensor_store(y->type, data, walk.offset, value + step);
}

/* An output as the reference has it is right; with one element moved it is wrong. */
static void check_verdicts(const struct problem *p, GRand *random)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree double *x = random_elements(random, p, TENSOR_X);
    const double *dense[OPERAND_COUNT] = {[TENSOR_X] = x};
    struct reference *reference = reference_compute(p, dense, 1, 0, NULL);
    struct tolerance tolerance;
    struct verdict right, wrong;
    struct tensor y;
    tensor_init(&y, p, TENSOR_Y);
    tolerance_init(&tolerance, p, NULL, reference->length);
    g_autofree void *data = g_malloc0((gsize)tensor_bytes(&y));
    tensor_from_dense(&y, reference->value, data);
    verify_output(&y, data, 0xff, reference, &tolerance, &right);
    spoil(&y, reference, g_rand_int_range(random, 0, (gint32)reference->count), data);
    verify_output(&y, data, 0xff, reference, &tolerance, &wrong);
    if (right.failure == wrong.failure || strlen(right.detail) > 0) {
        g_test_message("%s: right: %s; wrong: %s", problem_key(p, key), right.detail, wrong.detail);
        g_test_fail();
    }
    reference_unref(reference);
}

static void one_wrong_element_is_found(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed() + 1);
    for (int i = 0; i < test_effort(PROBLEMS); i++) {
        struct problem p;
        operator_random_problem(random, (enum op_kind)(OP_POOL + i % (OP_KIND_COUNT - 1)), false,
                                &p);
        if (strstr(p.mode, ",-2") == NULL)
            check_verdicts(&p, random);
    }
}

static void elements_that_are_copied_must_be_equal(void)
{
    struct problem p;
    struct tolerance tolerance;
    g_assert_true(
        problem_key_parse("pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-INT8-F", &p, NULL));
    tolerance_init(&tolerance, &p, NULL, 1);
    g_assert_true(tolerance.exact);
    g_strlcpy(p.mode, "average", sizeof p.mode);
    tolerance_init(&tolerance, &p, NULL, 4);
    g_assert_false(tolerance.exact);
}

/* Sets an element of the output to the type's next larger number. */
static void move_by_one(const struct tensor *y, void *data, int64_t at)
{
    switch (data_type_bytes(y->type)) {
    case 2: ((uint16_t *)data)[at]++; return;
    case 4: ((uint32_t *)data)[at]++; return;
    default: ((uint64_t *)data)[at]++;
    }
}

/* A copy, a transpose, a cast to a wider type, a max pool or a nearest resize that is off in the last place of one
 * element is wrong. */
static void copies_that_are_off_in_the_last_place_are_found(void)
{
    static const char *const keys[] = {
        "pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP32-F",
        "pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP16-F",
        "pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-BF16-F",
        "pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP64-F",
        "pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-NCHW-NHWC-FP32-F",
        "pointwise-8-5-6-1x1-8-5-6-2-0x0-1x1-1x1-0-NCHW-FP16FP16FP32-F",
        "pool(max)-8-8-8-2x2-8-4-4-2-0x0-2x2-1x1-0-NCHW-FP32-F",
        "resize(nearest,asymmetric,floor)-8-4-4-1x1-8-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autoptr(GError) error = NULL;
        struct tolerance tolerance;
        struct verdict verdict;
        struct tensor x, y;
        struct problem p;
        problem_key_parse(keys[i], &p, &error);
        g_assert_no_error(error);
        tensor_init(&x, &p, TENSOR_X);
        tensor_init(&y, &p, TENSOR_Y);
        g_autofree double *values = random_dense(&p, &x, TENSOR_X, 7);
        struct reference *reference = of_key(keys[i], values);
        tolerance_init(&tolerance, &p, NULL, reference->length);
        g_autofree void *data = g_malloc0((gsize)tensor_bytes(&y));
        tensor_from_dense(&y, reference->value, data);
        verify_output(&y, data, 0xff, reference, &tolerance, &verdict);
        g_assert_cmpstr(verdict.detail, ==, "");
        g_assert_cmpfloat(verdict.error, ==, 0);
        move_by_one(&y, data, 77);
        verify_output(&y, data, 0xff, reference, &tolerance, &verdict);
        g_test_message("%s: %s", keys[i], verdict.detail);
        g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
        g_assert_true(g_str_has_prefix(verdict.detail, "1 of "));
        reference_unref(reference);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/reference_operators/kinds_are_right", kinds_are_right);
    g_test_add_func("/reference_operators/known_numbers_are_found", known_numbers_are_found);
    g_test_add_func("/reference_operators/one_wrong_element_is_found", one_wrong_element_is_found);
    g_test_add_func("/reference_operators/elements_that_are_copied_must_be_equal",
                    elements_that_are_copied_must_be_equal);
    g_test_add_func("/reference_operators/copies_that_are_off_in_the_last_place_are_found",
                    copies_that_are_off_in_the_last_place_are_found);
    return g_test_run();
}
