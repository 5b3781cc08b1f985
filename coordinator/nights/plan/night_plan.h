/*
 * The plan of a night: for each target the jobs that have a reason, the most important first. It is made from what is
 * wanted (the description, its problems), what is known (history), and what there is today (solvers, workers). Making
 * it changes nothing in the database, and the same inputs give the same plan.
 */
#ifndef COORDINATOR_NIGHTS_PLAN_NIGHT_PLAN_H
#define COORDINATOR_NIGHTS_PLAN_NIGHT_PLAN_H

#include "coordinator/nights/file/night_file.h"
#include "coordinator/nights/file/night_sources.h"
#include "coordinator/nights/plan/estimate.h"
#include "coordinator/nights/plan/night_reasons.h"
#include "coordinator/plan/plan.h"
#include "coordinator/process/machine.h"
#include "schema/results/store_night_facts.h"

/* A problem, a solver, and why the night works on the pair, or why not. */
struct planned_job {
    /* The job of plan_new() with another priority: the reason's, plus a number below 1, which is the job's weight over
     * the largest one. Weights count how often networks are run. A campaign claims its jobs in this order. */
    struct job_plan job;
    int64_t problem;          /* the problem's id; 0 if the database does not have it yet */
    enum night_reason reason; /* the most important one */
    char *detail; /* "driver 535.1 -> 550.2", "revision 3 -> 4; 40 days old"; NULL for none */
    enum night_action action; /* of the reason's row */
    bool backfill;            /* of the reason's row: belongs into the campaign of low priority */
    int64_t campaign;         /* of the newest point; 0 without one */
    char *last_night, *last_stack; /* of the newest point; NULL without one */
    int64_t configs;               /* the most configs that the job tries */
    struct night_estimate estimate;
};

struct night_target_plan {
    const struct night_file_target *wanted; /* in the description */
    struct machine machine;
    GArray *jobs;      /* struct planned_job with an action, in the order of importance */
    GArray *idle;      /* struct planned_job without one: unchanged, or failed for good */
    GArray *uncovered; /* struct plan_problem that no solver serves */
    int left_out;      /* jobs of solvers that are not promising */
    char *nearest; /* of a new target: the one whose winners its searches begin with; else NULL */
    int counts[NIGHT_REASON_COUNT + 1];                      /* pairs by reason, idle ones too */
    struct night_estimate estimates[NIGHT_REASON_COUNT + 1]; /* of jobs, by reason */
    struct night_estimate estimate;                          /* of all jobs */
    GPtrArray *stacks; /* struct night_stack *: today's software of the target */
    int devices;       /* devices of the target that running workers have */
};

/* The limits of a night, and how much of the plan fits. */
struct night_caps {
    double node_seconds;     /* of all targets together; 0 for no limit */
    double deadline_seconds; /* from now; 0 for no deadline */
    int fitting;             /* jobs that fit by the estimate, of all */
    int jobs;
};

struct night_plan {
    char *night;        /* the night's date, 2026-11-23 */
    GPtrArray *targets; /* struct night_target_plan *, in the description's order */
    struct night_caps caps;
};

/* Plans the night of a date (YYYY-MM-DD, which also seeds the sample). Free with night_plan_free(). */
struct night_plan *night_plan_new(Store *store, const struct night_file *file,
                                  const struct night_sources *sources, const char *night,
                                  GError **error);
void night_plan_free(struct night_plan *plan);

/* The local date of the night that is now: that of 12 hours ago, so that a night has one date until noon. Free with
 * g_free(). */
char *night_date(void);
/* Returns true for a date as --night takes it: YYYY-MM-DD. */
bool night_date_is_valid(const char *date);

/* Why a pair of a problem and a solver is worked on, or not. */
struct night_why {
    const struct solver *solver;
    enum night_reason reason;
    char *detail;
    struct planned_job *job; /* the pair's job, or NULL; belongs to the plan */
};
/* Asks every solver of the program about one problem on a target of the plan, which was made for this problem alone.
 * GPtrArray of struct night_why *, in the solvers' order. */
GPtrArray *night_why(const struct night_file *file, const struct night_target_plan *target,
                     const struct problem *problem, GError **error);

#endif
