/* Exports of golden versions: all files but the .sjdb, which states its version, have the same
 * bytes as their campaign's export, also after a rollback and after the campaign was dropped. */
#include "export/golden/golden_release.h"

#include "export/formats/find_db.h"
#include "export/golden/golden.h"
#include "schema/farm/upkeep.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MANIFEST EXPORT_FARM_TARGET ".golden.json"
static const char *const names[] = {EXPORT_FARM_TARGET ".kdb", EXPORT_FARM_TARGET ".db",
                                    EXPORT_FARM_TARGET ".db.txt", EXPORT_FARM_TARGET ".sjdb",
                                    EXPORT_FARM_TARGET ".HIP.fdb.txt"};

static void run(const struct export_farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, sql, "");
    g_assert_no_error(error);
}

/* Proposes the campaign's results as golden version `version`, and approves it. */
static void bring(const struct export_farm *farm, int version)
{
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    const struct golden_wish wish = {.campaign = farm->campaign,
                                     .base = -1,
                                     .by = "ann",
                                     .note = "a note",
                                     .noise = 1,
                                     .allow_unconfirmed = true};
    g_assert_true(golden_propose(farm->store, &wish, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.version, ==, version);
    golden_summary_clear(&summary);
    g_assert_true(store_approve_golden(farm->store, EXPORT_FARM_TARGET, version, "bob", &error));
    g_assert_no_error(error);
}

static void begin(struct export_farm *farm)
{
    export_farm_init(farm);
    export_farm_work(farm);
    bring(farm, 1);
}

static const struct export_wish everything = {.what = EXPORT_ALL, .top = FIND_ENTRIES_MAX};

/* Exports the golden version that `word` names into a new folder `name` of `folder`; returns the
 * folder's path. */
static const char *release(const struct export_farm *farm, TempFolder *folder, const char *name,
                           const char *word)
{
    struct export_summary summary = {0};
    g_autoptr(GError) error = NULL;
    const char *dir = temp_folder_path(folder, name);
    golden_release(farm->store, word, NULL, &everything, dir, &summary, &error);
    g_assert_no_error(error);
    g_assert_cmpint(summary.refused.count, ==, 0);
    g_assert_cmpuint(summary.files->len, ==, G_N_ELEMENTS(names) + 1);
    export_summary_clear(&summary);
    return dir;
}

static const char *export_its_campaign(const struct export_farm *farm, TempFolder *folder)
{
    struct export_summary summary = {0};
    g_autoptr(GError) error = NULL;
    const char *dir = temp_folder_path(folder, "campaign");
    struct export_wish wish = everything;
    wish.campaign = farm->campaign;
    export_campaign(farm->store, &wish, dir, &summary, &error);
    g_assert_no_error(error);
    export_summary_clear(&summary);
    return dir;
}

static GBytes *bytes_of(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    return temp_folder_read(path);
}

static void expect_equal(const char *dir, const char *other, bool equal)
{
    bool all = true;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (g_str_has_suffix(names[i], ".sjdb")) {
            continue; /* a .sjdb differs: its meta text states the golden version */
        }
        g_autoptr(GBytes) left = bytes_of(dir, names[i]);
        g_autoptr(GBytes) right = bytes_of(other, names[i]);
        all = g_bytes_equal(left, right) && all;
    }
    g_assert_cmpint(all, ==, equal);
}

static void a_version_is_exported_as_its_campaign_is(void)
{
    struct export_farm farm;
    g_autoptr(TempFolder) folder = temp_folder_new();
    begin(&farm);
    const char *campaign = export_its_campaign(&farm, folder);
    expect_equal(release(&farm, folder, "one", "1"), campaign, true);
    expect_equal(release(&farm, folder, "latest", "latest"), campaign, true);
    export_farm_clear(&farm);
}

/* After a rollback and without the campaign, the version's rows, code objects and manifest are
 * complete. */
static void a_rollback_restores_the_files_without_the_campaign(void)
{
    struct export_farm farm;
    struct upkeep_report report;
    int version = 0;
    bool approved = false;
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) folder = temp_folder_new();
    const struct golden_rollback rollback = {EXPORT_FARM_TARGET, 1, "ann", "too hot"};
    const struct upkeep_options at_once = {.kernel_days = 0, .event_days = 0, .worker_days = 0};
    begin(&farm);
    const char *first = release(&farm, folder, "first", "1");
    run(&farm, "WITH o AS (UPDATE outcomes SET min_ms = ARRAY[min_ms[1] / 2], median_ms ="
               " ARRAY[median_ms[1] / 2] WHERE job_id % 2 = 0) UPDATE results SET min_ms ="
               " min_ms / 2, median_ms = median_ms / 2 WHERE job_id % 2 = 0");
    bring(&farm, 2);
    expect_equal(release(&farm, folder, "second", "latest"), first, false);
    store_roll_back_golden(farm.store, &rollback, &version, &approved, &error);
    g_assert_no_error(error);
    g_assert_true(version == 3 && approved);

    g_assert_true(store_change_campaign(farm.store, farm.campaign, "drop", &error));
    g_assert_true(upkeep_run(farm.store, &at_once, &report, &error));
    g_assert_no_error(error);
    g_assert_cmpint(report.code_count, >, 0);
    g_assert_cmpint(report.parts[UPKEEP_CODE].count, ==, 0);
    expect_equal(release(&farm, folder, "third", "latest"), first, true);
    expect_equal(release(&farm, folder, "again", "1"), first, true);
    export_farm_clear(&farm);
}

/* ---- the manifest ---- */

static json_t *manifest_of(const char *dir)
{
    g_autoptr(GBytes) bytes = bytes_of(dir, MANIFEST);
    gsize size = 0;
    const char *text = g_bytes_get_data(bytes, &size);
    json_t *manifest = json_loadb(text, size, 0, NULL);
    g_assert_nonnull(manifest);
    return manifest;
}

static void expect_files(const json_t *manifest, const char *dir)
{
    const json_t *files = json_object_get(manifest, "files");
    g_assert_cmpuint(json_array_size(files), ==, G_N_ELEMENTS(names));
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        g_autoptr(GBytes) bytes = bytes_of(dir, json_string_value(json_object_get(file, "name")));
        g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);
        g_assert_cmpstr(sum, ==, json_string_value(json_object_get(file, "sha256")));
        g_assert_cmpint(json_integer_value(json_object_get(file, "bytes")), ==,
                        (gint64)g_bytes_get_size(bytes));
    }
}

static int64_t ask(const struct export_farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(farm->store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL ? -1 : g_ascii_strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

static void the_manifest_names_the_sources_of_the_files(void)
{
    struct export_farm farm;
    json_int_t campaign = 0, configs = 0, runs = 0, version = 0, base = -1;
    const char *by = "", *approved_by = "", *name = "", *stack = "";
    g_autoptr(TempFolder) folder = temp_folder_new();
    begin(&farm);
    const char *dir = release(&farm, folder, "out", "1");
    json_t *manifest = manifest_of(dir);
    expect_files(manifest, dir);
    g_assert_cmpint(
        json_unpack(manifest, "{s:I, s:I, s:s, s:s, s:[{s:I, s:s, s:I}], s:[{s:s}], s:{s:I}}",
                    "version", &version, "base", &base, "proposed_by", &by, "approved_by",
                    &approved_by, "campaigns", "campaign", &campaign, "name", &name, "configs",
                    &configs, "stacks", "stack", &stack, "measurements", "runs", &runs),
        ==, 0);
    g_assert_cmpint(version, ==, 1);
    g_assert_cmpint(base, ==, 0);
    g_assert_cmpstr(by, ==, "ann");
    g_assert_cmpstr(approved_by, ==, "bob");
    g_assert_cmpint(campaign, ==, farm.campaign);
    g_assert_cmpstr(name, ==, "test");
    g_assert_cmpstr(stack, ==, "test");
    g_assert_cmpint(configs, ==, ask(&farm, "SELECT count(*) FROM results"));
    g_assert_cmpint(runs, ==, ask(&farm, "SELECT sum(n) FROM results"));
    const json_t *kernels = json_object_get(manifest, "kernels");
    g_assert_cmpint((int64_t)json_array_size(kernels), ==,
                    ask(&farm, "SELECT count(*) FROM kernels"));
    const json_t *sum = json_object_get(json_array_get(kernels, 0), "code_sha256");
    g_assert_cmpuint(json_string_length(sum), ==, 64);
    json_decref(manifest);

    g_autoptr(GBytes) first = bytes_of(dir, MANIFEST);
    g_autoptr(GBytes) again = bytes_of(release(&farm, folder, "again", "latest"), MANIFEST);
    g_assert_true(g_bytes_equal(first, again));
    export_farm_clear(&farm);
}

/* A second exporter, which takes the folder's lock whenever it is free. */
struct other {
    const char *dir;
    gint over, turns;
    int alone; /* how often the lock was free while the folder held files and no manifest */
};

static void *take_turns(void *data)
{
    struct other *other = data;
    g_autofree char *file = g_build_filename(other->dir, names[0], NULL);
    g_autofree char *manifest = g_build_filename(other->dir, MANIFEST, NULL);
    int fd = open(other->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (g_atomic_int_get(&other->over) == 0) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            g_atomic_int_inc(&other->turns);
            other->alone +=
                g_file_test(file, G_FILE_TEST_EXISTS) && !g_file_test(manifest, G_FILE_TEST_EXISTS);
            flock(fd, LOCK_UN);
        }
        g_usleep(100);
    }
    close(fd);
    return NULL;
}

static void wait_for_a_turn(struct other *other)
{
    int before = g_atomic_int_get(&other->turns);
    gint64 deadline = patience_end();
    while (g_atomic_int_get(&other->turns) == before && g_get_monotonic_time() < deadline) {
        g_usleep(100);
    }
    g_assert_cmpint(g_atomic_int_get(&other->turns), >, before);
}

static void an_export_locks_files_and_manifest_together(void)
{
    struct export_farm farm;
    g_autoptr(TempFolder) folder = temp_folder_new();
    begin(&farm);
    struct other other = {.dir = temp_folder_path(folder, "out")};
    g_assert_cmpint(g_mkdir_with_parents(other.dir, 0777), ==, 0);
    GThread *thread = g_thread_new("other", take_turns, &other);
    wait_for_a_turn(&other);
    release(&farm, folder, "out", "1");
    wait_for_a_turn(&other);
    g_atomic_int_set(&other.over, 1);
    g_thread_join(thread);
    g_assert_cmpint(other.alone, ==, 0);
    export_farm_clear(&farm);
}

/* ---- what does not ship ---- */

static void only_approved_versions_ship(void)
{
    static const struct {
        const char *word;
        int code; /* code of STORE_ERROR; -1: the argument itself is wrong */
        const char *says;
    } cases[] = {
        {"2", STORE_ERROR_STATE, "is proposed: what ships is approved first"},
        {"7", STORE_ERROR_NOT_FOUND, "has no golden version 7"},
        {"newest", -1, "is no version"},
    };
    struct export_farm farm;
    struct golden_summary proposal;
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *dir = temp_folder_path(folder, "out");
    begin(&farm);
    run(&farm, "UPDATE golden_rows SET median_ms = median_ms * 2");
    const struct golden_wish wish = {
        .campaign = farm.campaign, .base = -1, .by = "ann", .noise = 1, .allow_unconfirmed = true};
    g_assert_true(golden_propose(farm.store, &wish, &proposal, &error));
    golden_summary_clear(&proposal);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct export_summary summary = {0};
        g_assert_false(
            golden_release(farm.store, cases[i].word, NULL, &everything, dir, &summary, &error));
        g_assert_true(cases[i].code < 0 ? error->domain == G_OPTION_ERROR
                                        : g_error_matches(error, STORE_ERROR, cases[i].code));
        g_assert_nonnull(strstr(error->message, cases[i].says));
        g_clear_error(&error);
        export_summary_clear(&summary);
    }
    g_assert_false(g_file_test(dir, G_FILE_TEST_EXISTS));
    export_farm_clear(&farm);
}

/* The gate judges golden rows like all results: a row that is no longer valid is left out and
 * named. */
static void results_that_no_longer_hold_are_refused(void)
{
    struct export_farm farm;
    struct export_summary summary = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) folder = temp_folder_new();
    begin(&farm);
    run(&farm, "UPDATE golden_rows SET config_text = '77'"
               " WHERE from_job = (SELECT min(from_job) FROM golden_rows)");
    g_assert_true(golden_release(farm.store, "1", EXPORT_FARM_TARGET, &everything,
                                 temp_folder_path(folder, "out"), &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.refused.by[REFUSAL_CONFIG], ==, 1);
    g_assert_cmpint(summary.refused.count, ==, 1);
    g_assert_cmpuint(summary.files->len, ==, G_N_ELEMENTS(names) + 1);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/golden_release/a_version_is_exported_as_its_campaign_is",
                    a_version_is_exported_as_its_campaign_is);
    g_test_add_func("/golden_release/a_rollback_restores_the_files_without_the_campaign",
                    a_rollback_restores_the_files_without_the_campaign);
    g_test_add_func("/golden_release/the_manifest_names_the_sources_of_the_files",
                    the_manifest_names_the_sources_of_the_files);
    g_test_add_func("/golden_release/an_export_locks_files_and_manifest_together",
                    an_export_locks_files_and_manifest_together);
    g_test_add_func("/golden_release/only_approved_versions_ship", only_approved_versions_ship);
    g_test_add_func("/golden_release/results_that_no_longer_hold_are_refused",
                    results_that_no_longer_hold_are_refused);
    return g_test_run();
}
