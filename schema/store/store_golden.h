/*
 * Golden versions: what a target ships with, numbered 1, 2, ... A version is
 * proposed from a campaign's kept results, built on the newest approved one,
 * and counts when it is approved; a rollback is a new version with the content
 * of an older one. Each call that changes something is one transaction, and
 * none waits for a client in it.
 *
 * Content outlives its campaign, and the code objects of all approved versions
 * that were not pruned, and of open proposals, stay (upkeep.h). by: who does it, as given; the login is
 * noted beside it.
 */
#ifndef SCHEMA_STORE_STORE_GOLDEN_H
#define SCHEMA_STORE_STORE_GOLDEN_H

#include "schema/store/store_results.h"

struct golden_version {
    char *target, *kind; /* "propose", "rollback" */
    char *state; /* "proposed", "approved", "withdrawn", "outdated": another one was approved
                            on its base; "pruned": its content was given up */
    int version, base, restores; /* base 0: none; restores 0 but for a rollback */
    int64_t campaign;            /* 0 for a rollback */
    char *campaign_name, *note;
    char *proposed_by, *proposed_login;
    char *approved_by, *approved_login; /* "" while it is not */
    int64_t proposed_unix, approved_unix;
    char *counts; /* entries by what was found of them, a JSON object */
};
/* By target and version; target NULL for all. GPtrArray of struct golden_version *. */
GPtrArray *store_list_golden(Store *store, const char *target, GError **error);
/* The newest approved one, 0 where there is none. */
bool store_newest_golden(Store *store, const char *target, int *version, GError **error);

/* A row of a version's content: a kept result whose `verified` was seen when it was proposed. It begins
 * with the result, so a list of these is also a list of results. */
struct golden_row {
    struct result result;
    int64_t campaign; /* that it came from; there may be none of that number any more */
    int since;        /* the version it came with */
    bool fits;        /* its stack has what was wanted */
};
/* Of an approved version, or what an open one would hold, in the order of store_list_judged_results();
 * version 0 holds nothing. stack: wanted of rows that fit, "" for any; network and tag NULL for all
 * problems; part NULL for all jobs. GPtrArray of struct golden_row *. */
struct golden_query {
    const char *target;
    int version;
    const char *stack, *network, *tag;
    const struct result_part *part; /* by the jobs that rows came from */
};
/* As store_next_results(), of the target's whole line: a part may hold less of one version. */
bool store_next_golden_rows(Store *store, const char *target, int rows, struct result_part *part,
                            GError **error);
GPtrArray *store_list_golden_rows(Store *store, const struct golden_query *query, GError **error);

/* A kept result to be taken, as it was read. reason: why, in a few words. */
struct golden_take {
    int64_t job;
    int rank;    /* in the campaign ... */
    int as_rank; /* ... and in the version */
    double median_ms;
    const char *reason;
};
/* Asks for some of what a proposal is to hold. *asked: 0 with the first ones, it becomes the number under which
 * all are asked for. What no proposal takes is forgotten after a day. */
bool store_ask_golden(Store *store, const struct golden_take *takes, int count, int64_t *asked,
                      GError **error);
struct golden_proposal {
    const char *target;
    int base;
    int64_t campaign;
    const char *by, *note;
    int64_t asked, take_count; /* so many were asked for, under that number */
    const char *counts;        /* a JSON object */
};
/* The entries of what was asked for replace those of the same problem and solver. Asked for again it is the
 * same version (*is_new false); an open proposal of the campaign with other rows is withdrawn.
 * STORE_ERROR_STATE where the base is not the newest approved version, a result changed since, or a kernel
 * has no code. */
bool store_propose_golden(Store *store, const struct golden_proposal *proposal, int *version,
                          bool *is_new, GError **error);
/* ---- measuring again where a campaign and the newest version disagree (store_remeasure.h) ---- */

struct golden_dispute {
    int64_t problem_id;
    const char *solver; /* of the entry that is measured again: what both sides hold of it */
    const char *rival; /* the solver of the golden entry that it is measured beside: its own, or the
                           winner; NULL where golden has nothing of the problem that counts */
    const char *not_by; /* logins that may not measure it, a line each; "" for none */
};
struct golden_remeasure {
    int64_t asked, under_way; /* entries: asked for; asked for before, and not done yet */
    int64_t at_work;          /* whose job is open otherwise */
    int64_t impossible;       /* of solvers that are not named, or whose job lost its workers */
};
/* Has the campaign measure them, adding jobs for golden entries that it never tried: in two rounds, or in one
 * without a rival. solvers: "name:revision:hash", NULL-terminated. *counts is added to. */
bool store_remeasure_golden(Store *store, const char *target, int64_t campaign,
                            const struct golden_dispute *disputes, int count,
                            const char *const *solvers, struct golden_remeasure *counts,
                            GError **error);

/* An entry of the campaign that was measured again so, and stayed as it was since on both sides: the first of
 * the two rounds. The second one's times are the campaign's results. */
struct golden_confirmed_config {
    char *config;
    enum failure failure;
    double median_ms, spread;
};
struct golden_confirmation {
    int64_t problem_id;
    char *solver;
    char *base_config; /* what golden has first of the entry, NULL where it has none */
    double drift;
    GArray *configs; /* struct golden_confirmed_config */
};
/* GPtrArray of struct golden_confirmation *. */
GPtrArray *store_list_golden_confirmations(Store *store, const char *target, int64_t campaign,
                                           GError **error);

/* Logins that measured a config of an entry, and that may measure it. Lists are NULL-terminated, and empty for
 * measurements from before logins were kept. */
struct golden_measurement {
    double median_ms, spread;
    char **logins; /* that handed in the round: more than one where it came in parts */
};
struct golden_measured {
    GArray *times; /* struct golden_measurement: the one of that median, then the
                                         newest before the older ones */
    struct golden_measurement
        golden;  /* what golden has first of the entry, if it is this config; else
                                         without logins */
    char **able; /* logins with workers that may measure it now */
};
struct golden_winner {
    int64_t problem_id, job;
    const char *solver, *config;
    double median_ms;
};
/* For each of them a struct golden_measured *, in their order. */
GPtrArray *store_list_golden_measurements(Store *store, const char *target, int64_t campaign,
                                          const struct golden_winner *winners, int count,
                                          GError **error);

/* STORE_ERROR_STATE where it is not open, another was approved on its base, or the policy asks for
 * somebody else than who proposed it. */
bool store_approve_golden(Store *store, const char *target, int version, const char *by,
                          GError **error);
bool store_withdraw_golden(Store *store, const char *target, int version, const char *by,
                           GError **error);
/* *approved: false where the policy asks for somebody else to approve it. */
struct golden_rollback {
    const char *target;
    int to;
    const char *by, *note;
};
bool store_roll_back_golden(Store *store, const struct golden_rollback *rollback, int *version,
                            bool *approved, GError **error);

/* Gives up what only versions before this approved one hold: they stay in the list. Open proposals that
 * nobody can approve any more, or that would restore it, are withdrawn. */
struct golden_pruned {
    int64_t versions, configs;
};
bool store_prune_golden(Store *store, const char *target, int before, const char *by,
                        struct golden_pruned *pruned, GError **error);

/* An entry whose best config differs. */
struct golden_change {
    struct problem problem;
    char *solver, *change; /* "gained", "lost", "changed" */
    char *reason;          /* of the newer row, "" for one that is lost */
    double old_ms, new_ms; /* medians, 0 on the side that has no row */
    double old_drift,
        new_drift; /* of the rounds that measured them (drift.h); 0 where it is not known */
    int old_revision, new_revision;
    char *old_config, *new_config;
};
/* By problem and solver; versions as in struct golden_query. GPtrArray of struct golden_change *. */
GPtrArray *store_diff_golden(Store *store, const char *target, int a, int b, GError **error);

/* Whether a proposal must be approved by somebody else. target NULL sets the farm's, which counts where a
 * target has none of its own. STORE_ERROR_ACCESS where one person is to do and the login is not the owner's. */
bool store_golden_policy(Store *store, const char *target, bool *two_persons, GError **error);
bool store_set_golden_policy(Store *store, const char *target, bool two_persons, const char *by,
                             GError **error);

#endif
