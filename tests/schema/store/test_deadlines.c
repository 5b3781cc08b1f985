/* Deadlines of campaigns, and other values that can be changed later. */
#include "schema/store/store_campaigns.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/queue_farm.h"

static void set_deadline(struct farm *farm, int64_t deadline_unix)
{
    g_autoptr(GError) error = NULL;
    const struct campaign_changes changes = {.deadline_unix = &deadline_unix};
    g_assert_true(store_set_campaign(farm->store, farm->campaign, &changes, &error));
    g_assert_no_error(error);
}

static int64_t in_seconds(int seconds)
{
    return g_get_real_time() / G_USEC_PER_SEC + seconds;
}

static void nothing_is_claimed_past_a_deadline(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 3});
    struct job *building = farm_claim_one(&farm, 0, POOL_BUILD);
    set_deadline(&farm, in_seconds(-1));
    farm_expect_campaign(&farm, farm.campaign, CAMPAIGN_OVERDUE);
    /* after the deadline not even first rounds begin */
    g_assert_null(farm_claim_one(&farm, 0, POOL_BUILD));

    /* A claimed job may still be handed in; its next step is not claimable. */
    farm_built(&farm, building, 0);
    g_assert_null(farm_claim_one(&farm, 0, POOL_EVAL));
    farm_expect_job(&farm, "built", 0, FAILURE_NONE);
    job_free(building);
    farm_clear(&farm);
}

static void a_later_deadline_lets_it_go_on(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, true, 1);
    set_deadline(&farm, in_seconds(-1));
    g_assert_null(farm_claim_one(&farm, 0, POOL_BUILD));
    set_deadline(&farm, in_seconds(3600));
    farm_expect_campaign(&farm, farm.campaign, "active");
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpuint(job->rounds->len, ==, 1);
    g_assert_cmpint(job->deadline_unix, >, in_seconds(3000));
    farm_built(&farm, job, 1);
    job_free(job);

    set_deadline(&farm, in_seconds(-1));
    g_assert_null(farm_claim_one(&farm, 0, POOL_EVAL));
    set_deadline(&farm, 0);
    farm_expect_campaign(&farm, farm.campaign, "active");
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    farm_round(&farm, job, 1, false, 1);
    job_free(job);
    set_deadline(&farm, in_seconds(-1));
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

static void a_pause_and_a_deadline_are_two_things(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_change(&farm, "pause");
    set_deadline(&farm, in_seconds(-1));
    farm_expect_campaign(&farm, farm.campaign, "paused");
    farm_change(&farm, "resume");
    farm_expect_campaign(&farm, farm.campaign, CAMPAIGN_OVERDUE);
    farm_change(&farm, "pause");
    set_deadline(&farm, 0);
    farm_expect_campaign(&farm, farm.campaign, "paused");
    g_assert_null(farm_claim_one(&farm, 0, POOL_BUILD));
    farm_change(&farm, "resume");
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    job_free(job);
    farm_clear(&farm);
}

static void a_deadline_may_be_there_from_the_beginning(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct campaign *first = store_get_campaign(farm.store, farm.campaign, &error);
    struct campaign second = *first;
    struct job_plan plan = {.solver = "ConvDirectNaive",
                            .revision = 1,
                            .hash = "a",
                            .provider = "skipjack",
                            .algorithm = "Direct",
                            .multiplicity = 1};
    char identity[] = "other";
    second.identity = identity;
    second.deadline_unix = in_seconds(-1);
    farm_problem(&plan.problem, 8);
    g_assert_true(store_create_campaign(farm.store, &second, &plan, 1, NULL, NULL, &error));
    g_assert_no_error(error);
    farm_expect_campaign(&farm, second.id, CAMPAIGN_OVERDUE);
    campaign_free(first);
    farm_clear(&farm);
}

/* One of two changes is impossible: neither is made. */
static void changes_are_made_together_or_not_at_all(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1, .budget_seconds = 10});
    const double budget = 20, below_zero = -1, share = 2;
    const int priority = 7;
    const int64_t deadline = in_seconds(3600);
    g_autofree char *too_long = g_strnfill(1001, 'x');
    const struct campaign_changes bad[] = {
        {.name = "n", .budget_seconds = &below_zero},
        {.name = "", .budget_seconds = &budget},
        {.name = too_long, .budget_seconds = &budget},
        {.name = "n", .share = &below_zero, .budget_seconds = &budget},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(store_set_campaign(farm.store, farm.campaign, &bad[i], &error));
        g_assert_nonnull(error);
        g_clear_error(&error);
    }
    struct campaign *campaign = store_get_campaign(farm.store, farm.campaign, &error);
    g_assert_cmpfloat(campaign->budget_seconds, ==, 10);
    g_assert_cmpstr(campaign->name, !=, "n");
    campaign_free(campaign);

    const struct campaign_changes good = {.name = "night",
                                          .pool = "p",
                                          .priority = &priority,
                                          .share = &share,
                                          .budget_seconds = &budget,
                                          .deadline_unix = &deadline};
    g_assert_true(store_set_campaign(farm.store, farm.campaign, &good, &error));
    campaign = store_get_campaign(farm.store, farm.campaign, &error);
    g_assert_cmpstr(campaign->name, ==, "night");
    g_assert_cmpstr(campaign->pool, ==, "p");
    g_assert_cmpint(campaign->priority, ==, 7);
    g_assert_cmpfloat(campaign->share, ==, 2);
    g_assert_cmpfloat(campaign->budget_seconds, ==, 20);
    g_assert_cmpint(campaign->deadline_unix, ==, deadline);
    campaign_free(campaign);
    farm_change(&farm, "cancel");
    g_assert_false(store_set_campaign(
        farm.store, farm.campaign, &(struct campaign_changes){.deadline_unix = &deadline}, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/deadlines/nothing_is_claimed_past_a_deadline",
                    nothing_is_claimed_past_a_deadline);
    g_test_add_func("/deadlines/a_later_deadline_lets_it_go_on", a_later_deadline_lets_it_go_on);
    g_test_add_func("/deadlines/a_pause_and_a_deadline_are_two_things",
                    a_pause_and_a_deadline_are_two_things);
    g_test_add_func("/deadlines/a_deadline_may_be_there_from_the_beginning",
                    a_deadline_may_be_there_from_the_beginning);
    g_test_add_func("/deadlines/changes_are_made_together_or_not_at_all",
                    changes_are_made_together_or_not_at_all);
    return g_test_run();
}
