/* Workers: registration, heartbeats, and the notifications that wake them. */
#include "schema/store/store_workers.h"
#include "schema/store/store_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* NULL is an empty list. */
static json_t *texts_to_json(const char *const *texts)
{
    json_t *array = json_array();
    for (; texts && *texts; texts++)
        json_array_append_new(array, json_from_text(*texts));
    return array;
}

static json_t *devices_to_json(const struct worker_info *info)
{
    json_t *array = json_array();
    for (int i = 0; i < info->device_count; i++) {
        const struct worker_device *device = &info->devices[i];
        json_array_append_new(
            array, json_pack("{so so ss ss ss ss so}", "device", json_from_text(device->device),
                             "name", json_from_text(device->name), "target", device->target, "uuid",
                             device->uuid, "address", device->address, "partition",
                             device->partition, "stack", json_from_text(device->stack)));
    }
    return array;
}

static bool put_devices(Store *store, const struct worker_info *info, int64_t worker,
                        GError **error)
{
    g_autoptr(StoreJson) devices = devices_to_json(info);
    return store_do(store, error, "SELECT skipjack_work.put_devices($1, $2)", "lj", worker,
                    devices);
}

bool store_register_worker(Store *store, const struct worker_info *info, int64_t *worker,
                           GError **error)
{
    g_autoptr(StoreJson) labels = texts_to_json(info->labels);
    g_autoptr(StoreJson) carried = info->solvers ? texts_to_json(info->solvers) : json_null();
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT skipjack_work.register_worker($1, $2, $3, $4, $5, $6, $7)",
                  "ssssbjj", info->node, info->process, info->target ? info->target : "",
                  info->stack ? info->stack : "", !info->eval_only, labels, carried);
    if (rows == NULL)
        return false;
    *worker = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return info->device_count == 0 || put_devices(store, info, *worker, error);
}

static void worker_row_free(gpointer data)
{
    struct worker_row *row = data;
    g_free(row->node);
    g_free(row->process);
    g_free(row->target);
    g_free(row);
}

static gpointer read_worker(const json_t *object)
{
    struct worker_row *row = g_new0(struct worker_row, 1);
    row->id = json_member_int(object, "id");
    row->node = json_member_text(object, "node");
    row->process = json_member_text(object, "process");
    row->target = json_member_text(object, "target");
    row->leases = (int)json_member_int(object, "leases");
    row->beat_age_seconds = json_member_double(object, "age");
    row->ended = json_member_bool(object, "ended");
    row->ours = json_member_bool(object, "ours");
    return row;
}

GPtrArray *store_list_workers(Store *store, const char *node, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.list_workers($1)", "s", node);
    return rows == NULL ? NULL : store_list(rows, read_worker, worker_row_free);
}

static void refusal_row_free(gpointer data)
{
    struct refusal_row *row = data;
    g_free(row->node);
    g_free(row->reason);
    g_free(row);
}

static gpointer read_refusal(const json_t *object)
{
    struct refusal_row *row = g_new0(struct refusal_row, 1);
    row->campaign = json_member_int(object, "campaign_id");
    row->worker = json_member_int(object, "worker_id");
    row->node = json_member_text(object, "node");
    row->reason = json_member_text(object, "reason");
    return row;
}

GPtrArray *store_list_refusals(Store *store, int64_t worker, int64_t campaign, GError **error)
{
    /* A worker's login may ask for itself alone, a reader's for all workers. */
    static const char of_worker[] = "SELECT skipjack_work.refusals($1, $2)";
    static const char of_all[] = "SELECT to_jsonb(r) FROM refusals($1, $2) AS r"
                                 " ORDER BY r.campaign_id, r.reason, r.node, r.worker_id";
    g_autoptr(StoreRows) rows =
        store_read(store, error, worker != 0 ? of_worker : of_all, "ll", worker, campaign);
    return rows == NULL ? NULL : store_list(rows, read_refusal, refusal_row_free);
}

GPtrArray *store_list_unbuilt(Store *store, int64_t worker, int64_t campaign,
                              const char *const *cannot_build, GError **error)
{
    g_autoptr(StoreJson) pins = texts_to_json(cannot_build);
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.left_unbuilt($1, $2, $3)", "llj", worker,
                   campaign, pins);
    return rows == NULL ? NULL : store_list(rows, read_refusal, refusal_row_free);
}

/* set_up_session() listens as well, so that a connection that is opened again receives notifications. */
bool store_listen(Store *store, int64_t worker, GError **error)
{
    g_autofree char *listen =
        g_strdup_printf("LISTEN skipjack_worker_%" G_GINT64_FORMAT, (gint64)worker);
    store->listener = worker;
    return store_do(store, error, listen, "");
}

int store_socket(const Store *store)
{
    return PQstatus(store->connection) == CONNECTION_OK ? PQsocket(store->connection) : -1;
}

bool store_woken(Store *store, bool *lost)
{
    bool woken = false;
    PGnotify *notice;
    *lost = PQconsumeInput(store->connection) == 0;
    while ((notice = PQnotifies(store->connection)) != NULL) {
        woken = true;
        if (strcmp(notice->extra, "drain") == 0)
            store->drains = true;
        PQfreemem(notice);
    }
    return woken;
}

/* The longest wait for a heartbeat's answer: a later answer is worth less than the next heartbeat. */
#define BEAT_PATIENCE_SECONDS 30

bool store_heartbeat(Store *store, int64_t worker, GError **error)
{
    double patience_seconds = store->patience_seconds;
    store_set_patience(store, MIN(patience_seconds, BEAT_PATIENCE_SECONDS));
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT skipjack_work.heartbeat($1)", "l", worker);
    store_set_patience(store, patience_seconds);
    if (rows == NULL)
        return false;
    store->drains = PQgetvalue(rows, 0, 0)[0] == 't';
    return true;
}

bool store_drains(const Store *store)
{
    return store->drains;
}

bool store_drain_node(Store *store, const char *node, int *asked, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT drain_node($1)", "s", node);
    if (rows == NULL)
        return false;
    *asked = atoi(PQgetvalue(rows, 0, 0));
    return true;
}

bool store_worker_lost(Store *store, int64_t worker, GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.end_worker($1, true)", "l", worker);
}

bool store_worker_ended(Store *store, int64_t worker, GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.end_worker($1, false)", "l", worker);
}

bool store_begin_epoch(Store *store, int *epoch, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT begin_epoch()", "");
    if (rows != NULL)
        *epoch = atoi(PQgetvalue(rows, 0, 0));
    return rows != NULL;
}
