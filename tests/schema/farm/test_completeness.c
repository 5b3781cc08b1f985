#include "schema/farm/completeness.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/queue_farm.h"

#include <string.h>

static void look(const struct farm *farm, const char *network, const char *tag,
                 struct completeness *completeness)
{
    g_autoptr(GError) error = NULL;
    struct campaign *campaign = store_get_campaign(farm->store, farm->campaign, &error);
    g_assert_true(store_completeness(farm->store, campaign, network, tag, completeness, &error));
    g_assert_no_error(error);
    campaign_free(campaign);
}

static void expect(const struct farm *farm, int ended, int without_winner)
{
    struct completeness found;
    look(farm, NULL, NULL, &found);
    g_assert_cmpint(found.jobs, ==, 3);
    g_assert_cmpint(found.ended, ==, ended);
    g_assert_cmpint(found.without_winner, ==, without_winner);
    g_assert_cmpuint(found.problems->len, ==, (guint)without_winner);
    g_assert_true(completeness_is_whole(&found) == (ended == 3 && without_winner == 0));
    completeness_clear(&found);
}

static void jobs_and_winners_are_counted(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 3});
    expect(&farm, 0, 3);
    farm_work(&farm, 0, true, 1); /* a job with a winner and rounds to come */
    expect(&farm, 0, 2);
    farm_work(&farm, 0, false, 1);
    expect(&farm, 1, 1);
    farm_clear(&farm);
}

/* A problem that no solver serves has no job, only an event. */
static void problems_without_a_solver_have_no_winner(void)
{
    struct farm farm;
    struct completeness found;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    g_assert_true(store_event(farm.store, EVENT_NO_SOLVER, farm.campaign, 0, 0, "a-key", &error));
    look(&farm, NULL, NULL, &found);
    g_assert_cmpint(found.ended, ==, 1);
    g_assert_cmpint(found.without_winner, ==, 1);
    g_assert_cmpstr(found.problems->pdata[0], ==, "a-key");
    g_autofree char *text = completeness_text(&found, 7);
    g_assert_cmpstr(text, ==,
                    "campaign 7 is not complete: 1 of its 1 jobs have ended, 1 problem has no "
                    "winner (a-key)");
    completeness_clear(&found);
    /* A problem that does not have the tag does not make the tag incomplete. */
    g_assert_true(store_do(farm.store, &error,
                           "INSERT INTO problem_tags (problem_id, tag)"
                           " SELECT problem_id, 'mine' FROM jobs",
                           ""));
    g_assert_no_error(error);
    look(&farm, NULL, "mine", &found);
    g_assert_cmpint(found.jobs, ==, 1);
    g_assert_true(completeness_is_whole(&found));
    completeness_clear(&found);
    look(&farm, NULL, "other", &found);
    g_assert_cmpint(found.jobs, ==, 0);
    completeness_clear(&found);
    farm_clear(&farm);
}

static void what_is_only_built_is_complete_when_built(void)
{
    struct farm farm;
    struct completeness found;
    farm_init(&farm, &(struct order){.jobs = 2, .build_only = true});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    look(&farm, NULL, NULL, &found);
    g_assert_cmpint(found.ended, ==, 1);
    g_assert_cmpint(found.without_winner, ==, 1);
    completeness_clear(&found);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/completeness/jobs_and_winners_are_counted", jobs_and_winners_are_counted);
    g_test_add_func("/completeness/problems_without_a_solver_have_no_winner",
                    problems_without_a_solver_have_no_winner);
    g_test_add_func("/completeness/build_only_campaign_is_complete_when_built",
                    what_is_only_built_is_complete_when_built);
    return g_test_run();
}
