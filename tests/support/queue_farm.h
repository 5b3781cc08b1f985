/*
 * A farm for tests of the queue: a store on the scratch database, a campaign
 * of a made-up solver on made-up problems, and two workers. Rounds have two
 * configs, (number, 0), which is verified, and (number, 1), which is wrong.
 * Functions that return nothing assert that they succeed.
 */
#ifndef TESTS_SUPPORT_QUEUE_FARM_H
#define TESTS_SUPPORT_QUEUE_FARM_H

#include "schema/store/store_queue.h"
#include "schema/store/store_results.h"

struct farm {
    Store *store;
    int64_t campaign;
    int64_t workers[2];
};

/* What a campaign asks for; strategy NULL is "random". */
struct order {
    const char *strategy;
    int64_t seed;
    int jobs, configs_limit;
    double budget_seconds;
    bool build_only;
    bool searches;     /* the solver brings its own search */
    int revision;      /* of the solver, 0 for 1: workers carry no other */
    const char *stack; /* that workers must have, NULL for any */
    struct context_limits limits;
};

/* "name:revision:hash" of the solver, NULL-terminated. */
extern const char *const farm_carried[];

/* Empties the scratch database. order NULL: no campaign yet. */
void farm_init(struct farm *farm, const struct order *order);
/* Takes the store, which is on a database of its own, as it is. */
void farm_init_at(struct farm *farm, Store *store, const struct order *order);
void farm_clear(struct farm *farm);

/* Problem number i of a campaign has 8 * (i + 1) channels and priority 1 / (i + 1). */
void farm_problem(struct problem *p, int64_t channels);
int64_t farm_create(Store *store, const struct order *order, int *reused);
void farm_change(struct farm *farm, const char *verb);

GPtrArray *farm_claim(Store *store, int64_t worker, enum pool pool, int batch,
                      double lease_seconds);
/* One job of worker 0 or 1, or NULL when none is claimable. Free with job_free(). */
struct job *farm_claim_one(struct farm *farm, int worker, enum pool pool);

struct round *farm_make_round(int number);
/* Gives both configs their outcomes. */
void farm_evaluate(struct round *round, double ms);
/* The kept result of the round's first config; borrows from it. */
struct kept farm_make_kept(const struct round *round);

bool farm_try_built(struct farm *farm, const struct job *job, int number, GError **error);
bool farm_try_round(struct farm *farm, const struct job *job, int number, bool more, double seconds,
                    GError **error);
void farm_built(struct farm *farm, const struct job *job, int number);
/* The round's verified config took 2 + number ms. */
void farm_round(struct farm *farm, const struct job *job, int number, bool more, double seconds);
/* Takes the first claimable job through a whole round. */
void farm_work(struct farm *farm, int number, bool more, double seconds);

/* Worker 1 beats, and the beat looks for leases that ended, however short ago one did. */
void farm_look_at_leases(struct farm *farm);
/* A job of worker 0, which loses it at once. Free with job_free(). */
struct job *farm_claim_and_lose(struct farm *farm, enum pool pool);

/* A row of the campaign's jobs; *rows owns it. */
struct job_row *farm_job_row(struct farm *farm, int64_t campaign, guint index, GPtrArray **rows);
/* Of the campaign's first job. */
void farm_expect_job(struct farm *farm, const char *state, int strikes, enum failure failure);
void farm_expect_campaign(struct farm *farm, int64_t id, const char *state);

#endif
