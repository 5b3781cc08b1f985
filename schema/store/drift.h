/*
 * Drift of a round: how much longer the default config took at the round's end
 * than at its beginning. A worker measures everything in between once more when
 * a round drifted; drift that remains is stored with the round, and makes all
 * times of the round doubtful.
 */
#ifndef SCHEMA_STORE_DRIFT_H
#define SCHEMA_STORE_DRIFT_H

#include <stdbool.h>

/* Less is within what repeated medians differ by on a shared machine. */
#define DRIFT_MAX 1.15

/* Whether the device drifted too far for the times to be trusted. drift: the default config's median after
 * over before, 0 where it was not measured twice. */
static inline bool drift_is_large(double drift)
{
    return drift > DRIFT_MAX || (drift > 0 && drift < 1 / DRIFT_MAX);
}

#endif
