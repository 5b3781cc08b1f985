/* Reads problems from SQLite perf-dbs: complete files, odd ones, and files that another program is
 * writing. */
#include "tests/support/export/import_totals.h"

#include <glib/gstdio.h>
#include <sqlite3.h>

static const struct import_options options;

static void make_perf_db(const char *path, const char *sql)
{
    sqlite3 *database = NULL;
    g_assert_cmpint(sqlite3_open(path, &database), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(database, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(database);
}

static const char perf_db[] =
    "CREATE TABLE config(id INTEGER PRIMARY KEY ASC, layout TEXT, data_type TEXT, direction TEXT,"
    " spatial_dim INT, in_channels INT, in_h INT, in_w INT, in_d INT, fil_h INT, fil_w INT,"
    " fil_d INT, out_channels INT, batchsize INT, pad_h INT, pad_w INT, pad_d INT,"
    " conv_stride_h INT, conv_stride_w INT, conv_stride_d INT, dilation_h INT, dilation_w INT,"
    " dilation_d INT, bias INT, group_count INT);"
    "INSERT INTO config VALUES(1,'NCHW','FP32','F',2,256,14,14,1,3,3,1,512,8,1,1,0,1,1,0,1,1,0,0,1);"
    "INSERT INTO config VALUES(9,'NCHW','FP32','F',2,256,-5,14,1,3,3,1,512,8,1,1,0,1,1,0,1,1,0,0,1)";
static const char no_numbers[] =
    "INSERT INTO config VALUES(5,'NCHW','FP32','F',2,256,14.5,14,1,3,3,1,512,8,1,1,0,1,1,0,1,1,0,0,1);"
    "INSERT INTO config VALUES(6,'NCHW','FP32','F',2,256,'x',14,1,3,3,1,512,8,1,1,0,1,1,0,1,1,0,0,1)";

static void test_perf_db(void)
{
    g_autofree char *folder = g_dir_make_tmp("skipjack-import-XXXXXX", NULL);
    g_autofree char *good = g_build_filename(folder, "good.db", NULL);
    g_autofree char *other = g_build_filename(folder, "other.db", NULL);
    g_autofree char *logged = g_build_filename(folder, "logged.db", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Import) import = import_new(&options);
    make_perf_db(good, perf_db);
    make_perf_db(other, "CREATE TABLE something(x)");
    g_assert_true(import_file(import, good, &error));
    g_assert_no_error(error);
    import_has_totals(import, 2, 1, 1, 1, 1);
    import_has_entry(import, 0, 1, "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F");
    const struct import_skip *skip = g_ptr_array_index(import->skipped, 0);
    g_assert_cmpint(skip->line, ==, 9);
    make_perf_db(logged, "PRAGMA journal_mode=WAL");
    make_perf_db(logged, perf_db);
    g_assert_true(import_file(import, logged, &error));
    g_assert_no_error(error);
    import_has_totals(import, 4, 2, 1, 1, 2);
    g_assert_false(import_file(import, other, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND);
    g_assert_nonnull(strstr(error->message, "config"));
    g_unlink(logged);
    g_unlink(good);
    g_unlink(other);
    g_rmdir(folder);
}

static void test_numbers(void)
{
    g_autofree char *folder = g_dir_make_tmp("skipjack-import-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "odd.db", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Import) import = import_new(&options);
    make_perf_db(path, perf_db);
    make_perf_db(path, no_numbers);
    g_assert_true(import_file(import, path, &error));
    g_assert_no_error(error);
    import_has_totals(import, 4, 1, 1, 1, 3);
    const struct import_skip *skip = g_ptr_array_index(import->skipped, 0);
    g_assert_cmpstr(skip->reason, ==, "in_h is a fraction instead of a number");
    skip = g_ptr_array_index(import->skipped, 1);
    g_assert_cmpstr(skip->reason, ==, "in_h is a text instead of a number");
    g_unlink(path);
    g_rmdir(folder);
}

/* A -wal or -journal file beside the database, left by a program that still writes or was killed:
 * the import is refused where it holds unfinished changes. */
static void test_unfinished(void)
{
    static const struct {
        const char *ending, *bytes;
        gssize length;
        bool finished;
    } rows[] = {{"-wal", "\x37\x7f\x06\x82", 4, false},
                {"-wal", "", 0, true},
                {"-journal", "\xd9\xd5\x05\xf9", 4, false},
                {"-journal", "\0\0\0\0", 4, true}};
    g_autofree char *folder = g_dir_make_tmp("skipjack-import-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "open.db", NULL);
    make_perf_db(path, perf_db);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Import) import = import_new(&options);
        g_autofree char *beside = g_strconcat(path, rows[i].ending, NULL);
        g_assert_true(g_file_set_contents(beside, rows[i].bytes, rows[i].length, NULL));
        g_assert_cmpint(import_file(import, path, &error), ==, rows[i].finished);
        g_unlink(beside);
        if (!rows[i].finished) {
            g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
            g_assert_nonnull(strstr(error->message, beside));
        }
    }
    g_unlink(path);
    g_rmdir(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/import_sqlite/perf_db_is_read", test_perf_db);
    g_test_add_func("/import_sqlite/fractions_and_texts_are_no_numbers", test_numbers);
    g_test_add_func("/import_sqlite/a_database_that_is_being_written_is_refused", test_unfinished);
    return g_test_run();
}
