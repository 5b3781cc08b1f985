/* Nights: rows of nights and of what belongs to them. sql/functions/nights.sql makes all changes. */
#include "schema/results/store_nights.h"

#include "schema/store/store_private.h"

#include <string.h>

static const char *const state_names[NIGHT_STATE_COUNT] = {
#define X(name, text) [name] = text,
    NIGHT_STATES(X)
#undef X
};

const char *night_state_name(enum night_state state)
{
    g_assert((int)state >= 0 && state < NIGHT_STATE_COUNT);
    return state_names[state];
}

static bool state_from_json(const json_t *object, const char *member, enum night_state *state,
                            GError **error)
{
    g_autofree char *text = json_member_text(object, member);
    for (int i = 0; i < NIGHT_STATE_COUNT; i++) {
        if (strcmp(text, state_names[i]) == 0) {
            *state = (enum night_state)i;
            return true;
        }
    }
    return store_damaged(error, "a night has no state '%s'", text);
}

/* A member that is an object, as a reference of its own; an empty object for any other value. */
static json_t *member_object(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return json_is_object(value) ? json_incref(value) : json_object();
}

static void read_date(const json_t *object, char date[NIGHT_DATE_SIZE])
{
    g_autofree char *text = json_member_text(object, "night");
    g_strlcpy(date, text, NIGHT_DATE_SIZE);
}

/* ---- nights ---- */

void night_free(struct night *night)
{
    if (night == NULL)
        return;
    g_free(night->name);
    g_free(night->begun_by);
    json_decref(night->description);
    json_decref(night->summary);
    g_free(night);
}

static void free_night(gpointer data)
{
    night_free(data);
}

static gpointer read_night(const json_t *object, GError **error)
{
    enum night_state state;
    if (!state_from_json(object, "state", &state, error))
        return NULL;
    struct night *night = g_new0(struct night, 1);
    night->id = json_member_int(object, "id");
    night->name = json_member_text(object, "name");
    read_date(object, night->date);
    night->state = state;
    night->description = member_object(object, "description");
    night->begun_unix = json_member_int(object, "begun");
    night->ended_unix = json_member_int(object, "ended");
    night->deadline_unix = json_member_int(object, "deadline_unix");
    night->empty = json_member_bool(object, "empty");
    night->is_running = json_member_bool(object, "is_running");
    night->begun_by = json_member_text(object, "begun_by");
    night->findings = (int)json_member_int(object, "findings");
    night->summary = member_object(object, "summary");
    night->jobs = (int)json_member_int(object, "jobs");
    night->jobs_open = (int)json_member_int(object, "jobs_open");
    night->jobs_done = (int)json_member_int(object, "jobs_done");
    night->jobs_failed = (int)json_member_int(object, "jobs_failed");
    night->jobs_unfinished = (int)json_member_int(object, "jobs_unfinished");
    return night;
}

#define SELECT_NIGHT "SELECT to_jsonb(n) FROM night_rows n "

/* Reads the first row; NULL without an error if there is no row. */
static struct night *first_night(StoreRows *rows, GError **error)
{
    if (rows == NULL || PQntuples(rows) == 0)
        return NULL;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    return read_night(object, error);
}

struct night *store_get_night(Store *store, int64_t id, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, SELECT_NIGHT "WHERE n.id = $1", "l", id);
    if (rows != NULL && PQntuples(rows) == 0)
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "there is no night %" G_GINT64_FORMAT "; to list all: skipjack nights list",
                    (gint64)id);
    return first_night(rows, error);
}

struct night *store_begin_night(Store *store, const char *name, const char *date,
                                const json_t *description, int64_t deadline_unix, bool *is_new,
                                GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT begin_night($1, $2::date, $3, $4)",
                                          "ssjd", name, date, description, (double)deadline_unix);
    if (rows == NULL)
        return NULL;
    g_autoptr(StoreJson) begun = store_row_json(rows, 0);
    if (is_new != NULL)
        *is_new = json_member_bool(begun, "is_new");
    return store_get_night(store, json_member_int(begun, "id"), error);
}

GPtrArray *store_list_nights(Store *store, const char *name, int limit, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   SELECT_NIGHT "WHERE n.id IN (SELECT o.id FROM nights o"
                                " WHERE $1::text IS NULL OR o.name = $1"
                                " ORDER BY o.night DESC, o.id DESC LIMIT nullif($2::integer, 0))"
                                " ORDER BY n.night DESC, n.id DESC",
                   "si", name, limit);
    return rows == NULL ? NULL : store_list_checked(rows, read_night, free_night, error);
}

bool store_take_night(Store *store, int64_t night, const char *by, bool *taken, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT take_night($1, $2)", "ls", night, by);
    if (rows != NULL)
        *taken = PQgetvalue(rows, 0, 0)[0] == 't';
    return rows != NULL;
}

void store_leave_night(Store *store, int64_t night)
{
    g_autofree char *turn = g_strdup_printf("night %" G_GINT64_FORMAT, (gint64)night);
    /* If this fails, the turn ends with the connection. */
    store_do(store, NULL, "SELECT end_turn($1)", "s", turn);
}

bool store_move_night(Store *store, int64_t night, enum night_state from, enum night_state to,
                      GError **error)
{
    return store_do(store, error, "SELECT move_night($1, $2, $3)", "lss", night,
                    night_state_name(from), night_state_name(to));
}

bool store_set_night_summary(Store *store, int64_t night, const json_t *summary, int findings,
                             bool empty, GError **error)
{
    return store_do(store, error, "SELECT set_night_summary($1, $2, $3, $4)", "ljib", night,
                    summary, findings, empty);
}

/* ---- steps ---- */

void night_step_free(struct night_step *step)
{
    if (step == NULL)
        return;
    g_free(step->detail);
    g_free(step);
}

static void free_step(gpointer data)
{
    night_step_free(data);
}

static gpointer read_step(const json_t *object, GError **error)
{
    enum night_state state;
    if (!state_from_json(object, "step", &state, error))
        return NULL;
    struct night_step *step = g_new0(struct night_step, 1);
    *step = (struct night_step){
        .step = state,
        .tries = (int)json_member_int(object, "tries"),
        .begun_unix = json_member_int(object, "begun"),
        .ended_unix = json_member_int(object, "ended"),
        .failed = json_member_bool(object, "failed"),
        .detail = json_member_text(object, "detail"),
    };
    return step;
}

bool store_begin_night_step(Store *store, int64_t night, enum night_state step, int *tries,
                            GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT begin_night_step($1, $2)", "ls",
                                          night, night_state_name(step));
    if (rows != NULL && tries != NULL)
        *tries = (int)g_ascii_strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return rows != NULL;
}

bool store_end_night_step(Store *store, int64_t night, enum night_state step, bool failed,
                          const char *detail, GError **error)
{
    return store_do(store, error, "SELECT end_night_step($1, $2, $3, $4)", "lsbs", night,
                    night_state_name(step), failed, detail);
}

GPtrArray *store_list_night_steps(Store *store, int64_t night, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT jsonb_build_object('step', s.step, 'tries', s.tries, 'failed', s.failed,"
                   " 'detail', s.detail, 'begun', extract(epoch FROM s.begun_at)::bigint,"
                   " 'ended', extract(epoch FROM s.ended_at)::bigint)"
                   " FROM night_steps s WHERE s.night_id = $1 ORDER BY s.step",
                   "l", night);
    return rows == NULL ? NULL : store_list_checked(rows, read_step, free_step, error);
}

/* ---- targets and campaigns ---- */

void night_target_free(struct night_target *target)
{
    if (target == NULL)
        return;
    g_free(target->target);
    g_free(target->stack);
    json_decref(target->plan);
    json_decref(target->judged);
    g_free(target);
}

static void free_target(gpointer data)
{
    night_target_free(data);
}

static gpointer read_target(const json_t *object)
{
    struct night_target *target = g_new0(struct night_target, 1);
    *target = (struct night_target){
        .target = json_member_text(object, "target"),
        .stack = json_member_text(object, "stack"),
        .baseline = (int)json_member_int(object, "baseline"),
        .campaign = json_member_int(object, "campaign"),
        .backfill_campaign = json_member_int(object, "backfill_campaign"),
        .plan = member_object(object, "plan"),
        .judged = member_object(object, "judged"),
    };
    return target;
}

bool store_put_night_target(Store *store, int64_t night, const struct night_target *target,
                            GError **error)
{
    return store_do(store, error, "SELECT put_night_target($1, $2, $3, $4, $5)", "lssij", night,
                    target->target, target->stack ? target->stack : "", target->baseline,
                    target->plan);
}

bool store_judge_night_target(Store *store, int64_t night, const char *target, const json_t *judged,
                              GError **error)
{
    return store_do(store, error, "SELECT judge_night_target($1, $2, $3)", "lsj", night, target,
                    judged);
}

GPtrArray *store_list_night_targets(Store *store, int64_t night, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT to_jsonb(t) || jsonb_build_object("
        "'campaign', (SELECT c.campaign_id FROM night_campaigns c WHERE c.night_id = t.night_id"
        " AND c.target = t.target AND NOT c.backfill),"
        " 'backfill_campaign', (SELECT c.campaign_id FROM night_campaigns c"
        " WHERE c.night_id = t.night_id AND c.target = t.target AND c.backfill))"
        " FROM night_targets t WHERE t.night_id = $1 ORDER BY t.target",
        "l", night);
    return rows == NULL ? NULL : store_list(rows, read_target, free_target);
}

bool store_find_judged(Store *store, const char *name, const char *date, const char *target,
                       json_t **judged, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT t.judged FROM night_targets t JOIN nights n ON n.id = t.night_id"
        " WHERE n.name = $1 AND n.night < $2::date AND t.target = $3 AND t.judged <> '{}'"
        " ORDER BY n.night DESC LIMIT 1",
        "sss", name, date, target);
    *judged = rows != NULL && PQntuples(rows) > 0 ? store_row_json(rows, 0) : NULL;
    return rows != NULL;
}

/* Reads the id of the campaign that the night has for the target; 0 for none. */
static bool find_campaign(Store *store, const struct campaign *campaign, int64_t *id,
                          GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT campaign_id FROM night_campaigns WHERE night_id = $1 AND target = $2"
                   " AND backfill = $3",
                   "lsb", campaign->night, campaign->target, campaign->backfill);
    if (rows == NULL)
        return false;
    *id = PQntuples(rows) > 0 ? g_ascii_strtoll(PQgetvalue(rows, 0, 0), NULL, 10) : 0;
    return true;
}

bool store_create_night_campaign(Store *store, struct campaign *campaign,
                                 const struct job_plan *jobs, int count, const GPtrArray *notes,
                                 bool *existed, int *reused, GError **error)
{
    int64_t id = 0;
    g_assert(campaign->night != 0);
    if (!find_campaign(store, campaign, &id, error))
        return false;
    if (existed != NULL)
        *existed = id != 0;
    if (reused != NULL)
        *reused = 0;
    if (id == 0)
        return store_create_campaign(store, campaign, jobs, count, notes, reused, error);
    campaign->id = id;
    return true;
}

bool store_end_earlier_nights(Store *store, int64_t night, int *ended, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT end_earlier_nights($1)", "l", night);
    if (rows != NULL && ended != NULL)
        *ended = (int)g_ascii_strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return rows != NULL;
}

/* ---- jobs ---- */

void night_job_free(struct night_job *job)
{
    if (job == NULL)
        return;
    g_free(job->target);
    g_free(job->solver);
    g_free(job->detail);
    g_free(job->state);
    g_free(job);
}

static void free_job(gpointer data)
{
    night_job_free(data);
}

static gpointer read_job(const json_t *object, GError **error)
{
    struct problem problem;
    if (!problem_from_json(json_object_get(object, "problem"), &problem, error))
        return NULL;
    struct night_job *job = g_new0(struct night_job, 1);
    *job = (struct night_job){
        .night = json_member_int(object, "night_id"),
        .target = json_member_text(object, "target"),
        .problem = problem,
        .problem_id = json_member_int(object, "problem_id"),
        .solver_id = json_member_int(object, "solver_id"),
        .solver = json_member_text(object, "solver"),
        .revision = (int)json_member_int(object, "revision"),
        .campaign = json_member_int(object, "campaign_id"),
        .job = json_member_int(object, "job_id"),
        .reason = (int)json_member_int(object, "reason"),
        .detail = json_member_text(object, "detail"),
        .fresh = json_member_bool(object, "fresh"),
        .again = json_member_bool(object, "again"),
        .backfill = json_member_bool(object, "backfill"),
        .state = json_member_text(object, "state"),
    };
    read_date(object, job->date);
    return job;
}

#define SELECT_JOB                                                                                 \
    "SELECT to_jsonb(j) || jsonb_build_object('problem', to_jsonb(p))"                             \
    " FROM night_job_rows j JOIN problems p ON p.id = j.problem_id "

GPtrArray *store_list_night_jobs(Store *store, const struct night_job_query *query, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        SELECT_JOB
        "WHERE ($1::bigint = 0 OR j.night_id = $1) AND ($2::text IS NULL OR j.target = $2)"
        " AND ($3::integer < 0 OR j.reason = $3) AND ($4::text IS NULL OR j.state = $4)"
        " AND ($5::bigint = 0 OR j.problem_id = $5)"
        " ORDER BY j.night DESC, j.night_id DESC, j.target, j.campaign_id, j.job_id"
        " OFFSET $6 LIMIT nullif($7::integer, 0)",
        "lsislii", query->night, query->target, query->reason, query->state, query->problem_id,
        query->offset, query->limit);
    return rows == NULL ? NULL : store_list_checked(rows, read_job, free_job, error);
}

GArray *store_list_night_jobs_again(Store *store, int64_t night, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT to_jsonb(a) FROM night_jobs_again($1) a", "l", night);
    if (rows == NULL)
        return NULL;
    GArray *jobs = g_array_new(FALSE, FALSE, sizeof(struct night_again_job));
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        const struct night_again_job job = {.campaign = json_member_int(object, "campaign_id"),
                                            .job = json_member_int(object, "job_id")};
        g_array_append_val(jobs, job);
    }
    return jobs;
}

bool store_end_night_jobs(Store *store, int64_t night, GError **error)
{
    return store_do(store, error, "SELECT end_night_jobs($1)", "l", night);
}

GPtrArray *store_list_unfinished_jobs(Store *store, const char *name, const char *date,
                                      const char *target, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        SELECT_JOB "WHERE j.night_id = (SELECT n.id FROM nights n JOIN night_campaigns c"
                   " ON c.night_id = n.id AND c.target = $3"
                   " WHERE n.name = $1 AND n.night < $2::date ORDER BY n.night DESC LIMIT 1)"
                   " AND j.target = $3 AND j.state IN ('unfinished', 'open')"
                   " ORDER BY j.job_id",
        "sss", name, date, target);
    return rows == NULL ? NULL : store_list_checked(rows, read_job, free_job, error);
}
