/* The search, over a small made-up space. */
#include "worker/search/search.h"

#include <math.h>
#include <string.h>

#include "schema/store/store_rounds.h"
#include "solvers/framework/strategy.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/search_job.h"

static const int32_t values_a[] = {1, 2, 3, 4};
static const int32_t values_b[] = {1, 2, 3, 4, 5};
static const struct space_param params[] = {{"a", 4, values_a}, {"b", 5, values_b}};

static bool not_both_even(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    (void)p;
    (void)context;
    return values[0] % 2 || values[1] % 2;
}

static const struct space_constraint constraints[] = {
    {"not_both_even", "nothing", 2, not_both_even}};
static const struct space space = {2, params, 1, constraints};
#define SPACE_COUNT 16 /* 4 * 5 combinations less the 2 * 2 in which both values are even */

static void usual_config(const struct problem *p, const struct context *context,
                         struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){.count = 2, .values = {3, 2}};
}

static void no_config(const struct problem *p, const struct context *context,
                      struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){0};
}

static const struct solver tunable = {.name = "Tunable",
                                      .is_applicable = search_job_applies,
                                      .default_config = usual_config,
                                      .space = &space};
static const struct solver fixed = {
    .name = "Fixed", .is_applicable = search_job_applies, .default_config = no_config};

/* ---- a solver with a search of its own ---- */

static bool was_tried(const struct tried_config *tried, int count, const struct perf_config *config)
{
    for (int i = 0; i < count; i++)
        if (perf_config_equal(&tried[i].config, config))
            return true;
    return false;
}

/* Proposes the untried neighbours of the fastest config so far; nothing once all of them are slower. */
static int walk_coordinates(const struct problem *p, const struct context *context,
                            const struct tried_config *tried, int tried_count, int wanted,
                            struct perf_config *configs)
{
    const struct tried_config *best = NULL;
    int count = 0;
    for (int i = 0; i < tried_count; i++)
        if (isfinite(tried[i].time_ms) && (!best || tried[i].time_ms < best->time_ms))
            best = &tried[i];
    if (!best)
        return 0;
    g_autoptr(GArray) neighbours = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    space_neighbours(&space, p, context, &best->config, true, neighbours);
    for (guint i = 0; i < neighbours->len && count < wanted; i++) {
        const struct perf_config *config = &g_array_index(neighbours, struct perf_config, i);
        if (!was_tried(tried, tried_count, config))
            configs[count++] = *config;
    }
    return count;
}

/* Proposes invalid configs, the default, configs tried before, and one config twice. */
static int propose_carelessly(const struct problem *p, const struct context *context,
                              const struct tried_config *tried, int tried_count, int wanted,
                              struct perf_config *configs)
{
    static const struct perf_config all[] = {{2, {2, 2}}, {2, {3, 2}}, {2, {1, 1}}, {2, {1, 1}},
                                             {2, {9, 9}}, {2, {1, 3}}, {1, {1}},    {2, {1, 5}}};
    (void)p;
    (void)context;
    (void)tried;
    (void)tried_count;
    int count = MIN(wanted, (int)G_N_ELEMENTS(all));
    memcpy(configs, all, (size_t)count * sizeof *configs);
    return count;
}

static const struct solver walking = {.name = "Walking",
                                      .is_applicable = search_job_applies,
                                      .default_config = usual_config,
                                      .space = &space,
                                      .propose = walk_coordinates};
static const struct solver careless = {.name = "Careless",
                                       .is_applicable = search_job_applies,
                                       .default_config = usual_config,
                                       .space = &space,
                                       .propose = propose_carelessly};

static void test_exhaustive_walks_in_order(void)
{
    static const char *const expected[] = {"3,2 1,1 1,2 1,3 1,4", "3,2 1,5 2,1 2,3 2,5 3,1",
                                           "3,2 3,3 3,4 3,5 4,1 4,3", "3,2 4,5", ""};
    struct search_job f;
    search_job_init(&f, &tunable, "exhaustive", 0, 0, 5);
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        int default_index;
        g_assert_cmpint(search_end_now(&f.search) == SEARCH_GOES_ON, ==, expected[i][0] != '\0');
        g_autofree char *round = search_job_next(&f, &default_index);
        g_assert_cmpstr(round, ==, expected[i]);
        g_assert_cmpint(default_index, ==, expected[i][0] ? 0 : -1);
    }
    search_job_clear(&f);
}

static int count_distinct(const struct search_job *f, int *all)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    *all = 0;
    for (guint r = 0; r < f->rounds->len; r++) {
        const struct round *round = g_ptr_array_index(f->rounds, r);
        for (int i = 0; i < round->config_count; i++, (*all)++) {
            char text[CONFIG_TEXT_MAX];
            g_assert_true(
                space_contains(&space, &f->problem, &f->context, &round->configs[i], NULL));
            g_hash_table_add(seen, g_strdup(perf_config_format(&round->configs[i], text)));
        }
    }
    return (int)g_hash_table_size(seen);
}

/* The same seed serves all jobs of a campaign, and each solver draws its configs in another
 * order. */
static void test_solvers_draw_apart(void)
{
    struct solver other = tunable;
    struct search_job f;
    int default_index;
    other.name = "Other";
    search_job_init(&f, &tunable, "random", 17, 0, 10);
    g_autofree char *first = search_job_next(&f, &default_index);
    search_job_clear(&f);
    search_job_init(&f, &tunable, "random", 17, 0, 10);
    g_autofree char *again = search_job_next(&f, &default_index);
    search_job_clear(&f);
    search_job_init(&f, &tunable, "random", 17, 0, 10);
    f.search.solver = &other;
    g_autofree char *others = search_job_next(&f, &default_index);
    search_job_clear(&f);
    g_assert_cmpstr(first, ==, again);
    g_assert_cmpstr(first, !=, others);
}

static void test_nothing_is_drawn_twice(void)
{
    static const struct {
        const char *strategy;
        int limit, round, distinct;
    } cases[] = {
        {"exhaustive", 0, 5, SPACE_COUNT},
        {"random", 0, 5, SPACE_COUNT},
        {"random", 7, 3, 7},
        {"exhaustive", 7, 3, 7},
        {"random", 1, 8, 1},
        {"random", 0, 1, SPACE_COUNT},
        {"random", 1000, 1000, SPACE_COUNT},
        {"local", 0, 5, SPACE_COUNT},
        {"local", 7, 3, 7},
        {"prior", 0, 5, SPACE_COUNT},
    };
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        struct search_job f;
        int all, default_index;
        search_job_init(&f, &tunable, cases[c].strategy, 17, cases[c].limit, cases[c].round);
        while (search_end_now(&f.search) == SEARCH_GOES_ON)
            g_free(search_job_next(&f, &default_index));
        g_assert_cmpint(count_distinct(&f, &all), ==, cases[c].distinct);
        /* Only the default config is repeated, once in every round after the first. */
        g_assert_cmpint(all, ==, cases[c].distinct + (int)f.rounds->len - 1);
        g_autofree char *last = search_job_next(&f, &default_index);
        g_assert_cmpstr(last, ==, "");
        search_job_clear(&f);
    }
}

static void test_equal_inputs_give_equal_rounds(void)
{
    struct search_job a, b, other_seed, other_problem;
    int default_index;
    search_job_init(&a, &tunable, "random", 5, 0, 4);
    search_job_init(&b, &tunable, "random", 5, 0, 4);
    search_job_init(&other_seed, &tunable, "random", 6, 0, 8);
    search_job_init(&other_problem, &tunable, "random", 5, 0, 8);
    other_problem.problem.k = 7;
    for (int i = 0; i < 4; i++) {
        g_autofree char *from_a = search_job_next(&a, &default_index);
        g_autofree char *from_b = search_job_next(&b, &default_index);
        g_assert_cmpstr(from_a, ==, from_b);
    }
    search_job_clear(&a);
    search_job_init(&a, &tunable, "random", 5, 0, 8);
    g_autofree char *usual = search_job_next(&a, &default_index);
    g_autofree char *seeded = search_job_next(&other_seed, &default_index);
    g_autofree char *placed = search_job_next(&other_problem, &default_index);
    g_assert_cmpstr(usual, !=, seeded);
    g_assert_cmpstr(usual, !=, placed);
    search_job_clear(&a);
    search_job_clear(&b);
    search_job_clear(&other_seed);
    search_job_clear(&other_problem);
}

/* The second config of the first round, over many seeds: each config except the default comes about equally often. The
 * bounds are six standard deviations of a fair draw. */
static void test_random_is_uniform(void)
{
    enum { DRAWS = 6000 };
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int seed = 0; seed < DRAWS; seed++) {
        struct search_job f;
        char text[CONFIG_TEXT_MAX];
        int default_index;
        search_job_init(&f, &tunable, "random", seed, 0, 2);
        g_autoptr(GArray) configs = search_propose(&f.search, &default_index);
        const char *drawn =
            perf_config_format(&g_array_index(configs, struct perf_config, 1), text);
        int count = GPOINTER_TO_INT(g_hash_table_lookup(counts, drawn));
        g_hash_table_replace(counts, g_strdup(drawn), GINT_TO_POINTER(count + 1));
        search_job_clear(&f);
    }
    g_assert_cmpuint(g_hash_table_size(counts), ==, SPACE_COUNT - 1);
    GHashTableIter iter;
    gpointer count;
    g_hash_table_iter_init(&iter, counts);
    while (g_hash_table_iter_next(&iter, NULL, &count)) {
        g_assert_cmpint(GPOINTER_TO_INT(count), >, 400 - 6 * 20);
        g_assert_cmpint(GPOINTER_TO_INT(count), <, 400 + 6 * 20);
    }
}

static void test_quarantined_is_left_out(void)
{
    const struct perf_config out[] = {{2, {1, 1}}, {2, {3, 2}}};
    struct search_job f;
    int default_index;
    search_job_init(&f, &tunable, "exhaustive", 0, 0, 4);
    g_array_append_val(f.quarantined, out[0]);
    g_autofree char *first = search_job_next(&f, &default_index);
    g_assert_cmpstr(first, ==, "3,2 1,2 1,3 1,4");
    g_array_append_val(f.quarantined, out[1]);
    g_autofree char *second = search_job_next(&f, &default_index);
    g_assert_cmpstr(second, ==, "1,5 2,1 2,3 2,5");
    g_assert_cmpint(default_index, ==, -1);
    search_job_clear(&f);
}

/* Configs of another search are never proposed again. Only the search's own configs count against the limit, and the
 * default config, with which every search begins. */
static void test_configs_of_another_search_do_not_count_but_for_the_default(void)
{
    for (int beyond_limit = 0; beyond_limit < 2; beyond_limit++) {
        struct search_job f;
        int default_index;
        search_job_init(&f, &tunable, "exhaustive", 0, 3, 3);
        g_autofree char *taken = search_job_next(&f, &default_index);
        g_assert_cmpstr(taken, ==, "3,2 1,1 1,2");
        ((struct round *)f.rounds->pdata[0])->beyond_limit = beyond_limit;
        g_assert_true((search_end_now(&f.search) == SEARCH_GOES_ON) == beyond_limit);
        g_autofree char *own = search_job_next(&f, &default_index);
        /* The default is measured again as the baseline. */
        g_assert_cmpstr(own, ==, beyond_limit ? "3,2 1,3 1,4" : "");
        g_assert_cmpint(search_end_now(&f.search), !=, SEARCH_GOES_ON);
        search_job_clear(&f);
    }
}

/* Five of the configs did well before, and all others failed: those five are tried first. */
static void test_attempts_steer_the_search(void)
{
    struct search_job f;
    int default_index;
    search_job_init(&f, &tunable, "prior", 0, 0, 4);
    g_free(search_job_next(&f, &default_index));
    struct round *round = f.rounds->pdata[0];
    for (int i = 0; i < round->config_count; i++)
        round->outcomes[i] = (struct outcome){
            .failure = FAILURE_NONE, .median_ms = round->configs[i].values[0] == 1 ? 1 : 10};
    g_autoptr(GArray) attempts = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    for (int32_t i = 0; i < 20; i++) {
        struct tried_config attempt = {{2, {1 + i / 5, 1 + i % 5}}, i / 5 == 0 ? 0.1 : INFINITY};
        g_array_append_val(attempts, attempt);
    }
    f.search.attempts = attempts;
    g_autoptr(GArray) next = search_propose(&f.search, &default_index);
    int fast = 0;
    for (guint i = 0; i < next->len; i++)
        fast += g_array_index(next, struct perf_config, i).values[0] == 1;
    for (int i = 0; i < round->config_count; i++)
        fast += round->configs[i].values[0] == 1;
    g_assert_cmpint(fast, >=, 4); /* a draw: 2.5 */
    search_job_clear(&f);
}

/* Proposes a round whose evaluation takes a second a config, with these times. */
static struct round *next_measured(struct search_job *f, double ms)
{
    int default_index;
    g_free(search_job_next(f, &default_index));
    struct round *round = f->rounds->pdata[f->rounds->len - 1];
    for (int i = 0; i < round->config_count; i++)
        round->outcomes[i] = (struct outcome){
            .failure = FAILURE_NONE, .median_ms = ms, .build_seconds = 10, .eval_seconds = 1};
    return round;
}

/* The seconds are those of the device, and of the search's own rounds: neither building counts, nor what another
 * search took, nor measuring again. */
static void test_seconds_of_the_device_end_it(void)
{
    struct search_job f;
    search_job_init(&f, &tunable, "exhaustive", 0, 0, 3);
    f.search.search_seconds = 7;
    next_measured(&f, 1)->beyond_limit = true;
    next_measured(&f, 1)->remeasures = true;
    next_measured(&f, 1); /* 3 configs and the default */
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_GOES_ON);
    next_measured(&f, 1);
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_SECONDS_SPENT);
    g_autoptr(GArray) more = search_propose(&f.search, &(int){0});
    g_assert_cmpuint(more->len, ==, 0);
    f.search.search_seconds = 9;
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_GOES_ON);
    search_job_clear(&f);
}

/* The best time of the problem is known to whoever measures: it may end the search between two rounds. */
static void test_a_close_job_goes_on(void)
{
    struct search_job f;
    search_job_init(&f, &tunable, "exhaustive", 0, 3, 3);
    f.search.close_configs = 6;
    f.search.rival_ms = 1;
    next_measured(&f, 1.2);
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_TRIES_SPENT);
    f.search.rival_ms = 1.1;
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_GOES_ON);
    next_measured(&f, 1.2);
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_TRIES_SPENT);
    search_job_clear(&f);
}

static void test_little_to_gain_ends_it(void)
{
    struct search_job f;
    search_job_init(&f, &tunable, "exhaustive", 0, 0, 4);
    f.search.min_gain = 1;
    next_measured(&f, 1);
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_GOES_ON);
    next_measured(&f, 1); /* 8 equal times promise nothing */
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_GAIN_SMALL);
    f.search.min_gain = 0;
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_GOES_ON);
    search_job_clear(&f);
}

/* The copies of a job's rounds, as another worker reads them. */
static void take_history(struct search_job *other, const struct search_job *job)
{
    for (guint r = 0; r < job->rounds->len; r++) {
        const struct round *round = job->rounds->pdata[r];
        struct round *copy = round_new(round->config_count);
        for (int i = 0; i < round->config_count; i++) {
            copy->configs[i] = round->configs[i];
            copy->outcomes[i] = round->outcomes[i];
        }
        g_ptr_array_add(other->rounds, copy);
    }
}

static void set_times(struct round *round)
{
    for (int i = 0; i < round->config_count; i++) {
        const int32_t *values = round->configs[i].values;
        round->outcomes[i] =
            (struct outcome){.failure = values[1] == 5 ? FAILURE_WRONG_RESULT : FAILURE_NONE,
                             .median_ms = 1 + abs(values[0] - 4) + 0.1 * values[1]};
    }
}

/* Before each round another worker reads what is stored. It proposes what the one that stayed proposes. */
static void test_any_worker_goes_on_with_every_strategy(void)
{
    static const struct perf_config won = {2, {4, 3}};
    for (int strategy = 0; strategy < STRATEGY_COUNT; strategy++) {
        struct search_job stays;
        int rounds = 0;
        bool more = true;
        search_job_init(&stays, &tunable, strategy_table[strategy].name, 5, 0, 3);
        g_array_append_val(stays.prior, won);
        for (; more; rounds++) {
            struct search_job other;
            int default_index;
            search_job_init(&other, &tunable, strategy_table[strategy].name, 5, 0, 3);
            g_array_append_val(other.prior, won);
            take_history(&other, &stays);
            g_assert_cmpint(search_end_now(&other.search), ==, search_end_now(&stays.search));
            g_autofree char *expected = search_job_next(&stays, &default_index);
            g_autofree char *proposed = search_job_next(&other, &default_index);
            g_assert_cmpstr(proposed, ==, expected);
            set_times(stays.rounds->pdata[stays.rounds->len - 1]);
            more = expected[0] != '\0';
            search_job_clear(&other);
        }
        g_assert_cmpint(rounds, ==, 1 + (SPACE_COUNT + 2) / 3);
        g_assert_cmpint(search_end_now(&stays.search), ==, SEARCH_SPACE_TRIED);
        search_job_clear(&stays);
    }
}

static void test_untunable_solver_has_one_round(void)
{
    struct search_job f;
    int default_index;
    search_job_init(&f, &tunable, "random", 0, 0, 8);
    f.search.solver = &fixed;
    g_assert_cmpint(search_end_now(&f.search), ==, SEARCH_GOES_ON);
    g_autoptr(GArray) configs = search_propose(&f.search, &default_index);
    g_assert_cmpuint(configs->len, ==, 1);
    g_assert_cmpint(g_array_index(configs, struct perf_config, 0).count, ==, 0);
    g_assert_cmpint(default_index, ==, 0);
    g_free(search_job_next(&f, &default_index));
    g_assert_cmpint(search_end_now(&f.search), !=, SEARCH_GOES_ON);
    search_job_clear(&f);
}

/* Times grow with the distance from (1, 5); (2, 5) fails. */
static double made_up_time(const struct perf_config *config)
{
    return 1 + abs(config->values[0] - 1) + abs(config->values[1] - 5);
}

static void evaluate_last(struct search_job *f)
{
    struct round *round = g_ptr_array_index(f->rounds, f->rounds->len - 1);
    for (int i = 0; i < round->config_count; i++) {
        const struct perf_config *config = &round->configs[i];
        bool wrong = config->values[0] == 2 && config->values[1] == 5;
        round->outcomes[i] =
            (struct outcome){.failure = wrong ? FAILURE_WRONG_RESULT : FAILURE_NONE,
                             .median_ms = wrong ? 0.001 : made_up_time(config)};
    }
}

/* The rounds of a whole job, joined by "; ". */
static char *run_job(struct search_job *f, const struct solver *solver)
{
    g_autoptr(GString) all = g_string_new(NULL);
    f->search.solver = solver;
    for (int i = 0; i < 40 && search_end_now(&f->search) == SEARCH_GOES_ON; i++) {
        int default_index;
        g_autofree char *round = search_job_next(f, &default_index);
        g_assert_cmpstr(round, !=, "");
        g_string_append_printf(all, "%s%s", all->len ? "; " : "", round);
        evaluate_last(f);
    }
    g_autoptr(GArray) more = search_propose(&f->search, &(int){0});
    g_assert_cmpuint(more->len, ==, 0);
    return g_string_free(g_steal_pointer(&all), FALSE);
}

static void test_own_search_replaces_the_strategy(void)
{
    static const struct {
        const char *strategy;
        int limit, round;
        const char *expected;
    } cases[] = {
        {"random", 0, 3, "3,2; 3,2 1,2 3,1 3,3; 3,2 1,1 1,3; 3,2 2,3 1,4; 3,2 3,4 1,5; 3,2 2,5"},
        {"random", 0, 1,
         "3,2; 3,2 1,2; 3,2 1,1; 3,2 1,3; 3,2 2,3; 3,2 1,4; 3,2 3,4; 3,2 1,5; 3,2 2,5"},
        {"random", 4, 3, "3,2; 3,2 1,2 3,1 3,3"},
        {"random", 1, 3, "3,2"},
        {"local", 4, 3, "3,2; 3,2 1,2 3,1 3,3"},
        {"prior", 4, 3, "3,2; 3,2 1,2 3,1 3,3"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct search_job f;
        search_job_init(&f, &tunable, cases[i].strategy, 0, cases[i].limit, cases[i].round);
        g_autofree char *rounds = run_job(&f, &walking);
        g_assert_cmpstr(rounds, ==, cases[i].expected);
        search_job_clear(&f);
    }
}

/* An exhaustive campaign gets the whole space, also of a solver with a search of its own. */
static void test_exhaustive_has_no_own_search(void)
{
    struct search_job f;
    int all;
    search_job_init(&f, &tunable, "exhaustive", 0, 0, 5);
    g_autofree char *rounds = run_job(&f, &walking);
    g_assert_true(g_str_has_prefix(rounds, "3,2 1,1 1,2 1,3 1,4; 3,2 1,5"));
    g_assert_cmpint(count_distinct(&f, &all), ==, SPACE_COUNT);
    search_job_clear(&f);
}

static void test_own_search_replays(void)
{
    struct search_job a, b;
    search_job_init(&a, &tunable, "random", 1, 0, 2);
    search_job_init(&b, &tunable, "random", 2, 0, 2);
    g_autofree char *first = run_job(&a, &walking);
    g_autofree char *second = run_job(&b, &walking);
    g_assert_cmpstr(first, ==, second);
    search_job_clear(&a);
    search_job_clear(&b);
}

static void test_careless_proposals_are_filtered(void)
{
    struct search_job f;
    search_job_init(&f, &tunable, "random", 0, 0, 9);
    g_array_append_val(f.quarantined, ((const struct perf_config){2, {1, 3}}));
    g_autofree char *rounds = run_job(&f, &careless);
    g_assert_cmpstr(rounds, ==, "3,2 1,1 1,5");
    search_job_clear(&f);
}

/* A quarantined config counts as failed: the search neither ends at it nor continues from it. */
static void test_own_search_sees_quarantined_as_failed(void)
{
    struct search_job f;
    int default_index;
    search_job_init(&f, &tunable, "random", 0, 0, 1);
    f.search.solver = &walking;
    g_free(search_job_next(&f, &default_index));
    evaluate_last(&f);
    g_array_append_val(f.quarantined, ((const struct perf_config){2, {1, 2}}));
    g_autofree char *second = search_job_next(&f, &default_index);
    g_assert_cmpstr(second, ==, "3,2 3,1");
    evaluate_last(&f);
    g_array_set_size(f.quarantined, 0);
    g_autofree char *third = search_job_next(&f, &default_index);
    g_assert_cmpstr(third, ==, "3,2 1,2");
    evaluate_last(&f);
    g_array_append_val(f.quarantined, ((const struct perf_config){2, {1, 2}}));
    g_autofree char *fourth = search_job_next(&f, &default_index);
    g_assert_cmpstr(fourth, ==, "3,2 3,3");
    search_job_clear(&f);
}

static void test_every_strategy_fills_a_round(void)
{
    for (int i = 0; i < STRATEGY_COUNT; i++) {
        struct search_job f;
        int default_index;
        search_job_init(&f, &tunable, strategy_table[i].name, 1, 0, 4);
        g_autofree char *configs = search_job_next(&f, &default_index);
        g_test_message("%s: %s", strategy_table[i].name, configs);
        g_assert_cmpint(default_index, ==, 0);
        g_assert_nonnull(strchr(configs, ' '));
        search_job_clear(&f);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/search/solvers_of_a_seed_draw_apart", test_solvers_draw_apart);
    g_test_add_func("/search/exhaustive_walks_in_order", test_exhaustive_walks_in_order);
    g_test_add_func("/search/no_config_is_drawn_twice", test_nothing_is_drawn_twice);
    g_test_add_func("/search/equal_inputs_give_equal_rounds", test_equal_inputs_give_equal_rounds);
    g_test_add_func("/search/random_is_uniform", test_random_is_uniform);
    g_test_add_func("/search/quarantined_configs_are_not_proposed", test_quarantined_is_left_out);
    g_test_add_func("/search/of_another_search_only_the_default_counts",
                    test_configs_of_another_search_do_not_count_but_for_the_default);
    g_test_add_func("/search/attempts_steer_the_search", test_attempts_steer_the_search);
    g_test_add_func("/search/seconds_of_the_device_end_it", test_seconds_of_the_device_end_it);
    g_test_add_func("/search/a_job_close_to_its_problems_best_goes_on", test_a_close_job_goes_on);
    g_test_add_func("/search/little_to_gain_ends_it", test_little_to_gain_ends_it);
    g_test_add_func("/search/any_worker_goes_on_with_every_strategy",
                    test_any_worker_goes_on_with_every_strategy);
    g_test_add_func("/search/untunable_solver_has_one_round", test_untunable_solver_has_one_round);
    g_test_add_func("/search/own/replaces_the_strategy", test_own_search_replaces_the_strategy);
    g_test_add_func("/search/own/exhaustive_ignores_it", test_exhaustive_has_no_own_search);
    g_test_add_func("/search/own/replays", test_own_search_replays);
    g_test_add_func("/search/own/careless_proposals_are_filtered",
                    test_careless_proposals_are_filtered);
    g_test_add_func("/search/own/quarantined_configs_count_as_failed",
                    test_own_search_sees_quarantined_as_failed);
    g_test_add_func("/search/every_strategy_fills_a_round", test_every_strategy_fills_a_round);
    return g_test_run();
}
