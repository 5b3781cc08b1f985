/* Measuring with a fake device, whose clock follows a script. */
#include "worker/measure/measure.h"

#include <math.h>

#include "tests/support/doubles/fake_device.h"
#include "worker/measure/statistics.h"

struct script {
    struct fake_device fake;
    double base_ms;                /* a run's time */
    double (*factor)(int64_t run); /* times this */
    int64_t runs;
};

static bool scripted_run(void *data, int64_t run, GError **error)
{
    struct script *script = data;
    (void)error;
    g_assert_cmpint(run, ==, script->runs); /* measure() numbers the runs in sequence */
    script->runs++;
    script->fake.clock_ms += script->base_ms * (script->factor ? script->factor(run) : 1);
    return true;
}

static double small_noise(int64_t run)
{
    return 1 + 0.01 * (double)(run * 7 % 11 - 5) / 5;
}

static double slow_start(int64_t run)
{
    return run < 6 ? 3.0 / (double)(run + 1) + 0.5 : small_noise(run);
}

static double two_speeds(int64_t run)
{
    return run * 7919 % 13 < 7 ? 1 : 4;
}

static void run_measure(struct script *script, struct measure_job *job, struct measurement *m)
{
    g_autoptr(GError) error = NULL;
    fake_device_init(&script->fake);
    script->runs = 0;
    job->device = &script->fake.device;
    job->run = scripted_run;
    job->data = script;
    script->fake.event_ms = job->floor_ms;
    g_assert_true(measure(job, m, &error));
    g_assert_no_error(error);
}

static void test_even(void)
{
    struct script script = {.base_ms = 2};
    struct measure_job job = {.sample_seconds = 1, .floor_ms = 0.01};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_cmpfloat_with_epsilon(m.median_ms, 2.01, 0.001);
    g_assert_cmpint(m.n, ==, 6); /* the fewest readings with a 95 % interval */
    g_assert_false(m.slow || m.unstable);
}

static void test_noise(void)
{
    struct script script = {.base_ms = 2, .factor = small_noise};
    struct measure_job job = {.sample_seconds = 1};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_cmpfloat_with_epsilon(m.median_ms, 2, 0.02);
    g_assert_cmpfloat(m.min_ms, >=, 1.98);
    g_assert_cmpfloat(m.min_ms, <, m.median_ms);
    g_assert_cmpfloat(m.spread, <, 0.02);
}

#define NOISY_RUNS 400
static double noisy_times[NOISY_RUNS]; /* by run */

/* A time even over 0.9 to 1.1, from the low bits of a random generator. */
static double even_noise(int64_t run)
{
    double factor = 0.9 + 0.2 * (double)((uint64_t)run * 2654435761u % 1024) / 1024;
    if (run < NOISY_RUNS)
        noisy_times[run] = factor;
    return factor;
}

/* Readings end once the median is known to 2 %: all readings together reach it, all but the last do not. */
static void test_precision(void)
{
    struct script script = {.base_ms = 1, .factor = even_noise};
    struct measure_job job = {.sample_seconds = 100};
    struct measurement m;
    double readings[NOISY_RUNS];

    run_measure(&script, &job, &m);
    g_assert_cmpint(script.runs, <, NOISY_RUNS);
    g_assert_cmpint(m.n, >, 6);
    for (int last = 0; last < 2; last++) {
        int count = m.n - last;
        for (int i = 0; i < count; i++)
            readings[i] = noisy_times[script.runs - m.n + i];
        statistics_sort(readings, count);
        double precision = statistics_median_precision(readings, count);
        g_test_message("%d readings: %g", count, precision);
        g_assert_true((precision <= 0.02) == (last == 0));
    }
}

/* A config that is 10 % slower than the best may still win: it gets as many readings as it would alone. One that is
 * 40 % slower does not. */
static void test_near_the_best(void)
{
    struct script script = {.base_ms = 1.1, .factor = even_noise};
    struct measure_job job = {.sample_seconds = 100};
    struct measurement alone, near, far;
    run_measure(&script, &job, &alone);
    job.best_ms = 1;
    run_measure(&script, &job, &near);
    job.best_ms = 1.1 / 1.4;
    run_measure(&script, &job, &far);
    g_assert_cmpint(near.n, ==, alone.n);
    g_assert_cmpint(far.n, <, alone.n);
}

static void test_warm_up(void)
{
    struct script script = {.base_ms = 2, .factor = slow_start};
    struct measure_job job = {.sample_seconds = 1};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_cmpfloat_with_epsilon(m.median_ms, 2, 0.02);
    /* Warming up ends with the first two readings in a row that are within 5 %: those of runs 5 and 6. */
    g_assert_cmpint(script.runs - m.n, ==, 7);
}

static void test_short_runs(void)
{
    struct script script = {.base_ms = 0.002};
    struct measure_job job = {.sample_seconds = 1, .floor_ms = 0.03};
    struct measurement m;
    run_measure(&script, &job, &m);
    /* The time of an empty launch is counted once in a reading of 300 runs. */
    g_assert_cmpfloat_with_epsilon(m.median_ms, 0.0021, 0.00002);
    g_assert_cmpint(script.runs, >, 6 * 250);
}

/* A device whose timer's floor scatters by a fifth either way. */
static bool scattering_run(void *data, int64_t run, GError **error)
{
    struct script *script = data;
    (void)error;
    script->runs++;
    script->fake.event_ms = 0.03 * (0.8 + 0.4 * (double)(run * 7919 % 101) / 101);
    script->fake.clock_ms += script->base_ms;
    return true;
}

/* The first reading of a short run is hardly longer than the floor, or shorter. Its value does not matter: a reading gets about
 * the runs that 20 floors take: once it got 2 or 1000. */
static void test_size(void)
{
    static const double first_ms[] = {0.024, 0.0299, 0.03, 0.0301, 0.032, 0.036, 0.06};
    static const struct {
        double run_ms;
        int least, most;
    } rows[] = {{0.002, 240, 380}, {0.01, 50, 75}, {0.05, 10, 15}, {1e-6, 1000, 1000}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows) * G_N_ELEMENTS(first_ms); i++) {
        struct script script = {.base_ms = rows[i / G_N_ELEMENTS(first_ms)].run_ms};
        struct measure_job job = {.floor_ms = 0.03, .run = scattering_run, .data = &script};
        struct measure_size size;
        int64_t next = (int64_t)i;
        fake_device_init(&script.fake);
        job.device = &script.fake.device;
        double one_ms = first_ms[i % G_N_ELEMENTS(first_ms)];
        g_assert_true(measure_size(&job, one_ms, &next, &size, NULL));
        g_test_message("runs of %g ms, the first reading %g ms: %d in a reading", script.base_ms,
                       one_ms, size.batch);
        g_assert_cmpint(size.batch, >=, rows[i / G_N_ELEMENTS(first_ms)].least);
        g_assert_cmpint(size.batch, <=, rows[i / G_N_ELEMENTS(first_ms)].most);
        g_assert_cmpint(script.runs, ==, next - (int64_t)i);
        g_assert_false(size.impossible);
    }
}

/* A long first reading is believed. */
static void test_size_of_long_runs(void)
{
    struct script script = {.base_ms = 1};
    struct measure_job job = {.floor_ms = 0.03, .run = scattering_run, .data = &script};
    struct measure_size size;
    int64_t next = 0;
    fake_device_init(&script.fake);
    job.device = &script.fake.device;
    g_assert_true(measure_size(&job, 0.23, &next, &size, NULL));
    g_assert_cmpint(size.batch, ==, 3);
    job.floor_ms = 0.0045; /* 20 floors are two runs, a quarter of a millisecond is five */
    g_assert_true(measure_size(&job, 0.0645, &next, &size, NULL));
    g_assert_cmpint(size.batch, ==, 5);
    g_assert_cmpint(script.runs, ==, 0);
    g_assert_true(measure_size(&job, NAN, &next, &size, NULL));
    g_assert_true(size.impossible);
}

/* A short config is not dropped since its first readings met a slow timer. */
static void test_short_runs_are_not_slow(void)
{
    struct script script = {.base_ms = 0.002};
    struct measure_job job = {.sample_seconds = 0.1, .floor_ms = 0.02, .best_ms = 0.0021};
    struct measurement m;
    fake_device_init(&script.fake);
    job.device = &script.fake.device;
    job.run = scattering_run; /* events take 0.03 ms */
    job.data = &script;
    g_assert_true(measure(&job, &m, NULL));
    g_assert_false(m.slow);
}

static void test_budget(void)
{
    struct script script = {.base_ms = 100, .factor = two_speeds};
    struct measure_job job = {.sample_seconds = 0.01};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_cmpint(m.n, ==, 3);
    g_assert_cmpint(script.runs, <=, 7);
}

static void test_slow(void)
{
    struct script script = {.base_ms = 10};
    struct measure_job job = {.sample_seconds = 1, .best_ms = 3};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_true(m.slow);
    g_assert_cmpint(script.runs, ==, 2);
    g_assert_cmpfloat(m.min_ms, ==, 10);
    job.keep = true;
    run_measure(&script, &job, &m);
    g_assert_false(m.slow);
    job.keep = false;
    job.best_ms = 4;
    run_measure(&script, &job, &m);
    g_assert_false(m.slow);
}

/* The naive kernel is a thousand times slower than the best config: its rough time is enough. */
static void test_yardstick(void)
{
    struct script script = {.base_ms = 100, .factor = small_noise};
    struct measure_job job = {
        .sample_seconds = 1, .floor_ms = 0.01, .best_ms = 0.1, .keep = true, .alone = true};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_false(m.slow);
    g_assert_cmpint(script.runs, ==, 3);
    g_assert_cmpint(m.n, ==, 3);
    g_assert_cmpfloat_with_epsilon(m.median_ms, 100, 2);
    script.base_ms = 0.05; /* runs so short that an empty launch's time is a part of them */
    job.best_ms = 0.001;
    run_measure(&script, &job, &m);
    g_assert_cmpint(m.n, >=, 6);
    script.base_ms = 100; /* less than 3 times the best: the config may win */
    job.best_ms = 40;
    run_measure(&script, &job, &m);
    g_assert_cmpint(m.n, >=, 6);
    /* the naive kernel's time is what other configs of the round are compared with */
    job.best_ms = 0.1;
    job.alone = false;
    run_measure(&script, &job, &m);
    g_assert_cmpint(m.n, >=, 6);
}

static double slow_twice(int64_t run)
{
    return run < 2 ? 5 - (double)run : small_noise(run);
}

/* A device whose clocks are still low, or which another process uses, makes a good config look slow
 * at first: it gets further readings. */
static void test_yardstick_settles(void)
{
    struct script script = {.base_ms = 2, .factor = slow_twice};
    struct measure_job job = {
        .sample_seconds = 1, .floor_ms = 0.001, .best_ms = 2.2, .keep = true, .alone = true};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_cmpint(m.n, >=, 6);
    g_assert_cmpfloat_with_epsilon(m.median_ms, 2, 0.05);
}

/* An unstable config ends within measure_most_seconds(), on which its deadline is based. */
static void test_unstable(void)
{
    struct script script = {.base_ms = 1, .factor = two_speeds};
    struct measure_job job = {.sample_seconds = 0.1};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_true(m.unstable);
    g_assert_cmpfloat(script.fake.clock_ms / 1000, <, measure_most_seconds(0.1));
}

static double slow_then_disturbed(int64_t run)
{
    return run < 6 ? 2 : run < 40 ? two_speeds(run) : small_noise(run);
}

/* Each step that a benchmark leaves out saves runs, or costs some, on a device that is slow at first and then
 * disturbed. */
static void test_left_out(void)
{
    static const struct {
        unsigned without;
        double base_ms, best_ms;
        int runs;
    } rows[] = {
        {0, 1, 0, 58},
        {MEASURE_NOISE, 1, 0, 52},
        {MEASURE_INTERVAL, 1, 0, 7},
        {MEASURE_INTERVAL | MEASURE_WARM_UP, 1, 0, 5},
        {0, 1, 0.1, 2},
        {MEASURE_FIRST_LOOK, 1, 0.1, 22},
        {MEASURE_FIRST_LOOK | MEASURE_LOST, 1, 0.1, 58},
        {0, 0.01, 0, 546},
        {MEASURE_BATCH, 0.01, 0, 61},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct script script = {.base_ms = rows[i].base_ms, .factor = slow_then_disturbed};
        struct measure_job job = {.sample_seconds = 0.1,
                                  .floor_ms = 0.05,
                                  .best_ms = rows[i].best_ms,
                                  .without = rows[i].without};
        struct measurement m;
        run_measure(&script, &job, &m);
        g_assert_cmpint(m.runs, ==, script.runs);
        g_assert_cmpint(m.runs, ==, rows[i].runs);
    }
}

static double disturbed_at_first(int64_t run)
{
    return run < 40 ? two_speeds(run) : 1;
}

static void test_disturbance(void)
{
    struct script script = {.base_ms = 1, .factor = disturbed_at_first};
    struct measure_job job = {.sample_seconds = 0.1};
    struct measurement m;
    run_measure(&script, &job, &m);
    g_assert_false(m.unstable);
    g_assert_cmpfloat(m.spread, <, 0.01);
    g_assert_cmpfloat_with_epsilon(m.median_ms, 1, 0.001);
}

static void test_floor(void)
{
    struct fake_device fake;
    double floor_ms = 0;
    fake_device_init(&fake);
    fake.event_ms = 0.012;
    g_assert_true(measure_floor(&fake.device, &floor_ms, NULL));
    g_assert_cmpfloat_with_epsilon(floor_ms, 0.012, 1e-9);
}

static double stops(int64_t run)
{
    return run < 3 ? 1 : 0;
}

static double runs_backwards(int64_t run)
{
    return run < 1 ? -1 : 1;
}

static double is_no_number(int64_t run)
{
    return run < 4 ? 1 : NAN;
}

/* A clock that stands still would never use up the time for readings: the first impossible reading ends it. */
static void test_a_clock_gone_wrong(void)
{
    double (*const factors[])(int64_t) = {stops, runs_backwards, is_no_number};
    for (gsize i = 0; i < G_N_ELEMENTS(factors); i++) {
        struct script script = {.base_ms = 2, .factor = factors[i]};
        struct measure_job job = {.sample_seconds = 100};
        struct measurement m;
        run_measure(&script, &job, &m);
        g_assert_cmpint(m.n, ==, 1);
        g_assert_cmpfloat(m.min_ms, ==, 0);
        g_assert_cmpfloat(m.median_ms, ==, 0);
        g_assert_cmpint(script.runs, <, 30);
    }
}

static void test_possible(void)
{
    static const struct {
        double flops, bytes, peak_flops, peak_bytes;
        bool cold;
        double ms;
    } rows[] = {
        {2e9, 1e6, 1e12, 1e12, true, 2},  {2e9, 1e6, 0, 0, true, 0},
        {1, 4e9, 1e12, 1e12, true, 4},    {1, 4e9, 1e12, 1e12, false, 1e-9},
        {2e9, 4e9, 1e12, 1e12, false, 2},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct solution solution = {.flops = rows[i].flops,
                                    .read_bytes = rows[i].bytes / 4,
                                    .write_bytes = rows[i].bytes * 3 / 4};
        struct target target = {.peak_flops = rows[i].peak_flops, .peak_bytes = rows[i].peak_bytes};
        g_assert_cmpfloat_with_epsilon(
            measure_possible_ms(&solution, &target, TYPE_FP32, rows[i].cold), rows[i].ms, 1e-12);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/measure/even_times_need_few_readings", test_even);
    g_test_add_func("/measure/median_of_noisy_times_is_found", test_noise);
    g_test_add_func("/measure/readings_end_when_the_median_is_known_to_two_percent",
                    test_precision);
    g_test_add_func("/measure/nearly_the_best_is_measured_to_the_end", test_near_the_best);
    g_test_add_func("/measure/slow_first_runs_do_not_count", test_warm_up);
    g_test_add_func("/measure/short_runs_share_a_reading", test_short_runs);
    g_test_add_func("/measure/batch_hardly_depends_on_the_first_reading", test_size);
    g_test_add_func("/measure/long_first_reading_is_believed", test_size_of_long_runs);
    g_test_add_func("/measure/slow_timer_does_not_drop_short_runs", test_short_runs_are_not_slow);
    g_test_add_func("/measure/spent_time_ends_a_sample", test_budget);
    g_test_add_func("/measure/clearly_slower_config_is_dropped", test_slow);
    g_test_add_func("/measure/yardstick_needs_few_readings", test_yardstick);
    g_test_add_func("/measure/yardstick_without_agreeing_readings_is_measured",
                    test_yardstick_settles);
    g_test_add_func("/measure/wide_spread_is_unstable", test_unstable);
    g_test_add_func("/measure/disturbed_sample_does_not_count", test_disturbance);
    g_test_add_func("/measure/steps_left_out_are_not_done", test_left_out);
    g_test_add_func("/measure/floor_is_the_time_of_two_events", test_floor);
    g_test_add_func("/measure/impossible_reading_ends_measuring", test_a_clock_gone_wrong);
    g_test_add_func("/measure/peaks_bound_the_time", test_possible);
    return g_test_run();
}
