#include "solvers/search/expected_gain.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The times that are not failures, ascending. Free with g_free(). */
static double *succeeded(const double *times, int count, int *found)
{
    double *sorted = g_new(double, count + 1);
    *found = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(times[i]))
            sorted[(*found)++] = times[i];
    qsort(sorted, (size_t)*found, sizeof *sorted, compare_times);
    return sorted;
}

static int tries_since_best(const double *times, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (times[i] < times[best])
            best = i;
    return count - 1 - best;
}

double expected_gain(const double *times, int count, int more)
{
    int found;
    double mean = 0;
    g_autofree double *sorted = succeeded(times, count, &found);
    if (found < EXPECTED_GAIN_TIMES)
        return 1;
    int tail = found / 2;
    for (int i = 0; i < tail; i++)
        mean += log(sorted[tail] / sorted[i]) / tail;
    double chance = (double)more / (tries_since_best(times, count) + more + 1);
    return chance * (1 - exp(-mean));
}
