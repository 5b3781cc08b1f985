/*
 * Devices during measurements: clocks, temperature, power and throttling, as
 * the vendor's library reports them between the configs of a round; and the
 * time that a GPU had work while its jobs were evaluated.
 */
#ifndef SCHEMA_RESULTS_CONDITIONS_H
#define SCHEMA_RESULTS_CONDITIONS_H

#include "schema/results/store_results.h"
#include "schema/store/store_queue.h"

/* Reasons why a device ran slower than it could. THROTTLE_MARKED leaves out the power cap: under
 * load a GPU always runs at it. */
enum throttle {
    THROTTLE_POWER_CAP = 1,
    THROTTLE_HEAT = 2,
    THROTTLE_POWER_BRAKE = 4, /* the host or the rack asked the device to brake */
    /* The hardware slowed the device for a reason that it does not report. */
    THROTTLE_SLOWDOWN = 8,
    THROTTLE_UNTOLD = 16, /* at least one sample does not say whether the device was throttled */
};
/* Times measured under one of these say little about the kernel. */
#define THROTTLE_MARKED (THROTTLE_HEAT | THROTTLE_POWER_BRAKE | THROTTLE_SLOWDOWN)

/* Conditions of a device during a round. Numbers are 0 if unknown. */
struct conditions {
    char device[64]; /* the device's UUID, else its PCI address, else "" */
    int samples;
    int sm_mhz_min, sm_mhz_max, memory_mhz_min, memory_mhz_max;
    int temperature_c; /* the highest */
    double power_w;    /* the highest */
    unsigned throttle; /* all reasons (enum throttle) that any sample saw */
    int locked_mhz;    /* MHz at which the clocks were locked; 0 if the driver chose them */
};

/* Adds samples of the same device to `all`. */
void conditions_add(struct conditions *all, const struct conditions *more);
/* The names of throttle reasons: "heat, power brake"; "" for no reason. Free with g_free(). */
char *conditions_throttle_text(unsigned throttle);

/* The conditions as columns of the table round_conditions; unknown numbers are null. Returns a
 * new reference. */
json_t *conditions_to_json(const struct conditions *conditions);
/* Reads conditions_to_json()'s object. A member that is missing or no number counts as unknown. */
void conditions_from_json(const json_t *object, struct conditions *conditions);

/* Merges the conditions into those stored for the job's round: the extremes and all throttle reasons of both, and the
 * larger number of samples. Does nothing if another worker has claimed the job. */
bool store_conditions(Store *store, const struct job *job, int round,
                      const struct conditions *conditions, GError **error);

struct job_conditions {
    int64_t job;
    struct conditions seen; /* conditions over all rounds of the job */
};
/* struct job_conditions *, by job. */
GPtrArray *store_list_part_conditions(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error);
/* Merges the rows (struct job_conditions *, ordered by job) into one row a job. Takes `rows` over. */
GPtrArray *conditions_merge(GPtrArray *rows);

/* How long a GPU was used for a job. */
struct device_use {
    double seconds;      /* seconds in which the GPU had the job, wall clock */
    double busy_seconds; /* seconds of these in which the GPU had work */
};
/* Stores the use of the job's claim so far. Does nothing if another worker has claimed the job. */
bool store_device_use(Store *store, const struct job *job, const struct device_use *use,
                      GError **error);

struct job_device_use {
    int64_t job;
    struct device_use use; /* the use over all claims of the job */
};
/* struct job_device_use *, by job. */
GPtrArray *store_list_part_device_use(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error);

#endif
