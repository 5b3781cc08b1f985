/* Work that appears wakes idle workers, a few at a time. */
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <locale.h>
#include <poll.h>

#define CROWD 10

/* Idle workers; each has a connection that listens for notifications, as an agent has. */
struct crowd {
    Store *stores[CROWD];
    int64_t workers[CROWD];
};

static void listen_as(struct crowd *crowd, int index, const char *target, const char *stack)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *process = g_strdup_printf("crowd %d", index);
    struct worker_info info = {
        .node = "crowd", .process = process, .target = target, .stack = stack};
    crowd->stores[index] = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    store_register_worker(crowd->stores[index], &info, &crowd->workers[index], &error);
    g_assert_no_error(error);
    store_listen(crowd->stores[index], crowd->workers[index], &error);
    g_assert_no_error(error);
}

static int claim_as(struct crowd *crowd, int index, enum pool pool, const char *target, int batch)
{
    g_autoptr(GError) error = NULL;
    struct claim claim = {.worker = crowd->workers[index],
                          .pool = pool,
                          .target = target,
                          .solvers = farm_carried,
                          .batch = batch,
                          .lease_seconds = 60};
    g_autoptr(GPtrArray) jobs = store_claim(crowd->stores[index], &claim, &error);
    g_assert_no_error(error);
    return (int)jobs->len;
}

static void crowd_init(struct crowd *crowd, enum pool pool)
{
    for (int i = 0; i < CROWD; i++) {
        listen_as(crowd, i, "gfx90a68", "clang 15.0.6");
        g_assert_cmpint(claim_as(crowd, i, pool, "gfx90a68", 2), ==, 0);
    }
}

static void crowd_clear(struct crowd *crowd)
{
    for (int i = 0; i < CROWD; i++)
        store_close(crowd->stores[i]);
}

/* Notifications sent before one call's commit have arrived when another call of the same connection
 * returns. */
static bool is_woken(struct crowd *crowd, int index)
{
    g_autoptr(GError) error = NULL;
    bool lost = false;
    store_heartbeat(crowd->stores[index], crowd->workers[index], &error);
    g_assert_no_error(error);
    bool woken = store_woken(crowd->stores[index], &lost);
    g_assert_false(lost);
    return woken;
}

static int count_woken(struct crowd *crowd)
{
    int woken = 0;
    for (int i = 0; i < CROWD; i++)
        woken += is_woken(crowd, i);
    return woken;
}

static void test_a_campaign_wakes_a_few(void)
{
    struct farm farm;
    struct crowd crowd;
    farm_init(&farm, NULL);
    crowd_init(&crowd, POOL_BUILD);
    g_assert_cmpint(count_woken(&crowd), ==, 0);
    farm_create(farm.store, &(struct order){.jobs = 40}, NULL);
    g_assert_cmpint(count_woken(&crowd), ==, 4);
    /* A worker that was notified and has not claimed yet is not notified again: the next campaign
     * wakes others. */
    farm_create(farm.store, &(struct order){.jobs = 40, .seed = 1}, NULL);
    g_assert_cmpint(count_woken(&crowd), ==, 4);
    farm_create(farm.store, &(struct order){.jobs = 40, .seed = 2}, NULL);
    g_assert_cmpint(count_woken(&crowd), ==, 2);
    crowd_clear(&crowd);
    farm_clear(&farm);
}

static void test_who_takes_a_full_claim_wakes_two(void)
{
    struct farm farm;
    struct crowd crowd;
    farm_init(&farm, NULL);
    crowd_init(&crowd, POOL_BUILD);
    farm_create(farm.store, &(struct order){.jobs = 5}, NULL);
    g_assert_cmpint(count_woken(&crowd), ==, 4);
    g_assert_cmpint(claim_as(&crowd, 0, POOL_BUILD, "gfx90a68", 2), ==, 2);
    g_assert_cmpint(count_woken(&crowd), ==, 2);
    g_assert_cmpint(claim_as(&crowd, 1, POOL_BUILD, "gfx90a68", 2), ==, 2);
    g_assert_cmpint(count_woken(&crowd), ==, 2);
    /* The claim gets fewer jobs than it asked for, so no further worker is woken. */
    g_assert_cmpint(claim_as(&crowd, 2, POOL_BUILD, "gfx90a68", 2), ==, 1);
    g_assert_cmpint(count_woken(&crowd), ==, 0);
    crowd_clear(&crowd);
    farm_clear(&farm);
}

static void test_only_those_it_suits_are_woken(void)
{
    struct farm farm;
    struct crowd crowd;
    farm_init(&farm, NULL);
    for (int i = 0; i < CROWD; i++) {
        const char *target = i == 7 ? "gfx90a68" : "gfx1030";
        listen_as(&crowd, i, target, "clang 15.0.6");
        g_assert_cmpint(claim_as(&crowd, i, i == 8 ? POOL_EVAL : POOL_BUILD, target, 2), ==, 0);
    }
    farm_create(farm.store, &(struct order){.jobs = 40}, NULL);
    g_assert_true(is_woken(&crowd, 7));
    g_assert_cmpint(count_woken(&crowd), ==, 0);
    crowd_clear(&crowd);
    farm_clear(&farm);
}

static void test_what_is_built_wakes_who_evaluates(void)
{
    struct farm farm;
    struct crowd crowd;
    farm_init(&farm, &(struct order){.jobs = 3});
    crowd_init(&crowd, POOL_EVAL);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(count_woken(&crowd), ==, 0);
    farm_built(&farm, job, 0);
    g_assert_cmpint(count_woken(&crowd), ==, 2);
    job_free(job);
    crowd_clear(&crowd);
    farm_clear(&farm);
}

static void test_what_comes_back_wakes_somebody(void)
{
    struct farm farm;
    struct crowd crowd;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    crowd_init(&crowd, POOL_BUILD);
    store_worker_lost(farm.store, farm.workers[0], &error);
    g_assert_no_error(error);
    g_assert_cmpint(count_woken(&crowd), ==, 1);
    farm_change(&farm, "pause");
    farm_change(&farm, "resume");
    g_assert_cmpint(count_woken(&crowd), ==, 4);
    job_free(job);
    crowd_clear(&crowd);
    farm_clear(&farm);
}

static void test_who_is_asked_to_drain_hears_it_at_once(void)
{
    struct farm farm;
    struct crowd crowd;
    g_autoptr(GError) error = NULL;
    int asked = 0;
    bool lost;
    farm_init(&farm, NULL);
    crowd_init(&crowd, POOL_BUILD);
    g_assert_true(store_drain_node(farm.store, "crowd", &asked, &error));
    g_assert_cmpint(asked, ==, CROWD);
    for (int i = 0; i < CROWD; i++) {
        struct pollfd ready = {.fd = store_socket(crowd.stores[i]), .events = POLLIN};
        g_assert_cmpint(poll(&ready, 1, PATIENCE_SECONDS * 1000), ==, 1);
        g_assert_true(store_woken(crowd.stores[i], &lost));
        g_assert_true(store_drains(crowd.stores[i]));
    }
    crowd_clear(&crowd);
    farm_clear(&farm);
}

static void test_a_new_connection_hears_again(void)
{
    struct farm farm;
    struct crowd crowd;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, NULL);
    crowd_init(&crowd, POOL_BUILD);
    store_do(farm.store, &error,
             "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
             " WHERE pid <> pg_backend_pid() AND query LIKE '%skipjack_work.claim(%'",
             "");
    g_assert_no_error(error);
    for (int i = 0; i < CROWD; i++) {
        struct pollfd ready = {.fd = store_socket(crowd.stores[i]), .events = POLLIN};
        bool lost = false;
        g_assert_cmpint(poll(&ready, 1, PATIENCE_SECONDS * 1000), ==, 1);
        while (!lost && poll(&ready, 1, PATIENCE_SECONDS * 1000) == 1)
            g_assert_false(store_woken(crowd.stores[i], &lost));
        g_assert_true(lost);
        /* The caller repeats a call whose answer was lost. */
        store_heartbeat(crowd.stores[i], crowd.workers[i], NULL);
        g_assert_false(is_woken(&crowd, i));
    }
    farm_create(farm.store, &(struct order){.jobs = 40}, NULL);
    g_assert_cmpint(count_woken(&crowd), ==, 4);
    crowd_clear(&crowd);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/waking/a_campaign_wakes_a_few", test_a_campaign_wakes_a_few);
    g_test_add_func("/waking/full_claim_wakes_two", test_who_takes_a_full_claim_wakes_two);
    g_test_add_func("/waking/only_those_it_suits_are_woken", test_only_those_it_suits_are_woken);
    g_test_add_func("/waking/built_job_wakes_an_evaluating_worker",
                    test_what_is_built_wakes_who_evaluates);
    g_test_add_func("/waking/returned_job_wakes_a_worker", test_what_comes_back_wakes_somebody);
    g_test_add_func("/waking/drain_request_arrives_at_once",
                    test_who_is_asked_to_drain_hears_it_at_once);
    g_test_add_func("/waking/a_new_connection_hears_again", test_a_new_connection_hears_again);
    return g_test_run();
}
