/* Measuring again: the whole decision is made by the SQL function remeasure(). */
#include "schema/results/store_remeasure.h"

#include "schema/store/drift.h"
#include "schema/store/store_private.h"

/* The kinds as the SQL function remeasurable() numbers them. */
static json_t *kinds_to_json(unsigned what)
{
    json_t *kinds = json_array();
    for (int kind = REMEASURE_KIND_WINNERS; kind <= REMEASURE_KIND_UNSTABLE; kind++) {
        if ((what & (1u << kind)) != 0)
            json_array_append_new(kinds, json_integer(kind));
    }
    return kinds;
}

static json_t *texts_to_json(const char *const *texts)
{
    json_t *list = json_array();
    for (; *texts != NULL; texts++)
        json_array_append_new(list, json_from_text(*texts));
    return list;
}

static void read_counts(const StoreRows *rows, struct remeasure_counts *counts)
{
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    *counts = (struct remeasure_counts){
        .jobs = json_member_int(object, "jobs"),
        .rounds = json_member_int(object, "rounds"),
        .winners = json_member_int(object, "winners"),
        .defaults = json_member_int(object, "defaults"),
        .unstable = json_member_int(object, "unstable"),
        .under_way = json_member_int(object, "under_way"),
        .at_work = json_member_int(object, "at_work"),
        .other_revisions = json_member_int(object, "other_revisions"),
        .impossible = json_member_int(object, "impossible"),
    };
}

bool store_remeasure(Store *store, int64_t campaign, const struct remeasure_wish *wish,
                     struct remeasure_counts *counts, GError **error)
{
    g_autoptr(StoreJson) kinds = kinds_to_json(wish->what);
    g_autoptr(StoreJson) solvers = texts_to_json(wish->solvers);
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT remeasure($1, $2, $3, $4, $5)", "ljdjb", campaign, kinds,
                  DRIFT_MAX, solvers, wish->dry_run);
    if (rows != NULL)
        read_counts(rows, counts);
    return rows != NULL;
}

static json_t *node_list(const char *node)
{
    json_t *list = json_array();
    if (node != NULL)
        json_array_append_new(list, json_from_text(node));
    return list;
}

bool store_remeasure_jobs(Store *store, int64_t campaign, const struct remeasure_job *jobs,
                          int count, unsigned what, const char *const *solvers, double wait_seconds,
                          struct remeasure_counts *counts, GError **error)
{
    g_autoptr(StoreJson) items = json_array();
    g_autoptr(StoreJson) kinds = kinds_to_json(what);
    g_autoptr(StoreJson) pins = texts_to_json(solvers);
    for (int i = 0; i < count; i++) {
        json_t *configs = json_array();
        for (int c = 0; c < jobs[i].config_count; c++)
            json_array_append_new(configs, config_to_json(&jobs[i].configs[c]));
        json_array_append_new(items,
                              json_pack("{sI so so so}", "job", (json_int_t)jobs[i].job, "configs",
                                        configs, "only_nodes", node_list(jobs[i].only_node),
                                        "not_nodes", node_list(jobs[i].not_node)));
    }
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT remeasure_jobs($1, $2, $3, $4, $5, $6)", "ljjdjd", campaign,
                  items, kinds, DRIFT_MAX, pins, wait_seconds);
    if (rows != NULL)
        read_counts(rows, counts);
    return rows != NULL;
}

char **store_list_measuring_nodes(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT measuring_nodes($1)", "l", campaign);
    if (rows == NULL)
        return NULL;
    char **nodes = g_new0(char *, (gsize)PQntuples(rows) + 1);
    for (int i = 0; i < PQntuples(rows); i++)
        nodes[i] = g_strdup(PQgetvalue(rows, i, 0));
    return nodes;
}

void remeasured_free(struct remeasured *config)
{
    if (config == NULL)
        return;
    g_free(config->solver);
    g_free(config->hash);
    g_free(config->config);
    g_free(config->stack);
    g_free(config->node);
    g_free(config->detail);
    g_free(config);
}

static void free_remeasured(gpointer data)
{
    remeasured_free(data);
}

static gpointer read_remeasured(const json_t *object, GError **error)
{
    enum failure failure;
    if (!failure_from_json(object, &failure, error))
        return NULL;
    struct remeasured *config = g_new0(struct remeasured, 1);
    *config = (struct remeasured){
        .job = json_member_int(object, "job"),
        .problem_id = json_member_int(object, "problem_id"),
        .at_unix = json_member_int(object, "at"),
        .solver = json_member_text(object, "solver"),
        .hash = json_member_text(object, "hash"),
        .config = json_member_text(object, "config"),
        .stack = json_member_text(object, "stack"),
        .node = json_member_text(object, "node"),
        .revision = (int)json_member_int(object, "revision"),
        .number = (int)json_member_int(object, "number"),
        .wished = json_member_bool(object, "wished"),
        .failure = failure,
        .detail = json_member_text(object, "detail"),
        .n = (int)json_member_int(object, "n"),
        .median_ms = json_member_double(object, "median_ms"),
        .spread = json_member_double(object, "spread"),
        .drift = json_member_double(object, "drift"),
        .sm_mhz = (int)json_member_int(object, "sm_mhz"),
        .temperature_c = (int)json_member_int(object, "temperature_c"),
        .throttle = (unsigned)json_member_int(object, "throttle"),
    };
    return config;
}

GPtrArray *store_list_remeasured(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT confirmations($1)", "l", campaign);
    return rows == NULL ? NULL : store_list_checked(rows, read_remeasured, free_remeasured, error);
}
