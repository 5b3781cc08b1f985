/* Local search with and without a prior, over a made-up space with known times. */
#include "worker/search/search.h"

#include "schema/store/store_rounds.h"
#include "solvers/framework/strategy.h"
#include "tests/support/search_job.h"

#include <math.h>
#include <string.h>

#define VALUES 8
static const int32_t values[VALUES] = {1, 2, 3, 4, 5, 6, 7, 8};
static const struct space_param params[] = {
    {"A", VALUES, values}, {"B", VALUES, values}, {"C", VALUES, values}};

static bool fits(const struct problem *p, const struct context *context, const int32_t *v)
{
    (void)p;
    (void)context;
    return v[0] * v[1] <= 32;
}

static const struct space_constraint constraints[] = {{"fits", "nothing", 2, fits}};
static const struct space space = {3, params, 1, constraints};

static void usual_config(const struct problem *p, const struct context *context,
                         struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){.count = 3, .values = {1, 1, 1}};
}

static const struct solver tunable = {.name = "Tunable",
                                      .is_applicable = search_job_applies,
                                      .default_config = usual_config,
                                      .space = &space};

/* One valley, whose bottom is (4, 6, 2). */
static double valley(const struct perf_config *config)
{
    const int32_t *v = config->values;
    return 1 + pow(v[0] - 4, 2) + pow(v[1] - 6, 2) + pow(v[2] - 2, 2);
}

/* A wide valley with its bottom at (2, 2, 2), and a faster config (8, 1, 8) with slow neighbours. */
static double hidden(const struct perf_config *config)
{
    const int32_t *v = config->values;
    bool found = v[0] == 8 && v[1] == 1 && v[2] == 8;
    return found ? 0.5 : 2 + abs(v[0] - 2) + abs(v[1] - 2) + abs(v[2] - 2);
}

/* Every config fails unless B is 1. */
static double mostly_failing(const struct perf_config *config)
{
    return config->values[1] == 1 ? 1 + config->values[0] : INFINITY;
}

static double failing(const struct perf_config *config)
{
    (void)config;
    return INFINITY;
}

typedef double time_fn(const struct perf_config *config);

struct fixture {
    struct search_job job;
    time_fn *time;
    bool all_slow; /* every config is dropped early, being slower than another solver's best */
};

static void fixture_init(struct fixture *f, const char *strategy, int64_t seed, int limit,
                         time_fn *time)
{
    *f = (struct fixture){.time = time};
    search_job_init(&f->job, &tunable, strategy, seed, limit, 4);
}

static void add_prior(struct fixture *f, int32_t a, int32_t b, int32_t c)
{
    struct perf_config config = {.count = 3, .values = {a, b, c}};
    g_array_append_val(f->job.prior, config);
}

/* Proposes and evaluates a round. Returns its configs as text. */
static char *next_round(struct fixture *f)
{
    int default_index;
    char *configs = search_job_next(&f->job, &default_index);
    struct round *round = g_ptr_array_index(f->job.rounds, f->job.rounds->len - 1);
    for (int i = 0; i < round->config_count; i++) {
        double time_ms = f->time(&round->configs[i]);
        round->outcomes[i].failure = f->all_slow         ? FAILURE_SLOW
                                     : isfinite(time_ms) ? FAILURE_NONE
                                                         : FAILURE_WRONG_RESULT;
        round->outcomes[i].median_ms = isfinite(time_ms) ? time_ms : 0.001;
    }
    return configs;
}

/* The number of evaluated configs (the default counted once) until one is as fast as time_ms; 0:
 * none is. */
static int evaluations_until(struct fixture *f, double time_ms)
{
    int count = 0;
    while (search_end_now(&f->job.search) == SEARCH_GOES_ON) {
        g_free(next_round(f));
        const struct round *round = g_ptr_array_index(f->job.rounds, f->job.rounds->len - 1);
        for (int i = round->number || f->job.rounds->len > 1; i < round->config_count; i++) {
            count++;
            if (f->time(&round->configs[i]) <= time_ms)
                return count;
        }
    }
    return 0;
}

/* The bottom of a valley of 300 configs is found early: a random draw would need 150 configs in the
 * median. */
static void climbs_to_the_bottom_of_a_valley(void)
{
    for (int seed = 0; seed < 50; seed++) {
        struct fixture f;
        fixture_init(&f, "local", seed, 0, valley);
        int count = evaluations_until(&f, 1);
        g_assert_cmpint(count, >, 0);
        g_assert_cmpint(count, <=, 70);
        search_job_clear(&f.job);
    }
}

/* A fast config with slow neighbours is found, too, since the search ends only with the whole
 * space. */
static void ends_with_the_whole_space(void)
{
    static time_fn *const times[] = {hidden, mostly_failing, failing};
    for (gsize i = 0; i < G_N_ELEMENTS(times); i++) {
        struct fixture f;
        fixture_init(&f, "local", 3, 0, times[i]);
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        int all = 0;
        while (search_end_now(&f.job.search) == SEARCH_GOES_ON) {
            g_autofree char *round = next_round(&f);
            char **configs = g_strsplit(round, " ", -1);
            for (int c = 0; configs[c]; c++, all++)
                g_hash_table_add(seen, configs[c]);
            g_free(configs);
        }
        g_assert_cmpint(g_hash_table_size(seen), ==,
                        space_count(&space, &f.job.problem, &f.job.context));
        /* Only the default comes again: once in every round after the first. */
        g_assert_cmpint(all, ==, (int)(g_hash_table_size(seen) + f.job.rounds->len - 1));
        search_job_clear(&f.job);
    }
}

static int count_differences(const struct perf_config *a, const struct perf_config *b)
{
    int differences = 0;
    for (int v = 0; v < 3; v++)
        differences += a->values[v] != b->values[v];
    return differences;
}

/* Makes a round with one config, which took time_ms. */
static struct round *round_of(const struct perf_config *config, double time_ms)
{
    struct round *round = round_new(1);
    round->configs[0] = *config;
    round->outcomes[0].failure = FAILURE_NONE;
    round->outcomes[0].median_ms = time_ms;
    return round;
}

static void add_round(struct fixture *f, struct perf_config config, double time_ms)
{
    g_ptr_array_add(f->job.rounds, round_of(&config, time_ms));
}

/* After eight starts come the neighbours of the fastest config; each differs from it in one value. The rough times of configs
 * that were dropped as slow order them, too; of several times of a config the newest counts: a lucky time of the default
 * config, which is measured in each round, does not outlast the next round. */
static void check_neighbours_of_the_fastest(bool all_slow, bool is_lucky_once)
{
    struct fixture f;
    fixture_init(&f, "local", 5, 0, valley);
    f.all_slow = all_slow;
    g_free(next_round(&f));
    g_free(next_round(&f));
    struct tried_config best = {.time_ms = INFINITY};
    for (guint r = 0; r < f.job.rounds->len; r++) {
        const struct round *round = g_ptr_array_index(f.job.rounds, r);
        for (int i = 0; i < round->config_count; i++)
            if (valley(&round->configs[i]) < best.time_ms)
                best = (struct tried_config){round->configs[i], valley(&round->configs[i])};
    }
    const struct round *first = g_ptr_array_index(f.job.rounds, 0);
    if (is_lucky_once)
        g_ptr_array_insert(f.job.rounds, 0, round_of(&first->configs[0], 0.0001));
    g_free(next_round(&f));
    const struct round *third = g_ptr_array_index(f.job.rounds, f.job.rounds->len - 1);
    g_assert_cmpint(third->config_count, ==, 5);
    for (int i = 1; i < third->config_count; i++)
        g_assert_cmpint(count_differences(&third->configs[i], &best.config), ==, 1);
    search_job_clear(&f.job);
}

static void neighbours_of_the_fastest_start_come_next(void)
{
    check_neighbours_of_the_fastest(false, false);
    check_neighbours_of_the_fastest(true, false);
    check_neighbours_of_the_fastest(false, true);
}

/* When no config near the fastest is left to try, the search goes on from the next config whose
 * time is at most half as much again. */
static void second_climb_starts_within_half_again(void)
{
    static const struct perf_config fastest = {.count = 3, .values = {4, 6, 1}};
    static const struct perf_config second = {.count = 3, .values = {1, 1, 8}};
    struct fixture f;
    fixture_init(&f, "local", 5, 0, valley);
    add_round(&f, fastest, 1);
    add_round(&f, second, 1.4);
    g_autoptr(GArray) neighbours = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    space_neighbours(&space, &f.job.problem, &f.job.context, &fastest, false, neighbours);
    for (guint i = 0; i < neighbours->len; i++)
        add_round(&f, g_array_index(neighbours, struct perf_config, i), 10);
    g_free(next_round(&f));
    const struct round *next = g_ptr_array_index(f.job.rounds, f.job.rounds->len - 1);
    g_assert_cmpint(next->config_count, >=, 4);
    for (int i = next->config_count - 4; i < next->config_count; i++)
        g_assert_cmpint(count_differences(&next->configs[i], &second), ==, 1);
    search_job_clear(&f.job);
}

static void equal_inputs_give_equal_rounds(void)
{
    static const char *const strategies[] = {"local", STRATEGY_PRIOR};
    for (gsize s = 0; s < G_N_ELEMENTS(strategies); s++) {
        struct fixture a, b, other_seed, other_prior;
        fixture_init(&a, strategies[s], 1, 0, valley);
        fixture_init(&b, strategies[s], 1, 0, valley);
        fixture_init(&other_seed, strategies[s], 2, 0, valley);
        fixture_init(&other_prior, strategies[s], 1, 0, valley);
        add_prior(&other_prior, 4, 4, 4);
        bool seed_differs = false, prior_differs = false;
        for (int i = 0; i < 12; i++) {
            g_autofree char *of_a = next_round(&a);
            g_autofree char *of_b = next_round(&b);
            g_autofree char *of_seed = next_round(&other_seed);
            g_autofree char *of_prior = next_round(&other_prior);
            g_assert_cmpstr(of_a, ==, of_b);
            seed_differs |= strcmp(of_a, of_seed) != 0;
            prior_differs |= strcmp(of_a, of_prior) != 0;
        }
        g_assert_true(seed_differs);
        g_assert_cmpint(prior_differs, ==, strcmp(strategies[s], STRATEGY_PRIOR) == 0);
        search_job_clear(&a.job);
        search_job_clear(&b.job);
        search_job_clear(&other_seed.job);
        search_job_clear(&other_prior.job);
    }
}

static void prior_comes_after_the_default(void)
{
    struct fixture f;
    fixture_init(&f, STRATEGY_PRIOR, 0, 0, valley);
    add_prior(&f, 5, 5, 5);
    add_prior(&f, 9, 1, 1); /* no value */
    add_prior(&f, 8, 8, 1); /* does not fit */
    add_prior(&f, 1, 1, 1); /* the default */
    add_prior(&f, 3, 3, 3);
    add_prior(&f, 5, 5, 5); /* twice */
    add_prior(&f, 2, 2, 2);
    add_prior(&f, 4, 6, 3);
    add_prior(&f, 7, 1, 7);
    g_autofree char *first = next_round(&f);
    g_assert_cmpstr(first, ==, "1,1,1 5,5,5 3,3,3 2,2,2");
    g_autofree char *second = next_round(&f);
    g_assert_true(g_str_has_prefix(second, "1,1,1 4,6,3 7,1,7 "));
    g_assert_cmpint(evaluations_until(&f, 1), >, 0);
    search_job_clear(&f.job);
}

/* A job of few configs keeps half of them for configs that are not in the prior. */
static void prior_takes_half_of_a_small_job(void)
{
    struct fixture f;
    fixture_init(&f, STRATEGY_PRIOR, 0, 4, valley);
    for (int32_t i = 2; i < 8; i++)
        add_prior(&f, 1, i, i);
    g_autofree char *only = next_round(&f);
    g_assert_true(g_str_has_prefix(only, "1,1,1 1,2,2 1,3,3 "));
    g_assert_false(g_str_has_suffix(only, " 1,4,4"));
    g_assert_cmpint(search_end_now(&f.job.search), !=, SEARCH_GOES_ON);
    search_job_clear(&f.job);
}

static void good_prior_spares_most_of_the_work(void)
{
    int with = 0, without = 0;
    for (int seed = 0; seed < 20; seed++) {
        struct fixture f;
        fixture_init(&f, STRATEGY_PRIOR, seed, 0, valley);
        without += evaluations_until(&f, 1);
        search_job_clear(&f.job);
        fixture_init(&f, STRATEGY_PRIOR, seed, 0, valley);
        add_prior(&f, 4, 5, 2);
        add_prior(&f, 5, 6, 3);
        with += evaluations_until(&f, 1);
        search_job_clear(&f.job);
    }
    g_assert_cmpint(with * 4, <, without * 3);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/search_local/climbs_to_the_bottom_of_a_valley",
                    climbs_to_the_bottom_of_a_valley);
    g_test_add_func("/search_local/ends_with_the_whole_space", ends_with_the_whole_space);
    g_test_add_func("/search_local/neighbours_of_the_fastest_start_come_next",
                    neighbours_of_the_fastest_start_come_next);
    g_test_add_func("/search_local/second_climb_starts_within_half_again",
                    second_climb_starts_within_half_again);
    g_test_add_func("/search_local/equal_inputs_give_equal_rounds", equal_inputs_give_equal_rounds);
    g_test_add_func("/search_local/prior/comes_after_the_default", prior_comes_after_the_default);
    g_test_add_func("/search_local/prior/takes_half_of_a_small_job",
                    prior_takes_half_of_a_small_job);
    g_test_add_func("/search_local/prior/saves_most_evaluations",
                    good_prior_spares_most_of_the_work);
    return g_test_run();
}
