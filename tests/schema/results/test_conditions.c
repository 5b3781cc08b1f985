/* Conditions of devices during measurements. */
#include "schema/results/conditions.h"

#include <locale.h>
#include <time.h>

#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

static const struct problem_part all_problems = PROBLEM_PART_ALL;

static const struct conditions cool = {"GPU-a", 2, 1900, 1980, 2619, 2619, 60, 500, 0, 1980};
static const struct conditions warm = {
    "GPU-a", 3, 1700, 1980, 2619, 2619, 85, 690.5, THROTTLE_HEAT | THROTTLE_POWER_CAP, 0};

static void expect_both(const struct conditions *seen)
{
    g_assert_cmpstr(seen->device, ==, "GPU-a");
    g_assert_cmpint(seen->sm_mhz_min, ==, 1700);
    g_assert_cmpint(seen->sm_mhz_max, ==, 1980);
    g_assert_cmpint(seen->memory_mhz_min, ==, 2619);
    g_assert_cmpint(seen->temperature_c, ==, 85);
    g_assert_cmpfloat(seen->power_w, ==, 690.5);
    g_assert_cmphex(seen->throttle, ==, THROTTLE_HEAT | THROTTLE_POWER_CAP);
    g_assert_cmpint(seen->locked_mhz, ==, 0);
}

static void test_samples_add_up(void)
{
    struct conditions all = {0};
    const struct conditions none = {0}, unknown = {.samples = 1, .locked_mhz = 1980};
    conditions_add(&all, &cool);
    conditions_add(&all, &none);
    g_assert_cmpint(all.locked_mhz, ==, 1980);
    conditions_add(&all, &unknown);
    g_assert_cmpint(all.sm_mhz_min, ==, 1900);
    g_assert_cmpint(all.locked_mhz, ==, 1980);
    g_strlcpy(all.device, "GPU-a", sizeof(all.device));
    conditions_add(&all, &warm);
    expect_both(&all);
    g_assert_cmpint(all.samples, ==, 6);
    g_autofree char *why = conditions_throttle_text(all.throttle);
    g_assert_cmpstr(why, ==, "heat, power cap");
}

static void test_what_travels_as_json_is_the_same(void)
{
    struct conditions read;
    json_t *object = conditions_to_json(&warm);
    g_assert_true(json_is_null(json_object_get(object, "locked_mhz")));
    conditions_from_json(object, &read);
    json_decref(object);
    conditions_add(&read, &cool);
    expect_both(&read);
    conditions_from_json(NULL, &read);
    g_assert_cmpint(read.samples, ==, 0);
}

/* Merging in place, by moving the rest of the array for every second row, would take minutes. */
static void test_many_jobs_are_merged_in_little_time(void)
{
    enum { JOBS = 400000, CPU_SECONDS = 10 };
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < 2 * JOBS; i++) {
        struct job_conditions *row = g_new0(struct job_conditions, 1);
        row->job = i / 2;
        row->seen = i % 2 == 0 ? cool : warm;
        g_ptr_array_add(rows, row);
    }
    clock_t start = clock();
    rows = conditions_merge(g_steal_pointer(&rows));
    g_assert_cmpfloat((double)(clock() - start) / CLOCKS_PER_SEC, <, CPU_SECONDS);
    g_assert_cmpuint(rows->len, ==, JOBS);
    for (int i = 0; i < JOBS; i++) {
        const struct job_conditions *row = g_ptr_array_index(rows, i);
        g_assert_cmpint(row->job, ==, i);
        g_assert_cmpint(row->seen.samples, ==, cool.samples + warm.samples);
    }
    const struct job_conditions *last = g_ptr_array_index(rows, JOBS - 1);
    expect_both(&last->seen);
}

static const struct conditions *only_job(GPtrArray *rows, int64_t job)
{
    g_assert_cmpuint(rows->len, ==, 1);
    const struct job_conditions *row = g_ptr_array_index(rows, 0);
    g_assert_cmpint(row->job, ==, job);
    return &row->seen;
}

/* A job's conditions sum up its rounds, and the samples of all children that measured one round. A
 * job that takes over the results gets a copy. */
static void test_a_job_keeps_what_its_device_did(void)
{
    const struct order order = {.jobs = 1, .configs_limit = 4};
    struct farm farm;
    g_autoptr(GError) error = NULL;
    int64_t id = 0;
    int reused = 0;
    farm_init(&farm, &order);
    for (int number = 0; number < 2; number++) {
        struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
        farm_built(&farm, job, number);
        job_free(job);
        job = farm_claim_one(&farm, 0, POOL_EVAL);
        id = job->id;
        g_assert_true(store_conditions(farm.store, job, number, &cool, &error));
        g_assert_true(number == 0 || store_conditions(farm.store, job, number, &warm, &error));
        g_assert_no_error(error);
        farm_round(&farm, job, number, number == 0, 1);
        job_free(job);
    }
    g_autoptr(GPtrArray) rows =
        store_list_part_conditions(farm.store, farm.campaign, &all_problems, &error);
    g_assert_no_error(error);
    expect_both(only_job(rows, id));
    int64_t second = farm_create(farm.store, &order, &reused);
    g_assert_cmpint(reused, ==, 1);
    g_autoptr(GPtrArray) copied =
        store_list_part_conditions(farm.store, second, &all_problems, &error);
    g_assert_cmpuint(copied->len, ==, 1);
    expect_both(&((const struct job_conditions *)g_ptr_array_index(copied, 0))->seen);
    farm_clear(&farm);
}

/* Claims the farm's job for its open round, which a hot device then measures. */
static struct job *measure_hot(struct farm *farm, int number)
{
    g_autoptr(GError) error = NULL;
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    farm_built(farm, job, number);
    job_free(job);
    job = farm_claim_one(farm, 0, POOL_EVAL);
    g_assert_true(store_conditions(farm->store, job, number, &warm, &error));
    g_assert_no_error(error);
    return job;
}

static void test_a_job_that_is_retried_forgets_its_device(void)
{
    const struct order order = {.jobs = 1, .configs_limit = 4};
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &order);
    struct job *job = measure_hot(&farm, 0);
    g_assert_true(store_fail_job(farm.store, job, FAILURE_DEVICE_FAULT, "words", &error));
    job_free(job);
    farm_change(&farm, "retry");
    job = farm_claim_one(&farm, 1, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 1, POOL_EVAL);
    g_assert_true(store_conditions(farm.store, job, 0, &cool, &error));
    g_assert_no_error(error);
    g_autoptr(GPtrArray) rows =
        store_list_part_conditions(farm.store, farm.campaign, &all_problems, &error);
    const struct conditions *seen = only_job(rows, job->id);
    g_assert_cmpint(seen->samples, ==, cool.samples);
    g_assert_cmpint(seen->temperature_c, ==, cool.temperature_c);
    g_assert_cmphex(seen->throttle, ==, cool.throttle);
    job_free(job);
    farm_clear(&farm);
}

static void test_a_round_that_the_budget_ends_has_none(void)
{
    const struct order order = {.jobs = 1, .configs_limit = 4, .budget_seconds = 100};
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &order);
    farm_work(&farm, 0, true, 10);
    struct job *job = measure_hot(&farm, 1);
    g_assert_true(store_release_job(farm.store, job, &error));
    g_assert_true(store_set_campaign(farm.store, farm.campaign,
                                     &(struct campaign_changes){.budget_seconds = &(double){5}},
                                     &error));
    g_assert_no_error(error);
    g_assert_null(farm_claim_one(&farm, 0, POOL_EVAL));
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    g_autoptr(GPtrArray) rows =
        store_list_part_conditions(farm.store, farm.campaign, &all_problems, &error);
    g_assert_cmpuint(rows->len, ==, 0);
    job_free(job);
    farm_clear(&farm);
}

static void test_who_lost_the_job_adds_nothing(void)
{
    const struct order order = {.jobs = 1, .configs_limit = 4};
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &order);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    struct job *lost = farm_claim_one(&farm, 0, POOL_EVAL);
    g_assert_true(store_release_job(farm.store, lost, &error));
    job = farm_claim_one(&farm, 1, POOL_EVAL);
    g_assert_true(store_conditions(farm.store, lost, 0, &warm, &error));
    g_autoptr(GPtrArray) rows =
        store_list_part_conditions(farm.store, farm.campaign, &all_problems, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, 0);
    job_free(lost);
    job_free(job);
    farm_clear(&farm);
}

static void test_what_cannot_be_is_refused(void)
{
    const struct order order = {.jobs = 1, .configs_limit = 4};
    struct farm farm;
    farm_init(&farm, &order);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    struct conditions wrong[] = {cool, cool, cool};
    wrong[0].samples = 0;
    wrong[1].power_w = 1e7;
    wrong[2].throttle = (unsigned)-1;
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(store_conditions(farm.store, job, 0, &wrong[i], &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    }
    job_free(job);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/conditions/samples_add_up", test_samples_add_up);
    g_test_add_func("/conditions/json_round_trip_is_exact", test_what_travels_as_json_is_the_same);
    g_test_add_func("/conditions/many_jobs_are_merged_in_little_time",
                    test_many_jobs_are_merged_in_little_time);
    g_test_add_func("/conditions/a_job_keeps_what_its_device_did",
                    test_a_job_keeps_what_its_device_did);
    g_test_add_func("/conditions/a_job_that_is_retried_forgets_its_device",
                    test_a_job_that_is_retried_forgets_its_device);
    g_test_add_func("/conditions/a_round_that_the_budget_ends_has_none",
                    test_a_round_that_the_budget_ends_has_none);
    g_test_add_func("/conditions/worker_that_lost_the_job_adds_nothing",
                    test_who_lost_the_job_adds_nothing);
    g_test_add_func("/conditions/impossible_values_are_refused", test_what_cannot_be_is_refused);
    return g_test_run();
}
