/*
 * How long one run of a config takes, by the device's own events. worker/MEASURING.md describes the whole
 * protocol; measure.c describes its steps.
 *
 * A reading is the time between two events around a batch of runs, divided by their number. The batch has as many
 * runs, at most 1000, as keep the events' own time, the timer's floor, at or below 5 % of the reading, and as make the
 * reading a quarter of a millisecond long. Readings are taken until the 95 % confidence interval of their median is
 * within 2 % of it, until the config has certainly lost against the best one, or until their time or their number (200)
 * is spent.
 */
#ifndef WORKER_MEASURE_MEASURE_H
#define WORKER_MEASURE_MEASURE_H

#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"
#include "worker/device/device.h"

/* Steps of measure() that a benchmark may leave out, to show what each is worth (`make bench-noise`). */
enum measure_step {
    MEASURE_WARM_UP = 1,
    MEASURE_BATCH = 2,      /* without it each reading is one run */
    MEASURE_FIRST_LOOK = 4, /* without it no config is dropped as slow */
    MEASURE_LOST = 8,       /* without it a config that cannot win is measured to the end */
    MEASURE_NOISE = 16,     /* without it one sample is taken, however noisy */
    MEASURE_INTERVAL = 32,  /* without it a sample is its first three readings */
};

struct measure_job {
    struct device *device;
    /* Enqueues one run. `run` counts from 0: by it the run chooses the copy of the tensors to
     * use, so that each run finds cold caches. */
    bool (*run)(void *data, int64_t run, GError **error);
    void *data;
    double floor_ms;       /* the device's measure_floor(), in ms */
    double sample_seconds; /* device time for the readings, of which at least three are taken */
    double best_ms;        /* median time in ms of the fastest config so far; 0 for none */
    bool keep;             /* measure to the end, however slow it is: the default config */
    bool alone;            /* the only config of its round: no other time is compared with it */
    unsigned without;      /* steps (enum measure_step) to leave out: 0 wherever times are kept */
};

struct measurement {
    int n; /* readings */
    double min_ms, median_ms;
    double spread; /* interquartile range of the readings divided by their median */
    bool slow;     /* dropped as slow after two readings */
    bool unstable; /* the spread stayed above MEASURE_SPREAD_MAX in every sample */
    bool lost;     /* ended early, since it cannot win against best_ms */
    int64_t runs;  /* runs made, those of warm-up and of samples that do not count included */
};

/* A config that takes this many times the best in both of its first two readings is dropped as slow. */
#define MEASURE_SLOW_FACTOR  3.0
/* Above this spread the middle half of the readings is wider than their median, and the median says nothing. A
 * loaded shared machine reaches spreads of 0.5 and more with good kernels of 0.1 ms. */
#define MEASURE_SPREAD_MAX   1.0
/* How many samples are taken of a noisy config (spread above 0.3), and of an unstable one. The
 * sample with the smallest spread counts; samples are never mixed. */
#define MEASURE_ATTEMPTS     3
#define MEASURE_ATTEMPTS_MAX 10

/* Packing is measured in this share (1/4) of a config's device time: it is no part of the config's rank. */
#define MEASURE_PACK_SHARE 4

/* The timer's floor: the median time between two events around a tiny fill, of 32 trials. */
bool measure_floor(struct device *device, double *floor_ms, GError **error);

/* Measures one reading: `runs` runs, beginning with run number *next. Returns the time of them all in milliseconds in
 * *ms. */
bool measure_reading(const struct measure_job *job, int runs, int64_t *next, double *ms,
                     GError **error);

struct measure_size {
    int batch; /* runs in a reading, so that it takes 20 floors and 0.25 ms; at most 1000 */
    double
        run_ms; /* time of a run without the floor; may be 0 or less where runs are much shorter */
    double reading_ms; /* time of a run in the last reading, its share of the floor included */
    double spent_ms;   /* device time of the readings that were taken */
    bool impossible;   /* the last reading was zero, negative or not a number */
};
/* Finds out how many runs make a reading. one_ms: a reading of one run. Where it is shorter than 5 floors, readings of 8,
 * 64 and 512 runs are taken until one is longer. *next: the number of the next run. False with the error of
 * measure_reading(). */
bool measure_size(const struct measure_job *job, double one_ms, int64_t *next,
                  struct measure_size *size, GError **error);

/* Measures a config. After a reading that is zero, negative or not a number the measuring ends,
 * n is 1 and all times are 0. False with the error of the device, or of run(). */
bool measure(const struct measure_job *job, struct measurement *measurement, GError **error);

/* The most device time in seconds that measure() takes for a config whose runs are short
 * compared with sample_seconds. */
double measure_most_seconds(double sample_seconds);

/* The shortest possible time of a run in ms: the target's peaks bound the time for the
 * solution's own operations on the data type and, if caches are cold, for the bytes that it must
 * read and write. 0 if no peak is known. */
double measure_possible_ms(const struct solution *solution, const struct target *target,
                           enum data_type type, bool cold_caches);

#endif
