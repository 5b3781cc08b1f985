/*
 * What jobs cost of a GPU: how long it had work while they were evaluated, and how long
 * that took in all.
 */
#ifndef SCHEMA_STORE_DEVICE_USE_H
#define SCHEMA_STORE_DEVICE_USE_H

#include "schema/store/store.h"

struct device_use {
    double seconds;      /* of evaluation, by the wall's clock */
    double busy_seconds; /* of those, in which the device had work */
};

/* What the job's claim came to so far. Where somebody else has claimed the job since, nothing
 * is kept. */
bool store_device_use(Store *store, const struct job *job, const struct device_use *use,
                      GError **error);

/* What store_list_part_device_use() of problem_part.h lists. */
struct job_device_use {
    int64_t job;
    struct device_use use; /* over all its claims */
};

#endif
