/* A campaign is read in parts of its problems: each problem is in one part, with all its jobs and
 * results. */
#include "schema/results/conditions.h"
#include "schema/store/store_private.h"

#include <locale.h>
#include <string.h>

#include "tests/support/farm/queue_farm.h"

#define JOBS 5 /* each with a problem of its own */

static void work(struct farm *farm)
{
    const struct conditions seen = {.device = "GPU-a", .samples = 1};
    const struct device_use use = {2, 1};
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    farm_built(farm, job, 0);
    job_free(job);
    job = farm_claim_one(farm, 0, POOL_EVAL);
    g_assert_true(store_conditions(farm->store, job, 0, &seen, NULL));
    g_assert_true(store_device_use(farm->store, job, &use, NULL));
    farm_round(farm, job, 0, false, 1);
    job_free(job);
}

static void worked_farm(struct farm *farm)
{
    farm_init(farm, &(struct order){.jobs = JOBS});
    for (int i = 0; i < JOBS; i++)
        work(farm);
}

/* Asserts that the list has `each` rows of each of these jobs and no others; frees the list. */
static void expect_jobs(GPtrArray *list, const GPtrArray *jobs, guint each, int64_t (*job)(void *))
{
    g_autoptr(GHashTable) known = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_assert_nonnull(list);
    g_assert_cmpuint(list->len, ==, jobs->len * each);
    for (guint i = 0; i < jobs->len; i++)
        g_hash_table_add(known, &((struct job_row *)g_ptr_array_index(jobs, i))->id);
    for (guint i = 0; i < list->len; i++) {
        int64_t id = job(g_ptr_array_index(list, i));
        g_assert_true(g_hash_table_contains(known, &id));
    }
    g_ptr_array_unref(list);
}

static int64_t of_result(void *row)
{
    return ((struct result *)row)->job;
}

static int64_t of_use(void *row)
{
    return ((struct job_device_use *)row)->job;
}

static int64_t of_conditions(void *row)
{
    return ((struct job_conditions *)row)->job;
}

/* Lists a part's jobs, and asserts that the part's other lists have rows of these jobs only. */
static GPtrArray *expect_part(struct farm *farm, const struct problem_part *part)
{
    Store *store = farm->store;
    int64_t id = farm->campaign;
    GPtrArray *jobs = store_list_part_jobs(store, id, part, NULL);
    g_assert_nonnull(jobs);
    expect_jobs(store_list_part_results(store, id, part, NULL), jobs, 1, of_result);
    expect_jobs(store_list_part_device_use(store, id, part, NULL), jobs, 1, of_use);
    expect_jobs(store_list_part_conditions(store, id, part, NULL), jobs, 1, of_conditions);
    g_autoptr(GPtrArray) rejections = store_list_part_rejections(store, id, part, NULL);
    g_assert_cmpuint(rejections->len, ==, jobs->len);
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = g_ptr_array_index(jobs, i);
        const struct config_outcome *rejection = g_ptr_array_index(rejections, i);
        g_assert_true(problem_equal(&rejection->problem, &job->problem));
    }
    return jobs;
}

static void each_problem_is_in_one_part_with_all_that_came_of_it(void)
{
    static const guint expected[] = {2, 2, 1};
    struct problem_part part = PROBLEM_PART_BEGIN;
    struct farm farm;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    worked_farm(&farm);
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_assert_cmpint(part.last, <, INT64_MAX);
        g_assert_true(store_next_problems(farm.store, farm.campaign, 2, &part, NULL));
        g_autoptr(GPtrArray) jobs = expect_part(&farm, &part);
        g_assert_cmpuint(jobs->len, ==, expected[i]);
        for (guint j = 0; j < jobs->len; j++) {
            const struct job_row *job = g_ptr_array_index(jobs, j);
            g_assert_true(g_hash_table_add(seen, g_memdup2(&job->id, sizeof job->id)));
        }
    }
    g_assert_cmpint(part.last, ==, INT64_MAX);
    farm_clear(&farm);
}

static void a_job_without_its_problem_is_damaged(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    worked_farm(&farm);
    g_assert_true(store_do(farm.store, NULL,
                           "UPDATE jobs SET problem_id = 77000 WHERE id ="
                           " (SELECT max(id) FROM jobs)",
                           ""));
    g_assert_null(store_list_jobs(farm.store, farm.campaign, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "there is no problem 77000"));
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/store_parts/each_problem_is_in_one_part_with_all_that_came_of_it",
                    each_problem_is_in_one_part_with_all_that_came_of_it);
    g_test_add_func("/store_parts/a_job_without_its_problem_is_damaged",
                    a_job_without_its_problem_is_damaged);
    return g_test_run();
}
