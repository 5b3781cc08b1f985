/* Proposals of golden versions from a campaign's results, through a real database. */
#include "export/golden/golden.h"

#include "schema/store/store_private.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <stdlib.h>
#include <string.h>

static void run(const struct export_farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, sql, "");
    g_assert_no_error(error);
}

static int ask(const struct export_farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(farm->store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL ? -1 : atoi(PQgetvalue(rows, 0, 0));
}

/* Proposes the campaign's results without waiting for a second measurement where campaign and
 * golden version disagree. */
static bool propose(const struct export_farm *farm, int base, struct golden_summary *summary,
                    GError **error)
{
    const struct golden_wish wish = {.campaign = farm->campaign,
                                     .base = base,
                                     .by = "ann",
                                     .noise = GOLDEN_NOISE_FACTOR,
                                     .gain = GOLDEN_GAIN_PERCENT / 100,
                                     .allow_unconfirmed = true};
    return golden_propose(farm->store, &wish, summary, error);
}

/* Measures a campaign and makes all its results version 1. Returns the number of its entries. */
static int begin(struct export_farm *farm)
{
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    export_farm_init(farm);
    export_farm_work(farm);
    g_assert_true(propose(farm, -1, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.version, ==, 1);
    g_assert_true(summary.is_new);
    int entries = summary.counts[GOLDEN_NEW_PROBLEM];
    golden_summary_clear(&summary);
    g_assert_true(store_approve_golden(farm->store, EXPORT_FARM_TARGET, 1, "ann", &error));
    g_assert_no_error(error);
    return entries;
}

#define JOB   "(SELECT min(job_id) FROM results)"
#define FIRST " WHERE job_id = " JOB
#define GOLD  " WHERE from_job = " JOB
/* Multiplies the first job's times by FACTOR, in its round and in its result. */
#define TIMES(FACTOR)                                                                              \
    "WITH o AS (UPDATE outcomes SET min_ms = ARRAY[min_ms[1] * " FACTOR                            \
    "], median_ms = ARRAY[median_ms[1] * " FACTOR "]" FIRST ") UPDATE results SET min_ms = min_ms" \
    " * " FACTOR ", median_ms = median_ms * " FACTOR FIRST
/* The key of a kernel that several jobs' results use. */
#define SHARED                                                                                     \
    "(SELECT kernel_keys FROM results WHERE kernel_keys !~ ',' GROUP BY kernel_keys"               \
    " HAVING count(*) > 1 ORDER BY kernel_keys LIMIT 1)"

/* Each row changes one entry, of the campaign or of the base; `then` is a further change. The
 * proposal has one entry of `finding`, and counts all others as within the noise. */
static const struct {
    const char *label, *sql, *then;
    enum golden_finding finding;
} changes[] = {
    {"faster", TIMES("0.9"), "", GOLDEN_BETTER},
    {"faster by less than what counts", TIMES("0.995"), "", GOLDEN_WITHIN_NOISE},
    {"faster, in a wide spread", TIMES("0.9"), "UPDATE results SET spread = 0.3" FIRST,
     GOLDEN_WITHIN_NOISE},
    {"faster, against a wide spread", TIMES("0.9"), "UPDATE golden_rows SET spread = 0.3" GOLD,
     GOLDEN_WITHIN_NOISE},
    {"faster, in a small spread", TIMES("0.9"), "UPDATE results SET spread = 0.05" FIRST,
     GOLDEN_BETTER},
    {"slower", TIMES("1.1"), "", GOLDEN_WORSE},
    {"solver of another revision, slower",
     "INSERT INTO solvers (provider, name, revision, hash, algorithm, dynamic, tunable)"
     " SELECT provider, name, 777, hash, algorithm, dynamic, tunable FROM solvers"
     " WHERE id = (SELECT solver_id FROM golden_rows" GOLD ")",
     "UPDATE golden_rows SET median_ms = median_ms / 2, min_ms = min_ms / 2, solver_id = (SELECT id"
     " FROM solvers WHERE revision = 777)" GOLD,
     GOLDEN_OTHER_REVISION},
    {"config that is none", "UPDATE golden_rows SET config_text = '77'" GOLD, "", GOLDEN_NOT_VALID},
    {"kernel that is away", "UPDATE golden_rows SET kernel_keys = repeat('7', 64)" GOLD, "",
     GOLDEN_NOT_VALID},
    {"stack that nobody asks for", "UPDATE campaigns SET stack = 'test'",
     "UPDATE golden_rows SET stack = 'tost'" GOLD, GOLDEN_OTHER_STACK},
    {"device that drifted, when the base was measured", "UPDATE golden_rows SET drift = 1.3" GOLD,
     "", GOLDEN_NOT_VALID},
    {"device that drifted, since", "UPDATE outcomes SET drift = 1.3" FIRST, "", GOLDEN_REFUSED},
    {"solver that was missing", "DELETE FROM golden_rows" GOLD, "", GOLDEN_NEW_SOLVER},
    {"result that no round has", "UPDATE results SET n = n + 1" FIRST, "", GOLDEN_REFUSED},
    {"config of the campaign that is none", "UPDATE results SET config_text = '77'" FIRST, "",
     GOLDEN_REFUSED},
};

static void each_entry_is_taken_or_left_for_a_reason(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    int entries = begin(&farm);
    g_assert_cmpint(entries, >, 3);
    for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
        g_autoptr(GError) error = NULL;
        enum golden_finding finding = changes[i].finding;
        run(&farm, "BEGIN");
        run(&farm, changes[i].sql);
        run(&farm, changes[i].then[0] != '\0' ? changes[i].then : "SELECT 1");
        g_assert_true(propose(&farm, 1, &summary, &error));
        g_assert_no_error(error);
        bool taken = finding < GOLDEN_TAKEN_COUNT;
        g_test_message("%s: %s", changes[i].label, golden_finding_name(finding));
        g_assert_cmpint(summary.counts[finding], ==, finding == GOLDEN_WITHIN_NOISE ? entries : 1);
        g_assert_cmpint(summary.counts[GOLDEN_WITHIN_NOISE], >=, entries - 1);
        g_assert_cmpint(summary.version, ==, taken ? 2 : 0);
        g_assert_cmpint(summary.refused.count, ==, finding == GOLDEN_REFUSED ? 1 : 0);
        if (taken) {
            g_autoptr(GPtrArray) rows =
                store_diff_golden(farm.store, EXPORT_FARM_TARGET, 1, 2, &error);
            g_assert_no_error(error);
            g_assert_cmpuint(rows->len, ==, 1);
            const struct golden_change *change = rows->pdata[0];
            g_assert_cmpstr(change->reason, ==, golden_finding_name(finding));
            g_assert_cmpstr(change->change, ==,
                            finding == GOLDEN_NEW_SOLVER ? "gained" : "changed");
        }
        run(&farm, "ROLLBACK");
        golden_summary_clear(&summary);
    }
    export_farm_clear(&farm);
}

static void a_problem_that_the_base_lacks_is_new(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    begin(&farm);
    run(&farm, "DELETE FROM golden_rows WHERE problem_id ="
               " (SELECT problem_id FROM golden_rows" GOLD ")");
    g_assert_true(propose(&farm, -1, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.counts[GOLDEN_NEW_PROBLEM], ==,
                    ask(&farm, "SELECT count(*) FROM golden_proposed"));
    g_assert_cmpint(summary.counts[GOLDEN_NEW_PROBLEM], >, 1);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* The base has another compiler's code object of a kernel that several entries share. When one
 * better entry brings the campaign's code object, all entries whose kernel has the same name take
 * it, too. */
static void entries_that_share_a_kernels_name_follow_it(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    begin(&farm);
    int sharing = ask(&farm, "SELECT count(*) FROM results WHERE kernel_keys = " SHARED);
    g_assert_cmpint(sharing, >, 1);
    run(&farm, "INSERT INTO kernels SELECT (jsonb_populate_record(k, jsonb_build_object('key',"
               " repeat('e', 64), 'code_sha256', repeat('e', 64)))).* FROM kernels k"
               " WHERE key = " SHARED);
    run(&farm, "UPDATE golden_rows SET kernel_keys = repeat('e', 64) WHERE kernel_keys = " SHARED);
    g_assert_true(propose(&farm, -1, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.version, ==, 0);
    golden_summary_clear(&summary);

    run(&farm, "UPDATE golden_rows SET median_ms = median_ms * 2 WHERE from_job ="
               " (SELECT min(job_id) FROM results WHERE kernel_keys = " SHARED ")");
    g_assert_true(propose(&farm, -1, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.counts[GOLDEN_BETTER], ==, 1);
    g_assert_cmpint(summary.counts[GOLDEN_SHARED_KERNEL], ==, sharing - 1);
    g_assert_cmpint(summary.counts[GOLDEN_KERNEL_LEFT], ==, 0);
    golden_summary_clear(&summary);

    /* An entry of the base whose new result cannot be verified keeps its old kernel, and is
     * counted. */
    run(&farm, "UPDATE results SET n = n + 1 WHERE job_id ="
               " (SELECT max(job_id) FROM results WHERE kernel_keys = " SHARED ")");
    g_assert_true(propose(&farm, -1, &summary, &error));
    g_assert_cmpint(summary.counts[GOLDEN_SHARED_KERNEL], ==, sharing - 2);
    g_assert_cmpint(summary.counts[GOLDEN_KERNEL_LEFT], ==, 1);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void stale_entries_without_a_replacement_are_counted(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    begin(&farm);
    run(&farm, "UPDATE golden_rows SET config_text = '77'" GOLD);
    run(&farm, "UPDATE results SET n = n + 1" FIRST);
    g_assert_true(propose(&farm, -1, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.counts[GOLDEN_STALE_LEFT], ==, 1);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void the_same_asked_for_again_is_the_same_proposal(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    begin(&farm);
    run(&farm, TIMES("0.9"));
    for (int i = 0; i < 3; i++) {
        g_assert_true(propose(&farm, -1, &summary, &error));
        g_assert_no_error(error);
        g_assert_cmpint(summary.version, ==, 2);
        g_assert_cmpint(summary.is_new, ==, i == 0);
        golden_summary_clear(&summary);
    }
    /* Changed results make another version; the proposal that was open is withdrawn. */
    run(&farm, TIMES("0.9"));
    g_assert_true(propose(&farm, -1, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.version, ==, 3);
    golden_summary_clear(&summary);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM golden_version_rows WHERE version = 2"
                               " AND state = 'withdrawn'"),
                    ==, 1);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM golden_proposed WHERE since = 2"), ==, 0);
    export_farm_clear(&farm);
}

static void another_base_than_the_newest_is_refused(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    begin(&farm);
    g_assert_false(propose(&farm, 0, &summary, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    g_assert_nonnull(strstr(error->message, "which is 1"));
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void results_taken_despite_drift_are_marked(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    run(&farm, "UPDATE outcomes SET drift = 1.3" FIRST);
    const struct golden_wish wish = {
        .campaign = farm.campaign, .base = -1, .by = "ann", .allow_drift = true};
    g_assert_true(golden_propose(farm.store, &wish, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.refused.count, ==, 0);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM golden_proposed WHERE drift = 1.3"), ==, 1);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM golden_proposed WHERE drift = 0"), >, 1);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* ---- two at once ---- */

struct approval {
    Store *store;
    GError *error;
};

static gpointer approve_second(gpointer data)
{
    struct approval *approval = data;
    bool done =
        store_approve_golden(approval->store, EXPORT_FARM_TARGET, 2, "bob", &approval->error);
    return GINT_TO_POINTER(done);
}

static void one_of_two_approvals_at_once_succeeds(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    struct approval approval = {0};
    g_autoptr(GError) error = NULL;
    begin(&farm);
    run(&farm, TIMES("0.9"));
    g_assert_true(propose(&farm, -1, &summary, &error));
    golden_summary_clear(&summary);
    approval.store = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    run(&farm, "BEGIN");
    g_assert_true(store_approve_golden(farm.store, EXPORT_FARM_TARGET, 2, "ann", &error));
    GThread *thread = g_thread_new("approve", approve_second, &approval);
    gint64 deadline = patience_end();
    while (ask(&farm, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0 &&
           g_get_monotonic_time() < deadline) {
        g_usleep(10000);
    }
    run(&farm, "COMMIT");
    g_assert_false(GPOINTER_TO_INT(g_thread_join(thread)));
    g_assert_error(approval.error, STORE_ERROR, STORE_ERROR_STATE);
    g_assert_nonnull(strstr(approval.error->message, "approved already, by ann"));
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM golden_rows WHERE since = 2"), ==, 1);
    g_clear_error(&approval.error);
    store_close(approval.store);
    export_farm_clear(&farm);
}

/* A proposal from a campaign with unfinished jobs is refused unless the wish allows it. */
static void an_incomplete_campaign_is_refused_unless_allowed(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    export_farm_work(&farm);
    run(&farm, "DELETE FROM job_ends WHERE job_id = (SELECT min(id) FROM jobs)");
    g_assert_false(propose(&farm, -1, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_INCOMPLETE);
    g_assert_nonnull(strstr(error->message, "24 of its 25 jobs have ended: "));
    g_assert_nonnull(strstr(error->message, "--allow-incomplete"));
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM golden_versions"), ==, 0);
    golden_summary_clear(&summary);
    g_clear_error(&error);
    const struct golden_wish wish = {
        .campaign = farm.campaign, .base = -1, .by = "ann", .allow_incomplete = true};
    g_assert_true(golden_propose(farm.store, &wish, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.version, ==, 1);
    g_assert_cmpint(summary.completeness.ended, ==, 24);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void nothing_measured_is_an_error(void)
{
    struct export_farm farm;
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    export_farm_init(&farm);
    const struct golden_wish wish = {
        .campaign = farm.campaign, .base = -1, .by = "ann", .allow_incomplete = true};
    g_assert_false(golden_propose(farm.store, &wish, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY);
    golden_summary_clear(&summary);
    g_clear_error(&error);
    farm.campaign += 1000;
    g_assert_false(propose(&farm, -1, &summary, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/golden/each_entry_is_taken_or_left_for_a_reason",
                    each_entry_is_taken_or_left_for_a_reason);
    g_test_add_func("/golden/a_problem_that_the_base_lacks_is_new",
                    a_problem_that_the_base_lacks_is_new);
    g_test_add_func("/golden/entries_that_share_a_kernels_name_follow_it",
                    entries_that_share_a_kernels_name_follow_it);
    g_test_add_func("/golden/stale_entries_without_a_replacement_are_counted",
                    stale_entries_without_a_replacement_are_counted);
    g_test_add_func("/golden/the_same_asked_for_again_is_the_same_proposal",
                    the_same_asked_for_again_is_the_same_proposal);
    g_test_add_func("/golden/another_base_than_the_newest_is_refused",
                    another_base_than_the_newest_is_refused);
    g_test_add_func("/golden/results_taken_despite_drift_are_marked",
                    results_taken_despite_drift_are_marked);
    g_test_add_func("/golden/one_of_two_approvals_at_once_succeeds",
                    one_of_two_approvals_at_once_succeeds);
    g_test_add_func("/golden/an_incomplete_campaign_is_refused_unless_allowed",
                    an_incomplete_campaign_is_refused_unless_allowed);
    g_test_add_func("/golden/nothing_measured_is_an_error", nothing_measured_is_an_error);
    return g_test_run();
}
