/*
 * The statistics of regressions.h: medians, Student's t, medians of samples with heavy tails, and the adjustment of
 * p-values for many tests. REGRESSIONS.md has the sources.
 */
#ifndef COORDINATOR_NIGHTS_JUDGE_REGRESSION_STATISTICS_H
#define COORDINATOR_NIGHTS_JUDGE_REGRESSION_STATISTICS_H

#include <glib.h>

/* Sorts the values and returns their median; 0 without values. */
double sample_median(double *values, guint count);
/* Sorts the values and returns the quantile `share`, between two values by their distance; 0 without values. */
double sample_quantile(double *values, guint count, double share);
/* Sorts the values and returns the middle one; of two middle ones that which is nearer to `toward`. */
double statistics_middle(double *values, guint count, double toward);
/* The standard deviation of a normal sample, by its median absolute deviation. Sorts the values. */
double statistics_deviation(double *values, guint count);

/* P(T > t) for Student's t with `freedom` > 0 degrees, t >= 0. */
double student_tail(double t, double freedom);
/* The t with P(T > t) = tail; 0 < tail <= 0.5. */
double student_quantile(double tail, double freedom);
/* The degrees of freedom, 1 to 100, for which the quantiles of |T| at `share` and at 0.5 have this ratio. */
double student_freedom(double ratio, double share);

/* P(the middle of `count` values, as statistics_middle() takes it, exceeds x), if one value does so with probability
 * `tail`. */
double middle_tail(double tail, int count);

/* Adjusts p-values for `tests` tests (Benjamini and Hochberg 1995), in place. Tests beyond count have p = 1. */
void statistics_adjust(double *p, guint count, int tests);

#endif
