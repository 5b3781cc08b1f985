/* Usage: reading problems and times in binary form, which takes a tenth of the time of JSON. */
#include "schema/results/store_usage.h"

#include <stdlib.h>
#include <string.h>

#include "schema/results/store_foreign.h"
#include "schema/store/store_private.h"

/* ---- campaigns ---- */

#define CAMPAIGN_COLUMNS                                                                           \
    "SELECT c.id, c.name, c.target, c.strategy = '" FOREIGN_STRATEGY "' FROM campaigns c WHERE "

void used_campaign_clear(struct used_campaign *campaign)
{
    g_clear_pointer(&campaign->name, g_free);
    g_clear_pointer(&campaign->target, g_free);
}

bool store_get_used_campaign(Store *store, int64_t id, struct used_campaign *campaign,
                             GError **error)
{
    *campaign = (struct used_campaign){0};
    g_autoptr(StoreRows) rows = store_read(store, error, CAMPAIGN_COLUMNS "c.id = $1", "l", id);
    if (rows != NULL && PQntuples(rows) == 0)
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "there is no campaign %" G_GINT64_FORMAT, id);
    if (rows == NULL || PQntuples(rows) == 0)
        return false;
    campaign->id = id;
    campaign->name = g_strdup(PQgetvalue(rows, 0, 1));
    campaign->target = g_strdup(PQgetvalue(rows, 0, 2));
    campaign->foreign = PQgetvalue(rows, 0, 3)[0] == 't';
    return true;
}

bool store_list_target_campaigns(Store *store, const char *target, GArray *ids, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   CAMPAIGN_COLUMNS "c.target = $1 AND NOT c.build_only"
                                    " AND c.strategy <> '" FOREIGN_STRATEGY "' ORDER BY c.id",
                   "s", target);
    for (int i = 0; rows != NULL && i < PQntuples(rows); i++) {
        int64_t id = strtoll(PQgetvalue(rows, i, 0), NULL, 10);
        g_array_append_val(ids, id);
    }
    return rows != NULL;
}

/* ---- fields in binary form (array_send() of PostgreSQL's source) ---- */

static int64_t field_int8(const char *bytes)
{
    guint64 value;
    memcpy(&value, bytes, sizeof value);
    return (int64_t)GUINT64_FROM_BE(value);
}

static int32_t field_int4(const char *bytes)
{
    guint32 value;
    memcpy(&value, bytes, sizeof value);
    return (int32_t)GUINT32_FROM_BE(value);
}

static double field_double(const char *bytes)
{
    guint64 bits = (guint64)field_int8(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Finds the first element of a one-dimensional array of `count` elements of 8 bytes without NULLs. Elements follow one
 * another every ARRAY_STEP bytes. Returns NULL for any other field. */
#define ARRAY_HEAD                                                                                 \
    20 /* dimensions, flags, element type; of the dimension: length and first index */
#define ARRAY_STEP  12 /* the element's length, and the element */
#define ARRAY_EMPTY 12 /* an array without elements has no dimension */
static const char *array_of_eights(const PGresult *rows, int row, int column, int *count)
{
    const char *bytes = PQgetvalue(rows, row, column);
    int length = PQgetlength(rows, row, column);
    *count = length > ARRAY_HEAD ? field_int4(bytes + 12) : 0;
    bool sound = length > ARRAY_HEAD && field_int4(bytes) == 1 && field_int4(bytes + 4) == 0 &&
                 *count > 0 && length == ARRAY_HEAD + (int64_t)*count * ARRAY_STEP &&
                 field_int4(bytes + ARRAY_HEAD) == 8;
    return sound ? bytes + ARRAY_HEAD + 4 : NULL;
}

static char *ids_text(const GArray *ids)
{
    GString *text = g_string_new("{");
    for (guint i = 0; i < ids->len; i++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "",
                               g_array_index(ids, int64_t, i));
    g_string_append_c(text, '}');
    return g_string_free(text, FALSE);
}

/* ---- problems ---- */

/* A problem's columns, as they are: the server would take longer to join them than to send them. */
#define PROBLEM_COLUMNS                                                                            \
    "SELECT p.id, u.multiplicity::bigint, p.n, p.c, p.k, p.groups, p.spatial_dim, p.bias,"         \
    " p.in_size, p.fil, p.out_size, p.pad, p.stride, p.dilation, p.types, p.casts, p.layouts,"     \
    " p.direction, p.epilogue, p.kind, p.mode, p.strides FROM "
#define PROBLEM_JOIN " AS u JOIN problems p ON p.id = u.problem_id ORDER BY p.id"
enum problem_column {
    COLUMN_ID,
    COLUMN_MULTIPLICITY,
    COLUMN_N,
    COLUMN_C,
    COLUMN_K,
    COLUMN_GROUPS,
    COLUMN_SPATIAL_DIM,
    COLUMN_BIAS,
    COLUMN_IN, /* the first of six triples of numbers */
    COLUMN_TYPES = COLUMN_IN + 6,
    COLUMN_CASTS,
    COLUMN_LAYOUTS,
    COLUMN_DIRECTION,
    COLUMN_EPILOGUE,
    COLUMN_KIND,
    COLUMN_MODE,
    COLUMN_STRIDES,
};

/* Longest name of a type or a layout, with its NUL. */
#define NAME_MAX_BYTES 16

static bool read_triples(const PGresult *rows, int row, struct problem *p)
{
    int64_t *const triples[] = {p->in, p->fil, p->out, p->pad, p->stride, p->dilation};
    for (int t = 0; t < (int)G_N_ELEMENTS(triples); t++) {
        int count = 0;
        const char *at = array_of_eights(rows, row, COLUMN_IN + t, &count);
        if (at == NULL || count != AXIS_COUNT)
            return false;
        for (int axis = 0; axis < AXIS_COUNT; axis++)
            triples[t][axis] = field_int8(at + (gsize)axis * ARRAY_STEP);
    }
    return true;
}

/* Reads an array of three names. */
static bool read_names(const PGresult *rows, int row, int column,
                       char names[TENSOR_COUNT][NAME_MAX_BYTES])
{
    const char *bytes = PQgetvalue(rows, row, column);
    const char *end = bytes + PQgetlength(rows, row, column);
    const char *at = bytes + ARRAY_HEAD;
    if (at >= end || field_int4(bytes) != 1 || field_int4(bytes + 4) != 0 ||
        field_int4(bytes + 12) != TENSOR_COUNT)
        return false;
    for (int role = 0; role < TENSOR_COUNT; role++) {
        int32_t length = end - at >= 4 ? field_int4(at) : -1;
        if (length < 0 || length >= NAME_MAX_BYTES || length > end - at - 4)
            return false;
        memcpy(names[role], at + 4, (gsize)length);
        names[role][length] = '\0';
        at += 4 + length;
    }
    return true;
}

static bool read_type(const char *word, enum data_type *type)
{
    *type = TYPE_NONE;
    return *word == '\0' || data_type_parse(word, type);
}

static bool read_tensors(const PGresult *rows, int row, struct problem *p)
{
    char types[TENSOR_COUNT][NAME_MAX_BYTES], casts[TENSOR_COUNT][NAME_MAX_BYTES];
    char layouts[TENSOR_COUNT][NAME_MAX_BYTES];
    if (!read_names(rows, row, COLUMN_TYPES, types) ||
        !read_names(rows, row, COLUMN_CASTS, casts) ||
        !read_names(rows, row, COLUMN_LAYOUTS, layouts))
        return false;
    for (int role = 0; role < TENSOR_COUNT; role++)
        if (!read_type(types[role], &p->type[role]) || !read_type(casts[role], &p->cast[role]) ||
            !layout_parse(layouts[role], &p->layout[role]))
            return false;
    return true;
}

static bool read_text(const PGresult *rows, int row, int column, char *text, gsize size)
{
    gsize length = (gsize)PQgetlength(rows, row, column);
    if (length >= size)
        return false;
    memcpy(text, PQgetvalue(rows, row, column), length);
    text[length] = '\0';
    return true;
}

/* Reads the strides, an array of no dimensions if all tensors are packed. */
static bool read_strides(const PGresult *rows, int row, struct problem *p)
{
    int count = 0;
    const char *at = array_of_eights(rows, row, COLUMN_STRIDES, &count);
    if (PQgetlength(rows, row, COLUMN_STRIDES) == ARRAY_EMPTY)
        return field_int4(PQgetvalue(rows, row, COLUMN_STRIDES)) == 0;
    if (at == NULL || count != PROBLEM_STRIDES)
        return false;
    for (int i = 0; i < PROBLEM_STRIDES; i++)
        p->strides[i / 5][i % 5] = field_int8(at + (gsize)i * ARRAY_STEP);
    return true;
}

static bool read_problem(const PGresult *rows, int row, struct used_problem *used)
{
    struct problem *p = &used->problem;
    int64_t *const numbers[] = {&p->n, &p->c, &p->k, &p->groups};
    char kind[NAME_MAX_BYTES];
    guint16 small;
    problem_init(p);
    used->id = field_int8(PQgetvalue(rows, row, COLUMN_ID));
    used->multiplicity = field_int8(PQgetvalue(rows, row, COLUMN_MULTIPLICITY));
    for (int i = 0; i < (int)G_N_ELEMENTS(numbers); i++)
        *numbers[i] = field_int8(PQgetvalue(rows, row, COLUMN_N + i));
    memcpy(&small, PQgetvalue(rows, row, COLUMN_SPATIAL_DIM), sizeof small);
    p->spatial_dim = GUINT16_FROM_BE(small);
    memcpy(&small, PQgetvalue(rows, row, COLUMN_BIAS), sizeof small);
    p->bias = GUINT16_FROM_BE(small);
    return PQgetlength(rows, row, COLUMN_DIRECTION) == 1 &&
           direction_parse(PQgetvalue(rows, row, COLUMN_DIRECTION)[0], &p->direction) &&
           read_text(rows, row, COLUMN_KIND, kind, sizeof kind) && op_kind_parse(kind, &p->kind) &&
           read_text(rows, row, COLUMN_EPILOGUE, p->epilogue, sizeof p->epilogue) &&
           read_text(rows, row, COLUMN_MODE, p->mode, sizeof p->mode) &&
           read_triples(rows, row, p) && read_tensors(rows, row, p) && read_strides(rows, row, p);
}

static PGresult *read_problem_rows(Store *store, const struct usage_source *source, GError **error)
{
    if (source->network != NULL)
        return store_read_binary(
            store, error,
            PROBLEM_COLUMNS "(SELECT l.problem_id, sum(l.multiplicity) AS multiplicity"
                            " FROM network_layers l WHERE l.network = $1 GROUP BY 1)" PROBLEM_JOIN,
            "s", source->network);
    if (source->tag != NULL)
        return store_read_binary(store, error,
                                 PROBLEM_COLUMNS
                                 "(SELECT t.problem_id, 1 AS multiplicity"
                                 " FROM problem_tags t WHERE t.tag = $1)" PROBLEM_JOIN,
                                 "s", source->tag);
    if (source->target != NULL)
        return store_read_binary(store, error,
                                 PROBLEM_COLUMNS
                                 "(SELECT g.problem_id, max(g.multiplicity) AS multiplicity"
                                 " FROM usage_golden($1, $2, NULL) g GROUP BY 1)" PROBLEM_JOIN,
                                 "si", source->target, source->version);
    if (source->foreign)
        return store_read_binary(store, error,
                                 PROBLEM_COLUMNS
                                 "(SELECT DISTINCT f.problem_id, 1 AS multiplicity"
                                 " FROM foreign_times f WHERE f.campaign_id = $1)" PROBLEM_JOIN,
                                 "l", source->campaign);
    return store_read_binary(store, error,
                             PROBLEM_COLUMNS
                             "(SELECT j.problem_id, max(j.multiplicity) AS multiplicity"
                             " FROM jobs j WHERE j.campaign_id = $1 GROUP BY 1)" PROBLEM_JOIN,
                             "l", source->campaign);
}

GArray *store_list_used_problems(Store *store, const struct usage_source *source, GError **error)
{
    g_autoptr(StoreRows) rows = read_problem_rows(store, source, error);
    if (rows == NULL)
        return NULL;
    if (source->network != NULL && PQntuples(rows) == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "there is no network '%s' with layers; skipjack networks lists them",
                    source->network);
        return NULL;
    }
    GArray *list =
        g_array_sized_new(FALSE, TRUE, sizeof(struct used_problem), (guint)PQntuples(rows));
    for (int i = 0; i < PQntuples(rows); i++) {
        struct used_problem used;
        if (!read_problem(rows, i, &used)) {
            g_array_unref(list);
            store_damaged(error, "problem %" G_GINT64_FORMAT " of the database is damaged",
                          used.id);
            return NULL;
        }
        g_array_append_val(list, used);
    }
    return list;
}

bool store_network_runs(Store *store, const char *network, double *runs, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT f.runs FROM network_facts f JOIN network_versions v ON v.id = f.version_id"
        " JOIN networks n ON n.name = v.network WHERE f.runs IS NOT NULL AND"
        " ((n.name = $1 AND n.current_id = v.id) OR v.network || '@' || v.number = $1)",
        "s", network);
    *runs = rows != NULL && PQntuples(rows) > 0 ? g_ascii_strtod(PQgetvalue(rows, 0, 0), NULL) : 0;
    return rows != NULL;
}

/* ---- times ---- */

struct solver_row {
    int64_t id;
    char *name;
    int revision, dynamic;
};

static void solver_row_free(gpointer data)
{
    struct solver_row *row = data;
    g_free(row->name);
    g_free(row);
}

/* All solvers that the database names, by id. */
static GHashTable *read_solvers(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT id, name, revision, dynamic FROM solvers", "");
    if (rows == NULL)
        return NULL;
    GHashTable *solvers = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, solver_row_free);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct solver_row *row = g_new0(struct solver_row, 1);
        row->id = strtoll(PQgetvalue(rows, i, 0), NULL, 10);
        row->name = g_strdup(PQgetvalue(rows, i, 1));
        row->revision = (int)strtol(PQgetvalue(rows, i, 2), NULL, 10);
        row->dynamic = PQgetvalue(rows, i, 3)[0] == 't';
        g_hash_table_insert(solvers, &row->id, row);
    }
    return solvers;
}

/* A campaign's sums: no row if the campaign has none, and a row without a problem if it has none of the ids. */
#define SUMS                                                                                       \
    "SELECT u.problem_id, u.solvers, u.times_ms FROM usage_summed s LEFT JOIN usage_sums u"        \
    " ON u.campaign_id = s.campaign_id"                                                            \
    " AND ($2::bigint[] IS NULL OR u.problem_id = ANY ($2::bigint[])) WHERE s.campaign_id = $1"

static PGresult *read_time_rows(Store *store, const struct usage_source *source, const char *ids,
                                GError **error)
{
    if (source->target != NULL)
        return store_read_binary(store, error,
                                 "SELECT g.problem_id, array_agg(g.solver_id), array_agg(g.time_ms)"
                                 " FROM usage_golden($1, $2, $3::bigint[]) g GROUP BY 1",
                                 "sis", source->target, source->version, ids);
    PGresult *sums = store_read_binary(store, error, SUMS, "ls", source->campaign, ids);
    if (sums == NULL || PQntuples(sums) > 0)
        return sums;
    PQclear(sums);
    return store_read_binary(
        store, error,
        "SELECT u.problem_id, u.solvers, u.times_ms FROM usage_unsummed($1, $2::bigint[]) u", "ls",
        source->campaign, ids);
}

/* Reports the times of one row: a problem, an array of solvers and one of times. */
static bool report_row(const PGresult *rows, int row, GHashTable *solvers, used_time_seen seen,
                       gpointer data)
{
    int count = 0, times = 0;
    const char *ids = array_of_eights(rows, row, 1, &count);
    const char *values = array_of_eights(rows, row, 2, &times);
    if (ids == NULL || values == NULL || count != times)
        return false;
    struct used_time time = {.problem = field_int8(PQgetvalue(rows, row, 0))};
    for (int i = 0; i < count; i++) {
        time.solver_id = field_int8(ids + (gsize)i * ARRAY_STEP);
        time.time_ms = field_double(values + (gsize)i * ARRAY_STEP);
        const struct solver_row *solver = g_hash_table_lookup(solvers, &time.solver_id);
        if (solver == NULL)
            return false;
        time.solver = solver->name;
        time.revision = solver->revision;
        time.dynamic = solver->dynamic;
        seen(&time, data);
    }
    return true;
}

static bool each_own_time(Store *store, const struct usage_source *source, const char *ids,
                          used_time_seen seen, gpointer data, GError **error)
{
    g_autoptr(StoreRows) rows = read_time_rows(store, source, ids, error);
    /* The solvers are read after the times: they then have every solver that the times name. */
    g_autoptr(GHashTable) solvers = rows != NULL ? read_solvers(store, error) : NULL;
    if (solvers == NULL)
        return false;
    for (int i = 0; i < PQntuples(rows); i++)
        if (!PQgetisnull(rows, i, 0) && !report_row(rows, i, solvers, seen, data))
            return store_damaged(error, "the times of problem %" G_GINT64_FORMAT " are damaged",
                                 field_int8(PQgetvalue(rows, i, 0)));
    return true;
}

static bool each_foreign_time(Store *store, int64_t campaign, const char *ids, used_time_seen seen,
                              gpointer data, GError **error)
{
    g_autoptr(StoreRows) rows = store_read_binary(
        store, error,
        "SELECT f.problem_id, f.time_ms, f.solver FROM foreign_times f WHERE f.campaign_id = $1"
        " AND ($2::bigint[] IS NULL OR f.problem_id = ANY ($2::bigint[]))",
        "ls", campaign, ids);
    g_autoptr(GString) name = g_string_new(NULL);
    for (int i = 0; rows != NULL && i < PQntuples(rows); i++) {
        g_string_truncate(name, 0);
        g_string_append_len(name, PQgetvalue(rows, i, 2), PQgetlength(rows, i, 2));
        const struct used_time time = {.problem = field_int8(PQgetvalue(rows, i, 0)),
                                       .solver = name->str,
                                       .dynamic = -1,
                                       .time_ms = field_double(PQgetvalue(rows, i, 1))};
        seen(&time, data);
    }
    return rows != NULL;
}

bool store_each_used_time(Store *store, const struct usage_source *source, const GArray *ids,
                          used_time_seen seen, gpointer data, GError **error)
{
    g_autofree char *text = ids != NULL ? ids_text(ids) : NULL;
    return source->foreign ? each_foreign_time(store, source->campaign, text, seen, data, error)
                           : each_own_time(store, source, text, seen, data, error);
}

/* ---- kernels ---- */

bool store_each_used_kernels(Store *store, const struct usage_source *source,
                             const GArray *problems, const GArray *solvers, used_kernels_seen seen,
                             gpointer data, GError **error)
{
    g_assert(problems->len == solvers->len);
    if (source->foreign || problems->len == 0)
        return true;
    g_autofree char *problem_ids = ids_text(problems), *solver_ids = ids_text(solvers);
    g_autoptr(StoreRows) rows =
        source->target != NULL
            ? store_read(store, error,
                         "SELECT g.problem_id, g.solver_id, g.kernel_keys"
                         " FROM usage_golden_kernels($1, $2, $3::bigint[], $4::bigint[]) g",
                         "siss", source->target, source->version, problem_ids, solver_ids)
            : store_read(store, error,
                         "SELECT j.problem_id, j.solver_id, r.kernel_keys"
                         " FROM unnest($2::bigint[], $3::bigint[]) AS u(problem, solver)"
                         " JOIN jobs j ON j.campaign_id = $1 AND j.problem_id = u.problem"
                         " AND j.solver_id = u.solver"
                         " JOIN results r ON r.campaign_id = $1 AND r.job_id = j.id AND r.rank = 0",
                         "lss", source->campaign, problem_ids, solver_ids);
    for (int i = 0; rows != NULL && i < PQntuples(rows); i++)
        seen(strtoll(PQgetvalue(rows, i, 0), NULL, 10), strtoll(PQgetvalue(rows, i, 1), NULL, 10),
             PQgetvalue(rows, i, 2), data);
    return rows != NULL;
}

/* ---- sums ---- */

bool store_sum_usage(Store *store, const volatile gint *stop, GError **error)
{
    while (stop == NULL || g_atomic_int_get(stop) == 0) {
        g_autoptr(StoreRows) rows = store_run(store, error, "SELECT sum_usage()", "");
        if (rows == NULL)
            return false;
        if (PQgetisnull(rows, 0, 0))
            return true;
    }
    return true;
}
