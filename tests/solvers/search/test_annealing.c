/* Simulated annealing, over a made-up space. */
#include "solvers/search/searcher.h"

#include "tests/support/made_space.h"

#include <math.h>
#include <stdlib.h>

static const struct perf_config trap = {3, {8, 4, 8}};

/* A config that is faster than all around it, but far from the fastest. */
static double trapped(const struct perf_config *config)
{
    return perf_config_equal(config, &trap) ? 1.5 : made_time(config) + 0.6;
}

static int differences(const struct perf_config *a, const struct perf_config *b)
{
    int count = 0;
    for (int i = 0; i < a->count; i++)
        count += a->values[i] != b->values[i];
    return count;
}

static Searcher *new_search(uint64_t seed)
{
    struct searcher_setup setup = {
        .space = &made_space, .strategy = SEARCH_ANNEALING, .seed = seed, .first = &trap};
    return searcher_new(&setup);
}

/* Local search tries all neighbours of its fastest config first; annealing leaves it earlier. */
static void it_leaves_a_local_optimum(void)
{
    int left = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        g_autoptr(Searcher) searcher = new_search(seed);
        struct perf_config config;
        for (int i = 0; i < 8; i++)
            made_batch(searcher, 1, trapped, NULL);
        for (int i = 0; i < 14; i++) {
            searcher_propose(searcher, 1, &config);
            left += differences(&config, &trap) > 1;
            made_observe(searcher, &config, trapped(&config));
        }
    }
    g_test_message("%d of %d tries elsewhere", left, 20 * 14);
    g_assert_cmpint(left, >, 20 * 14 / 10);
}

/* Each config differs from one that was tried in one parameter, after the starts. */
static void it_walks_from_neighbour_to_neighbour(void)
{
    g_autoptr(Searcher) searcher = new_search(1);
    g_autoptr(GArray) tried = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    for (int i = 0; i < 60; i++) {
        struct perf_config config;
        int nearest = 3;
        searcher_propose(searcher, 1, &config);
        for (guint t = 0; t < tried->len; t++)
            nearest =
                MIN(nearest, differences(&config, &g_array_index(tried, struct perf_config, t)));
        if (i >= 8)
            g_assert_cmpint(nearest, ==, 1);
        g_array_append_val(tried, config);
        made_observe(searcher, &config, made_time(&config));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/annealing/it_leaves_a_local_optimum", it_leaves_a_local_optimum);
    g_test_add_func("/annealing/it_walks_from_neighbour_to_neighbour",
                    it_walks_from_neighbour_to_neighbour);
    return g_test_run();
}
