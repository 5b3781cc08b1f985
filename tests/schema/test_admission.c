/* Who may work on which campaign, in which order, and why not. */
#include "schema/store_private.h"
#include "tests/support/queue_farm.h"
#include "tests/support/scratch_db.h"

#include <locale.h>
#include <string.h>

static const char stack[] = "clang 15.0.6; opencl PoCL 3.1 LLVM 14.0.6; driver 535.104.05";

/* What a stack lacks; "" for nothing. */
static char *lacks(Store *store, const char *wanted)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows =
        store_read(store, &error, "SELECT coalesce(stack_lacks($1, $2), '')", "ss", wanted, stack);
    g_assert_no_error(error);
    return g_strdup(PQgetvalue(rows, 0, 0));
}

static void test_constraints_are_ranges_or_exact(void)
{
    static const struct {
        const char *wanted, *lacks; /* part of the reason, "" where it is met */
    } cases[] = {
        {"", ""},
        {"clang 15", ""},
        {"clang 15.0.6", ""},
        {"clang 1", "lacks \"clang 1\""},
        {"clang >= 15", ""},
        {"clang >= 15 < 20; driver >= 535", ""},
        {"clang > 15", "its clang is 15.0.6, asked for is \"clang > 15\""},
        {"clang <= 15", ""},
        {"clang = 15", ""},
        {"clang = 15.0.7", "its clang is 15.0.6"},
        {"clang >= 16", "its clang is 15.0.6"},
        {"clang >= 9", ""},
        {"driver >= 535.104.6", "its driver is 535.104.05"},
        {"PoCL >= 3.1 < 4; LLVM >= 14", ""},
        {"llvm < 14", "its llvm is 14.0.6"},
        {"hip >= 5", "its stack has no hip"},
        {" clang >= 15 ;; driver>=535 ", ""},
    };
    g_autoptr(Store) store = scratch_store();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *reason = lacks(store, cases[i].wanted);
        if (cases[i].lacks[0] == '\0')
            g_assert_cmpstr(reason, ==, "");
        else if (!strstr(reason, cases[i].lacks))
            g_error("'%s' gives '%s'", cases[i].wanted, reason);
    }
}

static int64_t make_campaign(Store *store, struct campaign *campaign, GError **error)
{
    static int seed;
    char name[] = "test", target[] = "gfx90a68", strategy[] = "random";
    struct job_plan plan = {.solver = "ConvTest",
                            .revision = 1,
                            .hash = "h1",
                            .provider = "test",
                            .algorithm = "Direct",
                            .priority = 1,
                            .multiplicity = 1};
    struct job_plan plans[8];
    campaign->name = campaign->identity = name;
    campaign->target = campaign->target ? campaign->target : target;
    campaign->strategy = strategy;
    campaign->seed = ++seed;
    campaign->round_configs = 4;
    for (int i = 0; i < 8; i++) {
        plans[i] = plan;
        farm_problem(&plans[i].problem, 8 * (i + 1));
    }
    return store_create_campaign(store, campaign, plans, 8, NULL, NULL, error) ? campaign->id : 0;
}

static int64_t add(struct farm *farm, struct campaign campaign)
{
    g_autoptr(GError) error = NULL;
    int64_t id = make_campaign(farm->store, &campaign, &error);
    g_assert_no_error(error);
    return id;
}

static void test_unreadable_constraints_are_refused(void)
{
    static const char *const wrong[] = {"clang >= x", "clang >=", ">= 15", "clang >= 15 20",
                                        "clang => 15"};
    g_autoptr(Store) store = scratch_store();
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        struct campaign campaign = {.stack = (char *)wrong[i]};
        g_assert_cmpint(make_campaign(store, &campaign, &error), ==, 0);
        g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
        g_assert_nonnull(strstr(error->message, "cannot read the constraint"));
    }
}

/* The campaign of the first worker's next job, 0 for none. */
static int64_t next_campaign(struct farm *farm)
{
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    int64_t campaign = job ? job->campaign : 0;
    if (job)
        job_free(job);
    return campaign;
}

static void relabel(struct farm *farm, const struct worker_info *info)
{
    g_autoptr(GError) error = NULL;
    store_register_worker(farm->store, info, &farm->workers[0], &error);
    g_assert_no_error(error);
}

static char *reason_of(struct farm *farm, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows =
        store_list_refusals(farm->store, farm->workers[0], campaign, &error);
    g_assert_no_error(error);
    return rows->len == 0 ? g_strdup("")
                          : g_strdup(((const struct refusal_row *)rows->pdata[0])->reason);
}

static void test_a_pool_is_worked_on_by_its_label_alone(void)
{
    static const char *const labels[] = {"day", "night", NULL};
    static char night[] = "night";
    struct farm farm;
    farm_init(&farm, NULL);
    int64_t campaign = add(&farm, (struct campaign){.pool = night});
    g_autofree char *reason = reason_of(&farm, campaign);
    g_assert_nonnull(strstr(reason, "worker --label night"));
    g_assert_cmpint(next_campaign(&farm), ==, 0);
    relabel(
        &farm,
        &(struct worker_info){
            .node = "one", .process = "p", .target = "gfx90a68", .stack = stack, .labels = labels});
    g_autofree char *none = reason_of(&farm, campaign);
    g_assert_cmpstr(none, ==, "");
    g_assert_cmpint(next_campaign(&farm), ==, campaign);
    farm_clear(&farm);
}

static void test_refusals_say_why(void)
{
    static char target[] = "gfx1030_36", newer[] = "clang >= 17";
    static const char *const carried[] = {"ConvTest:2:h2", NULL};
    struct farm farm;
    farm_init(&farm, NULL);
    struct worker_info info = {
        .node = "one", .process = "p", .target = "gfx90a68", .stack = stack, .eval_only = true};
    relabel(&farm, &info);
    g_autofree char *other = reason_of(&farm, add(&farm, (struct campaign){.target = target}));
    g_assert_cmpstr(other, ==, "its target is gfx90a68, the campaign is for gfx1030_36");
    g_autofree char *old = reason_of(&farm, add(&farm, (struct campaign){.stack = newer}));
    g_assert_cmpstr(old, ==, "its clang is 15.0.6, asked for is \"clang >= 17\"");
    info.solvers = carried;
    relabel(&farm, &info);
    g_autofree char *solver = reason_of(&farm, add(&farm, (struct campaign){.seed = 0}));
    g_assert_nonnull(strstr(solver, "such as ConvTest at revision 1"));
    /* A builder builds for any target. */
    info.solvers = NULL;
    info.eval_only = false;
    relabel(&farm, &info);
    g_autofree char *builds = reason_of(&farm, 1);
    g_assert_cmpstr(builds, ==, "");
    farm_clear(&farm);
}

static void spend(struct farm *farm, int64_t campaign, double seconds)
{
    g_autoptr(GError) error = NULL;
    store_add_spent(farm->store, campaign, seconds, &error);
    g_assert_no_error(error);
}

static void test_priority_comes_first_then_the_share(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    int urgent = 5;
    double half = 0.5;
    farm_init(&farm, NULL);
    int64_t one = add(&farm, (struct campaign){.share = 1});
    int64_t two = add(&farm, (struct campaign){.share = 2});
    int64_t high = add(&farm, (struct campaign){.priority = 1});
    for (int i = 0; i < 8; i++)
        g_assert_cmpint(next_campaign(&farm), ==, high);
    spend(&farm, one, 11);
    spend(&farm, two, 20);
    g_assert_cmpint(next_campaign(&farm), ==, two);
    spend(&farm, two, 4);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    g_assert_true(store_share_campaign(farm.store, two, &urgent, NULL, NULL, &error));
    g_assert_cmpint(next_campaign(&farm), ==, two);
    g_assert_true(store_share_campaign(farm.store, one, &urgent, &half, NULL, &error));
    spend(&farm, one, 11);
    spend(&farm, two, 43);
    g_assert_cmpint(next_campaign(&farm), ==, two);
    spend(&farm, two, 2);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    g_assert_false(store_share_campaign(farm.store, 99, &urgent, NULL, NULL, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    farm_clear(&farm);
}

/* Else the later one had all workers until it has worked as long. */
static void test_who_comes_later_shares_from_then_on(void)
{
    struct farm farm;
    farm_init(&farm, NULL);
    int64_t one = add(&farm, (struct campaign){.share = 1});
    spend(&farm, one, 1000);
    farm.campaign = add(&farm, (struct campaign){.share = 1});
    spend(&farm, farm.campaign, 2);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    spend(&farm, one, 3);
    g_assert_cmpint(next_campaign(&farm), ==, farm.campaign);

    farm_change(&farm, "pause");
    spend(&farm, one, 1000);
    farm_change(&farm, "resume");
    spend(&farm, farm.campaign, 2);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    spend(&farm, one, 3);
    g_assert_cmpint(next_campaign(&farm), ==, farm.campaign);
    farm_clear(&farm);
}

/* One that no node suits stays where it began; what comes later does not begin there. */
static void test_who_waits_for_nodes_holds_nobody_back(void)
{
    struct farm farm;
    char pool[] = "none";
    farm_init(&farm, NULL);
    int64_t one = add(&farm, (struct campaign){.share = 1});
    add(&farm, (struct campaign){.share = 1, .pool = pool});
    spend(&farm, one, 1000);
    struct job *held = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_cmpint(held->campaign, ==, one);
    int64_t later = add(&farm, (struct campaign){.share = 1});
    spend(&farm, later, 2);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    spend(&farm, one, 3);
    g_assert_cmpint(next_campaign(&farm), ==, later);
    job_free(held);
    farm_clear(&farm);
}

static void test_another_share_counts_from_then_on(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    double more = 100;
    farm_init(&farm, NULL);
    int64_t one = add(&farm, (struct campaign){.share = 1});
    int64_t two = add(&farm, (struct campaign){.share = 1});
    spend(&farm, one, 12);
    spend(&farm, two, 10);
    g_assert_true(store_share_campaign(farm.store, one, NULL, &more, NULL, &error));
    g_assert_cmpint(next_campaign(&farm), ==, two);
    spend(&farm, two, 3);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    spend(&farm, one, 90);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/admission/constraints_are_ranges_or_exact",
                    test_constraints_are_ranges_or_exact);
    g_test_add_func("/admission/unreadable_constraints_are_refused",
                    test_unreadable_constraints_are_refused);
    g_test_add_func("/admission/a_pool_is_worked_on_by_its_label_alone",
                    test_a_pool_is_worked_on_by_its_label_alone);
    g_test_add_func("/admission/refusals_say_why", test_refusals_say_why);
    g_test_add_func("/admission/priority_comes_first_then_the_share",
                    test_priority_comes_first_then_the_share);
    g_test_add_func("/admission/who_comes_later_shares_from_then_on",
                    test_who_comes_later_shares_from_then_on);
    g_test_add_func("/admission/who_waits_for_nodes_holds_nobody_back",
                    test_who_waits_for_nodes_holds_nobody_back);
    g_test_add_func("/admission/another_share_counts_from_then_on",
                    test_another_share_counts_from_then_on);
    return g_test_run();
}
