/* The genetic search, over a made-up space. */
#include "solvers/search/searcher.h"

#include "tests/support/made_space.h"

#include <math.h>

/* Twenty parents: half of them have A = 4 and C = 8, the others A = 2 and C = 1; all others are slow. A child of two parents
 * often has a value from each. */
static double two_families(const struct perf_config *config)
{
    const int32_t *v = config->values;
    bool one = v[0] == 4 && v[2] == 8, other = v[0] == 2 && v[2] == 1;
    return one || other ? 1 : 100;
}

static void children_have_values_of_both_parents(void)
{
    struct searcher_setup setup = {.space = &made_space, .strategy = SEARCH_GENETIC, .seed = 2};
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    int mixed = 0, count = 0;
    for (int32_t b = 1; b <= 8; b++) {
        struct perf_config one = {3, {4, b, 8}}, other = {3, {2, b, 1}};
        made_observe(searcher, &one, two_families(&one));
        made_observe(searcher, &other, two_families(&other));
    }
    for (int32_t b = 1; b <= 4; b++) {
        struct perf_config slow = {3, {7, b, 5}};
        made_observe(searcher, &slow, two_families(&slow));
    }
    struct perf_config children[60];
    count = searcher_propose(searcher, 60, children);
    g_assert_cmpint(count, ==, 60);
    for (int i = 0; i < count; i++) {
        const int32_t *v = children[i].values;
        mixed += (v[0] == 4 && v[2] == 1) || (v[0] == 2 && v[2] == 8);
    }
    g_test_message("%d of %d", mixed, count);
    g_assert_cmpint(mixed, >=, 9);
}

/* Where nothing succeeded there are no parents. */
static void it_draws_where_all_failed(void)
{
    struct searcher_setup setup = {.space = &made_space, .strategy = SEARCH_GENETIC, .seed = 2};
    g_autoptr(Searcher) searcher = searcher_new(&setup);
    for (int i = 0; i < 30; i++) {
        struct perf_config config;
        g_assert_cmpint(searcher_propose(searcher, 1, &config), ==, 1);
        made_observe(searcher, &config, INFINITY);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/genetic/children_have_values_of_both_parents",
                    children_have_values_of_both_parents);
    g_test_add_func("/genetic/it_draws_where_all_failed", it_draws_where_all_failed);
    return g_test_run();
}
