/*
 * Order statistics of a sample of times: what a measurement stores and how it
 * knows that it has seen enough. Pure functions; nothing assumes a normal
 * distribution, since times are bounded below and have a long tail above.
 */
#ifndef WORKER_STATISTICS_H
#define WORKER_STATISTICS_H

#include <stdbool.h>

/* Sorts ascending. The functions below want sorted values and count >= 1. */
void statistics_sort(double *values, int count);

/* The quantile by linear interpolation between order statistics (R's type 7), at 0 <= q <= 1. */
double statistics_quantile(const double *sorted, int count, double q);
double statistics_median(const double *sorted, int count);

/* The interquartile range over the median; 0 when the median is not positive. */
double statistics_spread(const double *sorted, int count);

/* A confidence interval of the median that holds with at least 95 %, from the binomial
 * distribution of how many values lie below the median: the narrowest pair of order statistics
 * low <= median <= high with equal distance from the ends. False below 6 values, where no pair
 * reaches 95 %. */
bool statistics_median_interval(const double *sorted, int count, double *low, double *high);

/* The interval's half width over the median; a large number where there is no interval. */
double statistics_median_precision(const double *sorted, int count);

#endif
