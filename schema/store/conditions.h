/*
 * What a device did while it measured: clocks, heat, power, and what held it
 * back, as its vendor's library told between the configs of a round. Numbers
 * are 0 where they are not known.
 */
#ifndef SCHEMA_STORE_CONDITIONS_H
#define SCHEMA_STORE_CONDITIONS_H

#include <glib.h>
#include <jansson.h>

#include "schema/store/store.h"

/* Why a device ran slower than it could. A power cap is how it always runs under load. */
enum throttle {
    THROTTLE_POWER_CAP = 1,
    THROTTLE_HEAT = 2,
    THROTTLE_POWER_BRAKE = 4, /* the host's, or the rack's */
    THROTTLE_SLOWDOWN = 8,    /* the hardware's own, without saying why */
    THROTTLE_UNTOLD = 16,     /* whether it did is not known of some sample */
};
/* With one of these a time says little about the kernel. */
#define THROTTLE_MARKED (THROTTLE_HEAT | THROTTLE_POWER_BRAKE | THROTTLE_SLOWDOWN)

struct conditions {
    char device[64]; /* its UUID, or else its PCI address; "" for neither */
    int samples;
    int sm_mhz_min, sm_mhz_max, memory_mhz_min, memory_mhz_max;
    int temperature_c; /* the highest */
    double power_w;    /* the highest */
    unsigned throttle; /* enum throttle, of any sample */
    int locked_mhz;    /* 0 where the driver chose the clocks */
};

/* Adds samples of the same device. */
void conditions_add(struct conditions *all, const struct conditions *more);
/* "heat, power brake"; "" for nothing that is known. Free with g_free(). */
char *conditions_throttle_text(unsigned throttle);

/* As columns of round_conditions, null where they are not known. A new reference. */
json_t *conditions_to_json(const struct conditions *conditions);
/* What is missing or no number counts as not known. */
void conditions_from_json(const json_t *object, struct conditions *conditions);

/* Adds to what is known of the job's round. One that is not the job's any more is passed over. */
bool store_conditions(Store *store, const struct job *job, int round,
                      const struct conditions *conditions, GError **error);

/* What store_list_part_conditions() of problem_part.h lists. */
struct job_conditions {
    int64_t job;
    struct conditions seen; /* over all its rounds */
};
/* One row a job of rows (struct job_conditions *) that are ordered by job. Takes `rows`, and gives such an
 * array. */
GPtrArray *conditions_merge(GPtrArray *rows);

#endif
