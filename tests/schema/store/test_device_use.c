/* Device use: how long GPUs had work while jobs were evaluated. */

#include <locale.h>
#include <math.h>

#include "schema/results/conditions.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

static const struct problem_part all_problems = PROBLEM_PART_ALL;

/* Claims a job of the farm's campaign for evaluation. */
static struct job *claim(struct farm *farm)
{
    static const struct order order = {.jobs = 1, .configs_limit = 4};
    farm_init(farm, &order);
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    farm_built(farm, job, 0);
    job_free(job);
    return farm_claim_one(farm, 0, POOL_EVAL);
}

static void expect_use(struct farm *farm, int64_t job, double seconds, double busy_seconds)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows =
        store_list_part_device_use(farm->store, farm->campaign, &all_problems, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, 1);
    const struct job_device_use *row = g_ptr_array_index(rows, 0);
    g_assert_cmpint(row->job, ==, job);
    g_assert_cmpfloat(row->use.seconds, ==, seconds);
    g_assert_cmpfloat(row->use.busy_seconds, ==, busy_seconds);
}

static void test_a_job_adds_its_claims_up(void)
{
    struct farm farm;
    struct job *job = claim(&farm);
    int64_t id = job->id;
    const struct device_use first = {4, 1}, more = {5, 1.5}, second = {2, 3};
    g_assert_true(store_device_use(farm.store, job, &first, NULL));
    /* more device use, reported under the same claim */
    g_assert_true(store_device_use(farm.store, job, &more, NULL));
    expect_use(&farm, id, 5, 1.5);
    g_assert_true(store_release_job(farm.store, job, NULL));
    struct job *again = farm_claim_one(&farm, 0, POOL_EVAL);
    /* a report of a claim that no longer holds the job */
    g_assert_true(store_device_use(farm.store, job, &second, NULL));
    expect_use(&farm, id, 5, 1.5);
    /* the device was busy all the time */
    g_assert_true(store_device_use(farm.store, again, &second, NULL));
    expect_use(&farm, id, 7, 3.5);
    job_free(again);
    job_free(job);
    farm_clear(&farm);
}

static void test_what_cannot_be_is_refused(void)
{
    const struct device_use wrong[] = {{-1, 0}, {1, -1}, {NAN, 0}, {1, INFINITY}};
    struct farm farm;
    struct job *job = claim(&farm);
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(store_device_use(farm.store, job, &wrong[i], &error));
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
    g_test_add_func("/device_use/a_job_adds_its_claims_up", test_a_job_adds_its_claims_up);
    g_test_add_func("/device_use/impossible_values_are_refused", test_what_cannot_be_is_refused);
    return g_test_run();
}
