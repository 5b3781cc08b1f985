/* Merges of kernel-dbs and .sjdb files, and of files that MIOpen ships. */
#include "export/check/check.h"
#include "export/formats/find_db.h"
#include "export/formats/kernel_db.h"
#include "tests/support/export/merge_texts.h"
#include "tests/support/export/real_data.h"
#include "tests/support/temp_folder.h"

#include <string.h>

static const char *write_kernels(TempFolder *folder, const char *name, const char *const rows[][2],
                                 int count)
{
    g_autoptr(GError) error = NULL;
    const char *path = temp_folder_path(folder, name);
    g_autoptr(KernelDbWriter) writer = kernel_db_create(path, &error);
    for (int i = 0; i < count; i++) {
        g_autoptr(GBytes) code = g_bytes_new_static(rows[i][1], strlen(rows[i][1]));
        g_assert_true(kernel_db_add(writer, rows[i][0], "-O3 -mcpu=gfx90a", code, &error));
    }
    g_assert_true(kernel_db_finish(writer, &error));
    return path;
}

static void kernels_are_merged_with_their_blobs(void)
{
    static const char big[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const char *const first[][2] = {{"b.o", big}, {"c.o", "raw"}};
    static const char *const second[][2] = {{"c.o", "other"}, {"a.o", "x"}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {.prefer = MERGE_FIRST};
    char *paths[] = {(char *)write_kernels(folder, "a.kdb", first, 2),
                     (char *)write_kernels(folder, "b.kdb", second, 2), NULL};
    const char *out = temp_folder_path(folder, "out.kdb");
    g_autoptr(MergeReport) report = merge_files(paths, out, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(report->keys, ==, 3);
    g_assert_cmpint(report->conflict_count, ==, 1);
    g_autoptr(CheckReport) check = check_file(out);
    g_assert_true(check_report_clean(check));
    g_autoptr(KernelDb) db = kernel_db_open(out, &error);
    static const char *const names[] = {"a.o", "b.o", "c.o"};
    struct kernel_entry entry;
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(kernel_db_next(db, &entry, &error), ==, READ_ROW);
        g_assert_cmpstr(entry.name, ==, names[i]);
    }
    g_assert_cmpuint(entry.blob_bytes, ==, 3);
    g_assert_cmpmem(entry.blob, entry.blob_bytes, "raw", 3);
}

#define OLDER K2 "=" ALGO "Direct:S,1.50,8" DIRECT ",<unused>"

/* Merges the file `from` into a new file `to`, whose format its name says. */
static MergeReport *convert(const char *from, const char *to, const struct merge_options *options)
{
    g_autoptr(GError) error = NULL;
    char *paths[] = {(char *)from, NULL};
    MergeReport *report = merge_files(paths, to, options, &error);
    g_assert_no_error(error);
    return report;
}

static void assert_text(const char *path, const char *expected)
{
    g_autoptr(GBytes) bytes = temp_folder_read(path);
    g_autofree char *text = merge_texts_of(bytes);
    g_assert_cmpstr(text, ==, expected);
}

static void find_and_perf_dbs_go_through_sjdb(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {.keep_zero = true}, older = {.older_form = true};
    static const char finds[] = K1 "=S:0.1234567,0" DIRECT ";T:2,8" WINOGRAD ";U:0,0" DIRECT "\n";
    char *paths[] = {(char *)temp_folder_write(folder, "a", finds, -1),
                     (char *)temp_folder_write(folder, "b", OLDER "\n", -1),
                     (char *)temp_folder_write(folder, "c", R2 "=A:1\n" R1 "=A:1;B:2,3\n", -1),
                     NULL};
    const char *db = temp_folder_path(folder, "a.sjdb");
    g_autoptr(MergeReport) packed = merge_files(paths, db, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(packed->keys, ==, 4);
    g_assert_cmpint(packed->entries, ==, 7);
    g_assert_cmpint(packed->losses[LOSS_CACHE_KEY_ALONE], ==, 1);

    const char *find = temp_folder_path(folder, "a.fdb.txt");
    g_autoptr(MergeReport) newer = convert(db, find, &options);
    assert_text(find, K1 "=S:0.1234567,0" DIRECT ";T:2,8" WINOGRAD ";U:0,0" DIRECT "\n" K2
                         "=S:1.5,8" DIRECT "\n");
    g_assert_cmpint(newer->losses[LOSS_PERF], ==, 3);
    g_assert_cmpint(newer->losses[LOSS_CACHE_KEY], ==, 1);

    const char *text = temp_folder_path(folder, "a.db.txt");
    g_autoptr(MergeReport) perf = convert(db, text, &options);
    g_assert_nonnull(perf);
    assert_text(text, R2 "=A:1\n" R1 "=A:1;B:2,3\n");
    g_autoptr(MergeReport) old = convert(db, find, &older);
    g_assert_nonnull(old);
    assert_text(find, K2 "=" ALGO "Direct:S,1.5,8" DIRECT ",\n");
}

static void kernels_go_through_sjdb(void)
{
    static const char *const rows[][2] = {{"b.o", "two"}, {"a.o", "one"}, {"c.o", ""}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {0};
    char *paths[] = {(char *)write_kernels(folder, "a.kdb", rows, 3),
                     (char *)temp_folder_write(folder, "b", K1 "=S:1,0" DIRECT "\n", -1), NULL};
    const char *once = temp_folder_path(folder, "a.sjdb");
    const char *twice = temp_folder_path(folder, "b.sjdb");
    const char *back = temp_folder_path(folder, "b.kdb");
    const char *straight = temp_folder_path(folder, "c.kdb");
    g_autoptr(MergeReport) packed = merge_files(paths, once, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(packed->keys, ==, 4);
    g_autoptr(MergeReport) again = convert(once, twice, &options);
    g_autoptr(MergeReport) unpacked = convert(twice, back, &options);
    g_autoptr(MergeReport) sorted = convert(paths[0], straight, &options);
    g_assert_nonnull(sorted);
    g_assert_cmpint(again->keys, ==, 4);
    g_assert_cmpint(unpacked->keys, ==, 3);
    g_assert_cmpint(unpacked->losses[LOSS_FIND], ==, 1);
    g_autoptr(GBytes) a = temp_folder_read(back);
    g_autoptr(GBytes) b = temp_folder_read(straight);
    g_assert_true(g_bytes_equal(a, b));
    g_autoptr(CheckReport) check = check_file(twice);
    g_assert_true(check_report_clean(check));
    g_assert_cmpint(check->keys, ==, 4);
}

static void an_sjdb_is_converted_to_itself(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    const char *text = temp_folder_write(folder, "a", K1 "=S:1,0" DIRECT "\n" OLDER "\n", -1);
    const char *once = temp_folder_path(folder, "a.sjdb");
    const char *twice = temp_folder_path(folder, "b.sjdb");
    g_autoptr(MergeReport) first = convert(text, once, &options);
    g_assert_nonnull(first);
    g_autoptr(MergeReport) second = convert(once, twice, &options);
    g_assert_nonnull(second);
    g_autoptr(GBytes) a = temp_folder_read(once);
    g_autoptr(GBytes) b = temp_folder_read(twice);
    g_assert_true(g_bytes_equal(a, b));
    g_autoptr(CheckReport) check = check_file(twice);
    g_assert_cmpstr(check->format, ==, ".sjdb");
    g_assert_cmpint(check->keys, ==, 2);
    g_assert_true(check_report_clean(check));
}

static void a_damaged_sjdb_is_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    const char *text = temp_folder_write(folder, "a", K1 "=S:1,0" DIRECT "\n", -1);
    const char *db = temp_folder_path(folder, "a.sjdb");
    g_autoptr(MergeReport) report = convert(text, db, &options);
    g_assert_nonnull(report);
    g_autoptr(GBytes) bytes = temp_folder_read(db);
    gsize size = g_bytes_get_size(bytes);
    for (gsize damage = 0; damage < 2; damage++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *copy = g_memdup2(g_bytes_get_data(bytes, NULL), size);
        copy[size - 1] ^= 1;
        char *paths[] = {(char *)temp_folder_write(folder, "b.sjdb", copy, (gssize)(size - damage)),
                         NULL};
        g_assert_null(merge_files(paths, temp_folder_path(folder, "b.fdb.txt"), &options, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
        g_assert_nonnull(strstr(error->message, "b.sjdb"));
        g_autoptr(CheckReport) check = check_file(paths[0]);
        g_assert_cmpint(check->unreadable_count, ==, 1);
    }
}

static void keys_with_an_epilogue_are_for_sjdb_alone(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    const char *text = temp_folder_write(
        folder, "a", K1 "=S:1,0" DIRECT "\n" K1 "+bias+relu=S:1,0" DIRECT "\n", -1);
    const char *find = temp_folder_path(folder, "b.fdb.txt");
    g_autoptr(MergeReport) finds = convert(text, find, &options);
    g_autoptr(MergeReport) all = convert(text, temp_folder_path(folder, "b.sjdb"), &options);
    g_assert_cmpint(finds->losses[LOSS_EPILOGUE], ==, 1);
    g_assert_cmpint(finds->keys, ==, 1);
    g_assert_cmpint(all->keys, ==, 2);
}

/* The path of a file that MIOpen ships. Skips the test and returns NULL where SKIPJACK_DATA has no
 * such file. */
static char *real_file(const char *name)
{
    g_autofree char *folder = real_data("miopen");
    return folder != NULL ? g_build_filename(folder, name, NULL) : NULL;
}

/* A merged file that is merged again does not change, also in MIOpen's older form of a line. */
static void a_real_find_db_is_sorted_and_kept(void)
{
    g_autofree char *path = real_file("gfx900_56.OpenCL.fdb.txt.bz2");
    if (path == NULL) {
        return;
    }
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {.older_form = true};
    char *paths[] = {path, NULL};
    const char *once = temp_folder_path(folder, "once.fdb.txt");
    const char *twice = temp_folder_path(folder, "twice.fdb.txt");
    g_autoptr(MergeReport) first = merge_files(paths, once, &options, &error);
    g_assert_no_error(error);
    paths[0] = (char *)once;
    g_autoptr(MergeReport) second = merge_files(paths, twice, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(first->keys, >, 1500);
    g_assert_cmpint(second->place_count, ==, 0);
    g_autoptr(GBytes) a = temp_folder_read(once);
    g_autoptr(GBytes) b = temp_folder_read(twice);
    g_assert_true(g_bytes_equal(a, b));
}

static void a_real_perf_db_keeps_its_rows(void)
{
    g_autofree char *path = real_file("gfx1030_36.db.bz2");
    if (path == NULL) {
        return;
    }
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {0};
    char *paths[] = {path, path, NULL};
    const char *text = temp_folder_path(folder, "a.db.txt");
    const char *db = temp_folder_path(folder, "a.db");
    g_autoptr(MergeReport) first = merge_files(paths, text, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(first->conflict_count, ==, 0);
    char *again[] = {(char *)text, NULL};
    g_autoptr(MergeReport) second = merge_files(again, db, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(second->entries, ==, first->entries);
    g_assert_cmpint(second->keys, ==, first->keys);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/merge/kernels_are_merged_with_their_blobs",
                    kernels_are_merged_with_their_blobs);
    g_test_add_func("/merge/find_and_perf_dbs_go_through_sjdb", find_and_perf_dbs_go_through_sjdb);
    g_test_add_func("/merge/kernels_go_through_sjdb", kernels_go_through_sjdb);
    g_test_add_func("/merge/an_sjdb_is_converted_to_itself", an_sjdb_is_converted_to_itself);
    g_test_add_func("/merge/a_damaged_sjdb_is_refused", a_damaged_sjdb_is_refused);
    g_test_add_func("/merge/keys_with_an_epilogue_are_for_sjdb_alone",
                    keys_with_an_epilogue_are_for_sjdb_alone);
    g_test_add_func("/merge/a_real_find_db_is_sorted_and_kept", a_real_find_db_is_sorted_and_kept);
    g_test_add_func("/merge/a_real_perf_db_keeps_its_rows", a_real_perf_db_keeps_its_rows);
    return g_test_run();
}
