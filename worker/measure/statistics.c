#include "worker/measure/statistics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define CONFIDENCE 0.95

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void statistics_sort(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(values[0]), compare_doubles);
}

double statistics_quantile(const double *sorted, int count, double q)
{
    double at = q * (count - 1);
    int below = (int)floor(at);

    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

double statistics_median(const double *sorted, int count)
{
    return statistics_quantile(sorted, count, 0.5);
}

double statistics_spread(const double *sorted, int count)
{
    double median = statistics_median(sorted, count);

    if (median <= 0)
        return 0;
    return (statistics_quantile(sorted, count, 0.75) - statistics_quantile(sorted, count, 0.25)) /
           median;
}

/* The logarithm of the probability that exactly `below` of `count` values lie below the true median. Logarithms,
 * since a count of some thousand overflows the factorials. */
static double log_binomial_half(int count, int below)
{
    return lgamma(count + 1.0) - lgamma(below + 1.0) - lgamma(count - below + 1.0) -
           count * log(2.0);
}

bool statistics_median_interval(const double *sorted, int count, double *low, double *high)
{
    /* An interval from value i to value count-1-i misses the median if at most i values lie on
     * one side of the median: the probabilities of both sides are added. */
    double missed = 0;
    int ends = 0;

    while (ends < count / 2) {
        missed += 2 * exp(log_binomial_half(count, ends));
        if (missed > 1 - CONFIDENCE)
            break;
        ends++;
    }
    if (ends == 0)
        return false;
    *low = sorted[ends - 1];
    *high = sorted[count - ends];
    return true;
}

double statistics_median_precision(const double *sorted, int count)
{
    double low, high, median = statistics_median(sorted, count);

    if (median <= 0 || !statistics_median_interval(sorted, count, &low, &high))
        return DBL_MAX;
    return (high - low) / 2 / median;
}
