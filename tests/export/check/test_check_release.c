/* Checks the exported files of a farm as a release: first undamaged, then with one damage at a
 * time. */
#include "export/check/check_release.h"

#include "export/commands.h"
#include "export/formats/find_db.h"
#include "export/formats/sqlite_file.h"
#include "export/merge/merge.h"
#include "export/release/export.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/export/real_data.h"
#include "tests/support/temp_folder.h"

#include <glib/gstdio.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#define T        EXPORT_FARM_TARGET
#define MANIFEST T ".export.json"
static const char *const names[] = {T ".kdb",  T ".db",          T ".db.txt",
                                    T ".sjdb", T ".HIP.fdb.txt", MANIFEST};

static void export_farm(TempFolder *folder)
{
    struct export_farm farm;
    struct export_summary summary = {0};
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    const struct export_wish wish = {
        .campaign = farm.campaign, .what = EXPORT_ALL, .top = FIND_ENTRIES_MAX};
    g_assert_true(
        export_campaign(farm.store, &wish, temp_folder_path(folder, "whole"), &summary, &error));
    g_assert_no_error(error);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* ---- damages ---- */

static void do_sql(const char *dir, const char *name, const char *sql)
{
    sqlite3 *db = NULL;
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_changes(db), >, 0);
    sqlite3_close(db);
}

static void drop_file(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

static void nothing(const char *dir)
{
    (void)dir;
}

static void drop_manifest(const char *dir)
{
    drop_file(dir, MANIFEST);
}

static void drop_perf_rows(const char *dir)
{
    drop_manifest(dir);
    do_sql(dir, T ".db", "DELETE FROM perf_db");
}

static void drop_kernels(const char *dir)
{
    drop_manifest(dir);
    do_sql(dir, T ".kdb", "DELETE FROM kern_db");
}

static void drop_perf_dbs(const char *dir)
{
    drop_manifest(dir);
    drop_file(dir, T ".db");
    drop_file(dir, T ".db.txt");
}

static void drop_all_kernels(const char *dir)
{
    drop_manifest(dir);
    drop_file(dir, T ".kdb");
    drop_file(dir, T ".sjdb");
}

static void link_to_nothing(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, T ".db", NULL);
    drop_manifest(dir);
    drop_file(dir, T ".db");
    g_assert_cmpint(symlink("nowhere", path), ==, 0);
}

/* Arguments that no kernel of this release has, as if the kernels were compiled for another CPU of
 * the same name. */
static void change_arguments(const char *dir)
{
    do_sql(dir, T ".kdb", "UPDATE kern_db SET kernel_args = '-DOTHER=1 ' || kernel_args");
}

static void change_arguments_without_a_manifest(const char *dir)
{
    drop_manifest(dir);
    change_arguments(dir);
}

static void make_sjdb_of(const char *dir, const char *from, const char *newer)
{
    g_autoptr(GError) error = NULL;
    const struct merge_options options = {.prefer = MERGE_NEWEST};
    g_autofree char *first = g_build_filename(dir, from, NULL);
    g_autofree char *second = newer != NULL ? g_build_filename(dir, newer, NULL) : NULL;
    g_autofree char *out = g_build_filename(dir, T ".sjdb", NULL);
    char *paths[] = {first, second, NULL};
    g_autoptr(MergeReport) report = merge_files(paths, out, &options, &error);
    g_assert_nonnull(report);
    g_assert_no_error(error);
}

static void take_perf_rows_for_the_sjdb(const char *dir)
{
    drop_manifest(dir);
    make_sjdb_of(dir, T ".db", NULL);
}

/* Replaces the .sjdb by a merge of itself with the find-db, whose entries win: these have no
 * launches, solvers and problems that the find-db lacks keep theirs. */
static void take_entries_without_launches(const char *dir)
{
    drop_manifest(dir);
    make_sjdb_of(dir, T ".sjdb", T ".HIP.fdb.txt");
}

static void edit(const char *dir, const char *name, const char *what, const char *with)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) parts = g_strsplit(text, what, 2);
    g_assert_cmpuint(g_strv_length(parts), ==, 2);
    g_autofree char *edited = g_strjoinv(with, parts);
    g_assert_true(g_file_set_contents(path, edited, -1, NULL));
}

static void rename_a_solver(const char *dir)
{
    edit(dir, T ".HIP.fdb.txt", "ConvDirectNaive", "ConvOfNobody");
}

static void change_a_byte(const char *dir)
{
    edit(dir, T ".db.txt", ":", ";");
}

static void drop_the_find_db(const char *dir)
{
    drop_file(dir, T ".HIP.fdb.txt");
}

/* The manifest lists another kernel-db, so the kernel-db in the folder looks left over from another
 * release. */
static void forget_the_kernel_db(const char *dir)
{
    edit(dir, MANIFEST, T ".kdb", T ".other.kdb");
}

static void spoil_the_manifest(const char *dir)
{
    edit(dir, MANIFEST, "\"files\"", "\"fil");
}

/* The manifest states shorter vector registers than the exported params need. */
static void take_another_device(const char *dir)
{
    edit(dir, MANIFEST, "\"vector_bytes\": 64", "\"vector_bytes\": 16");
}

static void was_not_done(const char *dir)
{
    edit(dir, MANIFEST, "\"jobs_ended\": 25", "\"jobs_ended\": 20");
}

static void add_another_users_files(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, T ".HIP.2_20.ufdb.txt", NULL);
    g_assert_true(
        g_file_set_contents(path,
                            "64-1-1-1x1-64-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F=ConvCpuGemm:500,0,"
                            "miopenConvolutionFwdAlgoGEMM\n",
                            -1, NULL));
}

static const struct {
    const char *name;
    void (*damage)(const char *dir);
    enum finding finding; /* FINDING_COUNT: no finding, the release is clean */
    const char *first;    /* a part of the first line that reports the finding */
    bool is_fit;
} cases[] = {
    {"whole", nothing, FINDING_COUNT, NULL, true},
    {"without a manifest", drop_manifest, FINDING_COUNT, NULL, true},
    {"beside a user's own database", add_another_users_files, FINDING_COUNT, NULL, true},
    {"no params", drop_perf_rows, FINDING_WINNER_UNTUNED, "not in " T ".db", false},
    {"no kernels", drop_kernels, FINDING_WINNER_NO_CODE, "no kernel-db has ", false},
    {"other kernels", change_arguments, FINDING_WINNER_NO_CODE, "no kernel-db has ", false},
    {"other kernels, the device not known", change_arguments_without_a_manifest,
     FINDING_CODE_UNSURE, "no kernel-db has ", true},
    {"params of another device", take_another_device, FINDING_PARAMS_INVALID, "is not in the ",
     false},
    {".sjdb without winners", take_perf_rows_for_the_sjdb, FINDING_WINNER_NOT_IN_SJDB,
     "not in " T ".sjdb", false},
    {".sjdb without launches", take_entries_without_launches, FINDING_WINNER_NO_CODE,
     "no launches in " T ".sjdb", false},
    {"a solver of nobody's in our file", rename_a_solver, FINDING_UNKNOWN_SOLVER, "line ", false},
    {"a file that was changed", change_a_byte, FINDING_FILE_DIFFERS, T ".db.txt (its SHA-256",
     false},
    {"a file that is gone", drop_the_find_db, FINDING_FILE_MISSING, T ".HIP.fdb.txt", false},
    {"a file of another release", forget_the_kernel_db, FINDING_FILE_UNLISTED, T ".kdb", false},
    {"no perf-db at all", drop_perf_dbs, FINDING_NO_PERF_DB, " of ", true},
    {"no kernels at all", drop_all_kernels, FINDING_NO_KERNELS, " of ", true},
    {"a link to nothing", link_to_nothing, FINDING_COUNT, NULL, false},
    {"an incomplete campaign", was_not_done, FINDING_INCOMPLETE, "20 of 25 jobs", true},
};

/* ---- looking ---- */

struct seen {
    int64_t found;
    char *first;
    bool clean;
};

static void look_at(const struct check_report *report, enum finding finding, struct seen *seen)
{
    seen->clean = seen->clean && check_report_clean(report);
    if (finding < FINDING_COUNT && report->findings[finding] > 0) {
        seen->found += report->findings[finding];
        if (seen->first == NULL) {
            seen->first = g_strdup(report->first[finding]);
        }
    }
}

/* Checks a folder as `skipjack check` does; the result holds what it reports of `finding`. */
static struct seen look(const char *dir, enum finding finding)
{
    struct seen seen = {.clean = true};
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    g_assert_true(check_list_files(dir, files, NULL));
    g_autoptr(GHashTable) ours = check_names_of_manifests(files);
    for (guint i = 0; i < files->len; i++) {
        g_autofree char *name = g_path_get_basename(files->pdata[i]);
        g_autoptr(CheckReport) report = check_file(files->pdata[i]);
        report->ours = g_hash_table_contains(ours, name);
        look_at(report, finding, &seen);
    }
    g_autoptr(GPtrArray) releases = check_releases(dir, files, ours);
    g_assert_cmpuint(releases->len, ==, 1);
    look_at(releases->pdata[0], finding, &seen);
    return seen;
}

static void copy(const char *from, const char *to)
{
    g_assert_cmpint(g_mkdir_with_parents(to, 0777), ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        gsize length = 0;
        g_autofree char *bytes = NULL;
        g_autofree char *source = g_build_filename(from, names[i], NULL);
        g_autofree char *target = g_build_filename(to, names[i], NULL);
        g_assert_true(g_file_get_contents(source, &bytes, &length, NULL));
        g_assert_true(g_file_set_contents(target, bytes, (gssize)length, NULL));
    }
}

static int run(const char *const *words)
{
    char *argv[6];
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        argv[argc] = (char *)words[argc];
    }
    argv[argc] = NULL;
    return command_check(argc, argv);
}

static void each_damage_is_found(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_farm(folder);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strdup_printf("case%zu", i);
        const char *dir = temp_folder_path(folder, name);
        copy(temp_folder_path(folder, "whole"), dir);
        cases[i].damage(dir);
        struct seen seen = look(dir, cases[i].finding);
        g_test_message("%s: %d, %s", cases[i].name, (int)seen.found, seen.first);
        g_assert_true((seen.found > 0) == (cases[i].finding < FINDING_COUNT));
        g_assert_true(cases[i].first == NULL ||
                      (seen.first != NULL && strstr(seen.first, cases[i].first) != NULL));
        g_assert_true(seen.clean == cases[i].is_fit);
        const char *const words[] = {"check", "--json", dir, NULL};
        g_assert_cmpint(run(words), ==, cases[i].is_fit ? 0 : 1);
        g_free(seen.first);
    }
}

/* check recognizes a manifest by its file name, and checks the files beside the manifest. */
static void a_manifest_alone_is_checked_with_its_files(void)
{
    static const struct {
        void (*damage)(const char *dir);
        int status;
    } trials[] = {
        {nothing, 0}, {drop_the_find_db, 1}, {forget_the_kernel_db, 1}, {spoil_the_manifest, 1}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_farm(folder);
    for (size_t i = 0; i < G_N_ELEMENTS(trials); i++) {
        g_autofree char *name = g_strdup_printf("alone%zu", i);
        const char *dir = temp_folder_path(folder, name);
        copy(temp_folder_path(folder, "whole"), dir);
        trials[i].damage(dir);
        g_autofree char *manifest = g_build_filename(dir, MANIFEST, NULL);
        g_autoptr(CheckReport) report = check_file(manifest);
        g_assert_cmpstr(report->format, ==, "manifest");
        g_assert_true(check_report_clean(report) == (trials[i].status == 0));
        const char *const words[] = {"check", manifest, NULL};
        g_assert_cmpint(run(words), ==, trials[i].status);
    }
}

static void json_names_all_places(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_farm(folder);
    const char *dir = temp_folder_path(folder, "whole");
    drop_perf_rows(dir);
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    g_assert_true(check_list_files(dir, files, NULL));
    g_autoptr(GHashTable) ours = check_names_of_manifests(files);
    g_autoptr(GPtrArray) releases = check_releases(dir, files, ours);
    const struct check_report *report = releases->pdata[0];
    FILE *out = tmpfile();
    check_report_print_json(report, out);
    rewind(out);
    json_t *json = json_loadf(out, 0, NULL);
    fclose(out);
    g_assert_cmpstr(json_string_value(json_object_get(json, "format")), ==, "release");
    g_assert_cmpstr(json_string_value(json_object_get(json, "target")), ==, T);
    const json_t *finding = json_array_get(json_object_get(json, "findings"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(finding, "kind")), ==,
                    "winner without perf-db row");
    g_assert_cmpuint(json_array_size(json_object_get(finding, "places")), ==,
                     (size_t)report->findings[FINDING_WINNER_UNTUNED]);
    json_decref(json);
}

/* The expected figures were counted by a separate program that shares no code with Skipjack. */
static void shipped_releases_give_the_counts_known(void)
{
    static const struct {
        const char *target;
        int64_t winners, others;
    } shipped[] = {{"gfx1030_36", 36642, 75443}, {"gfx942130", 0, 0}};
    g_autofree char *data = real_data("miopen");
    if (data == NULL) {
        return;
    }
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) none = g_hash_table_new(g_str_hash, g_str_equal);
    g_assert_true(check_list_files(data, files, NULL));
    g_autoptr(GPtrArray) releases = check_releases(data, files, none);
    g_assert_cmpuint(releases->len, ==, G_N_ELEMENTS(shipped));
    for (guint i = 0; i < MIN(releases->len, G_N_ELEMENTS(shipped)); i++) {
        const struct check_report *report = releases->pdata[i];
        g_assert_cmpstr(file_target_text(&report->named), ==, shipped[i].target);
        g_assert_cmpint(report->findings[FINDING_WINNER_UNTUNED], ==, shipped[i].winners);
        g_assert_cmpint(report->findings[FINDING_ENTRY_UNTUNED], ==, shipped[i].others);
        g_assert_true(check_report_clean(report) == (shipped[i].winners == 0));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/check_release/each_damage_is_found", each_damage_is_found);
    g_test_add_func("/check_release/a_manifest_alone_is_checked_with_its_files",
                    a_manifest_alone_is_checked_with_its_files);
    g_test_add_func("/check_release/json_names_all_places", json_names_all_places);
    g_test_add_func("/check_release/shipped_releases_give_the_counts_known",
                    shipped_releases_give_the_counts_known);
    return g_test_run();
}
