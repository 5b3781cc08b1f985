/* Foreign campaigns: written as rows of arrays, read page by page. */
#include "schema/results/store_foreign.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Problems in a page: a few thousand objects are in memory at a time. */
#define PAGE_PROBLEMS 1000

bool campaign_is_foreign(const struct campaign *campaign)
{
    return strcmp(campaign->strategy, FOREIGN_STRATEGY) == 0;
}

static bool begin(Store *store, const struct campaign *campaign, int64_t *id, GError **error)
{
    g_autoptr(StoreJson) plan =
        json_pack("{so so ss}", "name", json_from_text(campaign->name ? campaign->name : ""),
                  "identity", json_from_text(campaign->identity), "target", campaign->target);
    g_assert(plan != NULL);
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT begin_foreign_campaign($1)", "j", plan);
    if (rows == NULL)
        return false;
    *id = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return true;
}

bool store_begin_foreign(Store *store, const struct campaign *campaign, int64_t *id, GError **error)
{
    return store_ensure_target(store, campaign->target, error) && store_begin(store, error) &&
           begin(store, campaign, id, error);
}

bool store_end_foreign(Store *store, bool keep, GError **error)
{
    return store_do(store, error, keep ? "COMMIT" : "ROLLBACK", "");
}

/* ---- rows ---- */

static bool add_rows(Store *store, const char *sql, int64_t campaign, const GByteArray *items,
                     int *added, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, sql, "la", campaign, items);
    if (rows == NULL)
        return false;
    *added = atoi(PQgetvalue(rows, 0, 0));
    return true;
}

bool store_add_foreign_times(Store *store, int64_t campaign, const struct foreign_time *times,
                             int count, int *added, GError **error)
{
    unsigned type;
    if (!store_row_type(store, "foreign_times", &type, error))
        return false;
    g_autoptr(GByteArray) items = g_byte_array_new();
    rows_array(items, type, count);
    for (int i = 0; i < count; i++) {
        guint row = rows_begin(items, 7);
        rows_field_int8(items, campaign);
        rows_field_int8(items, times[i].problem);
        rows_field_int8(items, times[i].row_problem);
        rows_field_double(items, times[i].time_ms);
        rows_field_int8(items, times[i].workspace_bytes);
        rows_field_text(items, times[i].solver);
        rows_field_text(items, times[i].algorithm);
        rows_end(items, row);
    }
    return add_rows(store, "SELECT add_foreign_times($1, $2)", campaign, items, added, error);
}

bool store_add_foreign_params(Store *store, int64_t campaign, const struct foreign_params *params,
                              int count, int *added, GError **error)
{
    unsigned type;
    if (!store_row_type(store, "foreign_params", &type, error))
        return false;
    g_autoptr(GByteArray) items = g_byte_array_new();
    rows_array(items, type, count);
    for (int i = 0; i < count; i++) {
        guint row = rows_begin(items, 4);
        rows_field_int8(items, campaign);
        rows_field_int8(items, params[i].problem);
        rows_field_text(items, params[i].solver);
        rows_field_text(items, params[i].params);
        rows_end(items, row);
    }
    return add_rows(store, "SELECT add_foreign_params($1, $2)", campaign, items, added, error);
}

/* ---- reading ---- */

bool store_count_foreign(Store *store, int64_t campaign, struct foreign_counts *counts,
                         GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT count(DISTINCT t.problem_id), count(*),"
                   " (SELECT count(*) FROM foreign_params f WHERE f.campaign_id = $1)"
                   " FROM foreign_times t WHERE t.campaign_id = $1",
                   "l", campaign);
    if (rows == NULL)
        return false;
    counts->problems = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    counts->times = strtoll(PQgetvalue(rows, 0, 1), NULL, 10);
    counts->params = strtoll(PQgetvalue(rows, 0, 2), NULL, 10);
    return true;
}

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static void read_entry(const json_t *object, struct foreign_entry *entry)
{
    const json_t *time = json_object_get(object, "time_ms");
    *entry = (struct foreign_entry){
        .solver = member(object, "solver"),
        .algorithm = member(object, "algorithm"),
        .params = member(object, "params"),
        .time_ms = json_is_number(time) ? json_number_value(time) : NAN,
        .workspace_bytes = json_member_int(object, "workspace_bytes"),
    };
}

static bool show_problem(const json_t *object, foreign_seen seen, gpointer data, GError **error)
{
    struct problem problem;
    const json_t *list = json_object_get(object, "entries");
    int count = (int)json_array_size(list);
    if (!problem_from_json(json_object_get(object, "problem"), &problem, error))
        return false;
    g_autofree struct foreign_entry *entries = g_new0(struct foreign_entry, (gsize)count);
    for (int i = 0; i < count; i++)
        read_entry(json_array_get(list, (gsize)i), &entries[i]);
    seen(&problem, entries, count, data);
    return true;
}

/* Shows one page. *after becomes its last problem, 0 after the last page. */
static bool show_page(Store *store, int64_t campaign, int64_t *after, foreign_seen seen,
                      gpointer data, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error, "SELECT found, problem_id FROM foreign_page($1, $2, $3) ORDER BY problem_id",
        "lli", campaign, *after, PAGE_PROBLEMS);
    if (rows == NULL)
        return false;
    *after = 0;
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        if (!show_problem(object, seen, data, error))
            return false;
        *after = strtoll(PQgetvalue(rows, i, 1), NULL, 10);
    }
    return true;
}

bool store_each_foreign(Store *store, int64_t campaign, foreign_seen seen, gpointer data,
                        GError **error)
{
    int64_t after = 0;
    do {
        if (!show_page(store, campaign, &after, seen, data, error))
            return false;
    } while (after > 0);
    return true;
}
