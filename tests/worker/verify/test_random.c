#include "worker/verify/random.h"

#include <math.h>

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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/random/inputs_follow_from_the_seed", test_random);
    g_test_add_func("/random/values_fill_their_range", test_values_fill_their_range);
    return g_test_run();
}
