/* Quarantined configs, returned jobs, and the event log. */
#include "schema/store/store_events.h"

#include "schema/store/store_private.h"

#include <stdlib.h>

bool store_quarantine(Store *store, const struct job *job, const struct perf_config *config,
                      enum failure failure, const char *detail, GError **error)
{
    g_autoptr(StoreJson) values = config_to_json(config);
    return store_do(store, error, "SELECT skipjack_work.quarantine($1, $2, $3, $4, $5)", "lljis",
                    job->campaign, job->id, values, (int)failure, detail != NULL ? detail : "");
}

bool store_lift_quarantine(Store *store, const struct job *job, const struct perf_config *config,
                           GError **error)
{
    g_autoptr(StoreJson) values = config_to_json(config);
    return store_do(store, error, "SELECT skipjack_work.lift_quarantine($1, $2, $3)", "llj",
                    job->campaign, job->id, values);
}

bool store_return_job(Store *store, const struct job *job, int64_t worker, const char *device,
                      GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.return_job($1, $2, $3, $4)", "llls",
                    job->campaign, job->id, worker, device);
}

static void quarantine_row_free(gpointer data)
{
    struct quarantine_row *row = data;
    g_free(row->solver);
    g_free(row->hash);
    g_free(row->target);
    g_free(row->config_text);
    g_free(row->detail);
    g_free(row->node);
    g_free(row->login);
    g_free(row);
}

static gpointer read_quarantine(const json_t *object, GError **error)
{
    struct quarantine_row *row = g_new0(struct quarantine_row, 1);
    struct perf_config config;
    char text[CONFIG_TEXT_MAX];
    bool read = config_from_json(json_object_get(object, "config"), &config, error) &&
                problem_from_json(json_object_get(object, "problem"), &row->problem, error) &&
                failure_from_json(object, &row->failure, error);
    row->solver = json_member_text(object, "solver");
    row->hash = json_member_text(object, "hash");
    row->revision = (int)json_member_int(object, "revision");
    row->target = json_member_text(object, "target");
    row->config_text = g_strdup(perf_config_format(&config, text));
    row->detail = json_member_text(object, "detail");
    row->since_unix = json_member_int(object, "since_unix");
    row->campaign = json_member_int(object, "campaign_id");
    row->job = json_member_int(object, "job_id");
    row->worker = json_member_int(object, "worker_id");
    row->node = json_member_text(object, "node");
    row->login = json_member_text(object, "login");
    if (read)
        return row;
    quarantine_row_free(row);
    return NULL;
}

GPtrArray *store_list_quarantine(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.list_quarantine()", "");
    return rows == NULL ? NULL
                        : store_list_checked(rows, read_quarantine, quarantine_row_free, error);
}

bool store_clear_quarantine(Store *store, const char *target, const char *login, int *cleared,
                            GError **error)
{
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT clear_quarantine($1, $2)", "ss", target, login);
    if (rows == NULL)
        return false;
    if (cleared != NULL)
        *cleared = atoi(PQgetvalue(rows, 0, 0));
    return true;
}

bool store_event(Store *store, const char *kind, int64_t campaign, int64_t job, int64_t worker,
                 const char *detail, GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.add_event($1, $2, $3, $4, $5)", "sllls",
                    kind, campaign, job, worker, detail != NULL ? detail : "");
}

static void event_row_free(gpointer data)
{
    struct event_row *row = data;
    g_free(row->kind);
    g_free(row->detail);
    g_free(row);
}

static gpointer read_event(const json_t *object)
{
    struct event_row *row = g_new0(struct event_row, 1);
    row->at_unix = json_member_int(object, "at_unix");
    row->campaign = json_member_int(object, "campaign_id");
    row->job = json_member_int(object, "job_id");
    row->worker = json_member_int(object, "worker_id");
    row->kind = json_member_text(object, "kind");
    row->detail = json_member_text(object, "detail");
    return row;
}

#define SELECT_EVENT                                                                               \
    "SELECT to_jsonb(e) || jsonb_build_object('at_unix', extract(epoch FROM e.at)::bigint)"        \
    " FROM events e "

GPtrArray *store_list_events(Store *store, int64_t campaign, int limit, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        SELECT_EVENT "WHERE $1::bigint = 0 OR e.campaign_id = $1 ORDER BY e.id DESC LIMIT $2", "li",
        campaign, limit);
    return rows == NULL ? NULL : store_list(rows, read_event, event_row_free);
}

GPtrArray *store_list_events_of(Store *store, int64_t campaign, const char *kind, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error, SELECT_EVENT "WHERE e.campaign_id = $1 AND e.kind = $2 ORDER BY e.id", "ls",
        campaign, kind);
    return rows == NULL ? NULL : store_list(rows, read_event, event_row_free);
}
