/* The partial form's own search strategy, on times that a formula gives. */
#include <math.h>
#include <string.h>

#include "solvers/framework/solver.h"

#define CONFIGS_MOST 200
#define FIX_COUNT    5

static const struct solver *solver;
static struct target target;
static struct context context;
static struct problem problem;
static int first_fix;

/* The configs that the search has tried, in order. */
struct history {
    struct tried_config tried[CONFIGS_MOST];
    int count;
};

typedef double time_fn(const struct perf_config *config);

static int value_of(const struct perf_config *config, const char *name)
{
    for (int i = 0; i < solver->space->param_count; i++) {
        if (strcmp(solver->space->params[i].name, name) == 0)
            return config->values[i];
    }
    g_assert_not_reached();
}

static bool is_tried(const struct history *history, const struct perf_config *config)
{
    for (int i = 0; i < history->count; i++) {
        if (perf_config_equal(&history->tried[i].config, config))
            return true;
    }
    return false;
}

static void try(struct history *history, const struct perf_config *config, time_fn *time)
{
    g_assert_cmpint(history->count, <, CONFIGS_MOST);
    g_assert_false(is_tried(history, config));
    g_assert_true(space_contains(solver->space, &problem, &context, config, NULL));
    history->tried[history->count++] = (struct tried_config){*config, time(config)};
}

/* Runs the search: the default config first, then batches of at most `wanted` proposals until
 * nothing is proposed. */
static void run_search(struct history *history, time_fn *time, int wanted)
{
    struct perf_config configs[CONFIGS_MOST];
    int count;

    history->count = 0;
    solver->default_config(&problem, &context, &configs[0]);
    try(history, &configs[0], time);
    do {
        count =
            solver->propose(&problem, &context, history->tried, history->count, wanted, configs);
        g_assert_cmpint(count, <=, wanted);
        for (int i = 0; i < count; i++)
            try(history, &configs[i], time);
    } while (count > 0);
}

static const struct tried_config *best_of(const struct history *history)
{
    const struct tried_config *best = &history->tried[0];

    for (int i = 1; i < history->count; i++) {
        if (history->tried[i].time_ms < best->time_ms)
            best = &history->tried[i];
    }
    return best;
}

/* Large square blocks are the fastest; compiling in the channels gains 10 %, the images 5 %, and
 * the filter loses time. */
static double usual_time(const struct perf_config *config)
{
    int rows = value_of(config, "THREADS_M") * value_of(config, "TILE_M");
    int columns = value_of(config, "THREADS_N") * value_of(config, "TILE_VECTORS") * 4;
    double time = 1 + fabs(log2(rows / 64.0)) + fabs(log2(columns / 128.0));

    time += 0.1 * fabs(log2(value_of(config, "BLOCK_K") / 16.0));
    time *= value_of(config, "FIX_CHANNELS") ? 0.90 : 1;
    time *= value_of(config, "FIX_IMAGE") ? 0.95 : 1;
    time *= value_of(config, "FIX_FILTER") ? 1.05 : 1;
    return time;
}

static double every_config_fails(const struct perf_config *config)
{
    (void)config;
    return INFINITY;
}

/* The time of the tried config that differs from `base` only in whether choice `fix` is compiled
 * in; NAN if it was not tried. */
static double time_of_flip(const struct history *history, const struct perf_config *base, int fix)
{
    struct perf_config flipped = *base;

    flipped.values[first_fix + fix] ^= 1;
    for (int i = 0; i < history->count; i++) {
        if (perf_config_equal(&history->tried[i].config, &flipped))
            return history->tried[i].time_ms;
    }
    return NAN;
}

static const struct tried_config *best_default_choice(const struct history *history)
{
    const struct tried_config *best = NULL;

    for (int i = 0; i < history->count; i++) {
        const struct tried_config *tried = &history->tried[i];
        if (memcmp(&tried->config.values[first_fix], &history->tried[0].config.values[first_fix],
                   FIX_COUNT * sizeof(int32_t)) == 0 &&
            (!best || tried->time_ms < best->time_ms))
            best = tried;
    }
    return best;
}

static void each_choice_is_measured_with_all_else_equal(void)
{
    struct history history;
    const struct tried_config *base;

    run_search(&history, usual_time, 8);
    base = best_default_choice(&history);
    for (int fix = 0; fix < FIX_COUNT; fix++)
        g_assert_false(isnan(time_of_flip(&history, &base->config, fix)));
}

static void gains_are_tried_together(void)
{
    struct history history;
    const struct tried_config *best;

    run_search(&history, usual_time, 8);
    best = best_of(&history);
    g_assert_cmpint(value_of(&best->config, "FIX_FILTER"), ==, 0);
    g_assert_cmpint(value_of(&best->config, "FIX_CONV"), ==, 1);
    g_assert_cmpint(value_of(&best->config, "FIX_CHANNELS"), ==, 1);
    g_assert_cmpint(value_of(&best->config, "FIX_IMAGE"), ==, 1);
    g_assert_cmpint(value_of(&best->config, "FIX_BATCH"), ==, 0);
}

/* From sixteen tiles among hundreds, the search steps to neighbours until it reaches one whose time
 * is near the best. */
static void the_best_tile_is_come_near_to(void)
{
    struct history history;
    struct space_walk walk;
    struct perf_config config;
    double least = INFINITY;

    run_search(&history, usual_time, 8);
    space_walk_init(&walk, solver->space, &problem, &context);
    while (space_walk_next(&walk, &config))
        least = MIN(least, usual_time(&config));
    g_assert_cmpfloat(best_of(&history)->time_ms, <=, 1.3 * least);
    g_assert_cmpint(history.count, <=, 32); /* 32 is the default limit of a job's configs */
}

static void rounds_of_one_come_to_the_same_choice(void)
{
    struct history by_one, by_many;

    run_search(&by_one, usual_time, 1);
    run_search(&by_many, usual_time, 32);
    g_assert_cmpmem(&best_of(&by_one)->config.values[first_fix], FIX_COUNT * sizeof(int32_t),
                    &best_of(&by_many)->config.values[first_fix], FIX_COUNT * sizeof(int32_t));
}

/* The same history always gives the same proposals, so a replayed job tries the same configs. */
static void equal_histories_give_equal_proposals(void)
{
    struct perf_config first[8], again[8];
    struct history history;

    run_search(&history, usual_time, 8);
    for (int tried = 0; tried <= history.count; tried++) {
        int count = solver->propose(&problem, &context, history.tried, tried, 8, first);
        g_assert_cmpint(solver->propose(&problem, &context, history.tried, tried, 8, again), ==,
                        count);
        for (int i = 0; i < count; i++)
            g_assert_true(perf_config_equal(&first[i], &again[i]));
    }
}

static void search_ends_if_every_config_fails(void)
{
    struct history history;

    run_search(&history, every_config_fails, 8);
    g_assert_cmpint(history.count, >=, 8);
    g_assert_cmpint(history.count, <=, 17);
}

/* No choice gains time: each is tried alone once, and no combination of them. */
static double flat_time(const struct perf_config *config)
{
    (void)config;
    return 1;
}

static void without_gains_nothing_is_combined(void)
{
    struct history history;
    const struct tried_config *base;

    run_search(&history, flat_time, 8);
    base = &history.tried[0];
    for (int i = 0; i < history.count; i++) {
        int flips = 0;
        for (int fix = first_fix; fix < first_fix + FIX_COUNT; fix++)
            flips += history.tried[i].config.values[fix] != base->config.values[fix];
        g_assert_cmpint(flips, <=, 1);
    }
}

static void set_up(void)
{
    solver = solver_find("ConvImplicitGemmPartial");
    g_assert_true(target_parse("gfx90a68", &target, NULL));
    context_init(&context, &target);
    problem_init(&problem);
    problem.n = 16;
    problem.c = problem.k = 128;
    problem.in[AXIS_H] = problem.in[AXIS_W] = 28;
    problem.fil[AXIS_H] = problem.fil[AXIS_W] = 3;
    problem.pad[AXIS_H] = problem.pad[AXIS_W] = 1;
    problem_set_output(&problem);
    first_fix = solver->space->param_count - FIX_COUNT;
    g_assert_cmpstr(solver->space->params[first_fix].name, ==, "FIX_FILTER");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    set_up();
    g_test_add_func("/conv_implicit_gemm_partial/each_choice_is_measured_with_all_else_equal",
                    each_choice_is_measured_with_all_else_equal);
    g_test_add_func("/conv_implicit_gemm_partial/gains_are_tried_together",
                    gains_are_tried_together);
    g_test_add_func("/conv_implicit_gemm_partial/the_best_tile_is_come_near_to",
                    the_best_tile_is_come_near_to);
    g_test_add_func("/conv_implicit_gemm_partial/rounds_of_one_come_to_the_same_choice",
                    rounds_of_one_come_to_the_same_choice);
    g_test_add_func("/conv_implicit_gemm_partial/equal_histories_give_equal_proposals",
                    equal_histories_give_equal_proposals);
    g_test_add_func("/conv_implicit_gemm_partial/search_ends_if_every_config_fails",
                    search_ends_if_every_config_fails);
    g_test_add_func("/conv_implicit_gemm_partial/without_gains_nothing_is_combined",
                    without_gains_nothing_is_combined);
    return g_test_run();
}
