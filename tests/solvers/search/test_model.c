/* The search by a model, over a made-up space. */
#include "solvers/search/searcher.h"

#include "tests/support/made_space.h"

#include <math.h>

static Searcher *new_search(uint64_t seed)
{
    struct searcher_setup setup = {.space = &made_space, .strategy = SEARCH_MODEL, .seed = seed};
    return searcher_new(&setup);
}

/* Time falls with A + B + C alone, and no config that was observed is near the best. */
static void it_goes_where_the_times_point(void)
{
    int sums = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        g_autoptr(Searcher) searcher = new_search(seed);
        struct perf_config next;
        for (int32_t i = 0; i < 12; i++) {
            struct perf_config config = {3, {1 + i % 3, 1 + i / 3 % 2, 1 + i / 6}};
            made_observe(searcher, &config,
                         exp(-0.3 * (config.values[0] + config.values[1] + config.values[2])));
        }
        g_assert_cmpint(searcher_propose(searcher, 1, &next), ==, 1);
        sums += next.values[0] + next.values[1] + next.values[2];
    }
    g_test_message("mean sum %g", sums / 10.0);
    g_assert_cmpint(sums, >, 8 * 10); /* the largest that was observed is 7 */
}

/* All configs with C of 5 or more fail. The model learns to stay below. */
static double half_fails(const struct perf_config *config)
{
    return config->values[2] >= 5 ? INFINITY : 1 + 0.01 * config->values[0];
}

static void it_learns_where_configs_fail(void)
{
    int failed = 0, tries = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        g_autoptr(Searcher) searcher = new_search(seed);
        for (int i = 0; i < 4; i++)
            made_batch(searcher, 4, half_fails, NULL);
        for (int i = 0; i < 10; i++) {
            struct perf_config configs[4];
            int count = searcher_propose(searcher, 4, configs);
            for (int c = 0; c < count; c++, tries++) {
                failed += isinf(half_fails(&configs[c]));
                made_observe(searcher, &configs[c], half_fails(&configs[c]));
            }
        }
    }
    g_test_message("%d of %d failed", failed, tries);
    g_assert_cmpint(failed, <, tries / 3); /* a draw: nearly half */
}

/* How many of ten searches propose the hinted config with the largest sum of parameters, after hints whose times fall
 * (slope < 0) or rise with that sum. */
static int proposed_after_hints(double slope)
{
    const struct perf_config largest = {3, {3, 2, 2}};
    int count = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        g_autoptr(Searcher) searcher = new_search(seed);
        struct perf_config next[2];
        for (int i = 0; i < 8; i++)
            made_observe(searcher,
                         &(struct perf_config){3, {1, 1 + i / 4, 1 + i % 2 + i / 2 % 2 * 5}}, 1);
        for (int32_t i = 0; i < 12; i++) {
            struct perf_config config = {3, {1 + i % 3, 1 + i / 3 % 2, 1 + i / 6}};
            int sum = config.values[0] + config.values[1] + config.values[2];
            searcher_hint(searcher, &config, 1);
            searcher_hint(searcher, &config, 1000 * exp(slope * sum));
        }
        /* the first is a neighbour of the fastest try, whatever the hints */
        g_assert_cmpint(searcher_propose(searcher, 2, next), ==, 2);
        count += perf_config_equal(&next[1], &largest);
    }
    return count;
}

/* Hints of another unit teach as tries do, though few were made yet; they are no tries themselves. */
static void it_learns_from_hints(void)
{
    g_assert_cmpint(proposed_after_hints(-0.3), >=, 8);
    g_assert_cmpint(proposed_after_hints(0.3), <=, 2);
}

static void a_hint_is_no_try(void)
{
    struct searcher_setup setup = {
        .space = &made_space, .strategy = SEARCH_EXHAUSTIVE, .budget.tries = 2};
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    struct perf_config config = {3, {1, 1, 1}}, next[4];
    searcher_hint(searcher, &config, 5);
    g_assert_cmpint(searcher_propose(searcher, 4, next), ==, 2);
    g_assert_true(perf_config_equal(&next[0], &config));
}

/* More tries than the model reads, and a batch larger than it chooses. */
static void long_searches_and_large_batches_end(void)
{
    g_autoptr(Searcher) searcher = new_search(1);
    int tries = 0, count;
    while ((count = made_batch(searcher, 40, made_time, NULL)) > 0)
        tries += count;
    g_assert_cmpint(tries, ==, made_space_count());
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/model/it_goes_where_the_times_point", it_goes_where_the_times_point);
    g_test_add_func("/model/it_learns_where_configs_fail", it_learns_where_configs_fail);
    g_test_add_func("/model/it_learns_from_hints", it_learns_from_hints);
    g_test_add_func("/model/a_hint_is_no_try", a_hint_is_no_try);
    g_test_add_func("/model/long_searches_and_large_batches_end",
                    long_searches_and_large_batches_end);
    return g_test_run();
}
