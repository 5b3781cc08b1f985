/* Properties of every strategy, over a made-up space. */
#include "solvers/search/searcher.h"

#include "tests/support/made_space.h"
#include "tests/support/test_effort.h"

#include <math.h>
#include <string.h>

static const struct perf_config usual = {3, {1, 1, 1}};
static const struct perf_config priors[] = {
    {3, {8, 4, 8}}, {3, {9, 9, 9}}, {2, {1, 1}}, {3, {2, 2, 2}}, {3, {3, 3, 3}}};

static double failing(const struct perf_config *config)
{
    (void)config;
    return INFINITY;
}

static struct searcher_setup setup_of(enum strategy_id strategy, uint64_t seed)
{
    return (struct searcher_setup){.space = &made_space,
                                   .strategy = strategy,
                                   .seed = seed,
                                   .first = &usual,
                                   .prior = priors,
                                   .prior_count = G_N_ELEMENTS(priors)};
}

/* Runs to the end. Each config must be new, and valid. Returns the number of tries. */
static int run_whole(const struct searcher_setup *setup, int batch,
                     double (*time)(const struct perf_config *))
{
    g_autoptr(Searcher) searcher = searcher_new(setup);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(config_hash, config_equal, g_free, NULL);
    g_autofree struct perf_config *configs = g_new(struct perf_config, batch);
    int count;
    while ((count = searcher_propose(searcher, batch, configs)) > 0)
        for (int i = 0; i < count; i++) {
            g_assert_true(made_space.contains(&made_space, &configs[i]));
            g_assert_true(g_hash_table_add(seen, g_memdup2(&configs[i], sizeof configs[i])));
            made_observe(searcher, &configs[i], time(&configs[i]));
        }
    g_assert_cmpint(searcher_end(searcher, batch), !=, SEARCH_GOES_ON);
    return (int)g_hash_table_size(seen);
}

/* In large batches: a model that is fitted again after every few tries of a whole space takes seconds. */
static void every_strategy_tries_each_config_once(void)
{
    static const int batches[] = {16, 25, 40};
    for (int s = 0; s < STRATEGY_COUNT; s++)
        for (uint64_t seed = 0; seed < G_N_ELEMENTS(batches); seed++) {
            if (test_is_sanitized() && !test_is_turn((int)seed, G_N_ELEMENTS(batches)))
                continue;
            struct searcher_setup setup = setup_of((enum strategy_id)s, seed);
            g_assert_cmpint(run_whole(&setup, batches[seed], made_time), ==, made_space_count());
        }
}

static void every_strategy_outlives_failures_of_all_configs(void)
{
    for (int s = 0; s < STRATEGY_COUNT; s++) {
        struct searcher_setup setup = setup_of((enum strategy_id)s, 7);
        g_assert_cmpint(run_whole(&setup, 4, failing), ==, made_space_count());
    }
}

/* A searcher that observes the same tries in the same order proposes the same, after every single
 * try. */
static void every_strategy_goes_on_in_another_process(void)
{
    enum { ROUNDS = 12 };
    for (int s = 0; s < STRATEGY_COUNT; s++) {
        struct searcher_setup setup = setup_of((enum strategy_id)s, 11);
        g_autoptr(Searcher) one = searcher_new(&setup);
        g_autoptr(GArray) stored = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
        for (int round = 0; round < ROUNDS; round++) {
            struct perf_config here[4], there[4];
            int count = searcher_propose(one, 4, here);
            for (int i = 0; i < count; i++) {
                g_autoptr(Searcher) other = searcher_new(&setup);
                for (guint t = 0; t < stored->len; t++) {
                    const struct perf_config *config =
                        &g_array_index(stored, struct perf_config, t);
                    made_observe(other, config, made_time(config));
                }
                struct perf_config again[4];
                int same = searcher_propose(one, 4, again);
                g_assert_cmpint(searcher_propose(other, 4, there), ==, same);
                for (int j = 0; j < same; j++)
                    g_assert_true(perf_config_equal(&again[j], &there[j]));
                made_observe(one, &here[i], made_time(&here[i]));
                g_array_append_val(stored, here[i]);
            }
        }
    }
}

static void seeds_give_other_searches(void)
{
    for (int s = 0; s < STRATEGY_COUNT; s++) {
        g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);
        GString *texts[] = {first, second};
        for (uint64_t seed = 0; seed < 2; seed++) {
            struct searcher_setup setup = setup_of((enum strategy_id)s, seed);
            setup.prior_count = 0;
            g_autoptr(Searcher) searcher = searcher_new(&setup);
            for (int i = 0; i < 10; i++)
                made_batch(searcher, 4, made_time, texts[seed]);
        }
        g_assert_true((strcmp(first->str, second->str) == 0) == (s == SEARCH_EXHAUSTIVE));
    }
}

/* How many tries until the fastest config, over seeds; a draw needs half of the space. */
static void those_that_learn_find_the_optimum_sooner_than_a_draw(void)
{
    static const enum strategy_id learning[] = {SEARCH_PRIOR, SEARCH_MODEL, SEARCH_LOCAL,
                                                SEARCH_ANNEALING, SEARCH_GENETIC};
    enum { SEEDS = 20 };
    for (gsize s = 0; s < G_N_ELEMENTS(learning); s++) {
        int tries = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct searcher_setup setup = setup_of(learning[s], seed);
            g_autoptr(Searcher) searcher = searcher_new(&setup);
            struct perf_config config;
            do {
                g_assert_cmpint(searcher_propose(searcher, 1, &config), ==, 1);
                made_observe(searcher, &config, made_time(&config));
                tries++;
            } while (made_time(&config) > made_best_time());
        }
        g_test_message("%s: %d tries on average", strategy_table[learning[s]].name, tries / SEEDS);
        g_assert_cmpint(tries / SEEDS, <, made_space_count() / 4);
    }
}

static void the_default_comes_first_and_a_prior_next(void)
{
    struct searcher_setup setup = setup_of(SEARCH_PRIOR, 0);
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    struct perf_config configs[4];
    g_assert_cmpint(searcher_propose(searcher, 4, configs), ==, 4);
    g_assert_true(perf_config_equal(&configs[0], &usual));
    g_assert_true(perf_config_equal(&configs[1], &priors[0]));
    g_assert_true(perf_config_equal(&configs[2], &priors[3]));
    g_assert_true(perf_config_equal(&configs[3], &priors[4]));
}

/* The first four are tried again although it is known how they did; the fifth is not, and one that nobody tried is. */
static void few_of_a_prior_are_tried_again(void)
{
    static const struct perf_config known[] = {{3, {2, 2, 2}}, {3, {3, 3, 3}}, {3, {4, 4, 4}},
                                               {3, {5, 5, 5}}, {3, {4, 5, 6}}, {3, {5, 4, 6}}};
    static const int expected[] = {0, 1, 2, 3, 5};
    struct searcher_setup setup = setup_of(SEARCH_PRIOR, 0);
    struct perf_config configs[6];
    setup.first = NULL;
    setup.prior = known;
    setup.prior_count = G_N_ELEMENTS(known);
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    for (int i = 0; i < 5; i++)
        searcher_hint(searcher, &known[i], 1 + i);
    g_assert_cmpint(searcher_propose(searcher, 6, configs), ==, 6);
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_true(perf_config_equal(&configs[i], &known[expected[i]]));
    g_assert_false(perf_config_equal(&configs[5], &known[4]));
}

static void no_space_has_the_default_alone(void)
{
    struct searcher_setup setup = setup_of(SEARCH_PRIOR, 0);
    struct perf_config configs[4];
    setup.space = NULL;
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    g_assert_cmpint(searcher_propose(searcher, 4, configs), ==, 1);
    g_assert_true(perf_config_equal(&configs[0], &usual));
    made_observe(searcher, &usual, 1);
    g_assert_cmpint(searcher_propose(searcher, 4, configs), ==, 0);
    g_assert_cmpint(searcher_end(searcher, 4), ==, SEARCH_SPACE_TRIED);
}

/* ---- budgets ---- */

static void the_budget_of_tries_counts_configs_once(void)
{
    struct searcher_setup setup = setup_of(SEARCH_RANDOM, 3);
    setup.budget.tries = 6;
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    g_assert_cmpint(made_batch(searcher, 4, made_time, NULL), ==, 4);
    made_observe(searcher, &usual, 2);
    g_assert_cmpint(searcher_end(searcher, 4), ==, SEARCH_GOES_ON);
    g_assert_cmpint(made_batch(searcher, 4, made_time, NULL), ==, 2);
    g_assert_cmpint(searcher_end(searcher, 4), ==, SEARCH_TRIES_SPENT);
    g_assert_cmpint(made_batch(searcher, 4, made_time, NULL), ==, 0);
}

static double made_second(const struct perf_config *config)
{
    (void)config;
    return 1;
}

static double made_failure(const struct perf_config *config)
{
    (void)config;
    return INFINITY;
}

/* A search whose best time is at most a tenth longer than the best one of its problem may try more. */
static void a_close_search_may_try_more(void)
{
    static const struct {
        double rival; /* over the search's best time */
        int tries;
    } cases[] = {{0, 10}, {0.9, 6}, {0.92, 10}, {3, 10}, {INFINITY, 10}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct searcher_setup setup = setup_of(SEARCH_RANDOM, 3);
        setup.budget =
            (struct search_budget){.tries = 6, .close_tries = 10, .rival = cases[i].rival};
        g_autoptr(Searcher) searcher = searcher_new(&setup);
        int tries = 0, count;
        while ((count = made_batch(searcher, 4, made_second, NULL)) > 0) {
            g_assert_cmpint(count, ==,
                            tries == 4 ? 2 : 4); /* the first tries are those of any search */
            tries += count;
        }
        g_test_message("rival %g", cases[i].rival);
        g_assert_cmpint(tries, ==, cases[i].tries);
        g_assert_cmpint(searcher_end(searcher, 4), ==, SEARCH_TRIES_SPENT);
    }
}

/* Not even one verified config: nothing is close, unless somebody else has judged that (rival INFINITY). */
static void a_search_without_a_time_is_not_close(void)
{
    struct searcher_setup setup = setup_of(SEARCH_RANDOM, 3);
    setup.budget = (struct search_budget){.tries = 2, .close_tries = 10};
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    g_assert_cmpint(made_batch(searcher, 4, made_failure, NULL), ==, 2);
    g_assert_cmpint(made_batch(searcher, 4, made_failure, NULL), ==, 0);
    g_assert_cmpint(searcher_end(searcher, 4), ==, SEARCH_TRIES_SPENT);
    setup.budget.rival = INFINITY;
    g_autoptr(Searcher) judged = searcher_new(&setup);
    g_assert_cmpint(made_batch(judged, 4, made_failure, NULL), ==, 2);
    g_assert_cmpint(made_batch(judged, 4, made_failure, NULL), ==, 4);
}

static void what_others_tried_counts_for_no_budget(void)
{
    struct searcher_setup setup = setup_of(SEARCH_EXHAUSTIVE, 3);
    setup.budget = (struct search_budget){.tries = 2, .seconds = 2};
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    struct search_try tried = {{3, {1, 1, 2}}, 1, 100, true};
    struct perf_config configs[4];
    searcher_observe(searcher, &tried);
    g_assert_cmpint(searcher_end(searcher, 4), ==, SEARCH_GOES_ON);
    g_assert_cmpint(searcher_propose(searcher, 4, configs), ==, 2);
    g_assert_cmpint(configs[0].values[2], ==, 1);
    g_assert_cmpint(configs[1].values[2], ==, 3);
}

static void the_budget_of_seconds_ends_it(void)
{
    struct searcher_setup setup = setup_of(SEARCH_LOCAL, 3);
    setup.budget.seconds = 5; /* a try takes one */
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    made_batch(searcher, 4, made_time, NULL);
    g_assert_cmpint(searcher_end(searcher, 4), ==, SEARCH_GOES_ON);
    g_assert_cmpint(made_batch(searcher, 4, made_time, NULL), ==, 4);
    g_assert_cmpint(searcher_end(searcher, 4), ==, SEARCH_SECONDS_SPENT);
    g_assert_cmpint(made_batch(searcher, 4, made_time, NULL), ==, 0);
}

/* A larger gain asks for less of the space; the gain that is expected falls below it. */
static void the_budget_of_gain_ends_it(void)
{
    static const double gains[] = {0.3, 0.1, 0.05};
    int before = 8;
    for (gsize g = 0; g < G_N_ELEMENTS(gains); g++) {
        struct searcher_setup setup = setup_of(SEARCH_LOCAL, 3);
        setup.budget.gain = gains[g];
        g_autoptr(Searcher) searcher = searcher_new(&setup);
        int tries = 0, count;
        while ((count = made_batch(searcher, 1, made_time, NULL)) > 0)
            tries += count;
        g_assert_cmpint(searcher_end(searcher, 1), ==, SEARCH_GAIN_SMALL);
        g_assert_cmpint(tries, >=, before);
        g_assert_cmpint(tries, <, made_space_count());
        before = tries;
    }
}

static void the_newest_time_of_a_config_counts(void)
{
    struct searcher_setup setup = setup_of(SEARCH_LOCAL, 3);
    g_autoptr(Searcher) once = searcher_new(&setup), again = searcher_new(&setup);
    g_autoptr(GString) of_once = g_string_new(NULL), of_again = g_string_new(NULL);
    for (int i = 0; i < 3; i++) {
        made_batch(once, 4, made_time, NULL);
        made_batch(again, 4, made_time, NULL);
    }
    made_observe(again, &usual, 0.001);
    made_observe(again, &usual, made_time(&usual));
    made_observe(again, &usual, INFINITY);
    made_batch(once, 8, made_time, of_once);
    made_batch(again, 8, made_time, of_again);
    g_assert_cmpstr(of_once->str, ==, of_again->str);
}

static void a_forbidden_config_is_neither_proposed_nor_climbed_from(void)
{
    struct searcher_setup setup = setup_of(SEARCH_LOCAL, 3);
    setup.budget.tries = 20;
    g_autoptr(Searcher) failed = searcher_new(&setup), forbidden = searcher_new(&setup);
    g_autoptr(GString) of_failed = g_string_new(NULL), of_forbidden = g_string_new(NULL);
    made_observe(failed, &usual, INFINITY);
    made_observe(forbidden, &usual, 0.001);
    searcher_forbid(forbidden, &usual);
    for (int i = 0; i < 5; i++) {
        made_batch(failed, 4, made_time, of_failed);
        made_batch(forbidden, 4, made_time, of_forbidden);
    }
    g_assert_cmpstr(of_failed->str, ==, of_forbidden->str);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
#define TEST(name) g_test_add_func("/searcher/" #name, name)
    TEST(every_strategy_tries_each_config_once);
    TEST(every_strategy_outlives_failures_of_all_configs);
    TEST(every_strategy_goes_on_in_another_process);
    TEST(seeds_give_other_searches);
    TEST(those_that_learn_find_the_optimum_sooner_than_a_draw);
    TEST(the_default_comes_first_and_a_prior_next);
    TEST(few_of_a_prior_are_tried_again);
    TEST(no_space_has_the_default_alone);
    TEST(the_budget_of_tries_counts_configs_once);
    TEST(a_close_search_may_try_more);
    TEST(a_search_without_a_time_is_not_close);
    TEST(what_others_tried_counts_for_no_budget);
    TEST(the_budget_of_seconds_ends_it);
    TEST(the_budget_of_gain_ends_it);
    TEST(the_newest_time_of_a_config_counts);
    TEST(a_forbidden_config_is_neither_proposed_nor_climbed_from);
    return g_test_run();
}
