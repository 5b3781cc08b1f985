#include "coordinator/replay/replay.h"

#include <math.h>
#include <stdlib.h>

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

/* ---- priors ---- */

struct known {
    int index;
    double time;
};

static int compare_known(gconstpointer a, gconstpointer b)
{
    const struct known *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->index - right->index;
}

/* What is known of another space, the fastest first (struct known): all of it, or what its own search has tried,
 * with the times that this search observed. */
static GArray *known_of(const struct recorded_space *other, int tries, uint64_t seed)
{
    GArray *known = g_array_new(FALSE, FALSE, sizeof(struct known));
    const struct replay_setup setup = {
        .space = other, .strategy = SEARCH_PRIOR, .budget.tries = tries, .batch = REPLAY_BATCH};
    struct replay_run *run = tries > 0 ? replay_once(&setup, seed) : NULL;
    guint count = run ? run->tries->len : other->configs->len;
    for (guint i = 0; i < count; i++) {
        struct known one = {(int)i, config_at(other, run ? 0 : (int)i)->time_ms};
        if (run) {
            const struct replay_try *tried = &g_array_index(run->tries, struct replay_try, i);
            one = (struct known){tried->index, tried->observed_ms};
        }
        if (isfinite(one.time))
            g_array_append_val(known, one);
    }
    g_array_sort(known, compare_known);
    if (run)
        replay_run_free(run);
    return known;
}

static bool has_config(const GArray *configs, const struct perf_config *config)
{
    for (guint i = 0; i < configs->len; i++)
        if (perf_config_equal(&g_array_index(configs, struct perf_config, i), config))
            return true;
    return false;
}

/* The prior's configs (struct perf_config): the best of each other space, then the second best, and so on. */
static GArray *prior_configs(const struct replay_setup *setup, uint64_t seed)
{
    const struct replay_prior *prior = setup->prior;
    GArray *configs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint o = 0; prior && o < prior->others->len; o++)
        g_ptr_array_add(known, known_of(g_ptr_array_index(prior->others, o), prior->tries, seed));
    for (guint rank = 0; prior && rank < (guint)prior->best; rank++)
        for (guint o = 0; o < known->len; o++) {
            const GArray *list = g_ptr_array_index(known, o);
            struct perf_config config;
            if (configs->len < (guint)prior->most && rank < list->len &&
                recorded_space_translate(setup->space, g_ptr_array_index(prior->others, o),
                                         g_array_index(list, struct known, rank).index, &config) &&
                !has_config(configs, &config))
                g_array_append_val(configs, config);
        }
    return configs;
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

struct replay_run *replay_once(const struct replay_setup *setup, uint64_t seed)
{
    const struct recorded_space *space = setup->space;
    g_autoptr(GArray) prior = prior_configs(setup, seed);
    g_autoptr(Searcher) searcher = begin(setup, prior, seed);
    int batch = batch_of(setup);
    const enum replay_mark_id last = setup->ends_at_1pct ? REPLAY_1PCT : REPLAY_OPTIMUM;
    g_autofree struct perf_config *configs = g_new(struct perf_config, batch);
    struct replay_run *run = g_new0(struct replay_run, 1);
    double seconds = 0;
    int count;
    run->seed = seed;
    run->tries = g_array_new(FALSE, FALSE, sizeof(struct replay_try));
    for (int mark = 0; mark < REPLAY_MARK_COUNT; mark++)
        run->tries_to[mark] = run->seconds_to[mark] = INFINITY;
    while (!isfinite(run->tries_to[last]) &&
           (count = searcher_propose(searcher, batch, configs)) > 0)
        for (int i = 0; i < count && !isfinite(run->tries_to[last]); i++) {
            struct replay_try tried = {.index = recorded_space_find(space, &configs[i])};
            g_assert(tried.index >= 0);
            const struct recorded_config *config = config_at(space, tried.index);
            tried.observed_ms = recorded_space_observe(space, tried.index, seed);
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
