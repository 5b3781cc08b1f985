#include "tests/support/bench/bench_blobs.h"

#include "schema/blobs/blobs.h"
#include "schema/farm/upkeep.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/bench/bench_server.h"
#include "tests/support/doubles/object_server.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <stdio.h>
#include <string.h>

#define CLIENTS    8
#define OBJECTS    2000
#define CODE_BYTES 32768

/* Incompressible bytes, like compressed code; each number has its own bytes. */
static GBytes *code_of(int number, gsize size)
{
    guint8 *bytes = g_malloc(size);
    uint64_t state = (uint64_t)number * 0x9e3779b97f4a7c15u + 1;
    for (gsize i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = (guint8)state;
    }
    return g_bytes_new_take(bytes, size);
}

/* A kernel's key in the form of kernel_key(). */
static char *key_of(int number)
{
    g_autofree char *text = g_strdup_printf("kernel %d", number);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

static void put(Store *store, int number, gsize size)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *key = key_of(number);
    g_autoptr(GBytes) code = code_of(number, size);
    struct kernel_row row = {.key = key, .code = code};
    store_put_kernel(store, &row, &error);
    g_assert_no_error(error);
}

static void get(Store *store, int number)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *key = key_of(number);
    struct kernel_row *row = store_get_kernel(store, key, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_bytes_get_size(row->code), ==, CODE_BYTES);
    kernel_row_free(row);
}

/* ---- throughput ---- */

struct part {
    int first, count;
    bool gets;
};

static gpointer move_bytes(gpointer data)
{
    const struct part *part = data;
    g_autoptr(Store) store = store_open(scratch_db_url(), NULL);
    g_assert_nonnull(store);
    for (int i = part->first; i < part->first + part->count; i++) {
        if (part->gets)
            get(store, i);
        else
            put(store, i, CODE_BYTES);
    }
    return NULL;
}

/* Throughput of all clients together, in MB a second. */
static double rate(int first, bool gets)
{
    struct part parts[CLIENTS];
    GThread *threads[CLIENTS];
    gint64 start = g_get_monotonic_time();
    for (int i = 0; i < CLIENTS; i++) {
        parts[i] = (struct part){first + i * (OBJECTS / CLIENTS), OBJECTS / CLIENTS, gets};
        threads[i] = g_thread_new("code", move_bytes, &parts[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        g_thread_join(threads[i]);
    double seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    return (double)OBJECTS * CODE_BYTES / 1e6 / seconds;
}

static void measure_place(const char *name, int first)
{
    double cpu = bench_server_cpu_seconds();
    double puts = rate(first, false);
    double put_cpu = bench_server_cpu_seconds() - cpu;
    double gets = rate(first, true);
    double get_cpu = bench_server_cpu_seconds() - cpu - put_cpu;
    printf("%-12s %7.1f %6.0f %16.0f %8.1f %6.0f %16.0f\n", name, puts, puts * 1e6 / CODE_BYTES,
           put_cpu / OBJECTS * 1e6, gets, gets * 1e6 / CODE_BYTES, get_cpu / OBJECTS * 1e6);
    fflush(stdout);
}

void bench_blobs(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "bench");
    printf(
        "\n%d code objects of %d kB by %d clients: megabytes and objects a second, and PostgreSQL's\n"
        "microseconds an object; the S3 server is the tests' own, in memory on the same processors\n"
        "where        put MB/s  obj/s server us/object get MB/s  obj/s server us/object\n",
        OBJECTS, CODE_BYTES / 1024, CLIENTS);
    measure_place("PostgreSQL", 0);
    store_use_blob_place(store, url, &error);
    g_assert_no_error(error);
    measure_place("S3", OBJECTS);
    store_use_blob_place(store, BLOBS_IN_DATABASE, &error);
    g_assert_no_error(error);
}

/* ---- the rows that a job of a large space leaves behind ---- */

#define ROUND_CONFIGS  250
#define KERNEL_BYTES   16384
#define KEPT           5
#define FIRST_KERNEL   1000000
#define UPKEEP_CONFIGS 1000

static struct job *claim_one(Store *store, int64_t worker, int64_t campaign, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    struct claim claim = {.worker = worker,
                          .pool = pool,
                          .campaign = campaign,
                          .target = "gfx90a68",
                          .solvers = bench_carried,
                          .batch = 1,
                          .lease_seconds = 600};
    g_autoptr(GPtrArray) jobs = store_claim(store, &claim, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(jobs->len, ==, 1);
    return g_ptr_array_steal_index(jobs, 0);
}

/* Configs of six parameters; no two configs have the same kernel. */
static struct round *make_round(int number, int first_kernel)
{
    struct round *round = round_new(ROUND_CONFIGS);
    round->number = number;
    round->stack = g_strdup("clang 15.0.6; hip 5.2");
    for (int i = 0; i < ROUND_CONFIGS; i++) {
        round->configs[i].count = 6;
        for (int v = 0; v < 6; v++)
            round->configs[i].values[v] = (number * ROUND_CONFIGS + i) >> (2 * v) & 3;
        round->kernel_keys[i] = key_of(first_kernel + i);
        round->outcomes[i].build_seconds = 0.7 + g_random_double();
    }
    return round;
}

static void evaluate(struct round *round, struct kept kept[KEPT])
{
    for (int i = 0; i < ROUND_CONFIGS; i++) {
        /* so long that no time is refused as impossibly short */
        double ms = 1000 * (1 + g_random_double());
        round->outcomes[i] = (struct outcome){.failure = FAILURE_NONE,
                                              .n = 20,
                                              .min_ms = ms * 0.98,
                                              .median_ms = ms,
                                              .spread = g_random_double() / 100,
                                              .error = g_random_double(),
                                              .build_seconds = round->outcomes[i].build_seconds,
                                              .eval_seconds = 0.3 + g_random_double()};
    }
    for (int i = 0; i < KEPT; i++) {
        char text[CONFIG_TEXT_MAX];
        kept[i] =
            (struct kept){.config = round->configs[i],
                          .config_text = g_strdup(perf_config_format(&round->configs[i], text)),
                          .kernel_keys = round->kernel_keys[i],
                          .outcome = round->outcomes[i],
                          .flops = 1e9};
    }
}

static void hand_in_round(Store *store, int64_t worker, int64_t campaign, int number, bool more,
                          int first_kernel)
{
    g_autoptr(GError) error = NULL;
    struct kept kept[KEPT];
    struct job *job = claim_one(store, worker, campaign, POOL_BUILD);
    struct round *round = make_round(number, first_kernel);
    for (int i = 0; i < ROUND_CONFIGS; i++)
        put(store, first_kernel + i, KERNEL_BYTES);
    store_built(store, job, round, &error);
    g_assert_no_error(error);
    job_free(job);
    job = claim_one(store, worker, campaign, POOL_EVAL);
    evaluate(round, kept);
    store_round(store, job, round, kept, KEPT, more, 1, &error);
    g_assert_no_error(error);
    for (int i = 0; i < KEPT; i++)
        g_free(kept[i].config_text);
    job_free(job);
    round_free(round);
}

/* Lets upkeep drop code that no job needs, and vacuums, as autovacuum would later, so that its
 * space is used again. */
static int64_t collect(Store *store)
{
    g_autoptr(GError) error = NULL;
    struct upkeep_options options = UPKEEP_DEFAULTS;
    struct upkeep_report report;
    options.code_hours = 0;
    upkeep_run(store, &options, &report, &error);
    g_assert_no_error(error);
    store_do(store, &error, "VACUUM kernels", "");
    g_assert_no_error(error);
    return report.parts[UPKEEP_CODE].count;
}

/* Runs the job to its end; returns the most bytes that the table of kernels had meanwhile. */
static int64_t try_all(Store *store, int64_t worker, int configs, bool meanwhile, int first_kernel)
{
    int64_t campaign = bench_campaign(store, 1);
    int64_t before = bench_table_bytes(store, "kernels");
    for (int done = 0; done < configs; done += ROUND_CONFIGS) {
        hand_in_round(store, worker, campaign, done / ROUND_CONFIGS, done + ROUND_CONFIGS < configs,
                      first_kernel + done);
        if (meanwhile && (done + ROUND_CONFIGS) % UPKEEP_CONFIGS == 0)
            collect(store);
    }
    return bench_table_bytes(store, "kernels") - before;
}

/* A store with synchronous commits off, which saves time: only sizes are measured here. */
static Store *open_store(void)
{
    g_autoptr(GError) error = NULL;
    Store *store = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    store_do(store, &error, "SET synchronous_commit = off", "");
    g_assert_no_error(error);
    return store;
}

static void vacuum_kernels(Store *store)
{
    g_autoptr(GError) error = NULL;
    store_do(store, &error, "VACUUM FULL kernels", "");
    g_assert_no_error(error);
}

struct bench_kernels bench_retention(int configs)
{
    static const char *const tables[] = {"rounds", "outcomes", "results"};
    g_autoptr(Store) store = open_store();
    int64_t worker, before[G_N_ELEMENTS(tables)];
    struct worker_info info = {.node = "bench", .process = "retention", .target = "gfx90a68"};
    g_assert_true(store_register_worker(store, &info, &worker, NULL));
    collect(store);
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        before[i] = bench_table_bytes(store, tables[i]);
    int64_t collected = try_all(store, worker, configs, true, FIRST_KERNEL);
    printf("\none job of %d configs, each a kernel of %d kB; bytes a config:", configs,
           KERNEL_BYTES / 1024);
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        printf(" %s %.0f", tables[i],
               (double)(bench_table_bytes(store, tables[i]) - before[i]) / configs);
    int64_t all = try_all(store, worker, configs, false, FIRST_KERNEL + configs);
    int64_t freed = collect(store);
    vacuum_kernels(store);
    g_assert_true(store_worker_ended(store, worker, NULL));
    double rest = (double)bench_table_bytes(store, "kernels") / bench_count(store, "kernels");
    printf(
        "\nits kernels take %.1f MB until they are collected, %.1f MB at most with upkeep every %d"
        " configs;\nof %d code objects %" G_GINT64_FORMAT " went: the %d kept results' stay, and"
        " %.0f bytes of each of the others,\nuntil they are forgotten\n",
        (double)all / 1e6, (double)collected / 1e6, UPKEEP_CONFIGS, configs, (gint64)freed, KEPT,
        rest);
    return (struct bench_kernels){(double)all / configs, rest};
}
