/*
 * Measures what each step of measuring is worth (worker/MEASURING.md), on this machine's CPU or, with
 * SKIPJACK_TEST_DEVICE=gpu, on its first GPU. Four parts:
 *
 *   steps    rounds of a config between two measurements of the default config, and a slow one, with the whole protocol
 *            and with one step left out: the config's time over that of the whole protocol (bias), how far
 *            repeated rounds scatter, and what they cost; on the quiet device and, on a CPU, beside a neighbour that
 *            computes now and then;
 *   ways     the time of a run taken in other ways than the protocol's: by them the difference between a recorded time
 *            and an outside program's can be told apart;
 *   racing   without a device: launches that the first look and the rule 'lost' save, and whether they drop the fastest config, in
 *            recorded spaces (SKIPJACK_DATA/spaces, tests/bench/spaces/pocl) with their recorded noise; and what three steps do to
 *            the time of a space's fast configs;
 *   real     the same on configs of a solver's space, measured here.
 *
 * usage: bench_noise [steps|ways|racing|real]... [KEY]... [REPEATS]
 *
 * KEY: a problem for steps and ways instead of their own; at most four.
 */
#include "tests/support/bench/noise_racing.h"
#include "tests/support/bench/noise_subject.h"
#include "tests/support/temp_folder.h"

#include "schema/store/drift.h"
#include "worker/measure/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From runs of some microseconds to runs of milliseconds on a CPU, of tenths of a millisecond on a GPU. */
#define PROBLEMS 4
static const char *const cpu_problems[PROBLEMS] = {
    "16-14-14-1x1-16-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-14-14-3x3-64-14-14-1-1x1-1x1-1x1-0-NCHW-FP32-F",
    "64-28-28-1x1-64-28-28-4-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-28-28-3x3-64-28-28-2-1x1-1x1-1x1-0-NCHW-FP32-F",
};
static const char *const gpu_problems[PROBLEMS] = {
    "16-14-14-1x1-16-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-28-28-1x1-64-28-28-16-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-56-56-3x3-64-56-56-8-1x1-1x1-1x1-0-NCHW-FP32-F",
    "256-28-28-3x3-256-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F",
};

#define SAMPLE_SECONDS 0.1 /* a third of a worker's, so that the benchmark ends within minutes */
#define NAIVE          "ConvDirectNaive"

struct options {
    bool parts[4];
    const char *keys[PROBLEMS]; /* the problems of steps and ways */
    int key_count;
    int repeats;
};

static void choose_problems(struct options *options, const struct target *target)
{
    for (; options->key_count < PROBLEMS; options->key_count++)
        options->keys[options->key_count] = target->vendor == VENDOR_CPU
                                                ? cpu_problems[options->key_count]
                                                : gpu_problems[options->key_count];
}

/* ---- a neighbour that disturbs ---- */

#define NEIGHBOUR_PERIOD_US 700000
#define NEIGHBOUR_BUSY_US   250000

static gint neighbour_ends;

static gpointer disturb(gpointer data)
{
    volatile double sum = 0;

    (void)data;
    while (!g_atomic_int_get(&neighbour_ends)) {
        gint64 phase = g_get_monotonic_time() % NEIGHBOUR_PERIOD_US;
        if (phase > NEIGHBOUR_BUSY_US)
            g_usleep((gulong)(NEIGHBOUR_PERIOD_US - phase));
        for (int i = 0; i < 100000; i++)
            sum = sum + sqrt((double)i);
    }
    return NULL;
}

/* As many threads as the machine has cores. */
static GPtrArray *neighbour_new(void)
{
    GPtrArray *threads = g_ptr_array_new();

    g_atomic_int_set(&neighbour_ends, 0);
    for (guint i = 0; i < g_get_num_processors(); i++)
        g_ptr_array_add(threads, g_thread_new("neighbour", disturb, NULL));
    return threads;
}

static void neighbour_end(GPtrArray *threads)
{
    g_atomic_int_set(&neighbour_ends, 1);
    for (guint i = 0; i < threads->len; i++)
        g_thread_join(threads->pdata[i]);
    g_ptr_array_unref(threads);
}

/* ---- steps ---- */

/* Steps of a round that are not measure()'s. */
#define ROUND_COLD  (1u << 30) /* without it every run uses one copy of the tensors */
#define ROUND_DRIFT (1u << 29) /* without it a round that drifted is not measured again */

static const struct step_row {
    const char *left_out;
    unsigned without;
} step_rows[] = {
    {"nothing", 0},
    {"warm-up", MEASURE_WARM_UP},
    {"batch", MEASURE_BATCH},
    {"cold copies", ROUND_COLD},
    {"first look", MEASURE_FIRST_LOOK},
    {"lost", MEASURE_LOST},
    {"noise repeats", MEASURE_NOISE},
    {"drift repeat", ROUND_DRIFT},
    {"interval rule", MEASURE_INTERVAL},
};
#define STEP_ROWS G_N_ELEMENTS(step_rows)

struct step_cost {
    int64_t runs;
    double seconds;
};

static double measure_config(struct noise_subject *s, double best_ms, unsigned without,
                             struct step_cost *cost)
{
    gint64 start = g_get_monotonic_time();
    struct measurement m;

    s->copies = without & ROUND_COLD ? 1 : s->of->bench.copies;
    noise_subject_measure(s, SAMPLE_SECONDS, best_ms, without, &m);
    cost->runs += m.runs;
    cost->seconds += (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    return m.median_ms;
}

/* A round: the default config, the same config as one of the search, a slow one, the default again; and the second once more if the
 * default drifted. Returns the second's time. */
static double run_round(struct noise_subject *fast, struct noise_subject *slow, unsigned without,
                        struct step_cost *cost)
{
    double default_ms = measure_config(fast, 0, without, cost);
    double time_ms = measure_config(fast, default_ms, without, cost);

    if (slow)
        measure_config(slow, MIN(default_ms, time_ms), without, cost);
    double again_ms = measure_config(fast, 0, without, cost);
    if (drift_is_large(again_ms / default_ms) && !(without & ROUND_DRIFT))
        time_ms = measure_config(fast, again_ms, without, cost);
    return time_ms;
}

struct step_result {
    double log_bias, spread, worst; /* sums over problems */
    struct step_cost cost;
};

static double worst_of(GArray *times)
{
    double median = noise_median(times), worst = 0;

    for (guint i = 0; i < times->len; i++)
        worst = fmax(worst, fabs(g_array_index(times, double, i) / median - 1));
    return worst;
}

/* The median ratio of times that were taken in the same repeat; sorts none of them. */
static double median_ratio(const GArray *times, const GArray *whole)
{
    g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(double));

    for (guint i = 0; i < times->len; i++) {
        double ratio = g_array_index(times, double, i) / g_array_index(whole, double, i);
        g_array_append_val(ratios, ratio);
    }
    return noise_median(ratios);
}

/* The rows take turns, since a machine's speed changes. */
static void measure_steps(const struct noise_device *on, const char *key, int repeats,
                          struct step_result results[STEP_ROWS])
{
    GArray *times[STEP_ROWS];
    struct noise_problem of, of_slow;
    struct noise_subject fast, slow;

    noise_problem_open(&of, on, key);
    noise_problem_open(&of_slow, on, key);
    const struct solver *solver = noise_best_solver(&of);
    if (!solver || !noise_subject_open(&fast, &of, solver, NULL))
        g_error("no solver runs %s here", key);
    bool has_slow = noise_subject_open(&slow, &of_slow, solver_find(NAIVE), NULL);
    for (gsize i = 0; i < STEP_ROWS; i++)
        times[i] = g_array_new(FALSE, FALSE, sizeof(double));
    for (int r = 0; r < repeats; r++) {
        for (gsize i = 0; i < STEP_ROWS; i++) {
            double ms =
                run_round(&fast, has_slow ? &slow : NULL, step_rows[i].without, &results[i].cost);
            g_array_append_val(times[i], ms);
        }
    }
    for (gsize i = STEP_ROWS; i-- > 0;) {
        results[i].log_bias += log(median_ratio(times[i], times[0]));
        results[i].spread += noise_spread(times[i]);
        results[i].worst += worst_of(times[i]);
    }
    printf("  %-52s %-22s %9.4g ms\n", key, solver->name, noise_median(times[0]));
    for (gsize i = 0; i < STEP_ROWS; i++)
        g_array_unref(times[i]);
    fflush(stdout);
    if (has_slow)
        noise_subject_close(&slow);
    noise_subject_close(&fast);
    noise_problem_close(&of_slow);
    noise_problem_close(&of);
}

static void print_steps(const struct noise_device *on, const char *title,
                        const struct options *options)
{
    struct step_result results[STEP_ROWS] = {0};

    printf("\n%s; medians of the whole protocol, %d rounds of each row:\n", title,
           options->repeats);
    for (int p = 0; p < options->key_count; p++)
        measure_steps(on, options->keys[p], options->repeats, results);
    printf("%-14s %8s %10s %9s %11s %10s\n", "left out", "bias", "spread %", "worst %",
           "runs/round", "ms/round");
    for (gsize i = 0; i < STEP_ROWS; i++) {
        const struct step_result *r = &results[i];
        double rounds = (double)options->key_count * options->repeats;
        printf("%-14s %8.3f %10.2f %9.1f %11.0f %10.1f\n", step_rows[i].left_out,
               exp(r->log_bias / options->key_count), 100 * r->spread / options->key_count,
               100 * r->worst / options->key_count, (double)r->cost.runs / rounds,
               1e3 * r->cost.seconds / rounds);
    }
    fflush(stdout);
}

static void part_steps(const struct noise_device *on, const struct options *options)
{
    print_steps(on, "steps, one left out at a time, as the device is", options);
    if (on->target->vendor != VENDOR_CPU)
        return;
    GPtrArray *threads = neighbour_new();
    print_steps(on, "the same beside a neighbour that computes 0.25 s of every 0.7 s", options);
    neighbour_end(threads);
}

/* ---- ways ---- */

struct ways {
    const struct noise_device *on;
    struct noise_subject *subject;
    struct device_memory *flush; /* twice as large as the last-level cache */
    struct device_memory *tiny;
    int64_t flush_bytes;
    double fills_ms; /* the least time of a tiny fill in a batch */
    double run_ms;   /* a run's recorded time */
    int batch;       /* runs of a recorded reading */
    int64_t next;    /* number of the next run */
};

/* How a reading is taken. The device has nothing to do before, unless the way says otherwise. */
struct way {
    const char *name;
    bool single;       /* one run instead of a batch */
    bool lead;         /* the device works on three other runs while the reading is enqueued */
    bool flush;        /* the caches are overwritten before */
    bool between;      /* a tiny fill, whose own time is subtracted, runs between two runs */
    bool longer;       /* five batches as one, so that the events' own time is a fifth */
    bool busy_before;  /* the device works for a fifth of a second before, a run at a time */
    double row_ms;     /* runs in a row keep the device busy for so long before, without a gap */
    bool as_graph;     /* the batch is one graph */
    double cache_part; /* the copies fill this part of the cache; 0: all copies */
};

#define LEAD_RUNS      3
#define BUSY_BEFORE_US 200000

static const struct way ways_table[] = {
    {.name = "as recorded: a batch of runs"},
    {.name = "a batch five times as long", .longer = true},
    {.name = "a batch behind other work", .lead = true},
    {.name = "a batch after 0.2 s of work", .busy_before = true},
    {.name = "a batch behind 1 ms of runs", .row_ms = 1},
    {.name = "a batch behind 5 ms of runs", .row_ms = 5},
    {.name = "a batch behind 25 ms of runs", .row_ms = 25},
    {.name = "a batch behind 100 ms of runs", .row_ms = 100},
    {.name = "a batch as one graph", .as_graph = true},
    {.name = "a batch with a fill between runs", .between = true},
    {.name = "one run, the device idle before", .single = true},
    {.name = "one run behind other work", .single = true, .lead = true},
    {.name = "one run, caches overwritten", .single = true, .flush = true},
    {.name = "copies fill the cache once", .cache_part = 1},
    {.name = "copies fill half the cache", .cache_part = 0.5},
    {.name = "one copy", .cache_part = 1e-9},
};
#define WAYS G_N_ELEMENTS(ways_table)

static void must(bool done, GError *const *error)
{
    if (!done)
        g_error("%s", (*error)->message);
}

static void run_next(struct ways *w)
{
    g_autoptr(GError) error = NULL;

    must(noise_subject_run(w->subject, w->next++, &error), &error);
}

static void fill_tiny(struct ways *w)
{
    g_autoptr(GError) error = NULL;

    must(w->on->device->row->fill(w->tiny, 0, 4, (uint8_t)w->next, &error), &error);
}

static void prepare_device(struct ways *w, const struct way *way)
{
    const struct device_row *row = w->on->device->row;
    g_autoptr(GError) error = NULL;
    gint64 start = g_get_monotonic_time();

    while (way->busy_before && g_get_monotonic_time() - start < BUSY_BEFORE_US) {
        run_next(w);
        must(row->sync(w->on->device, &error), &error);
    }
    must(row->sync(w->on->device, &error), &error);
    if (way->flush)
        must(row->fill(w->flush, 0, w->flush_bytes, (uint8_t)w->next, &error), &error);
    for (int i = 0; way->lead && i < LEAD_RUNS; i++)
        run_next(w);
    for (int64_t end = w->next + (int64_t)ceil(way->row_ms / w->run_ms); w->next < end;)
        run_next(w);
}

static struct device_graph *capture(struct ways *w, int batch)
{
    const struct device_row *row = w->on->device->row;
    g_autoptr(GError) error = NULL;

    must(row->capture_begin(w->on->device, &error), &error);
    for (int i = 0; i < batch; i++)
        run_next(w);
    struct device_graph *graph = row->capture_end(w->on->device, &error);
    must(graph != NULL, &error);
    return graph;
}

/* The time between two events around `runs` runs, and a fill after each of them if wished. */
static double between_events(struct ways *w, struct device_graph *graph, int runs, int fills)
{
    const struct device_row *row = w->on->device->row;
    g_autoptr(GError) error = NULL;
    struct device_event *from = row->record(w->on->device, &error);
    double ms = 0;

    must(from != NULL, &error);
    if (graph)
        must(row->graph_launch(w->on->device, graph, &error), &error);
    for (int i = 0; i < MAX(runs, fills) && !graph; i++) {
        if (i < runs)
            run_next(w);
        if (i < fills)
            fill_tiny(w);
    }
    struct device_event *to = row->record(w->on->device, &error);
    must(to && row->elapsed(from, to, &ms, &error), &error);
    row->event_free(from);
    row->event_free(to);
    return ms;
}

static double read_way(struct ways *w, const struct way *way)
{
    int batch = way->single ? 1 : way->longer ? 5 * w->batch : w->batch;
    struct noise_subject *s = w->subject;
    int64_t cached =
        (int64_t)(way->cache_part * (double)w->on->device->row->info(w->on->device)->cache_bytes);

    s->copies = s->of->bench.copies;
    if (way->cache_part > 0)
        s->copies = (int)CLAMP(cached / s->of->data_bytes, 1, s->of->bench.copies);
    struct device_graph *graph = way->as_graph ? capture(w, batch) : NULL;
    prepare_device(w, way);
    double ms = between_events(w, graph, batch, way->between ? batch : 0);
    if (way->between)
        w->fills_ms = fmin(w->fills_ms, between_events(w, NULL, 0, batch) / batch);
    if (graph)
        w->on->device->row->graph_free(graph);
    return ms / batch;
}

static void ways_open(struct ways *w, const struct noise_device *on, struct noise_subject *s)
{
    const struct device_row *row = on->device->row;
    g_autoptr(GError) error = NULL;
    struct measurement m;

    *w = (struct ways){.on = on, .subject = s, .fills_ms = INFINITY};
    w->flush_bytes = MAX(2 * row->info(on->device)->cache_bytes, 1 << 20);
    w->flush = row->alloc(on->device, w->flush_bytes, &error);
    must(w->flush != NULL, &error);
    w->tiny = row->alloc(on->device, 4096, &error);
    must(w->tiny != NULL, &error);
    noise_subject_measure(s, SAMPLE_SECONDS, 0, 0, &m);
    w->run_ms = m.median_ms;
    w->batch = (int)CLAMP(ceil(20 * on->floor_ms / m.median_ms), 1, 1000);
}

static void ways_close(struct ways *w)
{
    w->on->device->row->memory_free(w->tiny);
    w->on->device->row->memory_free(w->flush);
}

#define WAY_READINGS 3 /* readings by each way for one repeat */

/* Sets ms[] to the least time of a run by each way, NAN for one that the device lacks. The ways take turns. */
static void measure_ways(const struct noise_device *on, const char *key, int readings,
                         double ms[WAYS], int *batch)
{
    struct noise_problem of;
    struct noise_subject subject;
    struct ways w;

    noise_problem_open(&of, on, key);
    const struct solver *solver = noise_best_solver(&of);
    if (!solver || !noise_subject_open(&subject, &of, solver, NULL))
        g_error("no solver runs %s here", key);
    ways_open(&w, on, &subject);
    for (int r = 0; r < readings; r++) {
        for (gsize i = 0; i < WAYS; i++) {
            double time_ms = ways_table[i].as_graph && !on->device->row->capture_begin
                                 ? NAN
                                 : read_way(&w, &ways_table[i]);
            ms[i] = r == 0 ? time_ms : fmin(ms[i], time_ms);
        }
    }
    for (gsize i = 0; i < WAYS; i++)
        ms[i] -= ways_table[i].between ? w.fills_ms : 0;
    *batch = w.batch;
    ways_close(&w);
    noise_subject_close(&subject);
    noise_problem_close(&of);
}

static void print_ways(double ms[PROBLEMS][WAYS], const int batch[PROBLEMS], int count)
{
    printf("%-34s", "recorded, us; runs in a batch");
    for (int p = 0; p < count; p++)
        printf(" %9.1f %4d", ms[p][0] * 1e3, batch[p]);
    for (gsize i = 0; i < WAYS; i++) {
        printf("\n%-34s", ways_table[i].name);
        for (int p = 0; p < count; p++) {
            if (isnan(ms[p][i]))
                printf(" %14s", "-");
            else
                printf(" %14.3f", ms[p][i] / ms[p][0]);
        }
    }
}

static void part_ways(const struct noise_device *on, const struct options *options)
{
    double ms[PROBLEMS][WAYS];
    int batch[PROBLEMS];

    printf(
        "\nways to take a run's time, over the recorded way's; the least of %d readings, since other work only makes "
        "readings longer.\nThe columns:\n",
        options->repeats * WAY_READINGS);
    for (int p = 0; p < options->key_count; p++) {
        printf("  %s\n", options->keys[p]);
        measure_ways(on, options->keys[p], options->repeats * WAY_READINGS, ms[p], &batch[p]);
    }
    print_ways(ms, batch, options->key_count);
    printf("\nthe floor, two events around a tiny fill: %.1f us\n", on->floor_ms * 1e3);
    fflush(stdout);
}

/* ---- the command ---- */

enum part { PART_STEPS, PART_WAYS, PART_RACING, PART_REAL };
static const char *const part_names[] = {"steps", "ways", "racing", "real"};

static bool read_options(int argc, char **argv, struct options *options)
{
    bool any = false;

    *options = (struct options){.repeats = 9};
    for (int i = 1; i < argc; i++) {
        gsize part = 0;
        while (part < G_N_ELEMENTS(part_names) && strcmp(argv[i], part_names[part]) != 0)
            part++;
        if (part < G_N_ELEMENTS(part_names))
            any = options->parts[part] = true;
        else if (strchr(argv[i], '-') && options->key_count < PROBLEMS)
            options->keys[options->key_count++] = argv[i];
        else if ((options->repeats = atoi(argv[i])) < 1)
            return false;
    }
    for (gsize part = 0; part < G_N_ELEMENTS(part_names) && !any; part++)
        options->parts[part] = true;
    return true;
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct options options;
    struct noise_device on;

    if (!read_options(argc, argv, &options)) {
        fprintf(stderr, "usage: bench_noise [steps|ways|racing|real]... [KEY]... [REPEATS]\n");
        return 2;
    }
    if (options.parts[PART_RACING]) {
        noise_racing_recorded();
        noise_steps_recorded();
    }
    if (!options.parts[PART_STEPS] && !options.parts[PART_WAYS] && !options.parts[PART_REAL])
        return 0;
    if (!noise_device_open(&on, temp_folder_path(folder, "pocl")))
        return 1;
    if (options.key_count == 0)
        choose_problems(&options, on.target);
    printf("\non %s, %s\n", on.target->id, on.device->row->info(on.device)->stack);
    if (options.parts[PART_WAYS])
        part_ways(&on, &options);
    if (options.parts[PART_STEPS])
        part_steps(&on, &options);
    if (options.parts[PART_REAL])
        noise_racing_real(&on);
    noise_device_close(&on);
    return 0;
}
