/*
 * Waits for campaigns of a night, all at once, with one line of progress.
 */
#ifndef COORDINATOR_NIGHTS_NIGHT_WAIT_H
#define COORDINATOR_NIGHTS_NIGHT_WAIT_H

#include "coordinator/nights/night.h"

/* Waits until none of the campaigns (int64_t) is active any more, or the night's deadline has passed. A paused campaign
 * is waited for, a cancelled one is not. Says once when no worker can work on one. NIGHT_STEP_DONE, NIGHT_STEP_STOPPED or
 * NIGHT_STEP_FAILED. */
enum night_outcome night_wait(struct night_run *run, const GArray *campaigns, GError **error);

/* Whether the night has a deadline that has passed. */
bool night_is_overdue(const struct night *night);

/* Ends the progress line and waits for a signal, at most so long. Returns true if one asked to end: run->caught. */
bool night_pause(struct night_run *run, double seconds);

#endif
