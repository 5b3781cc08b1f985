/*
 * Planning: problems x solvers x one target become jobs. Pure functions: the same inputs give the
 * same plan and the same identity.
 */
#ifndef COORDINATOR_PLAN_PLAN_H
#define COORDINATOR_PLAN_PLAN_H

#include "schema/store/store.h"
#include "schema/store/store_campaigns.h"
#include "solvers/framework/solver.h"

/* A problem, and how many layers of the network it is. */
struct plan_problem {
    struct problem problem;
    int multiplicity;
};

/* Appends a problem to problems (GArray of struct plan_problem). */
void plan_add_problem(GArray *problems, const struct problem *problem, int multiplicity);
/* Merges equal problems: the first keeps its place and gets the sum of the multiplicities. */
void plan_merge_problems(GArray *problems);

/* A request to plan. Its pointers belong to the caller. */
struct plan_request {
    const struct target *target;
    const char *stack;    /* "" for any */
    const char *strategy; /* name of a strategy in solvers/framework/strategy.h */
    int64_t seed;
    int configs_limit;               /* 0 for none */
    int close_configs;               /* as in struct campaign */
    double search_seconds, min_gain; /* as in struct campaign */
    int round_configs;
    bool build_only;
    struct context_limits limits; /* limits under which planner and workers ask solvers */
    const GArray *problems;       /* struct plan_problem: the problems to plan */
    const struct solver *const *solvers;
    int solver_count;
    /* true: plan solvers whose estimates are low, too (PLAN_PROMISING_SHARE) */
    bool unpromising_too;
};

/*
 * A solver is promising for a problem if its estimate is at least this part of the highest estimate
 * of all applicable solvers. Other solvers are only planned on request: measuring them costs as
 * much, and they hardly ever win. The naive solver, which others are compared with, is always
 * planned.
 */
#define PLAN_PROMISING_SHARE 0.25

struct plan {
    /* problems in the order given, for each its solvers in the table's order */
    struct job_plan *jobs;
    int count;
    GArray *uncovered; /* struct plan_problem: problems that no solver serves */
    int64_t
        configs; /* of all jobs, each as many as it may try; one job of each problem counts as close */
    int left_out; /* jobs that were not planned because their solvers are not promising */
};

/* Asks every solver about every problem. A job's priority is its problem's weight in the network,
 * lowered where another solver is estimated better. Free with plan_free(). */
struct plan *plan_new(const struct plan_request *request);
void plan_free(struct plan *plan);

/* Limit on counting a space that is only counted to show its size. */
#define PLAN_COUNTED_MAX 100000

/* Configs that a job of this solver tries at most, also with a search of its own: its space in the context,
 * capped by limit, or PLAN_COUNTED_MAX where that is 0; 1 for solvers that cannot be tuned. */
int64_t plan_job_configs(const struct solver *solver, const struct problem *problem,
                         const struct context *context, int limit);

/* As plan_job_configs(), but by close_limit if the job is counted as the one of its problem that is close to the best: the
 * first that is asked for and has more than `limit` configs. close_limit 0: no job may try more. counted: the problems that
 * have such a job (problem_table_new(NULL)); `problem` must outlive it. */
int64_t plan_expected_configs(const struct solver *solver, const struct problem *problem,
                              const struct context *context, int limit, int close_limit,
                              GHashTable *counted);

/* Returns how many evaluations a job of this many configs takes: each round after the first one
 * also measures the default config again, to see whether the machine drifts. */
int64_t plan_evaluations(int64_t configs, int round_configs);

/* Returns how many of a job's configs its search tries until search_seconds of device time are spent, at config_seconds
 * for each evaluation: whole rounds, at least one. All of them where either is 0. */
int64_t plan_configs_within(int64_t configs, int round_configs, double search_seconds,
                            double config_seconds);

/* Returns the least number of new configs that a round may hold while configs are left. A solver
 * with a search of its own may ask for a single one at a time. */
int plan_round_configs(const struct solver *solver, const struct campaign *campaign);

/*
 * SHA-256 (hex) over what was asked for: problems with multiplicities, solvers with revisions and hashes, target, stack,
 * strategy, seed, limits, build_only, configs of a job, of a close one and of a round, seconds and gain at which a job's
 * search ends; and over the problem and solver of each job that was planned for it. The order of problems and solvers
 * does not count, nor does the budget: asking for more time is the same campaign. Free with g_free().
 */
char *plan_identity(const struct plan_request *request, const struct plan *plan);

/* The naive solver: speed-ups are measured against it. */
#define PLAN_NAIVE_SOLVER "ConvDirectNaive"
bool plan_is_naive(const struct solver *solver);

#endif
