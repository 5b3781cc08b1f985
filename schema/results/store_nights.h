/*
 * Nights: a night is one run of `run nightly.json`, once a day. It is a row with a name and a date, so the same command
 * finds it again. It moves through the states of NIGHT_STATES; one session at a time moves it, and the session's end
 * (also by kill -9) frees it for another one. For each of its targets it has a campaign, and maybe one more for
 * backfill, whose jobs each carry the reason to be there.
 */
#ifndef SCHEMA_RESULTS_STORE_NIGHTS_H
#define SCHEMA_RESULTS_STORE_NIGHTS_H

#include "schema/store/store_campaigns.h"

#include <jansson.h>

/* The state of a night: it has done everything before, and does this next or now. The database has
 * the same list (night_state in sql/tables/0014_nights.sql). */
#define NIGHT_STATES(X)                                                                            \
    X(NIGHT_PLANNING, "planning")     /* which jobs, and why; makes the campaigns */               \
    X(NIGHT_TUNING, "tuning")         /* workers do the campaigns' jobs */                         \
    X(NIGHT_GATHERING, "gathering")   /* ended jobs become points of the history */                \
    X(NIGHT_JUDGING, "judging")       /* what got worse or better; suspects */                     \
    X(NIGHT_CONFIRMING, "confirming") /* suspects are measured again */                            \
    X(NIGHT_SETTLING, "settling")     /* gathers and judges once more, with these times */         \
    X(NIGHT_PROPOSING, "proposing")   /* proposes a golden version, and approves it if asked */    \
    X(NIGHT_EXPORTING, "exporting")   /* writes the release and checks it */                       \
    X(NIGHT_REPORTING, "reporting")   /* text, JSON, HTML */                                       \
    X(NIGHT_TELLING, "telling")       /* webhooks */                                               \
    X(NIGHT_DONE, "done")

enum night_state {
#define X(name, text) name,
    NIGHT_STATES(X)
#undef X
        NIGHT_STATE_COUNT
};
/* "planning", "tuning", ... Static. */
const char *night_state_name(enum night_state state);

/* ---- nights ---- */

#define NIGHT_DATE_SIZE 11 /* "2026-11-23" and its end */
struct night {
    int64_t id;
    char *name;                 /* the name in the night's file */
    char date[NIGHT_DATE_SIZE]; /* the local date on which the night began */
    enum night_state state;
    json_t *description;            /* the night's file as it was read when the night began */
    int64_t begun_unix, ended_unix; /* ended: 0 before NIGHT_DONE */
    int64_t deadline_unix;          /* nothing is tuned after it; 0 for none */
    bool empty;                     /* the plan had no job */
    bool is_running;                /* a session works on it now */
    char *begun_by;                 /* "NODE process PID" that works, or worked last, on it */
    int findings;                   /* regressions and failed steps */
    json_t *summary; /* what `run --json` prints at the end; an empty object before that */
    int jobs, jobs_open, jobs_done, jobs_failed, jobs_unfinished; /* of night_jobs */
};
void night_free(struct night *night);

/* Finds the night of that name and date, or makes it. An existing night keeps the description and
 * the deadline that it began with. date: "YYYY-MM-DD". *is_new may be NULL. */
struct night *store_begin_night(Store *store, const char *name, const char *date,
                                const json_t *description, int64_t deadline_unix, bool *is_new,
                                GError **error);
/* NULL with STORE_ERROR_NOT_FOUND if there is no such night. */
struct night *store_get_night(Store *store, int64_t id, GError **error);
/* The newest first; name NULL for all, limit 0 for all. GPtrArray of struct night *. */
GPtrArray *store_list_nights(Store *store, const char *name, int limit, GError **error);

/* Makes this session the one that works on the night. *taken is false while another session does. by: "NODE process
 * PID", for people. */
bool store_take_night(Store *store, int64_t night, const char *by, bool *taken, GError **error);
void store_leave_night(Store *store, int64_t night);

/* Moves the night from one state to another. STORE_ERROR_STATE if it is not in `from`, if there is no
 * such move, or if this session has not taken the night (its connection was lost meanwhile). */
bool store_move_night(Store *store, int64_t night, enum night_state from, enum night_state to,
                      GError **error);
/* Keeps what `run --json` prints, the number of findings, and whether the plan has no job. */
bool store_set_night_summary(Store *store, int64_t night, const json_t *summary, int findings,
                             bool empty, GError **error);

/* ---- steps ---- */

struct night_step {
    enum night_state step;
    int tries;
    int64_t begun_unix, ended_unix; /* ended: 0 while it runs, or if its process died */
    bool failed;                    /* it was given up */
    char *detail;                   /* what it did, or why it failed */
};
void night_step_free(struct night_step *step);
/* Notes that a step begins once more. *tries: how often by now. */
bool store_begin_night_step(Store *store, int64_t night, enum night_state step, int *tries,
                            GError **error);
bool store_end_night_step(Store *store, int64_t night, enum night_state step, bool failed,
                          const char *detail, GError **error);
/* GPtrArray of struct night_step *, in the order of the states. */
GPtrArray *store_list_night_steps(Store *store, int64_t night, GError **error);

/* ---- targets and campaigns ---- */

struct night_target {
    char *target, *stack;
    int baseline;                        /* golden version to compare with, 0 for none */
    int64_t campaign, backfill_campaign; /* 0 for none */
    json_t *
        judged; /* what the night found, as regressions_to_json() made it; an empty object before that */
    json_t *plan; /* counts by reason and the estimate, as night_plan.h makes them */
};
void night_target_free(struct night_target *target);
/* Stores a target of the night. A repeated call replaces all of it except the campaigns and what
 * was judged. */
bool store_put_night_target(Store *store, int64_t night, const struct night_target *target,
                            GError **error);
bool store_judge_night_target(Store *store, int64_t night, const char *target, const json_t *judged,
                              GError **error);
/* GPtrArray of struct night_target *, by target. */
GPtrArray *store_list_night_targets(Store *store, int64_t night, GError **error);

/* Reads what the newest judged night of that name before the date found for the target, a new reference; NULL without an
 * error if there is no such night. Nights that failed before they judged, and nights without a job, are passed over. */
bool store_find_judged(Store *store, const char *name, const char *date, const char *target,
                       json_t **judged, GError **error);

/* Makes the night's campaign for a target like store_create_campaign(), each job with its cause, and notes it
 * and its jobs with the night, all in one transaction. campaign->night and ->backfill say which. If the night has
 * this campaign already, nothing changes. campaign->id becomes its id; *existed and *reused may be NULL. */
bool store_create_night_campaign(Store *store, struct campaign *campaign,
                                 const struct job_plan *jobs, int count, const GPtrArray *notes,
                                 bool *existed, int *reused, GError **error);
/* Cancels the open campaigns of earlier nights of the same name. The new night's campaigns take over what they
 * measured. *ended: how many. */
bool store_end_earlier_nights(Store *store, int64_t night, int *ended, GError **error);

/* ---- jobs ---- */

struct night_job {
    int64_t night;
    char date[NIGHT_DATE_SIZE];
    char *target;
    struct problem problem;
    int64_t problem_id, solver_id;
    char *solver; /* name */
    int revision;
    int64_t campaign, job;
    int reason; /* enum night_reason */
    char *detail;
    bool fresh, again, backfill;
    char *state; /* "open", "done", "failed", "unfinished" (the deadline cut it) */
};
void night_job_free(struct night_job *job);
/* Which jobs; members that are 0, -1 or NULL ask for all. */
struct night_job_query {
    int64_t night;
    const char *target;
    int reason;        /* -1 for all */
    const char *state; /* "unfinished", ... */
    int64_t problem_id;
    int offset, limit;
};
/* GPtrArray of struct night_job *, the newest night first, then by target and in the order of their campaign. */
GPtrArray *store_list_night_jobs(Store *store, const struct night_job_query *query, GError **error);

/* The jobs of the night with `again` that have not been measured again yet. GArray of struct night_again_job, by
 * campaign. */
struct night_again_job {
    int64_t campaign, job;
};
GArray *store_list_night_jobs_again(Store *store, int64_t night, GError **error);
/* Notes how the jobs of the night's campaigns ended: open jobs of the main campaigns become "unfinished",
 * those of the backfill stay open, since their campaign goes on. */
bool store_end_night_jobs(Store *store, int64_t night, GError **error);
/* The jobs that the last night of that name before `date` left unfinished for the target. GPtrArray of struct
 * night_job *. */
GPtrArray *store_list_unfinished_jobs(Store *store, const char *name, const char *date,
                                      const char *target, GError **error);

#endif
