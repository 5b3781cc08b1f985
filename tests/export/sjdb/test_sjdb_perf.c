#include "export/sjdb/sjdb_write.h"

#include "export/formats/perf_db.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "tests/support/export/real_data.h"
#include "tests/support/random_problem.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_effort.h"

#include <glib/gstdio.h>
#include <string.h>

#define KEY "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"

static struct problem problem_of(const char *key)
{
    struct problem problem;
    g_assert_true(problem_key_parse(key, &problem, NULL));
    return problem;
}

static skipjackdb *finish_and_open(SjdbWriter *writer, const char *path)
{
    skipjackdb *db = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(sjdb_writer_finish(writer, &error));
    g_assert_no_error(error);
    g_assert_cmpint(skipjackdb_open(path, &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_verify(db), ==, SKIPJACKDB_OK);
    return db;
}

static void to_library(const struct problem *problem, struct skipjackdb_problem *read)
{
    char key[PROBLEM_KEY_MAX];
    read->size = sizeof *read;
    g_assert_cmpint(skipjackdb_problem_parse(problem_key(problem, key), read), ==, SKIPJACKDB_OK);
}

/* Looks the params up by the problem's own key, not by the normal form of its perf row. */
static void assert_params(const skipjackdb *db, const struct problem *problem, const char *solver,
                          const char *params)
{
    struct skipjackdb_problem read;
    const char *found = NULL;
    to_library(problem, &read);
    int code = skipjackdb_params(db, &read, solver, &found);
    g_assert_cmpint(code, ==, params != NULL ? SKIPJACKDB_OK : SKIPJACKDB_NOT_FOUND);
    g_assert_cmpstr(found, ==, params);
}

static void params_are_found_by_any_problem_of_the_row(void)
{
    static const char *const same_row[] = {
        "32-14-14-3x3-16-28-28-8-1x1-2x2-1x1-0-NCHW-FP32-B",
        "32-14-14-3x3-16-27-27-8-1x1-2x2-1x1-0-NCHW-FP32-B",
        "32-14-14-3x3-16-28-28-8-1x1-2x2-1x1-0-NCHW-FP32-B_ciFP16+bias",
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct problem problem = problem_of(same_row[0]);
    struct perf_row row;
    perf_row_from_problem(&problem, &row);
    g_assert_true(sjdb_writer_add_perf(writer, &row, "B", "8,16,\"x\"", NULL));
    g_assert_true(sjdb_writer_add_perf(writer, &row, "A", "1", NULL));
    skipjackdb *db = finish_and_open(writer, path);
    for (gsize i = 0; i < G_N_ELEMENTS(same_row); i++) {
        problem = problem_of(same_row[i]);
        assert_params(db, &problem, "A", "1");
        assert_params(db, &problem, "B", "8,16,\"x\"");
        assert_params(db, &problem, "C", NULL);
    }
    problem = problem_of(KEY);
    assert_params(db, &problem, "A", NULL);
    skipjackdb_close(db);
}

static void second_params_of_a_solver_are_refused(void)
{
    g_autoptr(SjdbWriter) writer = sjdb_writer_new("none");
    g_autoptr(GError) error = NULL;
    struct problem problem = problem_of(KEY);
    struct perf_row row;
    perf_row_from_problem(&problem, &row);
    g_assert_true(sjdb_writer_add_perf(writer, &row, "A", "1", NULL));
    g_assert_false(sjdb_writer_add_perf(writer, &row, "A", "2", &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
}

static void row_without_a_problem_is_refused(void)
{
    g_autoptr(SjdbWriter) writer = sjdb_writer_new("none");
    g_autoptr(GError) error = NULL;
    struct problem problem = problem_of(KEY);
    struct perf_row row;
    perf_row_from_problem(&problem, &row);
    row.values[0] = 7; /* spatial_dim */
    g_assert_false(sjdb_writer_add_perf(writer, &row, "A", "1", &error));
    g_assert_nonnull(error);
}

/* Rows of random problems; the params name their row, so that an exchanged row is noticed. */
static void random_rows_read_back(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(10);
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_autoptr(GArray) problems = g_array_new(FALSE, FALSE, sizeof(struct problem));
    struct random_limits limits;
    random_limits_wide(&limits);
    random_limits_nameable(&limits);
    for (int i = 0; i < test_effort(1000); i++) {
        struct problem problem;
        struct perf_row row;
        char key[PROBLEM_KEY_MAX];
        random_problem(random, &limits, &problem);
        perf_row_from_problem(&problem, &row);
        if (sjdb_writer_add_perf(writer, &row, "A", perf_row_key(&row, key), NULL)) {
            g_array_append_val(problems, problem);
        }
    }
    g_assert_cmpuint(problems->len, >, (guint)test_effort(500));
    skipjackdb *db = finish_and_open(writer, path);
    g_assert_cmpuint(skipjackdb_perf_count(db), ==, problems->len);
    for (guint i = 0; i < problems->len; i++) {
        const struct problem *problem = &g_array_index(problems, struct problem, i);
        struct perf_row row;
        char key[PROBLEM_KEY_MAX];
        perf_row_from_problem(problem, &row);
        assert_params(db, problem, "A", perf_row_key(&row, key));
    }
    skipjackdb_close(db);
}

/* ---- shipped perf-dbs ---- */

/* The file's rows by id; the values are struct perf_row. */
static GHashTable *rows_of(PerfDb *perf_db)
{
    GHashTable *rows = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    struct perf_row row;
    int64_t id = 0;
    while (perf_db_next_config(perf_db, &id, &row, NULL) == READ_ROW) {
        g_hash_table_insert(rows, g_memdup2(&id, sizeof id), g_memdup2(&row, sizeof row));
    }
    return rows;
}

/* Adds the file's entries to the writer, or compares them with db. Returns the number of
 * entries. */
static int each_entry(const char *path, SjdbWriter *writer, const skipjackdb *db)
{
    struct perf_entry entry;
    int count = 0;
    g_autoptr(PerfDb) perf_db = perf_db_open(path, NULL);
    g_assert_nonnull(perf_db);
    g_autoptr(GHashTable) rows = rows_of(perf_db);
    while (perf_db_next_entry(perf_db, &entry, NULL) == READ_ROW) {
        const struct perf_row *row = g_hash_table_lookup(rows, &entry.config);
        struct problem problem;
        g_autoptr(GError) error = NULL;
        g_assert_nonnull(row);
        if (writer != NULL) {
            bool added = sjdb_writer_add_perf(writer, row, entry.solver, entry.params, &error);
            if (!added) {
                g_test_message("left out: %s", error->message);
            }
            count += added;
        } else if (perf_row_to_problem(row, &problem, NULL)) {
            assert_params(db, &problem, entry.solver, entry.params);
            count++;
        }
    }
    return count;
}

/* Asserts that each row number gives a row that is found under this number, and that all rows
 * together have `entries` entries. */
static void assert_rows(const skipjackdb *db, int entries)
{
    gsize total = 0;
    for (uint64_t i = 0; i < skipjackdb_perf_count(db); i++) {
        struct skipjackdb_problem read = {.size = sizeof read};
        struct skipjackdb_perf_entry entry;
        size_t count = 0;
        uint64_t number = 0;
        g_assert_cmpint(skipjackdb_perf_at(db, i, &read), ==, SKIPJACKDB_OK);
        g_assert_cmpint(skipjackdb_perf_find(db, &read, &number), ==, SKIPJACKDB_OK);
        g_assert_cmpuint(number, ==, i);
        g_assert_cmpint(skipjackdb_perf_entries(db, i, &entry, sizeof entry, 1, &count), ==,
                        SKIPJACKDB_OK);
        total += count;
    }
    g_assert_cmpuint(total, ==, entries);
}

static void shipped_perf_db_reads_back_and_is_much_smaller_than_its_bzip2(void)
{
    static const char *const names[] = {"gfx1030_36.db.bz2", "gfx942130.db.bz2"};
    g_autofree char *data = real_data("miopen");
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    for (gsize i = 0; data != NULL && i < G_N_ELEMENTS(names); i++) {
        GStatBuf packed, written;
        g_autofree char *source = g_build_filename(data, names[i], NULL);
        g_assert_cmpint(g_stat(source, &packed), ==, 0);
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        int count = each_entry(source, writer, NULL);
        skipjackdb *db = finish_and_open(writer, path);
        assert_rows(db, count);
        g_assert_cmpint(each_entry(source, NULL, db), ==, count);
        skipjackdb_close(db);
        g_assert_cmpint(g_stat(path, &written), ==, 0);
        g_test_message("%s: %d entries, %ld bytes, %.2f times the bzip2", names[i], count,
                       (long)written.st_size, (double)written.st_size / (double)packed.st_size);
        g_assert_cmpfloat((double)written.st_size, <=, 0.6 * (double)packed.st_size);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/sjdb_perf/params_are_found_by_any_problem_of_the_row",
                    params_are_found_by_any_problem_of_the_row);
    g_test_add_func("/sjdb_perf/second_params_of_a_solver_are_refused",
                    second_params_of_a_solver_are_refused);
    g_test_add_func("/sjdb_perf/row_without_a_problem_is_refused",
                    row_without_a_problem_is_refused);
    g_test_add_func("/sjdb_perf/random_rows_read_back", random_rows_read_back);
    g_test_add_func("/sjdb_perf/shipped_perf_db_reads_back_and_is_much_smaller_than_its_bzip2",
                    shipped_perf_db_reads_back_and_is_much_smaller_than_its_bzip2);
    return g_test_run();
}
