#include "tests/support/bench/bench_server.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bench_server_prepare(int connections)
{
    /* All other settings are those of the embedded database. */
    g_autofree char *settings = g_strdup_printf("max_connections=%d", connections);
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

int64_t bench_count(Store *store, const char *table)
{
    g_autofree char *sql = g_strdup_printf("SELECT count(*) FROM %s WHERE $1::text IS NULL", table);
    return ask(store, sql, NULL);
}

int bench_connections(Store *store)
{
    return (int)ask(store, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = $1",
                    "client backend");
}

int64_t bench_table_bytes(Store *store, const char *table)
{
    return ask(store,
               "SELECT coalesce(sum(pg_total_relation_size(relid))::bigint,"
               " pg_total_relation_size($1)) FROM pg_partition_tree($1)",
               table);
}

/* Reads /proc/PID/stat: the parent's id, the process's own processor time, and that of its children
 * that have ended (fields 4 and 14 to 17; the name in parentheses comes before them). */
static bool read_process(const char *pid, int64_t *parent, double *own, double *ended)
{
    g_autofree char *path = g_build_filename("/proc", pid, "stat", NULL);
    g_autofree char *stat = NULL;
    long long ppid, ticks[4];
    if (!g_file_get_contents(path, &stat, NULL, NULL) || strrchr(stat, ')') == NULL)
        return false;
    if (sscanf(strrchr(stat, ')') + 1,
               " %*s %lld %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld %lld %lld %lld", &ppid,
               &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 5)
        return false;
    double second = (double)sysconf(_SC_CLK_TCK);
    *parent = ppid;
    *own = (double)(ticks[0] + ticks[1]) / second;
    *ended = (double)(ticks[2] + ticks[3]) / second;
    return true;
}

static int64_t postmaster(void)
{
    g_autofree char *file =
        g_build_filename(scratch_home(), "postgres", "data", "postmaster.pid", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(file, &text, NULL, &error);
    g_assert_no_error(error);
    return strtoll(text, NULL, 10);
}

/* Processor time in seconds of the postmaster's running children. */
static double children_seconds(int64_t server)
{
    int64_t parent;
    double seconds = 0, own, ended;
    const char *name;
    g_autoptr(GDir) processes = g_dir_open("/proc", 0, NULL);
    g_assert_nonnull(processes);
    while ((name = g_dir_read_name(processes)) != NULL)
        if (g_ascii_isdigit(*name) && read_process(name, &parent, &own, &ended) && parent == server)
            seconds += own;
    return seconds;
}

/* The postmaster is the parent of all server processes. It counts a child's time once it has noticed the child's end, so
 * a child that ends between two readings could be counted twice or not at all: the readings are repeated until no
 * child ended between them. */
double bench_server_cpu_seconds(void)
{
    int64_t server = postmaster(), parent;
    double own, before, after = -1, children;
    g_autofree char *name = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)server);
    do {
        before = after;
        children = children_seconds(server);
        g_assert_true(read_process(name, &parent, &own, &after));
    } while (before < after);
    return own + after + children;
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
                                .round_configs = 250};
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
        /* Each campaign has problems of its own: results of earlier campaigns would be taken over
         * for equal problems. */
        farm_problem(&plans[i].problem, number * 10000000L + i / BENCH_SOLVERS);
    }
    store_create_campaign(store, &campaign, plans, jobs, NULL, NULL, &error);
    g_assert_no_error(error);
    g_free(plans);
    return campaign.id;
}

/* ---- pgbench ---- */

/* One batch of jobs through both pools, by the statements that the store sends. The rows handed in
 * are made by the server from the claimed jobs, and are like those of farm_make_round(). */
static const char script_format[] =
    "\\set worker :first_worker + :client_id\n"
    "SELECT coalesce(array_agg(j.job_id), '{}') AS jobs, coalesce(array_agg(j.fence), '{}') AS fences"
    " FROM skipjack_work.claim(:worker, true, %1$s, 'gfx90a68', '%5$s', %2$d, 600, 1, 0, 0, 0)"
    " AS j \\gset\n"
    "SELECT skipjack_work.store_built(%1$s, ARRAY("
    "SELECT ROW(%1$s, h.job, 0, h.fence, 'clang 15.0.6', '{2,2}', '{0,0,0,1}', '{\"%3$s,%3$s\","
    "\"%3$s,%4$s\"}', '{15,15}', '{NULL,NULL}', '{0.5,0.5}', 3, 0, 2, 1)::rounds"
    " FROM unnest(:jobs::bigint[], :fences::bigint[]) AS h(job, fence)));\n"
    "SELECT coalesce(array_agg(j.job_id), '{}') AS jobs, coalesce(array_agg(j.fence), '{}') AS fences"
    " FROM skipjack_work.claim(:worker, false, %1$s, 'gfx90a68', '%5$s', %2$d, 600, 1, 0, 0, 0)"
    " AS j \\gset\n"
    "SELECT skipjack_work.store_rounds(%1$s, ARRAY("
    "SELECT ROW(%1$s, h.job, 0, false, h.fence, 'clang 15.0.6', 0, '{0,8}', '{NULL,differs}', '{10,0}',"
    " '{1.8e6,0}', '{2e6,0}', '{0.01,0}', '{0.3,0}', '{1.5,0}', 2, 0, 1.5, NULL,"
    " NULL, NULL, NULL, NULL)::outcomes"
    " FROM unnest(:jobs::bigint[], :fences::bigint[]) AS h(job, fence)), ARRAY("
    "SELECT ROW(%1$s, h.job, 0, '{0,0}', '0,0', '%3$s,%3$s', 'clang 15.0.6', 10, 1.8e6, 2e6, 0.01, 0.3, 0.5, 1.5,"
    " 4096, 1e9, true, NULL, NULL, NULL, NULL, false)::results FROM unnest(:jobs::bigint[]) AS h(job)),"
    " ARRAY(SELECT false FROM unnest(:jobs::bigint[])),"
    " ARRAY(SELECT 0.1 FROM unnest(:jobs::bigint[]))::double precision[]);\n";

static char *make_script(int64_t campaign, int batch)
{
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)campaign);
    g_autofree char *key = g_strdup_printf("%064d", 0);
    g_autofree char *other = g_strdup_printf("%064d", 1);
    g_autofree char *list = g_strjoinv("\", \"", (char **)(gpointer)bench_carried);
    /* pgbench takes a colon as the begin of a variable's name, so colons are written as \u003a. */
    g_auto(GStrv) parts = g_strsplit(list, ":", -1);
    g_autofree char *words = g_strjoinv("\\u003a", parts);
    g_autofree char *carried = g_strdup_printf("[\"%s\"]", words);
    return g_strdup_printf(script_format, id, batch, key, other, carried);
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
    const char *argv[] = {
        program, "-n", "-M",       "prepared", "-c", client_text,      "-j", "2", "-t",
        turns,   "-D", first_text, "-f",       path, scratch_db_url(), NULL};
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
    for (int i = 0; i < clients; i++)
        g_assert_true(store_worker_ended(store, first + i, NULL));
    g_autofree char *ended = g_strdup_printf("job_ends_%" G_GINT64_FORMAT, (gint64)campaign);
    return (double)bench_count(store, ended) / seconds;
}
