/* Problems and their tags, networks, targets. */
#include "schema/store/store_private.h"

#include "schema/store/store_problems.h"
#include "schema/store/store_rows.h"

#include <stdlib.h>
#include <string.h>

static void add_triple(GByteArray *out, const int64_t triple[AXIS_COUNT])
{
    guint field = rows_field_array(out, ROW_INT8S, ROW_INT8, AXIS_COUNT);
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        rows_int8(out, triple[axis]);
    rows_end(out, field);
}

static void add_types(GByteArray *out, const enum data_type types[TENSOR_COUNT])
{
    guint field = rows_field_array(out, ROW_TEXTS, ROW_TEXT, TENSOR_COUNT);
    for (int role = 0; role < TENSOR_COUNT; role++)
        rows_text(out, types[role] == TYPE_NONE ? "" : data_type_name(types[role]));
    rows_end(out, field);
}

static void add_strides(GByteArray *out, const struct problem *p)
{
    bool strided = problem_is_strided(p);
    guint field = rows_field_array(out, ROW_INT8S, ROW_INT8, strided ? PROBLEM_STRIDES : 0);
    for (int i = 0; strided && i < PROBLEM_STRIDES; i++)
        rows_int8(out, p->strides[i / 5][i % 5]);
    rows_end(out, field);
}

static void problem_to_row(GByteArray *out, const struct problem *p)
{
    const char direction[] = {direction_letter(p->direction), '\0'};
    guint row = rows_begin(out, 21);
    rows_field_int8(out, 0);
    rows_field_text(out, op_kind_name(p->kind));
    rows_field_text(out, direction);
    rows_field_int2(out, p->spatial_dim);
    rows_field_int8(out, p->n);
    rows_field_int8(out, p->c);
    rows_field_int8(out, p->k);
    rows_field_int8(out, p->groups);
    add_triple(out, p->in);
    add_triple(out, p->fil);
    add_triple(out, p->out);
    add_triple(out, p->pad);
    add_triple(out, p->stride);
    add_triple(out, p->dilation);
    add_types(out, p->type);
    add_types(out, p->cast);
    guint layouts = rows_field_array(out, ROW_TEXTS, ROW_TEXT, TENSOR_COUNT);
    for (int role = 0; role < TENSOR_COUNT; role++)
        rows_text(out, layout_name(p->layout[role]));
    rows_end(out, layouts);
    rows_field_int2(out, p->bias);
    rows_field_text(out, p->epilogue);
    rows_field_text(out, p->mode);
    add_strides(out, p);
    rows_end(out, row);
}

bool store_put_problems(Store *store, const struct problem *problems, int count, const char *tag,
                        int64_t *ids, GError **error)
{
    unsigned type;
    if (!store_row_type(store, "problems", &type, error))
        return false;
    g_autoptr(GByteArray) items = g_byte_array_new();
    rows_array(items, type, count);
    for (int i = 0; i < count; i++)
        problem_to_row(items, &problems[i]);
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT put_problem_rows($1, $2)", "as", items, tag);
    if (rows == NULL)
        return false;
    g_assert(PQntuples(rows) == count);
    for (int i = 0; i < count && ids != NULL; i++)
        ids[i] = strtoll(PQgetvalue(rows, i, 0), NULL, 10);
    return true;
}

bool store_find_problems(Store *store, const struct problem *problems, int count, int64_t *ids,
                         GError **error)
{
    unsigned type;
    if (!store_row_type(store, "problems", &type, error))
        return false;
    g_autoptr(GByteArray) items = g_byte_array_new();
    rows_array(items, type, count);
    for (int i = 0; i < count; i++)
        problem_to_row(items, &problems[i]);
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT find_problem_rows($1)", "a", items);
    if (rows == NULL)
        return false;
    g_assert(PQntuples(rows) == count);
    for (int i = 0; i < count; i++) /* the text of NULL is empty */
        ids[i] = strtoll(PQgetvalue(rows, i, 0), NULL, 10);
    return true;
}

static int compare_stored(gconstpointer a, gconstpointer b)
{
    const struct stored_problem *left = a;
    const struct stored_problem *right = b;
    return problem_compare(&left->problem, &right->problem);
}

static bool read_valid_problem(const json_t *object, struct problem *problem, GError **error)
{
    g_autoptr(GError) invalid = NULL;
    if (!problem_from_json(object, problem, error))
        return false;
    return problem_validate(problem, &invalid) ||
           store_damaged(error, "problem %" G_GINT64_FORMAT ": %s",
                         (gint64)json_member_int(object, "id"), invalid->message);
}

GArray *store_list_problems(Store *store, const struct problem_filter *filter, GError **error)
{
    static const struct problem_filter all = {0};
    if (filter == NULL)
        filter = &all;
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT to_jsonb(p) FROM problems p"
                   " WHERE ($1::text IS NULL OR EXISTS (SELECT 1 FROM problem_tags t"
                   "        WHERE t.tag = $1 AND t.problem_id = p.id))"
                   "   AND ($2::text IS NULL OR EXISTS (SELECT 1 FROM network_layers l"
                   "        WHERE l.network = $2 AND l.problem_id = p.id))"
                   "   AND ($3::bigint = 0 OR EXISTS (SELECT 1 FROM jobs j"
                   "        WHERE j.campaign_id = $3 AND j.problem_id = p.id)"
                   "        OR EXISTS (SELECT 1 FROM foreign_times f"
                   "        WHERE f.campaign_id = $3 AND f.problem_id = p.id))",
                   "ssl", filter->tag, filter->network, filter->campaign);
    if (rows == NULL)
        return NULL;
    GArray *list = g_array_new(FALSE, TRUE, sizeof(struct stored_problem));
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        struct stored_problem stored = {.id = json_member_int(object, "id")};
        if (!read_valid_problem(object, &stored.problem, error)) {
            g_array_unref(list);
            return NULL;
        }
        g_array_append_val(list, stored);
    }
    g_array_sort(list, compare_stored);
    return list;
}

/* ---- networks ---- */

/* Layers in one message to the server. */
#define LAYERS_AT_ONCE 5000

#define IMPORT_TURN "import"

bool store_take_import(Store *store, bool *taken, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT take_turn($1)", "s", IMPORT_TURN);
    *taken = rows != NULL && PQgetvalue(rows, 0, 0)[0] == 't';
    return rows != NULL;
}

void store_leave_import(Store *store)
{
    /* If this fails, the turn ends with the connection. */
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

bool store_describe_network(Store *store, const char *name, int version,
                            const struct network_facts *facts, bool *replaced, GError **error)
{
    g_autofree char *batch =
        facts->batch > 0 ? g_strdup_printf("%" G_GINT64_FORMAT, facts->batch) : NULL;
    *replaced = false;
    if (network_facts_empty(facts))
        return true;
    g_autoptr(StoreRows) rows = store_run(
        store, error,
        "SELECT describe_network($1, $2, $3, $4, $5, $6::bigint, $7, $8::double precision)",
        "sissssss", name, version, facts->texts[FACT_FRAMEWORK], facts->texts[FACT_MODEL],
        facts->texts[FACT_VERSION], batch, facts->texts[FACT_SOURCE], facts->texts[FACT_RUNS]);
    if (rows == NULL)
        return false;
    *replaced = PQgetvalue(rows, 0, 0)[0] == 't';
    return true;
}

static void network_row_free(gpointer data)
{
    struct network_row *row = data;
    g_free(row->name);
    network_facts_clear(&row->facts);
    g_free(row);
}

static gpointer read_network(const json_t *object)
{
    struct network_row *row = g_new0(struct network_row, 1);
    row->name = json_member_text(object, "name");
    row->version = (int)json_member_int(object, "number");
    row->current = json_member_bool(object, "current");
    for (int i = 0; i < FACT_COUNT; i++)
        row->facts.texts[i] =
            json_member_text_or_null(object, network_fact_name((enum network_fact)i));
    row->facts.batch = json_member_int(object, "batch");
    row->layers = (int)json_member_int(object, "layers");
    row->problems = (int)json_member_int(object, "problems");
    row->campaigns = (int)json_member_int(object, "campaigns");
    row->created = json_member_int(object, "created");
    row->gmacs = json_member_double(object, "macs") * 1e-9;
    return row;
}

/* problem_macs() in SQL, for layer l of problem p: the alternative is fetching 200,000 layers for one
 * number. */
#define LAYER_MACS                                                                                 \
    "l.multiplicity::double precision * p.n * p.k"                                                 \
    " * CASE p.kind WHEN 'conv' THEN p.c / p.groups ELSE 1 END"                                    \
    " * p.fil[1] * p.fil[2] * p.fil[3] * p.out_size[1] * p.out_size[2] * p.out_size[3]"

GPtrArray *store_list_networks(Store *store, bool all, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('name', v.network, 'number', v.number,"
        " 'current', v.id = n.current_id, 'created', extract(epoch FROM v.created_at)::bigint,"
        " 'layers', l.layers, 'problems', l.problems, 'macs', l.macs, 'framework', f.framework,"
        " 'model', f.model, 'version', f.model_version, 'batch', f.batch, 'source', f.source,"
        " 'runs', f.runs::text, 'campaigns',"
        " (SELECT count(*) FROM campaign_networks c WHERE c.version_id = v.id))"
        " FROM networks n JOIN network_versions v ON v.network = n.name"
        " LEFT JOIN network_facts f ON f.version_id = v.id,"
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
    g_set_error(
        error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
        "there is no network '%s'; to list all: skipjack networks --versions; to import one that "
        "comes with the program (skipjack networks --shipped): skipjack import NAME",
        network);
    return false;
}

static bool is_found(const StoreRows *rows, const char *network, GError **error)
{
    return PQntuples(rows) > 0 || not_found(network, error);
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
    if (rows == NULL || !is_found(rows, network, error))
        return NULL;
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
    if (rows == NULL || !is_found(rows, network, error))
        return NULL;
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

/* ---- targets ---- */

static const char *const vendor_names[] = {
    [VENDOR_AMD] = "amd", [VENDOR_NVIDIA] = "nvidia", [VENDOR_CPU] = "cpu"};

static const char *vendor_name(enum vendor vendor)
{
    g_assert((unsigned)vendor < G_N_ELEMENTS(vendor_names));
    return vendor_names[vendor];
}

/* The peaks that the database checks times against; null if no peak is known. */
static json_t *type_peaks(const struct target *t)
{
    if (t->peak_flops <= 0)
        return json_null();
    json_t *peaks = json_object();
    for (enum data_type type = TYPE_FP32; type < DATA_TYPE_COUNT; type++)
        json_object_set_new(peaks, data_type_name(type),
                            json_from_double(target_type_peak(t, type)));
    return peaks;
}

json_t *target_to_row(const struct target *t)
{
    json_t *object = json_pack(
        "{ss ss ss ss ss si si sI si si si so so so}", "id", t->id, "vendor",
        vendor_name(t->vendor), "arch", t->arch, "features", t->features, "partition", t->partition,
        "compute_units", t->compute_units, "memory_gib", t->memory_gib, "local_bytes",
        (json_int_t)t->local_bytes, "max_workgroup", t->max_workgroup, "wave_size", t->wave_size,
        "vector_bytes", t->vector_bytes, "peak_flops", json_from_double(t->peak_flops),
        "peak_bytes", json_from_double(t->peak_bytes), "type_peaks", type_peaks(t));
    g_assert(object != NULL);
    return object;
}

static bool copy_member(const json_t *object, const char *name, char *buffer, gsize size)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL && g_strlcpy(buffer, text, size) < size;
}

/* Reads a member that older programs did not write: missing is "". */
static bool copy_or_empty(const json_t *object, const char *name, char *buffer, gsize size)
{
    const json_t *value = json_object_get(object, name);
    return value == NULL || json_is_null(value) || copy_member(object, name, buffer, size);
}

static bool read_vendor(const json_t *object, enum vendor *vendor)
{
    const char *name = json_string_value(json_object_get(object, "vendor"));
    for (gsize i = 0; i < G_N_ELEMENTS(vendor_names); i++) {
        *vendor = (enum vendor)i;
        if (g_strcmp0(name, vendor_names[i]) == 0)
            return true;
    }
    return false;
}

bool target_from_row(const json_t *object, struct target *t, GError **error)
{
    g_autoptr(GError) invalid = NULL;
    memset(t, 0, sizeof *t);
    if (!copy_member(object, "id", t->id, sizeof t->id) ||
        !copy_member(object, "arch", t->arch, sizeof t->arch) ||
        !copy_member(object, "features", t->features, sizeof t->features) ||
        !copy_or_empty(object, "partition", t->partition, sizeof t->partition) ||
        !read_vendor(object, &t->vendor))
        return store_damaged(error, "target '%s' has an invalid name or vendor", t->id);
    t->compute_units = (int)json_member_int(object, "compute_units");
    t->memory_gib = (int)json_member_int(object, "memory_gib");
    t->local_bytes = json_member_int(object, "local_bytes");
    t->max_workgroup = (int)json_member_int(object, "max_workgroup");
    t->wave_size = (int)json_member_int(object, "wave_size");
    t->vector_bytes = (int)json_member_int(object, "vector_bytes");
    t->peak_flops = json_member_double(object, "peak_flops");
    t->peak_bytes = json_member_double(object, "peak_bytes");
    return target_validate(t, &invalid) || store_damaged(error, "%s", invalid->message);
}

bool store_put_target(Store *store, const struct target *target, GError **error)
{
    g_autoptr(StoreJson) row = target_to_row(target);
    return store_do(store, error, "SELECT put_target($1)", "j", row);
}

bool store_get_target(Store *store, const char *id, struct target *target, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.target($1)", "s", id);
    if (rows == NULL)
        return false;
    if (PQntuples(rows) == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "the database has no target '%s'; to list all: skipjack targets", id);
        return false;
    }
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    return target_from_row(object, target, error);
}

static gpointer read_target(const json_t *object, GError **error)
{
    struct target *target = g_new0(struct target, 1);
    if (target_from_row(object, target, error))
        return target;
    g_free(target);
    return NULL;
}

GPtrArray *store_list_targets(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT to_jsonb(t) FROM targets t ORDER BY id", "");
    return rows == NULL ? NULL : store_list_checked(rows, read_target, g_free, error);
}

bool store_ensure_target(Store *store, const char *id, GError **error)
{
    struct target target;
    g_autoptr(GError) problem = NULL;
    if (store_get_target(store, id, &target, &problem))
        return true;
    if (!g_error_matches(problem, STORE_ERROR, STORE_ERROR_NOT_FOUND)) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return false;
    }
    return target_parse(id, &target, error) && store_put_target(store, &target, error);
}
