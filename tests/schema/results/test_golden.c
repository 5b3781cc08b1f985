/* Golden versions in a real PostgreSQL: their order, who may do what, and what a version keeps. */
#include "schema/results/store_golden.h"

#include "schema/farm/upkeep.h"
#include "schema/server/connection.h"
#include "schema/server/roles.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define TARGET "gfx90a68"

/* ---- what the tests share ---- */

static void do_sql(const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) owner = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    store_do(owner, &error, sql, "");
    g_assert_no_error(error);
}

static void put_kernel(struct role_farm *f, int number)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *key = g_strdup_printf("%064d", number);
    char none[] = "";
    struct kernel_row row = {.key = key, .log = none, .code = g_bytes_new_static("code", 4)};
    row.built_by = f->farm.workers[0];
    g_assert_true(store_put_kernel(f->farm.store, &row, &error));
    g_assert_no_error(error);
    g_bytes_unref(row.code);
}

/* Creates a campaign of the coordinator boss with `count` jobs, each measured. All have kernel 0. */
static void begin(struct role_farm *f, int jobs)
{
    role_farm_init(f, jobs);
    put_kernel(f, 0);
    for (int i = 0; i < jobs; i++)
        farm_work(&f->farm, 0, false, 1);
}

/* Proposes the campaign's results from number `first` on, in the name of a person. */
static int propose_some(Store *store, const struct role_farm *f, int base, guint first,
                        GError **error)
{
    int version = 0;
    bool is_new = false;
    g_autoptr(GPtrArray) results =
        store_list_judged_results(store, f->farm.campaign, NULL, NULL, NULL, error);
    g_autoptr(GArray) takes = g_array_new(FALSE, FALSE, sizeof(struct golden_take));
    for (guint i = first; results != NULL && i < results->len; i++) {
        const struct result *result = results->pdata[i];
        const struct golden_take take = {result->job, result->rank, result->rank,
                                         result->kept.outcome.median_ms, "new problem"};
        g_array_append_val(takes, take);
    }
    /* Hands in the entries by two calls of store_ask_golden(), as an export with more entries than one call takes does. */
    int half = (int)takes->len / 2;
    int64_t asked = 0;
    const struct golden_take *all = (const struct golden_take *)(void *)takes->data;
    if (!store_ask_golden(store, all, half, &asked, error) ||
        !store_ask_golden(store, all + half, (int)takes->len - half, &asked, error))
        return 0;
    const struct golden_proposal proposal = {.target = TARGET,
                                             .base = base,
                                             .campaign = f->farm.campaign,
                                             .by = "Ann",
                                             .note = "",
                                             .asked = asked,
                                             .take_count = takes->len,
                                             .counts = "{}"};
    store_propose_golden(store, &proposal, &version, &is_new, error);
    return version;
}

static int propose(const struct role_farm *f, int base, guint first)
{
    g_autoptr(GError) error = NULL;
    int version = propose_some(f->boss, f, base, first, &error);
    g_assert_no_error(error);
    return version;
}

static void approve(const struct role_farm *f, int version)
{
    g_autoptr(GError) error = NULL;
    store_approve_golden(f->boss, TARGET, version, "Bob", &error);
    g_assert_no_error(error);
}

/* A text of the version's rows: equal for versions of equal content. */
static char *content_of(Store *store, int version)
{
    g_autoptr(GError) error = NULL;
    const struct golden_query query = {TARGET, version, "", NULL, NULL, NULL};
    g_autoptr(GPtrArray) rows = store_list_golden_rows(store, &query, &error);
    g_assert_no_error(error);
    GString *text = g_string_new(NULL);
    for (guint i = 0; rows != NULL && i < rows->len; i++) {
        const struct golden_row *row = rows->pdata[i];
        const struct kept *kept = &row->result.kept;
        g_assert_null(row->result.damage);
        g_string_append_printf(text, "%d %s %d %s %.17g %s;", (int)row->result.problem.c,
                               row->result.solver, row->result.rank, kept->config_text,
                               kept->outcome.median_ms, kept->kernel_keys);
    }
    return g_string_free(text, FALSE);
}

static char *state_of(Store *store, int version)
{
    g_autoptr(GPtrArray) versions = store_list_golden(store, TARGET, NULL);
    for (guint i = 0; i < versions->len; i++) {
        const struct golden_version *found = versions->pdata[i];
        if (found->version == version)
            return g_strdup(found->state);
    }
    return g_strdup("none");
}

static void expect_state(Store *store, int version, const char *expected)
{
    g_autofree char *state = state_of(store, version);
    g_assert_cmpstr(state, ==, expected);
}

/* ---- the order of versions ---- */

static void test_a_version_counts_when_it_is_approved(void)
{
    struct role_farm f;
    int newest = -1;
    g_autoptr(GError) error = NULL;
    begin(&f, 3);
    g_assert_cmpint(propose(&f, 0, 1), ==, 1);
    g_assert_true(store_newest_golden(f.guest, TARGET, &newest, &error));
    g_assert_cmpint(newest, ==, 0);
    expect_state(f.guest, 1, "proposed");
    g_autofree char *before = content_of(f.guest, 1);
    approve(&f, 1);
    expect_state(f.guest, 1, "approved");
    g_autofree char *after = content_of(f.guest, 1);
    g_assert_cmpstr(before, ==, after);
    g_assert_true(store_newest_golden(f.guest, TARGET, &newest, &error));
    g_assert_cmpint(newest, ==, 1);
    role_expect_refused(store_approve_golden(f.boss, TARGET, 1, "Cid", &error), &error,
                        STORE_ERROR_STATE, "approved already, by Bob");
    role_expect_refused(store_approve_golden(f.boss, TARGET, 7, "Cid", &error), &error,
                        STORE_ERROR_NOT_FOUND, "no golden version 7");
    role_expect_refused(store_withdraw_golden(f.boss, TARGET, 1, "Cid", &error), &error,
                        STORE_ERROR_STATE, "approved already");
    g_autoptr(GPtrArray) versions = store_list_golden(f.guest, NULL, &error);
    const struct golden_version *first = versions->pdata[0];
    g_assert_cmpstr(first->proposed_by, ==, "Ann");
    g_assert_cmpstr(first->proposed_login, ==, "boss");
    g_assert_cmpstr(first->approved_by, ==, "Bob");
    g_assert_cmpstr(first->approved_login, ==, "boss");
    g_assert_cmpint(first->approved_unix, >=, first->proposed_unix);
    role_farm_clear(&f);
}

static void test_of_two_on_one_base_one_is_approved(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    begin(&f, 2);
    g_assert_cmpint(propose(&f, 0, 1), ==, 1);
    int64_t first = f.farm.campaign;
    /* A new campaign takes over the results, so the next proposal is from that campaign. */
    f.farm.campaign = farm_create(f.boss, &(struct order){.jobs = 2, .seed = 9}, NULL);
    g_assert_cmpint(propose(&f, 0, 0), ==, 2);
    approve(&f, 2);
    expect_state(f.guest, 1, "outdated");
    role_expect_refused(store_approve_golden(f.boss, TARGET, 1, "Bob", &error), &error,
                        STORE_ERROR_STATE, "propose again");
    f.farm.campaign = first;
    propose_some(f.boss, &f, 0, 0, &error);
    role_expect_refused(false, &error, STORE_ERROR_STATE, "propose again");
    g_assert_cmpint(propose(&f, 2, 1), ==, 3);
    expect_state(f.guest, 1, "withdrawn");
    approve(&f, 3);
    role_farm_clear(&f);
}

static void test_a_rollback_has_the_content_of_the_older_one(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    int version = 0;
    bool approved = false;
    struct golden_rollback rollback = {.target = TARGET, .to = 1, .by = "Ann", .note = "hot"};
    begin(&f, 3);
    propose(&f, 0, 1);
    approve(&f, 1);
    g_autofree char *first = content_of(f.guest, 1);
    do_sql("UPDATE outcomes SET min_ms = ARRAY[1, 0], median_ms = ARRAY[1, 0]");
    do_sql("UPDATE results SET min_ms = 1, median_ms = 1");
    propose(&f, 1, 0); /* a proposal that changes two entries and adds one */
    approve(&f, 2);
    g_autofree char *second = content_of(f.guest, 2);
    g_assert_cmpstr(first, !=, second);
    g_autoptr(GPtrArray) changes = store_diff_golden(f.guest, TARGET, 1, 2, &error);
    g_assert_cmpuint(changes->len, ==, 3);

    g_assert_true(store_roll_back_golden(f.boss, &rollback, &version, &approved, &error));
    g_assert_no_error(error);
    g_assert_true(version == 3 && approved);
    rollback.to = 2;
    g_assert_true(store_roll_back_golden(f.boss, &rollback, &version, &approved, &error));
    g_assert_no_error(error);
    const struct {
        int version;
        const char *content;
    } contents[] = {{1, first}, {2, second}, {3, first}, {4, second}};
    for (gsize i = 0; i < G_N_ELEMENTS(contents); i++) {
        g_autofree char *content = content_of(f.guest, contents[i].version);
        g_assert_cmpstr(content, ==, contents[i].content);
    }
    g_autoptr(GPtrArray) none = store_diff_golden(f.guest, TARGET, 1, 3, &error);
    g_assert_cmpuint(none->len, ==, 0);
    g_autoptr(GPtrArray) back = store_diff_golden(f.guest, TARGET, 2, 3, &error);
    g_assert_cmpuint(back->len, ==, 3);
    rollback.to = 4;
    role_expect_refused(store_roll_back_golden(f.boss, &rollback, &version, &approved, &error),
                        &error, STORE_ERROR_STATE, "newest approved one already");
    role_farm_clear(&f);
}

static void test_what_was_not_verified_or_has_no_code_is_refused(void)
{
    static const struct {
        const char *sql, *words;
    } cases[] = {
        {"UPDATE outcomes SET failures = ARRAY[7, 7]", "not verified by its rounds"},
        {"UPDATE results SET n = n + 1", "not verified by its rounds"},
        {"UPDATE results SET config = '{7, 7}'", "not verified by its rounds"},
        {"UPDATE kernels SET code = NULL, code_place = NULL", "has no code"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct role_farm f;
        g_autoptr(GError) error = NULL;
        begin(&f, 1);
        do_sql(cases[i].sql);
        propose_some(f.boss, &f, 0, 0, &error);
        role_expect_refused(false, &error, STORE_ERROR_STATE, cases[i].words);
        role_expect_count(f.guest, "SELECT count(*) FROM golden_versions", "0");
        role_farm_clear(&f);
    }
}

/* The server's process is killed before its commit: nothing has changed. */
static void test_one_that_is_killed_has_changed_nothing(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    begin(&f, 2);
    propose(&f, 0, 0);
    g_assert_true(store_do(f.boss, &error, "BEGIN", ""));
    g_assert_true(store_approve_golden(f.boss, TARGET, 1, "Bob", &error));
    role_expect_count(f.boss, "SELECT count(*) FROM golden_rows", "2");
    do_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'boss'"
           " AND state = 'idle in transaction'");
    expect_state(f.guest, 1, "proposed");
    role_expect_count(f.guest, "SELECT count(*) FROM golden_rows", "0");
    role_expect_count(f.guest, "SELECT count(*) FROM golden_proposed", "2");
    g_assert_false(store_do(f.boss, NULL, "SELECT 1", "")); /* hears of it */
    approve(&f, 1);
    role_farm_clear(&f);
}

/* ---- who ---- */

static void make_second_coordinator(void)
{
    g_autoptr(GError) error = NULL;
    PGconn *owner = connection_open(scratch_db_url(), "test", &error);
    const struct role_login deputy = {.name = "deputy", .role = role_find("coordinator")};
    g_assert_true(roles_login(owner, &deputy, &error));
    g_assert_no_error(error);
    PQfinish(owner);
}

static void test_two_persons_are_two_logins(void)
{
    struct role_farm f;
    bool demand = false, approved = true;
    int version = 0;
    g_autoptr(GError) error = NULL;
    begin(&f, 2);
    make_second_coordinator();
    g_autoptr(Store) deputy = role_open("deputy");
    g_autoptr(Store) owner = store_open(scratch_db_url(), &error);
    g_assert_true(store_set_golden_policy(f.boss, NULL, true, "Ann", &error));
    g_assert_true(store_golden_policy(f.guest, TARGET, &demand, &error));
    g_assert_true(demand);
    propose(&f, 0, 1);
    role_expect_refused(store_approve_golden(f.boss, TARGET, 1, "Bob", &error), &error,
                        STORE_ERROR_STATE, "somebody else approves it");
    role_expect_refused(store_approve_golden(deputy, TARGET, 1, " ann", &error), &error,
                        STORE_ERROR_STATE, "somebody else approves it");
    role_expect_refused(store_set_golden_policy(deputy, TARGET, false, "Bob", &error), &error,
                        STORE_ERROR_ACCESS, "only the owner");
    g_assert_true(store_approve_golden(deputy, TARGET, 1, "Bob", &error));
    g_assert_no_error(error);

    /* A rollback needs a second person, too. */
    propose(&f, 1, 0);
    g_assert_true(store_approve_golden(deputy, TARGET, 2, "Bob", &error));
    const struct golden_rollback rollback = {.target = TARGET, .to = 1, .by = "Ann", .note = ""};
    for (int i = 0; i < 2; i++) {
        g_assert_true(store_roll_back_golden(f.boss, &rollback, &version, &approved, &error));
        g_assert_no_error(error);
        g_assert_true(version == 3 && !approved);
    }
    /* Several people may share the owner's login: their names tell them apart. */
    g_assert_true(store_approve_golden(owner, TARGET, 3, "Cid", &error));
    g_assert_no_error(error);
    g_assert_true(store_set_golden_policy(owner, TARGET, false, "Cid", &error));
    g_assert_true(store_golden_policy(f.guest, TARGET, &demand, &error));
    g_assert_false(demand);
    g_assert_true(store_golden_policy(f.guest, "another", &demand, &error));
    g_assert_true(demand);
    role_farm_clear(&f);
}

static void test_readers_look_and_workers_see_nothing(void)
{
    struct role_farm f;
    int version = 0;
    bool approved = false;
    g_autoptr(GError) error = NULL;
    const struct golden_rollback rollback = {.target = TARGET, .to = 1, .by = "Ann", .note = ""};
    begin(&f, 1);
    propose(&f, 0, 0);
    propose_some(f.guest, &f, 0, 0, &error);
    role_expect_refused(false, &error, STORE_ERROR_ACCESS, "permission denied");
    role_expect_refused(store_approve_golden(f.guest, TARGET, 1, "Bob", &error), &error,
                        STORE_ERROR_ACCESS, "permission denied");
    role_expect_refused(store_withdraw_golden(f.guest, TARGET, 1, "Bob", &error), &error,
                        STORE_ERROR_ACCESS, "permission denied");
    role_expect_refused(store_set_golden_policy(f.guest, NULL, true, "Bob", &error), &error,
                        STORE_ERROR_ACCESS, "permission denied");
    role_expect_refused(store_roll_back_golden(f.guest, &rollback, &version, &approved, &error),
                        &error, STORE_ERROR_ACCESS, "permission denied");
    static const char *const overreaches[] = {
        "INSERT INTO golden_policies (two_persons, set_by) VALUES (false, 'x')",
        "UPDATE golden_versions SET approved_by = 'x', approved_at = now()",
        "DELETE FROM golden_rows",
        "INSERT INTO golden_rows SELECT * FROM golden_proposed",
        "SELECT take_proposed(v) FROM golden_versions v",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(overreaches); i++)
        role_expect_refused(store_do(f.boss, &error, overreaches[i], ""), &error,
                            STORE_ERROR_ACCESS, "permission denied");
    g_autoptr(GPtrArray) changes = store_diff_golden(f.guest, TARGET, 0, 1, &error);
    g_assert_cmpuint(changes->len, ==, 1);
    Store *node = f.farm.store;
    role_expect_refused(store_list_golden(node, NULL, &error) != NULL, &error, STORE_ERROR_ACCESS,
                        "skipjack_worker");
    role_expect_refused(store_diff_golden(node, TARGET, 0, 1, &error) != NULL, &error,
                        STORE_ERROR_ACCESS, "skipjack_worker");
    role_expect_refused(store_approve_golden(node, TARGET, 1, "Bob", &error), &error,
                        STORE_ERROR_ACCESS, "skipjack_worker");
    role_farm_clear(&f);
}

/* ---- what a version keeps ---- */

static int64_t collect(Store *store)
{
    g_autoptr(GError) error = NULL;
    const struct upkeep_options at_once = {.kernel_days = -1, .event_days = -1, .worker_days = -1};
    struct upkeep_report report;
    upkeep_run(store, &at_once, &report, &error);
    g_assert_no_error(error);
    return report.parts[UPKEEP_CODE].count;
}

static void test_content_and_code_outlive_the_campaign(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    begin(&f, 2);
    propose(&f, 0, 1);
    g_autofree char *before = content_of(f.guest, 1);
    g_assert_true(store_change_campaign(f.boss, f.farm.campaign, "drop", &error));
    put_kernel(&f, 5);
    /* drops the code that only a withdrawn version needed, and keeps that of an open proposal */
    g_assert_cmpint(collect(f.boss), ==, 1);
    approve(&f, 1);
    g_assert_cmpint(collect(f.boss), ==, 0);
    g_autofree char *after = content_of(f.guest, 1);
    g_assert_cmpstr(after, ==, before);
    g_assert_cmpstr(after, !=, "");
    role_farm_clear(&f);
}

static void test_code_of_a_withdrawn_proposal_goes(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    begin(&f, 1);
    propose(&f, 0, 0);
    g_assert_true(store_change_campaign(f.boss, f.farm.campaign, "drop", &error));
    g_assert_cmpint(collect(f.boss), ==, 0);
    g_assert_true(store_withdraw_golden(f.boss, TARGET, 1, "Ann", &error));
    g_assert_no_error(error);
    g_assert_cmpint(collect(f.boss), ==, 1);
    role_expect_refused(store_approve_golden(f.boss, TARGET, 1, "Bob", &error), &error,
                        STORE_ERROR_STATE, "was withdrawn by Ann");
    role_farm_clear(&f);
}

static void test_what_is_pruned_is_gone_and_the_rest_is_whole(void)
{
    struct role_farm f;
    struct golden_pruned pruned = {0};
    int version = 0;
    bool approved = false;
    g_autoptr(GError) error = NULL;
    struct golden_rollback rollback = {.target = TARGET, .to = 1, .by = "Ann", .note = ""};
    begin(&f, 2);
    propose(&f, 0, 0);
    approve(&f, 1);
    /* One of the two entries is replaced by one with another kernel. */
    put_kernel(&f, 7);
    do_sql("UPDATE results SET kernel_keys = lpad('7', 64, '0')"
           " WHERE job_id = (SELECT max(job_id) FROM results)");
    do_sql("UPDATE rounds SET kernel_keys[1] = lpad('7', 64, '0')"
           " WHERE job_id = (SELECT max(job_id) FROM results)");
    do_sql("UPDATE golden_rows SET kernel_keys = lpad('5', 64, '0')"
           " WHERE from_job = (SELECT max(from_job) FROM golden_rows)");
    put_kernel(&f, 5);
    propose(&f, 1, 1);
    approve(&f, 2);
    g_autofree char *kept = content_of(f.guest, 2);
    do_sql("INSERT INTO golden_policies (two_persons, set_by) VALUES (true, 'x')");
    g_assert_true(store_roll_back_golden(f.boss, &rollback, &version, &approved, &error));
    g_assert_cmpint(version, ==, 3);
    g_assert_true(store_change_campaign(f.boss, f.farm.campaign, "drop", &error));
    g_assert_cmpint(collect(f.boss), ==, 0);

    role_expect_refused(store_prune_golden(f.guest, TARGET, 2, "Bob", &pruned, &error), &error,
                        STORE_ERROR_ACCESS, "permission denied");
    role_expect_refused(store_prune_golden(f.boss, TARGET, 3, "Bob", &pruned, &error), &error,
                        STORE_ERROR_STATE, "was never approved");
    g_assert_true(store_prune_golden(f.boss, TARGET, 2, "Bob", &pruned, &error));
    g_assert_no_error(error);
    g_assert_true(pruned.versions == 1 && pruned.configs == 1);
    g_assert_cmpint(collect(f.boss), ==, 1);
    expect_state(f.guest, 1, "pruned");
    /* withdrawn, since the rollback would have restored version 1 again */
    expect_state(f.guest, 3, "withdrawn");
    g_autofree char *after = content_of(f.guest, 2);
    g_assert_cmpstr(after, ==, kept);
    role_expect_refused(store_diff_golden(f.guest, TARGET, 1, 2, &error) != NULL, &error,
                        STORE_ERROR_STATE, "was pruned by Bob");
    role_expect_refused(store_roll_back_golden(f.boss, &rollback, &version, &approved, &error),
                        &error, STORE_ERROR_STATE, "was pruned by Bob");
    g_assert_true(store_prune_golden(f.boss, TARGET, 2, "Bob", &pruned, &error));
    g_assert_true(pruned.versions == 0 && pruned.configs == 0);
    role_farm_clear(&f);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    role_farm_make_logins();
    g_test_add_func("/golden/line/a_version_counts_when_it_is_approved",
                    test_a_version_counts_when_it_is_approved);
    g_test_add_func("/golden/line/one_of_two_proposals_on_a_base_is_approved",
                    test_of_two_on_one_base_one_is_approved);
    g_test_add_func("/golden/line/a_rollback_has_the_content_of_the_older_one",
                    test_a_rollback_has_the_content_of_the_older_one);
    g_test_add_func("/golden/line/unverified_result_or_one_without_code_is_refused",
                    test_what_was_not_verified_or_has_no_code_is_refused);
    g_test_add_func("/golden/line/killed_approval_changes_nothing",
                    test_one_that_is_killed_has_changed_nothing);
    g_test_add_func("/golden/who/two_persons_are_two_logins", test_two_persons_are_two_logins);
    g_test_add_func("/golden/who/readers_look_and_workers_see_nothing",
                    test_readers_look_and_workers_see_nothing);
    g_test_add_func("/golden/content_and_code_outlive_the_campaign",
                    test_content_and_code_outlive_the_campaign);
    g_test_add_func("/golden/code_of_a_withdrawn_proposal_goes",
                    test_code_of_a_withdrawn_proposal_goes);
    g_test_add_func("/golden/pruned_version_is_gone_and_later_ones_are_whole",
                    test_what_is_pruned_is_gone_and_the_rest_is_whole);
    return g_test_run();
}
