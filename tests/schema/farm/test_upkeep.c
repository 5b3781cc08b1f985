/* Upkeep against a real PostgreSQL: what it drops, what it keeps, and that it blocks no other session. */
#include "schema/farm/upkeep.h"
#include "schema/store/store_kernels.h"

#include "schema/store/store_events.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct upkeep_options at_once = {
    .kernel_days = -1, .event_days = -1, .worker_days = -1};

static void do_sql(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(store, &error, sql, "");
    g_assert_no_error(error);
}

static int64_t ask(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL ? -1 : strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

static void put_kernel(Store *store, int number, const char *code)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *key = g_strdup_printf("%064d", number);
    char none[] = "";
    struct kernel_row row = {.key = key, .log = none, .code = g_bytes_new(code, strlen(code))};
    g_assert_true(store_put_kernel(store, &row, &error));
    g_assert_no_error(error);
    g_bytes_unref(row.code);
}

static bool has_code(Store *store, int number)
{
    g_autofree char *sql = g_strdup_printf(
        "SELECT count(*) FROM kernels WHERE key = '%064d' AND code_place IS NOT NULL", number);
    return ask(store, sql) == 1;
}

static struct upkeep_report collect(Store *store, const struct upkeep_options *options)
{
    g_autoptr(GError) error = NULL;
    struct upkeep_report report;
    upkeep_run(store, options, &report, &error);
    g_assert_no_error(error);
    return report;
}

/* The rounds of queue_farm.h use the kernels `round number` and 0 or 1; upkeep must keep the code
 * of each kernel that a job still needs. */
static void test_code_that_somebody_needs_stays(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    int64_t build_only =
        farm_create(farm.store, &(struct order){.jobs = 1, .build_only = true, .seed = 2}, NULL);
    for (int i = 0; i < 6; i++)
        put_kernel(farm.store, i, "code");

    /* A job that is being built needs all kernels of its round. */
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    for (int i = 0; i < 6; i++)
        put_kernel(farm.store, i, "code");
    struct upkeep_report report = collect(farm.store, &at_once);
    g_assert_cmpint(report.parts[UPKEEP_CODE].count, ==, 0);
    g_assert_cmpint(report.code_count, ==, 6);
    g_assert_cmpint(report.code_bytes, ==, 24);

    /* The built round waits for its evaluation: kernels 0 and 1 are needed. */
    farm_built(&farm, job, 0);
    job_free(job);
    struct upkeep_options dry = at_once;
    dry.dry_run = true;
    report = collect(farm.store, &dry);
    g_assert_cmpint(report.parts[UPKEEP_CODE].count, ==, 4);
    g_assert_cmpint(report.parts[UPKEEP_CODE].bytes, ==, 16);
    g_assert_true(has_code(farm.store, 5));
    struct upkeep_options hour = at_once;
    hour.code_hours = 1;
    g_assert_cmpint(collect(farm.store, &hour).parts[UPKEEP_CODE].count, ==, 0);
    report = collect(farm.store, &at_once);
    g_assert_cmpint(report.parts[UPKEEP_CODE].count, ==, 4);
    g_assert_true(has_code(farm.store, 0) && has_code(farm.store, 1));
    g_assert_cmpint(collect(farm.store, &at_once).parts[UPKEEP_CODE].count, ==, 0);

    /* Needed by another campaign only: round 1 of the build-only campaign has kernels 1 and 0. */
    put_kernel(farm.store, 77, "winner");
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    farm_round(&farm, job, 0, false, 1);
    job_free(job);
    g_autofree char *keep =
        g_strdup_printf("UPDATE results SET kernel_keys = '%064d,%064d'", 77, 1);
    do_sql(farm.store, keep);
    report = collect(farm.store, &at_once);
    g_assert_cmpint(report.parts[UPKEEP_CODE].count, ==, 1);
    g_assert_true(has_code(farm.store, 77) && has_code(farm.store, 1));
    do_sql(farm.store, "UPDATE campaigns SET state = 'paused' WHERE NOT build_only");
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->campaign, ==, build_only);
    put_kernel(farm.store, 0, "code");
    farm_built(&farm, job, 0);
    job_free(job);
    farm_expect_campaign(&farm, build_only, "done");
    g_assert_cmpint(collect(farm.store, &at_once).parts[UPKEEP_CODE].count, ==, 0);
    farm_change(&farm, "drop"); /* the other campaign, for which kernel 1 is built, too */
    report = collect(farm.store, &at_once);
    g_assert_cmpint(report.parts[UPKEEP_CODE].count, ==, 1);
    g_assert_true(has_code(farm.store, 0) && has_code(farm.store, 1));
    farm_clear(&farm);
}

/* A campaign takes over the results of another, which is then dropped: the kernels stay. */
static void test_code_that_a_later_campaign_took_over_stays(void)
{
    struct farm farm;
    int reused = 0;
    farm_init(&farm, &(struct order){.jobs = 1});
    put_kernel(farm.store, 0, "code");
    farm_work(&farm, 0, false, 1);
    g_autofree char *keep = g_strdup_printf("UPDATE results SET kernel_keys = '%064d'", 0);
    do_sql(farm.store, keep);
    int64_t later = farm_create(farm.store, &(struct order){.jobs = 1}, &reused);
    g_assert_cmpint(reused, ==, 1);
    farm_change(&farm, "drop");
    g_assert_cmpint(collect(farm.store, &at_once).parts[UPKEEP_CODE].count, ==, 0);
    farm.campaign = later;
    farm_change(&farm, "drop");
    g_assert_cmpint(collect(farm.store, &at_once).parts[UPKEEP_CODE].count, ==, 1);
    farm_clear(&farm);
}

static void test_old_rows_go_and_young_ones_stay(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    const struct upkeep_options options = UPKEEP_DEFAULTS;
    farm_init(&farm, &(struct order){.jobs = 1});
    int64_t worker = farm.workers[0];
    for (int i = 0; i < 3; i++) {
        g_assert_true(
            store_event(farm.store, "eval child died", farm.campaign, 0, worker, "", NULL));
        g_assert_true(store_event(farm.store, "no solver", farm.campaign, 0, 0, "", NULL));
        g_assert_true(store_event(farm.store, "no solver", farm.campaign + 1, 0, 0, "", NULL));
    }
    do_sql(farm.store, "UPDATE events SET at = at - interval '91 days'"
                       " WHERE id < (SELECT max(id) FROM events) - 2");
    for (int i = 0; i < 4; i++)
        put_kernel(farm.store, i, "code");
    do_sql(farm.store,
           "UPDATE kernels SET code = NULL, code_place = NULL WHERE key < lpad('3', 64, '0')");
    do_sql(farm.store, "UPDATE kernels SET built_at = now() - interval '91 days',"
                       " used_at = now() - interval '91 days' WHERE key <> lpad('1', 64, '0')");
    do_sql(farm.store, "UPDATE kernels SET used_at = now() WHERE key = lpad('2', 64, '0')");
    do_sql(farm.store,
           "UPDATE workers SET beat_at = now() - interval '31 days' WHERE node = 'two'");
    struct upkeep_options dry = options;
    dry.dry_run = true;
    for (int i = 0; i < 3; i++) {
        struct upkeep_report report = collect(farm.store, i == 0 ? &dry : &options);
        g_assert_cmpint(report.parts[UPKEEP_EVENTS].count, ==, i < 2 ? 4 : 0);
        g_assert_cmpint(report.parts[UPKEEP_WORKERS].count, ==, i < 2 ? 1 : 0);
        g_assert_cmpint(report.parts[UPKEEP_CODE].count, ==, i < 2 ? 1 : 0);
        /* A kernel whose code is dropped counts as a kernel without code. */
        g_assert_cmpint(report.parts[UPKEEP_KERNELS].count, ==, i == 0 ? 1 : i == 1 ? 2 : 0);
    }
    g_assert_cmpint(ask(farm.store, "SELECT count(*) FROM kernels"), ==, 2);
    g_assert_cmpint(ask(farm.store, "SELECT count(*) FROM events"), ==, 5);
    g_autoptr(GPtrArray) workers = store_list_workers(farm.store, NULL, &error);
    g_assert_cmpuint(workers->len, ==, 1);
    farm_clear(&farm);
}

/* A table detached by a process that was killed before it dropped the table. */
static void test_detached_tables_are_dropped_too(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    g_autofree char *detach = g_strdup_printf(
        "ALTER TABLE rounds DETACH PARTITION rounds_%" G_GINT64_FORMAT, (gint64)farm.campaign);
    do_sql(farm.store, "BEGIN");
    do_sql(farm.store, detach);
    do_sql(farm.store, "DELETE FROM bundles");
    do_sql(farm.store, "DELETE FROM campaigns");
    do_sql(farm.store, "COMMIT");
    g_assert_cmpint(collect(farm.store, &at_once).parts[UPKEEP_PARTITIONS].count, ==, 7);
    g_assert_cmpint(
        ask(farm.store,
            "SELECT count(*) FROM pg_class WHERE relkind = 'r'"
            " AND relname ~ '^(jobs|job_ends|rounds|outcomes|results|round_conditions)_[0-9]'"),
        ==, 0);
    farm_clear(&farm);
}

/* A builder was cut off for hours: its jobs were lost and its code collected. The round that it then hands
 * in would be evaluated without code. */
static void test_late_round_whose_code_is_gone_is_built_again(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    put_kernel(farm.store, 0, "code");
    put_kernel(farm.store, 1, "code");
    struct job *lost = farm_claim_one(&farm, 0, POOL_BUILD);
    struct job *kept = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_true(store_worker_lost(farm.store, farm.workers[0], &error));
    g_assert_true(store_worker_lost(farm.store, farm.workers[1], &error));
    farm_built(&farm, kept, 0);
    do_sql(farm.store,
           "UPDATE bundles SET state = 'evaluating', worker_id = 1 WHERE state = 'built'");
    do_sql(farm.store,
           "UPDATE bundles SET state = 'built', worker_id = NULL WHERE state = 'evaluating'");
    do_sql(farm.store,
           "UPDATE kernels SET code = NULL, code_place = NULL WHERE key = lpad('1', 64, '0')");
    g_assert_false(farm_try_built(&farm, lost, 0, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    g_assert_cmpint(ask(farm.store, "SELECT count(*) FROM bundles WHERE state = 'ready'"), ==, 1);
    job_free(lost);
    job_free(kept);
    farm_clear(&farm);
}

/* ---- while the farm works ---- */

static gpointer collect_once_in_a_thread(gpointer data)
{
    struct upkeep_report report;
    g_autoptr(GError) error = NULL;
    Store *store = store_open(data, &error);
    upkeep_run(store, &at_once, &report, &error);
    g_assert_no_error(error);
    store_close(store);
    return NULL;
}

static void wait_for(Store *store, const char *sql)
{
    gint64 limit = patience_end();
    while (ask(store, sql) == 0 && g_get_monotonic_time() < limit)
        g_usleep(1000);
    g_assert_cmpint(ask(store, sql), >, 0);
}

/* The search for needed kernels stops before it reads rounds, until the round is handed in. */
static void test_round_that_is_stored_during_the_search_keeps_its_code(void)
{
    static const char stop_sql[] =
        "ALTER FUNCTION note_kernels_of_rounds(bigint) RENAME TO note_them;"
        "CREATE FUNCTION note_kernels_of_rounds(campaign bigint) RETURNS void LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_advisory_xact_lock_shared(77); PERFORM note_them(campaign); END $$";
    struct farm farm;
    g_autoptr(GError) error = NULL;
    g_autofree char *url = scratch_db_new();
    farm_init_at(&farm, store_open(url, &error), &(struct order){.jobs = 1});
    put_kernel(farm.store, 0, "code");
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    PGresult *rows = PQexec(farm.store->connection, stop_sql);
    g_assert_cmpint(PQresultStatus(rows), ==, PGRES_COMMAND_OK);
    PQclear(rows);
    ask(farm.store, "SELECT 1 FROM pg_advisory_lock(77)");
    GThread *thread = g_thread_new("collect", collect_once_in_a_thread, url);
    wait_for(farm.store,
             "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    farm_round(&farm, job, 0, false, 1);
    g_autofree char *keep = g_strdup_printf("UPDATE results SET kernel_keys = '%064d'", 0);
    do_sql(farm.store, keep);
    ask(farm.store, "SELECT 1 FROM pg_advisory_unlock(77)");
    g_thread_join(thread);
    g_assert_true(has_code(farm.store, 0));
    job_free(job);
    farm_clear(&farm);
}

enum { KERNELS = 5000 };

static void put_many(Store *store)
{
    do_sql(store,
           "INSERT INTO kernels (key, file, entry, options, arch, toolchain, toolchain_version,"
           " failure, log, seconds, code, code_sha256, built_by, code_place, code_bytes)"
           " SELECT lpad(i::text, 64, 'e'), '', '', '', '', '', '', 0, '', 0, 'code', '', 0, 0, 4"
           " FROM generate_series(1, 5000) AS i");
}

static int64_t count_code(Store *store)
{
    return ask(store, "SELECT count(*) FROM kernels WHERE code_place IS NOT NULL");
}

static gpointer collect_in_a_thread(gpointer data)
{
    struct upkeep_options options = at_once;
    struct upkeep_report report;
    int64_t freed = 0;
    Store *store = store_open(data, NULL);
    for (int i = 0; i < 3; i++) {
        g_autoptr(GError) error = NULL;
        upkeep_run(store, &options, &report, &error);
        g_assert_no_error(error);
        freed += report.parts[UPKEEP_CODE].count;
    }
    store_close(store);
    return GINT_TO_POINTER((int)freed);
}

static void test_several_at_once_free_each_object_once_while_jobs_go_on(void)
{
    enum { JOBS = 12 };
    struct farm farm;
    GThread *threads[3];
    int freed = 0;
    farm_init(&farm, &(struct order){.jobs = JOBS});
    put_many(farm.store);
    put_kernel(farm.store, 0, "code");
    for (int i = 0; i < 3; i++)
        threads[i] =
            g_thread_new("collect", collect_in_a_thread, (gpointer)(uintptr_t)scratch_db_url());
    for (int i = 0; i < JOBS; i++) {
        put_kernel(farm.store, 0, "code");
        farm_work(&farm, 0, false, 1);
    }
    for (int i = 0; i < 3; i++)
        freed += GPOINTER_TO_INT(g_thread_join(threads[i]));
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_cmpint(
        ask(farm.store,
            "SELECT count(*) FROM kernels WHERE code_place IS NOT NULL AND key LIKE 'e%'"),
        ==, 0);
    g_assert_cmpint(freed, >=, KERNELS);
    g_assert_cmpint(freed, <=, KERNELS + JOBS + 1);
    farm_clear(&farm);
}

/* Upkeep does not wait for a locked row, and keeps code that was asked for since its search. */
static void test_row_that_is_held_is_not_waited_for(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, NULL);
    put_kernel(farm.store, 1, "code");
    put_kernel(farm.store, 2, "code");
    Store *other = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    do_sql(other, "BEGIN");
    do_sql(other, "UPDATE kernels SET used_at = clock_timestamp() WHERE key = lpad('1', 64, '0')");
    do_sql(farm.store, "SET lock_timeout = '2s'");
    g_assert_cmpint(collect(farm.store, &at_once).parts[UPKEEP_CODE].count, ==, 1);
    do_sql(other, "COMMIT");
    g_assert_true(has_code(farm.store, 1));
    g_assert_false(has_code(farm.store, 2));
    store_close(other);
    farm_clear(&farm);
}

static void test_one_that_is_killed_leaves_the_rest_to_the_next(void)
{
    struct farm farm;
    farm_init(&farm, NULL);
    put_many(farm.store);
    pid_t child = fork();
    if (child == 0) {
        struct upkeep_report report;
        struct upkeep_options options = at_once;
        Store *store = store_open(scratch_db_url(), NULL);
        while (store != NULL && upkeep_run(store, &options, &report, NULL))
            continue;
        _exit(1);
    }
    gint64 limit = patience_end();
    while (count_code(farm.store) == KERNELS && g_get_monotonic_time() < limit)
        g_usleep(1000);
    kill(child, SIGKILL);
    g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
    collect(farm.store, &at_once);
    g_assert_cmpint(count_code(farm.store), ==, 0);
    g_assert_cmpint(ask(farm.store, "SELECT count(*) FROM kernels WHERE code IS NOT NULL"), ==, 0);
    farm_clear(&farm);
}

static void test_one_that_is_stopped_leaves_the_rest(void)
{
    struct farm farm;
    volatile gint stop = 1;
    struct upkeep_options options = at_once;
    options.stop = &stop;
    farm_init(&farm, NULL);
    put_kernel(farm.store, 1, "code");
    g_assert_cmpint(collect(farm.store, &options).parts[UPKEEP_CODE].count, ==, 0);
    g_assert_true(has_code(farm.store, 1));
    farm_clear(&farm);
}

/* `db collect` may run beside the upkeep of `serve`. */
static void test_two_at_once_sum_each_campaign_once(void)
{
    g_autoptr(GError) error = NULL;
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    Store *other = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    do_sql(farm.store, "BEGIN");
    g_assert_cmpint(ask(farm.store, "SELECT sum_usage()"), ==, farm.campaign);
    do_sql(other, "SET lock_timeout = '5s'");
    g_assert_cmpint(ask(other, "SELECT coalesce(sum_usage(), 0)"), ==, 0);
    do_sql(farm.store, "COMMIT");
    g_assert_cmpint(ask(other, "SELECT count(*) FROM usage_sums"), ==, 1);
    store_close(other);
    farm_clear(&farm);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/upkeep/code/needed_code_stays", test_code_that_somebody_needs_stays},
    {"/upkeep/code/code_taken_over_by_a_later_campaign_stays",
     test_code_that_a_later_campaign_took_over_stays},
    {"/upkeep/code/code_of_a_round_stored_during_the_search_stays",
     test_round_that_is_stored_during_the_search_keeps_its_code},
    {"/upkeep/code/late_round_without_code_is_built_again",
     test_late_round_whose_code_is_gone_is_built_again},
    {"/upkeep/detached_tables_are_dropped_too", test_detached_tables_are_dropped_too},
    {"/upkeep/old_rows_go_and_young_ones_stay", test_old_rows_go_and_young_ones_stay},
    {"/upkeep/several_at_once_free_each_object_once_while_jobs_go_on",
     test_several_at_once_free_each_object_once_while_jobs_go_on},
    {"/upkeep/two_at_once_sum_each_campaign_once", test_two_at_once_sum_each_campaign_once},
    {"/upkeep/row_that_is_held_is_not_waited_for", test_row_that_is_held_is_not_waited_for},
    {"/upkeep/killed_run_leaves_the_rest_to_the_next",
     test_one_that_is_killed_leaves_the_rest_to_the_next},
    {"/upkeep/stopped_run_leaves_the_rest", test_one_that_is_stopped_leaves_the_rest},
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
