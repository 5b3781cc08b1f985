/*
 * How large the history gets, and how fast it answers: ten years of nights of
 * 10,000 problems for one target, put into a scratch server's table month by
 * month, and thinned after each month by the functions that upkeep calls, with
 * the shipped retention.
 *
 * The farm that it imagines:
 *  - a problem has 2 to 6 solvers, on average 4;
 *  - every night measures each problem's winner, the runner-up of each of the 7 % of problems whose two best
 *    solvers differ by less than the noise, and every fifth of the other jobs: 17,000 jobs a night;
 *  - drivers or toolchains change six times a year, each solver's revision once; after a change three of ten
 *    jobs win with another config; in one job of 20 noise decides between two configs each night;
 *  - 3 % of the jobs always fail, and one of a thousand fails some night.
 *
 * The table is vacuumed when autovacuum would do so: 5 % of its rows are dead (its setting).
 *
 * usage: bench_history [YEARS [PROBLEMS]]   10 and 10000 if left out
 */
#include "schema/results/store_history.h"

#include "schema/store/store_private.h"
#include "tests/support/bench/bench_server.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#define TARGET      "gfx90a68"
#define YEARS       10
#define PROBLEMS    10000
#define FIRST_MONTH "2027-01-01"
#define LARGEST     2e9 /* bytes: the limit that the history keeps */

static void require(bool done, GError *const *error)
{
    if (!done)
        g_error("%s", *error != NULL ? (*error)->message : "failed");
}

static void run(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    require(store_do(store, &error, sql, ""), &error);
}

static int64_t ask(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(store, &error, sql, "");
    require(rows != NULL, &error);
    return strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

/* ---- the farm ---- */

/* Puts problems, series, texts and versions; place counts a problem's solvers from its fastest. */
static void make_farm(Store *store, int problems)
{
    g_autofree char *sql = g_strdup_printf(
        "INSERT INTO problems (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,"
        "  pad, stride, dilation, types, casts, layouts, bias, epilogue)"
        " SELECT 'conv', 'F', 2, 8, i, 64, 1, '{1,56,56}', '{1,3,3}', '{1,56,56}', '{0,1,1}',"
        "  '{1,1,1}', '{1,1,1}', '{FP32,FP32,FP32}', '{FP32,FP32,FP32}', '{NCHW,NCHW,NCHW}', 0, ''"
        " FROM generate_series(1, %d) AS i",
        problems);
    run(store, sql);
    run(store,
        "INSERT INTO targets SELECT '" TARGET "', 'amd', 'gfx90a', '', 104, 64, 65536, 1024, 64,"
        " 16, 1e13, 1e12, NULL, NULL");
    run(store, "INSERT INTO history_series (target, problem_id, solver)"
               " SELECT '" TARGET "', p.id, 'ConvSolver' || ((p.id + place * 7) % 10)"
               " FROM problems p CROSS JOIN LATERAL generate_series(0, 1 + p.id % 5) AS place"
               " ORDER BY p.id, place");
    run(store, "INSERT INTO solvers (provider, name, revision, hash, algorithm, dynamic, tunable)"
               " SELECT 'skipjack', 'ConvSolver' || s, r, md5(s || ' ' || r), 'direct', false, true"
               " FROM generate_series(0, 9) AS s, generate_series(0, 20) AS r ORDER BY s, r");
    run(store, "INSERT INTO history_versions (solver_id) SELECT id FROM solvers ORDER BY id");
    run(store,
        "INSERT INTO history_texts (text)"
        " SELECT CASE WHEN t.id <= 20000 THEN concat_ws(',', 32 << (t.id % 4), 1 << (t.id % 7),"
        "  1 << (t.id % 5), t.id % 2, t.id)"
        "  WHEN t.id <= 20100 THEN 'clang 15.0.6; hip 6.' || t.id || '; driver 6.' || t.id || '.2'"
        "  ELSE 'node' || t.id END FROM generate_series(1, 20120) AS t(id) ORDER BY t.id");
    run(store, "CREATE TABLE farm AS SELECT s.id AS series, s.problem_id AS problem,"
               " right(s.solver, 1)::integer AS solver,"
               " row_number() OVER (PARTITION BY s.problem_id ORDER BY s.id) - 1 AS place,"
               " s.problem_id % 14 = 0 AS near_tie, (hashint4(s.id) & 1023) AS phase,"
               " (hashint4(s.id + 7) & 1023) < 31 AS broken"
               " FROM history_series s");
    run(store, "ANALYZE farm");
}

/* Puts a month's points. $1: the month's first day. chance: 0 to 1023, of each job and night. */
static const char month_sql[] =
    "INSERT INTO history (series, night, campaign_id, version, config, stack, node, median_ms,"
    " spread, fastest_ms, slowest_ms, drift, n, sm_mhz_min, sm_mhz_max, throttle, failure, older, wins)"
    " SELECT m.series, m.night, m.day, m.solver * 21 + least((m.day + m.solver * 36) / 365, 20) + 1,"
    "  CASE WHEN m.failed THEN 1 ELSE 1 + (hashint8(m.series * 1000 + m.change / 10)"
    "   + (CASE WHEN m.phase < 51 AND m.chance < 205 THEN 1 ELSE 0 END) & 1048575) % 19999 END,"
    "  20001 + m.day / 61, 20101 + (m.chance + m.phase) % 10, m.ms, 0.02, m.ms, m.ms, 1.01, 50,"
    "  1500, 1700, 1, CASE WHEN m.failed THEN 9 ELSE 0 END, false, m.place = 0 AND NOT m.failed"
    " FROM (SELECT f.*, n.night, n.day, c.chance, f.broken OR c.chance = 17 AND c.other < 1 AS failed,"
    "       3 * (n.day / 61 + (n.day + f.solver * 36) / 365) + f.phase % 10 AS change,"
    "       CASE WHEN f.broken OR c.chance = 17 AND c.other < 1 THEN 0 ELSE"
    "        (0.1 + f.problem % 97) * (CASE WHEN f.near_tie AND f.place = 1 THEN 1 ELSE 1 + 0.3 * f.place END)"
    "        * (1 + 0.02 * (c.other - 511) / 511.0) END::real AS ms"
    "      FROM (SELECT d::date AS night, d::date - '" FIRST_MONTH "'::date AS day FROM"
    "             generate_series($1::date, $1::date + interval '1 month' - interval '1 day', '1 day') AS d) AS n"
    "      CROSS JOIN farm f"
    "      CROSS JOIN LATERAL (SELECT hashint8(f.series::bigint * 100003 + n.day) & 1023 AS chance,"
    "                           hashint8(f.series::bigint * 7919 + n.day * 31) & 1023 AS other) AS c"
    "      WHERE f.place = 0 OR (f.near_tie AND f.place = 1) OR c.chance % 5 = 0) AS m"
    " ORDER BY m.night, m.series";

/* Corrects who won where two solvers are near, as gathering does after it has put the points. */
static const char winners_sql[] =
    "UPDATE history h SET wins = w.best FROM"
    " (SELECT p.series, p.night, p.wins, p.failure = 0 AND row_number() OVER (PARTITION BY f.problem,"
    "          p.night ORDER BY p.failure <> 0, p.median_ms) = 1 AS best"
    "  FROM history p JOIN farm f ON f.series = p.series"
    "  WHERE p.night >= $1::date AND f.near_tie AND f.place < 2) AS w"
    " WHERE h.series = w.series AND h.night = w.night AND w.wins <> w.best";

/* ---- the years ---- */

static void vacuum_if_due(Store *store, int64_t *dead)
{
    int64_t rows =
        ask(store,
            "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'history'::regclass");
    if (*dead < 50 + rows / 20)
        return;
    run(store, "VACUUM ANALYZE history");
    *dead = 0;
}

static int64_t show_size(Store *store, const char *when)
{
    g_autoptr(GError) error = NULL;
    struct history_size size;
    require(store_history_size(store, &size, &error), &error);
    printf("%s: %" G_GINT64_FORMAT " points of %" G_GINT64_FORMAT
           " series stand for %" G_GINT64_FORMAT
           " nights of a series: %.0f MB, %.0f bytes a point\n",
           when, size.points, size.series, size.nights, (double)size.bytes / 1e6,
           size.points > 0 ? (double)size.bytes / (double)size.points : 0);
    fflush(stdout);
    return size.bytes;
}

static int64_t live(Store *store, int years)
{
    int64_t dead = 0, bytes = 0, inserted = 0;
    for (int month = 0; month < 12 * years; month++) {
        g_autoptr(GError) error = NULL;
        int64_t dropped = 0;
        g_autofree char *first = g_strdup_printf("%d-%02d-01", 2027 + month / 12, 1 + month % 12);
        g_autofree char *next =
            g_strdup_printf("%d-%02d-01", 2027 + (month + 1) / 12, 1 + (month + 1) % 12);
        g_autoptr(StoreRows) put = store_run(store, &error, month_sql, "s", first);
        require(put != NULL, &error);
        run(store, "ANALYZE history"); /* as autovacuum does */
        g_autoptr(StoreRows) won = store_run(store, &error, winners_sql, "s", first);
        require(won != NULL, &error);
        inserted += strtoll(PQcmdTuples(put), NULL, 10);
        require(store_thin_history(store, next, NULL, &dropped, &error), &error);
        /* Each week's point is updated, too, when others are folded into it. */
        dead += dropped + dropped / 6 + strtoll(PQcmdTuples(won), NULL, 10);
        vacuum_if_due(store, &dead);
        if ((month + 1) % 12 == 0) {
            g_autofree char *when = g_strdup_printf("year %d", (month + 1) / 12);
            bytes = show_size(store, when);
        }
    }
    printf("%" G_GINT64_FORMAT " points were put in all\n", inserted);
    return bytes;
}

static void time_newest(Store *store, int nights)
{
    g_autoptr(GError) error = NULL;
    gint64 begun = g_get_monotonic_time();
    g_autoptr(GPtrArray) points = store_newest_history(store, TARGET, NULL, NULL, nights, &error);
    require(points != NULL, &error);
    printf("the newest %d points of each series: %u points in %.2f s\n", nights, points->len,
           (double)(g_get_monotonic_time() - begun) / G_USEC_PER_SEC);
}

static void time_problem(Store *store)
{
    g_autoptr(GError) error = NULL;
    int64_t problem = ask(store, "SELECT max(problem_id) FROM history_series");
    gint64 begun = g_get_monotonic_time();
    g_autoptr(GPtrArray) points = store_list_history(store, problem, NULL, NULL, NULL, &error);
    require(points != NULL, &error);
    printf("all points of a problem: %u in %.1f ms\n", points->len,
           (double)(g_get_monotonic_time() - begun) / 1000);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C");
    int years = argc > 1 ? atoi(argv[1]) : YEARS;
    int problems = argc > 2 ? atoi(argv[2]) : PROBLEMS;
    if (years < 1 || years > 70 || problems < 1)
        g_error("usage: bench_history [YEARS [PROBLEMS]]");
    Store *store = scratch_store();
    gint64 begun = g_get_monotonic_time();
    run(store, "SET synchronous_commit = off");
    run(store, "SET work_mem = '256MB'");
    make_farm(store, problems);
    int64_t bytes = live(store, years);
    time_newest(store, 1);
    time_newest(store, 14);
    time_problem(store);
    printf("%d years of nights of %d problems: %.2f GB, in %.0f s\n", years, problems,
           (double)bytes / 1e9, (double)(g_get_monotonic_time() - begun) / G_USEC_PER_SEC);
    store_close(store);
    return (double)bytes < LARGEST ? 0 : 1;
}
