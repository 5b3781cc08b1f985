#include "worker/verify/random.h"

#include <math.h>

#include "solvers/problem/problem_key.h"
#include "worker/verify/reference.h"

static void test_random(void)
{
    struct problem p;
    struct tensor tensor;
    problem_init(&p);
    p.c = 50;
    tensor_init(&tensor, &p, TENSOR_X);
    g_autofree double *a = random_dense(&p, &tensor, TENSOR_X, 1);
    g_autofree double *b = random_dense(&p, &tensor, TENSOR_X, 1);
    g_autofree double *c = random_dense(&p, &tensor, TENSOR_X, 2);
    g_assert_cmpmem(a, 50 * sizeof(*a), b, 50 * sizeof(*b));
    g_assert_cmpfloat(a[0], !=, c[0]);
    g_autofree double *filter = random_dense(&p, &tensor, TENSOR_W, 1);
    for (int i = 0; i < 50; i++) {
        g_assert_cmpfloat(a[i], !=, filter[i]); /* each tensor has its own random numbers */
        g_assert_cmpfloat(a[i], !=, a[(i + 1) % 50]);
    }
    g_assert_cmphex(random_bits(1234567, 0), ==,
                    0x599ed017fb08fc85); /* test vector published with the generator */
    for (int i = 0; i < 50; i++)
        g_assert_true(fabs(a[i]) >= 0.25 && fabs(a[i]) <= 1 && (double)(float)a[i] == a[i]);
}

/* 10,000 elements of each type have both signs equally often and sizes even over their range. If
 * inputs were alike, a kernel that reads the wrong element would pass. */
static void test_values_fill_their_range(void)
{
    static const struct {
        enum data_type type;
        double least, most;
    } rows[] = {{TYPE_FP32, 0.25, 1}, {TYPE_FP16, 0.25, 1}, {TYPE_BF16, 0.25, 1},
                {TYPE_FP64, 0.25, 1}, {TYPE_INT8, 1, 8},    {TYPE_INT32, 1, 8}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct random_spread spread = {.scale = 1, .range = 8, .last = 1};
        double least = INFINITY, most = 0, sum = 0;
        int negative = 0;
        for (uint64_t k = 0; k < 10000; k++) {
            double value = random_value(rows[i].type, &spread, random_bits(5, k));
            double size = fabs(value);
            least = fmin(least, size);
            most = fmax(most, size);
            sum += size;
            negative += value < 0;
        }
        g_test_message("type %d: %g to %g, mean %g, %d negative", (int)rows[i].type, least, most,
                       sum / 10000, negative);
        g_assert_cmpfloat_with_epsilon(least, rows[i].least, 0.001);
        g_assert_cmpfloat_with_epsilon(most, rows[i].most, 0.001);
        /* Five standard errors of the mean, which are at most 2.3 / 100, and of the count, 50. */
        g_assert_cmpfloat_with_epsilon(sum / 10000, (rows[i].least + rows[i].most) / 2, 0.12);
        g_assert_cmpint(ABS(negative - 5000), <, 250);
    }
}

static void make_problem(struct problem *p, const char *key)
{
    g_autoptr(GError) error = NULL;
    problem_key_parse(key, p, &error);
    g_assert_no_error(error);
    problem_validate(p, &error);
    g_assert_no_error(error);
}

/* How many of a problem's results are at the ends of INT8's range, and how many distinct ones there are. */
static void count_results(const char *key, int64_t *at_ends, int64_t *distinct, int64_t *count)
{
    g_autoptr(GError) error = NULL;
    double *dense[OPERAND_COUNT] = {NULL};
    bool seen[256] = {false};
    struct problem p;
    make_problem(&p, key);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        struct tensor tensor;
        tensor_init(&tensor, &p, (enum tensor_role)t);
        if (t != TENSOR_Y && tensor_exists(&tensor))
            dense[t] = random_dense(&p, &tensor, (enum tensor_role)t, 3);
    }
    struct reference *r = reference_compute(&p, (const double *const *)dense, 2, 0, &error);
    g_assert_no_error(error);
    *at_ends = *distinct = 0;
    *count = r->count;
    for (int64_t i = 0; i < r->count; i++) {
        int value = (int)tensor_round(TYPE_INT8, r->value[i]);
        *at_ends += fabs(r->value[i]) >= 127;
        *distinct += !seen[value + 128];
        seen[value + 128] = true;
    }
    for (int t = 0; t < OPERAND_COUNT; t++)
        g_free(dense[t]);
    reference_unref(r);
}

/* Requantised results are spread over INT8's range, and some saturate, whatever the length of the sums: otherwise a
 * kernel that forgets to saturate, or takes another channel's scale, would pass. */
static void test_requantised_results_fill_their_range(void)
{
    static const char *const keys[] = {
        "1-40-40-1x1-4-40-40-1-0x0-1x1-1x1-0-NCHW-INT8-F+requant(INT8,channel)",
        "8-40-40-3x3-8-40-40-1-1x1-1x1-1x1-0-NCHW-INT8-F_g8+bias+requant(INT8,tensor)",
        "64-20-20-3x3-8-20-20-1-1x1-1x1-1x1-0-NCHW-INT8-F+bias+requant(INT8,channel)",
        "512-20-20-3x3-8-20-20-1-1x1-1x1-1x1-0-NCHW-INT8-F+requant(INT8,channel)+add(INT8,NCHW)",
        "64-20-20-3x3-8-20-20-1-1x1-1x1-1x1-0-NCHW-INT8-F+add(INT8,NCHW)+requant(INT8,channel)",
        "pointwise-8-20-20-1x1-8-20-20-1-0x0-1x1-1x1-0-NCHW-FP32FP32INT8-F+requant(INT8,tensor)",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        int64_t at_ends, distinct, count;
        count_results(keys[i], &at_ends, &distinct, &count);
        g_test_message("%s: %d of %d at the ends, %d distinct", keys[i], (int)at_ends, (int)count,
                       (int)distinct);
        g_assert_cmpint(at_ends, >, count / 100);
        g_assert_cmpint(at_ends, <, count * 2 / 3);
        g_assert_cmpint(distinct, >, 40);
    }
}

/* Bias and residual are as large as the sums, or as the bounds of a clip, so that both sides of an activation occur. */
static void test_operands_are_as_large_as_what_they_meet(void)
{
    static const struct {
        const char *key;
        enum tensor_role role;
        double least, most; /* of the largest absolute value */
    } rows[] = {
        {"16-9-9-1x1-8-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F+bias+relu", TENSOR_BIAS, 1, 4},
        {"1-9-9-3x3-9-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F+bias+clip(0,6)", TENSOR_BIAS, 4, 16},
        {"512-9-9-3x3-64-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu", TENSOR_BIAS, 16, 64},
        {"512-9-9-3x3-64-9-9-1-1x1-1x1-1x1-0-NCHW-FP16-F+add(FP16,NCHW)", TENSOR_RESIDUAL, 16, 64},
        {"512-9-9-3x3-64-9-9-1-1x1-1x1-1x1-0-NCHW-FP16-F+mul(FP16,NCHW)", TENSOR_RESIDUAL, 0.5, 1},
        {"16-9-9-1x1-8-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F+prelu", TENSOR_SCALES, 0.5, 2},
        {"512-9-9-3x3-64-9-9-1-1x1-1x1-1x1-0-NCHW-INT8-F+bias+requant(INT8,channel)", TENSOR_BIAS,
         800, 4096},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        struct tensor tensor;
        double most = 0;
        make_problem(&p, rows[i].key);
        tensor_init(&tensor, &p, rows[i].role);
        g_autofree double *dense = random_dense(&p, &tensor, rows[i].role, 1);
        for (int64_t k = 0; k < tensor_count(&tensor); k++)
            most = fmax(most, fabs(dense[k]));
        g_test_message("%s: %g", rows[i].key, most);
        g_assert_cmpfloat(most, >=, rows[i].least);
        g_assert_cmpfloat(most, <=, rows[i].most);
    }
}

/* A residual that repeats its elements along an axis has one value for all of them. */
static void test_repeated_elements_are_equal(void)
{
    struct problem p;
    struct tensor tensor;
    make_problem(&p, "4-3-5-1x1-6-3-5-2-0x0-1x1-1x1-0-NCHW-FP32-F_sr6x1x0x0x0+add(FP32,NCHW)");
    tensor_init(&tensor, &p, TENSOR_RESIDUAL);
    g_autofree double *dense = random_dense(&p, &tensor, TENSOR_RESIDUAL, 1);
    for (int64_t i = 0; i < 2 * 6 * 15; i++) {
        g_assert_cmpfloat(dense[i], ==, dense[i / 15 * 15]);
        g_assert_true(i < 15 || dense[i] != dense[i - 15]);
    }
}

/* The values of x and w for each kind of inputs, by type and direction. */
static void test_kinds(void)
{
    static const char *const keys[] = {
        "64-9-11-3x3-16-9-11-2-1x1-1x1-1x1-0-NCHW-FP32-F",
        "64-9-11-3x3-16-9-11-2-1x1-1x1-1x1-0-NCHW-FP16-F",
        "64-9-11-3x3-16-9-11-2-1x1-1x1-1x1-0-NCHW-FP16-W",
        "64-9-11-3x3-16-9-11-2-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        struct problem p;
        make_problem(&p, keys[i]);
        bool integers = p.type[TENSOR_X] == TYPE_INT8;
        g_assert_true(random_whole_is_exact(&p));
        for (int kind = 0; kind < INPUT_KIND_COUNT; kind++) {
            struct tensor tensor;
            double least = INFINITY, most = 0;
            bool whole = true;
            tensor_init(&tensor, &p, TENSOR_X);
            g_autofree double *x =
                random_dense(&p, &tensor, TENSOR_X, random_seed(3, (enum input_kind)kind));
            for (int64_t k = 0; k < tensor_count(&tensor); k++) {
                least = fmin(least, fabs(x[k]));
                most = fmax(most, fabs(x[k]));
                whole = whole && x[k] == floor(x[k]);
            }
            g_test_message("%s, %s: %g to %g", keys[i], input_kind_name((enum input_kind)kind),
                           least, most);
            g_assert_true(whole || !(integers || kind == INPUT_WHOLE || kind == INPUT_ZERO));
            g_assert_true((most == 0) == (kind == INPUT_ZERO));
            if (kind == INPUT_RANDOM || integers)
                g_assert_cmpfloat(most, <=, 8);
            if (kind == INPUT_SMALL && !integers)
                g_assert_cmpfloat(most, <=, 1.0 / 16);
            if (kind == INPUT_LARGE && !integers)
                g_assert_cmpfloat(most, >, p.type[TENSOR_X] == TYPE_FP16 ? 1 : 1e5);
            if (kind == INPUT_WHOLE)
                g_assert_cmpfloat(least, >=, 1);
        }
    }
}

/* An LRN's inputs are so large that a kernel which forgets the sum of squares, or a neighbour of it, is far off. */
static void test_lrn(void)
{
    static const char *const keys[] = {
        "lrn(5,0.0001,0.75,1)-64-9-9-1x1-64-9-9-1-0x0-1x1-1x1-0-NCHW-BF16-F",
        "lrn(5,0.0001,0.75,2)-3-9-9-1x1-3-9-9-1-0x0-1x1-1x1-0-NCHW-FP16-F",
        "lrn(3,3,1,1)-64-9-9-1x1-64-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autoptr(GError) error = NULL;
        const double *dense[OPERAND_COUNT] = {NULL};
        struct tensor tensor;
        struct problem p;
        double share = 0;
        make_problem(&p, keys[i]);
        tensor_init(&tensor, &p, TENSOR_X);
        g_autofree double *x = random_dense(&p, &tensor, TENSOR_X, 1);
        dense[TENSOR_X] = x;
        struct reference *reference = reference_compute(&p, dense, 1, 0, &error);
        g_assert_no_error(error);
        double without = i == 1 ? exp2(-0.75) : 1; /* bias to the power of -beta */
        for (int64_t k = 0; k < reference->count; k++)
            share += reference->value[k] / (x[k] * without) / (double)reference->count;
        g_test_message("%s: %.3f of the results without the sum", keys[i], share);
        g_assert_cmpfloat(share, <, 0.8);
        g_assert_cmpfloat(share, >, 0.1);
        reference_unref(reference);
    }
}

/* Sums that are too long for whole numbers of two values each are not taken as exact. */
static void test_whole_limit(void)
{
    struct problem p;
    problem_init(&p);
    p.c = 1 << 25;
    problem_set_output(&p);
    g_assert_false(random_whole_is_exact(&p));
    p.c = 1 << 24;
    g_assert_true(random_whole_is_exact(&p));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/random/inputs_follow_from_the_seed", test_random);
    g_test_add_func("/random/values_fill_their_range", test_values_fill_their_range);
    g_test_add_func("/random/requantised_results_fill_their_range",
                    test_requantised_results_fill_their_range);
    g_test_add_func("/random/operands_are_as_large_as_what_they_meet",
                    test_operands_are_as_large_as_what_they_meet);
    g_test_add_func("/random/repeated_elements_are_equal", test_repeated_elements_are_equal);
    g_test_add_func("/random/kinds_of_inputs", test_kinds);
    g_test_add_func("/random/sum_of_an_lrn_counts", test_lrn);
    g_test_add_func("/random/whole_numbers_have_a_limit", test_whole_limit);
    return g_test_run();
}
