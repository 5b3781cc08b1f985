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
    for (int i = 0; i < count; i++)
        json_array_append_new(items, json_pack("{sI so so}", "job", (json_int_t)jobs[i].job,
                                               "only_nodes", node_list(jobs[i].only_node),
                                               "not_nodes", node_list(jobs[i].not_node)));
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
