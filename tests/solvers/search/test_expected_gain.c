/* The worth of more tries, against draws from distributions whose gain is known. */
#include "solvers/search/expected_gain.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>

static void too_few_times_say_nothing(void)
{
    double times[] = {1, 2, 3, 4, 5, 6, 7, INFINITY, INFINITY, 8};
    g_assert_cmpfloat(expected_gain(times, 0, 16), ==, 1);
    g_assert_cmpfloat(expected_gain(times, 9, 16), ==, 1);
    g_assert_cmpfloat(expected_gain(times, 10, 16), <, 1);
}

static void equal_times_promise_nothing(void)
{
    double times[12];
    for (int i = 0; i < 12; i++)
        times[i] = 3;
    g_assert_cmpfloat(expected_gain(times, 12, 16), ==, 0);
}

/* Four distances of ln 2, ln 4, ln 8 and ln 16 have the mean 2.5 ln 2. */
static void the_formula_holds(void)
{
    double times[] = {16, 8, 4, 2, 1, 32, 64, 128};
    double size = 1 - exp2(-2.5);
    g_assert_cmpfloat_with_epsilon(expected_gain(times, 8, 4), 4 / (3 + 4 + 1.0) * size, 1e-12);
    double later[] = {1, 16, 8, 4, 2, 32, 64, 128};
    g_assert_cmpfloat_with_epsilon(expected_gain(later, 8, 4), 4 / (7 + 4 + 1.0) * size, 1e-12);
}

/* A search that has found one good config tries others like it. Their close times do not hide that the rest is far away. */
static void a_cluster_at_the_best_is_no_end(void)
{
    double times[20];
    for (int i = 0; i < 20; i++)
        times[i] = i < 6 ? 1 + 0.001 * i : 2 + i;
    g_assert_cmpfloat(expected_gain(times, 20, 16), >, 0.2);
}

/* Times whose logarithm has an exponential lower tail of mean 0.1, down to no bound: after n draws the next m gain
 * 0.1 ln(1 + m / n) in the logarithm, on average. The rule may promise more, but not less than half of it. */
static void draws_gain_what_is_expected(void)
{
    enum { DRAWS = 60, MORE = 16, RUNS = 400 };
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    double promised = 0, gained = 0;
    for (int run = 0; run < RUNS; run++) {
        double times[DRAWS + MORE], best = INFINITY, after;
        for (int i = 0; i < DRAWS + MORE; i++)
            times[i] = exp(0.1 * log(1 - g_rand_double(rand)));
        for (int i = 0; i < DRAWS; i++)
            best = fmin(best, times[i]);
        after = best;
        for (int i = DRAWS; i < DRAWS + MORE; i++)
            after = fmin(after, times[i]);
        promised += expected_gain(times, DRAWS, MORE) / RUNS;
        gained += (1 - after / best) / RUNS;
    }
    g_test_message("promised %.4f, gained %.4f", promised, gained);
    g_assert_cmpfloat(promised, >, 0.5 * gained);
    g_assert_cmpfloat(promised, <, 3 * gained);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/expected_gain/too_few_times_say_nothing", too_few_times_say_nothing);
    g_test_add_func("/expected_gain/equal_times_promise_nothing", equal_times_promise_nothing);
    g_test_add_func("/expected_gain/the_formula_holds", the_formula_holds);
    g_test_add_func("/expected_gain/a_cluster_at_the_best_is_no_end",
                    a_cluster_at_the_best_is_no_end);
    g_test_add_func("/expected_gain/draws_gain_what_is_expected", draws_gain_what_is_expected);
    return g_test_run();
}
