#include "tests/support/bench/bench_idle.h"

#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/bench/bench_server.h"
#include "tests/support/farm/scratch_db.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS  4
#define IDLE_SECONDS 30
#define WAKE_SECONDS 60 /* at most */
#define JOBS         20000
#define BATCH        8

/* The intervals of an idle agent (agent.c, agent_row.c): it claims after a random pause of 16 to 32
 * s, and sends a heartbeat every 15 s. */
#define PAUSE_US (32 * (gint64)G_USEC_PER_SEC)
#define BEAT_US  (15 * (gint64)G_USEC_PER_SEC)

#define CHANNEL "skipjack_worker_"

struct node {
    int64_t worker;
    gint64 claim_us, beat_us; /* when the node's next claim and heartbeat are due */
    gint64 works_us;          /* when the node got jobs; 0: it has none */
};

struct part {
    struct node *nodes;
    int count;
    gint64 queries;
    Store *store;
    GHashTable *by_channel; /* channel's name to struct node * (borrowed) */
};

static gint stop;

static int claim(struct part *part, struct node *node, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    struct claim claim = {.worker = node->worker,
                          .pool = pool,
                          .target = "gfx90a68",
                          .solvers = bench_carried,
                          .batch = BATCH,
                          .lease_seconds = 600};
    g_autoptr(GPtrArray) jobs = store_claim(part->store, &claim, &error);
    g_assert_no_error(error);
    part->queries++;
    return (int)jobs->len;
}

/* Claims from both pools, as an agent does after its pause or when it is notified; without jobs it
 * asks which campaigns refuse it, and why. */
static void look_for_work(struct part *part, struct node *node)
{
    if (node->works_us > 0)
        return;
    int jobs = claim(part, node, POOL_BUILD) + claim(part, node, POOL_EVAL);
    gint64 now = g_get_monotonic_time();
    node->works_us = jobs > 0 ? now : 0;
    if (jobs == 0) {
        g_autoptr(GPtrArray) refusals = store_list_refusals(part->store, node->worker, 0, NULL);
        g_assert_nonnull(refusals);
        part->queries++;
    }
    node->claim_us = now + PAUSE_US / 2 + (gint64)(g_random_double() * (double)PAUSE_US / 2);
}

static void do_what_is_due(struct part *part)
{
    gint64 now = g_get_monotonic_time();
    for (int i = 0; i < part->count; i++) {
        struct node *node = &part->nodes[i];
        if (node->claim_us <= now)
            look_for_work(part, node);
        if (node->beat_us > now)
            continue;
        store_heartbeat(part->store, node->worker, NULL);
        part->queries++;
        node->beat_us = now + BEAT_US;
    }
}

static void answer_the_wakes(struct part *part)
{
    struct pollfd ready = {.fd = store_socket(part->store), .events = POLLIN};
    PGnotify *notice;
    poll(&ready, 1, 5);
    PQconsumeInput(part->store->connection);
    while ((notice = PQnotifies(part->store->connection)) != NULL) {
        look_for_work(part, g_hash_table_lookup(part->by_channel, notice->relname));
        PQfreemem(notice);
    }
}

static gpointer live(gpointer data)
{
    struct part *part = data;
    while (!g_atomic_int_get(&stop)) {
        do_what_is_due(part);
        answer_the_wakes(part);
    }
    return NULL;
}

static void part_init(struct part *part, struct node *nodes, int count)
{
    gint64 now = g_get_monotonic_time();
    *part = (struct part){.nodes = nodes, .count = count};
    part->store = store_open(scratch_db_url(), NULL);
    part->by_channel = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int i = 0; i < count; i++) {
        struct node *node = &nodes[i];
        g_autofree char *process = g_strdup_printf("idle %p %d", (void *)part, i);
        struct worker_info info = {.node = "idle", .process = process, .target = "gfx90a68"};
        g_assert_true(store_register_worker(part->store, &info, &node->worker, NULL));
        g_assert_true(store_listen(part->store, node->worker, NULL));
        g_hash_table_insert(part->by_channel,
                            g_strdup_printf(CHANNEL "%" G_GINT64_FORMAT, (gint64)node->worker),
                            node);
        look_for_work(part, node);
        g_assert_cmpint(node->works_us, ==, 0);
        node->claim_us = now + (gint64)(g_random_double() * (double)PAUSE_US * 3 / 4);
        node->beat_us = now + (gint64)(g_random_double() * (double)BEAT_US);
    }
    part->queries = 0;
}

static void part_clear(struct part *part)
{
    store_close(part->store);
    g_hash_table_unref(part->by_channel);
}

static int at_work(const struct node *nodes, int count)
{
    int working = 0;
    for (int i = 0; i < count; i++)
        working += nodes[i].works_us > 0;
    return working;
}

static int compare_times(gconstpointer a, gconstpointer b)
{
    gint64 left = ((const struct node *)a)->works_us, right = ((const struct node *)b)->works_us;
    return (left > right) - (left < right);
}

static void print_wakes(struct node *nodes, int count, gint64 since)
{
    int working = at_work(nodes, count);
    qsort(nodes, (size_t)count, sizeof *nodes, compare_times);
    /* A node may get jobs before this program learns that the campaign was created: its time then
     * counts as the begin. */
    if (working > 0)
        since = MIN(since, nodes[count - working].works_us);
    printf("a campaign appears; nodes at work after:");
    for (int n = 1; n <= working; n *= 10)
        printf(" %d: %.2f s", n,
               (double)(nodes[count - working + n - 1].works_us - since) / G_USEC_PER_SEC);
    printf("; at the end %d of %d\n", working, count);
}

static void measure(struct part *parts, int nodes)
{
    double cpu = bench_server_cpu_seconds();
    gint64 queries = 0;
    g_usleep((gulong)IDLE_SECONDS * G_USEC_PER_SEC);
    for (int i = 0; i < CONNECTIONS; i++)
        queries += parts[i].queries;
    cpu = bench_server_cpu_seconds() - cpu;
    printf(
        "%.1f queries/s, %.2f %% of one processor (looking each second: %d queries/s and more)\n",
        (double)queries / IDLE_SECONDS, cpu / IDLE_SECONDS * 100, 2 * nodes);
}

void bench_idle(Store *store, int nodes)
{
    struct part parts[CONNECTIONS];
    GThread *threads[CONNECTIONS];
    struct node *all = g_new0(struct node, (gsize)nodes);
    int each = nodes / CONNECTIONS;
    printf("\n%d idle nodes, both pools, simulated over %d connections\n", each * CONNECTIONS,
           CONNECTIONS);
    g_atomic_int_set(&stop, 0);
    for (int i = 0; i < CONNECTIONS; i++)
        part_init(&parts[i], &all[i * each], each);
    for (int i = 0; i < CONNECTIONS; i++)
        threads[i] = g_thread_new("idle", live, &parts[i]);
    measure(parts, each * CONNECTIONS);
    bench_campaign(store, JOBS);
    gint64 since = g_get_monotonic_time();
    while (at_work(all, each * CONNECTIONS) < each * CONNECTIONS &&
           g_get_monotonic_time() - since < (gint64)WAKE_SECONDS * G_USEC_PER_SEC)
        g_usleep(10000);
    g_atomic_int_set(&stop, 1);
    for (int i = 0; i < CONNECTIONS; i++) {
        g_thread_join(threads[i]);
        part_clear(&parts[i]);
    }
    print_wakes(all, each * CONNECTIONS, since);
    g_free(all);
}
