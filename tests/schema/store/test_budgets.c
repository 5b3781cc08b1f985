/* A campaign whose budget is spent: budgets.sql. */
#include "schema/farm/farm.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/planned_farm.h"

#include <locale.h>
#include <string.h>

#define SPENT_AT_ONCE 10 /* the budget of most campaigns here, in seconds */

static const char *const only_test[] = {"ConvTest:1:h1", NULL};
static const char *const only_other[] = {"ConvOther:1:h1", NULL};
static const struct planned two_by_two[] = {
    {8, 1, "ConvTest"}, {8, 1, "ConvOther"}, {16, 1, "ConvTest"}, {16, 1, "ConvOther"}};

static void run(struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(store_do(farm->store, &error, sql, ""));
    g_assert_no_error(error);
}

static void spend(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(store_add_spent(farm->store, farm->campaign, 2 * SPENT_AT_ONCE, &error));
    g_assert_no_error(error);
}

/* Asserts that each job has ended or is in one bundle, and how many of the ended ones the budget ended untried. */
static void expect_untried(struct farm *farm, int untried)
{
    g_assert_cmpfloat(
        planned_number(farm, "SELECT count(*) FROM job_ends WHERE state = 'done' AND by_budget"
                             " AND rounds = 0 AND failure = 0"),
        ==, untried);
    g_assert_cmpfloat(
        planned_number(farm, "SELECT count(*) FROM jobs j WHERE 1 <>"
                             " (SELECT count(*) FROM job_ends e WHERE e.job_id = j.id)"
                             " + (SELECT count(*) FROM bundles b WHERE j.id = ANY (b.job_ids)"
                             "    AND NOT b.remeasures)"),
        ==, 0);
}

static struct job *expect_claim(struct farm *farm, enum pool pool, int64_t channels,
                                const char *solver)
{
    struct job *job = planned_claim(farm, pool);
    g_assert_nonnull(job);
    g_assert_cmpint(job->problem.c, ==, channels);
    g_assert_cmpstr(job->solver, ==, solver);
    return job;
}

static void expect_done(struct farm *farm)
{
    g_assert_null(planned_claim(farm, POOL_BUILD));
    farm_expect_campaign(farm, farm->campaign, "done");
}

static void test_each_problem_gets_a_config_and_no_more(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct progress progress;
    planned_init(&farm, two_by_two, 4, SPENT_AT_ONCE);
    planned_work(&farm, &(struct tries){.count = 2, .ms = {4.4, 4}, .seconds = 6});
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 1});
    expect_done(&farm);
    expect_untried(&farm, 2);
    g_assert_true(store_progress(farm.store, farm.campaign, &progress, &error));
    g_assert_cmpint(progress.done, ==, 4);
    g_assert_cmpint(progress.ended_by_budget, ==, 4);
    g_assert_cmpint(progress.untried_by_budget, ==, 2);
    g_assert_true(store_set_campaign(farm.store, farm.campaign,
                                     &(struct campaign_changes){.budget_seconds = &(double){1e6}},
                                     &error));
    g_assert_cmpfloat(planned_number(&farm, "SELECT count(*) FROM job_ends"), ==, 0);
    job_free(expect_claim(&farm, POOL_BUILD, 8, "ConvOther"));
    farm_clear(&farm);
}

static void test_every_problem_is_led_before_any_has_a_second_job(void)
{
    struct farm farm;
    planned_init(&farm, two_by_two, 4, 0);
    job_free(expect_claim(&farm, POOL_BUILD, 8, "ConvTest"));
    job_free(expect_claim(&farm, POOL_BUILD, 16, "ConvTest"));
    job_free(expect_claim(&farm, POOL_BUILD, 8, "ConvOther"));
    job_free(expect_claim(&farm, POOL_BUILD, 16, "ConvOther"));
    farm_clear(&farm);
}

static void test_a_leader_that_fails_hands_over(void)
{
    struct farm farm;
    planned_init(&farm, two_by_two, 4, SPENT_AT_ONCE);
    spend(&farm);
    g_assert_cmpint(planned_work(&farm, &(struct tries){.count = 1, .seconds = 1}), ==, 8);
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 1});
    struct job *next = expect_claim(&farm, POOL_BUILD, 8, "ConvOther");
    g_assert_true(next->budget_spent);
    g_autoptr(GError) error = NULL;
    store_fail_job(farm.store, next, FAILURE_COMPILE_ERROR, "no", &error);
    g_assert_no_error(error);
    job_free(next);
    expect_done(&farm);
    expect_untried(&farm, 1);
    g_assert_cmpfloat(planned_number(&farm, "SELECT count(*) FROM job_ends WHERE state = 'failed'"),
                      ==, 2);
    farm_clear(&farm);
}

static void test_a_leader_that_loses_three_workers_hands_over(void)
{
    struct farm farm;
    planned_init(&farm, two_by_two, 2, SPENT_AT_ONCE);
    spend(&farm);
    for (int strikes = 0; strikes < 3; strikes++) {
        job_free(expect_claim(&farm, POOL_BUILD, 8, "ConvTest"));
        run(&farm, "SELECT lose_bundle(b) FROM bundles b WHERE b.worker_id IS NOT NULL");
    }
    struct job *next = expect_claim(&farm, POOL_BUILD, 8, "ConvOther");
    expect_untried(&farm, 0);
    job_free(next);
    farm_clear(&farm);
}

/* A second measurement may refute the only config of a problem, and two leaders may fail without seeing each other. */
static void test_a_problem_that_lost_its_config_gets_another(void)
{
    struct farm farm;
    planned_init(&farm, two_by_two, 2, SPENT_AT_ONCE);
    spend(&farm);
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 1});
    expect_done(&farm);
    run(&farm, "DELETE FROM results");
    run(&farm, "UPDATE job_ends SET state = 'failed', failure = 4 WHERE rounds = 1");
    run(&farm, "UPDATE campaigns SET state = 'active'");
    run(&farm, "SELECT settle_campaign(c.id, 0) FROM campaigns c");
    farm_expect_campaign(&farm, farm.campaign, "active");
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 1});
    expect_done(&farm);
    expect_untried(&farm, 0);
    farm_clear(&farm);
}

static void test_a_job_that_no_worker_can_do_leads_nothing(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 1, "ConvOther"}, {8, 1, "ConvTest"}};
    planned_init(&farm, planned, 2, SPENT_AT_ONCE);
    spend(&farm);
    run(&farm, "UPDATE workers SET carried = '{ConvTest:1:h1}'");
    struct job *job = planned_claim_of(&farm, POOL_BUILD, only_test);
    g_assert_nonnull(job);
    g_assert_cmpstr(job->solver, ==, "ConvTest");
    g_autoptr(GError) error = NULL;
    struct tries measured = {.count = 1, .ms = {4}, .seconds = 1};
    struct round *round = planned_round(&measured);
    store_built(farm.store, job, round, &error);
    g_assert_no_error(error);
    job_free(job);
    job = planned_claim_of(&farm, POOL_EVAL, only_test);
    planned_hand_in(&farm, job, round, &measured);
    round_free(round);
    job_free(job);
    g_assert_null(planned_claim_of(&farm, POOL_BUILD, only_test));
    farm_expect_campaign(&farm, farm.campaign, "done");
    expect_untried(&farm, 1);
    farm_clear(&farm);
}

static void test_a_job_that_another_worker_can_do_leads(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 1, "ConvOther"}, {8, 1, "ConvTest"}};
    planned_init(&farm, planned, 2, SPENT_AT_ONCE);
    spend(&farm);
    run(&farm, "UPDATE workers SET carried = CASE WHEN id = (SELECT max(id) FROM workers)"
               " THEN '{ConvOther:1:h1}'::text[] ELSE '{ConvTest:1:h1}' END");
    g_assert_null(planned_claim_of(&farm, POOL_BUILD, only_test));
    expect_untried(&farm, 1);
    g_autoptr(GError) error = NULL;
    struct farm_state *state = farm_read(farm.store, &error);
    g_assert_no_error(error);
    g_assert_cmpint(((const struct farm_campaign *)state->campaigns->pdata[0])->untried, ==, 1);
    farm_free(state);
    job_free(expect_claim(&farm, POOL_BUILD, 8, "ConvOther"));
    farm_clear(&farm);
}

/* The job that nobody can do stays open, and must not keep the problem from the next job that somebody can do. */
static void test_a_leader_that_fails_hands_over_past_a_job_that_no_worker_can_do(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 1, "ConvGone"}, {8, 1, "ConvTest"}, {8, 1, "ConvOther"}};
    planned_init(&farm, planned, 3, SPENT_AT_ONCE);
    spend(&farm);
    run(&farm, "UPDATE workers SET carried = '{ConvTest:1:h1,ConvOther:1:h1}'");
    struct job *leader = expect_claim(&farm, POOL_BUILD, 8, "ConvTest");
    g_assert_null(planned_claim(&farm, POOL_BUILD));
    expect_untried(&farm, 1);
    g_autoptr(GError) error = NULL;
    store_fail_job(farm.store, leader, FAILURE_COMPILE_ERROR, "no", &error);
    g_assert_no_error(error);
    job_free(leader);
    job_free(expect_claim(&farm, POOL_BUILD, 8, "ConvOther"));
    farm_clear(&farm);
}

static void test_a_leader_whose_workers_are_gone_hands_over(void)
{
    struct farm farm;
    planned_init(&farm, two_by_two, 2, SPENT_AT_ONCE);
    spend(&farm);
    run(&farm, "UPDATE workers SET carried = CASE WHEN id = (SELECT max(id) FROM workers)"
               " THEN '{ConvTest:1:h1}'::text[] ELSE '{ConvOther:1:h1}' END");
    g_assert_null(planned_claim_of(&farm, POOL_BUILD, only_other));
    expect_untried(&farm, 1);
    run(&farm, "UPDATE workers SET ended_at = now() WHERE id = (SELECT max(id) FROM workers)");
    g_assert_null(planned_claim_of(&farm, POOL_BUILD, only_other));
    expect_untried(&farm, 0);
    struct job *job = planned_claim_of(&farm, POOL_BUILD, only_other);
    g_assert_nonnull(job);
    job_free(job);
    farm_clear(&farm);
}

/* A claim reads the campaign first. The budget may grow before the claim comes to the jobs. */
static void test_a_claim_that_knows_an_old_budget_ends_nothing(void)
{
    struct farm farm;
    planned_init(&farm, two_by_two, 2, 1e6);
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 2 * SPENT_AT_ONCE});
    run(&farm, "UPDATE bundles SET round_no = 1, price = 1");
    run(&farm,
        "CREATE FUNCTION pg_temp.known() RETURNS campaigns LANGUAGE sql"
        " AS $$SELECT jsonb_populate_record(c, '{\"budget_seconds\": 10}') FROM campaigns c$$");
    run(&farm, "SELECT end_later_rounds(pg_temp.known())");
    run(&farm, "SELECT end_unclaimed_jobs(pg_temp.known(), ARRAY(SELECT id FROM solvers))");
    g_assert_cmpfloat(planned_number(&farm, "SELECT count(*) FROM job_ends WHERE by_budget"), ==,
                      0);
    run(&farm, "UPDATE campaigns SET budget_seconds = 10");
    run(&farm, "SELECT end_later_rounds(pg_temp.known())");
    g_assert_cmpfloat(planned_number(&farm, "SELECT count(*) FROM job_ends WHERE by_budget"), ==,
                      2);
    farm_clear(&farm);
}

/* A worker hands in what it held when the budget was spent; the round is evaluated only if it is needed. */
static void test_a_round_that_is_not_needed_any_more_is_not_evaluated(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct tries measured = {.count = 1, .ms = {4}, .seconds = 20};
    planned_init(&farm, two_by_two, 2, SPENT_AT_ONCE);
    struct job *leader = expect_claim(&farm, POOL_BUILD, 8, "ConvTest");
    struct job *other = expect_claim(&farm, POOL_BUILD, 8, "ConvOther");
    struct round *round = planned_round(&measured);
    store_built(farm.store, leader, round, &error);
    g_assert_no_error(error);
    job_free(leader);
    leader = expect_claim(&farm, POOL_EVAL, 8, "ConvTest");
    planned_hand_in(&farm, leader, round, &measured);
    struct round *needless = planned_round(&measured);
    store_built(farm.store, other, needless, &error);
    g_assert_no_error(error);
    g_assert_null(planned_claim(&farm, POOL_EVAL));
    expect_done(&farm);
    expect_untried(&farm, 1);
    g_assert_cmpfloat(planned_number(&farm, "SELECT count(*) FROM rounds"), ==, 1);
    round_free(round);
    round_free(needless);
    job_free(leader);
    job_free(other);
    farm_clear(&farm);
}

static void test_no_more_is_built_than_the_budget_pays_for(void)
{
    struct farm farm;
    const struct planned planned[] = {
        {8, 1, "ConvTest"}, {16, 1, "ConvTest"}, {24, 1, "ConvTest"}, {32, 1, "ConvTest"}};
    planned_init(&farm, planned, 4, SPENT_AT_ONCE);
    run(&farm,
        "INSERT INTO worker_devices (worker_id, place, device, name, target, uuid, address, partition)"
        " SELECT min(id), 0, 'gpu0', 'a GPU', 'gfx90a68', '', '', '' FROM workers");
    /* how long a round takes is not known */
    job_free(expect_claim(&farm, POOL_BUILD, 8, "ConvTest"));
    job_free(expect_claim(&farm, POOL_BUILD, 16, "ConvTest"));
    g_assert_null(planned_claim(&farm, POOL_BUILD));
    farm_clear(&farm);

    planned_init(&farm, planned, 4, 3);
    for (int i = 1; i <= 3; i++)
        job_free(expect_claim(&farm, POOL_BUILD, 8 * i, "ConvTest"));
    g_assert_null(planned_claim(&farm, POOL_BUILD));
    farm_clear(&farm);

    planned_init(&farm, planned, 4, SPENT_AT_ONCE);
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 6});
    struct job *job = expect_claim(&farm, POOL_BUILD, 16, "ConvTest");
    g_assert_false(job->budget_spent);
    job_free(job);
    g_assert_null(planned_claim(&farm, POOL_BUILD));
    farm_clear(&farm);
}

static void test_winners_are_measured_a_second_time(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    planned_init(&farm, two_by_two, 4, SPENT_AT_ONCE);
    g_assert_true(store_set_campaign(farm.store, farm.campaign,
                                     &(struct campaign_changes){.final_seconds = &(double){1}},
                                     &error));
    spend(&farm);
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 1});
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 1});
    g_assert_null(planned_claim(&farm, POOL_BUILD));
    expect_untried(&farm, 2);
    g_assert_cmpfloat(planned_number(&farm, "SELECT count(*) FROM finals WHERE state = 'asked'"),
                      ==, 2);
    farm_clear(&farm);
}

static void test_a_job_that_never_began_is_no_answer_to_another_campaign(void)
{
    struct farm farm;
    planned_init(&farm, two_by_two, 2, SPENT_AT_ONCE);
    spend(&farm);
    planned_work(&farm, &(struct tries){.count = 1, .ms = {4}, .seconds = 1});
    expect_done(&farm);
    g_assert_cmpfloat(planned_number(&farm,
                                     "SELECT count(*) FROM campaigns o, campaigns c, job_ends e,"
                                     " answers_of(c, o, ARRAY[e.job_id]) WHERE e.rounds = 0"),
                      ==, 0);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/budgets/each_problem_gets_a_config_and_no_more",
                    test_each_problem_gets_a_config_and_no_more);
    g_test_add_func("/budgets/every_problem_is_led_before_any_has_a_second_job",
                    test_every_problem_is_led_before_any_has_a_second_job);
    g_test_add_func("/budgets/a_leader_that_fails_hands_over", test_a_leader_that_fails_hands_over);
    g_test_add_func("/budgets/a_leader_that_loses_three_workers_hands_over",
                    test_a_leader_that_loses_three_workers_hands_over);
    g_test_add_func("/budgets/a_problem_that_lost_its_config_gets_another",
                    test_a_problem_that_lost_its_config_gets_another);
    g_test_add_func("/budgets/a_job_that_no_worker_can_do_leads_nothing",
                    test_a_job_that_no_worker_can_do_leads_nothing);
    g_test_add_func("/budgets/a_job_that_another_worker_can_do_leads",
                    test_a_job_that_another_worker_can_do_leads);
    g_test_add_func("/budgets/a_leader_that_fails_hands_over_past_a_job_that_no_worker_can_do",
                    test_a_leader_that_fails_hands_over_past_a_job_that_no_worker_can_do);
    g_test_add_func("/budgets/a_leader_whose_workers_are_gone_hands_over",
                    test_a_leader_whose_workers_are_gone_hands_over);
    g_test_add_func("/budgets/a_claim_that_knows_an_old_budget_ends_nothing",
                    test_a_claim_that_knows_an_old_budget_ends_nothing);
    g_test_add_func("/budgets/a_round_that_is_not_needed_any_more_is_not_evaluated",
                    test_a_round_that_is_not_needed_any_more_is_not_evaluated);
    g_test_add_func("/budgets/no_more_is_built_than_the_budget_pays_for",
                    test_no_more_is_built_than_the_budget_pays_for);
    g_test_add_func("/budgets/winners_are_measured_a_second_time",
                    test_winners_are_measured_a_second_time);
    g_test_add_func("/budgets/a_job_that_never_began_is_no_answer_to_another_campaign",
                    test_a_job_that_never_began_is_no_answer_to_another_campaign);
    return g_test_run();
}
