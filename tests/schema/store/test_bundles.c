/* Bundles (jobs of one solver that are claimed together): claimed in parts, handed in together,
 * lost one by one; and dropping them. */
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* More jobs than bundles: some hold several. */
#define JOBS 2100

static int64_t count(struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(farm->store, &error, sql, "");
    g_assert_no_error(error);
    return strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

/* Asserts that every job that has not ended is in exactly one bundle. */
static void expect_whole(struct farm *farm)
{
    g_assert_cmpint(count(farm, "SELECT count(*) FROM (SELECT unnest(job_ids) FROM bundles"
                                " UNION ALL SELECT job_id FROM job_ends) AS all_jobs"),
                    ==, count(farm, "SELECT count(*) FROM jobs"));
    g_assert_cmpint(count(farm, "SELECT count(*) FROM (SELECT unnest(job_ids) AS id FROM bundles"
                                " GROUP BY 1 HAVING count(*) > 1) AS twice"),
                    ==, 0);
}

struct batch {
    struct handed items[64];
    struct kept kept[64];
    GError *refused[64];
    GPtrArray *jobs;
};

static void batch_init(struct batch *batch, GPtrArray *jobs, bool evaluated, bool more)
{
    memset(batch, 0, sizeof *batch);
    g_assert_cmpuint(jobs->len, <=, G_N_ELEMENTS(batch->items));
    batch->jobs = jobs;
    for (guint i = 0; i < jobs->len; i++) {
        struct round *round = farm_make_round(0);
        if (evaluated) {
            farm_evaluate(round, 2.0);
            batch->kept[i] = farm_make_kept(round);
        }
        batch->items[i] = (struct handed){.job = jobs->pdata[i],
                                          .round = round,
                                          .kept = &batch->kept[i],
                                          .kept_count = evaluated,
                                          .more = more,
                                          .seconds = 0.5};
    }
}

static void batch_clear(struct batch *batch)
{
    for (guint i = 0; i < batch->jobs->len; i++) {
        round_free((struct round *)batch->items[i].round);
        g_clear_error(&batch->refused[i]);
    }
    g_ptr_array_unref(batch->jobs);
}

static int refusals(const struct batch *batch)
{
    int refused = 0;
    for (guint i = 0; i < batch->jobs->len; i++)
        refused += batch->refused[i] != NULL;
    return refused;
}

static void hand_in(struct farm *farm, struct batch *batch, bool evaluated)
{
    g_autoptr(GError) error = NULL;
    bool (*store)(Store *, const struct handed *, int, GError **, GError **) =
        evaluated ? store_round_many : store_built_many;
    g_assert_true(store(farm->store, batch->items, (int)batch->jobs->len, batch->refused, &error));
    g_assert_no_error(error);
}

static GPtrArray *claim(struct farm *farm, enum pool pool, int jobs)
{
    return farm_claim(farm->store, farm->workers[0], pool, jobs, 60);
}

static void test_batches_go_round(void)
{
    struct farm farm;
    int evaluated = 0;
    farm_init(&farm, &(struct order){.jobs = JOBS});
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM bundles"), ==, JOBS / 2);
    for (;;) {
        struct batch built, measured;
        GPtrArray *jobs = claim(&farm, POOL_BUILD, 49);
        if (jobs->len == 0) {
            g_ptr_array_unref(jobs);
            break;
        }
        batch_init(&built, jobs, false, false);
        hand_in(&farm, &built, false);
        hand_in(&farm, &built, false);
        g_assert_cmpint(refusals(&built), ==, 0);
        batch_init(&measured, claim(&farm, POOL_EVAL, 49), true, false);
        hand_in(&farm, &measured, true);
        hand_in(&farm, &measured, true);
        g_assert_cmpint(refusals(&measured), ==, 0);
        evaluated += (int)measured.jobs->len;
        batch_clear(&built);
        batch_clear(&measured);
    }
    g_assert_cmpint(evaluated, ==, JOBS);
    expect_whole(&farm);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM results"), ==, JOBS);
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM job_ends WHERE state = 'done'"), ==, JOBS);
    g_assert_cmpint(count(&farm, "SELECT sum(seconds) FROM campaign_spent"), ==, JOBS / 2);
    farm_clear(&farm);
}

/* Jobs that the budget ended are settled many at a time: one by one, a claim in a large campaign
 * would take too long. */
static void test_spent_jobs_end_many_at_a_time(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = JOBS, .budget_seconds = 1});
    g_assert_true(store_add_spent(farm.store, farm.campaign, 2, &error));
    g_assert_true(store_do(farm.store, &error, "UPDATE bundles SET round_no = 1", ""));
    g_assert_true(store_do(farm.store, &error, "SET track_functions = 'pl'", ""));
    g_assert_true(store_do(farm.store, &error, "BEGIN", ""));
    g_assert_null(farm_claim_one(&farm, 0, POOL_BUILD));
    g_assert_cmpint(count(&farm, "SELECT sum(calls) FROM pg_stat_xact_user_functions"
                                 " WHERE funcname ~ '^end_'"),
                    <, 10);
    g_assert_true(store_do(farm.store, &error, "COMMIT", ""));
    g_assert_no_error(error);
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM job_ends WHERE by_budget AND rounds = 1"),
                    ==, JOBS);
    expect_whole(&farm);
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

/* A bundle of two is claimed in halves, which then have fences of their own. */
static void test_claim_takes_part_of_a_bundle(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = JOBS});
    struct job *first = farm_claim_one(&farm, 0, POOL_BUILD);
    struct job *second = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_cmpint(first->problem.c, ==, 8);
    g_assert_cmpint(second->problem.c, ==, 16);
    g_assert_cmpint(first->fence, <, second->fence);
    farm_built(&farm, second, 0);
    farm_built(&farm, first, 0);
    expect_whole(&farm);
    job_free(first);
    job_free(second);
    farm_clear(&farm);
}

/* In a batch, the job that was claimed again is refused; the others are stored. */
static void test_refused_one_keeps_nobody_back(void)
{
    struct farm farm;
    struct batch late;
    farm_init(&farm, &(struct order){.jobs = JOBS});
    batch_init(&late, claim(&farm, POOL_BUILD, 5), false, false);
    g_assert_true(store_release_job(farm.store, late.jobs->pdata[2], NULL));
    g_autoptr(Store) other = store_open(scratch_db_url(), NULL);
    g_autoptr(GPtrArray) again = farm_claim(other, farm.workers[1], POOL_BUILD, 1, 60);
    g_assert_cmpint(((struct job *)again->pdata[0])->id, ==,
                    ((struct job *)late.jobs->pdata[2])->id);
    hand_in(&farm, &late, false);
    g_assert_cmpint(refusals(&late), ==, 1);
    g_assert_error(late.refused[2], STORE_ERROR, STORE_ERROR_FENCE);
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM rounds"), ==, 4);
    expect_whole(&farm);
    batch_clear(&late);
    farm_clear(&farm);
}

/* Any one of the jobs that a worker died with may be the cause: each then goes on alone. */
static void test_lost_jobs_go_on_alone(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = JOBS});
    g_autoptr(GPtrArray) lost = claim(&farm, POOL_BUILD, 4);
    g_assert_cmpuint(lost->len, ==, 4);
    g_assert_true(store_worker_lost(farm.store, farm.workers[0], &error));
    expect_whole(&farm);
    g_autoptr(Store) other = store_open(scratch_db_url(), NULL);
    for (guint i = 0; i < 4; i++) {
        g_autoptr(GPtrArray) jobs = farm_claim(other, farm.workers[1], POOL_BUILD, 4, 60);
        g_assert_cmpuint(jobs->len, ==, 1);
        g_assert_cmpint(((struct job *)jobs->pdata[0])->strikes, ==, 1);
    }
    g_autoptr(GPtrArray) next = claim(&farm, POOL_BUILD, 4);
    g_assert_cmpuint(next->len, ==, 4);
    g_assert_cmpint(((struct job *)next->pdata[0])->strikes, ==, 0);
    farm_clear(&farm);
}

/* A claim scans on from where the store's last claim ended. Jobs that are returned behind that
 * position are found, too. */
static void test_what_came_back_is_found(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 12});
    struct job *first = farm_claim_one(&farm, 0, POOL_BUILD);
    for (int i = 0; i < 3; i++)
        job_free(farm_claim_one(&farm, 0, POOL_BUILD));
    g_assert_true(store_release_job(farm.store, first, NULL));
    for (int claims = 0;; claims++) {
        struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
        g_assert_nonnull(job);
        bool found = job->id == first->id;
        job_free(job);
        if (found)
            break;
        g_assert_cmpint(claims, <, 16);
    }
    job_free(first);
    farm_clear(&farm);
}

static void test_dropped_campaign_leaves_nothing(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 3});
    farm_work(&farm, 0, false, 1);
    int64_t other = farm_create(farm.store, &(struct order){.jobs = 2, .seed = 9}, NULL);
    farm_change(&farm, "drop");
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM bundles"), ==, 1);
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM pg_class WHERE relkind = 'r'"
                                 " AND relnamespace = 'skipjack'::regnamespace"
                                 " AND relname ~ '^(jobs|job_ends|rounds|outcomes|results)_'"),
                    ==, 5);
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM jobs"), ==, 2);
    farm_expect_campaign(&farm, other, "active");
    farm_clear(&farm);
}

/* While a reader has a transaction open, dropping hides the campaign at once and drops its tables
 * when the reader has ended. */
static void test_drop_waits_for_no_reader(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 3});
    Store *reader = store_open(scratch_db_url(), &error);
    g_assert_true(store_do(reader, &error, "BEGIN ISOLATION LEVEL REPEATABLE READ", ""));
    g_assert_true(store_do(reader, &error, "SELECT count(*) FROM jobs", ""));
    farm_change(&farm, "drop");
    g_assert_null(store_get_campaign(farm.store, farm.campaign, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    g_clear_error(&error);
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM dropped_partitions"), >, 0);
    g_assert_true(store_do(reader, &error, "COMMIT", ""));
    g_assert_true(store_drop_partitions(farm.store, &error));
    g_assert_no_error(error);
    g_assert_cmpint(count(&farm, "SELECT count(*) FROM dropped_partitions"), ==, 0);
    store_close(reader);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/bundles/batches_go_round", test_batches_go_round);
    g_test_add_func("/bundles/spent_ones_end_many_at_a_time", test_spent_jobs_end_many_at_a_time);
    g_test_add_func("/bundles/claim_takes_part_of_one", test_claim_takes_part_of_a_bundle);
    g_test_add_func("/bundles/refused_one_keeps_nobody_back", test_refused_one_keeps_nobody_back);
    g_test_add_func("/bundles/lost_jobs_go_on_alone", test_lost_jobs_go_on_alone);
    g_test_add_func("/bundles/returned_bundle_behind_the_cursor_is_found",
                    test_what_came_back_is_found);
    g_test_add_func("/bundles/dropped_campaign_leaves_nothing",
                    test_dropped_campaign_leaves_nothing);
    g_test_add_func("/bundles/drop_waits_for_no_reader", test_drop_waits_for_no_reader);
    return g_test_run();
}
