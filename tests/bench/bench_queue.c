/*
 * The queue under load, on a durable embedded PostgreSQL: one campaign of a
 * million jobs, each claimed for building, stored as built, claimed again and
 * stored as evaluated with a result, in batches, by 1, 8, 64 and 256 simulated
 * nodes after one another; then a campaign with a snapshot held open over it.
 * Beside it pgbench runs the same statements bare: what the server alone does.
 * At the end a thousand nodes that find nothing, and what wakes them.
 *
 * Code objects are put and got, in the database and in an S3 server, and a job
 * of a large space is tried to the end.
 *
 * usage: bench_queue [JOBS]   of the first campaign, by default 1000000
 *        bench_queue PART     one part alone: idle, blobs, retention, peer, snapshot
 *
 * A node is a thread with a connection of its own, as an agent's data lane.
 */
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/bench/bench_blobs.h"
#include "tests/support/bench/bench_idle.h"
#include "tests/support/bench/bench_server.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define DEFAULT_JOBS  "1000000"
#define BATCH         50
#define SNAPSHOT_JOBS 200000
#define FLOOR_JOBS    100000
#define IDLE_NODES    1000
#define SPACE         9000 /* configs */
/* PostgreSQL plans a statement five times before it decides to keep a plan. */
#define WARM_BATCHES  6
#define WARM_BATCH    5
#define CONNECTIONS   20

/* ---- a node ---- */

enum call { CLAIM_BUILD, STORE_BUILT, CLAIM_EVAL, STORE_ROUNDS, CALLS };

struct node {
    struct crowd *crowd;
    /* closed after the server's processor time is read, so that closing does not count */
    Store *store;
    int64_t worker;
    int jobs;               /* jobs evaluated since all nodes were ready */
    GArray *seconds[CALLS]; /* of double: seconds of each call of the kind */
};

/* Nodes that work at the same time. They begin when all are connected and, with `warm`, when each
 * has made each call so often that the server has fixed its plans. */
struct crowd {
    struct node *nodes;
    GThread **threads;
    int64_t campaign;
    int count;
    bool warm;
    gint ready, go;
    gint quota; /* jobs that all nodes together may still evaluate */
    gint64 started;
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
    /* A time that is long enough for the largest problem too: each job has eight channels
     * more than the one before. */
    farm_evaluate(round, 2e6 + (double)(job->id % 100) / 100);
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

static GPtrArray *claim(const struct node *node, enum pool pool, int batch)
{
    g_autoptr(GError) error = NULL;
    struct claim claim = {.worker = node->worker,
                          .pool = pool,
                          .campaign = node->crowd->campaign,
                          .target = "gfx90a68",
                          .solvers = bench_carried,
                          .batch = batch,
                          .lease_seconds = 600};
    GPtrArray *jobs = store_claim(node->store, &claim, &error);
    g_assert_no_error(error);
    return jobs;
}

/* Takes a batch of jobs through one pool; returns how many. */
static int work_in_pool(struct node *node, enum pool pool, int batch)
{
    gint64 at = g_get_monotonic_time();
    g_autoptr(GPtrArray) jobs = claim(node, pool, batch);
    at = note(node, pool == POOL_BUILD ? CLAIM_BUILD : CLAIM_EVAL, at);
    if (jobs->len == 0)
        return 0;
    hand_in(node->store, jobs, pool == POOL_EVAL);
    note(node, pool == POOL_BUILD ? STORE_BUILT : STORE_ROUNDS, at);
    return (int)jobs->len;
}

static void get_ready(struct node *node)
{
    struct crowd *crowd = node->crowd;
    for (int i = 0; crowd->warm && i < WARM_BATCHES; i++)
        for (enum pool pool = POOL_BUILD; pool <= POOL_EVAL; pool++)
            work_in_pool(node, pool, WARM_BATCH);
    for (int c = 0; c < CALLS; c++)
        g_array_set_size(node->seconds[c], 0);
    g_atomic_int_inc(&crowd->ready);
    while (!g_atomic_int_get(&crowd->go))
        g_usleep(1000);
}

static gpointer work(gpointer data)
{
    struct node *node = data;
    gint *quota = &node->crowd->quota;
    node->store = store_open(scratch_db_url(), NULL);
    g_assert_nonnull(node->store);
    get_ready(node);
    for (bool idle = false; !idle && g_atomic_int_get(quota) > 0;) {
        int built = work_in_pool(node, POOL_BUILD, BATCH);
        int evaluated = work_in_pool(node, POOL_EVAL, BATCH);
        node->jobs += evaluated;
        g_atomic_int_add(quota, -evaluated);
        idle = built + evaluated == 0;
    }
    return NULL;
}

/* ---- many nodes ---- */

static void node_init(struct node *node, struct crowd *crowd, Store *store, int number)
{
    g_autofree char *process = g_strdup_printf("p%d", number);
    struct worker_info info = {.node = "bench", .process = process, .target = "gfx90a68"};
    *node = (struct node){.crowd = crowd};
    for (int c = 0; c < CALLS; c++)
        node->seconds[c] = g_array_new(FALSE, FALSE, sizeof(double));
    g_assert_true(store_register_worker(store, &info, &node->worker, NULL));
}

/* Starts the nodes; on return all are ready and wait for crowd_wait(). */
static void crowd_start(struct crowd *crowd, Store *store, int64_t campaign, int count, bool warm)
{
    *crowd = (struct crowd){.nodes = g_new0(struct node, (gsize)count),
                            .threads = g_new0(GThread *, (gsize)count),
                            .campaign = campaign,
                            .count = count,
                            .warm = warm};
    for (int i = 0; i < count; i++)
        node_init(&crowd->nodes[i], crowd, store, i);
    for (int i = 0; i < count; i++)
        crowd->threads[i] = g_thread_new("node", work, &crowd->nodes[i]);
    while (g_atomic_int_get(&crowd->ready) < count)
        g_usleep(1000);
}

/* Lets the nodes evaluate `quota` jobs; returns how many they did, and the time in *seconds. */
static int crowd_wait(struct crowd *crowd, int quota, double *seconds)
{
    int jobs = 0;
    g_atomic_int_set(&crowd->quota, quota);
    crowd->started = g_get_monotonic_time();
    g_atomic_int_set(&crowd->go, 1);
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

/* The time of a call in ms that the fraction `share` of all nodes' calls did not exceed. */
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
    for (int i = 0; i < crowd->count; i++) {
        /* An ended node that is registered as idle would be notified in place of others. */
        g_assert_true(store_worker_ended(crowd->nodes[i].store, crowd->nodes[i].worker, NULL));
        store_close(crowd->nodes[i].store);
        for (int c = 0; c < CALLS; c++)
            g_array_unref(crowd->nodes[i].seconds[c]);
    }
    g_free(crowd->nodes);
    g_free(crowd->threads);
}

/* Processor time in seconds of this program. */
static double own_cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / G_USEC_PER_SEC;
}

static void measure(Store *store, int64_t campaign, int nodes, int jobs)
{
    struct crowd crowd;
    double seconds;
    crowd_start(&crowd, store, campaign, nodes, true);
    int connections = bench_connections(store);
    int64_t wal = bench_wal_bytes(store);
    double server = bench_server_cpu_seconds(), own = own_cpu_seconds();
    int done = crowd_wait(&crowd, jobs, &seconds);
    wal = bench_wal_bytes(store) - wal;
    server = bench_server_cpu_seconds() - server;
    own = own_cpu_seconds() - own;
    printf("%5d %5d %7d %7.0f %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f %6.0f %6.0f %6.0f\n", nodes,
           connections, done, done / seconds, latency(&crowd, CLAIM_BUILD, 0.5),
           latency(&crowd, CLAIM_BUILD, 0.99), latency(&crowd, STORE_BUILT, 0.5),
           latency(&crowd, CLAIM_EVAL, 0.5), latency(&crowd, STORE_ROUNDS, 0.5),
           latency(&crowd, STORE_ROUNDS, 0.99), (double)wal / done, server / done * 1e6,
           own / done * 1e6);
    fflush(stdout);
    crowd_clear(&crowd);
}

/* The server's processor time for a new connection, until the connection's caches are filled. */
static void measure_connections(Store *store, int64_t campaign)
{
    struct crowd crowd;
    double seconds, server = bench_server_cpu_seconds();
    crowd_start(&crowd, store, campaign, CONNECTIONS, true);
    server = bench_server_cpu_seconds() - server;
    crowd_wait(&crowd, 0, &seconds);
    crowd_clear(&crowd);
    printf("a connection with its first %d small batches costs the server %.0f ms, once\n",
           WARM_BATCHES, server / CONNECTIONS * 1e3);
}

static void measure_load(Store *store, int64_t campaign, int jobs)
{
    static const struct {
        int nodes;
        double share;
    } turns[] = {{1, 0.1}, {8, 0.3}, {64, 0.3}, {256, 0.25}};
    printf("\n%d jobs through both pools in batches of %d, durable commits; us: processor time\n",
           jobs, BATCH);
    printf("nodes conns    jobs  jobs/s  claim p99 ms  built  claim rounds p99 ms  WAL B server"
           " client\n"
           "                                ms            ms     ms     ms         a job us/job"
           " us/job\n");
    for (gsize i = 0; i < G_N_ELEMENTS(turns); i++)
        measure(store, campaign, turns[i].nodes, (int)(turns[i].share * jobs));
    measure_connections(store, campaign);
}

/* Drops the campaign, so that the idle nodes that are measured next find no job. Returns the
 * seconds that dropping took. */
static double drop(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    gint64 start = g_get_monotonic_time();
    store_change_campaign(store, campaign, "drop", &error);
    g_assert_no_error(error);
    return (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
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
        crowd_start(&crowd, store, campaign, 8, false);
        last = crowd_wait(&crowd, SNAPSHOT_JOBS / 10, &seconds) / seconds;
        first = tenth == 0 ? last : first;
        printf(" %.0f", last);
        fflush(stdout);
        crowd_clear(&crowd);
    }
    printf("\nthe end runs at %.2f of the beginning's rate (the goal: 0.5)\n", last / first);
    store_do(holder, NULL, "COMMIT", "");
    drop(store, campaign);
}

/* ---- growth of the database, and dropping ---- */

/* Bytes that each job and each problem adds to the database, with indexes. */
struct slopes {
    double job, problem, jobs_a_problem;
};

static struct slopes measure_slopes(Store *store, int jobs)
{
    static const char *const tables[] = {"jobs", "job_ends", "rounds", "outcomes", "results"};
    int64_t problems = bench_count(store, "problems");
    struct slopes slopes = {.problem =
                                (double)bench_table_bytes(store, "problems") / (double)problems,
                            .jobs_a_problem = (double)jobs / (double)problems};
    printf("\nbytes a job, with indexes:");
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
        double bytes = (double)bench_table_bytes(store, tables[i]) / jobs;
        printf(" %s %.0f", tables[i], bytes);
        slopes.job += bytes;
    }
    printf(", bundles %.1f\n", (double)bench_table_bytes(store, "bundles") / jobs);
    return slopes;
}

/* Prints the growth with two kernels for each job, as in this benchmark; the code of one of the two
 * is kept. */
static void print_growth(const struct slopes *slopes, const struct bench_kernels *kernels)
{
    printf(
        "\n    jobs    GB  problems    GB  kernels known      GB with code      GB (%.0f kB each)\n",
        kernels->bytes_with_code / 1024);
    for (double jobs = 1e6; jobs <= 1e9; jobs *= jobs < 1e7 ? 100 : 10) {
        double problems = jobs / slopes->jobs_a_problem;
        printf("%8.0e %5.0f %9.1e %5.1f %14.0e %7.0f %9.0e %7.0f\n", jobs, jobs * slopes->job / 1e9,
               problems, problems * slopes->problem / 1e9, jobs,
               jobs * kernels->bytes_without_code / 1e9, jobs,
               jobs * kernels->bytes_with_code / 1e9);
    }
}

/* ---- the same statements by pgbench ---- */

static void measure_floor(Store *store)
{
    struct crowd crowd;
    double seconds;
    int64_t bare = bench_campaign(store, FLOOR_JOBS);
    int64_t ours = bench_campaign(store, FLOOR_JOBS);
    printf("\n%d jobs by 8 clients: the same statements by pgbench, and by our store\n",
           FLOOR_JOBS);
    fflush(stdout);
    double server = bench_server_cpu_seconds();
    double floor_rate = bench_pgbench(store, bare, FLOOR_JOBS, BATCH, 8);
    double floor_server = bench_server_cpu_seconds() - server;
    crowd_start(&crowd, store, ours, 8, false);
    server = bench_server_cpu_seconds();
    double rate = crowd_wait(&crowd, FLOOR_JOBS, &seconds) / seconds;
    server = bench_server_cpu_seconds() - server;
    crowd_clear(&crowd);
    printf(
        "pgbench %.0f jobs/s, ours %.0f jobs/s: %.2f of it (the goal: 0.7); the server's time: %.0f"
        " and %.0f us a job\n",
        floor_rate, rate, rate / floor_rate, floor_server / FLOOR_JOBS * 1e6,
        server / FLOOR_JOBS * 1e6);
    drop(store, bare);
    drop(store, ours);
}

/* Measures only the named part; returns false if there is no part of that name. */
static bool measure_part(Store *store, const char *name)
{
    if (strcmp(name, "idle") == 0)
        bench_idle(store, IDLE_NODES);
    else if (strcmp(name, "blobs") == 0)
        bench_blobs(store);
    else if (strcmp(name, "retention") == 0)
        bench_retention(SPACE);
    else if (strcmp(name, "peer") == 0)
        measure_floor(store);
    else if (strcmp(name, "snapshot") == 0)
        measure_snapshot(store);
    else
        return false;
    return true;
}

static void measure_all(Store *store, int jobs)
{
    gint64 start = g_get_monotonic_time();
    int64_t campaign = bench_campaign(store, jobs);
    printf("planning %d jobs: %.1f s\n", jobs,
           (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC);
    fflush(stdout);
    measure_load(store, campaign, jobs);
    struct slopes slopes = measure_slopes(store, jobs);
    printf("dropping the campaign of %d jobs: %.3f s\n", jobs, drop(store, campaign));
    measure_floor(store);
    measure_snapshot(store);
    struct bench_kernels kernels = bench_retention(SPACE);
    print_growth(&slopes, &kernels);
    bench_blobs(store);
    bench_idle(store, IDLE_NODES);
    printf("\nall of it took %.0f s\n", (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    const char *wish = argc > 1 ? argv[1] : DEFAULT_JOBS;
    int jobs = atoi(wish);
    /* connections: those of ended nodes stay open for a moment beside those of the next */
    bench_server_prepare(600);
    g_autoptr(Store) store = scratch_store();
    if (argc <= 2 && jobs >= 100000 && jobs <= 100000000)
        measure_all(store, jobs);
    else if (argc != 2 || !measure_part(store, wish)) {
        fprintf(stderr, "usage: bench_queue [JOBS | idle | blobs | retention | peer | snapshot]\n"
                        "JOBS: 100000 to 100000000, by default " DEFAULT_JOBS "\n");
        return 2;
    }
    return 0;
}
