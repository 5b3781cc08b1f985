/* Campaigns of several solvers for tests of the order and the end of their jobs: the solvers "ConvTest" and "ConvOther" on
 * made-up problems of queue_farm.h. Functions without a result assert that they succeed. */
#ifndef TESTS_SUPPORT_FARM_PLANNED_FARM_H
#define TESTS_SUPPORT_FARM_PLANNED_FARM_H

#include "tests/support/farm/queue_farm.h"

#define PLANNED_MAX 4

/* A job to plan: a problem by its channels, its multiplicity and solver. */
struct planned {
    int64_t channels;
    int multiplicity;
    const char *solver;
};

/* A round whose configs have these times, 0 for one that gives a wrong result; its first config is the default. */
struct tries {
    int number;
    int count;
    double ms[5];
    double seconds; /* that each config takes to evaluate */
    double build_seconds;
};

/* Empties the scratch database and makes a campaign of up to PLANNED_MAX jobs, the most promising first. */
void planned_init(struct farm *farm, const struct planned *planned, int count,
                  double budget_seconds);
/* Claims one job by worker 0 with the solvers; NULL if none is claimable. Free with job_free(). */
struct job *planned_claim_of(struct farm *farm, enum pool pool, const char *const *solvers);
struct job *planned_claim(struct farm *farm, enum pool pool); /* with both solvers */
/* The round as it is built, and its outcomes. Free with round_free(). */
struct round *planned_round(const struct tries *measured);
/* Hands in the evaluated round of a job that was claimed for evaluation, and wishes more. */
void planned_hand_in(struct farm *farm, const struct job *job, struct round *round,
                     const struct tries *measured);
/* Claims the next job and takes it through a round that measures so. Returns the channels of its problem. */
int64_t planned_work(struct farm *farm, const struct tries *measured);
/* The number that the statement returns. */
double planned_number(struct farm *farm, const char *sql);

#endif
