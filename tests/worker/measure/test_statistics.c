#include "worker/measure/statistics.h"

#include <float.h>
#include <glib.h>

static void test_quantiles(void)
{
    static const struct {
        int count;
        double values[6], median, quarter;
    } rows[] = {
        {1, {3}, 3, 3},
        {2, {1, 2}, 1.5, 1.25},
        {3, {1, 2, 9}, 2, 1.5},
        {4, {1, 2, 3, 4}, 2.5, 1.75},
        {5, {1, 2, 3, 4, 100}, 3, 2},
        {6, {1, 1, 1, 1, 1, 7}, 1, 1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpfloat(statistics_median(rows[i].values, rows[i].count), ==, rows[i].median);
        g_assert_cmpfloat(statistics_quantile(rows[i].values, rows[i].count, 0.25), ==,
                          rows[i].quarter);
        g_assert_cmpfloat(statistics_quantile(rows[i].values, rows[i].count, 1), ==,
                          rows[i].values[rows[i].count - 1]);
    }
}

/* The expected ranks (from 1) are those of printed tables of the sign test, two-sided, 5 %. */
static void test_interval(void)
{
    static const struct {
        int count, low, high;
    } rows[] = {
        {5, 0, 0},   {6, 1, 6},   {7, 1, 7},   {8, 1, 8},   {9, 2, 8},    {10, 2, 9},
        {12, 3, 10}, {15, 4, 12}, {20, 6, 15}, {25, 8, 18}, {40, 14, 27}, {100, 40, 61},
    };
    double sorted[100];
    for (int i = 0; i < 100; i++)
        sorted[i] = i + 1;
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        double low = 0, high = 0;
        bool found = statistics_median_interval(sorted, rows[i].count, &low, &high);
        g_assert_cmpint(found, ==, rows[i].low > 0);
        g_assert_cmpfloat(low, ==, rows[i].low);
        g_assert_cmpfloat(high, ==, rows[i].high);
    }
}

static void test_large_counts(void)
{
    static double sorted[5000];
    double low, high;
    for (int i = 0; i < 5000; i++)
        sorted[i] = i + 1;
    g_assert_true(statistics_median_interval(sorted, 5000, &low, &high));
    /* 2500 -+ 1.96 * sqrt(5000)/2 */
    g_assert_cmpfloat_with_epsilon(low, 2431, 2);
    g_assert_cmpfloat_with_epsilon(high, 2570, 2);
}

static void test_precision(void)
{
    static const double even[] = {10, 10, 10, 10, 10, 10}, few[] = {1, 1, 1, 1, 1},
                        wide[] = {5, 10, 10, 10, 10, 15}, zero[] = {0, 0, 0, 0, 0, 0};
    g_assert_cmpfloat(statistics_median_precision(even, 6), ==, 0);
    g_assert_cmpfloat(statistics_median_precision(few, 5), ==, DBL_MAX);
    g_assert_cmpfloat(statistics_median_precision(wide, 6), ==, 0.5);
    g_assert_cmpfloat(statistics_median_precision(zero, 6), ==, DBL_MAX);
}

static void test_spread(void)
{
    double values[] = {9, 1, 3, 2, 4};
    statistics_sort(values, 5);
    g_assert_cmpfloat(values[0], ==, 1);
    g_assert_cmpfloat(values[4], ==, 9);
    g_assert_cmpfloat(statistics_spread(values, 5), ==, 2.0 / 3.0);
    values[2] = 0;
    g_assert_cmpfloat(statistics_spread(values, 5), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/statistics/quantiles_interpolate", test_quantiles);
    g_test_add_func("/statistics/interval_has_the_ranks_of_the_sign_test", test_interval);
    g_test_add_func("/statistics/interval_of_many_values_is_the_normal_one", test_large_counts);
    g_test_add_func("/statistics/precision_is_half_the_interval", test_precision);
    g_test_add_func("/statistics/spread_is_the_interquartile_range", test_spread);
    return g_test_run();
}
