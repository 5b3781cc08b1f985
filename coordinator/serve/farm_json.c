/* The farm's state as JSON. */
#include "coordinator/serve/farm_json.h"

#include "coordinator/plan/progress.h"
#include "schema/monitor/version.h"
#include "schema/store/store_workers.h"

#include <math.h>
#include <string.h>

#define BUSY_SECONDS 120 /* a round takes less on nearly all problems */

/* A text of any bytes. */
static json_t *text_json(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
    return json_string(valid);
}

static json_t *text_or_null(const char *text)
{
    return text ? text_json(text) : json_null();
}

/* null unless the number is finite. */
static json_t *number_json(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *not_negative(double number)
{
    return number >= 0 ? number_json(number) : json_null();
}

static void set_count(json_t *object, const char *name, int64_t count)
{
    json_object_set_new(object, name, json_integer((json_int_t)count));
}

/* ---- the farm ---- */

static json_t *database_json(const struct farm_state *farm, const struct farm_about *about)
{
    static const struct farm_database nothing = {.upkeep_age_seconds = -1};
    const struct farm_database *d = farm ? &farm->database : &nothing;
    json_t *object = json_pack(
        "{sb so so sf sf sf sI sI sf sf so so}", "up", farm && !about->error, "error",
        text_or_null(about->error), "answer_age_seconds", not_negative(about->answer_age_seconds),
        "bytes", d->bytes, "kernels", d->kernels, "kernels_bytes", d->kernels_bytes, "connections",
        (json_int_t)d->connections, "connections_limit", (json_int_t)d->connections_limit,
        "oldest_transaction_seconds", d->oldest_transaction_seconds, "dead_rows", d->dead_bundles,
        "code_objects", text_json(d->blob_place), "upkeep_age_seconds",
        not_negative(d->upkeep_age_seconds));
    g_assert(object);
    return object;
}

static void add_campaigns(json_t *object, const struct farm_state *farm)
{
    int64_t active = 0, paused = 0, jobs[6] = {0};
    static const char *const names[] = {"ready",      "building", "built",
                                        "evaluating", "done",     "failed"};
    double eta = NAN;
    for (guint i = 0; farm && i < farm->campaigns->len; i++) {
        const struct farm_campaign *c = g_ptr_array_index(farm->campaigns, i);
        const int64_t own[] = {c->ready, c->building, c->built, c->evaluating, c->done, c->failed};
        for (size_t s = 0; s < G_N_ELEMENTS(own); s++)
            jobs[s] += own[s];
        paused += strcmp(c->state, "paused") == 0;
        active += strcmp(c->state, "paused") != 0;
        eta = fmax(eta, progress_farm_eta(c));
    }
    json_t *counts = json_object();
    for (size_t s = 0; s < G_N_ELEMENTS(names); s++)
        set_count(counts, names[s], jobs[s]);
    json_object_set_new(
        object, "campaigns",
        json_pack("{sI sI}", "active", (json_int_t)active, "paused", (json_int_t)paused));
    json_object_set_new(object, "jobs", counts);
    json_object_set_new(object, "eta_seconds", number_json(eta));
}

static void add_workers(json_t *object, const struct farm_state *farm)
{
    static const char *const states[] = {"working", "idle", "draining", "lost"};
    json_t *counts = json_object();
    for (size_t s = 0; s < G_N_ELEMENTS(states); s++) {
        int64_t count = 0;
        for (guint i = 0; farm && i < farm->workers->len; i++)
            count +=
                strcmp(((const struct farm_worker *)g_ptr_array_index(farm->workers, i))->state,
                       states[s]) == 0;
        set_count(counts, states[s], count);
    }
    json_object_set_new(object, "workers", counts);
    json_object_set_new(object, "devices",
                        json_pack("{sI sI}", "known", (json_int_t)(farm ? farm->devices->len : 0),
                                  "out_of_service",
                                  (json_int_t)(farm ? farm->devices_out->len : 0)));
}

static bool is_no_failure(int failure)
{
    return failure == FAILURE_NONE || failure == FAILURE_PENDING || failure == FAILURE_SLOW;
}

static json_t *failures_json(const struct farm_state *farm)
{
    json_t *list = json_array();
    for (int f = 0; farm && f < FAILURE_COUNT; f++) {
        int64_t jobs = 0, configs = 0;
        for (guint i = 0; i < farm->campaigns->len; i++)
            jobs +=
                ((const struct farm_campaign *)g_ptr_array_index(farm->campaigns, i))->failures[f];
        for (guint i = 0; i < farm->workers->len; i++)
            configs +=
                ((const struct farm_worker *)g_ptr_array_index(farm->workers, i))->failures[f];
        if (!is_no_failure(f) && jobs + configs > 0)
            json_array_append_new(
                list, json_pack("{ss sI sI}", "reason", failure_name((enum failure)f), "jobs",
                                (json_int_t)jobs, "configs", (json_int_t)configs));
    }
    return list;
}

static void add_troubles(json_t *list, const char *kind, const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++) {
        const struct farm_trouble *row = g_ptr_array_index(rows, i);
        json_array_append_new(
            list, json_pack("{ss so so sI sf}", "kind", kind, "name", text_json(row->name),
                            "detail", text_json(row->detail), "count", (json_int_t)row->count,
                            "age_seconds", row->age_seconds));
    }
}

static json_t *troubles_json(const struct farm_state *farm)
{
    json_t *list = json_array();
    if (!farm)
        return list;
    add_troubles(list, "device", farm->devices_out);
    add_troubles(list, "quarantine", farm->quarantine);
    add_troubles(list, "worker failed", farm->failed_workers);
    add_troubles(list, "no toolchain", farm->no_toolchain);
    return list;
}

static json_t *refusals_json(const struct farm_state *farm)
{
    json_t *list = json_array();
    for (guint i = 0; farm && i < farm->refusals->len; i++) {
        const struct refusal_row *row = g_ptr_array_index(farm->refusals, i);
        json_array_append_new(list,
                              json_pack("{sI sI so so}", "campaign", (json_int_t)row->campaign,
                                        "worker", (json_int_t)row->worker, "node",
                                        text_json(row->node), "reason", text_json(row->reason)));
    }
    return list;
}

json_t *farm_to_json(const struct farm_state *farm, const struct farm_about *about)
{
    json_t *object = json_object();
    json_object_set_new(object, "version", json_string(SKIPJACK_VERSION));
    json_object_set_new(object, "node", text_json(about->node));
    set_count(object, "now_unix", g_get_real_time() / G_USEC_PER_SEC);
    json_object_set_new(object, "database", database_json(farm, about));
    add_campaigns(object, farm);
    add_workers(object, farm);
    json_object_set_new(object, "rates",
                        json_pack("{sf sf sf}", "jobs", farm ? farm->database.jobs_rate : 0.0,
                                  "configs", farm ? farm->database.configs_rate : 0.0, "kernels",
                                  farm ? farm->database.kernels_rate : 0.0));
    json_object_set_new(object, "failures", failures_json(farm));
    json_object_set_new(object, "troubles", troubles_json(farm));
    json_object_set_new(object, "refusals", refusals_json(farm));
    set_count(object, "listeners", about->listeners);
    return object;
}

/* ---- nodes ---- */

static json_t *worker_json(const struct farm_state *farm, const struct farm_worker *worker)
{
    json_t *failures = json_array(), *refusals = json_array();
    for (int f = 0; f < FAILURE_COUNT; f++)
        if (!is_no_failure(f) && worker->failures[f] > 0)
            json_array_append_new(failures,
                                  json_pack("{ss sI}", "reason", failure_name((enum failure)f),
                                            "configs", (json_int_t)worker->failures[f]));
    for (guint i = 0; i < farm->refusals->len; i++) {
        const struct refusal_row *row = g_ptr_array_index(farm->refusals, i);
        if (row->worker == worker->id)
            json_array_append_new(refusals,
                                  json_pack("{sI so}", "campaign", (json_int_t)row->campaign,
                                            "reason", text_json(row->reason)));
    }
    return json_pack("{sI so so so so so sI sf so so}", "id", (json_int_t)worker->id, "login",
                     text_json(worker->login), "state", text_json(worker->state), "target",
                     text_json(worker->target), "pools", text_json(worker->labels), "campaigns",
                     text_json(worker->campaigns), "jobs", (json_int_t)worker->jobs,
                     "beat_age_seconds", worker->beat_age_seconds, "failures", failures, "refusals",
                     refusals);
}

static const struct farm_worker *find_worker(const struct farm_state *farm, int64_t id)
{
    for (guint i = 0; i < farm->workers->len; i++) {
        const struct farm_worker *worker = g_ptr_array_index(farm->workers, i);
        if (worker->id == id)
            return worker;
    }
    return NULL;
}

/* The device among those that are out of service, named as devices_out_sql of schema/farm/farm.c names them. */
static const struct farm_trouble *find_out(const struct farm_state *farm,
                                           const struct farm_device *device)
{
    const char *place = *device->uuid ? device->uuid : device->address;
    g_autofree char *name =
        g_strdup_printf("%s: %s%s%s%s%s", device->node, device->device, *device->name ? " " : "",
                        device->name, *place ? " " : "", place);
    for (guint i = 0; i < farm->devices_out->len; i++) {
        const struct farm_trouble *row = g_ptr_array_index(farm->devices_out, i);
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

/* Whether the device measures. The database knows how many jobs a worker holds for measuring, not on which device: every
 * device in service does if there are as many jobs, else those that handed a round in not long ago. */
static bool is_busy(const struct farm_state *farm, const struct farm_worker *worker,
                    const json_t *handed_in_unix)
{
    int in_service = 0;
    gint64 now_unix = g_get_real_time() / G_USEC_PER_SEC;
    for (guint i = 0; i < farm->devices->len; i++) {
        const struct farm_device *device = g_ptr_array_index(farm->devices, i);
        in_service += device->worker == worker->id && !find_out(farm, device);
    }
    return worker->measuring >= in_service ||
           (worker->measuring > 0 && handed_in_unix &&
            now_unix - json_integer_value(handed_in_unix) < BUSY_SECONDS);
}

static const char *device_state(const struct farm_state *farm, const struct farm_device *device,
                                bool is_out, const json_t *handed_in_unix)
{
    const struct farm_worker *worker = find_worker(farm, device->worker);
    if (!worker || strcmp(worker->state, "lost") == 0)
        return "lost";
    if (is_out)
        return "out of service";
    return is_busy(farm, worker, handed_in_unix) ? "busy" : "idle";
}

static json_t *device_json(const struct farm_state *farm, const struct farm_device *device,
                           const json_t *conditions)
{
    const struct farm_trouble *out = find_out(farm, device);
    const json_t *seen =
        json_object_get(conditions, *device->uuid ? device->uuid : device->address);
    json_t *measured = json_object_get(seen, "conditions");
    json_t *at = json_object_get(seen, "at_unix");
    const char *state = device_state(farm, device, out != NULL, at);
    return json_pack("{sI so so so so so so so ss so sO sO}", "worker", (json_int_t)device->worker,
                     "device", text_json(device->device), "name", text_json(device->name), "target",
                     text_json(device->target), "uuid", text_json(device->uuid), "address",
                     text_json(device->address), "partition", text_json(device->partition), "stack",
                     text_json(device->stack), "state", state, "out_reason",
                     text_or_null(out ? out->detail : NULL), "conditions",
                     measured ? measured : json_null(), "conditions_unix", at ? at : json_null());
}

/* The node's object in the list, added if it is not there. */
static json_t *node_of(json_t *nodes, GHashTable *by_name, const char *name)
{
    json_t *node = g_hash_table_lookup(by_name, name);
    if (!node) {
        node = json_pack("{so s[] s[]}", "node", text_json(name), "workers", "devices");
        json_array_append_new(nodes, node);
        g_hash_table_insert(by_name, (gpointer)name, node);
    }
    return node;
}

json_t *nodes_to_json(const struct farm_state *farm, const json_t *conditions)
{
    json_t *nodes = json_array();
    g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < farm->workers->len; i++) {
        const struct farm_worker *worker = g_ptr_array_index(farm->workers, i);
        json_array_append_new(json_object_get(node_of(nodes, by_name, worker->node), "workers"),
                              worker_json(farm, worker));
    }
    for (guint i = 0; i < farm->devices->len; i++) {
        const struct farm_device *device = g_ptr_array_index(farm->devices, i);
        json_array_append_new(json_object_get(node_of(nodes, by_name, device->node), "devices"),
                              device_json(farm, device, conditions));
    }
    return nodes;
}

json_t *node_without_ages(const json_t *node)
{
    size_t i;
    json_t *worker;
    json_t *copy = json_deep_copy(node);
    json_array_foreach (json_object_get(copy, "workers"), i, worker)
        json_object_del(worker, "beat_age_seconds");
    return copy;
}

/* ---- rates and forecasts ---- */

json_t *rate_to_json(const struct farm_state *farm)
{
    int64_t working = 0, idle = 0, failed = 0;
    for (guint i = 0; i < farm->workers->len; i++) {
        const struct farm_worker *worker = g_ptr_array_index(farm->workers, i);
        working += strcmp(worker->state, "working") == 0;
        idle += strcmp(worker->state, "idle") == 0;
    }
    for (guint i = 0; i < farm->campaigns->len; i++)
        failed += ((const struct farm_campaign *)g_ptr_array_index(farm->campaigns, i))->failed;
    return json_pack("{sI sf sf sf sI sI sI}", "at_unix",
                     (json_int_t)(g_get_real_time() / G_USEC_PER_SEC), "jobs",
                     farm->database.jobs_rate, "configs", farm->database.configs_rate, "kernels",
                     farm->database.kernels_rate, "working", (json_int_t)working, "idle",
                     (json_int_t)idle, "failed", (json_int_t)failed);
}

json_t *forecasts_to_json(const struct farm_state *farm)
{
    json_t *object = json_object();
    for (guint i = 0; farm && i < farm->campaigns->len; i++) {
        const struct farm_campaign *c = g_ptr_array_index(farm->campaigns, i);
        char id[24];
        g_snprintf(id, sizeof id, "%" G_GINT64_FORMAT, (gint64)c->id);
        json_object_set_new(object, id,
                            json_pack("{sI so}", "workers", (json_int_t)c->workers, "eta_seconds",
                                      number_json(progress_farm_eta(c))));
    }
    return object;
}
