/*
 * What came of a campaign: the configs worth keeping, its jobs, what was
 * rejected, and how far it is.
 */
#ifndef SCHEMA_STORE_STORE_RESULTS_H
#define SCHEMA_STORE_STORE_RESULTS_H

#include "schema/store/job_reason.h"
#include "schema/store/store.h"

struct result {
    int64_t job, problem_id;
    struct problem problem;
    char *solver, *algorithm;
    int revision;
    bool dynamic, tunable;
    int multiplicity; /* as planned */
    int rank;         /* 0: the job's best */
    struct kept kept;
    char *stack;
    double drift;  /* of the round that measured it, see drift.h; 0 where it is not known */
    bool verified; /* judged: a stored round of the job has this config, verified, with these times,
                      as many runs and these kernels */
    char *
        measured_by; /* golden: the logins whose workers measured the job, "node17, node18"; "" where
                        * that is not known, and NULL for other results */
    char *damage;    /* judged: what is wrong with its row, and then incomplete; NULL for nothing */
};
void result_free(struct result *result);

/* A job's best result and a worker that measured the job. */
struct measured {
    struct problem problem;
    char *solver, *config_text;
    double median_ms, error;
    char *login,
        *node; /* "" on a database without roles, and where the worker is not known any more */
    int64_t job, worker;
    int rounds;      /* that it handed in outcomes of */
    int64_t last_at; /* when it did so last, Unix seconds */
};
/* Lists who measured what of a campaign: login NULL for all, else that login's workers alone. Jobs that took over
 * another campaign's results and jobs measured before the farm kept this are not among them. By login, node
 * and job. struct measured * */
GPtrArray *store_list_measured(Store *store, int64_t campaign, const char *login, GError **error);
/* All kept results of a campaign, by problem, then median. */
GPtrArray *store_list_results(Store *store, int64_t campaign, GError **error);
/* A part of many results, by whole jobs: of those after `after` up to `last`, and where jobs is not NULL of
 * these among them alone. */
struct result_part {
    int64_t after, last;
    const int64_t *jobs;
    int job_count;
};
#define RESULT_PART_BEGIN                                                                          \
    {                                                                                              \
        .after = INT64_MIN, .last = INT64_MIN                                                      \
    }
/* Moves from that, or from a part, to the next one, of as many results or a few more; the last one goes up to
 * INT64_MAX. It may hold none. */
bool store_next_results(Store *store, int64_t campaign, int results, struct result_part *part,
                        GError **error);
/* The same for who has to tell good rows from bad ones: none is left out and none fails the call. One
 * whose job is not of the campaign, or has no problem or solver there, has no problem_id (and an empty
 * problem). network and tag, where they are not NULL: of problems of these alone. part NULL: all. */
GPtrArray *store_list_judged_results(Store *store, int64_t campaign, const char *network,
                                     const char *tag, const struct result_part *part,
                                     GError **error);

/* Parts of what a build-only campaign built, by so many jobs. */
bool store_next_built(Store *store, int64_t campaign, int jobs, struct result_part *part,
                      GError **error);
/* The configs in it whose kernels are all built, as results without times, by job and as they were proposed;
 * damage, network and tag as above. */
GPtrArray *store_list_built(Store *store, int64_t campaign, const char *network, const char *tag,
                            const struct result_part *part, GError **error);

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
    int64_t source;    /* the campaign that the reason is found in, 0 for none */
    int configs_taken; /* over from earlier campaigns, one by one */
};
GPtrArray *store_list_jobs(Store *store, int64_t campaign, GError **error);

/* What became of one config. */
struct config_outcome {
    struct problem problem;
    char *solver, *config_text;
    int revision;
    struct perf_config config;
    enum failure failure;
    double median_ms;   /* 0 where it was not timed */
    double baseline_ms; /* of the job's first config, the default, in the same round; likewise */
    char *detail;
};
/* The configs that have an outcome, in the order of jobs and rounds. A default config measured again
 * in a later round comes again. */
GPtrArray *store_list_outcomes(Store *store, int64_t campaign, GError **error);
/* counts[FAILURE_COUNT]: configs of the campaign by outcome. */
bool store_count_outcomes(Store *store, int64_t campaign, int64_t counts[FAILURE_COUNT],
                          GError **error);

/* Jobs of a campaign that failed for one reason, and what was said of the last of them. */
struct job_failures {
    enum failure failure;
    int jobs;
    char *detail; /* NULL for none */
};
/* GPtrArray of struct job_failures *, by reason: the server counts, however many jobs there are. */
GPtrArray *store_list_job_failures(Store *store, int64_t campaign, GError **error);

struct progress {
    int jobs, done, failed, ready, building, built, evaluating;
    int64_t configs_done;  /* evaluated in stored and partial rounds */
    int64_t configs_open;  /* in open rounds, not evaluated */
    int64_t configs_taken; /* of configs_done, those that earlier campaigns measured */
    int64_t kernels_built;
    double spent_seconds, budget_seconds;
    bool has_deadline;
    double
        deadline_seconds; /* until the deadline by the server's clock, negative once it has passed */
    double compile_seconds, eval_seconds; /* sums over what was done */
    bool build_only;                      /* what is built is done, and stays among configs_open */
};
/* How the campaign's jobs were met by earlier ones. *known is false where that was not kept. */
bool store_count_origins(Store *store, int64_t campaign, struct job_origins *origins, bool *known,
                         GError **error);
bool store_progress(Store *store, int64_t campaign, struct progress *progress, GError **error);

#endif
