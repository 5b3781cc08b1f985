/*
 * Drift of a round: the default config's time at the round's end, divided by its
 * time at the beginning. If a round drifts, the worker measures it once more.
 * Drift that remains is stored with the round and makes all its times doubtful.
 */
#ifndef SCHEMA_STORE_DRIFT_H
#define SCHEMA_STORE_DRIFT_H

#include <stdbool.h>

/* The limit: repeated medians on a shared machine differ by up to this factor. */
#define DRIFT_MAX 1.15

/* Whether the times of a round are doubtful. drift: 0 if the default config was not measured twice. */
static inline bool drift_is_large(double drift)
{
    return drift > DRIFT_MAX || (drift > 0 && drift < 1 / DRIFT_MAX);
}

#endif
