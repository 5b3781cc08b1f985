/*
 * The queue: claiming jobs, and handing in what was built and measured.
 * QUEUE.md describes the states and promises.
 */
#ifndef SCHEMA_STORE_STORE_QUEUE_H
#define SCHEMA_STORE_STORE_QUEUE_H

#include "schema/store/store.h"
#include "schema/store/store_rounds.h"
#include "solvers/problem/problem.h"
#include "solvers/search/searcher.h"

/* The second measurement of a problem, its final (QUEUE.md): its best configs, of all solvers, are measured together. The
 * job that carries it has them as its only round; solvers[i] made config i. */
struct final {
    double seconds; /* device time that it may take */
    int count;
    char **solvers;
    int *revisions;
};

/* A claimed job. */
struct job {
    int64_t id, campaign;
    /* The claim's number: each call that hands in work of the claim carries it, and an outdated
     * one is refused. */
    int64_t fence;
    struct problem problem;
    char *solver;
    int revision;
    char *target; /* id of the campaign's target */
    char *stack;  /* the campaign's constraints on the software */
    char *strategy;
    int64_t seed;
    int64_t deadline_unix; /* deadline of the campaign, Unix seconds; 0 for none */
    bool budget_spent;     /* the campaign's budget was spent when the job was claimed */
    int configs_limit, close_configs, round_configs; /* as in struct campaign */
    double search_seconds, min_gain;                 /* as in struct campaign */
    bool build_only;
    /* The campaign's limits, under which configs and solutions are made. */
    struct context_limits limits;
    int strikes;
    /* The lowest verified median of the problem in the campaign, by any solver, in ms; 0 for none. Build claims of a
     * first round have none, nor have those of a database whose functions are older. */
    double best_ms;
    /* struct round *: the stored rounds; in an eval claim the last one is the open round. */
    GPtrArray *rounds;
    /* struct perf_config: configs quarantined for the job's solver, problem and target. */
    GArray *quarantined;
    /* For build claims: texts of configs that the search tries first (store_winners.h); NULL for
     * none. */
    char **prior;
    /* For build claims: how configs did before on the target, "CONFIG@MS", the newest last, "CONFIG@Infinity" for those
     * that failed; NULL for none. */
    char **attempts;
    /* struct perf_config: the configs that this round measures again (store_remeasure.h); NULL for a round of
     * the search */
    GArray *wish;
    bool wish_keeps_all; /* all configs of the wish become kept results */
    /* The final that the job carries; NULL for a round of the job alone. */
    struct final *final;
    /* what is wrong with the job's rows; the other members are then incomplete. NULL for nothing */
    char *damage;
};
void job_free(struct job *job);

enum pool { POOL_BUILD, POOL_EVAL };
struct claim {
    int64_t worker;
    enum pool pool;
    int64_t campaign; /* claim only from this campaign; 0: from any active one */
    /* For eval claims: only campaigns of this target. For build claims: NULL for any target. */
    const char *target;
    const char *const *solvers; /* "name:revision:hash" of the worker's solvers, NULL-terminated */
    int batch;                  /* most jobs to claim */
    double lease_seconds;
};
/* Claims up to `batch` jobs: the lowest round first, then the highest priority. GPtrArray of struct job *, empty if
 * nothing is claimable.
 *
 * A campaign whose budget is spent gives out rounds that measure again, and of each problem without a verified config one
 * job; all other jobs that nobody works on end, done and by_budget. A job with damaged
 * rows is returned with its `damage` set: fail it. A campaign whose jobs the server cannot give out is left out, and
 * store_list_refusals() gives the reason. */
GPtrArray *store_claim(Store *store, const struct claim *claim, GError **error);

/* building -> built (done for a build-only campaign): stores the open round. */
bool store_built(Store *store, const struct job *job, const struct round *round, GError **error);
/* Stores the open round's outcomes so far; the job stays in evaluating. */
bool store_partial(Store *store, const struct job *job, const struct round *round, GError **error);
/* evaluating -> ready (more = true) or done: stores the round, replaces the job's kept results (best first) and adds
 * the seconds to the campaign's spent time. With more = false a job without any verified config fails with its
 * commonest failure. A campaign whose last open job ends becomes done. Why the search ended is not stored. */
bool store_round(Store *store, const struct job *job, const struct round *round,
                 const struct kept *kept, int kept_count, bool more, double seconds,
                 GError **error);
/* The arguments of store_built() or store_round(). */
struct handed {
    const struct job *job;
    const struct round *round;
    const struct kept *kept; /* this and the following members are for store_round() only */
    int kept_count;
    bool more;
    enum search_end
        end; /* without more: why the search ended; SEARCH_GOES_ON if it did not end with the round */
    double seconds;
};
/* store_built() and store_round() for many jobs by one statement a campaign, which costs the server much less. Items
 * of one campaign should be neighbours. refused[i] (of `count` NULLs) gets the error of an item that was refused
 * (STORE_ERROR_FENCE, _STATE, _NOT_FOUND, _REFUSED). False if the other items could not be stored; the whole call
 * may then be repeated. */
bool store_built_many(Store *store, const struct handed *items, int count, GError **refused,
                      GError **error);
bool store_round_many(Store *store, const struct handed *items, int count, GError **refused,
                      GError **error);
/* evaluating -> done: stores what a final measured, whose outcomes have their intervals. Each job that has a config in it
 * gets a round, and its kept results get the new times; the winner is chosen (finals.sql), and adds the seconds to the
 * campaign's spent time. A repeated call changes nothing. */
bool store_final(Store *store, const struct job *job, const struct round *round, double seconds,
                 GError **error);
/* building or evaluating -> failed. */
bool store_fail_job(Store *store, const struct job *job, enum failure failure, const char *detail,
                    GError **error);
/* building -> done, or failed if no config was ever verified: nothing is left to propose. end: why the search has
 * ended. STORE_ERROR_REFUSED before the first round was evaluated. */
bool store_finish_job(Store *store, const struct job *job, enum search_end end, GError **error);
/* building -> ready, evaluating -> built, without a strike. */
bool store_release_job(Store *store, const struct job *job, GError **error);

/* Appends a round as a row of rounds or outcomes to an array of store_rows.h. open: outcomes may be pending.
 * Internal to the store. */
void built_to_row(GByteArray *out, const struct job *job, const struct round *round);
void outcomes_to_row(GByteArray *out, const struct job *job, const struct round *round, bool open);
/* Forgets the problems, solvers and campaigns that claims have read. Internal to the store. */
void store_known_clear(Store *store);

#endif
