/*
 * From a request to a campaign in the database: its target, its problems, the
 * plan, and either a new campaign or the one that the same request made before.
 */
#ifndef COORDINATOR_CAMPAIGNS_ENTER_H
#define COORDINATOR_CAMPAIGNS_ENTER_H

#include "coordinator/campaigns/request.h"
#include "coordinator/process/machine.h"
#include "schema/store/job_reason.h"
#include "schema/store/store_campaigns.h"

struct entered {
    struct campaign *campaign;
    bool existed;               /* the same request was made before: its campaign goes on */
    bool extended;              /* ... and was given more working time */
    bool moved;                 /* ... or another deadline, or none any more */
    int reused;                 /* jobs that took over finished results */
    struct job_origins origins; /* of a campaign that is new */
    int64_t configs;            /* what its jobs evaluate at most */
    int left_out;      /* jobs that were not planned because their solvers are not promising */
    GArray *uncovered; /* struct plan_problem that no solver serves */
};
void entered_clear(struct entered *entered);
/* Says on standard error which problems no job serves and how many jobs were left out; prints
 * nothing when every problem has all its jobs. */
void entered_say_missing(const struct entered *entered);

/* Finds or creates the campaign of request over problems (GArray of struct plan_problem).
 * Problems that no solver serves, and the number of jobs left out, are written to the event log.
 * Sets COORDINATOR_ERROR_EMPTY when the plan has no job. */
bool enter_campaign(Store *store, const struct request *request, const struct machine *machine,
                    const GArray *problems, struct entered *entered, GError **error);

/* The notes in the event log on what a new campaign left out. */
struct enter_notes {
    GPtrArray *uncovered; /* char *: keys of problems that no solver serves */
    int left_out;
};
/* Clear *notes after failure too. */
bool enter_read_notes(Store *store, int64_t campaign, struct enter_notes *notes, GError **error);
void enter_notes_clear(struct enter_notes *notes);

/* "3 jobs of solvers estimated below 1/4 of the best one; --all-solvers plans them". Free with
 * g_free(). */
char *enter_left_out_text(int left_out);

#endif
