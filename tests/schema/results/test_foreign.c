#include "schema/results/store_foreign.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <math.h>
#include <string.h>

static char identity[] = "made up", target[] = "gfx90a68", name[] = "theirs";
static const struct campaign theirs = {.name = name, .identity = identity, .target = target};

/* Stores three problems; ids gets their ids. */
static void put_problems(Store *store, int64_t ids[3])
{
    g_autoptr(GError) error = NULL;
    struct problem problems[3];
    for (int i = 0; i < 3; i++) {
        farm_problem(&problems[i], 8 * (i + 1));
    }
    g_assert_true(store_put_problems(store, problems, 3, NULL, ids, &error));
    g_assert_no_error(error);
}

static int64_t begin(Store *store)
{
    g_autoptr(GError) error = NULL;
    int64_t id = -1;
    g_assert_true(store_begin_foreign(store, &theirs, &id, &error));
    g_assert_no_error(error);
    return id;
}

/* Imports two times and params as a foreign campaign; the second problem's perf-db row is that of
 * the third. */
static int64_t import(Store *store)
{
    g_autoptr(GError) error = NULL;
    int64_t ids[3];
    int64_t id = begin(store);
    put_problems(store, ids);
    const struct foreign_time times[] = {
        {ids[0], ids[0], 2, 0, "Slow", "Direct"},
        {ids[0], ids[0], 0.5, 64, "Fast", "GEMM"},
        {ids[1], ids[2], 1, 0, "Fast", "GEMM"},
        {ids[0], ids[0], 0.1, 0, "Fast", "twice"},
    };
    const struct foreign_params params[] = {{ids[2], "Fast", "a,1"}, {ids[0], "Slow", "b<2, 3>"}};
    int added = 0;
    g_assert_true(store_add_foreign_times(store, id, times, 4, &added, &error));
    g_assert_cmpint(added, ==, 3);
    g_assert_true(store_add_foreign_params(store, id, params, 2, &added, &error));
    g_assert_cmpint(added, ==, 2);
    g_assert_true(store_end_foreign(store, true, &error));
    g_assert_no_error(error);
    return id;
}

static void add_text(const struct problem *problem, const struct foreign_entry *entries, int count,
                     gpointer text)
{
    g_string_append_printf(text, "%d:", (int)problem->c);
    for (int i = 0; i < count; i++) {
        g_string_append_printf(text, " %s %s %g %d [%s]", entries[i].solver, entries[i].algorithm,
                               isnan(entries[i].time_ms) ? -1 : entries[i].time_ms,
                               (int)entries[i].workspace_bytes, entries[i].params);
    }
    g_string_append(text, "\n");
}

static void expect_content(Store *store, int64_t id, const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(store_each_foreign(store, id, add_text, text, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(text->str, ==, expected);
}

#define CONTENT                                                                                    \
    "8: Fast GEMM 0.5 64 [] Slow Direct 2 0 [b<2, 3>]\n16: Fast GEMM 1 0 [a,1]\n"                  \
    "24: Fast  -1 0 [a,1]\n"

static void times_and_params_come_back_together(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    struct foreign_counts counts;
    int64_t id = import(store);
    expect_content(store, id, CONTENT);
    g_assert_true(store_count_foreign(store, id, &counts, &error));
    g_assert_true(counts.problems == 2 && counts.times == 3 && counts.params == 2);
    const struct problem_filter filter = {.campaign = id};
    g_autoptr(GArray) problems = store_list_problems(store, &filter, &error);
    g_assert_cmpuint(problems->len, ==, 2);
}

static void same_identity_is_imported_once(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int64_t id = import(store);
    g_assert_cmpint(begin(store), ==, 0);
    g_assert_true(store_end_foreign(store, true, &error));
    expect_content(store, id, CONTENT);
    struct campaign *found = store_find_campaign(store, identity, &error);
    g_assert_cmpint(found->id, ==, id);
    g_assert_true(campaign_is_foreign(found));
    g_assert_cmpint(found->jobs, ==, 0);
    campaign_free(found);
}

static void half_an_import_is_none(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int64_t ids[3];
    int added = 0;
    int64_t id = begin(store);
    put_problems(store, ids);
    const struct foreign_time good = {ids[0], ids[0], 2, 0, "Slow", "Direct"};
    g_assert_true(store_add_foreign_times(store, id, &good, 1, &added, &error));
    g_assert_true(store_end_foreign(store, false, &error));
    g_assert_no_error(error);
    expect_content(store, id, "");
    g_assert_cmpint(import(store), >, 0);
}

static void no_time_is_taken_that_cannot_be(void)
{
    static const double times[] = {0, -1, 1e12, HUGE_VAL};
    g_autoptr(Store) store = scratch_store();
    for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
        g_autoptr(GError) error = NULL;
        int64_t ids[3];
        int added = 0;
        int64_t id = begin(store);
        put_problems(store, ids);
        const struct foreign_time bad = {ids[0], ids[0], times[i], 0, "Slow", "Direct"};
        g_assert_false(store_add_foreign_times(store, id, &bad, 1, &added, &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_REFUSED);
        g_assert_true(store_end_foreign(store, false, NULL));
    }
}

static void refuse(bool done, GError **error, int code)
{
    g_assert_false(done);
    g_assert_error(*error, STORE_ERROR, code);
    g_clear_error(error);
}

static void it_stays_as_it_was_imported(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int64_t id = import(store);
    int priority = 5, added;
    const struct foreign_time late = {1, 1, 2, 0, "Late", "Direct"};
    const struct foreign_params params = {1, "Late", "1"};
    refuse(store_add_foreign_times(store, id, &late, 1, &added, &error), &error, STORE_ERROR_STATE);
    refuse(store_add_foreign_params(store, id, &params, 1, &added, &error), &error,
           STORE_ERROR_STATE);
    refuse(store_set_campaign(store, id, &(struct campaign_changes){.priority = &priority}, &error),
           &error, STORE_ERROR_STATE);
    refuse(store_set_campaign(store, id,
                              &(struct campaign_changes){.budget_seconds = &(double){60}}, &error),
           &error, STORE_ERROR_STATE);
    static const char *const verbs[] = {"pause", "resume", "cancel"};
    for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
        refuse(store_change_campaign(store, id, verbs[i], &error), &error, STORE_ERROR_STATE);
    }
    refuse(
        store_do(store, &error, "UPDATE campaigns SET strategy = 'random' WHERE id = $1", "l", id),
        &error, STORE_ERROR_STATE);
    expect_content(store, id, CONTENT);
}

/* Workers get no job of a foreign campaign, even if it has their target and is the only
 * campaign. */
static void workers_claim_no_job_of_a_foreign_campaign(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, NULL);
    int64_t id = import(farm.store);
    g_autoptr(GPtrArray) built = farm_claim(farm.store, farm.workers[0], POOL_BUILD, 9, 60);
    g_autoptr(GPtrArray) evaluated = farm_claim(farm.store, farm.workers[0], POOL_EVAL, 9, 60);
    g_autoptr(GPtrArray) results =
        store_list_judged_results(farm.store, id, NULL, NULL, NULL, &error);
    g_assert_cmpuint(built->len + evaluated->len + results->len, ==, 0);
    refuse(store_do(farm.store, &error,
                    "INSERT INTO jobs (campaign_id, problem_id, solver_id, position, priority,"
                    " multiplicity) VALUES ($1, 1, 1, 1, 1, 1)",
                    "l", id),
           &error, STORE_ERROR_REFUSED);
    farm_clear(&farm);
}

static void dropping_it_leaves_nothing(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int64_t id = import(store);
    g_assert_true(store_change_campaign(store, id, "drop", &error));
    g_assert_no_error(error);
    role_expect_count(store,
                      "SELECT (SELECT count(*) FROM foreign_times)"
                      " + (SELECT count(*) FROM foreign_params)",
                      "0");
    g_assert_cmpint(import(store), >, id);
}

static void coordinators_import_and_readers_look(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    int64_t id;
    role_farm_make_logins();
    role_farm_init(&f, 1);
    id = import(f.boss);
    expect_content(f.guest, id, CONTENT);
    refuse(store_begin_foreign(f.guest, &theirs, &id, &error), &error, STORE_ERROR_ACCESS);
    g_assert_true(store_end_foreign(f.guest, false, NULL));
    refuse(store_each_foreign(f.two, 1, add_text, NULL, &error), &error, STORE_ERROR_ACCESS);
    role_farm_clear(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/foreign/times_and_params_come_back_together",
                    times_and_params_come_back_together);
    g_test_add_func("/foreign/same_identity_is_imported_once", same_identity_is_imported_once);
    g_test_add_func("/foreign/half_an_import_is_none", half_an_import_is_none);
    g_test_add_func("/foreign/impossible_times_are_refused", no_time_is_taken_that_cannot_be);
    g_test_add_func("/foreign/imported_campaign_cannot_change", it_stays_as_it_was_imported);
    g_test_add_func("/foreign/workers_claim_no_job_of_a_foreign_campaign",
                    workers_claim_no_job_of_a_foreign_campaign);
    g_test_add_func("/foreign/dropping_it_leaves_nothing", dropping_it_leaves_nothing);
    g_test_add_func("/foreign/coordinators_import_and_readers_look",
                    coordinators_import_and_readers_look);
    return g_test_run();
}
