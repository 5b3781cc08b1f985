#include "tests/support/bench/noise_racing.h"

#include "coordinator/replay/recorded_space.h"
#include "tests/support/doubles/fake_device.h"
#include "tests/support/export/real_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OWN_SPACES     "tests/bench/spaces/pocl"
#define ORDERS         5     /* random orders in which a space is measured */
#define FLOOR_MS       0.012 /* of an H100's events */
#define SAMPLE_SECONDS 0.3
#define NEAR           1.02 /* a config within 2 % of the fastest is as good */

/* The rules that may be left out, one row of a table each. */
static const struct {
    const char *name;
    unsigned without;
} rules[] = {
    {"whole protocol", 0},
    {"no first look", MEASURE_FIRST_LOOK},
    {"no 'lost'", MEASURE_LOST},
    {"no racing", MEASURE_FIRST_LOOK | MEASURE_LOST},
};
#define RULES G_N_ELEMENTS(rules)

struct tally {
    double runs, ms;
    int dropped;      /* orders in which the fastest config was dropped as slow or ended as lost */
    int dropped_near; /* in which all configs within 2 % of it were */
    double log_loss;  /* sum of the logarithms of the winner's true time over the fastest's */
};

static void print_head(const char *title)
{
    printf("\n%s\n%-30s %-15s %10s %11s %8s %9s %8s\n", title, "space", "", "runs", "device s",
           "dropped", "all near", "winner");
}

/* orders: how many the tally is of. */
static void print_tally(const char *space, const char *rule, const struct tally *t, int orders)
{
    printf("%-30s %-15s %10.0f %11.2f %3d / %-2d %4d / %-2d %8.4f\n", space, rule, t->runs / orders,
           t->ms / 1e3 / orders, t->dropped, orders, t->dropped_near, orders,
           exp(t->log_loss / orders));
    fflush(stdout);
}

static void shuffle(int *order, int count, GRand *random)
{
    for (int i = count - 1; i > 0; i--) {
        int other = g_rand_int_range(random, 0, i + 1), held = order[i];
        order[i] = order[other];
        order[other] = held;
    }
}

/* The state of a race, in which the configs of a space are measured in one order. */
struct race {
    double best_ms; /* the fastest median so far, 0 for none */
    int winner;
    bool fastest_dropped, near_survived;
};

/* true_ms: the config's own time; fastest_ms: the space's fastest. */
static void note_config(struct race *race, int config, const struct measurement *m, double true_ms,
                        double fastest_ms)
{
    bool dropped = m->slow || m->lost;

    if (true_ms <= fastest_ms)
        race->fastest_dropped = dropped;
    race->near_survived = race->near_survived || (!dropped && true_ms <= NEAR * fastest_ms);
    if (dropped || m->unstable || (race->best_ms > 0 && m->median_ms >= race->best_ms))
        return;
    race->best_ms = m->median_ms;
    race->winner = config;
}

static void note_race(struct tally *tally, const struct race *race, double winner_ms,
                      double fastest_ms)
{
    tally->dropped += race->fastest_dropped;
    tally->dropped_near += !race->near_survived;
    tally->log_loss += log(winner_ms / fastest_ms);
}

/* ---- recorded spaces ---- */

struct recorded {
    GPtrArray *times; /* GArray * of double: the recorded readings of each config in ms */
    GArray *medians;  /* double: their medians */
    double fastest_ms;
};

static void free_times(gpointer times)
{
    g_array_unref(times);
}

/* The readings that the file holds, or else as many of a normal distribution with the recorded spread as are needed
 * to draw from: its quantiles. An interquartile range is 1.349 standard deviations. */
static GArray *readings_of(const struct recorded_space *space, const struct recorded_config *config)
{
    static const double quantiles[] = {-1.593, -0.967, -0.589, -0.282, 0,
                                       0.282,  0.589,  0.967,  1.593};
    GArray *times = g_array_new(FALSE, FALSE, sizeof(double));

    for (int i = 0; i < config->readings; i++)
        g_array_append_val(
            times, g_array_index(space->readings, double, config->first_reading + (guint)i));
    for (gsize i = 0; config->readings == 0 && i < G_N_ELEMENTS(quantiles); i++) {
        double ms = config->time_ms * fmax(1 + quantiles[i] * config->spread / 1.349, 0.1);
        g_array_append_val(times, ms);
    }
    return times;
}

/* Failed configs have no time, and are left out. */
static void recorded_read(struct recorded *space, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RecordedSpace) file = recorded_space_read(path, &error);

    if (!file)
        g_error("%s", error->message);
    space->times = g_ptr_array_new_with_free_func(free_times);
    space->medians = g_array_new(FALSE, FALSE, sizeof(double));
    space->fastest_ms = INFINITY;
    for (guint i = 0; i < file->configs->len; i++) {
        const struct recorded_config *config =
            &g_array_index(file->configs, struct recorded_config, i);
        if (!isfinite(config->time_ms))
            continue;
        GArray *times = readings_of(file, config);
        g_autoptr(GArray) sorted = g_array_copy(times);
        double median = noise_median(sorted);
        space->fastest_ms = fmin(space->fastest_ms, median);
        g_array_append_val(space->medians, median);
        g_ptr_array_add(space->times, times);
    }
}

static void recorded_clear(struct recorded *space)
{
    g_ptr_array_unref(space->times);
    g_array_unref(space->medians);
}

struct replay {
    struct fake_device fake; /* first */
    const GArray *times;
    GRand *random;
};

static bool replay_run(void *data, int64_t run, GError **error)
{
    struct replay *replay = data;
    gint32 at = g_rand_int_range(replay->random, 0, (gint32)replay->times->len);

    (void)run;
    (void)error;
    replay->fake.clock_ms += g_array_index(replay->times, double, at);
    return true;
}

static void race_recorded(const struct recorded *space, unsigned without, int seed,
                          struct tally *tally)
{
    int count = (int)space->times->len;
    g_autofree int *order = g_new(int, (gsize)count);
    struct replay replay = {.random = g_rand_new_with_seed((guint32)seed)};
    struct race race = {0};

    for (int i = 0; i < count; i++)
        order[i] = i;
    shuffle(order, count, replay.random);
    fake_device_init(&replay.fake);
    replay.fake.event_ms = FLOOR_MS;
    for (int i = 0; i < count; i++) {
        struct measure_job job = {.device = &replay.fake.device,
                                  .run = replay_run,
                                  .data = &replay,
                                  .floor_ms = FLOOR_MS,
                                  .sample_seconds = SAMPLE_SECONDS,
                                  .best_ms = race.best_ms,
                                  .without = without};
        struct measurement m;
        replay.times = space->times->pdata[order[i]];
        measure(&job, &m, NULL);
        tally->runs += (double)m.runs;
        note_config(&race, order[i], &m, g_array_index(space->medians, double, order[i]),
                    space->fastest_ms);
    }
    tally->ms += replay.fake.clock_ms;
    note_race(tally, &race, g_array_index(space->medians, double, race.winner), space->fastest_ms);
    g_rand_free(replay.random);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_files(GPtrArray *files, const char *folder)
{
    g_autoptr(GDir) dir = folder ? g_dir_open(folder, 0, NULL) : NULL;
    const char *file;

    while (dir && (file = g_dir_read_name(dir)))
        if (strstr(file, ".json"))
            g_ptr_array_add(files, g_build_filename(folder, file, NULL));
}

static void race_file(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    g_autofree char *name = g_strndup(base, strcspn(base, "."));
    struct recorded space;

    recorded_read(&space, path);
    for (gsize r = 0; r < RULES; r++) {
        struct tally tally = {0};
        for (int seed = 0; seed < ORDERS; seed++)
            race_recorded(&space, rules[r].without, seed, &tally);
        print_tally(name, rules[r].name, &tally, ORDERS);
    }
    recorded_clear(&space);
}

/* The paths of all recorded spaces, in order. */
static GPtrArray *list_files(void)
{
    g_autofree char *folder = real_data("spaces");
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);

    add_files(files, folder);
    add_files(files, OWN_SPACES);
    if (files->len == 0)
        printf("no recorded spaces in SKIPJACK_DATA or " OWN_SPACES ": nothing is replayed\n");
    g_ptr_array_sort(files, compare_names);
    return files;
}

void noise_racing_recorded(void)
{
    g_autoptr(GPtrArray) files = list_files();

    if (files->len > 0)
        print_head(
            "racing on recorded spaces: each config measured, with noise drawn from its readings");
    for (guint i = 0; i < files->len; i++)
        race_file(files->pdata[i]);
}

/* ---- steps on recorded noise ---- */

#define FAST_CONFIGS 100 /* the fastest of a space */
#define FAST_REPEATS 15  /* measurements of each */

static const struct {
    const char *name;
    unsigned without;
} noise_steps[] = {
    {"nothing", 0},
    {"noise repeats", MEASURE_NOISE},
    {"interval rule", MEASURE_INTERVAL},
    {"both", MEASURE_NOISE | MEASURE_INTERVAL},
};

/* The indices of the fastest configs. */
static GArray *fastest_of(const struct recorded *space)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) sorted = g_array_copy(space->medians);

    noise_median(sorted);
    guint last = MIN(FAST_CONFIGS, sorted->len) - 1;
    for (guint i = 0; i < space->medians->len; i++)
        if (g_array_index(space->medians, double, i) <= g_array_index(sorted, double, last))
            g_array_append_val(found, i);
    return found;
}

static GArray *measure_again(struct replay *replay, unsigned without, double *runs)
{
    GArray *medians = g_array_new(FALSE, FALSE, sizeof(double));

    for (int r = 0; r < FAST_REPEATS; r++) {
        struct measure_job job = {.device = &replay->fake.device,
                                  .run = replay_run,
                                  .data = replay,
                                  .floor_ms = FLOOR_MS,
                                  .sample_seconds = SAMPLE_SECONDS,
                                  .keep = true,
                                  .without = without};
        struct measurement m;
        measure(&job, &m, NULL);
        g_array_append_val(medians, m.median_ms);
        *runs += (double)m.runs;
    }
    return medians;
}

/* Prints how far repeated measurements of a config are apart, and from the median of its readings. */
static void steps_of_file(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    struct recorded space;

    base[strcspn(base, ".")] = '\0';
    recorded_read(&space, path);
    g_autoptr(GArray) fast = fastest_of(&space);
    for (gsize s = 0; s < G_N_ELEMENTS(noise_steps); s++) {
        struct replay replay = {.random = g_rand_new_with_seed(1)};
        double runs = 0, spread = 0, worst = 0, log_bias = 0;
        fake_device_init(&replay.fake);
        replay.fake.event_ms = FLOOR_MS;
        for (guint i = 0; i < fast->len; i++) {
            guint config = g_array_index(fast, guint, i);
            double true_ms = g_array_index(space.medians, double, config);
            replay.times = space.times->pdata[config];
            g_autoptr(GArray) medians = measure_again(&replay, noise_steps[s].without, &runs);
            log_bias += log(noise_median(medians) / true_ms);
            spread += noise_spread(medians);
            for (guint r = 0; r < medians->len; r++)
                worst = fmax(worst, fabs(g_array_index(medians, double, r) / true_ms - 1));
        }
        printf("%-30s %-15s %8.4f %10.2f %9.1f %8.1f\n", base, noise_steps[s].name,
               exp(log_bias / fast->len), 100 * spread / fast->len, 100 * worst,
               runs / fast->len / FAST_REPEATS);
        fflush(stdout);
        g_rand_free(replay.random);
    }
    recorded_clear(&space);
}

void noise_steps_recorded(void)
{
    g_autoptr(GPtrArray) files = list_files();

    if (files->len > 0)
        printf(
            "\nsteps left out on the noise of recorded spaces: their %d fastest configs, measured %d times each\n"
            "%-30s %-15s %8s %10s %9s %8s\n",
            FAST_CONFIGS, FAST_REPEATS, "space", "left out", "bias", "spread %", "worst %", "runs");
    for (guint i = 0; i < files->len; i++)
        steps_of_file(files->pdata[i]);
}

/* ---- a real space ---- */

#define REAL_KEY     "64-28-28-3x3-64-28-28-1-1x1-1x1-1x1-0-NCHW-FP32-F"
#define SPACE_MOST   100000 /* larger spaces count as this large */
#define REAL_CONFIGS 16     /* drawn from the solver's space */
#define REAL_PASSES  3      /* without racing: their median is a config's true time */
#define REAL_WARM_UP (G_USEC_PER_SEC / 2)

struct real_space {
    struct noise_problem of;
    struct noise_subject subjects[REAL_CONFIGS];
    double true_ms[REAL_CONFIGS];
    double fastest_ms;
    int count;
};

/* The solver with the largest space among those that neither pack nor need a workspace, so that its configs share the
 * tensors. */
static const struct solver *find_solver(const struct noise_problem *of)
{
    const struct solver *found = NULL;
    int64_t most = 0;

    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        struct perf_config config;
        struct solution solution;
        solution_init(&solution);
        if (!solver->space || solver->workspace_bytes ||
            !solver_applicable(solver, &of->problem, &of->on->context, NULL))
            continue;
        solver->default_config(&of->problem, &of->on->context, &config);
        int64_t size = space_count_up_to(solver_space(solver, &of->problem, &of->on->context),
                                         &of->problem, &of->on->context, SPACE_MOST);
        if (size <= most ||
            !solver_solve(solver, &of->problem, &of->on->context, &config, &solution, NULL) ||
            solution.pack_count > 0)
            continue;
        most = size;
        found = solver;
    }
    return found;
}

static bool is_drawn(const struct real_space *space, const struct perf_config *config)
{
    for (int i = 0; i < space->count; i++)
        if (perf_config_equal(&space->subjects[i].config, config))
            return true;
    return false;
}

static void draw_configs(struct real_space *space, const struct solver *solver)
{
    const struct noise_device *on = space->of.on;
    uint64_t state = 1;

    for (int tries = 0; tries < 4 * REAL_CONFIGS && space->count < REAL_CONFIGS; tries++) {
        struct perf_config config;
        if (space_draw(solver_space(solver, &space->of.problem, &on->context), &space->of.problem,
                       &on->context, &state, &config) &&
            !is_drawn(space, &config) &&
            noise_subject_open(&space->subjects[space->count], &space->of, solver, &config))
            space->count++;
    }
}

/* Measures every config without racing, one after another. times: sets of double, one for each config; NULL: they do not
 * count. */
static void take_pass(struct real_space *space, GArray **times)
{
    for (int i = 0; i < space->count; i++) {
        struct measurement m;
        noise_subject_measure(&space->subjects[i], SAMPLE_SECONDS, 0, 0, &m);
        if (times)
            g_array_append_val(times[i], m.median_ms);
    }
}

/* A GPU that was idle raises its clocks within half a second, so that the first configs would look slower than they are. */
static void find_true_times(struct real_space *space)
{
    GArray *times[REAL_CONFIGS];
    gint64 start = g_get_monotonic_time();
    while (g_get_monotonic_time() - start < REAL_WARM_UP)
        take_pass(space, NULL);
    for (int i = 0; i < space->count; i++)
        times[i] = g_array_new(FALSE, FALSE, sizeof(double));
    for (int pass = 0; pass < REAL_PASSES; pass++)
        take_pass(space, times);
    space->fastest_ms = INFINITY;
    for (int i = 0; i < space->count; i++) {
        space->true_ms[i] = noise_median(times[i]);
        space->fastest_ms = fmin(space->fastest_ms, space->true_ms[i]);
        g_array_unref(times[i]);
    }
}

static void race_real(struct real_space *space, unsigned without, int seed, struct tally *tally)
{
    GRand *random = g_rand_new_with_seed((guint32)seed);
    int order[REAL_CONFIGS];
    struct race race = {0};
    gint64 start = g_get_monotonic_time();

    for (int i = 0; i < space->count; i++)
        order[i] = i;
    shuffle(order, space->count, random);
    for (int i = 0; i < space->count; i++) {
        struct measurement m;
        noise_subject_measure(&space->subjects[order[i]], SAMPLE_SECONDS, race.best_ms, without,
                              &m);
        tally->runs += (double)m.runs;
        note_config(&race, order[i], &m, space->true_ms[order[i]], space->fastest_ms);
    }
    tally->ms += (double)(g_get_monotonic_time() - start) / 1e3;
    note_race(tally, &race, space->true_ms[race.winner], space->fastest_ms);
    g_rand_free(random);
}

static double slowest_of(const struct real_space *space)
{
    double slowest = 0;

    for (int i = 0; i < space->count; i++)
        slowest = fmax(slowest, space->true_ms[i]);
    return slowest;
}

void noise_racing_real(const struct noise_device *on)
{
    struct real_space *space = g_new0(struct real_space, 1);

    noise_problem_open(&space->of, on, REAL_KEY);
    const struct solver *solver = find_solver(&space->of);
    if (solver)
        draw_configs(space, solver);
    if (space->count == 0) {
        printf("\nno solver's space can be measured here for %s\n", REAL_KEY);
    } else {
        find_true_times(space);
        g_autofree char *title = g_strdup_printf(
            "racing on %d configs of %s, %s, the fastest %.4g ms, the slowest %.4g ms",
            space->count, solver->name, REAL_KEY, space->fastest_ms, slowest_of(space));
        print_head(title);
        for (gsize r = 0; r < RULES; r++) {
            struct tally tally = {0};
            for (int seed = 0; seed < ORDERS; seed++)
                race_real(space, rules[r].without, seed, &tally);
            print_tally(solver->name, rules[r].name, &tally, ORDERS);
        }
    }
    for (int i = 0; i < space->count; i++)
        noise_subject_close(&space->subjects[i]);
    noise_problem_close(&space->of);
    g_free(space);
}
