/*
 * Results of a campaign: its kept configs, jobs, and outcomes.
 *
 * Large campaigns are read in parts. A problem_part has all that belongs to a
 * range of problems; a result_part has all results of a range of jobs. Loop:
 *
 *     struct problem_part part = PROBLEM_PART_BEGIN;
 *     do {
 *         store_next_problems(store, campaign, 10000, &part, error);
 *         ... store_list_part_jobs(store, campaign, &part, error) ...
 *     } while (part.last != INT64_MAX);
 */
#ifndef SCHEMA_RESULTS_STORE_RESULTS_H
#define SCHEMA_RESULTS_STORE_RESULTS_H

#include "schema/store/job_reason.h"
#include "schema/store/store.h"
#include "schema/store/store_rounds.h"
#include "solvers/problem/problem.h"
#include "solvers/search/searcher.h"

/* ---- parts ---- */

/* The problems with after < id <= last. */
struct problem_part {
    int64_t after, last;
};
#define PROBLEM_PART_BEGIN                                                                         \
    {                                                                                              \
        .after = INT64_MIN, .last = INT64_MIN                                                      \
    }
#define PROBLEM_PART_ALL                                                                           \
    {                                                                                              \
        .after = INT64_MIN, .last = INT64_MAX                                                      \
    }
/* Moves from PROBLEM_PART_BEGIN, or from a part, to the next part, of `jobs` jobs or a few more. The last part goes
 * up to INT64_MAX. A part may be empty. */
bool store_next_problems(Store *store, int64_t campaign, int jobs, struct problem_part *part,
                         GError **error);

/* The jobs with after < id <= last; if jobs is not NULL, only those of its job_count ids. */
struct result_part {
    int64_t after, last;
    const int64_t *jobs;
    int job_count;
};
#define RESULT_PART_BEGIN                                                                          \
    {                                                                                              \
        .after = INT64_MIN, .last = INT64_MIN                                                      \
    }
/* Moves from RESULT_PART_BEGIN, or from a part, to the next part, of `results` results or a few more: the results of
 * a job stay together. The last part goes up to INT64_MAX. A part may be empty. */
bool store_next_results(Store *store, int64_t campaign, int results, struct result_part *part,
                        GError **error);

/* ---- kept results ---- */

struct result {
    int64_t job, problem_id;
    struct problem problem;
    char *solver, *algorithm;
    int revision;
    bool dynamic, tunable;
    int multiplicity; /* as planned */
    int rank;         /* place among the job's kept results; 0: the best */
    struct kept kept;
    char *stack;
    /* The round that measured it: its drift (drift.h), 0 if unknown; its throttle reasons (conditions.h); its caches. */
    double drift;
    unsigned throttle;
    enum caches caches;
    /* The share of the output's elements that were compared when it was verified, the least of its job's rounds; 1:
     * all, 0: unknown. */
    double verified_share;
    /* The runs that were compared to prove the config, and the number of kinds of inputs that they had
     * (worker/eval/proof.h), of the round that compared most; 0 if no round proved it. */
    int proof_runs, proof_kinds;
    /* For judged results: a stored round of the job has this config, verified, with the same
     * times, runs and kernels. */
    bool verified;
    /* For golden rows: logins whose workers measured the job, "node17, node18"; "" if unknown.
     * NULL for other results. */
    char *measured_by;
    /* For judged results: what is wrong with the row, whose other members are then incomplete;
     * NULL for a sound row. */
    char *damage;
};
void result_free(struct result *result);

/* A winner's proof should compare so many runs; where runs are long it compares fewer. */
#define RESULT_PROOF_RUNS 100

/* All kept results of a campaign, by problem; of a problem the winner of its second measurement is first, the others
 * follow by median. struct result * */
GPtrArray *store_list_results(Store *store, int64_t campaign, GError **error);
GPtrArray *store_list_part_results(Store *store, int64_t campaign, const struct problem_part *part,
                                   GError **error);
/* The same for callers that check each row: a damaged row neither fails the call nor is left out, but gets its
 * `damage`. A result whose job is not of the campaign, or has no problem or solver there, has problem_id 0 and an
 * empty problem. network, tag: only problems of these; NULL for all. part: NULL for all. */
GPtrArray *store_list_judged_results(Store *store, int64_t campaign, const char *network,
                                     const char *tag, const struct result_part *part,
                                     GError **error);

/* A job's best result, and a worker that measured the job. */
struct measured {
    struct problem problem;
    char *solver, *config_text;
    double median_ms, error;
    /* Login and node of the worker; "" without roles, or if the worker is no longer known. */
    char *login, *node;
    int64_t job, worker;
    int rounds;      /* rounds of the job that the worker handed in */
    int64_t last_at; /* when it handed in the last of these rounds, Unix seconds */
};
/* Lists who measured which jobs, by login, node and job. login NULL: all workers. Jobs that took over another
 * campaign's results are not listed, nor jobs measured before the database recorded this. struct measured * */
GPtrArray *store_list_measured(Store *store, int64_t campaign, const char *login, GError **error);

/* ---- configs that build-only campaigns built ---- */

/* Moves to the next part of `jobs` jobs or a few more, like store_next_results(). */
bool store_next_built(Store *store, int64_t campaign, int jobs, struct result_part *part,
                      GError **error);
/* The configs of the part whose kernels are all built, as results without times, by job and in the order in which
 * they were proposed. network, tag and damage: as in store_list_judged_results(). */
GPtrArray *store_list_built(Store *store, int64_t campaign, const char *network, const char *tag,
                            const struct result_part *part, GError **error);

/* ---- jobs and outcomes ---- */

struct job_row {
    int64_t id;
    struct problem problem;
    char *solver, *state;
    int revision, strikes, rounds, multiplicity;
    double priority;
    enum failure failure;
    char *detail;
    bool reused;
    enum job_reason reason;
    int64_t source;    /* the earlier campaign that the reason refers to, 0 for none */
    int configs_taken; /* how many configs the job took over from earlier campaigns */
    enum search_end
        search_end; /* what ended its search; SEARCH_GOES_ON for an open job, and if it is not known */
    bool by_budget; /* the campaign's budget ended it */
};
GPtrArray *store_list_jobs(Store *store, int64_t campaign, GError **error); /* struct job_row * */
GPtrArray *store_list_part_jobs(Store *store, int64_t campaign, const struct problem_part *part,
                                GError **error);

struct config_outcome {
    int64_t job;
    struct problem problem;
    char *solver, *config_text;
    int revision;
    struct perf_config config;
    enum failure failure;
    double median_ms; /* 0 if not timed */
    int n;            /* number of timed runs */
    double spread;    /* their interquartile range divided by the median */
    double build_seconds, eval_seconds;
    bool is_default;
    /* time in ms of the job's default config in the same round; 0 if not timed */
    double baseline_ms;
    char *detail;
};
/* The configs that have an outcome, in the order of jobs and rounds: struct config_outcome *. A default config that
 * was measured again in a later round appears again. */
GPtrArray *store_list_outcomes(Store *store, int64_t campaign, GError **error);
/* Only the rejected configs, without baseline_ms. */
GPtrArray *store_list_part_rejections(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error);
/* counts[FAILURE_COUNT]: configs of the campaign by outcome. */
bool store_count_outcomes(Store *store, int64_t campaign, int64_t counts[FAILURE_COUNT],
                          GError **error);

/* ---- shared with store_golden.c ---- */

/* Reads a judged result from its row into a zeroed struct. Call store_result_clear() afterwards. */
void store_read_judged(const json_t *object, struct result *result);
void store_result_clear(struct result *result);
/* Compares two results by problem, by whether they won the second measurement, and by median, solver and rank, for
 * sorting. Elements are struct result *, or begin with one. */
int store_compare_results(gconstpointer a, gconstpointer b);
/* The part's jobs as the text of an SQL array; NULL if the part (or NULL) names none. Free with g_free(). */
char *store_part_jobs(const struct result_part *part);
/* Moves to the part that ends with the job `last`, "" for the last part. */
void store_part_move(struct result_part *part, const char *last);
#define PART_AFTER(part) ((part) != NULL ? (part)->after : INT64_MIN)
#define PART_LAST(part)  ((part) != NULL ? (part)->last : INT64_MAX)

#endif
