/*
 * How long one run of a config takes, by the device's own events. worker/MEASURING.md describes the whole
 * protocol; measure.c describes its steps.
 *
 * A reading is the time between two events around a batch of runs. The batch is large enough that the events'
 * own time, the timer's floor, is at most 5 % of the reading. Readings are taken until the 95 % confidence
 * interval of their median is within 2 % of it, or until their time is spent.
 */
#ifndef WORKER_MEASURE_H
#define WORKER_MEASURE_H

#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"
#include "worker/device/device.h"

struct measure_job {
    struct device *device;
    /* Enqueues one run. `run` counts from 0 and lets runs rotate through copies of the tensors, so that
     * each run finds cold caches. */
    bool (*run)(void *data, int64_t run, GError **error);
    void *data;
    double floor_ms;       /* measure_floor() of the device */
    double sample_seconds; /* device time for the readings; at least three readings are taken */
    double best_ms;        /* median of the fastest config so far; 0 for none */
    bool keep;             /* measured to the end however slow it is: the default config */
    bool alone;            /* the only config of its round: nothing is compared with its time */
};

struct measurement {
    int n; /* readings */
    double min_ms, median_ms;
    double spread; /* interquartile range over median */
    bool slow;     /* dropped after two readings */
    bool unstable; /* the spread stayed above MEASURE_SPREAD_MAX in every sample */
};

/* A config that takes this many times the best in both of its first two readings is dropped as slow. */
#define MEASURE_SLOW_FACTOR  3.0
/* Above this spread the middle half of the readings is wider than their median, and the median says nothing. A
 * loaded shared machine reaches spreads of 0.5 and more with good kernels of 0.1 ms. */
#define MEASURE_SPREAD_MAX   1.0
/* Samples taken of a noisy config (spread above 0.3), and of an unstable one. The sample with the smallest spread
 * counts; samples are never mixed. */
#define MEASURE_ATTEMPTS     3
#define MEASURE_ATTEMPTS_MAX 10

/* The timer's floor: the median time between two events around a tiny fill, of 32 trials. */
bool measure_floor(struct device *device, double *floor_ms, GError **error);

/* A reading that is zero, negative or not a number ends the measuring; n is then 1 and all times are 0. False
 * with the error of the device, or of run. */
bool measure(const struct measure_job *job, struct measurement *measurement, GError **error);

/* The device time that measure() takes at most for a config whose runs are short beside sample_seconds. */
double measure_most_seconds(double sample_seconds);

/* The shortest time that the target's peaks allow for the solution's own operations on the type and, if caches are
 * cold, for the bytes that it must read and write; 0 if no peak is known. */
double measure_possible_ms(const struct solution *solution, const struct target *target,
                           enum data_type type, bool cold_caches);

#endif
