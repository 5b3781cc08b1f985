/* A cancelled campaign gets no more work, whatever was under way. */
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <locale.h>

static Store *open_store(void)
{
    g_autoptr(GError) error = NULL;
    Store *store = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    return store;
}

static void run_sql(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(store, &error, sql, "");
    g_assert_no_error(error);
}

static gpointer cancel_in_thread(gpointer data)
{
    const struct farm *farm = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = open_store();
    store_change_campaign(store, farm->campaign, "cancel", &error);
    g_assert_no_error(error);
    return NULL;
}

/* Waits until another session waits for a lock of the store's transaction. */
static void await_waiter(const struct farm *farm, Store *holder)
{
    for (gint64 limit = patience_end(); g_get_monotonic_time() < limit; g_usleep(10000)) {
        g_autoptr(GError) error = NULL;
        g_autoptr(StoreRows) rows = store_read(
            farm->store, &error,
            "SELECT FROM pg_stat_activity WHERE $1::integer = ANY (pg_blocking_pids(pid))", "i",
            PQbackendPID(holder->connection));
        g_assert_no_error(error);
        if (PQntuples(rows) > 0)
            return;
    }
    g_assert_not_reached();
}

/* While cancelling waits for the first bundle, one worker builds the second, and another one is storing
 * its round when cancelling reaches it. */
static void test_no_bundle_that_turns_over_meanwhile_is_left(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    g_autoptr(Store) holder = open_store();
    g_autoptr(Store) storing = open_store();
    /* a connection's first report of working time locks the campaign's row */
    store_add_spent(storing, farm.campaign, 1, NULL);
    run_sql(holder, "BEGIN");
    run_sql(holder, "SELECT FROM bundles ORDER BY id LIMIT 1 FOR UPDATE");
    GThread *thread = g_thread_new("cancel", cancel_in_thread, &farm);
    await_waiter(&farm, holder);

    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    struct farm other = {.store = storing, .workers = {farm.workers[1]}};
    run_sql(storing, "BEGIN");
    job = farm_claim_one(&other, 0, POOL_EVAL);
    farm_round(&other, job, 0, true, 1);
    job_free(job);
    run_sql(holder, "COMMIT");
    await_waiter(&farm, storing);
    run_sql(storing, "COMMIT");
    g_thread_join(thread);

    for (guint i = 0; i < 2; i++) {
        g_autoptr(GPtrArray) rows = NULL;
        g_assert_cmpstr(farm_job_row(&farm, farm.campaign, i, &rows)->state, ==, "cancelled");
    }
    farm_clear(&farm);
}

/* The job failed because its worker was given up. A round handed in later does not open the job
 * again after the cancel. */
static void test_late_result_brings_no_job_back(void)
{
    static const struct {
        const char *verb;
        enum store_error refusal;
    } cases[] = {{"cancel", STORE_ERROR_STATE}, {"drop", STORE_ERROR_NOT_FOUND}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct farm farm;
        g_autoptr(GError) error = NULL;
        farm_init(&farm, &(struct order){.jobs = 2});
        for (int strike = 0; strike < 2; strike++)
            job_free(farm_claim_and_lose(&farm, POOL_BUILD));
        struct job *late = farm_claim_and_lose(&farm, POOL_BUILD);
        farm_expect_job(&farm, "failed", 3, FAILURE_WORKER_LOST);
        farm_change(&farm, cases[i].verb);
        g_assert_false(farm_try_built(&farm, late, 0, &error));
        g_assert_error(error, STORE_ERROR, (int)cases[i].refusal);
        g_autoptr(StoreRows) left = store_read(farm.store, NULL, "SELECT FROM bundles", "");
        g_assert_cmpint(PQntuples(left), ==, 0);
        job_free(late);
        farm_clear(&farm);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/cancelled/bundle_that_moves_during_cancelling_is_removed",
     test_no_bundle_that_turns_over_meanwhile_is_left},
    {"/cancelled/late_result_reopens_no_job", test_late_result_brings_no_job_back},
};

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].run);
    return g_test_run();
}
