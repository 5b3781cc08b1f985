/* A farm for tests of the queue: a store on the scratch database, a campaign of a made-up solver on
 * made-up problems, and two workers. A round has two configs: (number, 0) is verified, (number, 1)
 * gives a wrong result. Functions without a result assert that they succeed. */
#ifndef TESTS_SUPPORT_FARM_QUEUE_FARM_H
#define TESTS_SUPPORT_FARM_QUEUE_FARM_H

#include "schema/results/store_results.h"
#include "schema/store/store_queue.h"

struct farm {
    Store *store;
    int64_t campaign;
    int64_t workers[2];
};

/* A campaign to create; strategy NULL is "random". */
struct order {
    const char *strategy;
    int64_t seed;
    int jobs, configs_limit, close_configs;
    double budget_seconds, search_seconds, min_gain;
    bool build_only;
    bool searches; /* the solver brings its own search */
    int revision;  /* the solver's revision; 0 means 1, the only revision that the workers carry */
    const char *stack; /* the campaign's software constraints, NULL: no constraint */
    struct context_limits limits;
};

/* "name:revision:hash" of the solver, NULL-terminated. */
extern const char *const farm_carried[];

/* Empties the scratch database and fills it. order NULL: without a campaign. */
void farm_init(struct farm *farm, const struct order *order);
/* Uses this store and its database as they are, and closes the store at the end. */
void farm_init_at(struct farm *farm, Store *store, const struct order *order);
void farm_clear(struct farm *farm);

/* Makes a problem with so many input channels. Problem number i of a campaign has 8 * (i + 1) channels, priority
 * 1 / (i + 1) and multiplicity i + 1. */
void farm_problem(struct problem *p, int64_t channels);
int64_t farm_create(Store *store, const struct order *order, int *reused);
void farm_change(struct farm *farm, const char *verb);

GPtrArray *farm_claim(Store *store, int64_t worker, enum pool pool, int batch,
                      double lease_seconds);
/* Claims one job by worker 0 or 1; NULL if no job is claimable. Free with job_free(). */
struct job *farm_claim_one(struct farm *farm, int worker, enum pool pool);

struct round *farm_make_round(int number);
/* Sets the round's outcomes: the first config took `ms`, the second is wrong. */
void farm_evaluate(struct round *round, double ms);
/* A kept result of the round's first config; borrows from the round. */
struct kept farm_make_kept(const struct round *round);

bool farm_try_built(struct farm *farm, const struct job *job, int number, GError **error);
bool farm_try_round(struct farm *farm, const struct job *job, int number, bool more, double seconds,
                    GError **error);
void farm_built(struct farm *farm, const struct job *job, int number);
/* Hands in an evaluated round, whose verified config took 2 + number ms. */
void farm_round(struct farm *farm, const struct job *job, int number, bool more, double seconds);
/* Takes the first claimable job through a whole round. */
void farm_work(struct farm *farm, int number, bool more, double seconds);

/* Sends worker 1's heartbeat, and makes it look for expired leases even if another heartbeat did so
 * just before. */
void farm_look_at_leases(struct farm *farm);
/* Claims a job by worker 0, lets the lease expire and has the queue take the job back. Free with job_free(). */
struct job *farm_claim_and_lose(struct farm *farm, enum pool pool);

/* The row of the campaign's job `index`; *rows owns the row. */
struct job_row *farm_job_row(struct farm *farm, int64_t campaign, guint index, GPtrArray **rows);
/* Asserts the state of the campaign's first job. */
void farm_expect_job(struct farm *farm, const char *state, int strikes, enum failure failure);
void farm_expect_campaign(struct farm *farm, int64_t id, const char *state);

#endif
