/* Fills a campaign through the store as workers do, exports it, and reads the files back. */
#include "export/release/export.h"

#include "export/check/check.h"
#include "export/formats/find_db.h"
#include "export/formats/manifest.h"
#include "schema/store/store_private.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <string.h>
#include <unistd.h>

static const char *const names[] = {EXPORT_FARM_TARGET ".kdb", EXPORT_FARM_TARGET ".db",
                                    EXPORT_FARM_TARGET ".db.txt", EXPORT_FARM_TARGET ".sjdb",
                                    EXPORT_FARM_TARGET ".HIP.fdb.txt"};
#define MANIFEST EXPORT_FARM_TARGET ".export.json"

/* A farm with a measured campaign, and the folder to export it into. */
struct scene {
    struct export_farm farm;
    TempFolder *folder;
    const char *dir; /* the folder; the first export makes it */
    struct export_wish wish;
    struct export_summary summary; /* of the newest export */
};

static void begin(struct scene *s, void (*prepare)(const struct export_farm *farm))
{
    memset(s, 0, sizeof *s);
    s->folder = temp_folder_new();
    s->dir = temp_folder_path(s->folder, "out");
    export_farm_init(&s->farm);
    prepare(&s->farm);
    s->wish = (struct export_wish){.campaign = s->farm.campaign, .top = FIND_ENTRIES_MAX};
}

static void end(struct scene *s)
{
    export_summary_clear(&s->summary);
    export_farm_clear(&s->farm);
    temp_folder_free(s->folder);
}

static bool try_export(struct scene *s, unsigned what, GError **error)
{
    export_summary_clear(&s->summary);
    memset(&s->summary, 0, sizeof s->summary);
    s->wish.what = what;
    return export_campaign(s->farm.store, &s->wish, s->dir, &s->summary, error);
}

static void exports(struct scene *s, unsigned what)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(try_export(s, what, &error));
    g_assert_no_error(error);
}

/* Asserts that the export fails with `code` of EXPORT_ERROR and a message that contains `text`. */
static void refuses(struct scene *s, unsigned what, enum export_error code, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(try_export(s, what, &error));
    g_assert_error(error, EXPORT_ERROR, (int)code);
    g_assert_nonnull(error != NULL ? strstr(error->message, text) : NULL);
}

/* Path of the file `name` in the export's folder; it is freed with the scene. */
static const char *at(const struct scene *s, const char *name)
{
    g_autofree char *below = g_build_filename("out", name, NULL);
    return temp_folder_path(s->folder, below);
}

static bool exists(const struct scene *s, const char *name)
{
    return g_file_test(at(s, name), G_FILE_TEST_EXISTS);
}

static void run(const struct scene *s, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(s->farm.store, &error, sql, "");
    g_assert_no_error(error);
}

static void nothing_measured(const struct export_farm *farm)
{
    (void)farm;
}

static void kernels_lost(const struct export_farm *farm)
{
    struct export_farm lossy = *farm;
    lossy.lose_kernels = true;
    export_farm_work(&lossy);
}

static void campaign_is_exported_and_passes_check(void)
{
    struct scene s;
    begin(&s, export_farm_work);
    exports(&s, EXPORT_ALL);
    const struct export_summary *summary = &s.summary;
    g_assert_cmpint(summary->find_keys, ==, 3);
    g_assert_cmpint(summary->perf_records, >, 0);
    g_assert_cmpint(summary->refused.count, ==, 0);
    g_assert_cmpuint(summary->files->len, ==, G_N_ELEMENTS(names) + 1);
    g_assert_true(g_str_has_suffix(summary->files->pdata[G_N_ELEMENTS(names)], MANIFEST));
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(CheckReport) report = check_file(summary->files->pdata[i]);
        g_assert_true(check_report_clean(report));
        g_assert_cmpint(report->findings[FINDING_UNKNOWN_SOLVER], ==, 0);
        g_assert_cmpint(report->findings[FINDING_UNSORTED_ENTRIES], ==, 0);
        /* A .sjdb has the same find entries and perf records, and solutions for all results that
         * passed the gate. */
        const int64_t entries[] = {summary->kernels, summary->perf_records, summary->perf_records,
                                   2 * summary->find_entries + summary->kernels,
                                   summary->find_entries};
        bool more = g_str_has_suffix(names[i], ".sjdb");
        g_assert_cmpint(report->entries, >=, entries[i]);
        g_assert_true(more || report->entries == entries[i]);
    }
    GDir *left = g_dir_open(s.dir, 0, NULL);
    int count = 0;
    while (g_dir_read_name(left) != NULL) {
        count++;
    }
    g_dir_close(left);
    g_assert_cmpint(count, ==, G_N_ELEMENTS(names) + 1);
    end(&s);
}

static void same_results_give_the_same_bytes(void)
{
    GBytes *first[G_N_ELEMENTS(names)] = {NULL};
    /* The second pass fills another database and exports it twice: its second export replaces the
     * first one's files. */
    for (int pass = 0; pass < 2; pass++) {
        struct scene s;
        begin(&s, export_farm_work);
        for (int again = 0; again <= pass; again++) {
            exports(&s, EXPORT_ALL);
            for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autoptr(GBytes) bytes = temp_folder_read(at(&s, names[i]));
                if (first[i] == NULL) {
                    first[i] = g_bytes_ref(bytes);
                }
                g_assert_true(g_bytes_equal(bytes, first[i]));
            }
        }
        end(&s);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_bytes_unref(first[i]);
    }
}

static void only_the_wished_files_are_written(void)
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
    struct scene s;
    begin(&s, export_farm_work);
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        g_autofree char *name = g_strdup_printf("out%zu", c);
        s.dir = temp_folder_path(s.folder, name);
        exports(&s, cases[c].what);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
            g_autofree char *path = g_build_filename(s.dir, names[i], NULL);
            g_assert_cmpint(g_file_test(path, G_FILE_TEST_EXISTS), ==, cases[c].written[i]);
        }
    }
    end(&s);
}

static void result_without_its_kernel_is_left_out_and_named(void)
{
    struct scene s;
    begin(&s, kernels_lost);
    exports(&s, EXPORT_ALL);
    g_assert_cmpint(s.summary.refused.count, >, 0);
    for (guint i = 0; i < s.summary.refused.listed->len; i++) {
        const struct export_refusal *refusal = s.summary.refused.listed->pdata[i];
        g_assert_cmpstr(refusal->problem, ==, export_farm_keys[0]);
        g_assert_nonnull(strstr(refusal->reason, "is not in the database"));
    }
    end(&s);
}

/* ---- faults, written into the database by SQL ---- */

#define JOB   "(SELECT min(job_id) FROM results)"
#define FIRST " WHERE job_id = " JOB
/* Changes the first job's result and its stored round alike, as a worker that lies could. */
#define BOTH(RESULT, OUTCOME)                                                                      \
    "WITH o AS (UPDATE outcomes SET " OUTCOME FIRST ") UPDATE results SET " RESULT FIRST
#define CONFIG(VALUES, TEXT)                                                                       \
    "WITH b AS (UPDATE rounds SET config_values = '{" VALUES "}', config_counts = ARRAY["          \
    "cardinality('{" VALUES "}'::integer[])]" FIRST ") UPDATE results SET config = '{" VALUES      \
    "}', config_text = '" TEXT "'" FIRST
#define KERNELS(KEYS)                                                                              \
    "WITH k AS (SELECT " KEYS " AS keys), b AS (UPDATE rounds SET kernel_keys = ARRAY[k.keys]"     \
    " FROM k" FIRST ") UPDATE results SET kernel_keys = k.keys FROM k" FIRST

/* A CPU's campaign has no conditions of its own. */
#define THROTTLED(BITS)                                                                            \
    "DO $$ BEGIN PERFORM add_partition((SELECT min(id) FROM campaigns), 'round_conditions');"      \
    " INSERT INTO round_conditions (campaign_id, job_id, number, device, samples, throttle)"       \
    " SELECT campaign_id, job_id, number, 'GPU-a', 1, " BITS " FROM outcomes" FIRST "; END $$"

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
    {THROTTLED("9"), REFUSAL_THROTTLE},
    {KERNELS("repeat('7', 64)"), REFUSAL_KERNEL},
    {KERNELS("''"), REFUSAL_KERNEL},
    {KERNELS("(SELECT max(kernel_keys) FROM results WHERE kernel_keys NOT IN"
             " (SELECT kernel_keys FROM results" FIRST "))"),
     REFUSAL_KERNEL},
    {"UPDATE kernels SET code_sha256 = repeat('7', 64)", REFUSAL_KERNEL},
    {"UPDATE kernels SET code = ''", REFUSAL_KERNEL},
    {"UPDATE kernels SET options = '-DOTHER=1'", REFUSAL_KERNEL},
};

static void faulty_results_are_refused_by_name_and_the_rest_exported(void)
{
    struct scene s;
    begin(&s, export_farm_work);
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
        g_autofree char *name = g_strdup_printf("out%zu", i);
        s.dir = temp_folder_path(s.folder, name);
        run(&s, "BEGIN");
        run(&s, faults[i].sql);
        exports(&s, EXPORT_FIND | EXPORT_KERNELS);
        const struct refusals *refused = &s.summary.refused;
        /* Faults whose SQL names the first job alone spoil one result; other faults spoil
         * several. */
        bool of_one = strstr(faults[i].sql, FIRST) != NULL || strstr(faults[i].sql, JOB) != NULL;
        g_test_message("%s: %d refused", faults[i].sql, (int)refused->count);
        g_assert_cmpint(refused->by[faults[i].why], ==, (int)refused->count);
        g_assert_cmpint(refused->count, >, 0);
        g_assert_true(!of_one || (refused->count == 1 && s.summary.files->len == 3));
        run(&s, "ROLLBACK");
    }
    end(&s);
}

/* The manifest says which results were verified in part, and by how many runs results were proved. */
static void manifest_says_what_verified_the_results(void)
{
    struct scene s;
    begin(&s, export_farm_work);
    run(&s,
        "UPDATE outcomes SET verified_share = 0.25, proof_runs = '{37}', proof_kinds = '{3}'" FIRST);
    run(&s, "UPDATE outcomes SET verified_share = 1, proof_runs = '{100}', proof_kinds = '{5}'"
            " WHERE job_id = (SELECT max(job_id) FROM results)");
    exports(&s, EXPORT_FIND);
    json_t *manifest = json_load_file(at(&s, MANIFEST), 0, NULL);
    const json_t *parts = json_object_get(manifest, "verified_in_part");
    g_assert_cmpuint(json_array_size(parts), ==, 1);
    const json_t *part = json_array_get(parts, 0);
    g_assert_cmpfloat(json_number_value(json_object_get(part, "verified_share")), ==, 0.25);
    const json_t *proofs = json_object_get(manifest, "proofs");
    g_assert_cmpint(json_integer_value(json_object_get(proofs, "proved")), ==, 1);
    g_assert_cmpint(json_integer_value(json_object_get(proofs, "unproved")), >, 0);
    const json_t *briefly = json_object_get(proofs, "briefly");
    g_assert_cmpuint(json_array_size(briefly), ==, 1);
    const json_t *one = json_array_get(briefly, 0);
    g_assert_true(json_equal(json_object_get(one, "problem"), json_object_get(part, "problem")));
    g_assert_true(json_equal(json_object_get(one, "solver"), json_object_get(part, "solver")));
    g_assert_cmpint(json_integer_value(json_object_get(one, "proof_runs")), ==, 37);
    g_assert_cmpint(json_integer_value(json_object_get(one, "proof_kinds")), ==, 3);
    json_decref(manifest);
    end(&s);
}

static void drifted_and_throttled_results_are_taken_only_if_allowed(void)
{
    struct scene s;
    begin(&s, export_farm_work);
    run(&s, "UPDATE outcomes SET drift = 1.4" FIRST);
    run(&s, THROTTLED("2"));
    s.wish.top = 1;
    s.wish.allow_drift = true;
    exports(&s, EXPORT_FIND);
    g_assert_cmpint(s.summary.refused.count, ==, 0);
    end(&s);
}

static void nothing_measured_is_an_error_and_writes_nothing(void)
{
    struct scene s;
    begin(&s, nothing_measured);
    refuses(&s, EXPORT_ALL, EXPORT_ERROR_EMPTY, "");
    g_assert_false(exists(&s, ""));
    end(&s);
}

/* A killed export leaves a temporary folder: the next export removes it, and keeps folders of
 * similar names. */
static void leftovers_of_a_killed_export_are_removed(void)
{
    struct scene s;
    begin(&s, export_farm_work);
    const char *stale = at(&s, ".export-a1B2c3"), *other = at(&s, ".export-of-mine");
    const char *link = at(&s, ".export-LINK00");
    g_assert_cmpint(g_mkdir_with_parents(stale, 0700), ==, 0);
    g_assert_cmpint(g_mkdir_with_parents(other, 0700), ==, 0);
    g_assert_cmpint(symlink(other, link), ==, 0);
    temp_folder_write(s.folder, "out/.export-a1B2c3/x.kdb", "half", -1);
    temp_folder_write(s.folder, "out/.export-of-mine/kept", "whole", -1);
    exports(&s, EXPORT_ALL);
    g_assert_false(exists(&s, ".export-a1B2c3"));
    g_assert_true(exists(&s, ".export-of-mine/kept"));
    g_autofree char *last = g_path_get_basename(s.summary.files->pdata[s.summary.files->len - 2]);
    g_assert_cmpstr(last, ==, EXPORT_FARM_TARGET ".HIP.fdb.txt");
    g_assert_cmpint(unlink(link), ==, 0);
    end(&s);
}

/* ---- a folder that holds a release ---- */

/* An export into a folder with another campaign's files is refused and changes nothing there. */
static void a_folder_of_another_campaign_is_refused(void)
{
    static const char *const words[] = {"of the campaign 'test'", EXPORT_FARM_TARGET ".db",
                                        "--replace"};
    struct scene s;
    begin(&s, export_farm_work);
    exports(&s, EXPORT_ALL);
    g_autoptr(GBytes) before = temp_folder_read(at(&s, MANIFEST));
    run(&s, "UPDATE campaigns SET name = 'other'");
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        refuses(&s, EXPORT_FIND, EXPORT_ERROR_FOLDER, words[i]);
    }
    g_autoptr(GBytes) after = temp_folder_read(at(&s, MANIFEST));
    g_assert_true(g_bytes_equal(before, after));
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_true(exists(&s, names[i]));
    }
    run(&s, "UPDATE campaigns SET name = 'test'");
    exports(&s, EXPORT_ALL);
    end(&s);
}

static void only_files_of_a_release_are_replaced(void)
{
    static const char *const strangers[] = {"notes.txt", "mine.db", "gfx90a68.HIP.fdb.txt",
                                            EXPORT_FARM_TARGET ".OpenCL.fdb.txt",
                                            EXPORT_FARM_TARGET ".db.bz2"};
    struct scene s;
    begin(&s, export_farm_work);
    exports(&s, EXPORT_ALL);
    for (size_t i = 0; i < G_N_ELEMENTS(strangers); i++) {
        g_autofree char *below = g_build_filename("out", strangers[i], NULL);
        temp_folder_write(s.folder, below, "x", 1);
    }
    run(&s, "UPDATE campaigns SET name = 'other'");
    s.wish.top = 1;
    s.wish.replace = true;
    exports(&s, EXPORT_FIND);
    g_assert_cmpuint(s.summary.files->len, ==, 2);
    g_assert_cmpuint(s.summary.removed->len, ==, G_N_ELEMENTS(names) - 1);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_true(exists(&s, names[i]) == g_str_has_suffix(names[i], ".fdb.txt"));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(strangers); i++) {
        g_assert_true(exists(&s, strangers[i]));
    }
    end(&s);
}

/* The kinds of files of a campaign may be exported one after the other. An export of another
 * selection of its results is refused: its files would not fit the others. */
static void other_parts_of_a_campaign_do_not_mix(void)
{
    struct scene s;
    g_autoptr(GError) error = NULL;
    begin(&s, export_farm_work);
    exports(&s, EXPORT_FIND);
    exports(&s, EXPORT_PERF);
    g_autoptr(Manifest) manifest = manifest_read(at(&s, MANIFEST), &error);
    g_assert_no_error(error);
    g_assert_cmpuint(manifest->files->len, ==, 3);
    s.wish.top = 1;
    refuses(&s, EXPORT_FIND, EXPORT_ERROR_FOLDER, "another part of the campaign 'test'");
    /* An export that writes all files anew is allowed, since no file of the other selection
     * remains. */
    exports(&s, EXPORT_ALL);
    end(&s);
}

/* Results that changed since the first export no longer fit the files in the folder: exporting only
 * some kinds of files is refused, exporting all is not. */
static void other_results_of_a_campaign_do_not_mix(void)
{
    static const char *const changes[] = {
        "UPDATE results SET median_ms = 3 * median_ms, min_ms = 3 * min_ms",
        /* as if another campaign of the same name were exported */
        "DELETE FROM results WHERE job_id = (SELECT max(job_id) FROM results)",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
        struct scene s;
        begin(&s, export_farm_work);
        exports(&s, EXPORT_ALL);
        run(&s, changes[i]);
        run(&s, "UPDATE outcomes SET median_ms = ARRAY(SELECT r.median_ms FROM results r"
                " WHERE r.job_id = outcomes.job_id), min_ms = ARRAY(SELECT r.min_ms FROM results r"
                " WHERE r.job_id = outcomes.job_id) WHERE job_id IN (SELECT job_id FROM results)");
        refuses(&s, EXPORT_FIND, EXPORT_ERROR_FOLDER, "other results of the campaign 'test'");
        exports(&s, EXPORT_ALL);
        exports(&s, EXPORT_FIND);
        end(&s);
    }
}

/* ---- campaigns that are not complete, and other errors ---- */

static void an_incomplete_campaign_is_reported_or_refused_on_request(void)
{
    struct scene s;
    g_autoptr(GError) error = NULL;
    begin(&s, export_farm_work);
    run(&s, "DELETE FROM job_ends WHERE job_id = (SELECT min(id) FROM jobs)");
    run(&s, "DELETE FROM results WHERE job_id IN (SELECT id FROM jobs WHERE problem_id ="
            " (SELECT min(problem_id) FROM jobs))");
    s.wish.require_complete = true;
    refuses(&s, EXPORT_FIND, EXPORT_ERROR_INCOMPLETE,
            "24 of its 25 jobs have ended, 1 problem has no winner");
    g_assert_false(exists(&s, ""));
    s.wish.require_complete = false;
    exports(&s, EXPORT_FIND);
    g_assert_cmpint(s.summary.completeness.ended, ==, s.summary.completeness.jobs - 1);
    g_assert_cmpint(s.summary.completeness.without_winner, ==, 1);
    g_autoptr(Manifest) manifest = manifest_read(at(&s, MANIFEST), &error);
    g_assert_no_error(error);
    g_assert_cmpint(manifest->jobs_ended, ==, manifest->jobs - 1);
    g_assert_cmpint(manifest->without_winner, ==, 1);
    end(&s);
}

static void unknown_campaign_is_an_error(void)
{
    struct scene s;
    g_autoptr(GError) error = NULL;
    begin(&s, nothing_measured);
    s.wish.campaign += 1000;
    g_assert_false(try_export(&s, EXPORT_ALL, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    end(&s);
}

static void folder_that_cannot_be_made_is_an_error(void)
{
    struct scene s;
    begin(&s, export_farm_work);
    temp_folder_write(s.folder, "file", "", 0);
    s.dir = temp_folder_path(s.folder, "file/out");
    refuses(&s, EXPORT_ALL, EXPORT_ERROR_IO, "");
    end(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export/campaign_is_exported_and_passes_check",
                    campaign_is_exported_and_passes_check);
    g_test_add_func("/export/same_results_give_the_same_bytes", same_results_give_the_same_bytes);
    g_test_add_func("/export/only_the_wished_files_are_written", only_the_wished_files_are_written);
    g_test_add_func("/export/result_without_its_kernel_is_left_out_and_named",
                    result_without_its_kernel_is_left_out_and_named);
    g_test_add_func("/export/faulty_results_are_refused_by_name_and_the_rest_exported",
                    faulty_results_are_refused_by_name_and_the_rest_exported);
    g_test_add_func("/export/manifest_says_what_verified_the_results",
                    manifest_says_what_verified_the_results);
    g_test_add_func("/export/drifted_and_throttled_results_are_taken_only_if_allowed",
                    drifted_and_throttled_results_are_taken_only_if_allowed);
    g_test_add_func("/export/nothing_measured_is_an_error_and_writes_nothing",
                    nothing_measured_is_an_error_and_writes_nothing);
    g_test_add_func("/export/leftovers_of_a_killed_one_are_removed",
                    leftovers_of_a_killed_export_are_removed);
    g_test_add_func("/export/a_folder_of_another_campaign_is_refused",
                    a_folder_of_another_campaign_is_refused);
    g_test_add_func("/export/only_files_of_a_release_are_replaced",
                    only_files_of_a_release_are_replaced);
    g_test_add_func("/export/other_parts_of_a_campaign_do_not_mix",
                    other_parts_of_a_campaign_do_not_mix);
    g_test_add_func("/export/other_results_of_a_campaign_do_not_mix",
                    other_results_of_a_campaign_do_not_mix);
    g_test_add_func("/export/an_incomplete_campaign_is_reported_or_refused_on_request",
                    an_incomplete_campaign_is_reported_or_refused_on_request);
    g_test_add_func("/export/unknown_campaign_is_an_error", unknown_campaign_is_an_error);
    g_test_add_func("/export/folder_that_cannot_be_made_is_an_error",
                    folder_that_cannot_be_made_is_an_error);
    return g_test_run();
}
