/* Code objects: stored, read and collected, in a real PostgreSQL and on a real HTTP server that fails on
 * demand. */
#include "schema/blobs/blobs.h"

#include "schema/store/failure.h"
#include "schema/store/store_kernels.h"
#include "tests/support/doubles/object_server.h"
#include "tests/support/farm/blob_codes.h"
#include "tests/support/farm/scratch_db.h"

#include <libpq-fe.h>
#include <string.h>

static void test_code_is_where_the_setting_says(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(Store) other = store_open(scratch_db_url(), NULL);
    g_autoptr(GError) error = NULL;
    blob_codes_put(store, 0, 2);
    blob_codes_use(store, url);
    blob_codes_put(other, 2, 3); /* another node uses the new place at once */
    blob_codes_put(store, 2, 1); /* the first writer wins; nothing of the second writer stays */
    g_assert_cmpint(blob_codes_in_rows(), ==, 2);
    blob_codes_expect(store, 0, 5);
    blob_codes_expect(other, 0, 5);
    blob_codes_expect_place(store, BLOBS_IN_DATABASE, 2, 0);
    blob_codes_expect_place(store, url, 3, 1);
    blob_codes_sweep(store, 1);
    g_assert_cmpint(object_server_objects(server), ==, 3);

    g_autofree char *third = g_strdup(blob_codes_key(3));
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
    blob_codes_put(store, 0, 2);
    blob_codes_use(store, url);
    blob_codes_put(store, 2, 3);
    object_server_fail(server, "DELETE", FAULT_FORBIDDEN, 1);
    g_assert_false(store_collect_kernels(store, &dropped, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_cmpint(dropped, ==, 5);
    g_clear_error(&error);
    g_assert_true(store_collect_kernels(store, &dropped, &error));
    g_assert_no_error(error);
    g_assert_cmpint(dropped, ==, 0);
    g_assert_cmpint(object_server_objects(server), ==, 0);
    blob_codes_expect_place(store, url, 0, 0);
    struct kernel_row *row = store_get_kernel(store, blob_codes_key(2), &error);
    g_assert_true(row != NULL && row->code == NULL);
    kernel_row_free(row);
    blob_codes_put(store, 1, 3);
    blob_codes_expect(store, 1, 3);
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
    blob_codes_put(store, 0, 1);
    blob_codes_expect_place(store, BLOBS_IN_DATABASE, 1, 0);
}

static void test_wrong_bytes_are_never_a_kernel(void)
{
    static const enum object_fault faults[] = {FAULT_WRONG_BYTES, FAULT_SHORTER, FAULT_LONGER};
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    int moved;
    blob_codes_use(store, url);
    blob_codes_put(store, 0, 3);
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++) {
        object_server_fail(server, "GET", faults[i], 1);
        blob_codes_expect_failure(store, 0, STORE_ERROR_DAMAGED);
        blob_codes_expect(store, 0, 3);
    }
    object_server_damage(server);
    for (int i = 0; i < 3; i++)
        blob_codes_expect_failure(store, i, STORE_ERROR_DAMAGED);
    blob_codes_use(store, BLOBS_IN_DATABASE);
    g_assert_cmpint(blob_codes_move(store, false, &moved), ==, 3);
    g_assert_cmpint(moved, ==, 0);
    blob_codes_expect_place(store, url, 3, 0);
    object_server_damage(server); /* damages the bytes a second time, which restores them */
    blob_codes_expect(store, 0, 3);
}

static void test_bytes_in_the_row_are_checked_too(void)
{
    g_autoptr(Store) store = scratch_store();
    blob_codes_put(store, 0, 1);
    g_free(blob_codes_ask(scratch_db_url(), "UPDATE kernels SET code = set_byte(code, 5, 0)"));
    blob_codes_expect_failure(store, 0, STORE_ERROR_DAMAGED);
}

static void test_store_that_is_away_loses_nothing(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    blob_codes_use(store, url);
    blob_codes_put(store, 0, 1);
    object_server_fail(server, "PUT", FAULT_BUSY, 5);
    g_assert_false(blob_codes_try_put(store, 1, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    g_clear_error(&error);
    object_server_fail(server, "PUT", FAULT_FORBIDDEN, 1);
    g_assert_false(blob_codes_try_put(store, 1, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    blob_codes_expect_failure(store, 1, STORE_ERROR_NOT_FOUND);
    blob_codes_put(store, 1, 1);
    blob_codes_expect(store, 0, 2);
    blob_codes_sweep(store, 2);
    blob_codes_expect(store, 0, 2);
    g_assert_cmpint(object_server_objects(server), ==, 2);
}

/* An upload that a sweep gave up, since it seemed to be a dead process's, cannot end: it is done again. */
static void test_upload_that_was_given_up_does_not_count(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) code = blob_codes_make(7);
    g_auto(BlobRef) ref = {0};
    blob_codes_use(store, url);
    g_assert_true(blob_upload(store, code, &ref, &error));
    blob_codes_sweep(store, 0);
    g_assert_cmpint(object_server_objects(server), ==, 1);
    blob_codes_age_uploads();
    blob_codes_sweep(store, 1);
    g_assert_cmpint(object_server_objects(server), ==, 0);
    g_autofree char *sql =
        g_strdup_printf("SELECT end_upload(%d::smallint, '%s')", ref.place, ref.name);
    g_autofree char *ended = blob_codes_ask(scratch_db_url(), sql);
    g_assert_cmpstr(ended, ==, "f");
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
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].run);
    return g_test_run();
}
