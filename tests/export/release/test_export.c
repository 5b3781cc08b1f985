/* A campaign filled through the store as workers fill it, exported, read back. */
#include "export/release/export.h"

#include "export/check/check.h"
#include "export/formats/find_db.h"
#include "export/formats/manifest.h"
#include "schema/store/store_private.h"
#include "tests/support/export_farm.h"
#include "tests/support/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <string.h>
#include <unistd.h>

static bool export_to(const struct export_farm *farm, const char *dir, unsigned what,
                      struct export_summary *summary, GError **error)
{
    memset(summary, 0, sizeof *summary);
    const struct export_wish wish = {
        .campaign = farm->campaign, .what = what, .top = FIND_ENTRIES_MAX};
    return export_campaign(farm->store, &wish, dir, summary, error);
}

static const char *const names[] = {EXPORT_FARM_TARGET ".kdb", EXPORT_FARM_TARGET ".db",
                                    EXPORT_FARM_TARGET ".db.txt", EXPORT_FARM_TARGET ".sjdb",
                                    EXPORT_FARM_TARGET ".HIP.fdb.txt"};
#define MANIFEST EXPORT_FARM_TARGET ".export.json"

static void campaign_is_exported_and_passes_check(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    const char *dir = temp_folder_path(folder, "out");
    g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.find_keys, ==, 3);
    g_assert_cmpint(summary.perf_records, >, 0);
    g_assert_cmpint(summary.refused.count, ==, 0);
    g_assert_cmpuint(summary.files->len, ==, G_N_ELEMENTS(names) + 1);
    g_assert_true(g_str_has_suffix(summary.files->pdata[G_N_ELEMENTS(names)], MANIFEST));
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(CheckReport) report = check_file(summary.files->pdata[i]);
        g_assert_true(check_report_clean(report));
        g_assert_cmpint(report->findings[FINDING_UNKNOWN_SOLVER], ==, 0);
        g_assert_cmpint(report->findings[FINDING_UNSORTED_ENTRIES], ==, 0);
        /* A .sjdb has as many entries, and solutions for these and all others that passed. */
        const int64_t entries[] = {summary.kernels, summary.perf_records, summary.perf_records,
                                   2 * summary.find_entries + summary.kernels,
                                   summary.find_entries};
        bool more = g_str_has_suffix(names[i], ".sjdb");
        g_assert_cmpint(report->entries, >=, entries[i]);
        g_assert_true(more || report->entries == entries[i]);
    }
    GDir *left = g_dir_open(dir, 0, NULL);
    int count = 0;
    while (g_dir_read_name(left) != NULL) {
        count++;
    }
    g_dir_close(left);
    g_assert_cmpint(count, ==, G_N_ELEMENTS(names) + 1);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void same_results_give_the_same_bytes(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    GBytes *first[G_N_ELEMENTS(names)] = {NULL};
    for (int pass = 0; pass < 3; pass++) {
        /* A database filled anew each time. */
        struct export_farm farm;
        struct export_summary summary;
        export_farm_init(&farm);
        export_farm_work(&farm);
        g_autofree char *sub = g_strdup_printf("out%d", pass % 2);
        const char *dir = temp_folder_path(folder, sub);
        g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
            g_autofree char *path = g_build_filename(dir, names[i], NULL);
            g_autoptr(GBytes) bytes = temp_folder_read(path);
            if (pass == 0) {
                first[i] = g_bytes_ref(bytes);
            }
            g_assert_true(g_bytes_equal(bytes, first[i]));
        }
        export_summary_clear(&summary);
        export_farm_clear(&farm);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_bytes_unref(first[i]);
    }
}

static void only_what_is_asked_for_is_written(void)
{
    static const struct {
        unsigned what;
        bool written[G_N_ELEMENTS(names)];
    } cases[] = {
        {EXPORT_KERNELS, {true, false, false, false, false}},
        {EXPORT_PERF, {false, true, true, false, false}},
        {EXPORT_COMPACT, {false, false, false, true, false}},
        {EXPORT_FIND, {false, false, false, false, true}},
    };
    struct export_farm farm;
    export_farm_init(&farm);
    export_farm_work(&farm);
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        struct export_summary summary;
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_assert_true(
            export_to(&farm, temp_folder_path(folder, ""), cases[c].what, &summary, NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
            bool there = g_file_test(temp_folder_path(folder, names[i]), G_FILE_TEST_EXISTS);
            g_assert_cmpint(there, ==, cases[c].written[i]);
        }
        export_summary_clear(&summary);
    }
    export_farm_clear(&farm);
}

static void result_without_its_kernel_is_left_out_and_named(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_farm_init(&farm);
    farm.lose_kernels = true;
    export_farm_work(&farm);
    g_assert_true(export_to(&farm, temp_folder_path(folder, ""), EXPORT_ALL, &summary, NULL));
    g_assert_cmpint(summary.refused.count, >, 0);
    for (guint i = 0; i < summary.refused.listed->len; i++) {
        const struct export_refusal *refusal = summary.refused.listed->pdata[i];
        g_assert_cmpstr(refusal->problem, ==, export_farm_keys[0]);
        g_assert_nonnull(strstr(refusal->reason, "is not in the database"));
    }
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* ---- what was written past the farm's own calls ---- */

#define JOB   "(SELECT min(job_id) FROM results)"
#define FIRST " WHERE job_id = " JOB
/* What a worker could have handed in whole: the round says it too. */
#define BOTH(RESULT, OUTCOME)                                                                      \
    "WITH o AS (UPDATE outcomes SET " OUTCOME FIRST ") UPDATE results SET " RESULT FIRST
#define CONFIG(VALUES, TEXT)                                                                       \
    "WITH b AS (UPDATE rounds SET config_values = '{" VALUES "}', config_counts = ARRAY["          \
    "cardinality('{" VALUES "}'::integer[])]" FIRST ") UPDATE results SET config = '{" VALUES      \
    "}', config_text = '" TEXT "'" FIRST
#define KERNELS(KEYS)                                                                              \
    "WITH k AS (SELECT " KEYS " AS keys), b AS (UPDATE rounds SET kernel_keys = ARRAY[k.keys]"     \
    " FROM k" FIRST ") UPDATE results SET kernel_keys = k.keys FROM k" FIRST

static const struct {
    const char *sql;
    enum refusal why;
} faults[] = {
    {"UPDATE results SET median_ms = 40, min_ms = 40" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE results SET n = n + 1" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE results SET config = '{77}', config_text = '77'" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE results SET kernel_keys = repeat('7', 64)" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE outcomes SET failures = '{7}'" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE outcomes SET is_open = true" FIRST, REFUSAL_UNVERIFIED},
    {"DELETE FROM rounds" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE outcomes SET job_id = 777777" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE results SET job_id = 777777" FIRST, REFUSAL_FOREIGN},
    {"DELETE FROM jobs WHERE id = " JOB, REFUSAL_FOREIGN},
    {"UPDATE results SET workspace_bytes = -1" FIRST, REFUSAL_DAMAGED},
    {"UPDATE solvers SET revision = 777", REFUSAL_SOLVER},
    {"UPDATE solvers SET name = 'ConvOf' || name", REFUSAL_SOLVER},
    {CONFIG("7,7,7", "7,7,7"), REFUSAL_CONFIG},
    {"UPDATE results SET config_text = '77'" FIRST, REFUSAL_CONFIG},
    {BOTH("median_ms = 0, min_ms = 0", "median_ms = '{0}', min_ms = '{0}'"), REFUSAL_TIME},
    {BOTH("median_ms = -1, min_ms = -1", "median_ms = '{-1}', min_ms = '{-1}'"), REFUSAL_TIME},
    {BOTH("median_ms = 'NaN'", "median_ms = '{NaN}'"), REFUSAL_TIME},
    {BOTH("median_ms = 'Infinity'", "median_ms = '{Infinity}'"), REFUSAL_TIME},
    {BOTH("min_ms = 1e6", "min_ms = '{1e6}'"), REFUSAL_TIME},
    {BOTH("n = 0", "n = '{0}'"), REFUSAL_TIME},
    {"WITH t AS (UPDATE targets SET peak_flops = 1e3) UPDATE results SET flops = 0", REFUSAL_TIME},
    {"UPDATE outcomes SET drift = 1.4" FIRST, REFUSAL_DRIFT},
    {"UPDATE outcomes SET drift = 0.7" FIRST, REFUSAL_DRIFT},
    {KERNELS("repeat('7', 64)"), REFUSAL_KERNEL},
    {KERNELS("''"), REFUSAL_KERNEL},
    {KERNELS("(SELECT max(kernel_keys) FROM results WHERE kernel_keys NOT IN"
             " (SELECT kernel_keys FROM results" FIRST "))"),
     REFUSAL_KERNEL},
    {"UPDATE kernels SET code_sha256 = repeat('7', 64)", REFUSAL_KERNEL},
    {"UPDATE kernels SET code = ''", REFUSAL_KERNEL},
    {"UPDATE kernels SET options = '-DOTHER=1'", REFUSAL_KERNEL},
};

static void run(const struct export_farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, sql, "");
    g_assert_no_error(error);
}

static void what_is_wrong_is_refused_by_name_and_the_rest_exported(void)
{
    struct export_farm farm;
    struct export_summary summary;
    export_farm_init(&farm);
    export_farm_work(&farm);
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        run(&farm, "BEGIN");
        run(&farm, faults[i].sql);
        g_assert_true(export_to(&farm, temp_folder_path(folder, ""), EXPORT_FIND | EXPORT_KERNELS,
                                &summary, &error));
        g_assert_no_error(error);
        /* A fault that is not of the first job alone is of all that are like it. */
        bool of_one = strstr(faults[i].sql, FIRST) != NULL || strstr(faults[i].sql, JOB) != NULL;
        g_test_message("%s: %d refused", faults[i].sql, (int)summary.refused.count);
        g_assert_cmpint(summary.refused.by[faults[i].why], ==, (int)summary.refused.count);
        g_assert_cmpint(summary.refused.count, >, 0);
        g_assert_true(!of_one || (summary.refused.count == 1 && summary.files->len == 3));
        run(&farm, "ROLLBACK");
        export_summary_clear(&summary);
    }
    export_farm_clear(&farm);
}

static void what_was_measured_while_the_device_drifted_is_taken_knowingly(void)
{
    struct export_farm farm;
    struct export_summary summary = {0};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    run(&farm, "UPDATE outcomes SET drift = 1.4" FIRST);
    const struct export_wish wish = {
        .campaign = farm.campaign, .what = EXPORT_FIND, .top = 1, .allow_drift = true};
    g_assert_true(
        export_campaign(farm.store, &wish, temp_folder_path(folder, ""), &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.refused.count, ==, 0);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void nothing_measured_is_an_error_and_writes_nothing(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    const char *dir = temp_folder_path(folder, "out");
    g_assert_false(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY);
    g_assert_false(g_file_test(dir, G_FILE_TEST_EXISTS));
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* An export that was killed leaves its temporary folder; what else lies there is not ours. */
static void leftovers_of_a_killed_export_are_removed(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    const char *dir = temp_folder_path(folder, "out");
    const char *stale = temp_folder_path(folder, "out/.export-a1B2c3");
    const char *other = temp_folder_path(folder, "out/.export-of-mine");
    const char *link = temp_folder_path(folder, "out/.export-LINK00");
    g_assert_cmpint(g_mkdir_with_parents(stale, 0700), ==, 0);
    g_assert_cmpint(g_mkdir_with_parents(other, 0700), ==, 0);
    g_assert_cmpint(symlink(other, link), ==, 0);
    temp_folder_write(folder, "out/.export-a1B2c3/x.kdb", "half", -1);
    temp_folder_write(folder, "out/.export-of-mine/kept", "whole", -1);
    g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    g_assert_no_error(error);
    g_assert_false(g_file_test(stale, G_FILE_TEST_EXISTS));
    g_autofree char *kept = g_build_filename(other, "kept", NULL);
    g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
    g_autofree char *last = g_path_get_basename(summary.files->pdata[summary.files->len - 2]);
    g_assert_cmpstr(last, ==, EXPORT_FARM_TARGET ".HIP.fdb.txt");
    g_assert_cmpint(unlink(link), ==, 0);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* ---- whose the folder is ---- */

static void rename_campaign(const struct export_farm *farm, const char *name)
{
    g_autofree char *sql = g_strdup_printf("UPDATE campaigns SET name = '%s'", name);
    run(farm, sql);
}

/* The files of another campaign are neither mixed with this one's nor lost: nothing changes. */
static void a_folder_of_another_campaign_is_refused(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    const char *dir = temp_folder_path(folder, "");
    g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    export_summary_clear(&summary);
    g_autoptr(GBytes) before = temp_folder_read(temp_folder_path(folder, MANIFEST));
    rename_campaign(&farm, "other");
    g_assert_false(export_to(&farm, dir, EXPORT_FIND, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FOLDER);
    g_assert_nonnull(strstr(error->message, "of the campaign 'test'"));
    g_assert_nonnull(strstr(error->message, EXPORT_FARM_TARGET ".db"));
    g_assert_nonnull(strstr(error->message, "--replace"));
    g_clear_error(&error);
    export_summary_clear(&summary);
    g_autoptr(GBytes) after = temp_folder_read(temp_folder_path(folder, MANIFEST));
    g_assert_true(g_bytes_equal(before, after));
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_true(g_file_test(temp_folder_path(folder, names[i]), G_FILE_TEST_EXISTS));
    }
    rename_campaign(&farm, "test");
    g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    g_assert_no_error(error);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void what_is_replaced_is_a_releases_alone(void)
{
    static const char *const strangers[] = {"notes.txt", "mine.db", "gfx90a68.HIP.fdb.txt",
                                            EXPORT_FARM_TARGET ".OpenCL.fdb.txt",
                                            EXPORT_FARM_TARGET ".db.bz2"};
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    const char *dir = temp_folder_path(folder, "");
    g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    export_summary_clear(&summary);
    for (size_t i = 0; i < G_N_ELEMENTS(strangers); i++) {
        temp_folder_write(folder, strangers[i], "x", 1);
    }
    rename_campaign(&farm, "other");
    memset(&summary, 0, sizeof summary);
    const struct export_wish wish = {
        .campaign = farm.campaign, .what = EXPORT_FIND, .top = 1, .replace = true};
    g_assert_true(export_campaign(farm.store, &wish, dir, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(summary.files->len, ==, 2);
    g_assert_cmpuint(summary.removed->len, ==, G_N_ELEMENTS(names) - 1);
    export_summary_clear(&summary);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        bool find = g_str_has_suffix(names[i], ".fdb.txt");
        g_assert_true(g_file_test(temp_folder_path(folder, names[i]), G_FILE_TEST_EXISTS) == find);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(strangers); i++) {
        g_assert_true(g_file_test(temp_folder_path(folder, strangers[i]), G_FILE_TEST_EXISTS));
    }
    export_farm_clear(&farm);
}

/* A campaign's files may come one after the other; another part of it would mix with them. */
static void the_parts_of_a_campaign_are_told_apart(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    const char *dir = temp_folder_path(folder, "");
    static const unsigned kinds[] = {EXPORT_FIND, EXPORT_PERF};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_assert_true(export_to(&farm, dir, kinds[i], &summary, &error));
        g_assert_no_error(error);
        export_summary_clear(&summary);
    }
    g_autoptr(Manifest) manifest = manifest_read(temp_folder_path(folder, MANIFEST), &error);
    g_assert_no_error(error);
    g_assert_cmpuint(manifest->files->len, ==, 3);
    struct export_wish wish = {.campaign = farm.campaign, .what = EXPORT_FIND, .top = 1};
    memset(&summary, 0, sizeof summary);
    g_assert_false(export_campaign(farm.store, &wish, dir, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FOLDER);
    g_assert_nonnull(strstr(error->message, "another part of the campaign 'test'"));
    g_clear_error(&error);
    export_summary_clear(&summary);
    /* Where all of it is written anew nothing is mixed. */
    wish.what = EXPORT_ALL;
    memset(&summary, 0, sizeof summary);
    g_assert_true(export_campaign(farm.store, &wish, dir, &summary, &error));
    g_assert_no_error(error);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* A campaign that was measured again has other results; files of both do not fit together. */
static void other_results_of_a_campaign_do_not_mix(void)
{
    static const char *const changes[] = {
        "UPDATE results SET median_ms = 3 * median_ms, min_ms = 3 * min_ms",
        /* another campaign of the name */
        "DELETE FROM results WHERE job_id = (SELECT max(job_id) FROM results)",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
        struct export_farm farm;
        struct export_summary summary;
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        export_farm_init(&farm);
        export_farm_work(&farm);
        const char *dir = temp_folder_path(folder, "");
        g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
        export_summary_clear(&summary);
        run(&farm, changes[i]);
        run(&farm,
            "UPDATE outcomes SET median_ms = ARRAY(SELECT r.median_ms FROM results r"
            " WHERE r.job_id = outcomes.job_id), min_ms = ARRAY(SELECT r.min_ms FROM results r"
            " WHERE r.job_id = outcomes.job_id) WHERE job_id IN (SELECT job_id FROM results)");
        g_assert_false(export_to(&farm, dir, EXPORT_FIND, &summary, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FOLDER);
        g_assert_nonnull(strstr(error->message, "other results of the campaign 'test'"));
        g_clear_error(&error);
        export_summary_clear(&summary);
        g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
        g_assert_no_error(error);
        export_summary_clear(&summary);
        g_assert_true(export_to(&farm, dir, EXPORT_FIND, &summary, &error));
        g_assert_no_error(error);
        export_summary_clear(&summary);
        export_farm_clear(&farm);
    }
}

/* ---- what is not done ---- */

static void an_incomplete_campaign_is_told_and_refused_when_asked(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    run(&farm, "DELETE FROM job_ends WHERE job_id = (SELECT min(id) FROM jobs)");
    run(&farm, "DELETE FROM results WHERE job_id IN (SELECT id FROM jobs WHERE problem_id ="
               " (SELECT min(problem_id) FROM jobs))");
    const char *dir = temp_folder_path(folder, "out");
    struct export_wish wish = {.campaign = farm.campaign,
                               .what = EXPORT_FIND,
                               .top = FIND_ENTRIES_MAX,
                               .require_complete = true};
    memset(&summary, 0, sizeof summary);
    g_assert_false(export_campaign(farm.store, &wish, dir, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_INCOMPLETE);
    g_assert_nonnull(
        strstr(error->message, "24 of its 25 jobs have ended, 1 problem has no winner"));
    g_assert_false(g_file_test(dir, G_FILE_TEST_EXISTS));
    g_clear_error(&error);
    export_summary_clear(&summary);
    g_assert_true(export_to(&farm, dir, EXPORT_FIND, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.completeness.ended, ==, summary.completeness.jobs - 1);
    g_assert_cmpint(summary.completeness.without_winner, ==, 1);
    export_summary_clear(&summary);
    g_autoptr(Manifest) manifest = manifest_read(temp_folder_path(folder, "out/" MANIFEST), &error);
    g_assert_no_error(error);
    g_assert_cmpint(manifest->jobs_ended, ==, manifest->jobs - 1);
    g_assert_cmpint(manifest->without_winner, ==, 1);
    export_farm_clear(&farm);
}

static void unknown_campaign_is_an_error(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    farm.campaign += 1000;
    g_assert_false(export_to(&farm, "/nonexistent", EXPORT_ALL, &summary, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void folder_that_cannot_be_made_is_an_error(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    temp_folder_write(folder, "file", "", 0);
    g_assert_false(
        export_to(&farm, temp_folder_path(folder, "file/out"), EXPORT_ALL, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export/campaign_is_exported_and_passes_check",
                    campaign_is_exported_and_passes_check);
    g_test_add_func("/export/same_results_give_the_same_bytes", same_results_give_the_same_bytes);
    g_test_add_func("/export/only_what_is_asked_for_is_written", only_what_is_asked_for_is_written);
    g_test_add_func("/export/result_without_its_kernel_is_left_out_and_named",
                    result_without_its_kernel_is_left_out_and_named);
    g_test_add_func("/export/what_is_wrong_is_refused_by_name_and_the_rest_exported",
                    what_is_wrong_is_refused_by_name_and_the_rest_exported);
    g_test_add_func("/export/what_was_measured_while_the_device_drifted_is_taken_knowingly",
                    what_was_measured_while_the_device_drifted_is_taken_knowingly);
    g_test_add_func("/export/nothing_measured_is_an_error_and_writes_nothing",
                    nothing_measured_is_an_error_and_writes_nothing);
    g_test_add_func("/export/leftovers_of_a_killed_one_are_removed",
                    leftovers_of_a_killed_export_are_removed);
    g_test_add_func("/export/a_folder_of_another_campaign_is_refused",
                    a_folder_of_another_campaign_is_refused);
    g_test_add_func("/export/what_is_replaced_is_a_releases_alone",
                    what_is_replaced_is_a_releases_alone);
    g_test_add_func("/export/the_parts_of_a_campaign_are_told_apart",
                    the_parts_of_a_campaign_are_told_apart);
    g_test_add_func("/export/other_results_of_a_campaign_do_not_mix",
                    other_results_of_a_campaign_do_not_mix);
    g_test_add_func("/export/an_incomplete_campaign_is_told_and_refused_when_asked",
                    an_incomplete_campaign_is_told_and_refused_when_asked);
    g_test_add_func("/export/unknown_campaign_is_an_error", unknown_campaign_is_an_error);
    g_test_add_func("/export/folder_that_cannot_be_made_is_an_error",
                    folder_that_cannot_be_made_is_an_error);
    return g_test_run();
}
