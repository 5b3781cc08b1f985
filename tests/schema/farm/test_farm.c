/* The farm's state, as each role may read it, and the reports of workers. */
#include "schema/farm/farm.h"

#include <locale.h>
#include <string.h>

#include "schema/store/store_private.h"

#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

static const struct farm_campaign *only_campaign(const struct farm_state *farm)
{
    g_assert_cmpuint(farm->campaigns->len, ==, 1);
    return g_ptr_array_index(farm->campaigns, 0);
}

static void test_jobs_are_counted_where_they_stand(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 3);
    farm_work(&f.farm, 0, false, 1);
    job_free(farm_claim_one(&f.farm, 0, POOL_BUILD));
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    g_assert_true(store_fail_job(f.farm.store, job, FAILURE_REFUSED_BY_CHECK, "words", &error));
    job_free(job);
    struct farm_state *farm = farm_read(f.guest, &error);
    g_assert_no_error(error);
    const struct farm_campaign *campaign = only_campaign(farm);
    g_assert_cmpint(campaign->jobs, ==, 3);
    g_assert_cmpint(campaign->done, ==, 1);
    g_assert_cmpint(campaign->building, ==, 1);
    g_assert_cmpint(campaign->failed, ==, 1);
    g_assert_cmpint(campaign->failures[FAILURE_REFUSED_BY_CHECK], ==, 1);
    g_assert_cmpint(campaign->workers, ==, 1);
    g_assert_cmpuint(farm->workers->len, ==, 2);
    const struct farm_worker *worker = g_ptr_array_index(farm->workers, 0);
    g_assert_cmpstr(worker->state, ==, "working");
    g_assert_cmpint(worker->jobs, ==, 1);
    worker = g_ptr_array_index(farm->workers, 1);
    g_assert_cmpstr(worker->state, ==, "idle");
    g_assert_cmpfloat(farm->database.oldest_claim_seconds, >, 0);
    g_assert_cmpint(farm->database.connections, >=, 3);
    farm_free(farm);
    role_farm_clear(&f);
}

static void test_workers_tell_what_they_did(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    const struct farm_counts counts = {
        .jobs = 3, .configs = 12, .kernels = 7, .failures = {[FAILURE_WRONG_RESULT] = 2}};
    role_farm_init(&f, 1);
    g_assert_true(farm_report_worker(f.farm.store, f.farm.workers[0], &counts, &error));
    g_assert_true(farm_report_worker(f.farm.store, f.farm.workers[0], &counts, &error));
    g_assert_no_error(error);
    role_expect_count(f.boss,
                      "SELECT sum(jobs + configs + kernels) FROM farm_samples WHERE"
                      " at = (SELECT max(at) FROM farm_samples)",
                      "22");
    struct farm_state *farm = farm_read(f.boss, &error);
    g_assert_no_error(error);
    const struct farm_worker *worker = g_ptr_array_index(farm->workers, 0);
    g_assert_cmpint(worker->failures[FAILURE_WRONG_RESULT], ==, 2);
    farm_free(farm);
    role_expect_refused(farm_report_worker(f.farm.store, f.farm.workers[1], &counts, &error),
                        &error, STORE_ERROR_ACCESS, "has not its secret");
    role_farm_clear(&f);
}

static void test_workers_tell_what_their_devices_are(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    const struct worker_device devices[] = {
        {"0", "Some GPU", "sm_90_132_80g", "GPU-1", "0000:65:00.0", "",
         "cuda 13.0; driver 580.159.03"},
        {"1", "Some GPU", "sm_90_132_80g", "", "", "MIG 1g.10gb", NULL},
    };
    struct worker_info info = {
        .node = "many", .process = "p1", .devices = devices, .device_count = 2};
    int64_t worker;
    role_farm_init(&f, 1);
    g_assert_true(store_register_worker(f.farm.store, &info, &worker, &error));
    g_assert_true(store_register_worker(f.farm.store, &info, &worker, &error));
    g_assert_no_error(error);
    struct farm_state *farm = farm_read(f.guest, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(farm->devices->len, ==, 2);
    const struct farm_device *first = g_ptr_array_index(farm->devices, 0);
    const struct farm_device *second = g_ptr_array_index(farm->devices, 1);
    g_assert_cmpint(first->worker, ==, worker);
    g_assert_cmpstr(first->node, ==, "many");
    g_assert_cmpstr(first->uuid, ==, "GPU-1");
    g_assert_cmpstr(first->address, ==, "0000:65:00.0");
    g_assert_cmpstr(first->stack, ==, "cuda 13.0; driver 580.159.03");
    g_assert_cmpstr(second->device, ==, "1");
    g_assert_cmpstr(second->uuid, ==, "");
    g_assert_cmpstr(second->partition, ==, "MIG 1g.10gb");
    farm_free(farm);
    g_assert_true(store_worker_ended(f.farm.store, worker, &error));
    farm = farm_read(f.guest, &error);
    g_assert_cmpuint(farm->devices->len, ==, 0);
    farm_free(farm);
    role_farm_clear(&f);
}

/* A worker's report with impossible counts is refused, since it would falsify the sums over all
 * workers. */
static void test_what_is_no_count_is_refused(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    const struct farm_counts negative = {.jobs = -1};
    const struct farm_counts huge = {.jobs = 1, .kernels = G_MAXINT64};
    role_farm_init(&f, 1);
    int64_t worker = f.farm.workers[0];
    role_expect_refused(farm_report_worker(f.farm.store, worker, &negative, &error), &error,
                        STORE_ERROR_QUERY, "tells no counts");
    role_expect_refused(farm_report_worker(f.farm.store, worker, &huge, &error), &error,
                        STORE_ERROR_QUERY, "tells no counts");
    role_expect_count(f.boss, "SELECT count(*) FROM workers WHERE counts <> '{}'", "0");
    role_farm_clear(&f);
}

static void test_upkeep_is_one_at_a_time(void)
{
    struct role_farm f;
    bool begun = false;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    g_autoptr(Store) other = role_open("boss");
    g_assert_true(farm_begin_upkeep(f.boss, 60, &begun, &error));
    g_assert_true(begun);
    g_assert_true(farm_begin_upkeep(other, 60, &begun, &error));
    g_assert_false(begun);
    g_assert_true(farm_end_upkeep(f.boss, 1, "all", &error));
    g_assert_true(farm_begin_upkeep(other, 60, &begun, &error));
    g_assert_false(begun); /* the last upkeep ended less than 60 s ago */
    g_assert_true(farm_begin_upkeep(other, 0, &begun, &error));
    g_assert_true(begun);
    g_assert_true(farm_end_upkeep(other, 1, NULL, &error)); /* upkeep was stopped: the next
                                                             * session may begin at once */
    g_assert_true(farm_begin_upkeep(other, 60, &begun, &error));
    g_assert_true(begun);
    g_clear_pointer(&other, store_close); /* the session is killed during upkeep */
    for (gint64 limit = patience_end(); !(farm_begin_upkeep(f.boss, 0, &begun, &error) && begun) &&
                                        g_get_monotonic_time() < limit;)
        g_usleep(10000);
    g_assert_true(begun);
    g_assert_no_error(error);
    role_expect_refused(farm_begin_upkeep(f.guest, 0, &begun, &error), &error, STORE_ERROR_ACCESS,
                        "begin_upkeep");
    role_farm_clear(&f);
}

/* `status` shows a snapshot that is held open, and the time limit of the login that holds it. */
static void test_a_snapshot_that_is_held_is_seen(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    g_autoptr(Store) owner = store_open(scratch_db_url(), &error);
    g_assert_true(store_do(owner, &error, "BEGIN", ""));
    g_usleep(300000);
    Store *const askers[] = {f.boss, f.guest};
    for (gsize i = 0; i < G_N_ELEMENTS(askers); i++) {
        struct farm_state *farm = farm_read(askers[i], &error);
        g_assert_no_error(error);
        g_assert_cmpfloat(farm->database.oldest_transaction_seconds, >, 0.2);
        farm_free(farm);
    }
    role_farm_clear(&f);
}

/* Workers that have been silent for a day count as ended: workers of a removed node never report
 * their end. */
static void test_who_is_silent_for_a_day_is_gone(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    g_autoptr(Store) owner = store_open(scratch_db_url(), &error);
    g_assert_true(
        store_do(owner, &error,
                 "INSERT INTO workers (node, process, target, stack, beat_at)"
                 " SELECT 'n' || h, 'p', 'cpu-znver4_2', 's', now() - h * interval '1 hour'"
                 " FROM unnest(ARRAY[1, 23, 25]) AS h",
                 ""));
    g_assert_true(store_do(
        owner, &error,
        "INSERT INTO worker_devices (worker_id, place, device, name, target, uuid, address,"
        " partition, out_since, out_reason)"
        " SELECT id, 0, '0', '', target, '', '', '', beat_at, 'it is away' FROM workers"
        " WHERE node LIKE 'n%' AND process = 'p'",
        ""));
    struct farm_state *farm = farm_read(f.boss, &error);
    g_assert_no_error(error);
    int lost = 0;
    for (guint i = 0; i < farm->workers->len; i++)
        lost += strcmp(((const struct farm_worker *)farm->workers->pdata[i])->state, "lost") == 0;
    g_assert_cmpint(lost, ==, 2);
    g_assert_cmpuint(farm->devices_out->len, ==, 2);
    for (guint i = 0; i < farm->devices_out->len; i++)
        g_assert_cmpstr(((const struct farm_trouble *)farm->devices_out->pdata[i])->name, !=,
                        "n25: 0");
    for (guint i = 0; i < farm->refusals->len; i++)
        g_assert_false(
            g_str_has_prefix(((const struct refusal_row *)farm->refusals->pdata[i])->node, "n"));
    farm_free(farm);
    role_farm_clear(&f);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    role_farm_make_logins();
    g_test_add_func("/farm_view/jobs_are_counted_where_they_stand",
                    test_jobs_are_counted_where_they_stand);
    g_test_add_func("/farm_view/workers_report_their_work", test_workers_tell_what_they_did);
    g_test_add_func("/farm_view/workers_report_their_devices",
                    test_workers_tell_what_their_devices_are);
    g_test_add_func("/farm_view/invalid_count_is_refused", test_what_is_no_count_is_refused);
    g_test_add_func("/farm_view/upkeep_is_one_at_a_time", test_upkeep_is_one_at_a_time);
    g_test_add_func("/farm_view/a_snapshot_that_is_held_is_seen",
                    test_a_snapshot_that_is_held_is_seen);
    g_test_add_func("/farm_view/worker_silent_for_a_day_is_not_shown",
                    test_who_is_silent_for_a_day_is_gone);
    return g_test_run();
}
