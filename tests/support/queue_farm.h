/*
 * A farm for tests of the queue: a store on the scratch database, a campaign of
 * an invented solver on invented problems, and two workers. A round has two
 * configs: (number, 0) is verified, (number, 1) is wrong. Functions without a
 * result assert that they succeed.
 */
#ifndef TESTS_SUPPORT_QUEUE_FARM_H
#define TESTS_SUPPORT_QUEUE_FARM_H

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
    int jobs, configs_limit;
    double budget_seconds;
    bool build_only;
    bool searches;     /* the solver brings its own search */
    int revision;      /* the solver's revision; 0 means 1, the only one that workers carry */
    const char *stack; /* constraints on workers, NULL for none */
    struct context_limits limits;
};

/* "name:revision:hash" of the solver, NULL-terminated. */
extern const char *const farm_carried[];

/* Empties the scratch database and fills it. order NULL: without a campaign. */
void farm_init(struct farm *farm, const struct order *order);
/* Uses the store as it is, on a database of its own, and takes it over. */
void farm_init_at(struct farm *farm, Store *store, const struct order *order);
void farm_clear(struct farm *farm);

/* Problem number i of a campaign has 8 * (i + 1) channels and priority 1 / (i + 1). */
void farm_problem(struct problem *p, int64_t channels);
int64_t farm_create(Store *store, const struct order *order, int *reused);
void farm_change(struct farm *farm, const char *verb);

GPtrArray *farm_claim(Store *store, int64_t worker, enum pool pool, int batch,
                      double lease_seconds);
/* One job claimed by worker 0 or 1, or NULL if none is claimable. Free with job_free(). */
struct job *farm_claim_one(struct farm *farm, int worker, enum pool pool);

struct round *farm_make_round(int number);
/* Sets the outcomes of both configs. */
void farm_evaluate(struct round *round, double ms);
/* The round's first config as a kept result; borrows from the round. */
struct kept farm_make_kept(const struct round *round);

bool farm_try_built(struct farm *farm, const struct job *job, int number, GError **error);
bool farm_try_round(struct farm *farm, const struct job *job, int number, bool more, double seconds,
                    GError **error);
void farm_built(struct farm *farm, const struct job *job, int number);
/* Sets the time of the round's verified config to 2 + number ms. */
void farm_round(struct farm *farm, const struct job *job, int number, bool more, double seconds);
/* Takes the first claimable job through a whole round. */
void farm_work(struct farm *farm, int number, bool more, double seconds);

/* Sends worker 1's heartbeat, and makes it look for leases that ended, however recently a heartbeat did
 * so. */
void farm_look_at_leases(struct farm *farm);
/* Claims a job by worker 0, which loses it at once. Free with job_free(). */
struct job *farm_claim_and_lose(struct farm *farm, enum pool pool);

/* The row of a job of the campaign; *rows owns it. */
struct job_row *farm_job_row(struct farm *farm, int64_t campaign, guint index, GPtrArray **rows);
/* For the campaign's first job. */
void farm_expect_job(struct farm *farm, const char *state, int strikes, enum failure failure);
void farm_expect_campaign(struct farm *farm, int64_t id, const char *state);

#endif
