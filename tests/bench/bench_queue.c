/*
 * Jobs a second through the queue of a durable embedded PostgreSQL: each is
 * claimed, stored as built, claimed again and stored as evaluated, by one
 * client and by several at once, claiming one by one and in batches.
 */
#include "schema/database.h"
#include "tests/support/queue_farm.h"
#include "tests/support/scratch_db.h"

#include <stdio.h>

#define JOBS 2000

struct client {
    const char *url;
    int64_t worker;
    int batch;
    int jobs; /* evaluated */
};

static void hand_in(struct farm *farm, const struct job *job, enum pool pool)
{
    if (pool == POOL_BUILD)
        farm_built(farm, job, 0);
    else
        farm_round(farm, job, 0, false, 1);
}

/* Until no pool has anything for it. */
static gpointer work(gpointer data)
{
    struct client *client = data;
    struct farm farm = {.store = store_open(client->url, NULL)};
    guint got = 1;
    while (got > 0) {
        got = 0;
        for (enum pool pool = POOL_BUILD; pool <= POOL_EVAL; pool++) {
            g_autoptr(GPtrArray) jobs =
                farm_claim(farm.store, client->worker, pool, client->batch, 60);
            for (guint i = 0; i < jobs->len; i++) {
                hand_in(&farm, jobs->pdata[i], pool);
                client->jobs += pool == POOL_EVAL;
            }
            got += jobs->len;
        }
    }
    store_close(farm.store);
    return NULL;
}

static void measure(const char *url, int clients, int batch)
{
    struct farm farm;
    struct client client[8];
    GThread *threads[8];
    int jobs = 0;
    g_assert_cmpint(clients, <=, 8);
    farm_init(&farm, &(struct order){.jobs = JOBS});
    for (int i = 0; i < clients; i++) {
        char process[16];
        g_snprintf(process, sizeof process, "c%d", i);
        struct worker_info info = {.node = "bench", .process = process, .target = "gfx90a68"};
        client[i] = (struct client){.url = url, .batch = batch};
        g_assert_true(store_register_worker(farm.store, &info, &client[i].worker, NULL));
    }
    gint64 start = g_get_monotonic_time();
    for (int i = 0; i < clients; i++)
        threads[i] = g_thread_new("client", work, &client[i]);
    for (int i = 0; i < clients; i++) {
        g_thread_join(threads[i]);
        jobs += client[i].jobs;
    }
    double seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    g_assert_cmpint(jobs, ==, JOBS);
    farm_expect_campaign(&farm, farm.campaign, "done");
    printf("%d client%s, batches of %2d: %6.0f jobs/s\n", clients, clients == 1 ? " " : "s", batch,
           jobs / seconds);
    fflush(stdout);
    farm_clear(&farm);
}

int main(void)
{
    scratch_durable();
    const char *url = scratch_db_url();
    measure(url, 1, 1);
    measure(url, 1, 50);
    measure(url, 8, 1);
    measure(url, 8, 50);
    return 0;
}
