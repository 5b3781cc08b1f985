#include "solvers/search/expected_gain.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>

/* How many of the shortest times tell the tail's mean: half of what must be known. */
#define TAIL_TIMES (EXPECTED_GAIN_TIMES / 2)

/* Finds the TAIL_TIMES + 1 shortest times, ascending. False where fewer than EXPECTED_GAIN_TIMES succeeded. */
static bool shortest(const double *times, int count, double found[TAIL_TIMES + 1])
{
    int kept = 0, succeeded = 0;
    for (int i = 0; i < count; i++) {
        if (!isfinite(times[i]))
            continue;
        succeeded++;
        int place = kept;
        while (place > 0 && found[place - 1] > times[i])
            place--;
        if (place > TAIL_TIMES)
            continue;
        for (int j = MIN(kept, TAIL_TIMES); j > place; j--)
            found[j] = found[j - 1];
        found[place] = times[i];
        kept = MIN(kept + 1, TAIL_TIMES + 1);
    }
    return succeeded >= EXPECTED_GAIN_TIMES;
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
    double found[TAIL_TIMES + 1], mean = 0;
    if (!shortest(times, count, found))
        return 1;
    for (int i = 0; i < TAIL_TIMES; i++)
        mean += log(found[TAIL_TIMES] / found[i]) / TAIL_TIMES;
    double chance = (double)more / (tries_since_best(times, count) + more + 1);
    return chance * (1 - exp(-mean));
}
