/*
 * Devices during measurements: clocks, temperature, power and throttling, as
 * the vendor's library reports them between the configs of a round; and the
 * time that a GPU had work while its jobs were evaluated.
 */
#ifndef SCHEMA_STORE_CONDITIONS_H
#define SCHEMA_STORE_CONDITIONS_H

#include "schema/results/store_results.h"
#include "schema/store/store_queue.h"

/* Why a device ran slower than it could. Under load a GPU always runs at its power cap. */
enum throttle {
    THROTTLE_POWER_CAP = 1,
    THROTTLE_HEAT = 2,
    THROTTLE_POWER_BRAKE = 4, /* asked for by the host or the rack */
    THROTTLE_SLOWDOWN = 8,    /* by the hardware, for a reason that it does not report */
    THROTTLE_UNTOLD = 16, /* at least one sample does not say whether the device was throttled */
};
/* Times measured under one of these say little about the kernel. */
#define THROTTLE_MARKED (THROTTLE_HEAT | THROTTLE_POWER_BRAKE | THROTTLE_SLOWDOWN)

/* Numbers are 0 if unknown. */
struct conditions {
    char device[64]; /* its UUID, else its PCI address, else "" */
    int samples;
    int sm_mhz_min, sm_mhz_max, memory_mhz_min, memory_mhz_max;
    int temperature_c; /* the highest */
    double power_w;    /* the highest */
    unsigned throttle; /* enum throttle, over all samples */
    int locked_mhz;    /* 0 if the driver chose the clocks */
};

/* Adds samples of the same device to `all`. */
void conditions_add(struct conditions *all, const struct conditions *more);
/* "heat, power brake"; "" for nothing known. Free with g_free(). */
char *conditions_throttle_text(unsigned throttle);

/* The columns of round_conditions; null for unknown numbers. Returns a new reference. */
json_t *conditions_to_json(const struct conditions *conditions);
/* A missing member, and one that is not a number, count as unknown. */
void conditions_from_json(const json_t *object, struct conditions *conditions);

/* Adds the samples to those stored for the job's round. Does nothing if another worker has claimed the job. */
bool store_conditions(Store *store, const struct job *job, int round,
                      const struct conditions *conditions, GError **error);

struct job_conditions {
    int64_t job;
    struct conditions seen; /* over all its rounds */
};
/* struct job_conditions *, by job. */
GPtrArray *store_list_part_conditions(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error);
/* Merges the rows (struct job_conditions *, ordered by job) into one row a job. Takes `rows` over. */
GPtrArray *conditions_merge(GPtrArray *rows);

/* A GPU's time for jobs. */
struct device_use {
    double seconds;      /* of evaluation, wall clock */
    double busy_seconds; /* the part in which the device had work */
};
/* Stores the use of the job's claim so far. Does nothing if another worker has claimed the job. */
bool store_device_use(Store *store, const struct job *job, const struct device_use *use,
                      GError **error);

struct job_device_use {
    int64_t job;
    struct device_use use; /* over all its claims */
};
/* struct job_device_use *, by job. */
GPtrArray *store_list_part_device_use(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error);

#endif
