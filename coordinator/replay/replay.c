#include "coordinator/replay/replay.h"

#include <math.h>
#include <stdlib.h>

#include "coordinator/replay/replay_prior.h"
#include "solvers/search/searcher.h"

#define BLIND_BATCH 512

const struct replay_mark replay_marks[REPLAY_MARK_COUNT] = {
#define REPLAY_MARK(id, name, title, factor) [id] = {name, title, factor},
    REPLAY_MARKS(REPLAY_MARK)
#undef REPLAY_MARK
};

static const struct recorded_config *config_at(const struct recorded_space *space, int index)
{
    return &g_array_index(space->configs, struct recorded_config, index);
}

/* ---- one search ---- */

static Searcher *begin(const struct replay_setup *setup, const GArray *prior, uint64_t seed)
{
    const struct recorded_space *space = setup->space;
    const struct searcher_setup searched = {
        .space = &space->space,
        .strategy = setup->strategy,
        .seed = seed,
        .first =
            space->default_config >= 0 ? &config_at(space, space->default_config)->config : NULL,
        .prior = (const struct perf_config *)(const void *)prior->data,
        .prior_count = (int)prior->len,
        .budget = setup->budget,
    };
    return searcher_new(&searched);
}

/* Strategies whose order does not depend on results give the same order in larger batches, and sooner: each proposal
 * walks through the space. */
static int batch_of(const struct replay_setup *setup)
{
    bool blind = setup->strategy == SEARCH_RANDOM || setup->strategy == SEARCH_EXHAUSTIVE;
    return blind ? MAX(setup->batch, BLIND_BATCH) : setup->batch;
}

/* Notes the try by which the run comes as close as a mark says. */
static void note_marks(const struct recorded_space *space, struct replay_run *run, double time_ms,
                       double seconds)
{
    double best_ms = config_at(space, space->best)->time_ms;
    for (int mark = 0; mark < REPLAY_MARK_COUNT; mark++)
        if (!isfinite(run->tries_to[mark]) && time_ms <= replay_marks[mark].factor * best_ms) {
            run->tries_to[mark] = run->tries->len;
            run->seconds_to[mark] = seconds;
        }
}

/* Whether the run has come as close as it shall. */
static bool is_over(const struct replay_setup *setup, const struct replay_run *run)
{
    return !setup->goes_on &&
           isfinite(run->tries_to[setup->ends_at_1pct ? REPLAY_1PCT : REPLAY_OPTIMUM]);
}

struct replay_run *replay_once(const struct replay_setup *setup, uint64_t seed)
{
    const struct recorded_space *space = setup->space;
    g_autoptr(GArray) made = setup->given ? NULL : replay_prior_configs(setup, seed);
    const GArray *prior = setup->given ? setup->given : made;
    g_autoptr(Searcher) searcher = begin(setup, prior, seed);
    int batch = batch_of(setup);
    for (guint i = 0; setup->hints && i < setup->hints->len; i++) {
        const struct tried_config *hint = &g_array_index(setup->hints, struct tried_config, i);
        searcher_hint(searcher, &hint->config, hint->time_ms);
    }
    g_autofree struct perf_config *configs = g_new(struct perf_config, batch);
    struct replay_run *run = g_new0(struct replay_run, 1);
    uint64_t noise = setup->night > 0 ? search_mix(seed, (uint64_t)setup->night) : seed;
    double seconds = 0;
    int count;
    run->seed = seed;
    run->tries = g_array_new(FALSE, FALSE, sizeof(struct replay_try));
    for (int mark = 0; mark < REPLAY_MARK_COUNT; mark++)
        run->tries_to[mark] = run->seconds_to[mark] = INFINITY;
    while (!is_over(setup, run) && (count = searcher_propose(searcher, batch, configs)) > 0)
        for (int i = 0; i < count && !is_over(setup, run); i++) {
            struct replay_try tried = {.index = recorded_space_find(space, &configs[i])};
            g_assert(tried.index >= 0);
            const struct recorded_config *config = config_at(space, tried.index);
            tried.observed_ms = recorded_space_observe(space, tried.index, noise);
            seconds += config->seconds;
            g_array_append_val(run->tries, tried);
            searcher_observe(searcher, &(struct search_try){.config = configs[i],
                                                            .time = tried.observed_ms,
                                                            .seconds = config->seconds});
            note_marks(space, run, config->time_ms, seconds);
        }
    return run;
}

void replay_run_free(struct replay_run *run)
{
    g_array_unref(run->tries);
    g_free(run);
}

/* ---- many searches ---- */

struct seeds {
    const struct replay_setup *setup;
    GPtrArray *runs;
};

static void run_seed(gpointer data, gpointer user)
{
    struct seeds *seeds = user;
    guint seed = GPOINTER_TO_UINT(data) - 1;
    seeds->runs->pdata[seed] = replay_once(seeds->setup, seed);
}

GPtrArray *replay_seeds(const struct replay_setup *setup, int count)
{
    struct seeds seeds = {setup, g_ptr_array_new_with_free_func((GDestroyNotify)replay_run_free)};
    g_ptr_array_set_size(seeds.runs, count);
    GThreadPool *pool =
        g_thread_pool_new(run_seed, &seeds, (int)g_get_num_processors(), FALSE, NULL);
    for (int seed = 0; seed < count; seed++)
        g_thread_pool_push(pool, GUINT_TO_POINTER(seed + 1), NULL);
    g_thread_pool_free(pool, FALSE, TRUE);
    return seeds.runs;
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static struct replay_figure figure_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (struct replay_figure){
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .p95 = values[(count * 95 + 99) / 100 - 1],
    };
}

struct replay_summary replay_summarize(const GPtrArray *runs)
{
    struct replay_summary summary = {0};
    int count = (int)runs->len;
    g_autofree double *tries = g_new(double, count);
    g_autofree double *seconds = g_new(double, count);
    for (int mark = 0; mark < REPLAY_MARK_COUNT; mark++) {
        for (int i = 0; i < count; i++) {
            const struct replay_run *run = g_ptr_array_index(runs, i);
            tries[i] = run->tries_to[mark];
            seconds[i] = run->seconds_to[mark];
            summary.reached[mark] += isfinite(tries[i]) ? 1 : 0;
        }
        summary.tries[mark] = figure_of(tries, count);
        summary.seconds[mark] = figure_of(seconds, count);
    }
    return summary;
}

/* ---- the trace ---- */

static json_t *ms_json(double ms)
{
    return isfinite(ms) ? json_real(ms) : json_null();
}

static void trace_run(const struct replay_setup *setup, const struct replay_run *run, FILE *out)
{
    for (guint i = 0; i < run->tries->len; i++) {
        const struct replay_try *tried = &g_array_index(run->tries, struct replay_try, i);
        const struct recorded_config *config = config_at(setup->space, tried->index);
        json_t *line = json_pack(
            "{s:s, s:I, s:i, s:o, s:o, s:o, s:s?, s:f}", "strategy",
            strategy_table[setup->strategy].name, "seed", (json_int_t)run->seed, "try", (int)i + 1,
            "config", recorded_config_json(setup->space, tried->index), "time_ms",
            ms_json(config->time_ms), "observed_ms", ms_json(tried->observed_ms), "failure",
            config->failure, "seconds", config->seconds);
        json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(17));
        fputc('\n', out);
        json_decref(line);
    }
}

void replay_trace(const struct replay_setup *setup, const GPtrArray *runs, FILE *out)
{
    for (guint i = 0; i < runs->len; i++)
        trace_run(setup, g_ptr_array_index(runs, i), out);
}
