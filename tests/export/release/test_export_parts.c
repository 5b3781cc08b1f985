/* Exports read results a part at a time; the size of the parts changes no byte of the files. */
#include "export/release/export.h"

#include "export/formats/find_db.h"
#include "export/golden/golden.h"
#include "export/golden/golden_release.h"
#include "export/release/export_plan.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/temp_folder.h"

#include <string.h>

static const char *const names[] = {EXPORT_FARM_TARGET ".kdb", EXPORT_FARM_TARGET ".db",
                                    EXPORT_FARM_TARGET ".db.txt",
                                    EXPORT_FARM_TARGET ".HIP.fdb.txt"};

/* Every job has a second, slower result, which no round has verified. */
static void begin(struct export_farm *farm)
{
    g_autoptr(GError) error = NULL;
    export_farm_init(farm);
    export_farm_work(farm);
    store_do(farm->store, &error,
             "INSERT INTO results SELECT (jsonb_populate_record(r,"
             " jsonb_build_object('rank', 1, 'median_ms', median_ms * 2))).* FROM results r",
             "");
    g_assert_no_error(error);
}

static GPtrArray *list(const struct export_farm *farm, bool golden, const struct result_part *part,
                       GError **error)
{
    const struct golden_query query = {EXPORT_FARM_TARGET, 1, "", NULL, NULL, part};
    return golden ? store_list_golden_rows(farm->store, &query, error)
                  : store_list_judged_results(farm->store, farm->campaign, NULL, NULL, part, error);
}

/* Reads parts until the store has no more. Asserts that no job's results are in two parts, and that
 * there are `total` results. */
static void expect_whole_jobs(const struct export_farm *farm, bool golden, int size, guint total)
{
    struct result_part part = RESULT_PART_BEGIN;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    guint count = 0;
    while (part.last != INT64_MAX) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GHashTable) here = g_hash_table_new(g_int64_hash, g_int64_equal);
        g_assert_true(
            golden ? store_next_golden_rows(farm->store, EXPORT_FARM_TARGET, size, &part, &error)
                   : store_next_results(farm->store, farm->campaign, size, &part, &error));
        g_autoptr(GPtrArray) results = list(farm, golden, &part, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(results->len, <=, (guint)size + 1);
        count += results->len;
        for (guint i = 0; i < results->len; i++) {
            struct result *result = results->pdata[i];
            g_hash_table_add(here, &result->job);
            g_assert_false(g_hash_table_contains(seen, &result->job));
        }
        GHashTableIter iter;
        gpointer job;
        g_hash_table_iter_init(&iter, here);
        while (g_hash_table_iter_next(&iter, &job, NULL)) {
            g_hash_table_add(seen, g_memdup2(job, sizeof(int64_t)));
        }
    }
    g_assert_cmpuint(count, ==, total);
}

static void approve_all(const struct export_farm *farm)
{
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    const struct golden_wish wish = {
        .campaign = farm->campaign, .base = -1, .by = "ann", .noise = 1};
    g_assert_true(golden_propose(farm->store, &wish, &summary, &error));
    golden_summary_clear(&summary);
    g_assert_true(store_approve_golden(farm->store, EXPORT_FARM_TARGET, 1, "ann", &error));
    g_assert_no_error(error);
}

static void parts_hold_whole_jobs_and_together_all_results(void)
{
    struct export_farm farm;
    g_autoptr(GError) error = NULL;
    begin(&farm);
    approve_all(&farm);
    for (int golden = 0; golden <= 1; golden++) {
        g_autoptr(GPtrArray) all = list(&farm, golden, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(all->len, >, 6);
        for (int size = 1; size <= 7; size++) {
            expect_whole_jobs(&farm, golden, size, all->len);
        }
        expect_whole_jobs(&farm, golden, (int)all->len, all->len);
    }
    export_farm_clear(&farm);
}

static void named_jobs_alone_are_in_a_part(void)
{
    struct export_farm farm;
    g_autoptr(GError) error = NULL;
    begin(&farm);
    approve_all(&farm);
    for (int golden = 0; golden <= 1; golden++) {
        g_autoptr(GPtrArray) all = list(&farm, golden, NULL, &error);
        const int64_t jobs[] = {((struct result *)all->pdata[0])->job, 777777};
        const struct result_part part = {INT64_MIN, INT64_MAX, jobs, G_N_ELEMENTS(jobs)};
        g_autoptr(GPtrArray) few = list(&farm, golden, &part, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(few->len, ==, golden ? 1 : 2);
        g_assert_cmpint(((struct result *)few->pdata[0])->job, ==, jobs[0]);
    }
    export_farm_clear(&farm);
}

static void export_in_parts(const struct export_farm *farm, int size, bool golden, const char *dir)
{
    struct export_summary summary = {0};
    g_autoptr(GError) error = NULL;
    const struct export_wish wish = {.campaign = golden ? 0 : farm->campaign,
                                     .what = EXPORT_ALL,
                                     .top = FIND_ENTRIES_MAX,
                                     /* the campaign's and the golden version's export write into
                                      * one folder */
                                     .replace = true,
                                     .part_results = size};
    g_assert_true(golden ? golden_release(farm->store, "1", NULL, &wish, dir, &summary, &error)
                         : export_campaign(farm->store, &wish, dir, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.find_keys, ==, EXPORT_FARM_KEYS);
    g_assert_cmpint(summary.refused.count, ==, 0);
    export_summary_clear(&summary);
}

static void the_size_of_parts_changes_no_byte(void)
{
    static const int sizes[] = {1, 2, 3, 5, 1000};
    struct export_farm farm;
    g_autoptr(TempFolder) folder = temp_folder_new();
    begin(&farm);
    approve_all(&farm);
    const char *first = temp_folder_path(folder, "first");
    export_in_parts(&farm, 0, false, first);
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(sizes); i++) {
        const char *dir = temp_folder_path(folder, "again");
        export_in_parts(&farm, sizes[i / 2], i % 2 == 1, dir);
        for (size_t n = 0; n < G_N_ELEMENTS(names); n++) {
            g_autofree char *one = g_build_filename(first, names[n], NULL);
            g_autofree char *other = g_build_filename(dir, names[n], NULL);
            g_autoptr(GBytes) left = temp_folder_read(one);
            g_autoptr(GBytes) right = temp_folder_read(other);
            g_assert_true(g_bytes_equal(left, right));
        }
    }
    export_farm_clear(&farm);
}

static GPtrArray *(*list_results)(const struct export_source *source,
                                  const struct result_part *part, GError **error);

static GPtrArray *list_and_drop(const struct export_source *source, const struct result_part *part,
                                GError **error)
{
    GPtrArray *results = list_results(source, part, error);
    store_change_campaign(source->store, source->wish->campaign, "drop", NULL);
    return results;
}

/* The parts after the drop would be empty, and the export incomplete: it ends with an error. */
static void campaign_that_is_dropped_meanwhile_is_not_exported(void)
{
    struct export_farm farm;
    struct gate gate;
    struct export_source source;
    struct export_spool spool;
    struct export_summary summary = {0};
    int64_t results = 0;
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) folder = temp_folder_new();
    begin(&farm);
    const struct export_wish wish = {.campaign = farm.campaign, .part_results = 1};
    refusals_init(&summary.refused, temp_folder_path(folder, "refused"));
    g_assert_true(gate_init(&gate, farm.store, EXPORT_FARM_TARGET, &error));
    export_source_init(&source, farm.store, &wish, &gate);
    list_results = source.list;
    source.list = list_and_drop;
    g_assert_true(export_spool_open(&spool, temp_folder_path(folder, "spool"), &error));
    g_assert_false(export_plan_make(&source, &spool, &summary, &results, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK);
    export_spool_close(&spool);
    gate_clear(&gate);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export_parts/parts_hold_whole_jobs_and_together_all_results",
                    parts_hold_whole_jobs_and_together_all_results);
    g_test_add_func("/export_parts/named_jobs_alone_are_in_a_part", named_jobs_alone_are_in_a_part);
    g_test_add_func("/export_parts/the_size_of_parts_changes_no_byte",
                    the_size_of_parts_changes_no_byte);
    g_test_add_func("/export_parts/campaign_that_is_dropped_meanwhile_is_not_exported",
                    campaign_that_is_dropped_meanwhile_is_not_exported);
    return g_test_run();
}
