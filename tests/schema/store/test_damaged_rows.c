/* Rows that no importer, planner or worker writes, written straight into the database: every reader
 * reports an error, and nothing else happens. */
#include "schema/store/store_events.h"
#include "schema/store/store_private.h"
#include "schema/store/store_problems.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/queue_farm.h"

static void run(struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, sql, "");
    g_assert_no_error(error);
}

/* ---- rows that a claim reads ---- */

static const struct {
    const char *sql, *words;
    enum pool pool;
} claims[] = {
    {"UPDATE problems SET types = '{FP99,FP32,FP32}'", "*data type 'FP99'*", POOL_BUILD},
    {"UPDATE problems SET layouts = ARRAY['NCHW', '', 'NCHW']", "*layout ''*", POOL_BUILD},
    {"UPDATE problems SET direction = 'FB'", "*direction 'FB'*", POOL_BUILD},
    {"UPDATE problems SET kind = 'dance'", "*kind 'dance'*", POOL_BUILD},
    {"UPDATE problems SET kind = 'pool'", "*'' is no mode of pool*", POOL_BUILD},
    {"UPDATE problems SET mode = 'max'", "*'max' is no mode of conv*", POOL_BUILD},
    {"UPDATE problems SET mode = repeat('x', 100)", "*mode has more than*", POOL_BUILD},
    {"UPDATE problems SET strides = array_fill(0, ARRAY[20])", "*strides are all 0*", POOL_BUILD},
    {"UPDATE problems SET strides = array_fill(-1, ARRAY[20])", "*out of range*", POOL_BUILD},
    {"UPDATE problems SET strides = array_fill(1, ARRAY[20])", "*not in canonical form*",
     POOL_BUILD},
    {"UPDATE problems SET n = 1::bigint << 40", "*n is not a 32-bit number*", POOL_BUILD},
    {"UPDATE problems SET stride = '{1,0,1}'", "*conv_stride_h is 0*", POOL_BUILD},
    {"UPDATE problems SET epilogue = repeat('x', 100000)", "*epilogue has more than*", POOL_BUILD},
    {"UPDATE problems SET epilogue = '+nothing'", "*epilogue*canonical*", POOL_BUILD},
    {"UPDATE rounds SET number = 0, config_counts = '{2,2,2}'", "*has 2 elements for 3*",
     POOL_EVAL},
    {"UPDATE rounds SET config_counts = '{2,32000}'", "*not have 0 to 16 values*", POOL_EVAL},
    {"UPDATE rounds SET config_counts = '{2,-1}'", "*not have 0 to 16 values*", POOL_EVAL},
    {"UPDATE rounds SET config_values = '{1}'", "*lacks a value*", POOL_EVAL},
    {"UPDATE rounds SET config_values = '{1,2,3,4,5}'", "*1 values more*", POOL_EVAL},
    {"UPDATE rounds SET kernel_keys = '{}'", "*kernel_keys*0 elements*", POOL_EVAL},
    {"UPDATE rounds SET failures = '{15,15,15}'", "*failures*3 elements*", POOL_EVAL},
    {"UPDATE rounds SET failures = '{15,99}'", "*unknown failure*", POOL_EVAL},
    {"UPDATE rounds SET details = '{{a,b},{c,d},{e,f}}'", "*details*3 elements*", POOL_EVAL},
    {"UPDATE rounds SET build_seconds = '{1}'", "*build_seconds*1 elements*", POOL_EVAL},
};

static void expect_damaged(struct farm *farm, gsize i)
{
    run(farm, "BEGIN");
    run(farm, claims[i].sql);
    store_known_clear(farm->store);
    struct job *job = farm_claim_one(farm, 1, claims[i].pool);
    g_assert_nonnull(job);
    g_test_message("%s", job->damage ? job->damage : claims[i].sql);
    g_assert_true(job->damage && g_pattern_match_simple(claims[i].words, job->damage));
    /* The job can be failed, and the reason is stored. */
    g_assert_true(store_fail_job(farm->store, job, FAILURE_REFUSED_BY_CHECK, job->damage, NULL));
    g_autoptr(StoreRows) ends =
        store_read(farm->store, NULL, "SELECT failure, detail FROM job_ends", "");
    g_assert_cmpstr(PQgetvalue(ends, 0, 0), ==, "14");
    g_assert_cmpstr(PQgetvalue(ends, 0, 1), ==, job->damage);
    job_free(job);
    run(farm, "ROLLBACK");
    store_known_clear(farm->store);
}

static void a_claim_tells_what_is_damaged(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    for (gsize i = 0; i < G_N_ELEMENTS(claims); i++)
        if (claims[i].pool == POOL_BUILD)
            expect_damaged(&farm, i);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    for (gsize i = 0; i < G_N_ELEMENTS(claims); i++)
        if (claims[i].pool == POOL_EVAL)
            expect_damaged(&farm, i);
    farm_clear(&farm);
}

/* ---- rows that listings read ---- */

static gpointer list_problems(struct farm *farm, GError **error)
{
    return store_list_problems(farm->store, NULL, error);
}

static gpointer list_results(struct farm *farm, GError **error)
{
    return store_list_results(farm->store, farm->campaign, error);
}

static gpointer list_outcomes(struct farm *farm, GError **error)
{
    return store_list_outcomes(farm->store, farm->campaign, error);
}

static gpointer list_quarantine(struct farm *farm, GError **error)
{
    return store_list_quarantine(farm->store, error);
}

static gpointer list_targets(struct farm *farm, GError **error)
{
    return store_list_targets(farm->store, error);
}

static gpointer list_jobs(struct farm *farm, GError **error)
{
    return store_list_jobs(farm->store, farm->campaign, error);
}

static const struct {
    const char *sql;
    gpointer (*list)(struct farm *farm, GError **error);
} lists[] = {
    {"UPDATE problems SET c = 3, groups = 2", list_problems},
    {"UPDATE problems SET casts = '{x,x,x}'", list_jobs},
    {"UPDATE results SET config = array_fill(1, ARRAY[17])", list_results},
    {"UPDATE results SET workspace_bytes = -1", list_results},
    {"UPDATE outcomes SET n = '{1}'", list_outcomes},
    {"UPDATE outcomes SET n = '{-1,0}'", list_outcomes},
    {"UPDATE outcomes SET min_ms = '{1,2,3}'", list_outcomes},
    {"UPDATE outcomes SET failures = '{-1,0}'", list_outcomes},
    {"INSERT INTO quarantine (solver_id, problem_id, target, config, failure, detail)"
     " SELECT s.id, p.id, 'gfx90a68', '{}', 77, '' FROM solvers s, problems p LIMIT 1",
     list_quarantine},
    {"UPDATE targets SET vendor = 'acme'", list_targets},
    {"UPDATE targets SET arch = 'gfx908'", list_targets},
    {"UPDATE targets SET wave_size = 0", list_targets},
    {"UPDATE targets SET max_workgroup = -1", list_targets},
    {"UPDATE targets SET peak_flops = 'NaN'", list_targets},
    {"UPDATE targets SET local_bytes = 1::bigint << 62", list_targets},
};

static void a_list_with_a_damaged_row_is_an_error(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    run(&farm, "ALTER TABLE quarantine DROP CONSTRAINT quarantine_is_fit");
    for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_autoptr(GError) error = NULL;
        run(&farm, "BEGIN");
        run(&farm, lists[i].sql);
        g_test_message("%s", lists[i].sql);
        g_assert_null(lists[i].list(&farm, &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_DAMAGED);
        run(&farm, "ROLLBACK");
    }
    farm_clear(&farm);
}

static void numbers_beyond_all_measure_are_read(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    /* PostgreSQL sends flops as a number of 301 digits, and NaN as a text. */
    run(&farm, "UPDATE results SET flops = 1e300, median_ms = 'NaN'");
    g_autoptr(GPtrArray) results = store_list_results(farm.store, farm.campaign, &error);
    g_assert_no_error(error);
    const struct result *result = g_ptr_array_index(results, 0);
    g_assert_cmpfloat(result->kept.flops, ==, 1e300);
    g_assert_false(result->kept.outcome.median_ms > 0);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/damaged_rows/claimed_job_describes_its_damage",
                    a_claim_tells_what_is_damaged);
    g_test_add_func("/damaged_rows/a_list_with_a_damaged_row_is_an_error",
                    a_list_with_a_damaged_row_is_an_error);
    g_test_add_func("/damaged_rows/huge_numbers_are_read", numbers_beyond_all_measure_are_read);
    return g_test_run();
}
