/* The order of claims in a campaign of limited time: prospects.sql. */
#include "schema/results/store_prospects.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "solvers/search/expected_gain.h"
#include "tests/support/farm/planned_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <math.h>
#include <string.h>

static void expect_next(struct farm *farm, int64_t channels, const char *solver)
{
    struct job *job = planned_claim(farm, POOL_BUILD);
    g_assert_nonnull(job);
    g_assert_cmpint(job->problem.c, ==, channels);
    g_assert_cmpstr(job->solver, ==, solver);
    job_free(job);
}

/* A query for a column of the only job's prospects. */
#define PROSPECT(column)                                                                           \
    "SELECT p." column " FROM skipjack.jobs j, skipjack.prospects(j.campaign_id, ARRAY[j.id]) AS p"

static void finish(struct farm *farm, struct job *job)
{
    g_autoptr(GError) error = NULL;
    store_finish_job(farm->store, job, SEARCH_SPACE_TRIED, &error);
    g_assert_no_error(error);
    job_free(job);
}

static void test_what_saves_most_for_its_time_goes_first(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 1, "ConvTest"}, {16, 1, "ConvTest"}, {24, 8, "ConvTest"}};
    planned_init(&farm, planned, 3, 1e6);
    /* 4 ms once; 4 ms once and four times as long to try; 1 ms eight times */
    planned_work(&farm, &(struct tries){.count = 2, .ms = {4.4, 4}, .seconds = 1});
    planned_work(&farm, &(struct tries){.count = 2, .ms = {4.4, 4}, .seconds = 4});
    planned_work(&farm, &(struct tries){.count = 2, .ms = {1.1, 1}, .seconds = 1});
    expect_next(&farm, 24, "ConvTest");
    expect_next(&farm, 8, "ConvTest");
    farm_clear(&farm);
}

static void test_without_a_limit_of_time_rounds_go_by_their_number(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 1, "ConvTest"}, {16, 100, "ConvTest"}};
    planned_init(&farm, planned, 2, 0);
    planned_work(&farm, &(struct tries){.count = 2, .ms = {4.4, 4}, .seconds = 1});
    planned_work(&farm, &(struct tries){.count = 2, .ms = {44, 40}, .seconds = 1});
    expect_next(&farm, 8, "ConvTest");
    expect_next(&farm, 16, "ConvTest");
    farm_clear(&farm);
}

/* The other solver's price was computed when it was the best of its problem. */
static void test_a_job_that_another_solver_left_behind_goes_back(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 4, "ConvTest"}, {8, 4, "ConvOther"}, {16, 1, "ConvTest"}};
    planned_init(&farm, planned, 3, 1e6);
    planned_work(&farm, &(struct tries){.count = 2, .ms = {10.1, 10}, .seconds = 1});
    planned_work(&farm, &(struct tries){.count = 2, .ms = {4.1, 4}, .seconds = 1});
    planned_work(&farm, &(struct tries){.count = 2, .ms = {10.1, 10.1}, .seconds = 1});
    planned_work(&farm, &(struct tries){.number = 1, .count = 3, .ms = {10.1, 1, 9}, .seconds = 1});
    double before =
        planned_number(&farm, "SELECT price FROM skipjack.bundles b JOIN skipjack.solvers s"
                              " ON s.id = b.solver_id WHERE s.name = 'ConvOther'");
    double now = planned_number(&farm, "SELECT skipjack.price_now(b) FROM skipjack.bundles b"
                                       " JOIN skipjack.solvers s ON s.id = b.solver_id"
                                       " WHERE s.name = 'ConvOther'");
    g_assert_cmpfloat(now, >, 10 * before);
    /* It is not worth its time while better rounds are under way, and it is not lost. */
    for (int i = 0; i < 2; i++) {
        struct job *job = planned_claim(&farm, POOL_BUILD);
        g_assert_nonnull(job);
        g_assert_cmpstr(job->solver, ==, "ConvTest");
        finish(&farm, job);
    }
    expect_next(&farm, 8, "ConvOther");
    farm_clear(&farm);
}

static void test_a_problem_without_a_right_config_goes_before_all(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 100, "ConvTest"}, {16, 1, "ConvTest"}};
    planned_init(&farm, planned, 2, 1e6);
    planned_work(&farm, &(struct tries){.count = 2, .ms = {100, 110}, .seconds = 1});
    planned_work(&farm, &(struct tries){.count = 2, .ms = {0, 0}, .seconds = 1});
    expect_next(&farm, 16, "ConvTest");
    farm_clear(&farm);
}

static void test_a_default_that_every_round_measures_is_one_try(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 1, "ConvTest"}};
    planned_init(&farm, planned, 1, 1e6);
    planned_work(&farm, &(struct tries){.count = 3, .ms = {2, 3, 0}, .seconds = 1});
    planned_work(&farm, &(struct tries){.number = 1, .count = 3, .ms = {2.1, 4, 5}, .seconds = 1});
    g_assert_cmpfloat(planned_number(&farm, PROSPECT("tries")), ==, 5);
    g_assert_cmpfloat(planned_number(&farm, PROSPECT("since_best")), ==, 4);
    g_assert_cmpfloat(planned_number(&farm, PROSPECT("best_ms")), >, 2.09);
    farm_clear(&farm);
}

/* The database and the search's own rule for its end say the same of the same tries. */
static void test_the_expected_gain_is_that_of_a_search(void)
{
    struct farm farm;
    const struct planned planned[] = {{8, 3, "ConvTest"}};
    const double times[] = {9, 8, 3, 7, 6, 2, 5, INFINITY, 4};
    planned_init(&farm, planned, 1, 1e6);
    planned_work(&farm, &(struct tries){.count = 5, .ms = {9, 8, 3, 7, 6}, .seconds = 1});
    planned_work(&farm,
                 &(struct tries){.number = 1, .count = 5, .ms = {9, 2, 5, 0, 4}, .seconds = 1});
    double saves = 3 * 2 * expected_gain(times, G_N_ELEMENTS(times), 4);
    g_assert_cmpfloat_with_epsilon(planned_number(&farm, PROSPECT("saves_ms")), saves, 1e-9);
    /* nine configs took ten seconds, since the default was measured twice */
    g_assert_cmpfloat_with_epsilon(planned_number(&farm, "SELECT price FROM skipjack.bundles"),
                                   40 / 9.0 / saves, 1e-9);
    farm_clear(&farm);
}

static void test_where_the_time_went_is_told_by_problem(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    const struct planned planned[] = {{8, 4, "ConvTest"}, {8, 4, "ConvOther"}, {16, 1, "ConvTest"}};
    const struct problem_part all = PROBLEM_PART_ALL;
    planned_init(&farm, planned, 3, 1e6);
    planned_work(&farm, &(struct tries){.count = 2, .ms = {10, 11}, .seconds = 1});
    g_autoptr(GPtrArray) begun = store_list_part_times(farm.store, farm.campaign, &all, &error);
    g_assert_no_error(error);
    const struct problem_time *untried = begun->pdata[1];
    g_assert_true(isnan(untried->best_ms) && untried->tries == 0 && !untried->next_solver);
    planned_work(&farm, &(struct tries){.count = 1, .ms = {1}, .seconds = 2});
    planned_work(&farm, &(struct tries){.count = 2, .ms = {12, 0}, .seconds = 1});
    planned_work(&farm, &(struct tries){.number = 1, .count = 3, .ms = {10, 5, 7}, .seconds = 1});
    g_autoptr(GPtrArray) times = store_list_part_times(farm.store, farm.campaign, &all, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(times->len, ==, 2);
    const struct problem_time *first = times->pdata[0];
    g_assert_cmpint(first->problem.c, ==, 8);
    g_assert_cmpint(first->multiplicity, ==, 4);
    g_assert_cmpint(first->jobs, ==, 2);
    g_assert_cmpint(first->tries, ==, 6);
    g_assert_cmpfloat(first->seconds, ==, 7);
    g_assert_cmpfloat_with_epsilon(first->first_ms, 10, 1e-9);
    g_assert_cmpfloat_with_epsilon(first->best_ms, 5, 1e-9);
    g_assert_cmpstr(first->next_solver, ==, "ConvTest");
    g_assert_cmpfloat(first->next_saves_ms, >, 0);
    g_assert_cmpfloat(first->next_seconds, ==, 5);
    farm_clear(&farm);
}

/* Three jobs wait for their second round. A round takes as long to build as `rounds` take to evaluate. */
static void begin_three(struct farm *farm, int rounds)
{
    const struct planned planned[] = {{8, 1, "ConvTest"}, {16, 1, "ConvTest"}, {24, 1, "ConvTest"}};
    planned_init(farm, planned, 3, 1e6);
    for (int i = 0; i < 3; i++)
        planned_work(farm, &(struct tries){
                               .count = 2, .ms = {4.4, 4}, .seconds = 1, .build_seconds = rounds});
}

static void test_rounds_are_built_ahead_as_many_as_the_devices_take(void)
{
    struct farm farm;
    begin_three(&farm, 0);
    struct job *first = planned_claim(&farm, POOL_BUILD);
    expect_next(&farm, 16, "ConvTest");
    g_assert_null(planned_claim(&farm, POOL_BUILD));
    finish(&farm, first);
    expect_next(&farm, 24, "ConvTest");
    farm_clear(&farm);
}

static void test_slow_builds_have_more_rounds_built_ahead(void)
{
    struct farm farm;
    begin_three(&farm, 1);
    expect_next(&farm, 8, "ConvTest");
    expect_next(&farm, 16, "ConvTest");
    expect_next(&farm, 24, "ConvTest");
    farm_clear(&farm);
}

static void test_a_budget_set_later_orders_what_waits(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    const struct planned planned[] = {{8, 1, "ConvTest"}, {16, 100, "ConvTest"}};
    planned_init(&farm, planned, 2, 0);
    planned_work(&farm, &(struct tries){.count = 2, .ms = {4.4, 4}, .seconds = 1});
    planned_work(&farm, &(struct tries){.count = 2, .ms = {44, 40}, .seconds = 1});
    g_assert_true(store_do(farm.store, &error, "SELECT skipjack.extend_campaign($1, 1e6)", "l",
                           farm.campaign));
    g_assert_no_error(error);
    expect_next(&farm, 16, "ConvTest");
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prospects/what_saves_most_for_its_time_goes_first",
                    test_what_saves_most_for_its_time_goes_first);
    g_test_add_func("/prospects/without_a_limit_of_time_rounds_go_by_their_number",
                    test_without_a_limit_of_time_rounds_go_by_their_number);
    g_test_add_func("/prospects/a_job_that_another_solver_left_behind_goes_back",
                    test_a_job_that_another_solver_left_behind_goes_back);
    g_test_add_func("/prospects/a_problem_without_a_right_config_goes_before_all",
                    test_a_problem_without_a_right_config_goes_before_all);
    g_test_add_func("/prospects/a_default_that_every_round_measures_is_one_try",
                    test_a_default_that_every_round_measures_is_one_try);
    g_test_add_func("/prospects/the_expected_gain_is_that_of_a_search",
                    test_the_expected_gain_is_that_of_a_search);
    g_test_add_func("/prospects/where_the_time_went_is_told_by_problem",
                    test_where_the_time_went_is_told_by_problem);
    g_test_add_func("/prospects/rounds_are_built_ahead_as_many_as_the_devices_take",
                    test_rounds_are_built_ahead_as_many_as_the_devices_take);
    g_test_add_func("/prospects/slow_builds_have_more_rounds_built_ahead",
                    test_slow_builds_have_more_rounds_built_ahead);
    g_test_add_func("/prospects/a_budget_set_later_orders_what_waits",
                    test_a_budget_set_later_orders_what_waits);
    return g_test_run();
}
