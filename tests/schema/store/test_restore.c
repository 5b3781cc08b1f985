/* A farm's database is dumped in the middle of its work, goes on, and is restored: with PostgreSQL's own
 * programs and a real HTTP server for code objects. */
#include "schema/blobs/blobs.h"
#include "schema/commands/commands.h"
#include "schema/farm/upkeep.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/doubles/object_server.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOBS = 4, KERNELS = 2 };

static int64_t ask(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL ? -1 : strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

static void run(const char *const *argv)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *words = NULL;
    int status = -1;
    g_spawn_sync(NULL, (char **)(uintptr_t)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                 &words, &status, &error);
    g_assert_no_error(error);
    if (status != 0)
        g_test_message("%s: %s", argv[0], words);
    g_assert_cmpint(status, ==, 0);
}

/* Runs `skipjack db ...` on that database and returns its exit status. Its output is discarded. */
static int command(const char *url, const char *verb, const char *first, const char *second)
{
    const char *argv[] = {"db", verb, first, second, NULL};
    int argc = first == NULL ? 2 : second == NULL ? 3 : 4;
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    g_setenv("SKIPJACK_DB", url, TRUE);
    int status = command_db(argc, (char **)(uintptr_t)argv);
    g_unsetenv("SKIPJACK_DB");
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(nowhere);
    return status;
}

/* The kernels of farm_make_round(0). */
static void put_kernels(Store *store)
{
    for (int i = 0; i < KERNELS; i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *key = g_strdup_printf("%064d", i);
        char none[] = "";
        g_autoptr(GBytes) code = g_bytes_new("code", 4);
        struct kernel_row row = {.key = key, .log = none, .code = code};
        g_assert_true(store_put_kernel(store, &row, &error));
        g_assert_no_error(error);
    }
}

static struct job *build_one(struct farm *farm, int worker)
{
    struct job *job = farm_claim_one(farm, worker, POOL_BUILD);
    g_assert_nonnull(job);
    put_kernels(farm->store);
    return job;
}

/* The jobs that workers hold when the dump is made, and later. */
struct held {
    struct job *before, *after;
};

/* One job is done, one is being built, one waits for its evaluation, one is ready. */
static void work_until_the_dump(struct farm *farm, struct held *held)
{
    put_kernels(farm->store);
    farm_work(farm, 0, false, 1);
    held->before = build_one(farm, 0);
    struct job *built = build_one(farm, 1);
    farm_built(farm, built, 0);
    job_free(built);
}

/* All jobs but the last end, and upkeep drops code that no job needs. */
static void work_after_the_dump(struct farm *farm, struct held *held)
{
    struct upkeep_options options = {.kernel_days = -1, .event_days = -1, .worker_days = -1};
    struct upkeep_report report;
    farm_built(farm, held->before, 0);
    for (int i = 0; i < 2; i++) {
        struct job *job = farm_claim_one(farm, 1, POOL_EVAL);
        farm_round(farm, job, 0, false, 1);
        job_free(job);
    }
    held->after = farm_claim_one(farm, 1, POOL_BUILD);
    g_assert_nonnull(held->after);
    g_assert_true(upkeep_run(farm->store, &options, &report, NULL));
    g_assert_cmpint(report.parts[UPKEEP_OBJECTS].count, >=, KERNELS);
}

static char *dump_and_restore(const char *from, const char *file, bool restore)
{
    static char *to;
    if (!restore) {
        run((const char *[]){"pg_dump", "-Fc", "-f", file, from, NULL});
        return NULL;
    }
    g_autoptr(GError) error = NULL;
    to = scratch_db_new();
    g_autoptr(Store) store = store_open(to, &error);
    store_do(store, &error, "DROP SCHEMA skipjack CASCADE", "");
    store_do(store, NULL, "DROP SCHEMA IF EXISTS skipjack_work CASCADE", "");
    g_assert_no_error(error);
    run((const char *[]){"pg_restore", "--no-owner", "--no-privileges", "-d", to, file, NULL});
    return to;
}

static void expect_refused(Store *store, const struct job *job)
{
    g_autoptr(GError) error = NULL;
    struct round *round = farm_make_round(0);
    g_assert_false(store_built(store, job, round, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    round_free(round);
}

/* Only the first heartbeat after the restore ends leases and raises the numbers of fences; later
 * ones do not. */
static void expect_a_new_epoch(struct farm *farm, const struct held *held)
{
    g_autoptr(GError) error = NULL;
    expect_refused(farm->store, held->after);
    g_assert_cmpint(ask(farm->store, "SELECT count(*) FROM bundles WHERE worker_id IS NOT NULL"),
                    ==, 1);
    for (int i = 0; i < 2; i++)
        g_assert_true(store_heartbeat(farm->store, farm->workers[0], &error));
    g_assert_no_error(error);
    g_assert_cmpint(ask(farm->store, "SELECT count(*) FROM bundles WHERE worker_id IS NOT NULL"),
                    ==, 0);
    g_assert_cmpint(ask(farm->store, "SELECT max(epoch) FROM homes"), ==, 1);
    g_assert_cmpint(ask(farm->store, "SELECT last_value FROM fences"), >=, 1000000000000);
    g_assert_cmpint(ask(farm->store, "SELECT last_value FROM campaigns_id_seq"), ==, 1000000);
    expect_refused(farm->store, held->after);
}

static void work_to_the_end(struct farm *farm, const struct held *held)
{
    struct job *job;
    for (int i = 0; i < JOBS && (job = farm_claim_one(farm, 1, POOL_BUILD)) != NULL; i++) {
        g_assert_cmpint(job->fence, >, held->after->fence + 1000000);
        expect_refused(farm->store, held->after);
        put_kernels(farm->store);
        farm_built(farm, job, 0);
        job_free(job);
    }
    while ((job = farm_claim_one(farm, 1, POOL_EVAL)) != NULL) {
        farm_round(farm, job, 0, false, 1);
        job_free(job);
    }
    farm_expect_campaign(farm, farm->campaign, "done");
    g_assert_cmpint(ask(farm->store, "SELECT count(*) FROM job_ends WHERE state = 'done'"), ==,
                    JOBS);
    g_assert_cmpint(ask(farm->store, "SELECT count(*) FROM results"), ==, JOBS);
    g_assert_cmpint(ask(farm->store, "SELECT count(*) FROM rounds"), ==, JOBS);
    g_assert_cmpint(ask(farm->store, "SELECT count(*) FROM outcomes WHERE NOT is_open"), ==, JOBS);
    expect_refused(farm->store, held->after);
}

static void test_restored_farm_goes_on_and_nothing_is_done_twice(void)
{
    struct farm farm;
    struct held held;
    g_autoptr(GError) error = NULL;
    g_autofree char *program = g_find_program_in_path("pg_restore");
    if (program == NULL) {
        g_test_skip("pg_restore is not in PATH");
        return;
    }
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *place = object_server_url(server, "farm");
    g_autofree char *folder = g_dir_make_tmp("skipjack-restore-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "farm.dump", NULL);
    g_autofree char *from = scratch_db_new();
    Store *store = store_open(from, &error);
    g_assert_no_error(error);
    g_assert_true(store_use_blob_place(store, place, &error));
    farm_init_at(&farm, store, &(struct order){.jobs = JOBS});
    work_until_the_dump(&farm, &held);
    dump_and_restore(from, file, false);
    work_after_the_dump(&farm, &held);
    /* the object of the kept results */
    g_assert_cmpint(object_server_objects(server), ==, 1);
    farm_clear(&farm);

    g_autofree char *to = dump_and_restore(from, file, true);
    farm.store = store_open(to, &error);
    g_assert_no_error(error);
    expect_a_new_epoch(&farm, &held);
    /* A result from before the dump, whose job has not been claimed since, is accepted. */
    farm_built(&farm, held.before, 0);
    g_assert_cmpint(command(to, "blobs", "--check", NULL), ==, 1);
    g_assert_cmpint(ask(farm.store, "SELECT count(*) FROM bundles WHERE state = 'built'"), ==, 2);
    g_assert_cmpint(command(to, "blobs", "--check", "--drop-damaged"), ==, 0);
    g_assert_cmpint(ask(farm.store, "SELECT count(*) FROM bundles WHERE state = 'built'"), ==, 0);
    g_assert_cmpint(command(to, "blobs", "--check", NULL), ==, 0);
    expect_refused(farm.store, held.after);
    work_to_the_end(&farm, &held);
    g_assert_cmpint(farm_create(farm.store, &(struct order){.jobs = 1, .seed = 9}, NULL), >,
                    1000000);
    farm_clear(&farm);
    job_free(held.before);
    job_free(held.after);
    remove(file);
    rmdir(folder);
}

/* Tables are restored in place while a session stays connected that has used them before: it
 * notices the restore, too. */
static void test_session_that_goes_on_begins_the_epoch_too(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("skipjack-restore-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "farm.dump", NULL);
    g_autofree char *url = scratch_db_new();
    farm_init_at(&farm, store_open(url, &error), &(struct order){.jobs = 1});
    g_assert_true(store_heartbeat(farm.store, farm.workers[0], &error));
    run((const char *[]){"pg_dump", "-Fc", "-f", file, url, NULL});
    g_autoptr(Store) other = store_open(url, &error);
    store_do(other, &error, "DROP SCHEMA skipjack, skipjack_work CASCADE", "");
    run((const char *[]){"pg_restore", "--no-owner", "--no-privileges", "-d", url, file, NULL});
    g_assert_true(store_heartbeat(farm.store, farm.workers[0], &error));
    g_assert_no_error(error);
    g_assert_cmpint(ask(farm.store, "SELECT max(epoch) FROM homes"), ==, 1);
    g_assert_true(store_heartbeat(farm.store, farm.workers[0], &error));
    g_assert_cmpint(ask(farm.store, "SELECT max(epoch) FROM homes"), ==, 1);
    farm_clear(&farm);
    remove(file);
    rmdir(folder);
}

/* A restored copy of a server's files cannot be recognized: the operator must report it by a
 * command. */
static void test_epoch_can_be_begun_by_hand(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    g_autofree char *url = scratch_db_new();
    farm_init_at(&farm, store_open(url, &error), &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(command(url, "restored", NULL, NULL), ==, 0);
    g_assert_cmpint(ask(farm.store, "SELECT max(epoch) FROM homes"), ==, 1);
    struct job *again = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_cmpint(again->id, ==, job->id);
    g_assert_cmpint(again->fence, >, job->fence + 1000000);
    expect_refused(farm.store, job);
    job_free(job);
    job_free(again);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/restore/farm_goes_on_and_nothing_is_done_twice",
                    test_restored_farm_goes_on_and_nothing_is_done_twice);
    g_test_add_func("/restore/session_that_goes_on_begins_the_epoch_too",
                    test_session_that_goes_on_begins_the_epoch_too);
    g_test_add_func("/restore/epoch_can_be_begun_by_hand", test_epoch_can_be_begun_by_hand);
    return g_test_run();
}
