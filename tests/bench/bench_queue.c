/*
 * The queue under load, on a durable embedded PostgreSQL: one campaign of a
 * million jobs, each claimed for building, stored as built, claimed again and
 * stored as evaluated with a result, in batches, by 1, 8, 64 and 256 simulated
 * nodes after one another; then a campaign with a snapshot held open over it.
 * Beside it pgbench runs the same statements bare: what the server alone does.
 * At the end a thousand nodes that find nothing, and what wakes them.
 *
 * usage: bench_queue [JOBS]   of the first campaign, by default 1000000;
 *        bench_queue idle     the idle nodes alone
 *
 * A node is a thread with a connection of its own, as an agent's data lane.
 */
#include "schema/store_private.h"
#include "tests/support/bench_idle.h"
#include "tests/support/bench_server.h"
#include "tests/support/queue_farm.h"
#include "tests/support/scratch_db.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS          1000000
#define BATCH         50
#define SNAPSHOT_JOBS 200000
#define FLOOR_JOBS    100000
#define IDLE_NODES    1000

/* ---- a node ---- */

enum call { CLAIM_BUILD, STORE_BUILT, CLAIM_EVAL, STORE_ROUNDS, CALLS };

struct node {
    const char *url;
    int64_t worker, campaign;
    gint *quota; /* jobs that may still be evaluated, all nodes together; NULL for no end */
    int jobs;    /* evaluated */
    GArray *seconds[CALLS]; /* double, of each call */
};

static gint64 note(struct node *node, enum call call, gint64 since)
{
    gint64 now = g_get_monotonic_time();
    double seconds = (double)(now - since) / G_USEC_PER_SEC;
    g_array_append_val(node->seconds[call], seconds);
    return now;
}

static void fill(struct handed *item, const struct job *job, struct kept *kept, bool evaluated)
{
    struct round *round = farm_make_round(0);
    *item = (struct handed){.job = job, .round = round, .seconds = 0.1};
    if (!evaluated)
        return;
    farm_evaluate(round, 2.0 + (double)(job->id % 100) / 100);
    *kept = farm_make_kept(round);
    item->kept = kept;
    item->kept_count = 1;
}

static void hand_in(Store *store, const GPtrArray *jobs, bool evaluated)
{
    struct handed items[BATCH];
    struct kept kept[BATCH];
    GError *refused[BATCH] = {NULL};
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < jobs->len; i++)
        fill(&items[i], jobs->pdata[i], &kept[i], evaluated);
    if (evaluated)
        store_round_many(store, items, (int)jobs->len, refused, &error);
    else
        store_built_many(store, items, (int)jobs->len, refused, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < jobs->len; i++) {
        g_assert_no_error(refused[i]);
        round_free((struct round *)items[i].round);
    }
}

static GPtrArray *claim(Store *store, const struct node *node, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    struct claim claim = {.worker = node->worker,
                          .pool = pool,
                          .campaign = node->campaign,
                          .target = "gfx90a68",
                          .solvers = bench_carried,
                          .batch = BATCH,
                          .lease_seconds = 600};
    GPtrArray *jobs = store_claim(store, &claim, &error);
    g_assert_no_error(error);
    return jobs;
}

static gpointer work(gpointer data)
{
    struct node *node = data;
    g_autoptr(Store) store = store_open(node->url, NULL);
    bool idle = false;
    while (!idle && g_atomic_int_get(node->quota) > 0) {
        idle = true;
        for (enum pool pool = POOL_BUILD; pool <= POOL_EVAL; pool++) {
            gint64 at = g_get_monotonic_time();
            g_autoptr(GPtrArray) jobs = claim(store, node, pool);
            at = note(node, pool == POOL_BUILD ? CLAIM_BUILD : CLAIM_EVAL, at);
            if (jobs->len == 0)
                continue;
            idle = false;
            hand_in(store, jobs, pool == POOL_EVAL);
            note(node, pool == POOL_BUILD ? STORE_BUILT : STORE_ROUNDS, at);
            if (pool == POOL_EVAL) {
                node->jobs += (int)jobs->len;
                g_atomic_int_add(node->quota, -(gint)jobs->len);
            }
        }
    }
    return NULL;
}

/* ---- many nodes ---- */

struct crowd {
    struct node *nodes;
    GThread **threads;
    int count;
    gint quota;
    gint64 started;
};

static void crowd_start(struct crowd *crowd, Store *store, int64_t campaign, int count, int jobs)
{
    *crowd = (struct crowd){.nodes = g_new0(struct node, (gsize)count),
                            .threads = g_new0(GThread *, (gsize)count),
                            .count = count,
                            .quota = jobs};
    for (int i = 0; i < count; i++) {
        g_autofree char *process = g_strdup_printf("p%d", i);
        struct worker_info info = {.node = "bench", .process = process, .target = "gfx90a68"};
        struct node *node = &crowd->nodes[i];
        *node =
            (struct node){.url = scratch_db_url(), .campaign = campaign, .quota = &crowd->quota};
        for (int c = 0; c < CALLS; c++)
            node->seconds[c] = g_array_new(FALSE, FALSE, sizeof(double));
        g_assert_true(store_register_worker(store, &info, &node->worker, NULL));
    }
    crowd->started = g_get_monotonic_time();
    for (int i = 0; i < count; i++)
        crowd->threads[i] = g_thread_new("node", work, &crowd->nodes[i]);
}

/* Jobs done, and the seconds that took. */
static int crowd_wait(struct crowd *crowd, double *seconds)
{
    int jobs = 0;
    for (int i = 0; i < crowd->count; i++) {
        g_thread_join(crowd->threads[i]);
        jobs += crowd->nodes[i].jobs;
    }
    *seconds = (double)(g_get_monotonic_time() - crowd->started) / G_USEC_PER_SEC;
    return jobs;
}

static int compare_seconds(gconstpointer a, gconstpointer b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Milliseconds of a call, at a share of all nodes' calls. */
static double latency(const struct crowd *crowd, enum call call, double share)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
    for (int i = 0; i < crowd->count; i++)
        g_array_append_vals(all, crowd->nodes[i].seconds[call]->data,
                            crowd->nodes[i].seconds[call]->len);
    if (all->len == 0)
        return NAN;
    g_array_sort(all, compare_seconds);
    return g_array_index(all, double, (guint)(share * (all->len - 1))) * 1e3;
}

static void crowd_clear(struct crowd *crowd)
{
    for (int i = 0; i < crowd->count; i++)
        for (int c = 0; c < CALLS; c++)
            g_array_unref(crowd->nodes[i].seconds[c]);
    g_free(crowd->nodes);
    g_free(crowd->threads);
}

static void measure(Store *store, int64_t campaign, int nodes, int jobs)
{
    struct crowd crowd;
    double seconds;
    int64_t wal = bench_wal_bytes(store);
    double cpu = bench_server_cpu_seconds();
    crowd_start(&crowd, store, campaign, nodes, jobs);
    int done = crowd_wait(&crowd, &seconds);
    wal = bench_wal_bytes(store) - wal;
    cpu = bench_server_cpu_seconds() - cpu;
    printf("%5d %8d %8.0f %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f %8.0f %8.0f\n", nodes, done,
           done / seconds, latency(&crowd, CLAIM_BUILD, 0.5), latency(&crowd, CLAIM_BUILD, 0.99),
           latency(&crowd, STORE_BUILT, 0.5), latency(&crowd, CLAIM_EVAL, 0.5),
           latency(&crowd, STORE_ROUNDS, 0.5), latency(&crowd, STORE_ROUNDS, 0.99),
           (double)wal / done, cpu / done * 1e6);
    fflush(stdout);
    crowd_clear(&crowd);
}

static void measure_load(Store *store, int64_t campaign, int jobs)
{
    static const struct {
        int nodes;
        double share;
    } turns[] = {{1, 0.1}, {8, 0.3}, {64, 0.3}, {256, 0.3}};
    printf("\n%d jobs through both pools in batches of %d, durable commits\n", jobs, BATCH);
    printf("nodes     jobs   jobs/s   claim  p99 ms   built   claim  rounds  p99 ms    WAL B"
           "   server\n"
           "                          ms                 ms      ms      ms             a job"
           " us a job\n");
    for (gsize i = 0; i < G_N_ELEMENTS(turns); i++)
        measure(store, campaign, turns[i].nodes, (int)(turns[i].share * jobs));
}

/* ---- with a snapshot held open ---- */

static void measure_snapshot(Store *store)
{
    struct crowd crowd;
    double seconds;
    int64_t campaign = bench_campaign(store, SNAPSHOT_JOBS);
    g_autoptr(Store) holder = store_open(scratch_db_url(), NULL);
    store_do(holder, NULL, "SET idle_in_transaction_session_timeout = 0", "");
    store_do(holder, NULL, "BEGIN ISOLATION LEVEL REPEATABLE READ", "");
    store_do(holder, NULL, "SELECT count(*) FROM bundles", "");
    printf("\na snapshot held open over %d jobs, 8 nodes, a tenth of them at a time\njobs/s:",
           SNAPSHOT_JOBS);
    double first = 0, last = 0;
    for (int tenth = 0; tenth < 10; tenth++) {
        crowd_start(&crowd, store, campaign, 8, SNAPSHOT_JOBS / 10);
        last = crowd_wait(&crowd, &seconds) / seconds;
        first = tenth == 0 ? last : first;
        printf(" %.0f", last);
        fflush(stdout);
        crowd_clear(&crowd);
    }
    printf("\nthe end runs at %.2f of the beginning's rate (the goal: 0.5)\n", last / first);
    store_do(holder, NULL, "COMMIT", "");
}

/* ---- how it grows, and goes ---- */

static void measure_growth(Store *store, int jobs)
{
    static const char *const tables[] = {"jobs", "job_ends", "rounds", "outcomes", "results"};
    double total = 0;
    printf("\nbytes a job, with indexes:");
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
        double bytes = (double)bench_table_bytes(store, tables[i]) / jobs;
        printf(" %s %.0f", tables[i], bytes);
        total += bytes;
    }
    printf(", bundles %.1f\n", (double)bench_table_bytes(store, "bundles") / jobs);
    for (double size = 1e6; size <= 1e9; size *= size < 1e7 ? 100 : 10)
        printf("%.0e jobs take %.1f GB\n", size, size * total / 1e9);
}

static void measure_drop(Store *store, int64_t campaign, int jobs)
{
    g_autoptr(GError) error = NULL;
    gint64 start = g_get_monotonic_time();
    store_change_campaign(store, campaign, "drop", &error);
    g_assert_no_error(error);
    printf("dropping the campaign of %d jobs: %.3f s\n", jobs,
           (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC);
}

/* ---- the floor ---- */

static void measure_floor(Store *store)
{
    struct crowd crowd;
    double seconds;
    int64_t bare = bench_campaign(store, FLOOR_JOBS);
    int64_t ours = bench_campaign(store, FLOOR_JOBS);
    printf("\n%d jobs by 8 clients: the same statements by pgbench, and by our store\n",
           FLOOR_JOBS);
    fflush(stdout);
    double floor_rate = bench_pgbench(store, bare, FLOOR_JOBS, BATCH, 8);
    crowd_start(&crowd, store, ours, 8, FLOOR_JOBS);
    double rate = crowd_wait(&crowd, &seconds) / seconds;
    crowd_clear(&crowd);
    printf("pgbench %.0f jobs/s, ours %.0f jobs/s: %.2f of it (the goal: 0.7)\n", floor_rate, rate,
           rate / floor_rate);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    bool idle_only = argc > 1 && strcmp(argv[1], "idle") == 0;
    int jobs = argc > 1 && !idle_only ? atoi(argv[1]) : JOBS;
    if (jobs < 1000 || jobs > 100000000) {
        fprintf(stderr, "usage: bench_queue [JOBS | idle]   1000 to 100000000\n");
        return 2;
    }
    bench_server_prepare(300);
    g_autoptr(Store) store = scratch_store();
    if (idle_only) {
        bench_idle(store, IDLE_NODES);
        return 0;
    }
    gint64 start = g_get_monotonic_time();
    int64_t campaign = bench_campaign(store, jobs);
    printf("planning %d jobs: %.1f s\n", jobs,
           (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC);
    measure_load(store, campaign, jobs);
    measure_growth(store, jobs);
    measure_drop(store, campaign, jobs);
    measure_floor(store);
    measure_snapshot(store);
    bench_idle(store, IDLE_NODES);
    return 0;
}
