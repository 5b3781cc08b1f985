#include "coordinator/cli/when.h"
#include "coordinator/plan/progress.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/queue_farm.h"

#include <math.h>

static const struct progress_rates rates = {
    .compile_seconds = 2, .eval_seconds = 1, .measured = true};
static const struct progress_goal goal = {.configs = 20, .leader_configs = 8};

static void the_estimate_is_all_work_or_the_budget(void)
{
    static const struct {
        struct progress progress;
        double expected;
    } cases[] = {
        {{.jobs = 2}, 40},
        {{.jobs = 2, .budget_seconds = 30}, 30},
        {{.jobs = 2, .budget_seconds = 99}, 40},
        /* One config of each problem is measured even if the budget is smaller. */
        {{.jobs = 8, .budget_seconds = 1}, 16},
        {{.jobs = 2, .budget_seconds = 30, .spent_seconds = 10, .configs_done = 5}, 20},
        {{.jobs = 8, .budget_seconds = 9, .spent_seconds = 10, .configs_done = 5}, 6},
        /* Once it is spent, the jobs that are still open are those of problems without a config. */
        {{.jobs = 8, .done = 6, .budget_seconds = 9, .spent_seconds = 10, .configs_done = 1}, 4},
        {{.jobs = 2, .done = 1, .failed = 1}, 0},
        /* Two second measurements of 1 s, with 4 configs of 2 s each, on top of the work or of the budget. */
        {{.jobs = 2, .finals_left = 2, .final_seconds = 1}, 40 + 18},
        {{.jobs = 2, .budget_seconds = 30, .finals_left = 2, .final_seconds = 1}, 30 + 18},
        {{.jobs = 2, .done = 1, .configs_done = 20, .finals_left = 1, .final_seconds = 1}, 9},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpfloat(progress_estimate(&cases[i].progress, &goal, &rates, 2), ==,
                          cases[i].expected);
}

static void the_eta_follows_what_configs_took(void)
{
    struct progress p = {.jobs = 4, .done = 1, .configs_done = 4, .spent_seconds = 8};
    g_assert_cmpfloat(progress_eta(&p, &goal), ==, 32);
    p.budget_seconds = 20;
    g_assert_cmpfloat(progress_eta(&p, &goal), ==, 12);
    p.budget_seconds = 9;
    g_assert_cmpfloat(progress_eta(&p, &goal), ==, 8);
    /* Configs that are built and wait for their evaluation count as half done. */
    p.configs_open = 8;
    g_assert_cmpfloat(progress_eta(&p, &goal), ==, 1);
    p.done = 4;
    g_assert_cmpfloat(progress_eta(&p, &goal), ==, 0);
}

static void there_is_no_eta_before_the_first_config(void)
{
    struct progress p = {.jobs = 4};
    double eta = progress_eta(&p, &goal);
    g_assert_true(isnan(eta));
    g_autofree char *text = progress_text(&p, 40, eta);
    g_assert_cmpstr(text, ==, "jobs 0 of 4, kernels 0, configs 0 of 40, worked 0 s");
    g_autofree char *no_total = progress_text(&p, 0, eta);
    g_assert_cmpstr(no_total, ==, "jobs 0 of 4, kernels 0, configs 0, worked 0 s");
}

static void the_line_names_time_left_failures_and_budget(void)
{
    struct progress p = {.jobs = 4,
                         .done = 1,
                         .failed = 1,
                         .kernels_built = 17,
                         .configs_done = 10,
                         .spent_seconds = 75,
                         .budget_seconds = 600};
    g_autofree char *text = progress_text(&p, 40, 130);
    g_assert_cmpstr(text, ==,
                    "about 2 min 10 s left: jobs 2 of 4 (1 failed), kernels 17, configs 10 of "
                    "about 40, worked 1 min 15 s of 10 min");
}

static void kernels_move_before_the_first_config_is_measured(void)
{
    struct progress p = {.jobs = 4, .kernels_built = 5, .spent_seconds = 3};
    g_autofree char *text = progress_text(&p, 40, 30);
    g_assert_cmpstr(text, ==,
                    "about 30 s left: jobs 0 of 4, kernels 5, configs 0 of 40, worked 3 s");
}

static void a_spent_budget_says_that_it_is_finishing(void)
{
    struct progress p = {.jobs = 4, .done = 1, .spent_seconds = 61, .budget_seconds = 60};
    g_autofree char *text = progress_text(&p, 40, 0);
    g_assert_true(g_str_has_prefix(text, "finishing what was begun: jobs 1 of 4"));
    p.done = 3;
    p.untried_by_budget = 2;
    g_autofree char *untried = progress_text(&p, 40, 0);
    g_assert_nonnull(
        strstr(untried, "jobs 3 of 4, 2 of them ended untried by the budget, kernels"));
    p.done = 4;
    g_autofree char *over = progress_text(&p, 40, 0);
    g_assert_true(g_str_has_prefix(over, "jobs 4 of 4"));
}

static void a_build_only_campaign_counts_built_configs(void)
{
    const struct progress p = {.jobs = 4,
                               .done = 1,
                               .configs_open = 8,
                               .configs_done = 2, /* two configs that failed to build */
                               .kernels_built = 9,
                               .spent_seconds = 5,
                               .build_only = true};
    const struct progress_goal all = {.configs = 40, .leader_configs = 40};
    const struct progress_rates slow = {.compile_seconds = 2, .eval_seconds = 1000};
    g_assert_cmpfloat(progress_eta(&p, &all), ==, 15);
    g_assert_cmpfloat(progress_estimate(&p, &all, &slow, 2), ==, 30);
    g_autofree char *text = progress_text(&p, 40, 15);
    g_assert_cmpstr(text, ==,
                    "about 15 s left: jobs 1 of 4, kernels 9, configs 10 of 40 built, not "
                    "measured, worked 5 s");
}

static void durations_are_readable(void)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {0, "0 s"},      {59.4, "59 s"},   {75, "1 min 15 s"},
        {600, "10 min"}, {3600, "60 min"}, {9000, "2 h 30 min"},
        {-5, "0 s"},     {420, "7 min"},   {NAN, "an unknown time"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = when_duration(cases[i].seconds);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

static void a_campaign_that_is_slow_to_read_is_read_less_often(void)
{
    static const struct {
        double reading_seconds;
        int expected_ms;
    } cases[] = {{0.001, 1000}, {0.1, 2000}, {1.5, 30000}, {15, 60000}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(progress_pause_ms(&(struct progress){0}, cases[i].reading_seconds), ==,
                        cases[i].expected_ms);
}

static void a_deadline_bounds_the_estimate_and_is_not_slept_through(void)
{
    const struct progress_goal work = {.configs = 40, .leader_configs = 8};
    const struct progress_rates a_second = {.eval_seconds = 1};
    struct progress p = {.jobs = 2, .has_deadline = true, .deadline_seconds = 7};
    g_assert_cmpfloat(progress_estimate(&p, &work, &a_second, 1), ==, 7);
    g_autofree char *before = progress_text(&p, 40, 7);
    g_assert_nonnull(strstr(before, ", deadline in 7 s"));
    g_assert_cmpint(progress_pause_ms(&p, 15), <=, 7010);
    p.deadline_seconds = -3;
    g_assert_cmpfloat(progress_estimate(&p, &work, &a_second, 1), ==, 0);
    g_autofree char *after = progress_text(&p, 40, 0);
    g_assert_nonnull(strstr(after, ", deadline passed"));
    g_assert_cmpint(progress_pause_ms(&p, 0.001), ==, 1000);
    p.done = 2;
    g_autofree char *over = progress_text(&p, 40, 0);
    g_assert_null(strstr(over, "deadline"));
}

/* One of the two configs takes 1.5 s to evaluate, the other one is refused at once: 0.75 s a
 * config. */
static void rates_are_those_of_the_newest_measured_campaign(void)
{
    struct farm farm;
    struct progress_rates known;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 1, .configs_limit = 2});
    progress_rates_load(farm.store, "gfx90a68", &known);
    g_assert_false(known.measured);
    farm_work(&farm, 0, false, 1);
    farm_create(farm.store, &(struct order){.jobs = 1, .seed = 2, .configs_limit = 2}, NULL);
    progress_rates_load(farm.store, "gfx90a68", &known);
    g_assert_true(known.measured);
    g_assert_cmpfloat(known.eval_seconds, ==, 0.75);
    progress_rates_load(farm.store, "gfx1030_36", &known);
    g_assert_false(known.measured);
    int64_t first = farm.campaign;
    farm.campaign = farm_create(farm.store, &(struct order){.jobs = 1, .seed = 3}, NULL);
    g_assert_true(store_do(farm.store, NULL,
                           "UPDATE outcomes SET eval_seconds = '{9,9}', total_eval_seconds = 18"
                           " WHERE campaign_id = $1",
                           "l", first));
    progress_rates_load(farm.store, "gfx90a68", &known);
    g_assert_cmpfloat(known.eval_seconds, ==, 9);
    /* round 0 was taken over, so the farm's worker measures round 1 */
    farm_work(&farm, 1, false, 1);
    progress_rates_load(farm.store, "gfx90a68", &known);
    g_assert_cmpfloat(known.eval_seconds, ==, 0.75);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/progress/the_estimate_is_all_work_or_the_budget",
                    the_estimate_is_all_work_or_the_budget);
    g_test_add_func("/progress/the_eta_follows_what_configs_took",
                    the_eta_follows_what_configs_took);
    g_test_add_func("/progress/there_is_no_eta_before_the_first_config",
                    there_is_no_eta_before_the_first_config);
    g_test_add_func("/progress/the_line_names_time_left_failures_and_budget",
                    the_line_names_time_left_failures_and_budget);
    g_test_add_func("/progress/kernels_move_before_the_first_config_is_measured",
                    kernels_move_before_the_first_config_is_measured);
    g_test_add_func("/progress/a_spent_budget_says_that_it_is_finishing",
                    a_spent_budget_says_that_it_is_finishing);
    g_test_add_func("/progress/a_build_only_campaign_counts_built_configs",
                    a_build_only_campaign_counts_built_configs);
    g_test_add_func("/progress/a_campaign_that_is_slow_to_read_is_read_less_often",
                    a_campaign_that_is_slow_to_read_is_read_less_often);
    g_test_add_func("/progress/rates_are_those_of_the_newest_measured_campaign",
                    rates_are_those_of_the_newest_measured_campaign);
    g_test_add_func("/progress/a_deadline_bounds_the_estimate_and_is_not_slept_through",
                    a_deadline_bounds_the_estimate_and_is_not_slept_through);
    g_test_add_func("/progress/durations_are_readable", durations_are_readable);
    return g_test_run();
}
