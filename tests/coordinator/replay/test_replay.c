/* Replays: what is counted, what a prior gives, and that a search sees nothing but its own results. */
#include <math.h>
#include <stdlib.h>

#include "coordinator/replay/replay.h"

/* A space of SIDE x SIDE configs whose time grows with the distance from (best_x, best_y); every seventh config
 * fails. Written in an order that begins with the slowest or the fastest. */
#define SIDE 12
static RecordedSpace *bowl(int best_x, int best_y, bool fastest_first)
{
    g_autoptr(GString) text = g_string_new(
        "{\"tune_params_keys\": [\"X\", \"Y\"], \"kernel_name\": \"bowl\", \"cache\": {");
    g_autoptr(GError) error = NULL;
    const char *comma = "";
    for (int near = 0; near < 2 * SIDE; near++)
        for (int i = 0; i < SIDE * SIDE; i++) {
            int x = i / SIDE, y = i % SIDE, far = abs(x - best_x) + abs(y - best_y);
            if (far != (fastest_first ? near : 2 * SIDE - 1 - near))
                continue;
            g_string_append_printf(text,
                                   "%s\"%d,%d\": {\"X\": %d, \"Y\": %d, \"compile_time\": 500, ",
                                   comma, x, y, x, y);
            if (i % 7 == 3 && far > 0)
                g_string_append(text, "\"time\": \"RuntimeFailedConfig\"}");
            else
                g_string_append_printf(text, "\"time\": %d, \"times\": [%d, %d, %d]}", 10 + 3 * far,
                                       9 + 3 * far, 10 + 3 * far, 11 + 3 * far);
            comma = ", ";
        }
    g_string_append(text, "}}");
    RecordedSpace *space = recorded_space_parse("bowl", text->str, text->len, &error);
    g_assert_no_error(error);
    return space;
}

static bool equal_runs(const struct replay_run *a, const struct replay_run *b)
{
    bool equal = a->tries->len == b->tries->len;
    for (guint i = 0; equal && i < a->tries->len; i++) {
        const struct replay_try *left = &g_array_index(a->tries, struct replay_try, i);
        const struct replay_try *right = &g_array_index(b->tries, struct replay_try, i);
        equal = left->index == right->index && left->observed_ms == right->observed_ms;
    }
    return equal;
}

static struct replay_setup setup_of(const RecordedSpace *space, enum strategy_id strategy)
{
    return (struct replay_setup){.space = space, .strategy = strategy, .batch = REPLAY_BATCH};
}

static void test_every_strategy_finds_the_optimum_and_repeats(void)
{
    g_autoptr(RecordedSpace) space = bowl(3, 8, false);
    for (int strategy = 0; strategy < STRATEGY_COUNT; strategy++) {
        struct replay_setup setup = setup_of(space, strategy);
        for (uint64_t seed = 0; seed < 5; seed++) {
            struct replay_run *run = replay_once(&setup, seed), *again = replay_once(&setup, seed);
            const struct replay_try *last =
                &g_array_index(run->tries, struct replay_try, run->tries->len - 1);
            g_assert_cmpint(last->index, ==, space->best);
            g_assert_cmpfloat(run->tries_to[REPLAY_OPTIMUM], ==, run->tries->len);
            g_assert_cmpfloat(run->seconds_to[REPLAY_OPTIMUM], ==, 0.5 * run->tries->len);
            g_assert_true(equal_runs(run, again));
            replay_run_free(run);
            replay_run_free(again);
        }
    }
}

/* A file that begins with the fastest configs gives the same searches: its order is not seen. */
static void test_order_of_the_file_is_not_seen(void)
{
    g_autoptr(RecordedSpace) slowest = bowl(3, 8, false);
    g_autoptr(RecordedSpace) fastest = bowl(3, 8, true);
    for (int strategy = 0; strategy < STRATEGY_COUNT; strategy++) {
        struct replay_setup one = setup_of(slowest, strategy), other = setup_of(fastest, strategy);
        struct replay_run *run = replay_once(&one, 1), *same = replay_once(&other, 1);
        g_assert_true(equal_runs(run, same));
        replay_run_free(run);
        replay_run_free(same);
    }
}

static void test_failed_tries_count_and_are_observed_as_failed(void)
{
    g_autoptr(RecordedSpace) space = bowl(11, 11, false);
    struct replay_setup setup = setup_of(space, SEARCH_EXHAUSTIVE);
    struct replay_run *run = replay_once(&setup, 0);
    guint failed = 0;
    for (guint i = 0; i < run->tries->len; i++)
        failed += isinf(g_array_index(run->tries, struct replay_try, i).observed_ms) ? 1 : 0;
    g_assert_cmpuint(run->tries->len, ==, SIDE * SIDE);
    g_assert_cmpuint(failed, ==, (guint)space->failed);
    replay_run_free(run);
}

static void test_prior_of_the_same_space_begins_with_its_best(void)
{
    g_autoptr(RecordedSpace) space = bowl(3, 8, false);
    g_autoptr(RecordedSpace) other = bowl(3, 8, true);
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    g_ptr_array_add(others, other);
    struct replay_prior prior = {.others = others, .best = 1, .most = REPLAY_PRIOR_MOST};
    struct replay_setup setup = setup_of(space, SEARCH_PRIOR);
    setup.prior = &prior;
    struct replay_run *run = replay_once(&setup, 4);
    g_assert_cmpfloat(run->tries_to[REPLAY_OPTIMUM], ==, 1);
    replay_run_free(run);
    /* Five tries of the other space's search do not find its best config. */
    prior.tries = 5;
    run = replay_once(&setup, 4);
    g_assert_cmpfloat(run->tries_to[REPLAY_OPTIMUM], >, 1);
    replay_run_free(run);
}

static void test_noise_is_that_of_the_recorded_runs(void)
{
    g_autoptr(RecordedSpace) space = bowl(0, 0, false);
    double sum = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        double ms = recorded_space_observe(space, space->best, seed);
        /* The runs are 9, 10 and 11: medians of draws are these three. */
        g_assert_true(ms == 9 || ms == 10 || ms == 11);
        sum += ms;
    }
    g_assert_cmpfloat_with_epsilon(sum / 300, 10, 0.2);
    g_assert_cmpfloat(sum, !=, 3000);
}

static void test_percentile_of_searches_that_ended_before_is_infinite(void)
{
    g_autoptr(RecordedSpace) space = bowl(3, 8, false);
    struct replay_setup setup = setup_of(space, SEARCH_RANDOM);
    setup.budget.tries = 40;
    g_autoptr(GPtrArray) runs = replay_seeds(&setup, 50);
    const struct replay_summary summary = replay_summarize(runs);
    g_assert_cmpint(summary.reached[REPLAY_OPTIMUM], >, 0);
    g_assert_cmpint(summary.reached[REPLAY_OPTIMUM], <, 48);
    g_assert_true(isinf(summary.tries[REPLAY_OPTIMUM].p95));
    for (guint i = 0; i < runs->len; i++)
        g_assert_cmpuint(((const struct replay_run *)runs->pdata[i])->tries->len, <=, 40);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/replay/every_strategy_finds_the_optimum_and_repeats",
                    test_every_strategy_finds_the_optimum_and_repeats);
    g_test_add_func("/replay/order_of_the_file_is_not_seen", test_order_of_the_file_is_not_seen);
    g_test_add_func("/replay/failed_tries_count_and_are_observed_as_failed",
                    test_failed_tries_count_and_are_observed_as_failed);
    g_test_add_func("/replay/prior_of_the_same_space_begins_with_its_best",
                    test_prior_of_the_same_space_begins_with_its_best);
    g_test_add_func("/replay/noise_is_that_of_the_recorded_runs",
                    test_noise_is_that_of_the_recorded_runs);
    g_test_add_func("/replay/percentile_of_searches_that_ended_before_is_infinite",
                    test_percentile_of_searches_that_ended_before_is_infinite);
    return g_test_run();
}
