/* Exports of a selection of a campaign's results: within limits, of one network, of one tag. */
#include "export/release/export.h"

#include "export/formats/find_db.h"
#include "schema/store/store_problems.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <string.h>

/* The find-db's entries, as "KEY SOLVER" each; NULL where no find-db was exported. */
static GPtrArray *entries_of(const struct export_farm *farm, struct export_wish wish,
                             struct export_summary *summary, GError **error)
{
    struct find_line line;
    struct line at;
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *dir = temp_folder_path(folder, "out");
    memset(summary, 0, sizeof *summary);
    wish.campaign = farm->campaign;
    wish.what = EXPORT_FIND;
    if (!export_campaign(farm->store, &wish, dir, summary, error)) {
        return NULL;
    }
    GPtrArray *entries = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(FindDb) db = find_db_open(summary->files->pdata[0], error);
    find_line_init(&line);
    while (db != NULL && find_db_next(db, &line, &at, error) == READ_ROW) {
        for (guint i = 0; i < line.entries->len; i++) {
            const struct find_entry *entry = &g_array_index(line.entries, struct find_entry, i);
            g_ptr_array_add(entries, g_strdup_printf("%s %s", line.key, entry->solver));
        }
    }
    find_line_clear(&line);
    return entries;
}

static bool has_key(const GPtrArray *entries, const char *key)
{
    for (guint i = 0; i < entries->len; i++) {
        if (g_str_has_prefix(entries->pdata[i], key)) {
            return true;
        }
    }
    return false;
}

static void results_beyond_the_limits_are_left_out(void)
{
    struct export_farm farm;
    struct export_summary summary;
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    g_autoptr(GPtrArray) all = entries_of(&farm, (struct export_wish){.top = 64}, &summary, &error);
    g_assert_no_error(error);
    g_assert_cmpint(summary.beyond_limits, ==, 0);
    int jobs = (int)all->len;
    export_summary_clear(&summary);

    g_autoptr(GPtrArray) dynamic =
        entries_of(&farm, (struct export_wish){.top = 64, .dynamic_only = true}, &summary, &error);
    g_assert_no_error(error);
    g_assert_cmpint((int)dynamic->len + summary.beyond_limits, ==, jobs);
    g_assert_cmpuint(dynamic->len, <, all->len);
    for (guint i = 0; i < dynamic->len; i++) {
        const struct solver *solver = solver_find(strchr(dynamic->pdata[i], ' ') + 1);
        g_assert_true(solver != NULL && solver->dynamic);
    }
    export_summary_clear(&summary);

    g_autoptr(GPtrArray) frugal = entries_of(
        &farm, (struct export_wish){.top = 64, .limits_workspace = true}, &summary, &error);
    g_assert_no_error(error);
    g_assert_cmpint((int)frugal->len + summary.beyond_limits, ==, jobs);
    g_assert_cmpuint(frugal->len, <, all->len);
    export_summary_clear(&summary);

    g_autoptr(GPtrArray) one = entries_of(&farm, (struct export_wish){.top = 1}, &summary, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(one->len, ==, EXPORT_FARM_KEYS);
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void a_network_or_a_tag_alone(void)
{
    struct export_farm farm;
    struct export_summary summary;
    int64_t id;
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    struct layer layer = {.multiplicity = 1};
    g_assert_true(problem_key_parse(export_farm_keys[1], &layer.problem, NULL));
    g_assert_true(store_put_network(farm.store, "net", &layer, 1, NULL, &error));
    g_assert_true(problem_key_parse(export_farm_keys[2], &layer.problem, NULL));
    g_assert_true(store_put_problems(farm.store, &layer.problem, 1, "nightly", &id, &error));

    g_autoptr(GPtrArray) of_network =
        entries_of(&farm, (struct export_wish){.top = 4, .network = "net"}, &summary, &error);
    g_assert_no_error(error);
    g_assert_cmpint(summary.find_keys, ==, 1);
    g_assert_true(has_key(of_network, export_farm_keys[1]));
    export_summary_clear(&summary);

    g_autoptr(GPtrArray) of_tag =
        entries_of(&farm, (struct export_wish){.top = 4, .tag = "nightly"}, &summary, &error);
    g_assert_no_error(error);
    g_assert_cmpint(summary.find_keys, ==, 1);
    g_assert_true(has_key(of_tag, export_farm_keys[2]));
    export_summary_clear(&summary);

    g_assert_null(
        entries_of(&farm, (struct export_wish){.top = 4, .network = "other"}, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY);
    g_assert_nonnull(strstr(error->message, "of the problems asked for"));
    export_summary_clear(&summary);
    export_farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export_wish/results_beyond_the_limits_are_left_out",
                    results_beyond_the_limits_are_left_out);
    g_test_add_func("/export_wish/a_network_or_a_tag_alone", a_network_or_a_tag_alone);
    return g_test_run();
}
