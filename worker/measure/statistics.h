/*
 * Order statistics of a sample of times: the numbers that a measurement stores,
 * and the precision of the median so far. Pure functions. They assume no normal
 * distribution, since times are bounded below and have a long tail above.
 */
#ifndef WORKER_MEASURE_STATISTICS_H
#define WORKER_MEASURE_STATISTICS_H

#include <stdbool.h>

/* Sorts the values ascending. The functions below need sorted values and count >= 1. */
void statistics_sort(double *values, int count);

/* The q-quantile, 0 <= q <= 1, by linear interpolation between order statistics (R's type 7). */
double statistics_quantile(const double *sorted, int count, double q);
double statistics_median(const double *sorted, int count);

/* The interquartile range divided by the median; 0 if the median is not positive. */
double statistics_spread(const double *sorted, int count);

/*
 * A confidence interval of the true median, from low to high, that holds with a probability of at least 95 %. Each
 * value lies below the true median with probability 1/2, so the number of values below it is binomial; low and
 * high are the narrowest pair of order statistics, equally far from both ends, that this leaves outside with at
 * most 5 % (the sign test's interval: Conover, Practical Nonparametric Statistics, 1999, section 3.2). False for
 * fewer than 6 values, where even the smallest and the largest one reach less than 95 %.
 */
bool statistics_median_interval(const double *sorted, int count, double *low, double *high);

/* Half the width of the median's confidence interval divided by the median; DBL_MAX if there is
 * no interval or the median is not positive. */
double statistics_median_precision(const double *sorted, int count);

#endif
