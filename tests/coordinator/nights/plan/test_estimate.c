/* Estimates of a night's jobs: by the rates of their solver, of the target, or by a guess. */
#include "coordinator/nights/plan/estimate.h"

#include "tests/support/farm/queue_farm.h"

#include <locale.h>

#define JOBS 5

static void without_campaigns_it_is_a_guess(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, NULL);
    g_autoptr(Estimator) estimator = estimator_new(farm.store, "gfx90a68", &error);
    g_assert_no_error(error);
    struct night_estimate job = estimator_ask(estimator, "ConvTest", NIGHT_ACTION_TUNE, 8, 0, 4);
    g_assert_cmpint(job.by[ESTIMATE_BY_GUESS], ==, 1);
    g_assert_cmpint(job.configs, ==, 8);
    g_assert_cmpfloat(job.eval_seconds, >, 0);
    g_assert_cmpfloat(job.compile_seconds, >, 0);
    farm_clear(&farm);
}

static void rates_are_those_of_the_targets_campaigns(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    const struct order order = {.jobs = JOBS, .configs_limit = 2};
    farm_init(&farm, &order);
    for (int i = 0; i < JOBS; i++) /* a round of two configs, of which one takes 1.5 s to measure */
        farm_work(&farm, 0, false, 10);
    g_autoptr(Estimator) here = estimator_new(farm.store, "gfx90a68", &error);
    g_assert_no_error(error);
    struct night_estimate own = estimator_ask(here, "ConvTest", NIGHT_ACTION_TUNE, 8, 0, 4);
    g_assert_cmpint(own.by[ESTIMATE_BY_SOLVER], ==, 1);
    /* 8 configs in two rounds, and the default once more: 9 evaluations of 0.75 s in the mean */
    g_assert_cmpfloat_with_epsilon(own.eval_seconds, 6.75, 0.01);
    struct night_estimate other = estimator_ask(here, "ConvOther", NIGHT_ACTION_TUNE, 8, 0, 4);
    g_assert_cmpint(other.by[ESTIMATE_BY_TARGET], ==, 1);
    g_assert_cmpfloat_with_epsilon(other.eval_seconds, 6.75, 0.01);
    g_autoptr(Estimator) elsewhere = estimator_new(farm.store, "gfx942_38", &error);
    g_assert_no_error(error);
    own = estimator_ask(elsewhere, "ConvTest", NIGHT_ACTION_TUNE, 8, 0, 4);
    g_assert_cmpint(own.by[ESTIMATE_BY_GUESS], ==, 1);
    farm_clear(&farm);
}

static void measuring_again_compiles_nothing(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, NULL);
    g_autoptr(Estimator) estimator = estimator_new(farm.store, "gfx90a68", &error);
    struct night_estimate again =
        estimator_ask(estimator, "ConvTest", NIGHT_ACTION_AGAIN, 1000, 0, 4);
    struct night_estimate one = estimator_ask(estimator, "ConvTest", NIGHT_ACTION_AGAIN, 1, 0, 4);
    g_assert_cmpfloat(again.compile_seconds, ==, 0);
    g_assert_cmpint(again.configs, ==, 4);
    g_assert_cmpint(one.configs, ==, 1);
    struct night_estimate sum = {0};
    night_estimate_add(&sum, &again);
    night_estimate_add(&sum, &one);
    g_assert_cmpint(sum.jobs, ==, 2);
    g_assert_cmpint(sum.configs, ==, 5);
    g_assert_cmpint(sum.by[ESTIMATE_BY_GUESS], ==, 2);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/estimate/without_campaigns_it_is_a_guess", without_campaigns_it_is_a_guess);
    g_test_add_func("/estimate/rates_are_those_of_the_targets_campaigns",
                    rates_are_those_of_the_targets_campaigns);
    g_test_add_func("/estimate/measuring_again_compiles_nothing", measuring_again_compiles_nothing);
    return g_test_run();
}
