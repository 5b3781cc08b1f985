/* Moving code objects between the database and stores outside, while other processes write and read them
 * and movers are killed. */
#include "schema/blobs/blobs.h"

#include "schema/store/store_kernels.h"
#include "tests/support/doubles/object_server.h"
#include "tests/support/farm/blob_codes.h"
#include "tests/support/farm/scratch_db.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_code_moves_there_and_back(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autofree char *other = object_server_url(server, "other");
    const char *const way[] = {url, other, url, BLOBS_IN_DATABASE};
    g_autoptr(Store) store = scratch_store();
    int moved;
    blob_codes_put(store, 0, 150);
    for (gsize i = 0; i < G_N_ELEMENTS(way); i++) {
        blob_codes_use(store, way[i]);
        blob_codes_expect(store, 0, 150);
        g_assert_cmpint(blob_codes_move(store, false, &moved), ==, 0);
        g_assert_cmpint(moved, ==, 150);
        blob_codes_expect(store, 0, 150);
        blob_codes_expect_place(store, way[i], 150, 0);
        blob_codes_sweep(store, i == 0 ? 0 : 150);
        g_assert_cmpint(object_server_objects(server), ==, i == 3 ? 0 : 150);
        g_assert_cmpint(blob_codes_in_rows(), ==, i == 3 ? 150 : 0);
        g_assert_cmpint(blob_codes_move(store, false, &moved), ==, 0);
        g_assert_cmpint(moved, ==, 0);
    }
}

/* Lost code objects are forgotten only when the caller asks for it; their kernels are then compiled
 * again. */
static void test_lost_objects_are_forgotten_on_demand(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int moved;
    blob_codes_use(store, url);
    blob_codes_put(store, 0, 2);
    object_server_forget(server);
    blob_codes_expect_failure(store, 0, STORE_ERROR_DAMAGED);
    blob_codes_use(store, BLOBS_IN_DATABASE);
    g_assert_cmpint(blob_codes_move(store, true, &moved), ==, 2);
    const char *keys[] = {blob_codes_key(0)};
    g_autoptr(GHashTable) known = store_known_kernels(store, keys, 1, &error);
    g_assert_cmpuint(g_hash_table_size(known), ==, 0);
    blob_codes_sweep(store, 2);
    blob_codes_put(store, 0, 2);
    blob_codes_expect(store, 0, 2);
}

static void test_copy_that_reads_back_wrong_is_not_relied_on(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) damaged = g_ptr_array_new_with_free_func(g_free);
    volatile gint stop = 0, count = 0, kilobytes = 0;
    struct blob_move all = {
        .shares = 1, .stop = &stop, .moved = &count, .kilobytes = &kilobytes, .damaged = damaged};
    blob_codes_put(store, 0, 3);
    blob_codes_use(store, url);
    object_server_fail(server, "GET", FAULT_WRONG_BYTES, 1);
    g_assert_false(store_move_blobs(store, &all, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_DAMAGED);
    blob_codes_expect_place(store, BLOBS_IN_DATABASE, 3, 0);
    blob_codes_expect(store, 0, 3);
}

static void move_in_child(void)
{
    Store *store = store_open(scratch_db_url(), NULL);
    volatile gint stop = 0, count = 0, kilobytes = 0;
    struct blob_move all = {.shares = 1,
                            .stop = &stop,
                            .moved = &count,
                            .kilobytes = &kilobytes,
                            .damaged = g_ptr_array_new()};
    if (store != NULL)
        store_move_blobs(store, &all, NULL);
    _exit(0);
}

/* Kills a mover after a time that differs each call. Returns true if it was not done yet. */
static bool kill_mover(int milliseconds)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        move_in_child();
    g_usleep((gulong)milliseconds * 1000);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return WIFSIGNALED(status);
}

static void test_killed_mover_loses_nothing(void)
{
    enum { KERNELS = 400 };
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    int killed = 0, moved;
    blob_codes_put(store, 0, KERNELS);
    for (int i = 0; i < 16; i++) {
        blob_codes_use(store, i / 4 % 2 == 0 ? url : BLOBS_IN_DATABASE);
        killed += kill_mover(g_test_rand_int_range(30, 150));
        if (i % 4 == 3)
            blob_codes_expect(store, 0, KERNELS);
    }
    g_test_message("%d movers were killed while they moved", killed);
    g_assert_cmpint(killed, >, 3);
    blob_codes_use(store, url);
    g_assert_cmpint(blob_codes_move(store, false, &moved), ==, 0);
    blob_codes_expect(store, 0, KERNELS);
    blob_codes_age_uploads();
    int removed;
    g_assert_true(store_sweep_blobs(store, &removed, NULL));
    blob_codes_expect_place(store, url, KERNELS, 0);
    blob_codes_expect_place(store, BLOBS_IN_DATABASE, 0, 0);
    g_assert_cmpint(object_server_objects(server), ==, KERNELS);
    blob_codes_expect(store, 0, KERNELS);
}

struct writer {
    int first, count;
    GThread *thread;
};

static gpointer write_and_read(gpointer data)
{
    const struct writer *writer = data;
    g_autoptr(Store) store = store_open(scratch_db_url(), NULL);
    blob_codes_put(store, writer->first, writer->count);
    blob_codes_expect(store, writer->first, writer->count);
    return NULL;
}

static void test_workers_go_on_while_code_moves(void)
{
    enum { WRITERS = 3, EACH = 150 };
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    struct writer writers[WRITERS];
    int moved, sum = 0, removed;
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.first = i * EACH, .count = EACH};
        writers[i].thread = g_thread_new("writer", write_and_read, &writers[i]);
    }
    for (int i = 0; i < 8; i++) {
        blob_codes_use(store, i % 2 == 0 ? url : BLOBS_IN_DATABASE);
        g_assert_cmpint(blob_codes_move(store, false, &moved), ==, 0);
        sum += moved;
        g_assert_true(store_sweep_blobs(store, &removed, NULL));
    }
    for (int i = 0; i < WRITERS; i++)
        g_thread_join(writers[i].thread);
    g_test_message("%d code objects moved meanwhile", sum);
    blob_codes_use(store, url);
    g_assert_cmpint(blob_codes_move(store, false, &moved), ==, 0);
    g_assert_true(store_sweep_blobs(store, &removed, NULL));
    blob_codes_expect_place(store, url, WRITERS * EACH, 0);
    blob_codes_expect_place(store, BLOBS_IN_DATABASE, 0, 0);
    g_assert_cmpint(object_server_objects(server), ==, WRITERS * EACH);
    blob_codes_expect(store, 0, WRITERS * EACH);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/blobs/move/code_moves_there_and_back", test_code_moves_there_and_back},
    {"/blobs/move/copy_that_reads_back_wrong_is_not_relied_on",
     test_copy_that_reads_back_wrong_is_not_relied_on},
    {"/blobs/move/lost_objects_are_forgotten_on_demand", test_lost_objects_are_forgotten_on_demand},
    {"/blobs/move/killed_mover_loses_nothing", test_killed_mover_loses_nothing},
    {"/blobs/move/workers_go_on_while_code_moves", test_workers_go_on_while_code_moves},
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].run);
    return g_test_run();
}
