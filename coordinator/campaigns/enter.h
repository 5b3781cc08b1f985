/*
 * Makes a campaign from a request, a target and problems: plans the jobs, and creates the campaign in the database, or
 * continues the one that the same request made before.
 */
#ifndef COORDINATOR_CAMPAIGNS_ENTER_H
#define COORDINATOR_CAMPAIGNS_ENTER_H

#include "coordinator/campaigns/request.h"
#include "coordinator/process/machine.h"
#include "schema/store/job_reason.h"
#include "schema/store/store_campaigns.h"

struct entered {
    struct campaign *campaign;
    /* true if the same request was made before, so its campaign is continued */
    bool existed;
    bool extended; /* true if the existing campaign got a larger budget */
    /* true if the existing campaign's deadline was changed or removed */
    bool moved;
    /* number of jobs that took over an earlier campaign's finished results */
    int reused;
    struct job_origins origins; /* why the jobs of a new campaign have to be tuned */
    int64_t configs;            /* the most configs that its jobs evaluate in all */
    int left_out;      /* jobs that were not planned because their solvers are not promising */
    GArray *uncovered; /* struct plan_problem that no solver serves */
};
void entered_clear(struct entered *entered);
/* Says on standard error which problems no job serves, and how many jobs were left out. Prints
 * nothing if every problem has all its jobs. */
void entered_say_missing(const struct entered *entered);

/* Finds or creates the request's campaign for these problems (GArray of struct plan_problem).
 * Problems that no solver serves, and the number of jobs left out, are recorded in the event log.
 * Sets COORDINATOR_ERROR_EMPTY if there is no job to plan. Clear *entered after failure, too. */
bool enter_campaign(Store *store, const struct request *request, const struct machine *machine,
                    const GArray *problems, struct entered *entered, GError **error);

/* The jobs of a night for a target. Its pointers belong to the caller. */
struct enter_order {
    int64_t night;
    bool backfill;        /* the night's second campaign for the target, of lower priority */
    const char *name;     /* of the campaign */
    const char *identity; /* names the night, target and part: the same night finds its campaign */
    const struct job_plan *jobs; /* each with its cause */
    int count;
    GArray *uncovered; /* struct plan_problem: problems that no solver serves */
    int left_out;      /* jobs that were not planned because their solvers are not promising */
};
/* Makes the campaign of these jobs, or finds the one that the night has already. The session must have taken the
 * night (store_nights.h). Clear *entered after failure, too. */
bool enter_night(Store *store, const struct request *request, const struct machine *machine,
                 const struct enter_order *order, struct entered *entered, GError **error);

/* Problems and jobs that a campaign's plan left out, as recorded in the event log. */
struct enter_notes {
    GPtrArray *uncovered; /* char *: keys of problems that no solver serves */
    int left_out;
};
/* Clear *notes after failure too. */
bool enter_read_notes(Store *store, int64_t campaign, struct enter_notes *notes, GError **error);
void enter_notes_clear(struct enter_notes *notes);

/* Returns the text of a notice: "3 jobs of solvers estimated below 1/4 of the best one; --all-
 * solvers plans them". Free with g_free(). */
char *enter_left_out_text(int left_out);

#endif
