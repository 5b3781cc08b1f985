#include "coordinator/import/import_foreign.h"
#include "schema/results/store_foreign.h"

#include "coordinator/campaigns/lists.h"
#include "coordinator/commands.h"
#include "coordinator/reports/report.h"
#include "export/formats/perf_db.h"
#include "export/golden/golden.h"
#include "export/release/export.h"
#include "export/usage/usage_read.h"
#include "schema/store/store_campaigns.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/real_data.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#define ONE      "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define TWO      "128-28-28-1x1-64-28-28-4-0x0-1x1-1x1-0-NCHW-FP32-F"
/* its perf-db row is that of a 55x55 input */
#define BACK     "64-28-28-3x3-64-56-56-16-1x1-2x2-1x1-0-NCHW-FP32-B"
#define ALGO     "miopenConvolutionFwdAlgo"
#define FIND     "gfx90a68.HIP.fdb.txt"
#define PERF     "gfx90a68.db.txt"
#define ROW      "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"
/* The perf-db row of BACK, which states the size of y (28x28). */
#define BACK_ROW "2x64x28x28x1x3x3x1x64x16x1x1x0x2x2x0x1x1x0x0x1xNCHWxFP32xB"

static const char find_text[] =
    ONE "=Zero:0.0,0," ALGO "GEMM;Fast:0.5,64," ALGO "GEMM;Slow:2,0," ALGO "Direct;Fast:3,0," ALGO
        "GEMM\n" TWO "=" ALGO "Direct:Old,1.5,0," ALGO "Direct,<unused>\n" BACK
        "=Back:0.25,0,miopenConvolutionBwdDataAlgoDirect\nbroken\n";
static const char perf_text[] = ROW "=Fast:1,2;Other:x<3, 4>\n" BACK_ROW "=Back:7\n";

static bool run(Store *store, char **paths, const char *target, struct foreign_import *import,
                GError **error)
{
    const struct foreign_request request = {.paths = paths, .target = target};
    return import_foreign(store, &request, import, error);
}

/* Imports the find-db and the perf-db as one campaign; *is_new: whether the campaign was new.
 * Returns its id. */
static int64_t import_both(Store *store, TempFolder *folder, bool *is_new)
{
    struct foreign_import import;
    g_autoptr(GError) error = NULL;
    char *paths[] = {g_strdup(temp_folder_write(folder, FIND, find_text, -1)),
                     g_strdup(temp_folder_write(folder, PERF, perf_text, -1)), NULL};
    g_assert_true(run(store, paths, NULL, &import, &error));
    g_assert_no_error(error);
    int64_t id = import.campaign;
    *is_new = import.is_new;
    g_assert_cmpuint(import.files->len, ==, *is_new ? 2 : 0);
    foreign_import_clear(&import);
    g_free(paths[0]);
    g_free(paths[1]);
    return id;
}

static void add_text(const struct problem *problem, const struct foreign_entry *entries, int count,
                     gpointer text)
{
    char key[PROBLEM_KEY_MAX];
    g_string_append_printf(text, "%s", problem_key(problem, key));
    for (int i = 0; i < count; i++) {
        g_string_append_printf(text, " %s=%g[%s]", entries[i].solver,
                               isnan(entries[i].time_ms) ? -1 : entries[i].time_ms,
                               entries[i].params);
    }
    g_string_append(text, "\n");
}

static char *content(Store *store, int64_t id)
{
    g_autoptr(GError) error = NULL;
    GString *text = g_string_new(NULL);
    g_assert_true(store_each_foreign(store, id, add_text, text, &error));
    g_assert_no_error(error);
    return g_string_free(text, FALSE);
}

static void both_grammars_and_perf_dbs_become_one_campaign(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    bool is_new;
    int64_t id = import_both(store, folder, &is_new);
    g_assert_true(is_new);
    g_autofree char *text = content(store, id);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    static const char *const expected[] = {
        ONE " Fast=0.5[1,2] Slow=2[] Other=-1[x<3, 4>]",
        TWO " Old=1.5[]",
        BACK " Back=0.25[7]",
        "64-28-28-3x3-64-55-55-16-1x1-2x2-1x1-0-NCHW-FP32-B Back=-1[7]",
    };
    g_assert_cmpuint(g_strv_length(lines), ==, G_N_ELEMENTS(expected) + 1);
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_assert_true(g_strv_contains((const char *const *)lines, expected[i]));
    }
}

static void same_content_again_changes_nothing(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct foreign_import import;
    bool is_new;
    int64_t id = import_both(store, folder, &is_new);
    g_autofree char *before = content(store, id);
    g_assert_cmpint(import_both(store, folder, &is_new), ==, id);
    g_assert_false(is_new);
    /* Compressed, in another order, under other names. */
    char *paths[] = {
        g_strdup(temp_folder_write_bzip2(folder, "b.bz2", perf_text, sizeof perf_text - 1)),
        g_strdup(temp_folder_write_bzip2(folder, "a.bz2", find_text, sizeof find_text - 1)), NULL};
    g_assert_true(run(store, paths, "gfx90a68", &import, &error));
    g_assert_cmpint(import.campaign, ==, id);
    g_assert_false(import.is_new);
    foreign_import_clear(&import);
    g_autofree char *after = content(store, id);
    g_assert_cmpstr(after, ==, before);
    /* The same files for another target make another campaign. */
    g_assert_true(run(store, paths, "gfx906_60", &import, &error));
    g_assert_true(import.is_new);
    foreign_import_clear(&import);
    g_free(paths[0]);
    g_free(paths[1]);
}

static void make_perf_db(const char *path)
{
    static const char sql[] = "UPDATE perf_db SET params = '' WHERE id = 2;"
                              "INSERT INTO perf_db VALUES (3, 'Lost', 77, '1');"
                              "INSERT INTO config SELECT 9, 'NCHW', data_type, 'Q', spatial_dim,"
                              " in_channels, in_h, in_w, in_d, fil_h, fil_w, fil_d, out_channels,"
                              " batchsize, pad_h, pad_w, pad_d, conv_stride_h, conv_stride_w,"
                              " conv_stride_d, dilation_h, dilation_w, dilation_d, bias,"
                              " group_count FROM config WHERE id = 1;"
                              "INSERT INTO perf_db VALUES (4, 'Bad', 9, '1')";
    struct perf_row row;
    g_autoptr(GError) error = NULL;
    sqlite3 *db = NULL;
    g_autoptr(GPtrArray) records =
        g_ptr_array_new_with_free_func((GDestroyNotify)(void (*)(void))perf_record_free);
    g_assert_true(perf_row_key_parse(ROW, &row, &error));
    g_ptr_array_add(records, perf_record_new(&row, "Fast", "1,2"));
    g_ptr_array_add(records, perf_record_new(&row, "Slow", "3"));
    g_assert_true(perf_db_write(path, PERF_LIST(records), &error));
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(db);
}

#define SKIPS_MAX 4

struct expected_skip {
    int64_t line;
    const char *reason; /* a part of the reason; NULL: the end of the list */
};

static void expect_skips(const struct foreign_import *import, const char *path,
                         const struct expected_skip expected[SKIPS_MAX])
{
    for (guint i = 0; i < SKIPS_MAX; i++) {
        g_assert_true((i < import->skips->len) == (expected[i].reason != NULL));
        if (i < import->skips->len) {
            const struct foreign_skip *skip = import->skips->pdata[i];
            g_assert_cmpstr(skip->file, ==, path);
            g_assert_cmpint(skip->line, ==, expected[i].line);
            g_assert_nonnull(strstr(skip->reason, expected[i].reason));
        }
    }
}

static void unusable_rows_are_named_and_left_out(void)
{
    static const struct {
        const char *name, *text; /* text: the file's content; NULL: the SQLite perf-db */
        int64_t problems, entries;
        struct expected_skip skips[SKIPS_MAX];
    } cases[] = {
        {FIND, find_text, 3, 5, {{1, "Zero: a time of 0.0 ms"}, {4, "expected a key"}}},
        {FIND,
         ONE "=A:-1,0,x;B:1e12,0,x;C:1,9223372036854775808,x\n",
         1,
         0,
         {{1, "A: a time of -1 ms"}, {1, "B: a time of 1e12 ms"}, {1, "C: no memory"}}},
        {FIND,
         "64-55-55-3x3-64-28-28-16-0x0-2x2-1x1-0-NCHW-FP32-F=A:1,0,x\n"
         "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP99-F=A:1,0,x\n" ONE "=A:1,0,x",
         1,
         1,
         {{1, "out"}, {2, "FP99"}}},
        {PERF, perf_text, 2, 3, {{0}}},
        {PERF, ROW "=A:;B:1\n2x3xNCHW=A:1\n", 1, 1, {{1, "A has no params"}, {2, "expected"}}},
        {"gfx90a68.db",
         NULL,
         1,
         1,
         {{9, "config: the direction 'Q'"},
          {2, "Slow has no params"},
          {3, "config 77, which is not there"},
          {4, "config 9, which is not there"}}},
    };
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct foreign_import import;
        g_autoptr(GError) error = NULL;
        const char *path = temp_folder_path(folder, cases[i].name);
        if (cases[i].text == NULL) {
            make_perf_db(path);
        } else {
            path = temp_folder_write(folder, cases[i].name, cases[i].text, -1);
        }
        char *paths[] = {(char *)path, NULL};
        g_assert_true(run(i % 2 == 0 ? store : NULL, paths, NULL, &import, &error));
        g_assert_no_error(error);
        const struct foreign_file *file = &g_array_index(import.files, struct foreign_file, 0);
        g_assert_cmpint(file->problems, ==, cases[i].problems);
        g_assert_cmpint(file->entries, ==, cases[i].entries);
        g_assert_cmpint(file->left_out, ==, import.skips->len);
        expect_skips(&import, path, cases[i].skips);
        foreign_import_clear(&import);
    }
}

/* SQLite's message does not say which file has the wrong columns: import adds the file's name. */
static void a_perf_db_of_other_columns_is_named(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct foreign_import import;
    const char *path = temp_folder_path(folder, "gfx90a68.db");
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(
        sqlite3_exec(db, "CREATE TABLE config(id); CREATE TABLE perf_db(id)", NULL, NULL, NULL), ==,
        SQLITE_OK);
    sqlite3_close(db);
    char *paths[] = {(char *)path, NULL};
    g_assert_false(run(store, paths, NULL, &import, &error));
    g_assert_nonnull(strstr(error->message, path));
    g_assert_nonnull(strstr(error->message, "no such column"));
    foreign_import_clear(&import);
}

static void files_that_end_early_store_nothing(void)
{
    static const char junk[] = "no database\n";
    static const struct {
        const char *name, *target;
        bool torn;
        int code; /* code of EXPORT_ERROR; -1: wrong usage */
        const char *words;
    } cases[] = {
        {"gfx90a68.HIP.fdb.txt.bz2", NULL, true, EXPORT_ERROR_DAMAGED, "bzip2"},
        {"gfx90a68.HIP.fdb.txt", NULL, false, EXPORT_ERROR_KIND, "neither a find-db"},
        {"mine.txt", NULL, false, -1, "--target"},
        {"mine.txt", "gfx90a68", false, EXPORT_ERROR_KIND, "neither a find-db"},
    };
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *first = g_strdup(temp_folder_write(folder, FIND, find_text, -1));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct foreign_import import;
        g_autoptr(GError) error = NULL;
        const char *path = temp_folder_write_bzip2(folder, cases[i].name, junk, sizeof junk - 1);
        if (cases[i].torn) {
            g_autoptr(GBytes) whole = temp_folder_read(path);
            path = temp_folder_write(folder, cases[i].name, g_bytes_get_data(whole, NULL),
                                     (gssize)g_bytes_get_size(whole) - 9);
        }
        char *paths[] = {first, (char *)path, NULL};
        g_assert_false(run(store, paths, cases[i].target, &import, &error));
        g_assert_nonnull(strstr(error->message, cases[i].words));
        if (cases[i].code < 0) {
            g_assert_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
        } else {
            g_assert_error(error, EXPORT_ERROR, cases[i].code);
        }
        foreign_import_clear(&import);
        g_autoptr(GPtrArray) campaigns = store_list_campaigns(store, NULL);
        g_assert_cmpuint(campaigns->len, ==, 0);
    }
}

static void report_shows_who_is_fastest_and_no_more(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    bool is_new;
    struct report *report = report_new(store, import_both(store, folder, &is_new), &error);
    g_assert_no_error(error);
    /* a problem of which only params are known, without a time, gets no row */
    g_assert_cmpuint(report->rows->len, ==, 3);
    g_assert_cmpint(report->totals.compared, ==, 0);
    for (guint i = 0; i < report->rows->len; i++) {
        const struct report_row *row = &g_array_index(report->rows, struct report_row, i);
        g_assert_true(row->won && isnan(row->naive_ms) && isnan(row->own_default_ms));
        if (strcmp(row->solver, "Fast") == 0) {
            g_assert_cmpstr(row->config, ==, "1,2");
            g_assert_cmpfloat(row->time_ms, ==, 0.5);
        }
    }
    json_t *json = report_json(report);
    g_assert_true(json_is_true(json_object_get(json, "foreign")));
    json_decref(json);
    report_free(report);
}

static void report_asked_for_no_campaign_passes_it_over(void)
{
    const struct order order = {.jobs = 1};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct farm farm;
    bool is_new;
    farm_init(&farm, &order);
    g_assert_cmpint(import_both(farm.store, folder, &is_new), >, farm.campaign);
    g_autoptr(GPtrArray) campaigns = list_own_campaigns(farm.store, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(campaigns->len, ==, 1);
    g_assert_cmpint(((const struct campaign *)campaigns->pdata[0])->id, ==, farm.campaign);
    g_assert_true(store_change_campaign(farm.store, farm.campaign, "drop", &error));
    g_assert_null(list_own_campaigns(farm.store, &error));
    g_assert_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY);
    farm_clear(&farm);
}

static void usage_counts_a_foreign_campaign_and_export_refuses_it(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(Usage) usage = usage_new();
    struct usage_summary sums;
    struct export_summary summary = {0};
    bool is_new;
    int64_t id = import_both(store, folder, &is_new);
    const struct export_wish wish = {.campaign = id, .what = EXPORT_ALL, .top = 1};
    struct usage_database database = {.store = store};
    g_assert_true(usage_own_campaign(usage, &database, id, &error));
    g_assert_true(usage_read_campaign(usage, &database, id, &error));
    usage_database_clear(&database);
    usage_sum(usage, &sums);
    g_assert_cmpint(sums.all.covered, ==, 3);
    g_assert_cmpuint(sums.all.solvers->len, ==, 3);
    usage_summary_clear(&sums);
    const char *out = temp_folder_path(folder, "out");
    g_assert_false(export_campaign(store, &wish, out, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK);
    g_assert_nonnull(strstr(error->message, "foreign"));
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
    export_summary_clear(&summary);
}

static void a_foreign_campaign_makes_no_golden_version(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct golden_summary summary;
    bool is_new;
    const struct golden_wish wish = {.campaign = import_both(store, folder, &is_new),
                                     .base = -1,
                                     .by = "Ann",
                                     .note = "",
                                     .noise = GOLDEN_NOISE_FACTOR};
    g_assert_false(golden_propose(store, &wish, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY);
    golden_summary_clear(&summary);
}

/* The command opens the database that SKIPJACK_DB names: here the scratch database. */
static void a_foreign_campaign_can_only_be_dropped(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    bool is_new;
    g_autofree char *id =
        g_strdup_printf("%" G_GINT64_FORMAT, (gint64)import_both(store, folder, &is_new));
    static const struct {
        const char *verb;
        int status;
    } cases[] = {{"pause", 1}, {"resume", 1}, {"cancel", 1}, {"retry", 1}, {"drop", 0}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *verb = g_strdup(cases[i].verb);
        char program[] = "campaign", *argv[] = {program, verb, id, NULL};
        g_test_message("%s", verb);
        g_assert_cmpint(command_campaign(3, argv), ==, cases[i].status);
    }
}

/* The expected totals were counted in the files as MIOpen ships them. */
static void shipped_files_are_imported(void)
{
    g_autofree char *data = real_data("miopen");
    if (data == NULL) {
        return;
    }
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    struct foreign_import import;
    struct foreign_counts counts;
    char *paths[] = {g_build_filename(data, "gfx942130.HIP.fdb.txt.bz2", NULL),
                     g_build_filename(data, "gfx942130.db.bz2", NULL), NULL};
    g_assert_true(run(store, paths, NULL, &import, &error));
    g_assert_no_error(error);
    g_assert_cmpint(import.left_out, ==, 0);
    g_assert_true(store_count_foreign(store, import.campaign, &counts, &error));
    g_assert_cmpint(counts.problems, ==, 9600);
    g_assert_cmpint(counts.times, ==, 37792);
    g_assert_cmpint(counts.params, ==, 21058);
    foreign_import_clear(&import);
    g_free(paths[0]);
    g_free(paths[1]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/import_foreign/both_grammars_and_perf_dbs_become_one_campaign",
                    both_grammars_and_perf_dbs_become_one_campaign);
    g_test_add_func("/import_foreign/same_content_again_changes_nothing",
                    same_content_again_changes_nothing);
    g_test_add_func("/import_foreign/unusable_rows_are_named_and_left_out",
                    unusable_rows_are_named_and_left_out);
    g_test_add_func("/import_foreign/a_perf_db_of_other_columns_is_named",
                    a_perf_db_of_other_columns_is_named);
    g_test_add_func("/import_foreign/files_that_end_early_store_nothing",
                    files_that_end_early_store_nothing);
    g_test_add_func("/import_foreign/report_shows_who_is_fastest_and_no_more",
                    report_shows_who_is_fastest_and_no_more);
    g_test_add_func("/import_foreign/report_asked_for_no_campaign_passes_it_over",
                    report_asked_for_no_campaign_passes_it_over);
    g_test_add_func("/import_foreign/usage_counts_a_foreign_campaign_and_export_refuses_it",
                    usage_counts_a_foreign_campaign_and_export_refuses_it);
    g_test_add_func("/import_foreign/a_foreign_campaign_makes_no_golden_version",
                    a_foreign_campaign_makes_no_golden_version);
    g_test_add_func("/import_foreign/a_foreign_campaign_can_only_be_dropped",
                    a_foreign_campaign_can_only_be_dropped);
    g_test_add_func("/import_foreign/shipped_files_are_imported", shipped_files_are_imported);
    return g_test_run();
}
