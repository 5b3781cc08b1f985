/*
 * Golden versions: the released results of a target, numbered 1, 2, ... A
 * version is proposed from a campaign's kept results, on top of the newest
 * approved version, and counts once approved. A rollback is a new version with
 * the content of an older one. Each call that changes something is one
 * transaction, without waiting for the client in between.
 *
 * The content outlives its campaign. The code objects of open proposals, and of
 * approved versions that were not pruned, are kept (upkeep.h). Parameters named
 * `by` are names that people give; the login is recorded beside them.
 */
#ifndef SCHEMA_RESULTS_STORE_GOLDEN_H
#define SCHEMA_RESULTS_STORE_GOLDEN_H

#include "schema/results/store_results.h"

struct golden_version {
    char *target, *kind; /* "propose", "rollback" */
    /* "proposed", "approved", "withdrawn"; "outdated": another version was approved on its base; "pruned": its
     * content was dropped */
    char *state;
    /* base: the version that this one changes, 0 for none; restores: the version that a rollback
     * restores, else 0 */
    int version, base, restores;
    int64_t campaign; /* campaign of the proposed results; 0 for a rollback */
    char *campaign_name, *note;
    char *proposed_by, *proposed_login;
    char *approved_by, *approved_login; /* who approved it; "" before that */
    int64_t proposed_unix, approved_unix;
    char *counts; /* how many entries got each verdict, a JSON object */
};
/* struct golden_version *, by target and version; target NULL for all. */
GPtrArray *store_list_golden(Store *store, const char *target, GError **error);
/* The newest approved version, 0 for none. */
bool store_newest_golden(Store *store, const char *target, int *version, GError **error);

/* A row of a version's content: a kept result that was `verified` when it was proposed. It begins with the
 * result: a list of these is also a list of results. */
struct golden_row {
    struct result result;
    int64_t campaign; /* campaign of the result, which may have been dropped since */
    int since;        /* the first version that contains the row */
    bool fits;        /* the row's stack meets the query's */
};
/* Rows of an approved version, or of an open proposal, in the order of store_list_judged_results(). Version 0 has no
 * rows. stack: rows that meet it get `fits`; "" for any. network, tag: NULL for all problems. part: NULL for all jobs.
 * GPtrArray of struct golden_row *. */
struct golden_query {
    const char *target;
    int version;
    const char *stack, *network, *tag;
    const struct result_part *part; /* only rows of these jobs; NULL for all */
};
/* Moves to the next part of about `rows` rows, like store_next_results(). Rows of all versions
 * of the target count, so a part may hold fewer rows of one version. */
bool store_next_golden_rows(Store *store, const char *target, int rows, struct result_part *part,
                            GError **error);
GPtrArray *store_list_golden_rows(Store *store, const struct golden_query *query, GError **error);

/* A kept result to propose, as the caller read it from the campaign. */
struct golden_take {
    int64_t job;
    int rank;    /* rank of the result among the job's kept results in the campaign */
    int as_rank; /* rank that the result gets in the proposed version */
    /* median in ms that the caller read; the proposal fails if the result has another one by then */
    double median_ms;
    const char *reason; /* why it is proposed, in a few words */
};
/* Records results that a proposal is to take, in pieces. *asked: 0 before the first piece, then the number
 * under which all pieces are recorded. Pieces that no proposal takes are dropped after a day. */
bool store_ask_golden(Store *store, const struct golden_take *takes, int count, int64_t *asked,
                      GError **error);
struct golden_proposal {
    const char *target;
    int base;
    int64_t campaign;
    const char *by, *note;
    /* asked: the number under which store_ask_golden() recorded the results; take_count: how many
     * results it recorded under this number. */
    int64_t asked, take_count;
    const char *counts; /* a JSON object */
};
/* Proposes a version in which the recorded results replace the entries of the same problem and solver. The
 * same proposal again returns the same version (*is_new false). An open proposal of the campaign with other
 * rows is withdrawn. STORE_ERROR_STATE if the base is not the newest approved version, a result has changed
 * since, or a kernel has no code. */
bool store_propose_golden(Store *store, const struct golden_proposal *proposal, int *version,
                          bool *is_new, GError **error);
/* ---- measuring again where a campaign and the newest version disagree (store_remeasure.h) ---- */

struct golden_dispute {
    int64_t problem_id;
    /* The solver of the entry to measure again. The round measures the configs that the campaign kept of the entry and,
     * with a rival, those of the newest golden version. */
    const char *solver;
    /* The solver of the golden entry of the problem to compare with: the same solver, or the golden winner's.
     * NULL if golden has no valid entry of the problem. */
    const char *rival;
    const char *not_by; /* logins that may not measure the entry, one a line; "" for none */
};
struct golden_remeasure {
    /* asked: entries that this call has measured again; under_way: entries whose job already measures
     * again. */
    int64_t asked, under_way;
    int64_t at_work; /* entries whose job is open for another reason, so that it is left alone */
    /* Entries that cannot be measured: they have no config, their solver is not in `solvers`, their job failed as
     * worker lost, golden no longer holds the rival, or only logins of not_by have workers for them. */
    int64_t impossible;
};
/* Makes the campaign measure the entries again: in two rounds, or in one if the entry has no rival. A golden
 * entry that the campaign never tried gets a job in it. solvers: "name:revision:hash" of the solvers that may be
 * measured, NULL-terminated. Adds to *counts. */
bool store_remeasure_golden(Store *store, const char *target, int64_t campaign,
                            const struct golden_dispute *disputes, int count,
                            const char *const *solvers, struct golden_remeasure *counts,
                            GError **error);

/* An entry that was measured again for golden beside a rival, with the outcomes of the first of its two rounds.
 * The times of the second round are the campaign's results. */
struct golden_confirmed_config {
    char *config;
    enum failure failure;
    double median_ms, spread;
};
struct golden_confirmation {
    int64_t problem_id;
    char *solver;
    char *base_config; /* golden's best config of the entry as text, NULL for none */
    /* The round's drift (drift.h), and its throttle reasons (conditions.h). */
    double drift;
    unsigned throttle;
    GArray *configs; /* struct golden_confirmed_config */
};
/* The campaign's entries that were measured again, if no later round measured their job and the newest golden
 * version still holds the rival's row. GPtrArray of struct golden_confirmation *. */
GPtrArray *store_list_golden_confirmations(Store *store, const char *target, int64_t campaign,
                                           GError **error);

/* Logins that measured a config of an entry, and logins that may measure it. Lists are NULL-terminated;
 * empty for measurements from before logins were recorded. */
struct golden_measurement {
    double median_ms, spread;
    char **logins; /* logins whose workers handed in the round; several if it came in parts */
};
struct golden_measured {
    /* struct golden_measurement: the measurements of the config, first the one with the asked
     * median, then the newest first */
    GArray *times;
    /* golden's measurement, if its best config of the entry is this config; else without logins */
    struct golden_measurement golden;
    /* logins that may measure the entry and had a worker with a heartbeat within the last seven days */
    char **able;
};
struct golden_winner {
    int64_t problem_id, job;
    const char *solver, *config;
    double median_ms;
};
/* One struct golden_measured * for each entry, in their order. */
GPtrArray *store_list_golden_measurements(Store *store, const char *target, int64_t campaign,
                                          const struct golden_winner *winners, int count,
                                          GError **error);

/* Approves a proposal. STORE_ERROR_STATE if it is not open, another version was approved on its base, or the
 * policy demands another person than the proposer. */
bool store_approve_golden(Store *store, const char *target, int version, const char *by,
                          GError **error);
bool store_withdraw_golden(Store *store, const char *target, int version, const char *by,
                           GError **error);
/* Proposes a rollback and approves it, if the policy lets the same person do both; else *approved is false. */
struct golden_rollback {
    const char *target;
    int to;
    const char *by, *note;
};
bool store_roll_back_golden(Store *store, const struct golden_rollback *rollback, int *version,
                            bool *approved, GError **error);

/* Drops the content that only versions older than this approved one hold; the versions stay listed.
 * Withdraws open proposals that can no longer be approved, or that would restore dropped content. */
struct golden_pruned {
    int64_t versions, configs;
};
bool store_prune_golden(Store *store, const char *target, int before, const char *by,
                        struct golden_pruned *pruned, GError **error);

/* An entry whose best config differs between two versions. */
struct golden_change {
    struct problem problem;
    char *solver, *change; /* "gained", "lost", "changed" */
    char *reason;          /* reason of the newer version's row, "" for a lost entry */
    double old_ms, new_ms; /* median times in ms; 0 in a version without the entry */
    /* Drifts of the rounds that measured the times (drift.h); 0 if unknown. */
    double old_drift, new_drift;
    int old_revision, new_revision;
    char *old_config, *new_config;
};
/* GPtrArray of struct golden_change *, by problem and solver. Versions as in struct golden_query. */
GPtrArray *store_diff_golden(Store *store, const char *target, int a, int b, GError **error);

/* Whether another person than the proposer must approve. target NULL sets the farm's policy, which holds for
 * targets without their own. STORE_ERROR_ACCESS if a login other than the owner's relaxes it. */
bool store_golden_policy(Store *store, const char *target, bool *two_persons, GError **error);
bool store_set_golden_policy(Store *store, const char *target, bool two_persons, const char *by,
                             GError **error);

#endif
