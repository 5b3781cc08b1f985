/*
 * History: each call repeats one SQL function of schema/sql/functions/history.sql
 * that does a step of a few thousand rows, so that no transaction is long.
 */
#include "schema/results/store_history.h"

#include "schema/store/store_private.h"

#include <stdlib.h>

#define GATHER_JOBS 5000 /* of one step: about a second */
#define THIN_SERIES 2000 /* of one step: under a second, for a week of every night */

static bool stopped(const volatile gint *stop)
{
    return stop != NULL && g_atomic_int_get(stop) != 0;
}

static int64_t row_int(const PGresult *rows, int row, int column)
{
    return strtoll(PQgetvalue(rows, row, column), NULL, 10);
}

static double row_double(const PGresult *rows, int row, int column)
{
    return g_ascii_strtod(PQgetvalue(rows, row, column), NULL);
}

static bool row_bool(const PGresult *rows, int row, int column)
{
    return PQgetvalue(rows, row, column)[0] == 't';
}

static char *row_text(const PGresult *rows, int row, int column)
{
    return g_strdup(PQgetvalue(rows, row, column));
}

/* ---- reading points ---- */

void history_point_free(struct history_point *point)
{
    if (point == NULL)
        return;
    g_free(point->target);
    g_free(point->solver);
    g_free(point->hash);
    g_free(point->config);
    g_free(point->stack);
    g_free(point->node);
    g_free(point);
}

static void free_point(gpointer point)
{
    history_point_free(point);
}

/* The columns of a point, in the order in which read_point() takes them. */
#define POINT_COLUMNS                                                                              \
    "target, problem_id, solver, night, campaign_id, revision, hash, config_text, stack, node,"    \
    " failure, n, median_ms, spread, low_ms, high_ms, drift, sm_mhz_min, sm_mhz_max, throttle,"    \
    " wins, older, nights, fastest_ms, slowest_ms, is_second, chosen"

static struct history_point *read_point(const PGresult *rows, int row)
{
    struct history_point *point = g_new0(struct history_point, 1);
    int column = 0;
    point->target = row_text(rows, row, column++);
    point->problem = row_int(rows, row, column++);
    point->solver = row_text(rows, row, column++);
    g_strlcpy(point->night, PQgetvalue(rows, row, column++), sizeof point->night);
    point->campaign = row_int(rows, row, column++);
    point->revision = (int)row_int(rows, row, column++);
    point->hash = row_text(rows, row, column++);
    point->config = row_text(rows, row, column++);
    point->stack = row_text(rows, row, column++);
    point->node = row_text(rows, row, column++);
    point->failure = (enum failure)row_int(rows, row, column++);
    point->n = (int)row_int(rows, row, column++);
    point->median_ms = row_double(rows, row, column++);
    point->spread = row_double(rows, row, column++);
    point->low_ms = row_double(rows, row, column++);
    point->high_ms = row_double(rows, row, column++);
    point->drift = row_double(rows, row, column++);
    point->sm_mhz_min = (int)row_int(rows, row, column++);
    point->sm_mhz_max = (int)row_int(rows, row, column++);
    point->throttle = (unsigned)row_int(rows, row, column++);
    point->wins = row_bool(rows, row, column++);
    point->older = row_bool(rows, row, column++);
    point->nights = (int)row_int(rows, row, column++);
    point->fastest_ms = row_double(rows, row, column++);
    point->slowest_ms = row_double(rows, row, column++);
    point->second = row_bool(rows, row, column++);
    point->chosen = row_bool(rows, row, column++);
    return point;
}

static GPtrArray *read_points(PGresult *answer)
{
    g_autoptr(StoreRows) rows = answer;
    if (rows == NULL)
        return NULL;
    GPtrArray *points = g_ptr_array_new_with_free_func(free_point);
    for (int i = 0; i < PQntuples(rows); i++)
        g_ptr_array_add(points, read_point(rows, i));
    return points;
}

GPtrArray *store_list_history(Store *store, int64_t problem, const char *target, const char *solver,
                              const char *since, GError **error)
{
    return read_points(
        store_read(store, error,
                   "SELECT " POINT_COLUMNS
                   " FROM problem_history($1, $2, $3, coalesce($4, '-infinity')::date)",
                   "lsss", problem, target, solver, since));
}

GPtrArray *store_newest_history(Store *store, const char *target, const GArray *problems,
                                const char *before, int nights, GError **error)
{
    g_autoptr(StoreJson) ids = problems == NULL ? NULL : json_array();
    for (guint i = 0; problems != NULL && i < problems->len; i++)
        json_array_append_new(ids, json_integer(g_array_index(problems, int64_t, i)));
    g_autofree char *text = ids == NULL ? NULL : json_dumps(ids, JSON_COMPACT);
    return read_points(
        store_read(store, error,
                   "SELECT " POINT_COLUMNS
                   " FROM newest_history($1, $2::jsonb, coalesce($3, 'infinity')::date, $4)"
                   " ORDER BY problem_id, solver, night DESC",
                   "sssi", target, text, before, nights));
}

/* ---- gathering ---- */

bool store_name_night(Store *store, int64_t campaign, const char *night, GError **error)
{
    return store_do(store, error, "SELECT name_night($1, $2::date)", "ls", campaign, night);
}

static bool gather_campaign(Store *store, int64_t campaign, int64_t progress,
                            const volatile gint *stop, GError **error)
{
    int64_t last = 0;
    for (bool more = true; more;) {
        if (stopped(stop))
            return true;
        g_autoptr(StoreRows) rows = store_run(store, error, "SELECT gather_history($1, $2, $3)",
                                              "lli", campaign, last, GATHER_JOBS);
        if (rows == NULL)
            return false;
        more = !PQgetisnull(rows, 0, 0);
        last = more ? row_int(rows, 0, 0) : 0;
    }
    return store_do(store, error, "SELECT mark_history($1, $2)", "ll", campaign, progress);
}

bool store_gather_history(Store *store, int64_t campaign, const volatile gint *stop, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error, "SELECT campaign_id, progress FROM history_to_gather($1)", "l", campaign);
    for (int i = 0; rows != NULL && i < PQntuples(rows) && !stopped(stop); i++) {
        if (!gather_campaign(store, row_int(rows, i, 0), row_int(rows, i, 1), stop, error))
            return false;
    }
    return rows != NULL;
}

/* ---- retention ---- */

bool store_history_retention(Store *store, struct history_retention *retention, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT dense_days, weekly_days FROM history_retention", "");
    if (rows == NULL)
        return false;
    *retention = (struct history_retention){.dense_days = (int)row_int(rows, 0, 0),
                                            .weekly_days = (int)row_int(rows, 0, 1)};
    return true;
}

bool store_set_history_retention(Store *store, const struct history_retention *retention,
                                 GError **error)
{
    return store_do(store, error, "SELECT set_history_retention($1, $2)", "ii",
                    retention->dense_days, retention->weekly_days);
}

static bool thin_span(Store *store, const char *span, const char *since, const char *until,
                      const volatile gint *stop, int64_t *dropped, GError **error)
{
    int64_t last = 0;
    for (bool more = true; more;) {
        if (stopped(stop))
            return true;
        g_autoptr(StoreRows) rows = store_run(
            store, error, "SELECT last, dropped FROM thin_history($1, $2::date, $3::date, $4, $5)",
            "sssli", span, since, until, last, THIN_SERIES);
        if (rows == NULL)
            return false;
        more = !PQgetisnull(rows, 0, 0);
        last = more ? row_int(rows, 0, 0) : 0;
        *dropped += row_int(rows, 0, 1);
    }
    return store_do(store, error, "SELECT end_thinning($1, $2::date)", "ss", span, until);
}

bool store_thin_history(Store *store, const char *today, const volatile gint *stop,
                        int64_t *dropped, GError **error)
{
    *dropped = 0;
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT span, since, until FROM history_to_thin(coalesce($1::date, current_date))", "s",
        today);
    for (int i = 0; rows != NULL && i < PQntuples(rows) && !stopped(stop); i++) {
        if (!thin_span(store, PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1),
                       PQgetvalue(rows, i, 2), stop, dropped, error))
            return false;
    }
    return rows != NULL;
}

/* ---- sizes ---- */

bool store_history_size(Store *store, struct history_size *size, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT p.points, s.series, s.problems, s.targets, p.nights, p.first, p.last, b.bytes"
        " FROM (SELECT count(*) AS points, coalesce(sum(nights), 0) AS nights,"
        "       coalesce(min(night)::text, '') AS first, coalesce(max(night)::text, '') AS last"
        "       FROM history) AS p,"
        " (SELECT count(*) AS series, count(DISTINCT problem_id) AS problems,"
        "  count(DISTINCT target) AS targets FROM history_series) AS s,"
        " (SELECT sum(pg_total_relation_size(t)) AS bytes FROM unnest(ARRAY['history',"
        "  'history_series', 'history_texts', 'history_versions', 'history_nights', 'history_marks']::regclass[]) AS t)"
        " AS b",
        "");
    if (rows == NULL)
        return false;
    *size = (struct history_size){.points = row_int(rows, 0, 0),
                                  .series = row_int(rows, 0, 1),
                                  .problems = row_int(rows, 0, 2),
                                  .targets = row_int(rows, 0, 3),
                                  .nights = row_int(rows, 0, 4),
                                  .bytes = row_int(rows, 0, 7)};
    g_strlcpy(size->first, PQgetvalue(rows, 0, 5), sizeof size->first);
    g_strlcpy(size->last, PQgetvalue(rows, 0, 6), sizeof size->last);
    return true;
}
