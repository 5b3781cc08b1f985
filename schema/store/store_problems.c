/* Problems and their tags. */
#include "schema/store/store_private.h"
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

static void problem_to_row(GByteArray *out, const struct problem *p)
{
    const char direction[] = {direction_letter(p->direction), '\0'};
    guint row = rows_begin(out, 19);
    g_assert(p->kind == OP_CONV);
    rows_field_int8(out, 0);
    rows_field_text(out, "conv");
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

static int compare_stored(gconstpointer a, gconstpointer b)
{
    const struct stored_problem *left = a;
    const struct stored_problem *right = b;
    return problem_compare(&left->problem, &right->problem);
}

bool read_valid_problem(const json_t *object, struct problem *problem, GError **error)
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
