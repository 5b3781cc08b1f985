/*
 * Student's t by the regularized incomplete beta function: P(|T| > t) = I_x(v/2, 1/2) with x = v / (v + t^2)
 * (Abramowitz and Stegun 26.7.1; DLMF 8.17.22 has the continued fraction, which is evaluated by Lentz's way).
 */
#include "coordinator/nights/judge/regression_statistics.h"

#include <math.h>
#include <stdlib.h>

/* The median absolute deviation of a normal sample is 0.6745 standard deviations. */
#define DEVIATION_PER_MAD 1.4826

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sample_quantile(double *values, guint count, double share)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    double place = share * (count - 1);
    guint low = (guint)place;
    guint high = MIN(low + 1, count - 1);
    return values[low] + (place - low) * (values[high] - values[low]);
}

double sample_median(double *values, guint count)
{
    return sample_quantile(values, count, 0.5);
}

double statistics_middle(double *values, guint count, double toward)
{
    g_assert(count > 0);
    qsort(values, count, sizeof *values, by_value);
    double low = values[(count - 1) / 2], high = values[count / 2];
    return fabs(low - toward) <= fabs(high - toward) ? low : high;
}

double statistics_deviation(double *values, guint count)
{
    double median = sample_median(values, count);
    g_autofree double *apart = g_new(double, MAX(count, 1));
    for (guint i = 0; i < count; i++)
        apart[i] = fabs(values[i] - median);
    return DEVIATION_PER_MAD * sample_median(apart, count);
}

/* ---- Student's t ---- */

static double avoid_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of I_x(a, b); it converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 / avoid_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m <= 300; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / avoid_zero(1 + even * d);
        c = avoid_zero(1 + even / c);
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / avoid_zero(1 + odd * d);
        c = avoid_zero(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return value;
}

static double incomplete_beta(double x, double a, double b)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
                                     : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_tail(double t, double freedom)
{
    return 0.5 * incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double student_quantile(double tail, double freedom)
{
    double low = 0, high = 1;
    while (student_tail(high, freedom) > tail && high < 1e12)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (student_tail(middle, freedom) > tail)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double student_freedom(double ratio, double share)
{
    /* The ratio falls as the degrees rise. */
    double low = 1, high = 100;
    for (int i = 0; i < 60; i++) {
        double middle = sqrt(low * high);
        double its = student_quantile((1 - share) / 2, middle) / student_quantile(0.25, middle);
        if (its > ratio)
            low = middle;
        else
            high = middle;
    }
    return sqrt(low * high);
}

/* ---- medians, many tests ---- */

/* More than half of the values must exceed x: a sum of binomial probabilities. */
double middle_tail(double tail, int count)
{
    double sum = 0;
    for (int over = count / 2 + 1; over <= count; over++)
        sum += exp(lgamma(count + 1) - lgamma(over + 1) - lgamma(count - over + 1)) *
               pow(tail, over) * pow(1 - tail, count - over);
    return MIN(sum, 1);
}

struct ranked {
    double p;
    guint at;
};

static int by_p(const void *a, const void *b)
{
    return by_value(&((const struct ranked *)a)->p, &((const struct ranked *)b)->p);
}

void statistics_adjust(double *p, guint count, int tests)
{
    g_autofree struct ranked *order = g_new(struct ranked, MAX(count, 1));
    for (guint i = 0; i < count; i++)
        order[i] = (struct ranked){p[i], i};
    qsort(order, count, sizeof *order, by_p);
    double least = 1;
    for (guint i = count; i-- > 0;) {
        least = MIN(least, order[i].p * MAX(tests, (int)count) / (i + 1));
        p[order[i].at] = least;
    }
}
