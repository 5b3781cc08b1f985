/*
 * Recording spaces: a campaign that tried whole spaces (`--strategy exhaustive --configs 0`) becomes files, one for each
 * of its jobs, in our own format (recorded_space.h). Each has every config with its outcome: time, spread, failure and
 * what building and measuring took.
 */
#ifndef COORDINATOR_REPLAY_RECORD_H
#define COORDINATOR_REPLAY_RECORD_H

#include "schema/store/store.h"

struct record_options {
    int64_t campaign;
    const char *folder; /* is made if it does not exist */
    const char
        *note; /* how it was measured, beside the facts that the database knows; NULL for nothing */
    bool partial; /* also jobs that did not try their whole space: their files say so */
};

/* Writes SOLVER-KEY.json.gz for each job, in place of a file of that name. *files is their number. Jobs of solvers with
 * fewer than two configs are left out. Fails with REPLAY_ERROR_SPACE for a job that did not try its whole space, or
 * whose solver's revision this program does not have. */
bool record_campaign(Store *store, const struct record_options *options, int *files,
                     GError **error);

#endif
