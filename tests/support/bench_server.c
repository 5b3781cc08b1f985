#include "tests/support/bench_server.h"

#include "schema/store_private.h"
#include "tests/support/queue_farm.h"
#include "tests/support/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bench_server_prepare(int connections)
{
    g_autofree char *settings = g_strdup_printf("max_connections=%d shared_buffers=512MB "
                                                "max_wal_size=4GB checkpoint_timeout=30min",
                                                connections);
    g_setenv("SKIPJACK_DB_SETTINGS", settings, TRUE);
    scratch_durable();
}

static int64_t ask(Store *store, const char *sql, const char *word)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(store, &error, sql, "s", word);
    g_assert_no_error(error);
    return strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

int64_t bench_wal_bytes(Store *store)
{
    return ask(store, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint WHERE $1::text IS NULL",
               NULL);
}

int64_t bench_table_bytes(Store *store, const char *table)
{
    return ask(store,
               "SELECT sum(pg_total_relation_size(relid))::bigint FROM pg_partition_tree($1)",
               table);
}

/* User and system time of a process, of its ended children too where wanted: fields 14 to 17 of its
 * stat, which come after the name in parentheses. */
static double process_seconds(int64_t pid, bool children)
{
    g_autofree char *path = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/stat", (gint64)pid);
    g_autofree char *stat = NULL;
    long long ticks[4] = {0};
    if (!g_file_get_contents(path, &stat, NULL, NULL) || strrchr(stat, ')') == NULL)
        return 0;
    if (sscanf(strrchr(stat, ')') + 1,
               " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld %lld %lld %lld", &ticks[0],
               &ticks[1], &ticks[2], &ticks[3]) != 4)
        return 0;
    return (double)(ticks[0] + ticks[1] + (children ? ticks[2] + ticks[3] : 0)) /
           (double)sysconf(_SC_CLK_TCK);
}

double bench_server_cpu_seconds(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(store, &error, "SELECT pid FROM pg_stat_activity", "");
    g_assert_no_error(error);
    /* The postmaster is the parent of all: the time of those that ended is among its own. */
    g_autofree char *file =
        g_build_filename(scratch_home(), "postgres", "data", "postmaster.pid", NULL);
    g_autofree char *text = NULL;
    double seconds = 0;
    if (g_file_get_contents(file, &text, NULL, NULL))
        seconds += process_seconds(strtoll(text, NULL, 10), true);
    for (int i = 0; i < PQntuples(rows); i++)
        seconds += process_seconds(strtoll(PQgetvalue(rows, i, 0), NULL, 10), false);
    return seconds;
}

/* ---- campaigns ---- */

const char *const bench_carried[BENCH_SOLVERS + 1] = {
    "ConvBench0:1:h", "ConvBench1:1:h", "ConvBench2:1:h",
    "ConvBench3:1:h", "ConvBench4:1:h", "ConvBench5:1:h",
    "ConvBench6:1:h", "ConvBench7:1:h", NULL};

int64_t bench_campaign(Store *store, int jobs)
{
    static int number;
    static const char *const solvers[BENCH_SOLVERS] = {"ConvBench0", "ConvBench1", "ConvBench2",
                                                       "ConvBench3", "ConvBench4", "ConvBench5",
                                                       "ConvBench6", "ConvBench7"};
    g_autoptr(GError) error = NULL;
    g_autofree char *name = g_strdup_printf("bench %d", ++number);
    char target[] = "gfx90a68", strategy[] = "random";
    struct campaign campaign = {.name = name,
                                .identity = name,
                                .target = target,
                                .strategy = strategy,
                                .seed = number,
                                .round_configs = 4};
    struct job_plan *plans = g_new0(struct job_plan, (gsize)jobs);
    for (int i = 0; i < jobs; i++) {
        plans[i] = (struct job_plan){.solver = solvers[i % BENCH_SOLVERS],
                                     .revision = 1,
                                     .hash = "h",
                                     .provider = "bench",
                                     .algorithm = "Direct",
                                     .tunable = true,
                                     .priority = 1.0 / (i + 1),
                                     .multiplicity = 1};
        /* Others' problems would be answered by what they found. */
        farm_problem(&plans[i].problem, number * 10000000L + i / BENCH_SOLVERS);
    }
    store_create_campaign(store, &campaign, plans, jobs, NULL, &error);
    g_assert_no_error(error);
    g_free(plans);
    return campaign.id;
}

/* ---- pgbench ---- */

/* One batch: what is claimed becomes the items of the next call, all by the server. */
static const char script_format[] =
    "SELECT coalesce(jsonb_agg(jsonb_build_object('job', j.job_id, 'fence', b.fence, 'round',"
    " '%s'::jsonb, 'more', false, 'seconds', 0.1, 'kept', '[]'::jsonb)), '[]')::text AS built"
    " FROM claim_jobs(:worker, true, %" G_GINT64_FORMAT ", 'gfx90a68', NULL, %d, 600, 1, 0, 0, 0)"
    " AS b CROSS JOIN LATERAL claimed_jobs(b, true) AS j \\gset\n"
    "SELECT store_built(%" G_GINT64_FORMAT ", $items$:built$items$);\n"
    "SELECT coalesce(jsonb_agg(jsonb_build_object('job', j.job_id, 'fence', b.fence, 'round',"
    " '%s'::jsonb, 'more', false, 'seconds', 0.1, 'kept', '%s'::jsonb)), '[]')::text AS rounds"
    " FROM claim_jobs(:worker, false, %" G_GINT64_FORMAT ", 'gfx90a68', NULL, %d, 600, 1, 0, 0, 0)"
    " AS b CROSS JOIN LATERAL claimed_jobs(b, false) AS j \\gset\n"
    "SELECT store_rounds(%" G_GINT64_FORMAT ", $items$:rounds$items$);\n";

static char *make_script(int64_t campaign, int batch)
{
    struct round *round = farm_make_round(0);
    g_autoptr(StoreJson) built = built_to_json(round);
    farm_evaluate(round, 2.0);
    struct kept kept = farm_make_kept(round);
    g_autoptr(StoreJson) outcomes = outcomes_to_json(round);
    g_autoptr(StoreJson) results = json_pack("[o]", kept_to_json(&kept, 0));
    g_autofree char *built_text = json_dumps(built, JSON_COMPACT);
    g_autofree char *outcomes_text = json_dumps(outcomes, JSON_COMPACT);
    g_autofree char *results_text = json_dumps(results, JSON_COMPACT);
    round_free(round);
    g_autofree char *body =
        g_strdup_printf(script_format, built_text, (gint64)campaign, batch, (gint64)campaign,
                        outcomes_text, results_text, (gint64)campaign, batch, (gint64)campaign);
    return g_strdup_printf("\\set worker :first_worker + :client_id\n%s", body);
}

double bench_pgbench(Store *store, int64_t campaign, int jobs, int batch, int clients)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *path = g_strdup(temp_folder_path(folder, "batch.sql"));
    g_autofree char *script = make_script(campaign, batch);
    g_autoptr(GError) error = NULL;
    int64_t first = 0, worker;
    for (int i = 0; i < clients; i++) {
        g_autofree char *process = g_strdup_printf("pgbench%d", i);
        struct worker_info info = {.node = "bench", .process = process, .target = "gfx90a68"};
        store_register_worker(store, &info, &worker, &error);
        g_assert_no_error(error);
        first = first == 0 ? worker : first;
    }
    g_file_set_contents(path, script, -1, &error);
    g_assert_no_error(error);
    g_autofree char *program = g_build_filename("/usr/lib/postgresql/15/bin", "pgbench", NULL);
    g_autofree char *client_text = g_strdup_printf("%d", clients);
    g_autofree char *turns = g_strdup_printf("%d", jobs / batch / clients);
    g_autofree char *first_text = g_strdup_printf("first_worker=%" G_GINT64_FORMAT, (gint64)first);
    const char *argv[] = {program,    "-n", "-c", client_text,      "-j", "2", "-t", turns, "-D",
                          first_text, "-f", path, scratch_db_url(), NULL};
    g_autofree char *output = NULL;
    g_autofree char *words = NULL;
    int status;
    g_setenv("PGOPTIONS", "-c search_path=skipjack,pg_temp", TRUE);
    gint64 start = g_get_monotonic_time();
    g_spawn_sync(NULL, (char **)(gpointer)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output, &words,
                 &status, &error);
    double seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    g_unsetenv("PGOPTIONS");
    g_assert_no_error(error);
    if (!g_spawn_check_wait_status(status, &error))
        g_error("pgbench: %s: %s", error->message, words);
    return jobs / seconds;
}
