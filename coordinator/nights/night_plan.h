/*
 * The plan of a night: for each target the jobs that have a reason, the most important first. It is made from what is
 * wanted (the description, its problems), what is known (history), and what there is today (solvers, workers). Making
 * it changes nothing in the database, and the same inputs give the same plan.
 */
#ifndef COORDINATOR_NIGHTS_NIGHT_PLAN_H
#define COORDINATOR_NIGHTS_NIGHT_PLAN_H

#include "coordinator/nights/night_file.h"
#include "coordinator/nights/night_reasons.h"
#include "coordinator/nights/night_sources.h"
#include "coordinator/plan/plan.h"
#include "coordinator/process/machine.h"

/* A problem, a solver, and why the night works on the pair, or why not. */
struct planned_job {
    struct job_plan
        job; /* as plan_new() made it; priority is weighted by how often networks are run */
    enum night_reason reason; /* the most important one */
    char *detail; /* "driver 535.1 -> 550.2", "revision 3 -> 4; 40 days old"; NULL for none */
    enum night_action action; /* of the reason's row */
    int64_t campaign;         /* NIGHT_ACTION_AGAIN: the campaign of the newest point; 0 if none */
    int64_t configs;          /* the most configs that the job tries */
};

/* The estimate of jobs: seconds, and where the figures come from. */
struct night_estimate {
    double eval_seconds, compile_seconds;
    /* jobs estimated by rates of their solver on the target, by rates of the target, and by a guess */
    int by_solver, by_target, by_guess;
};

struct night_target_plan {
    const struct night_file_target *wanted; /* in the description */
    struct machine machine;
    GArray *jobs;      /* struct planned_job with an action, in the order of importance */
    GArray *unchanged; /* struct planned_job without one: unchanged, failed for good */
    GArray *uncovered; /* struct plan_problem that no solver serves */
    int left_out;      /* jobs of solvers that are not promising */
    int counts[NIGHT_REASON_COUNT + 1]; /* jobs by reason */
    char *nearest; /* a new target: the target whose winners its searches begin with; else NULL */
    struct night_estimate estimate;                          /* of all jobs */
    struct night_estimate estimates[NIGHT_REASON_COUNT + 1]; /* by reason */
    int devices; /* devices of the target that live workers measure on */
};

struct night_plan {
    char *night;        /* the night's date, 2026-11-23 */
    GPtrArray *targets; /* struct night_target_plan *, in the description's order */
};

/* Plans the night of a date (YYYY-MM-DD, which also seeds the sample). Free with night_plan_free(). */
struct night_plan *night_plan_new(Store *store, const struct night_file *file,
                                  const struct night_sources *sources, const char *night,
                                  GError **error);
void night_plan_free(struct night_plan *plan);

#endif
