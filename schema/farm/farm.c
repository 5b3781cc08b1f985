/*
 * The farm's state. Each list is one statement over small tables (bundles,
 * workers, ended jobs by campaign), whose cost does not depend on the number of
 * rounds and results.
 */
#include "schema/farm/farm.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"

/* ---- rows ---- */

/* Reads counts by failure from an object such as {"3": 12}, whose keys are the failures'
 * numbers. */
static void read_failures(const json_t *object, int64_t failures[FAILURE_COUNT])
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        guint64 number;
        if (g_ascii_string_to_unsigned(key, 10, 0, FAILURE_COUNT - 1, &number, NULL))
            failures[number] = json_integer_value(value);
    }
}

static void campaign_row_free(gpointer data)
{
    struct farm_campaign *row = data;
    g_free(row->name);
    g_free(row->state);
    g_free(row->target);
    g_free(row);
}

static gpointer read_campaign(const json_t *object)
{
    struct farm_campaign *row = g_new0(struct farm_campaign, 1);
    row->id = json_member_int(object, "id");
    row->name = json_member_text(object, "name");
    row->state = json_member_text(object, "state");
    row->target = json_member_text(object, "target");
    row->ready = json_member_int(object, "ready");
    row->building = json_member_int(object, "building");
    row->built = json_member_int(object, "built");
    row->evaluating = json_member_int(object, "evaluating");
    read_failures(json_object_get(object, "ends"), row->failures);
    row->done = row->failures[FAILURE_NONE];
    row->failures[FAILURE_NONE] = 0;
    for (int i = 0; i < FAILURE_COUNT; i++)
        row->failed += row->failures[i];
    row->jobs = row->ready + row->building + row->built + row->evaluating + row->done + row->failed;
    row->rounds_behind = json_member_int(object, "rounds_behind");
    row->highest_round = (int)json_member_int(object, "highest_round");
    row->configs_limit = (int)json_member_int(object, "configs_limit");
    row->round_configs = (int)json_member_int(object, "round_configs");
    row->workers = (int)json_member_int(object, "workers");
    row->spent_seconds = json_member_double(object, "spent");
    row->budget_seconds = json_member_double(object, "budget_seconds");
    row->untried = json_member_int(object, "untried");
    row->finals_left = json_member_int(object, "finals_left");
    row->final_seconds = json_member_double(object, "final_seconds");
    row->age_seconds = json_member_double(object, "age");
    row->has_deadline = json_is_number(json_object_get(object, "deadline_seconds"));
    row->deadline_seconds = json_member_double(object, "deadline_seconds");
    return row;
}

static void worker_row_free(gpointer data)
{
    struct farm_worker *row = data;
    g_free(row->node);
    g_free(row->login);
    g_free(row->target);
    g_free(row->state);
    g_free(row->labels);
    g_free(row->campaigns);
    g_free(row);
}

static gpointer read_worker(const json_t *object)
{
    struct farm_worker *row = g_new0(struct farm_worker, 1);
    row->id = json_member_int(object, "id");
    row->node = json_member_text(object, "node");
    row->login = json_member_text(object, "login");
    row->target = json_member_text(object, "target");
    row->state = json_member_text(object, "state");
    row->labels = json_member_text(object, "labels");
    row->campaigns = json_member_text(object, "campaigns");
    row->jobs = (int)json_member_int(object, "jobs");
    row->measuring = (int)json_member_int(object, "measuring");
    row->beat_age_seconds = json_member_double(object, "age");
    read_failures(json_object_get(object, "failures"), row->failures);
    return row;
}

static void device_row_free(gpointer data)
{
    struct farm_device *row = data;
    char *texts[] = {row->node, row->device,  row->name,      row->target,
                     row->uuid, row->address, row->partition, row->stack};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_free(row);
}

static gpointer read_device(const json_t *object)
{
    struct farm_device *row = g_new0(struct farm_device, 1);
    row->worker = json_member_int(object, "worker_id");
    row->node = json_member_text(object, "node");
    row->device = json_member_text(object, "device");
    row->name = json_member_text(object, "name");
    row->target = json_member_text(object, "target");
    row->uuid = json_member_text(object, "uuid");
    row->address = json_member_text(object, "address");
    row->partition = json_member_text(object, "partition");
    row->stack = json_member_text(object, "stack");
    return row;
}

static void trouble_free(gpointer data)
{
    struct farm_trouble *row = data;
    g_free(row->name);
    g_free(row->detail);
    g_free(row);
}

static gpointer read_trouble(const json_t *object)
{
    struct farm_trouble *row = g_new0(struct farm_trouble, 1);
    row->name = json_member_text(object, "name");
    row->detail = json_member_text(object, "detail");
    row->count = json_member_int(object, "count");
    row->age_seconds = json_member_double(object, "age");
    return row;
}

/* ---- SQL of the farm's lists ---- */

static const char campaigns_sql[] =
    "SELECT to_jsonb(b) || jsonb_build_object('id', c.id, 'name', c.name,"
    " 'state', CASE WHEN c.state = 'active' AND c.deadline <= clock_timestamp()"
    "  THEN '" CAMPAIGN_OVERDUE "' ELSE c.state::text END,"
    " 'deadline_seconds', extract(epoch FROM c.deadline - clock_timestamp()),"
    " 'target', c.target, 'configs_limit', c.configs_limit, 'round_configs', c.round_configs,"
    " 'budget_seconds', c.budget_seconds, 'spent', spent_seconds(c.id), 'ends', e.ends, 'untried', e.untried,"
    " 'final_seconds', c.final_seconds, 'finals_left', finals_left(c, (b.ready + b.building + b.built + b.evaluating)::bigint),"
    " 'age', extract(epoch FROM now() - c.created_at))"
    " FROM campaigns c"
    " CROSS JOIN LATERAL (SELECT"
    "  coalesce(sum(n) FILTER (WHERE s.state = 'ready'), 0) AS ready,"
    "  coalesce(sum(n) FILTER (WHERE s.state = 'building'), 0) AS building,"
    "  coalesce(sum(n) FILTER (WHERE s.state = 'built'), 0) AS built,"
    "  coalesce(sum(n) FILTER (WHERE s.state = 'evaluating'), 0) AS evaluating,"
    "  coalesce(sum(n * s.round_no), 0) AS rounds_behind,"
    "  coalesce(max(s.round_no), 0) AS highest_round, count(DISTINCT s.worker_id) AS workers"
    "  FROM (SELECT o.state, o.round_no, o.worker_id, cardinality(o.job_ids) AS n"
    "        FROM bundles o WHERE o.campaign_id = c.id) AS s) AS b"
    " CROSS JOIN LATERAL (SELECT coalesce(jsonb_object_agg(f.failure, f.count), '{}') AS ends,"
    "  coalesce(sum(f.untried), 0) AS untried"
    "  FROM (SELECT j.failure, count(*), count(*) FILTER (WHERE j.by_budget AND j.rounds = 0"
    "         AND j.state = 'done') AS untried"
    "        FROM job_ends j WHERE j.campaign_id = c.id GROUP BY j.failure) AS f) AS e"
    " WHERE c.state IN ('active', 'paused') ORDER BY c.id";

/* Idle workers send a heartbeat every 15 s. A worker counts as lost when it was silent for 60 s and for longer
 * than the leases of its jobs. After a day of silence a worker without jobs is not shown any more. */
static const char workers_sql[] =
    "SELECT jsonb_build_object('id', w.id, 'node', w.node, 'login', w.login, 'target', w.target,"
    " 'labels', array_to_string(w.labels, ','), 'campaigns', b.campaigns,"
    " 'jobs', coalesce(b.jobs, 0), 'measuring', coalesce(b.measuring, 0), 'failures', coalesce(w.counts->'failures', '{}'),"
    " 'age', a.age, 'state', CASE WHEN a.age > greatest(60, b.lease) THEN 'lost'"
    "  WHEN w.drain THEN 'draining' WHEN b.jobs IS NULL THEN 'idle' ELSE 'working' END)"
    " FROM workers w"
    " CROSS JOIN LATERAL (SELECT greatest(extract(epoch FROM clock_timestamp() - w.beat_at), 0)"
    "  ::float8 AS age) AS a"
    " LEFT JOIN LATERAL (SELECT sum(cardinality(o.job_ids)) AS jobs,"
    "  sum(cardinality(o.job_ids)) FILTER (WHERE o.state = 'evaluating') AS measuring, max(o.lease_seconds) AS lease,"
    "  string_agg(DISTINCT o.campaign_id::text, ',') AS campaigns"
    "  FROM bundles o WHERE o.worker_id = w.id) AS b ON true"
    " WHERE w.ended_at IS NULL AND (a.age < 86400 OR b.jobs IS NOT NULL) ORDER BY w.node, w.id";

/* The devices of the workers that workers_sql lists. */
#define DEVICES_OF_THOSE                                                                           \
    " FROM worker_devices d JOIN workers w ON w.id = d.worker_id"                                  \
    " WHERE w.ended_at IS NULL AND (clock_timestamp() - w.beat_at < interval '1 day'"              \
    "  OR EXISTS (SELECT 1 FROM bundles o WHERE o.worker_id = w.id))"

static const char devices_sql[] =
    "SELECT to_jsonb(d) || jsonb_build_object('node', w.node)" DEVICES_OF_THOSE
    " ORDER BY w.node, w.id, d.place";

static const char devices_out_sql[] =
    "SELECT jsonb_build_object('name', concat_ws(' ', w.node || ':', d.device, nullif(d.name, ''),"
    " coalesce(nullif(d.uuid, ''), nullif(d.address, ''))), 'detail', d.out_reason, 'count', 1,"
    " 'age', extract(epoch FROM now() - d.out_since))" DEVICES_OF_THOSE
    " AND d.out_since IS NOT NULL ORDER BY d.out_since DESC";

static const char quarantine_sql[] =
    "SELECT jsonb_build_object('name', s.name, 'count', count(*),"
    " 'age', extract(epoch FROM now() - max(q.since)))"
    " FROM quarantine q JOIN solvers s ON s.id = q.solver_id GROUP BY s.name ORDER BY s.name";

/* Workers that failed in the last day. The event log has no index by time, so only its newest
 * lines are searched. */
static const char failed_workers_sql[] =
    "SELECT jsonb_build_object('name', f.node, 'detail', f.detail, 'count', count(*),"
    " 'age', extract(epoch FROM now() - max(f.at)))"
    " FROM (SELECT coalesce(w.node, '?') AS node, e.detail, e.at, e.id"
    "       FROM (SELECT * FROM events ORDER BY id DESC LIMIT 5000) AS e"
    "       LEFT JOIN workers w ON w.id = e.worker_id"
    "       WHERE e.kind = 'worker failed' AND e.at > now() - interval '1 day') AS f"
    " GROUP BY f.node, f.detail ORDER BY max(f.id) DESC";

/* Events of the last day; an event is forgotten once another worker starts on the node, since that worker
 * may have the toolchain. */
static const char no_toolchain_sql[] =
    "SELECT jsonb_build_object('name', l.node, 'detail', l.detail, 'count', 1,"
    " 'age', extract(epoch FROM now() - l.at))"
    " FROM (SELECT DISTINCT ON (w.node, e.detail) w.node, e.detail, e.at"
    "       FROM (SELECT * FROM events ORDER BY id DESC LIMIT 5000) AS e"
    "       JOIN workers w ON w.id = e.worker_id"
    "       WHERE e.kind = '" FARM_NO_TOOLCHAIN "' AND e.at > now() - interval '1 day'"
    "       AND NOT EXISTS (SELECT FROM workers n WHERE n.node = w.node AND n.id > w.id)"
    "       ORDER BY w.node, e.detail, e.id DESC) AS l ORDER BY l.node, l.detail";

static const char database_sql[] =
    "SELECT jsonb_build_object('bytes', pg_database_size(current_database()),"
    " 'kernels_bytes', pg_total_relation_size('kernels'),"
    " 'kernels', (SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = 'kernels'::regclass),"
    " 'dead_bundles', (SELECT n_dead_tup FROM pg_stat_user_tables"
    "                  WHERE relid = 'bundles'::regclass),"
    " 'connections', (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),"
    " 'connections_limit', current_setting('max_connections')::integer,"
    " 'oldest_transaction', oldest_transaction(),"
    " 'blob_place', (SELECT url FROM blob_places WHERE is_current),"
    " 'blobs_loose', (SELECT count(*) FROM blob_loose),"
    " 'upkeep', (SELECT extract(epoch FROM now() - finished_at) FROM upkeep_state),"
    " 'oldest_claim', (SELECT extract(epoch FROM clock_timestamp() - min(claimed_at))"
    "  FROM bundles WHERE worker_id IS NOT NULL))";

/* Rates a second, computed from the first and the last sample of counts within five minutes. */
static const char rates_sql[] =
    "SELECT jsonb_build_object('jobs', greatest((l.jobs - f.jobs) / s.seconds, 0),"
    " 'configs', greatest((l.configs - f.configs) / s.seconds, 0),"
    " 'kernels', greatest((l.kernels - f.kernels) / s.seconds, 0))"
    " FROM (SELECT * FROM farm_samples ORDER BY at DESC LIMIT 1) AS l"
    " CROSS JOIN LATERAL (SELECT * FROM farm_samples"
    "  WHERE at >= now() - interval '5 minutes' ORDER BY at LIMIT 1) AS f"
    " CROSS JOIN LATERAL (SELECT extract(epoch FROM greatest(now(), l.at) - f.at)::float8"
    "  AS seconds) AS s"
    " WHERE l.at > f.at";

static GPtrArray *ask(Store *store, const char *sql, store_read_row read, GDestroyNotify destroy,
                      GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, sql, "");
    return rows == NULL ? NULL : store_list(rows, read, destroy);
}

static bool read_database(Store *store, struct farm_database *database, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, database_sql, "");
    g_autoptr(StoreRows) rates = rows ? store_read(store, error, rates_sql, "") : NULL;
    if (rates == NULL)
        return false;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    database->bytes = json_member_double(object, "bytes");
    database->kernels_bytes = json_member_double(object, "kernels_bytes");
    database->kernels = json_member_double(object, "kernels");
    database->dead_bundles = json_member_double(object, "dead_bundles");
    database->connections = (int)json_member_int(object, "connections");
    database->connections_limit = (int)json_member_int(object, "connections_limit");
    database->oldest_transaction_seconds = json_member_double(object, "oldest_transaction");
    database->blob_place = json_member_text(object, "blob_place");
    database->blobs_loose = json_member_int(object, "blobs_loose");
    database->upkeep_age_seconds = json_is_number(json_object_get(object, "upkeep"))
                                       ? json_member_double(object, "upkeep")
                                       : -1;
    database->oldest_claim_seconds = json_member_double(object, "oldest_claim");
    if (PQntuples(rates) == 0)
        return true;
    g_autoptr(StoreJson) rate = store_row_json(rates, 0);
    database->jobs_rate = json_member_double(rate, "jobs");
    database->configs_rate = json_member_double(rate, "configs");
    database->kernels_rate = json_member_double(rate, "kernels");
    return true;
}

struct farm_state *farm_read(Store *store, GError **error)
{
    struct farm_state *farm = g_new0(struct farm_state, 1);
    if ((farm->campaigns = ask(store, campaigns_sql, read_campaign, campaign_row_free, error)) &&
        (farm->workers = ask(store, workers_sql, read_worker, worker_row_free, error)) &&
        (farm->devices = ask(store, devices_sql, read_device, device_row_free, error)) &&
        (farm->devices_out = ask(store, devices_out_sql, read_trouble, trouble_free, error)) &&
        (farm->quarantine = ask(store, quarantine_sql, read_trouble, trouble_free, error)) &&
        (farm->failed_workers =
             ask(store, failed_workers_sql, read_trouble, trouble_free, error)) &&
        (farm->no_toolchain = ask(store, no_toolchain_sql, read_trouble, trouble_free, error)) &&
        (farm->refusals = store_list_refusals(store, 0, 0, error)) &&
        (farm->blockers = blockers_list(store, error)) &&
        read_database(store, &farm->database, error))
        return farm;
    farm_free(farm);
    return NULL;
}

void farm_free(struct farm_state *farm)
{
    if (!farm)
        return;
    g_clear_pointer(&farm->campaigns, g_ptr_array_unref);
    g_clear_pointer(&farm->workers, g_ptr_array_unref);
    g_clear_pointer(&farm->devices, g_ptr_array_unref);
    g_clear_pointer(&farm->devices_out, g_ptr_array_unref);
    g_clear_pointer(&farm->quarantine, g_ptr_array_unref);
    g_clear_pointer(&farm->failed_workers, g_ptr_array_unref);
    g_clear_pointer(&farm->no_toolchain, g_ptr_array_unref);
    g_clear_pointer(&farm->refusals, g_ptr_array_unref);
    g_clear_pointer(&farm->blockers, g_ptr_array_unref);
    g_free(farm->database.blob_place);
    g_free(farm);
}

/* ---- changes that workers and upkeep report ---- */

bool farm_set_device_service(Store *store, int64_t worker, int place, const char *reason,
                             GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.set_device_service($1, $2, $3)", "lis",
                    worker, place, reason);
}

bool farm_report_worker(Store *store, int64_t worker, const struct farm_counts *counts,
                        GError **error)
{
    g_autoptr(StoreJson) failures = json_object();
    for (int i = 0; i < FAILURE_COUNT; i++) {
        g_autofree char *key = g_strdup_printf("%d", i);
        if (counts->failures[i] > 0)
            json_object_set_new(failures, key, json_integer(counts->failures[i]));
    }
    g_autoptr(StoreJson) object = json_pack("{sI sI sI sO}", "jobs", (json_int_t)counts->jobs,
                                            "configs", (json_int_t)counts->configs, "kernels",
                                            (json_int_t)counts->kernels, "failures", failures);
    return store_do(store, error, "SELECT skipjack_work.report_worker($1, $2)", "lj", worker,
                    object);
}

bool farm_begin_upkeep(Store *store, double period_seconds, bool *begun, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT begin_upkeep($1)", "d", period_seconds);
    if (rows == NULL)
        return false;
    *begun = PQgetvalue(rows, 0, 0)[0] == 't';
    return true;
}

bool farm_end_upkeep(Store *store, double seconds, const char *done, GError **error)
{
    g_autoptr(StoreJson) report = done ? json_pack("{ss}", "done", done) : NULL;
    return store_do(store, error,
                    report ? "SELECT end_upkeep($1, $2)" : "SELECT end_upkeep($1, NULL)",
                    report ? "dj" : "d", seconds, report);
}
