/*
 * How long one run takes, from device events. A reading is the time between
 * two events over as many runs as make the timer's own floor small in it.
 * Warming up goes on until readings settle; readings are then taken until the
 * median's 95 % interval is narrow or the time is spent. A config alone in its round that cannot win,
 * as the naive one, has three readings in all, where its runs are long and have settled by then.
 */
#ifndef WORKER_MEASURE_H
#define WORKER_MEASURE_H

#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"
#include "worker/device/device.h"

struct measure_job {
    struct device *device;
    /* Enqueues the run-th run; runs rotate through copies of the tensors so that each finds cold
     * caches. */
    bool (*run)(void *data, int64_t run, GError **error);
    void *data;
    double floor_ms;       /* measure_floor() of the device */
    double sample_seconds; /* device time for the readings; at least three are taken */
    double best_ms;        /* 0 when none; slower by far than this is dropped early */
    bool keep;             /* never dropped early, measured to the end: the default config */
    bool alone; /* a kept one that cannot win is compared with nothing: few readings do */
};

struct measurement {
    int n; /* readings */
    double min_ms, median_ms;
    double spread; /* interquartile range over median */
    bool slow;     /* dropped after the first readings */
    bool unstable; /* the spread stayed above MEASURE_SPREAD_MAX in every attempt */
};

/* A candidate this many times slower than the best in each of its first two readings is dropped. */
#define MEASURE_SLOW_FACTOR  3.0
/* The middle half of the times is as wide as their median: it says nothing any more. A shared
 * machine under load was seen to reach 0.5 and more with good kernels of a tenth of a
 * millisecond. */
#define MEASURE_SPREAD_MAX   1.0
/* Samples taken while their spread is large, and while it is above that limit; the calmest one counts,
 * never a mixture. */
#define MEASURE_ATTEMPTS     3
#define MEASURE_ATTEMPTS_MAX 10

/* The time between two events around a tiny fill: what a reading holds beside the runs. Median
 * of 32. */
bool measure_floor(struct device *device, double *floor_ms, GError **error);

/* Ends at a reading that is zero, negative or no number: then n is 1 and the times are 0. */
bool measure(const struct measure_job *job, struct measurement *measurement, GError **error);

/* The time that all samples of a noisy config may take, of whose runs each has room for several. */
double measure_most_seconds(double sample_seconds);

/* The shortest time the target's peaks allow for the solution's own operations on the type, and with cold
 * caches for its compulsory bytes; 0 where no peak is known. */
double measure_possible_ms(const struct solution *solution, const struct target *target,
                           enum data_type type, bool cold_caches);

#endif
