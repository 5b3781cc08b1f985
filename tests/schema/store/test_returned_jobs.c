/* Jobs that a sick device ended go to another device, but only once. */
#include "schema/store/store_events.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <string.h>

#define FAULT "the eval child died on GPU-b"

/* The campaign's only job, built and claimed by a worker that measures. */
static struct job *claim_built(struct farm *farm, int worker)
{
    struct job *job = farm_claim_one(farm, worker, POOL_BUILD);
    g_assert_nonnull(job);
    farm_built(farm, job, (int)job->rounds->len);
    job_free(job);
    job = farm_claim_one(farm, worker, POOL_EVAL);
    g_assert_nonnull(job);
    return job;
}

static struct job *fail_one(struct farm *farm, int worker, enum failure failure)
{
    g_autoptr(GError) error = NULL;
    struct job *job = claim_built(farm, worker);
    g_assert_true(store_fail_job(farm->store, job, failure, FAULT, &error));
    g_assert_no_error(error);
    return job;
}

static void give_back(struct farm *farm, const struct job *job, int worker, const char *device)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(store_return_job(farm->store, job, farm->workers[worker], device, &error));
    g_assert_no_error(error);
}

static void expect_event(struct farm *farm, const char *kind, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = store_list_events_of(farm->store, farm->campaign, kind, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, words != NULL);
    if (words && rows->len == 1)
        g_assert_cmpstr(((const struct event_row *)rows->pdata[0])->detail, ==, words);
}

static void expect_detail(struct farm *farm, const char *words)
{
    g_autoptr(GPtrArray) rows = NULL;
    g_assert_cmpstr(farm_job_row(farm, farm->campaign, 0, &rows)->detail, ==, words);
}

static const enum failure blamed[] = {FAILURE_DEVICE_FAULT, FAILURE_RUN_TIMEOUT};

static void test_it_is_ready_for_another_device(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(blamed); i++) {
        struct farm farm;
        farm_init(&farm, &(struct order){.jobs = 1});
        struct job *job = fail_one(&farm, 0, blamed[i]);
        farm_expect_campaign(&farm, farm.campaign, "done");
        give_back(&farm, job, 0, "GPU-a");
        farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
        farm_expect_campaign(&farm, farm.campaign, "active");
        expect_event(&farm, "job returned", "it failed on GPU-a, which is out of service");
        job_free(job);
        farm_work(&farm, 0, false, 1);
        farm_expect_job(&farm, "done", 0, FAILURE_NONE);
        farm_clear(&farm);
    }
}

static void test_a_second_device_ends_it(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = fail_one(&farm, 0, FAILURE_DEVICE_FAULT);
    give_back(&farm, job, 0, "GPU-a");
    job_free(job);
    job = fail_one(&farm, 1, FAILURE_DEVICE_FAULT);
    expect_detail(&farm, FAULT "; before that it failed on GPU-a");
    give_back(&farm, job, 1, "GPU-b");
    farm_expect_job(&farm, "failed", 0, FAILURE_DEVICE_FAULT);
    expect_event(&farm, "job stays failed",
                 "it failed on GPU-b, which is out of service; before that it failed on GPU-a");
    job_free(job);
    farm_clear(&farm);
}

/* Hands in a round without a verified config, so that the job fails with its most frequent
 * failure. */
static void test_rounds_without_a_result_go_with_it(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    for (int device = 0; device < 2; device++) {
        struct job *job = claim_built(&farm, device);
        struct round *round = farm_make_round(0);
        farm_evaluate(round, 1);
        for (int i = 0; i < round->config_count; i++) {
            round->outcomes[i] = (struct outcome){.failure = FAILURE_DEVICE_FAULT};
            g_free(round->details[i]);
            round->details[i] = g_strdup(FAULT);
        }
        g_assert_true(store_round(farm.store, job, round, NULL, 0, false, 1, &error));
        g_assert_no_error(error);
        farm_expect_job(&farm, "failed", 0, FAILURE_DEVICE_FAULT);
        expect_detail(&farm, device == 0 ? FAULT : FAULT "; before that it failed on GPU-a");
        if (device == 0)
            give_back(&farm, job, device, "GPU-a");
        round_free(round);
        job_free(job);
    }
    farm_clear(&farm);
}

static void test_what_was_verified_stays(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, true, 1);
    struct job *job = fail_one(&farm, 0, FAILURE_DEVICE_FAULT);
    give_back(&farm, job, 0, "GPU-a");
    job_free(job);
    job = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_cmpuint(job->rounds->len, ==, 1);
    job_free(job);
    farm_clear(&farm);
}

static void test_other_ends_stay(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = fail_one(&farm, 0, FAILURE_LOAD_ERROR);
    give_back(&farm, job, 0, "GPU-a");
    farm_expect_job(&farm, "failed", 0, FAILURE_LOAD_ERROR);
    job_free(job);
    farm_clear(&farm);
    farm_init(&farm, &(struct order){.jobs = 2});
    job = fail_one(&farm, 0, FAILURE_DEVICE_FAULT);
    farm_change(&farm, "cancel");
    give_back(&farm, job, 0, "GPU-a");
    farm_expect_job(&farm, "failed", 0, FAILURE_DEVICE_FAULT);
    expect_event(&farm, "job returned", NULL);
    job_free(job);
    farm_clear(&farm);
}

static void expect_quarantine(struct farm *farm, guint count)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = store_list_quarantine(farm->store, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, count);
}

/* Does what an agent does when its device is found faulty during a job. */
static void fault_at_hand(struct farm *farm, struct job *job, int worker, const char *device)
{
    struct perf_config config = {.count = 2, .values = {0, 0}};
    g_autoptr(GError) error = NULL;
    g_assert_true(
        store_quarantine(farm->store, job, &config, FAILURE_DEVICE_FAULT, "crash", &error));
    give_back(farm, job, worker, device);
    g_assert_true(store_lift_quarantine(farm->store, job, &config, &error));
    g_assert_true(store_release_job(farm->store, job, &error));
    g_assert_no_error(error);
    job_free(job);
}

static struct job *claim_again(struct farm *farm, int worker)
{
    struct job *job = farm_claim_one(farm, worker, POOL_EVAL);
    g_assert_nonnull(job);
    return job;
}

static void test_one_at_hand_ends_with_a_second_device(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    fault_at_hand(&farm, claim_built(&farm, 0), 0, "GPU-a");
    farm_expect_job(&farm, "built", 0, FAILURE_NONE);
    expect_quarantine(&farm, 0);
    fault_at_hand(&farm, claim_again(&farm, 1), 1, "GPU-a"); /* the worker was started again */
    farm_expect_job(&farm, "built", 0, FAILURE_NONE);
    fault_at_hand(&farm, claim_again(&farm, 0), 0, "GPU-b");
    farm_expect_job(&farm, "failed", 0, FAILURE_DEVICE_FAULT);
    expect_detail(&farm,
                  "it failed on GPU-b, which is out of service; before that it failed on GPU-a");
    expect_quarantine(&farm, 1);
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

/* The device comes back, and the worker goes on; a call whose answer was lost is repeated. */
static void test_a_device_that_comes_back_ends_it_too(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = claim_built(&farm, 0);
    give_back(&farm, job, 0, "GPU-a");
    fault_at_hand(&farm, job, 0, "GPU-a");
    farm_expect_job(&farm, "built", 0, FAILURE_NONE);
    fault_at_hand(&farm, claim_again(&farm, 0), 0, "GPU-a");
    farm_expect_job(&farm, "failed", 0, FAILURE_DEVICE_FAULT);
    expect_detail(&farm,
                  "it failed on GPU-a, which is out of service; before that it failed on GPU-a");
    expect_quarantine(&farm, 1);
    farm_clear(&farm);
}

/* Only the worker that quarantined a config of an ended job can lift the quarantine, and only the
 * worker of a job can return the job. */
static void test_a_node_returns_its_own_alone(void)
{
    struct role_farm f;
    struct perf_config config = {.count = 2, .values = {0, 0}};
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    struct job *job = claim_built(&f.farm, 0);
    g_assert_true(
        store_quarantine(f.farm.store, job, &config, FAILURE_DEVICE_FAULT, "crash", &error));
    farm_round(&f.farm, job, 0, false, 1);
    g_assert_true(store_lift_quarantine(f.farm.store, job, &config, &error));
    g_assert_no_error(error);
    job_free(job);
    role_farm_clear(&f);
    role_farm_init(&f, 1);
    job = fail_one(&f.farm, 0, FAILURE_DEVICE_FAULT);
    g_assert_true(store_return_job(f.two, job, f.farm.workers[1], "GPU-b", &error));
    role_expect_count(f.boss, "SELECT count(*) FROM job_ends", "1");
    give_back(&f.farm, job, 0, "GPU-a");
    role_expect_count(f.boss, "SELECT count(*) FROM job_ends", "0");
    job_free(job);
    role_farm_clear(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/returned_jobs/returned_job_is_ready_for_another_device",
                    test_it_is_ready_for_another_device);
    g_test_add_func("/returned_jobs/a_second_device_ends_it", test_a_second_device_ends_it);
    g_test_add_func("/returned_jobs/held_job_fails_with_a_second_device",
                    test_one_at_hand_ends_with_a_second_device);
    g_test_add_func("/returned_jobs/a_device_that_comes_back_ends_it_too",
                    test_a_device_that_comes_back_ends_it_too);
    g_test_add_func("/returned_jobs/rounds_without_a_result_go_with_it",
                    test_rounds_without_a_result_go_with_it);
    g_test_add_func("/returned_jobs/verified_results_stay", test_what_was_verified_stays);
    g_test_add_func("/returned_jobs/jobs_that_ended_otherwise_stay_ended", test_other_ends_stay);
    role_farm_make_logins();
    g_test_add_func("/returned_jobs/a_node_returns_its_own_alone",
                    test_a_node_returns_its_own_alone);
    return g_test_run();
}
