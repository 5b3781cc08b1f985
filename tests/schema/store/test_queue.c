/* The queue against a real PostgreSQL, with one connection for each worker. */
#include "schema/server/embedded.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <string.h>

/* ---- claiming ---- */

static void test_job_goes_round(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 7});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    int64_t first_fence = job->fence;
    g_assert_cmpint(first_fence, >, 0);
    g_assert_cmpint(job->seed, ==, 7);
    g_assert_cmpstr(job->solver, ==, "ConvTest");
    g_assert_cmpstr(job->target, ==, "gfx90a68");
    g_assert_cmpint(job->problem.c, ==, 8);
    g_assert_cmpuint(job->rounds->len, ==, 0);
    g_assert_null(farm_claim_one(&farm, 1, POOL_EVAL));
    farm_built(&farm, job, 0);
    farm_built(&farm, job, 0);
    job_free(job);
    farm_expect_job(&farm, "built", 0, FAILURE_NONE);

    job = farm_claim_one(&farm, 1, POOL_EVAL);
    g_assert_cmpuint(job->rounds->len, ==, 1);
    const struct round *open = job->rounds->pdata[0];
    g_assert_cmpint(open->config_count, ==, 2);
    g_assert_cmpint(open->configs[1].count, ==, 2);
    g_assert_cmpint(open->configs[1].values[1], ==, 1);
    g_assert_cmpint(open->outcomes[0].failure, ==, FAILURE_PENDING);
    g_assert_cmpuint(strlen(open->kernel_keys[0]), ==, 129);
    farm_round(&farm, job, 0, true, 2.5);
    farm_round(&farm, job, 0, true, 2.5);
    job_free(job);

    job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->fence, >, first_fence);
    g_assert_cmpuint(job->rounds->len, ==, 1);
    const struct round *stored = job->rounds->pdata[0];
    g_assert_cmpstr(stored->stack, ==, "clang 15.0.6");
    g_assert_cmpint(stored->caches, ==, CACHES_WARM);
    g_assert_cmpfloat(stored->verified_share, ==, 0.25);
    g_assert_cmpint(stored->outcomes[0].proof_runs, ==, 40);
    g_assert_cmpint(stored->outcomes[0].proof_kinds, ==, 2);
    g_assert_cmpint(stored->outcomes[1].proof_runs, ==, 0);
    g_assert_cmpfloat(stored->outcomes[0].median_ms, ==, 2.0);
    g_assert_cmpstr(stored->details[1], ==, "differs at \"3\"");
    g_autoptr(GError) error = NULL;
    g_assert_true(store_finish_job(farm.store, job, SEARCH_SPACE_TRIED, &error));
    job_free(job);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_expect_campaign(&farm, farm.campaign, "done");
    struct campaign *campaign = store_get_campaign(farm.store, farm.campaign, NULL);
    g_assert_cmpfloat(campaign->spent_seconds, ==, 2.5);
    campaign_free(campaign);
    farm_clear(&farm);
}

static void test_lowest_round_then_priority_goes_first(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 3});
    farm_work(&farm, 0, true, 1);
    g_autoptr(GPtrArray) jobs = farm_claim(farm.store, farm.workers[0], POOL_BUILD, 8, 60);
    const int64_t channels[] = {16, 24, 8};
    g_assert_cmpuint(jobs->len, ==, 3);
    for (guint i = 0; i < jobs->len; i++) {
        struct job *job = jobs->pdata[i];
        g_assert_cmpint(job->problem.c, ==, channels[i]);
        job_free(job);
    }
    g_ptr_array_set_free_func(jobs, NULL);
    farm_clear(&farm);
}

static void test_worker_gets_only_what_it_carries(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    const char *const other[] = {"ConvTest:2:h2", "ConvTest:2:h1", "ConvTest:1:h2",
                                 "ConvOther:1:h1", NULL};
    struct claim claim = {.worker = farm.workers[0],
                          .pool = POOL_BUILD,
                          .solvers = other,
                          .batch = 1,
                          .lease_seconds = 60};
    g_autoptr(GPtrArray) none = store_claim(farm.store, &claim, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(none->len, ==, 0);
    claim.solvers = farm_carried;
    claim.target = "gfx1030_36";
    g_autoptr(GPtrArray) wrong_target = store_claim(farm.store, &claim, &error);
    g_assert_cmpuint(wrong_target->len, ==, 0);
    claim.target = NULL;
    g_autoptr(GPtrArray) one = store_claim(farm.store, &claim, &error);
    g_assert_cmpuint(one->len, ==, 1);
    farm_clear(&farm);
}

struct racer {
    int64_t worker;
    const char *url;
    GArray *ids;
};

static gpointer race(gpointer data)
{
    struct racer *racer = data;
    g_autoptr(Store) store = store_open(racer->url, NULL);
    for (;;) {
        g_autoptr(GPtrArray) jobs = farm_claim(store, racer->worker, POOL_BUILD, 3, 60);
        if (jobs == NULL || jobs->len == 0)
            return NULL;
        for (guint i = 0; i < jobs->len; i++)
            g_array_append_val(racer->ids, ((struct job *)jobs->pdata[i])->id);
    }
}

static void test_two_workers_never_get_one_job(void)
{
    enum { RACERS = 4, JOBS = 120 };
    struct farm farm;
    struct racer racers[RACERS];
    GThread *threads[RACERS];
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    farm_init(&farm, &(struct order){.jobs = JOBS});
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.worker = farm.workers[i % 2],
                                   .url = scratch_db_url(),
                                   .ids = g_array_new(FALSE, FALSE, sizeof(int64_t))};
        threads[i] = g_thread_new("racer", race, &racers[i]);
    }
    for (int i = 0; i < RACERS; i++) {
        g_thread_join(threads[i]);
        for (guint n = 0; n < racers[i].ids->len; n++) {
            int64_t id = g_array_index(racers[i].ids, int64_t, n);
            g_assert_true(g_hash_table_add(seen, g_memdup2(&id, sizeof id)));
        }
        g_array_unref(racers[i].ids);
    }
    g_assert_cmpuint(g_hash_table_size(seen), ==, JOBS);
    farm_clear(&farm);
}

/* ---- fences, leases, strikes ---- */

static void test_late_result_is_refused(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *late = farm_claim_and_lose(&farm, POOL_BUILD);
    struct job *now = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_cmpint(now->id, ==, late->id);
    g_assert_cmpint(now->fence, >, late->fence);
    g_assert_cmpint(now->strikes, ==, 1);
    g_assert_false(farm_try_built(&farm, late, 0, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    g_clear_error(&error);
    g_assert_false(store_fail_job(farm.store, late, FAILURE_COMPILE_ERROR, "late", &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    g_clear_error(&error);
    g_assert_false(store_release_job(farm.store, late, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    farm_built(&farm, now, 0);
    job_free(late);
    job_free(now);
    farm_clear(&farm);
}

/* The job's second worker has stored the round already: the first worker's late result is refused,
 * and it must not be told that its own result is stored. */
static void test_late_result_of_a_stored_round_is_refused(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *late = farm_claim_and_lose(&farm, POOL_BUILD);
    struct job *now = farm_claim_one(&farm, 1, POOL_BUILD);
    farm_built(&farm, now, 0);
    g_assert_false(farm_try_built(&farm, late, 0, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    g_clear_error(&error);
    farm_built(&farm, now, 0); /* storing the own round a second time is no error */
    job_free(late);
    job_free(now);
    late = farm_claim_and_lose(&farm, POOL_EVAL);
    now = farm_claim_one(&farm, 1, POOL_EVAL);
    farm_round(&farm, now, 0, true, 1);
    g_assert_false(farm_try_round(&farm, late, 0, true, 1, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    farm_round(&farm, now, 0, true, 1);
    job_free(late);
    job_free(now);
    farm_clear(&farm);
}

/* A job whose worker was lost is claimed alone next time, so that it takes no other job with it. */
static void test_struck_job_is_claimed_alone(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    int claimed_jobs = 0;
    farm_init(&farm, &(struct order){.jobs = 3});
    struct job *before = farm_claim_one(&farm, 1, POOL_BUILD);
    g_autoptr(GPtrArray) lost = farm_claim(farm.store, farm.workers[0], POOL_BUILD, 1, 0);
    struct job *behind = farm_claim_one(&farm, 1, POOL_BUILD);
    const struct job *struck = lost->pdata[0];
    farm_look_at_leases(&farm);
    g_assert_true(store_release_job(farm.store, before, &error));
    g_assert_true(store_release_job(farm.store, behind, &error));
    g_assert_no_error(error);
    for (int turn = 0; turn < 10 && claimed_jobs < 3; turn++) {
        g_autoptr(GPtrArray) claimed = farm_claim(farm.store, farm.workers[1], POOL_BUILD, 5, 60);
        for (guint i = 0; i < claimed->len; i++)
            if (((struct job *)claimed->pdata[i])->id == struck->id)
                g_assert_cmpuint(claimed->len, ==, 1);
        claimed_jobs += (int)claimed->len;
    }
    g_assert_cmpint(claimed_jobs, ==, 3);
    job_free(before);
    job_free(behind);
    farm_clear(&farm);
}

/* Two claims each take a part of the same bundle. */
static void test_each_part_of_a_bundle_has_its_own_fence(void)
{
    struct farm farm;
    GPtrArray *parts[2];
    farm_init(&farm, &(struct order){.jobs = 2100}); /* more jobs than bundles: each holds two */
    for (int i = 0; i < 2; i++) {
        parts[i] = farm_claim(farm.store, farm.workers[i], POOL_BUILD, 1, 60);
        g_assert_cmpuint(parts[i]->len, ==, 1);
    }
    const struct job *first = parts[0]->pdata[0], *second = parts[1]->pdata[0];
    g_assert_cmpint(first->id, !=, second->id);
    g_assert_cmpint(first->fence, >, 0);
    g_assert_cmpint(second->fence, >, first->fence);
    g_ptr_array_unref(parts[0]);
    g_ptr_array_unref(parts[1]);
    farm_clear(&farm);
}

static void test_result_after_the_lease_ran_out_is_accepted(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_and_lose(&farm, POOL_BUILD);
    farm_expect_job(&farm, "ready", 1, FAILURE_NONE);
    farm_built(&farm, job, 0);
    farm_expect_job(&farm, "built", 1, FAILURE_NONE);
    job_free(job);
    job = farm_claim_and_lose(&farm, POOL_EVAL);
    farm_expect_job(&farm, "built", 2, FAILURE_NONE);
    farm_round(&farm, job, 0, true, 1);
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    job_free(job);
    farm_clear(&farm);
}

static void test_third_strike_fails_the_job(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    for (int i = 0; i < 2; i++) {
        job_free(farm_claim_and_lose(&farm, POOL_BUILD));
        farm_expect_job(&farm, "ready", i + 1, FAILURE_NONE);
    }
    struct job *job = farm_claim_and_lose(&farm, POOL_BUILD);
    farm_expect_job(&farm, "failed", 3, FAILURE_WORKER_LOST);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_autoptr(GPtrArray) lost = store_list_events_of(farm.store, farm.campaign, "lease lost", NULL);
    g_assert_cmpuint(lost->len, ==, 3);
    farm_built(&farm, job, 0);
    farm_expect_job(&farm, "built", 3, FAILURE_NONE);
    farm_expect_campaign(&farm, farm.campaign, "active");
    job_free(job);
    job = farm_claim_one(&farm, 1, POOL_EVAL);
    g_assert_nonnull(job);
    job_free(job);
    farm_clear(&farm);
}

static void test_late_round_opens_the_campaign_again(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    for (int i = 0; i < 2; i++)
        job_free(farm_claim_and_lose(&farm, POOL_EVAL));
    job = farm_claim_and_lose(&farm, POOL_EVAL);
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_round(&farm, job, 0, true, 1);
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    farm_expect_campaign(&farm, farm.campaign, "active");
    job_free(job);
    job = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_nonnull(job);
    job_free(job);
    farm_clear(&farm);
}

/* No worker could send heartbeats while the server was down: when it is back, leases begin anew and
 * no worker is lost. */
static void test_lease_begins_anew_with_the_server(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    g_autoptr(GPtrArray) jobs = farm_claim(farm.store, farm.workers[0], POOL_BUILD, 1, 3000);
    g_assert_cmpuint(jobs->len, ==, 1);
    g_assert_true(store_do(farm.store, &error,
                           "UPDATE workers SET beat_at = clock_timestamp() - interval '2 hours'"
                           " WHERE id = $1",
                           "l", farm.workers[0]));
    farm_look_at_leases(&farm);
    farm_expect_job(&farm, "building", 0, FAILURE_NONE);
    farm_clear(&farm);
}

static void test_beat_renews_every_lease(void)
{
    static const char an_hour_passes[] =
        "UPDATE workers SET beat_at = beat_at - interval '1 hour' WHERE id = $1";
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    g_autoptr(GPtrArray) jobs = farm_claim(farm.store, farm.workers[0], POOL_BUILD, 2, 600);
    g_assert_cmpuint(jobs->len, ==, 2);
    g_assert_true(store_do(farm.store, &error, an_hour_passes, "l", farm.workers[0]));
    g_assert_true(store_heartbeat(farm.store, farm.workers[0], &error));
    farm_look_at_leases(&farm);
    farm_expect_job(&farm, "building", 0, FAILURE_NONE);
    g_autoptr(GPtrArray) workers = store_list_workers(farm.store, "one", &error);
    const struct worker_row *row = workers->pdata[0];
    g_assert_cmpint(row->leases, ==, 2);
    g_assert_cmpfloat(row->beat_age_seconds, <, 600);
    /* Leases of 1 ms: none ends before the server has run for the time of a lease. */
    g_assert_true(store_do(farm.store, &error, "UPDATE bundles SET lease_seconds = 0.001", ""));
    g_assert_true(store_do(farm.store, &error, an_hour_passes, "l", farm.workers[0]));
    farm_look_at_leases(&farm);
    farm_expect_job(&farm, "ready", 1, FAILURE_NONE);
    g_assert_false(store_heartbeat(farm.store, 99, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    farm_clear(&farm);
}

/* An agent sends heartbeats, but its work hangs: its jobs are taken after the limit without
 * progress. */
static void test_beats_without_progress_end(void)
{
    static const char hours_pass[] =
        "UPDATE bundles SET progress_at = progress_at - make_interval(hours => $1)"
        " WHERE worker_id IS NOT NULL";
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_true(store_do(farm.store, &error, hours_pass, "i", 3));
    farm_look_at_leases(&farm); /* the holder itself sends the heartbeat */
    farm_expect_job(&farm, "building", 0, FAILURE_NONE);
    g_assert_true(store_do(farm.store, &error, hours_pass, "i", 1));
    farm_look_at_leases(&farm);
    farm_expect_job(&farm, "ready", 1, FAILURE_NONE);
    /* Stored partial outcomes count as progress. */
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 1, POOL_EVAL);
    g_assert_true(store_do(farm.store, &error, hours_pass, "i", 5));
    g_assert_true(store_partial(farm.store, job, job->rounds->pdata[0], &error));
    farm_look_at_leases(&farm);
    farm_expect_job(&farm, "evaluating", 1, FAILURE_NONE);
    g_assert_no_error(error);
    job_free(job);
    farm_clear(&farm);
}

static void test_release_costs_no_strike(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_true(store_release_job(farm.store, job, &error));
    g_assert_true(store_release_job(farm.store, job, &error));
    job_free(job);
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    job_free(farm_claim_one(&farm, 0, POOL_BUILD));
    g_assert_true(store_worker_ended(farm.store, farm.workers[0], &error));
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    job_free(farm_claim_one(&farm, 0, POOL_EVAL));
    g_assert_true(store_worker_lost(farm.store, farm.workers[0], &error));
    g_assert_no_error(error);
    farm_expect_job(&farm, "built", 1, FAILURE_NONE);
    farm_clear(&farm);
}

static void test_partial_outcomes_survive_a_lost_lease(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct progress progress;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    struct round *round = farm_make_round(0);
    farm_evaluate(round, 3.0);
    round->outcomes[1].failure = FAILURE_PENDING;
    g_assert_true(store_partial(farm.store, job, round, &error));
    g_assert_no_error(error);
    round_free(round);
    g_assert_true(store_progress(farm.store, farm.campaign, &progress, &error));
    g_assert_cmpint(progress.evaluating, ==, 1);
    g_assert_cmpint(progress.configs_done, ==, 1);
    g_assert_cmpint(progress.configs_open, ==, 1);
    g_assert_cmpint(progress.kernels_built, ==, 2);
    g_assert_cmpfloat(progress.eval_seconds, ==, 1.5);
    job_free(job);
    g_assert_true(store_worker_lost(farm.store, farm.workers[0], &error));
    job = farm_claim_one(&farm, 1, POOL_EVAL);
    const struct round *open = job->rounds->pdata[0];
    g_assert_cmpfloat(open->outcomes[0].median_ms, ==, 3.0);
    g_assert_cmpint(open->outcomes[1].failure, ==, FAILURE_PENDING);
    job_free(job);
    farm_clear(&farm);
}

/* The state after a connection was lost during a claim: jobs are claimed, and the store knows only
 * the claim's token, by which it releases them. */
static void test_claim_whose_answer_was_lost_is_released(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    job_free(farm_claim_one(&farm, 0, POOL_BUILD));
    g_autoptr(StoreRows) rows =
        store_read(farm.store, &error, "SELECT to_jsonb(b) FROM bundles b WHERE worker_id = $1",
                   "l", farm.workers[0]);
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    g_assert_null(farm_claim_one(&farm, 0, POOL_BUILD));
    farm.store->doubtful_worker = farm.workers[0];
    farm.store->doubtful_token = json_member_int(object, "claim_token");
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    g_assert_cmpint(job->strikes, ==, 0);
    job_free(job);
    farm_clear(&farm);
}

static gpointer release_in_thread(gpointer data)
{
    Store *store = data;
    g_autoptr(GError) error = NULL;
    store_do(store, &error, "SELECT 1", "");
    g_assert_no_error(error);
    return NULL;
}

/* The connection was lost while the server still worked on the claim: the claim's later commit is
 * released, too. */
static void test_claim_that_commits_late_is_released_too(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    Store *broken = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    g_assert_true(store_do(broken, &error, "BEGIN", ""));
    g_autoptr(GPtrArray) jobs = farm_claim(broken, farm.workers[0], POOL_BUILD, 1, 60);
    g_assert_cmpuint(jobs->len, ==, 1);
    g_autoptr(StoreRows) rows =
        store_read(broken, &error, "SELECT to_jsonb(b) FROM bundles b WHERE worker_id = $1", "l",
                   farm.workers[0]);
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    farm.store->doubtful_worker = farm.workers[0];
    farm.store->doubtful_token = json_member_int(object, "claim_token");
    GThread *thread = g_thread_new("release", release_in_thread, farm.store);
    g_usleep(100000);
    g_assert_true(store_do(broken, &error, "COMMIT", ""));
    g_thread_join(thread);
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    store_close(broken);
    farm_clear(&farm);
}

static void test_claim_works_again_when_the_server_is_back(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    g_assert_true(embedded_stop(&error));
    struct claim claim = {.worker = farm.workers[0],
                          .pool = POOL_BUILD,
                          .solvers = farm_carried,
                          .batch = 1,
                          .lease_seconds = 60};
    g_assert_null(store_claim(farm.store, &claim, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    g_clear_error(&error);
    g_assert_true(embedded_start(&error));
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    job_free(job);
    farm_clear(&farm);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/queue/job_goes_round", test_job_goes_round},
    {"/queue/claim/lowest_round_then_priority_goes_first",
     test_lowest_round_then_priority_goes_first},
    {"/queue/claim/worker_gets_only_what_it_carries", test_worker_gets_only_what_it_carries},
    {"/queue/claim/two_workers_never_get_one_job", test_two_workers_never_get_one_job},
    {"/queue/claim/late_result_is_refused", test_late_result_is_refused},
    {"/queue/claim/late_result_of_a_stored_round_is_refused",
     test_late_result_of_a_stored_round_is_refused},
    {"/queue/claim/struck_job_is_claimed_alone", test_struck_job_is_claimed_alone},
    {"/queue/claim/each_part_of_a_bundle_has_its_own_fence",
     test_each_part_of_a_bundle_has_its_own_fence},
    {"/queue/claim/result_after_the_lease_ran_out_is_accepted",
     test_result_after_the_lease_ran_out_is_accepted},
    {"/queue/claim/claim_with_a_lost_answer_is_released",
     test_claim_whose_answer_was_lost_is_released},
    {"/queue/claim/claim_that_commits_late_is_released",
     test_claim_that_commits_late_is_released_too},
    {"/queue/claim/works_again_when_the_server_is_back",
     test_claim_works_again_when_the_server_is_back},
    {"/queue/lease/third_strike_fails_the_job", test_third_strike_fails_the_job},
    {"/queue/lease/late_round_opens_the_campaign_again", test_late_round_opens_the_campaign_again},
    {"/queue/lease/begins_anew_with_the_server", test_lease_begins_anew_with_the_server},
    {"/queue/lease/beat_renews_every_lease", test_beat_renews_every_lease},
    {"/queue/lease/beats_without_progress_end", test_beats_without_progress_end},
    {"/queue/lease/release_costs_no_strike", test_release_costs_no_strike},
    {"/queue/lease/partial_outcomes_survive_its_loss", test_partial_outcomes_survive_a_lost_lease},
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
