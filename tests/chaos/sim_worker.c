/*
 * A simulated worker: claims jobs from both pools in batches and hands in what sim_solver.h computes,
 * over and over, until it is killed. It sends heartbeats over a connection of its own, as an agent does.
 *
 * usage: sim_worker URL NODE SEED PACE-MS LEASE-SECONDS LOG
 *
 * A batch is held for about PACE-MS. LOG gets a line for each evaluated round that the database
 * acknowledged ("stored JOB ROUND FENCE"), each that it refused ("refused JOB ROUND FENCE") and each
 * error other than a refusal or an unreachable server ("error WORDS").
 */
#include "schema/store/store.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/chaos/sim_solver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_MOST 20
#define BEAT_MS    500
#define PAUSE_MS   100

struct worker {
    const char *url, *node;
    double lease_seconds;
    int pace_ms, log_fd;
    int64_t id;
    GRand *random;
};

/* Each line is one write, so that lines survive a kill. */
static void note(const struct worker *worker, const char *line)
{
    g_autofree char *text = g_strconcat(line, "\n", NULL);
    g_strdelimit(text, "\n", ' ');
    text[strlen(text) - 1] = '\n';
    if (write(worker->log_fd, text, strlen(text)) < 0)
        g_error("cannot write the log: %s", g_strerror(errno));
}

static void note_error(const struct worker *worker, const GError *error)
{
    g_autofree char *line = g_strconcat("error ", error->message, NULL);
    if (!g_error_matches(error, STORE_ERROR, STORE_ERROR_CONNECTION))
        note(worker, line);
}

static void wait_again(const struct worker *worker, GError **error)
{
    note_error(worker, *error);
    g_clear_error(error);
    g_usleep(PAUSE_MS * 1000);
}

static Store *open_store(const struct worker *worker)
{
    for (;;) {
        g_autoptr(GError) error = NULL;
        Store *store = store_open(worker->url, &error);
        if (store != NULL)
            return store;
        wait_again(worker, &error);
    }
}

static gpointer beat(gpointer data)
{
    const struct worker *worker = data;
    g_autoptr(Store) store = open_store(worker);
    for (;;) {
        g_autoptr(GError) error = NULL;
        if (!store_heartbeat(store, worker->id, &error))
            note_error(worker, error);
        g_usleep(BEAT_MS * 1000);
    }
    return NULL;
}

struct batch {
    GPtrArray *jobs;
    struct handed items[BATCH_MOST];
    struct kept kept[BATCH_MOST][SIM_KEPT];
    struct sim_texts texts[BATCH_MOST];
    GError *refused[BATCH_MOST];
};

static void fill_batch(struct batch *batch, enum pool pool)
{
    for (guint i = 0; i < batch->jobs->len; i++) {
        const struct job *job = batch->jobs->pdata[i];
        struct handed *item = &batch->items[i];
        *item = (struct handed){.job = job, .kept = batch->kept[i], .seconds = 0.125};
        item->round = pool == POOL_BUILD ? sim_build(job) : sim_evaluate(job);
        if (pool == POOL_BUILD)
            continue;
        item->kept_count = sim_keep(job, batch->kept[i], &batch->texts[i]);
        item->more = sim_has_more(job);
    }
}

static void clear_batch(struct batch *batch, enum pool pool)
{
    for (guint i = 0; i < batch->jobs->len; i++) {
        g_clear_error(&batch->refused[i]);
        if (pool == POOL_BUILD)
            round_free((struct round *)batch->items[i].round);
    }
}

/* Results that cannot be stored now are kept and stored later, as an agent does. */
static void hand_in(const struct worker *worker, Store *store, struct batch *batch, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    int count = (int)batch->jobs->len;
    for (;;) {
        bool stored = pool == POOL_BUILD
                          ? store_built_many(store, batch->items, count, batch->refused, &error)
                          : store_round_many(store, batch->items, count, batch->refused, &error);
        if (stored)
            break;
        for (int i = 0; i < count; i++)
            g_clear_error(&batch->refused[i]);
        wait_again(worker, &error);
    }
    for (int i = 0; i < count && pool == POOL_EVAL; i++) {
        const struct handed *item = &batch->items[i];
        g_autofree char *line =
            g_strdup_printf("%s %" G_GINT64_FORMAT " %d %" G_GINT64_FORMAT,
                            batch->refused[i] ? "refused" : "stored", (gint64)item->job->id,
                            item->round->number, (gint64)item->job->fence);
        note(worker, line);
    }
}

/* Hands in some jobs of an evaluated batch early, as an agent does with partial rounds, and gives
 * some back. */
static void disturb(const struct worker *worker, Store *store, struct batch *batch, enum pool pool)
{
    for (guint i = 0; i < batch->jobs->len; i++) {
        g_autoptr(GError) error = NULL;
        const struct handed *item = &batch->items[i];
        bool done = true;
        if (pool == POOL_EVAL && g_rand_int_range(worker->random, 0, 8) == 0)
            done = store_partial(store, item->job, item->round, &error);
        else if (g_rand_int_range(worker->random, 0, 200) == 0)
            done = store_release_job(store, item->job, &error);
        if (!done && !g_error_matches(error, STORE_ERROR, STORE_ERROR_FENCE) &&
            !g_error_matches(error, STORE_ERROR, STORE_ERROR_STATE))
            note_error(worker, error);
    }
}

static bool work(const struct worker *worker, Store *store, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    struct batch batch = {NULL};
    struct claim claim = {.worker = worker->id,
                          .pool = pool,
                          .target = SIM_TARGET,
                          .solvers = sim_carried,
                          .batch = g_rand_int_range(worker->random, 1, BATCH_MOST + 1),
                          .lease_seconds = worker->lease_seconds};
    g_autoptr(GPtrArray) jobs = store_claim(store, &claim, &error);
    if (jobs == NULL) {
        wait_again(worker, &error);
        return true;
    }
    if (jobs->len == 0)
        return false;
    batch.jobs = jobs;
    fill_batch(&batch, pool);
    g_usleep((gulong)g_rand_int_range(worker->random, 0, 2 * worker->pace_ms + 1) * 1000);
    disturb(worker, store, &batch, pool);
    hand_in(worker, store, &batch, pool);
    clear_batch(&batch, pool);
    return true;
}

static void enroll(struct worker *worker, Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *process = g_strdup_printf("%ld", (long)getpid());
    struct worker_info info = {.node = worker->node, .process = process, .target = SIM_TARGET};
    while (!store_register_worker(store, &info, &worker->id, &error))
        wait_again(worker, &error);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fputs("usage: sim_worker URL NODE SEED PACE-MS LEASE-SECONDS LOG\n", stderr);
        return 2;
    }
    struct worker worker = {.url = argv[1],
                            .node = argv[2],
                            .random = g_rand_new_with_seed((guint32)atoi(argv[3])),
                            .pace_ms = atoi(argv[4]),
                            .lease_seconds = g_ascii_strtod(argv[5], NULL)};
    worker.log_fd = open(argv[6], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (worker.log_fd < 0) {
        fprintf(stderr, "sim_worker: cannot write '%s': %s\n", argv[6], g_strerror(errno));
        return 1;
    }
    g_autoptr(Store) store = open_store(&worker);
    enroll(&worker, store);
    g_thread_unref(g_thread_new("beat", beat, &worker));
    for (;;) {
        bool built = work(&worker, store, POOL_BUILD);
        if (!work(&worker, store, POOL_EVAL) && !built)
            g_usleep(PAUSE_MS * 1000);
    }
}
