/* Networks: versions of lists of layers. */
#include "schema/store/store_private.h"
#include "schema/store/store_rows.h"

#include <stdlib.h>
#include <string.h>

/* So many layers go to the server at once. */
#define LAYERS_AT_ONCE 5000

/* A statement of the transaction cannot be tried again alone, so it waits for locks without a limit: another campaign
 * may be made at the same time, for instance. */
bool store_begin(Store *store, GError **error)
{
    return store_do(store, error, "BEGIN", "") &&
           store_do(store, error, "SET LOCAL lock_timeout = 0", "");
}

bool store_end(Store *store, bool keep, GError **error)
{
    return store_do(store, error, keep ? "COMMIT" : "ROLLBACK", "");
}

#define IMPORT_TURN "import"

bool store_take_import(Store *store, bool *taken, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT take_turn($1)", "s", IMPORT_TURN);
    *taken = rows != NULL && PQgetvalue(rows, 0, 0)[0] == 't';
    return rows != NULL;
}

void store_leave_import(Store *store)
{
    /* The turn also goes with the connection. */
    store_do(store, NULL, "SELECT end_turn($1)", "s", IMPORT_TURN);
}

bool store_begin_network(Store *store, const char *name, int64_t *version, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT begin_network($1)", "s", name);
    if (rows == NULL)
        return false;
    *version = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return true;
}

bool store_add_layers(Store *store, int64_t version, int first_position,
                      const struct stored_layer *layers, int count, GError **error)
{
    unsigned type;
    if (!store_row_type(store, "version_layers", &type, error))
        return false;
    g_autoptr(GByteArray) items = g_byte_array_new();
    rows_array(items, type, count);
    for (int i = 0; i < count; i++) {
        guint row = rows_begin(items, 5);
        rows_field_int8(items, version);
        rows_field_int4(items, first_position + i);
        rows_field_text(items, layers[i].name ? layers[i].name : "");
        rows_field_int4(items, layers[i].multiplicity);
        rows_field_int8(items, layers[i].problem);
        rows_end(items, row);
    }
    return store_do(store, error, "SELECT add_layers($1)", "a", items);
}

bool store_end_network(Store *store, int64_t version, struct network_change *change, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT to_jsonb(e) FROM end_network($1) AS e", "l", version);
    if (rows == NULL)
        return false;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    *change = (struct network_change){
        .number = (int)json_member_int(object, "number"),
        .previous = (int)json_member_int(object, "previous"),
        .is_new = json_member_bool(object, "is_new"),
    };
    return true;
}

static bool put_layers(Store *store, int64_t version, int first, const struct layer *layers,
                       int count, GError **error)
{
    g_autofree struct problem *problems = g_new(struct problem, (gsize)count);
    g_autofree struct stored_layer *stored = g_new(struct stored_layer, (gsize)count);
    g_autofree int64_t *ids = g_new(int64_t, (gsize)count);
    for (int i = 0; i < count; i++)
        problems[i] = layers[i].problem;
    if (!store_put_problems(store, problems, count, NULL, ids, error))
        return false;
    for (int i = 0; i < count; i++)
        stored[i] = (struct stored_layer){layers[i].name, layers[i].multiplicity, ids[i]};
    return store_add_layers(store, version, first, stored, count, error);
}

static bool put_network(Store *store, const char *name, const struct layer *layers, int count,
                        struct network_change *change, GError **error)
{
    int64_t version;
    if (!store_begin_network(store, name, &version, error))
        return false;
    for (int first = 0; first < count; first += LAYERS_AT_ONCE)
        if (!put_layers(store, version, first, layers + first, MIN(count - first, LAYERS_AT_ONCE),
                        error))
            return false;
    return store_end_network(store, version, change, error);
}

bool store_put_network(Store *store, const char *name, const struct layer *layers, int count,
                       struct network_change *change, GError **error)
{
    struct network_change unused;
    if (!store_begin(store, error))
        return false;
    if (put_network(store, name, layers, count, change ? change : &unused, error))
        return store_end(store, true, error);
    store_end(store, false, NULL); /* its own failure would only hide the first one */
    return false;
}

static void network_row_free(gpointer data)
{
    struct network_row *row = data;
    g_free(row->name);
    g_free(row);
}

static gpointer read_network(const json_t *object)
{
    struct network_row *row = g_new0(struct network_row, 1);
    row->name = json_member_text(object, "name");
    row->version = (int)json_member_int(object, "number");
    row->current = json_member_bool(object, "current");
    row->layers = (int)json_member_int(object, "layers");
    row->problems = (int)json_member_int(object, "problems");
    row->campaigns = (int)json_member_int(object, "campaigns");
    row->created = json_member_int(object, "created");
    row->gmacs = json_member_double(object, "macs") * 1e-9;
    return row;
}

/* problem_macs() for layer l of problem p: 200,000 layers are not fetched for one number. */
#define LAYER_MACS                                                                                 \
    "l.multiplicity::double precision * p.n * p.k * (p.c / p.groups)"                              \
    " * p.fil[1] * p.fil[2] * p.fil[3] * p.out_size[1] * p.out_size[2] * p.out_size[3]"

GPtrArray *store_list_networks(Store *store, bool all, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('name', v.network, 'number', v.number,"
        " 'current', v.id = n.current_id, 'created', extract(epoch FROM v.created_at)::bigint,"
        " 'layers', l.layers, 'problems', l.problems, 'macs', l.macs, 'campaigns',"
        " (SELECT count(*) FROM campaign_networks c WHERE c.version_id = v.id))"
        " FROM networks n JOIN network_versions v ON v.network = n.name,"
        " LATERAL (SELECT coalesce(sum(l.multiplicity), 0) AS layers,"
        "          count(DISTINCT l.problem_id) AS problems, coalesce(sum(" LAYER_MACS
        "), 0) AS macs"
        "          FROM version_layers l JOIN problems p ON p.id = l.problem_id"
        "          WHERE l.version_id = v.id) AS l"
        " WHERE v.number IS NOT NULL AND ($1 OR v.id = n.current_id)"
        " ORDER BY v.network, v.number",
        "b", all);
    return rows == NULL ? NULL : store_list(rows, read_network, network_row_free);
}

static void layer_free(gpointer data)
{
    struct layer *layer = data;
    g_free(layer->name);
    g_free(layer);
}

static gpointer read_layer(const json_t *object, GError **error)
{
    struct layer *layer = g_new0(struct layer, 1);
    layer->name = json_member_text(object, "name");
    layer->multiplicity = (int)json_member_int(object, "multiplicity");
    if (read_valid_problem(json_object_get(object, "problem"), &layer->problem, error))
        return layer;
    layer_free(layer);
    return NULL;
}

static bool not_found(const char *network, GError **error)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                "there is no network '%s'; to see those there are: skipjack networks --versions",
                network);
    return false;
}

GPtrArray *store_list_layers(Store *store, const char *network, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT jsonb_build_object('name', l.name, 'multiplicity', l.multiplicity,"
                   " 'problem', to_jsonb(p))"
                   " FROM network_layers l JOIN problems p ON p.id = l.problem_id"
                   " WHERE l.network = $1 ORDER BY l.position",
                   "s", network);
    if (rows == NULL)
        return NULL;
    if (PQntuples(rows) == 0) {
        not_found(network, error);
        return NULL;
    }
    return store_list_checked(rows, read_layer, layer_free, error);
}

char *store_network_version(Store *store, const char *network, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error,
                                           "SELECT v.network || '@' || v.number FROM networks n"
                                           " JOIN network_versions v ON v.network = n.name"
                                           " WHERE (n.name = $1 AND v.id = n.current_id)"
                                           " OR v.network || '@' || v.number = $1"
                                           " ORDER BY n.name = $1 DESC LIMIT 1",
                                           "s", network);
    if (rows == NULL)
        return NULL;
    if (PQntuples(rows) == 0) {
        not_found(network, error);
        return NULL;
    }
    return g_strdup(PQgetvalue(rows, 0, 0));
}

char **store_campaign_networks(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT v.network || '@' || v.number FROM campaign_networks c"
                   " JOIN network_versions v ON v.id = c.version_id WHERE c.campaign_id = $1"
                   " ORDER BY 1",
                   "l", campaign);
    if (rows == NULL)
        return NULL;
    char **names = g_new0(char *, (gsize)PQntuples(rows) + 1);
    for (int i = 0; i < PQntuples(rows); i++)
        names[i] = g_strdup(PQgetvalue(rows, i, 0));
    return names;
}

bool store_remove_network(Store *store, const char *network, int *versions, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT remove_network($1)", "s", network);
    if (rows == NULL)
        return false;
    *versions = atoi(PQgetvalue(rows, 0, 0));
    return *versions > 0 || not_found(network, error);
}
