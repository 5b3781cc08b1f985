#include "worker/verify/verify.h"

#include <math.h>
#include <string.h>

#include "solvers/problem/problem_key.h"
#include "worker/verify/random.h"

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

/* INT8 elements that the reference does not have: a few may equal the poison by chance, many were not written. */
static void test_bytes_equal_to_the_poison(void)
{
    static const struct {
        int equal;
        enum failure failure;
    } cases[] = {{0, FAILURE_NONE},
                 {8, FAILURE_NONE},
                 {100, FAILURE_NONE},
                 {500, FAILURE_WRONG_RESULT},
                 {1000, FAILURE_WRONG_RESULT}};
    static const struct tolerance near = {.smallest = 0.5, .overflow = INFINITY};
    double value[1000];
    float magnitude[1000];
    const struct reference reference = {
        .role = TENSOR_Y, .value = value, .magnitude = magnitude, .count = 1000, .largest = 1};
    struct problem p;
    struct tensor y;
    uint8_t data[1000];

    problem_init(&p);
    p.type[TENSOR_Y] = TYPE_INT8;
    p.k = 1000;
    problem_set_output(&p);
    tensor_init(&y, &p, TENSOR_Y);
    for (int i = 0; i < 1000; i++) {
        value[i] = NAN;
        magnitude[i] = NAN;
    }
    for (gsize c = 0; c < G_N_ELEMENTS(cases); c++) {
        struct verdict verdict;
        memset(data, 3, sizeof data);
        memset(data, 0x55, (gsize)cases[c].equal);
        verify_output(&y, data, 0x55, &reference, &near, &verdict);
        g_assert_cmpint(verdict.failure, ==, cases[c].failure);
    }
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

/* ---- mistakes with an epilogue's operands ---- */

struct operands {
    struct problem p;
    struct tensor tensors[OPERAND_COUNT];
    double *dense[OPERAND_COUNT];
};

static void operands_init(struct operands *o, const char *key)
{
    g_autoptr(GError) error = NULL;
    *o = (struct operands){0};
    problem_key_parse(key, &o->p, &error);
    g_assert_no_error(error);
    problem_validate(&o->p, &error);
    g_assert_no_error(error);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        tensor_init(&o->tensors[t], &o->p, (enum tensor_role)t);
        if (t != (int)problem_output_role(&o->p) && tensor_exists(&o->tensors[t]))
            o->dense[t] = random_dense(&o->p, &o->tensors[t], (enum tensor_role)t, 5);
    }
}

static void operands_clear(struct operands *o)
{
    for (int t = 0; t < OPERAND_COUNT; t++)
        g_free(o->dense[t]);
}

static struct reference *compute(const struct operands *o)
{
    g_autoptr(GError) error = NULL;
    struct reference *r = reference_compute(&o->p, (const double *const *)o->dense, 2, 0, &error);
    g_assert_no_error(error);
    return r;
}

/* The share of the elements that are found wrong in an output that holds the values of `made`. */
static double wrong_share(const struct operands *o, const struct reference *right,
                          const struct reference *made, const struct solution_rounding *rounding)
{
    const struct tensor *y = &o->tensors[problem_output_role(&o->p)];
    g_autofree void *data = g_malloc0((gsize)tensor_bytes(y));
    struct tolerance tolerance;
    struct verdict verdict;
    tensor_from_dense(y, made->value, data);
    tolerance_init(&tolerance, &o->p, rounding, right->length);
    verify_output(y, data, 0xff, right, &tolerance, &verdict);
    return g_ascii_strtod(verdict.detail, NULL) / (double)right->count;
}

/* The operand with its elements moved on by one channel, or all zero. */
static void spoil(struct operands *o, enum tensor_role role, bool moved)
{
    int64_t count = tensor_count(&o->tensors[role]);
    double first = o->dense[role][0];
    for (int64_t i = 0; i < count; i++)
        o->dense[role][i] = !moved ? 0 : i + 1 < count ? o->dense[role][i + 1] : first;
}

/* An output computed without an operand, or with another channel's, is wrong in many elements: for every type, length
 * of the sum, and tolerance: of plain sums, of the largest tiles of Winograd, and of a Fourier transform. */
static void test_forgotten_operands_are_found(void)
{
    static const char *const keys[] = {
        "1-12-12-3x3-8-12-12-1-1x1-1x1-1x1-0-NCHW-FP32-F+bias+add(FP32,NCHW)+relu",
        "1024-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F+bias+add(FP32,NCHW)+relu",
        "1024-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP16-F+bias+add(FP16,NCHW)+relu",
        "1024-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-BF16-F+bias+add(BF16,NCHW)+relu",
        "64-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-BF16-F+scale(channel)+bias+add(BF16,NCHW)+silu",
        "64-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-INT8-F+bias+requant(INT8,channel)+add(INT8,NCHW)",
        "1024-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-INT8INT8FP16-F+bias+scale(channel)+clip(0,6)",
        "64-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP16-B+bias+add(FP16,NCHW)",
    };
    static const struct solution_rounding roundings[] = {
        {0}, {true, 8, 10.5, 24, 0, 0, 0, 0}, {true, 8, 0.47, 93, 0, 0, 0, 0}};
    for (gsize i = 0; i < G_N_ELEMENTS(keys) * G_N_ELEMENTS(roundings) * 3 * 2; i++) {
        const char *key = keys[i / 18];
        const struct solution_rounding *rounding = &roundings[i / 6 % 3];
        enum tensor_role role = (enum tensor_role)(TENSOR_RESIDUAL + i / 2 % 3);
        struct operands o;
        operands_init(&o, key);
        if (o.dense[role]) {
            struct reference *right = compute(&o);
            g_assert_cmpfloat(wrong_share(&o, right, right, rounding), ==, 0);
            spoil(&o, role, i % 2);
            struct reference *made = compute(&o);
            double share = wrong_share(&o, right, made, rounding);
            g_test_message("%s, growth %g, operand %d %s: %.2f wrong", key, rounding->growth,
                           (int)role, i % 2 ? "moved" : "forgotten", share);
            g_assert_cmpfloat(share, >, 0.1);
            reference_unref(right);
            reference_unref(made);
        }
        operands_clear(&o);
    }
}

/* Results that are no numbers: right where the reference has them, but never if nobody wrote them. */
static void test_roots(void)
{
    static const struct {
        double x;
        float got;
        bool is_wrong;
    } rows[] = {{4, 2, false},    {4, NAN, true},   {-4, 2, true},
                {-4, NAN, false}, {1e-9, 5, false}, {-1e-9, NAN, false}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const double x[] = {rows[i].x, 1000}, w[] = {1, 0};
        const double *const dense[OPERAND_COUNT] = {x, w};
        g_autoptr(GError) error = NULL;
        struct tolerance tolerance;
        struct verdict verdict;
        struct tensor y;
        struct problem p;
        problem_init(&p);
        strcpy(p.epilogue, "+sqrt");
        struct reference *r = reference_compute(&p, dense, 1, 0, &error);
        g_assert_no_error(error);
        r->magnitude[0] = 5;
        if (fabs(x[0]) < 1)
            r->slack[0] = INFINITY;
        tensor_init(&y, &p, TENSOR_Y);
        tolerance_init(&tolerance, &p, NULL, 1);
        verify_output(&y, &rows[i].got, 0xff, r, &tolerance, &verdict);
        g_test_message("%g for the root of %g", (double)rows[i].got, x[0]);
        g_assert_cmpint(verdict.failure, ==,
                        rows[i].is_wrong ? FAILURE_WRONG_RESULT : FAILURE_NONE);
        const uint32_t poison = UINT32_MAX;
        verify_output(&y, &poison, 0xff, r, &tolerance, &verdict);
        g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
        reference_unref(r);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/verify/write_into_a_gap_is_found", test_holes);
    g_test_add_func("/verify/a_few_bytes_may_equal_the_poison", test_bytes_equal_to_the_poison);
    g_test_add_func("/verify/errors_above_the_tolerance_are_wrong", test_limit);
    g_test_add_func("/verify/forgotten_operands_are_found", test_forgotten_operands_are_found);
    g_test_add_func("/verify/not_a_number_may_be_right_if_it_was_written", test_roots);
    return g_test_run();
}
