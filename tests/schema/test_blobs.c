/* Where code objects are: stored, read, moved and collected, in a real PostgreSQL and on a real HTTP
 * server that fails on demand; movers that are killed. */
#include "schema/blobs.h"

#include "schema/migrate.h"
#include "tests/support/object_server.h"
#include "tests/support/scratch_db.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A kernel's code is made from its number. */
static GBytes *code_of(int number)
{
    gsize size = 1000 + (gsize)number * 97 % 5000;
    guint8 *bytes = g_malloc(size);
    for (gsize i = 0; i < size; i++)
        bytes[i] = (guint8)(i * 31 + (gsize)number);
    return g_bytes_new_take(bytes, size);
}

static const char *key_of(int number)
{
    static GPrivate text = G_PRIVATE_INIT(g_free);
    g_private_replace(&text, g_strdup_printf("%064x", number));
    return g_private_get(&text);
}

static bool try_put(Store *store, int number, GError **error)
{
    g_autofree char *key = g_strdup(key_of(number));
    g_autoptr(GBytes) code = code_of(number);
    struct kernel_row row = {.key = key, .code = code};
    return store_put_kernel(store, &row, error);
}

static void put(Store *store, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        g_autoptr(GError) error = NULL;
        g_assert_true(try_put(store, i, &error));
        g_assert_no_error(error);
    }
}

static void expect(Store *store, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) code = code_of(i);
        struct kernel_row *row = store_get_kernel(store, key_of(i), &error);
        g_assert_no_error(error);
        g_assert_true(row != NULL && row->code != NULL && g_bytes_equal(row->code, code));
        kernel_row_free(row);
    }
}

static void expect_failure(Store *store, int number, enum store_error code)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(store_get_kernel(store, key_of(number), &error));
    g_assert_error(error, STORE_ERROR, (gint)code);
}

static void use(Store *store, const char *url)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(store_use_blob_place(store, url, &error));
    g_assert_no_error(error);
}

/* Returns how many were damaged. */
static int move(Store *store, bool drop_damaged, int *moved)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) damaged = g_ptr_array_new_with_free_func(g_free);
    volatile gint stop = 0, count = 0, kilobytes = 0;
    struct blob_move all = {.shares = 1,
                            .drop_damaged = drop_damaged,
                            .stop = &stop,
                            .moved = &count,
                            .kilobytes = &kilobytes,
                            .damaged = damaged};
    g_assert_true(store_move_blobs(store, &all, &error));
    g_assert_no_error(error);
    *moved = count;
    return (int)damaged->len;
}

static void sweep(Store *store, int expected)
{
    g_autoptr(GError) error = NULL;
    int removed;
    g_assert_true(store_sweep_blobs(store, &removed, &error));
    g_assert_no_error(error);
    g_assert_cmpint(removed, ==, expected);
}

static void expect_place(Store *store, const char *url, int objects, int loose)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) places = store_list_blob_places(store, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < places->len; i++) {
        const struct blob_place *place = places->pdata[i];
        if (strcmp(place->url, url) != 0)
            continue;
        g_assert_cmpint(place->objects, ==, objects);
        g_assert_cmpint(place->loose, ==, loose);
        return;
    }
    g_assert_not_reached();
}

static char *ask(const char *url, const char *sql)
{
    PGconn *connection = PQconnectdb(url);
    g_autofree char *text = g_strconcat("SET search_path = skipjack; ", sql, NULL);
    PGresult *rows = PQexec(connection, text);
    g_assert_cmpstr(PQresultErrorMessage(rows), ==, "");
    char *answer = g_strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
    PQclear(rows);
    PQfinish(connection);
    return answer;
}

static void age_uploads(void)
{
    g_free(ask(scratch_db_url(), "UPDATE blob_loose SET since = now() - interval '2 days'"));
}

static int count_in_rows(void)
{
    g_autofree char *text = ask(scratch_db_url(), "SELECT count(code) FROM kernels");
    return atoi(text);
}

static void test_code_is_where_the_setting_says(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(Store) other = store_open(scratch_db_url(), NULL);
    g_autoptr(GError) error = NULL;
    put(store, 0, 2);
    use(store, url);
    put(other, 2, 3); /* another node follows at once */
    put(store, 2, 1); /* the first writer wins, and nothing of the second stays */
    g_assert_cmpint(count_in_rows(), ==, 2);
    expect(store, 0, 5);
    expect(other, 0, 5);
    expect_place(store, BLOBS_IN_DATABASE, 2, 0);
    expect_place(store, url, 3, 1);
    sweep(store, 1);
    g_assert_cmpint(object_server_objects(server), ==, 3);

    g_autofree char *third = g_strdup(key_of(3));
    const char *keys[] = {third, "none"};
    g_autoptr(GHashTable) known = store_known_kernels(store, keys, 2, &error);
    g_assert_cmpuint(g_hash_table_size(known), ==, 1);
    g_autoptr(GHashTable) costs = store_kernel_costs(store, keys, 2, &error);
    const struct kernel_cost *cost = g_hash_table_lookup(costs, third);
    g_assert_cmpint(cost->bytes, ==, 1000 + 3 * 97);
    g_assert_no_error(error);
}

static void test_collected_objects_are_removed(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int dropped = 0;
    put(store, 0, 2);
    use(store, url);
    put(store, 2, 3);
    object_server_fail(server, "DELETE", FAULT_FORBIDDEN, 1);
    g_assert_false(store_collect_kernels(store, &dropped, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_cmpint(dropped, ==, 5);
    g_clear_error(&error);
    g_assert_true(store_collect_kernels(store, &dropped, &error));
    g_assert_no_error(error);
    g_assert_cmpint(dropped, ==, 0);
    g_assert_cmpint(object_server_objects(server), ==, 0);
    expect_place(store, url, 0, 0);
    struct kernel_row *row = store_get_kernel(store, key_of(2), &error);
    g_assert_true(row != NULL && row->code == NULL);
    kernel_row_free(row);
    put(store, 1, 3);
    expect(store, 1, 3);
}

static void test_code_moves_there_and_back(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autofree char *other = object_server_url(server, "other");
    const char *const way[] = {url, other, url, BLOBS_IN_DATABASE};
    g_autoptr(Store) store = scratch_store();
    int moved;
    put(store, 0, 150);
    for (gsize i = 0; i < G_N_ELEMENTS(way); i++) {
        use(store, way[i]);
        expect(store, 0, 150);
        g_assert_cmpint(move(store, false, &moved), ==, 0);
        g_assert_cmpint(moved, ==, 150);
        expect(store, 0, 150);
        expect_place(store, way[i], 150, 0);
        sweep(store, i == 0 ? 0 : 150);
        g_assert_cmpint(object_server_objects(server), ==, i == 3 ? 0 : 150);
        g_assert_cmpint(count_in_rows(), ==, i == 3 ? 150 : 0);
        g_assert_cmpint(move(store, false, &moved), ==, 0);
        g_assert_cmpint(moved, ==, 0);
    }
}

static void test_place_that_refuses_is_not_used(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    const char *const methods[] = {"PUT", "GET", "DELETE"};
    for (gsize i = 0; i < G_N_ELEMENTS(methods); i++) {
        object_server_fail(server, methods[i], FAULT_FORBIDDEN, 1);
        g_assert_false(store_use_blob_place(store, url, &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
        g_clear_error(&error);
    }
    object_server_fail(server, "GET", FAULT_WRONG_BYTES, 1);
    g_assert_false(store_use_blob_place(store, url, &error));
    g_clear_error(&error);
    g_assert_false(store_use_blob_place(store, "s3://u:p@bucket", &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    put(store, 0, 1);
    expect_place(store, BLOBS_IN_DATABASE, 1, 0);
}

static void test_wrong_bytes_are_never_a_kernel(void)
{
    static const enum object_fault faults[] = {FAULT_WRONG_BYTES, FAULT_SHORTER, FAULT_LONGER};
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    int moved;
    use(store, url);
    put(store, 0, 3);
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++) {
        object_server_fail(server, "GET", faults[i], 1);
        expect_failure(store, 0, STORE_ERROR_DAMAGED);
        expect(store, 0, 3);
    }
    object_server_damage(server);
    for (int i = 0; i < 3; i++)
        expect_failure(store, i, STORE_ERROR_DAMAGED);
    use(store, BLOBS_IN_DATABASE);
    g_assert_cmpint(move(store, false, &moved), ==, 3);
    g_assert_cmpint(moved, ==, 0);
    expect_place(store, url, 3, 0);
    object_server_damage(server); /* mends them again */
    expect(store, 0, 3);
}

static void test_bytes_in_the_row_are_checked_too(void)
{
    g_autoptr(Store) store = scratch_store();
    put(store, 0, 1);
    g_free(ask(scratch_db_url(), "UPDATE kernels SET code = set_byte(code, 5, 0)"));
    expect_failure(store, 0, STORE_ERROR_DAMAGED);
}

/* What is lost for good is forgotten on demand, and compiled again. */
static void test_lost_objects_are_forgotten_on_demand(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int moved;
    use(store, url);
    put(store, 0, 2);
    object_server_forget(server);
    expect_failure(store, 0, STORE_ERROR_DAMAGED);
    use(store, BLOBS_IN_DATABASE);
    g_assert_cmpint(move(store, true, &moved), ==, 2);
    const char *keys[] = {key_of(0)};
    g_autoptr(GHashTable) known = store_known_kernels(store, keys, 1, &error);
    g_assert_cmpuint(g_hash_table_size(known), ==, 0);
    sweep(store, 2);
    put(store, 0, 2);
    expect(store, 0, 2);
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
    put(store, 0, 3);
    use(store, url);
    object_server_fail(server, "GET", FAULT_WRONG_BYTES, 1);
    g_assert_false(store_move_blobs(store, &all, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_DAMAGED);
    expect_place(store, BLOBS_IN_DATABASE, 3, 0);
    expect(store, 0, 3);
}

static void test_store_that_is_away_loses_nothing(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    use(store, url);
    put(store, 0, 1);
    object_server_fail(server, "PUT", FAULT_BUSY, 5);
    g_assert_false(try_put(store, 1, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    g_clear_error(&error);
    object_server_fail(server, "PUT", FAULT_FORBIDDEN, 1);
    g_assert_false(try_put(store, 1, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    expect_failure(store, 1, STORE_ERROR_NOT_FOUND);
    put(store, 1, 1);
    expect(store, 0, 2);
    sweep(store, 2);
    expect(store, 0, 2);
    g_assert_cmpint(object_server_objects(server), ==, 2);
}

/* An upload that was given up as a dead process's cannot end any more: it is done again. */
static void test_upload_that_was_given_up_does_not_count(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) code = code_of(7);
    g_auto(BlobRef) ref = {0};
    use(store, url);
    g_assert_true(blob_upload(store, code, &ref, &error));
    sweep(store, 0);
    g_assert_cmpint(object_server_objects(server), ==, 1);
    age_uploads();
    sweep(store, 1);
    g_assert_cmpint(object_server_objects(server), ==, 0);
    g_autofree char *sql =
        g_strdup_printf("SELECT end_upload(%d::smallint, '%s')", ref.place, ref.name);
    g_autofree char *ended = ask(scratch_db_url(), sql);
    g_assert_cmpstr(ended, ==, "f");
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

/* Kills a mover after a while that differs each time; true where it was not done yet. */
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
    put(store, 0, KERNELS);
    for (int i = 0; i < 16; i++) {
        use(store, i / 4 % 2 == 0 ? url : BLOBS_IN_DATABASE);
        killed += kill_mover(g_test_rand_int_range(30, 150));
        if (i % 4 == 3)
            expect(store, 0, KERNELS);
    }
    g_test_message("%d movers were killed while they moved", killed);
    g_assert_cmpint(killed, >, 3);
    use(store, url);
    g_assert_cmpint(move(store, false, &moved), ==, 0);
    expect(store, 0, KERNELS);
    age_uploads();
    int removed;
    g_assert_true(store_sweep_blobs(store, &removed, NULL));
    expect_place(store, url, KERNELS, 0);
    expect_place(store, BLOBS_IN_DATABASE, 0, 0);
    g_assert_cmpint(object_server_objects(server), ==, KERNELS);
    expect(store, 0, KERNELS);
}

struct writer {
    int first, count;
    GThread *thread;
};

static gpointer write_and_read(gpointer data)
{
    const struct writer *writer = data;
    g_autoptr(Store) store = store_open(scratch_db_url(), NULL);
    put(store, writer->first, writer->count);
    expect(store, writer->first, writer->count);
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
        use(store, i % 2 == 0 ? url : BLOBS_IN_DATABASE);
        g_assert_cmpint(move(store, false, &moved), ==, 0);
        sum += moved;
        g_assert_true(store_sweep_blobs(store, &removed, NULL));
    }
    for (int i = 0; i < WRITERS; i++)
        g_thread_join(writers[i].thread);
    g_test_message("%d code objects moved meanwhile", sum);
    use(store, url);
    g_assert_cmpint(move(store, false, &moved), ==, 0);
    g_assert_true(store_sweep_blobs(store, &removed, NULL));
    expect_place(store, url, WRITERS * EACH, 0);
    expect_place(store, BLOBS_IN_DATABASE, 0, 0);
    g_assert_cmpint(object_server_objects(server), ==, WRITERS * EACH);
    expect(store, 0, WRITERS * EACH);
}

static void test_code_of_an_older_database_stays(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *url = scratch_db_new();
    g_free(ask(url, "SET client_min_messages = warning; DROP SCHEMA skipjack CASCADE"));
    PGconn *connection = PQconnectdb(url);
    int applied;
    size_t before = 0;
    while (migrations[before].number < 10)
        before++;
    g_assert_true(migrations_apply(connection, migrations, before, &applied, &error));
    g_free(ask(url, "INSERT INTO kernels VALUES (repeat('a', 64), 'f', 'e', '', '', '', '', 0, '',"
                    " 1, '\\x010203', '', 1), (repeat('b', 64), 'f', 'e', '', '', '', '', 2, '', 1,"
                    " NULL, '', 1)"));
    g_assert_true(migrations_apply(connection, migrations, migrations_count, &applied, &error));
    g_assert_no_error(error);
    PQfinish(connection);
    g_autoptr(Store) store = store_open(url, &error);
    g_autofree char *a = g_strnfill(64, 'a');
    g_autofree char *b = g_strnfill(64, 'b');
    struct kernel_row *row = store_get_kernel(store, a, &error);
    g_assert_no_error(error);
    g_assert_cmpmem(g_bytes_get_data(row->code, NULL), g_bytes_get_size(row->code), "\1\2\3", 3);
    kernel_row_free(row);
    row = store_get_kernel(store, b, &error);
    g_assert_true(row != NULL && row->code == NULL && row->failure == FAILURE_COMPILE_ERROR);
    kernel_row_free(row);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/blobs/put/code_is_where_the_setting_says", test_code_is_where_the_setting_says},
    {"/blobs/put/store_that_is_away_loses_nothing", test_store_that_is_away_loses_nothing},
    {"/blobs/put/upload_that_was_given_up_does_not_count",
     test_upload_that_was_given_up_does_not_count},
    {"/blobs/get/wrong_bytes_are_never_a_kernel", test_wrong_bytes_are_never_a_kernel},
    {"/blobs/get/bytes_in_the_row_are_checked_too", test_bytes_in_the_row_are_checked_too},
    {"/blobs/collect/objects_are_removed", test_collected_objects_are_removed},
    {"/blobs/use/place_that_refuses_is_not_used", test_place_that_refuses_is_not_used},
    {"/blobs/move/code_moves_there_and_back", test_code_moves_there_and_back},
    {"/blobs/move/copy_that_reads_back_wrong_is_not_relied_on",
     test_copy_that_reads_back_wrong_is_not_relied_on},
    {"/blobs/move/lost_objects_are_forgotten_on_demand", test_lost_objects_are_forgotten_on_demand},
    {"/blobs/move/killed_mover_loses_nothing", test_killed_mover_loses_nothing},
    {"/blobs/move/workers_go_on_while_code_moves", test_workers_go_on_while_code_moves},
    {"/blobs/migration/code_of_an_older_database_stays", test_code_of_an_older_database_stays},
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].run);
    return g_test_run();
}
