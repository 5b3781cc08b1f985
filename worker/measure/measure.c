/*
 * A config is measured in four steps, each of which may be the last:
 *   1. First look: two readings of one run. A config that is slower than three times the best in both is dropped;
 *      the faster reading sizes the batch of all later readings. Where it is hardly longer than the timer's floor, it
 *      says little of the run: readings of 8, 64 and 512 runs follow, until one is long enough.
 *   2. Yardstick: a slow config that is kept and alone in its round, such as the naive kernel, needs no precise
 *      time. One more reading that agrees with the second ends it.
 *   3. Warm-up: readings until two in a row agree within 5 %, at most ten or a fifth of the sample's time.
 *   4. Samples: readings until the median is known well enough. A sample whose spread is large was disturbed, and
 *      another one is taken; the calmest sample counts.
 *
 * The median and its interval assume no distribution: times are bounded below, have a long tail above, and come
 * in two groups where a clock changes. The interval is that of the sign test (Conover, Practical Nonparametric
 * Statistics, 1999, section 3.2; statistics.h).
 */
#include "worker/measure/measure.h"

#include <math.h>

#include "worker/measure/statistics.h"

#define FLOOR_READINGS  32
/* A reading lasts at least this many floors, so that the floor is at most 5 % of it. */
#define FLOOR_SHARE     20
/* And at least so long: a reading also holds the way of its first launch, some 4 us on an H100, and its last run's end. */
#define READING_MS      0.25
#define BATCH_MAX       1000 /* most runs in a reading */
/* A reading of this many floors tells the time of its runs, though the floor scatters. */
#define TELLING_FLOORS  5
#define TRIAL_FACTOR    8 /* by so much a reading that tells little is followed by one of more runs */
#define WARM_UP_MAX     10  /* readings */
#define WARM_UP_SHARE   0.2 /* share of sample_seconds that the warm-up may take */
/* The warm-up ends when two readings in a row differ by at most this share. */
#define SETTLED         0.05
#define READINGS_MIN    3
#define READINGS_MAX    200
/* The readings are enough when half the width of the median's confidence interval is at most
 * this share of the median. */
#define PRECISION       0.02
/* A config cannot win if the interval's lower end is this many times the best time. */
#define CLEARLY_SLOWER  1.25
#define SPREAD_READINGS 4 /* fewest readings whose spread means something */
/* From this spread on another process has probably disturbed the sample. */
#define SPREAD_NOISY    0.3

bool measure_reading(const struct measure_job *job, int runs, int64_t *next, double *ms,
                     GError **error)
{
    const struct device_row *row = job->device->row;
    struct device_event *from = row->record(job->device, error), *to = NULL;
    bool done = from != NULL;

    for (int i = 0; i < runs && done; i++)
        done = job->run(job->data, (*next)++, error);
    if (done)
        to = row->record(job->device, error);
    done = to && row->elapsed(from, to, ms, error);
    row->event_free(from);
    row->event_free(to);
    return done;
}

struct tiny {
    struct device *device;
    struct device_memory *memory;
};

static bool fill_tiny(void *data, int64_t run, GError **error)
{
    struct tiny *tiny = data;

    return tiny->device->row->fill(tiny->memory, 0, 4, (uint8_t)run, error);
}

bool measure_floor(struct device *device, double *floor_ms, GError **error)
{
    struct tiny tiny = {device, device->row->alloc(device, 4096, error)};
    struct measure_job job = {.device = device, .run = fill_tiny, .data = &tiny};
    double readings[FLOOR_READINGS];
    int64_t run = 0;
    bool done = tiny.memory != NULL;

    /* The first reading takes many times longer (87 us against 11 to 15 us on an H100), so it is
     * overwritten by the next. */
    for (int i = -1; i < FLOOR_READINGS && done; i++)
        done = measure_reading(&job, 1, &run, &readings[MAX(i, 0)], error);
    device->row->memory_free(tiny.memory);
    if (!done)
        return false;
    statistics_sort(readings, FLOOR_READINGS);
    *floor_ms = statistics_median(readings, FLOOR_READINGS);
    return true;
}

struct session {
    const struct measure_job *job;
    int64_t next;  /* the next run's number */
    int batch;     /* runs in a reading */
    bool hopeless; /* slower than MEASURE_SLOW_FACTOR times the best */
    bool lost;     /* the sample under way cannot win against the best */
    /* A reading was zero, negative or not a number: the device's clock is wrong. */
    bool impossible;
    double spent_ms; /* device time spent on readings, warm-up included */
    int count;
    double readings[READINGS_MAX]; /* milliseconds of one run, by reading */
};

static bool has_step(const struct session *s, enum measure_step step)
{
    return (s->job->without & step) == 0;
}

static bool take_reading(struct session *s, double *run_ms, GError **error)
{
    double ms;

    if (!measure_reading(s->job, s->batch, &s->next, &ms, error))
        return false;
    s->spent_ms += ms;
    *run_ms = ms / s->batch;
    s->impossible = s->impossible || !(ms > 0);
    return true;
}

/* How many runs make a reading of so many milliseconds. run_ms may be 0 or less (struct measure_size). */
static int batch_of(double run_ms, double reading_ms)
{
    return (int)fmax(ceil(reading_ms / fmax(run_ms, reading_ms / BATCH_MAX)), 1);
}

/* A run's own time is that of the reading less the floor. The floor may scatter so much that a single run seems to take
 * none, or much more than it does. */
bool measure_size(const struct measure_job *job, double one_ms, int64_t *next,
                  struct measure_size *size, GError **error)
{
    double floor_ms = job->floor_ms, reading_ms = one_ms;
    int runs = 1;

    *size = (struct measure_size){.batch = 1};
    while (reading_ms < TELLING_FLOORS * floor_ms && runs * TRIAL_FACTOR <= BATCH_MAX) {
        runs *= TRIAL_FACTOR;
        if (!measure_reading(job, runs, next, &reading_ms, error))
            return false;
        size->spent_ms += reading_ms;
    }
    size->impossible = !(reading_ms > 0);
    size->reading_ms = reading_ms / runs;
    size->run_ms = (reading_ms - floor_ms) / runs;
    size->batch = batch_of(size->run_ms, fmax(FLOOR_SHARE * floor_ms, READING_MS));
    return true;
}

static bool settled(double before, double now)
{
    return fabs(now - before) <= SETTLED * before;
}

static bool warm_up(struct session *s, GError **error)
{
    double last = 0, now;
    double limit_ms = s->spent_ms + s->job->sample_seconds * 1000 * WARM_UP_SHARE;

    if (!has_step(s, MEASURE_WARM_UP))
        return true;
    for (int i = 0; i < WARM_UP_MAX && (i == 0 || s->spent_ms < limit_ms); i++) {
        if (!take_reading(s, &now, error))
            return false;
        if (s->impossible || (i > 0 && settled(last, now)))
            return true;
        last = now;
    }
    return true;
}

/* Whether a sample may end: its time is spent, its median is known to PRECISION, or the config has certainly lost. */
static bool enough(struct session *s, double limit_ms)
{
    double low, high;

    if (s->impossible)
        return true;
    if (s->count < READINGS_MIN)
        return false;
    if (s->count == READINGS_MAX || s->spent_ms >= limit_ms || !has_step(s, MEASURE_INTERVAL))
        return true;
    statistics_sort(s->readings, s->count);
    if (!statistics_median_interval(s->readings, s->count, &low, &high))
        return false;
    s->lost = has_step(s, MEASURE_LOST) && !s->job->keep && s->job->best_ms > 0 &&
              low > CLEARLY_SLOWER * s->job->best_ms;
    return s->lost || statistics_median_precision(s->readings, s->count) <= PRECISION;
}

static void sum_up(struct session *s, struct measurement *m)
{
    statistics_sort(s->readings, s->count);
    m->n = s->count;
    m->min_ms = s->readings[0];
    m->median_ms = statistics_median(s->readings, s->count);
    m->spread = statistics_spread(s->readings, s->count);
    m->unstable = s->count >= SPREAD_READINGS && m->spread > MEASURE_SPREAD_MAX;
    m->lost = s->lost;
}

static bool take_sample(struct session *s, struct measurement *m, GError **error)
{
    double limit_ms = s->spent_ms + s->job->sample_seconds * 1000;

    s->count = 0;
    s->lost = false;
    while (!enough(s, limit_ms)) {
        if (!take_reading(s, &s->readings[s->count], error))
            return false;
        s->count++;
    }
    sum_up(s, m);
    return true;
}

/* Takes two readings of one run each, and sizes the batch. The faster one counts, since a disturbance only makes
 * readings longer. */
static bool first_look(struct session *s, struct measurement *m, GError **error)
{
    const struct measure_job *job = s->job;

    for (s->count = 0; s->count < 2; s->count++) {
        if (!take_reading(s, &s->readings[s->count], error))
            return false;
    }
    double quick = fmin(s->readings[0], s->readings[1]);
    struct measure_size size = {.batch = 1, .reading_ms = quick, .run_ms = quick - job->floor_ms};
    if (has_step(s, MEASURE_BATCH) && !s->impossible &&
        !measure_size(job, quick, &s->next, &size, error))
        return false;
    s->batch = size.batch;
    s->spent_ms += size.spent_ms;
    s->impossible = s->impossible || size.impossible;
    s->hopeless = job->best_ms > 0 && size.run_ms > MEASURE_SLOW_FACTOR * job->best_ms;
    m->slow = s->hopeless && !job->keep && has_step(s, MEASURE_FIRST_LOOK);
    if (m->slow) {
        m->n = 2;
        m->min_ms = size.reading_ms;
        m->median_ms = size.spent_ms > 0 ? size.reading_ms : (s->readings[0] + s->readings[1]) / 2;
    }
    return true;
}

/* Whether the config only needs a rough time: it is slow, kept, alone in its round, and a single
 * run is a whole reading (batch 1). */
static bool is_yardstick(const struct session *s)
{
    return s->hopeless && s->job->alone && s->batch == 1 && !s->impossible;
}

/* Takes a third reading. If it agrees with the second, the three readings are the measurement.
 * Otherwise the device was still warming up: n stays 0, and the config is measured like any
 * other. */
static bool third_look(struct session *s, struct measurement *m, GError **error)
{
    double *third = &s->readings[s->count];

    if (!take_reading(s, third, error))
        return false;
    if (settled(third[-1], *third)) {
        s->count++;
        sum_up(s, m);
    }
    return true;
}

static bool worth_another(const struct session *s, const struct measurement *m, int attempts)
{
    if (s->impossible || !has_step(s, MEASURE_NOISE) || m->n < SPREAD_READINGS ||
        m->spread <= SPREAD_NOISY)
        return false;
    return attempts < (m->unstable ? MEASURE_ATTEMPTS_MAX : MEASURE_ATTEMPTS);
}

static bool take_samples(struct session *s, struct measurement *measurement, GError **error)
{
    if (!take_sample(s, measurement, error))
        return false;
    for (int i = 1; worth_another(s, measurement, i); i++) {
        struct measurement another = {0};

        if (!take_sample(s, &another, error))
            return false;
        if (another.spread < measurement->spread)
            *measurement = another;
    }
    return true;
}

bool measure(const struct measure_job *job, struct measurement *measurement, GError **error)
{
    struct session s = {.job = job, .batch = 1};
    bool done;

    *measurement = (struct measurement){0};
    done = first_look(&s, measurement, error);
    if (done && !measurement->slow && is_yardstick(&s))
        done = third_look(&s, measurement, error);
    if (done && measurement->n == 0 && !s.impossible)
        done = warm_up(&s, error) && (s.impossible || take_samples(&s, measurement, error));
    if (s.impossible)
        *measurement = (struct measurement){.n = 1};
    measurement->runs = s.next;
    return done;
}

double measure_most_seconds(double sample_seconds)
{
    /* Factor 2, since a sample may end one reading late, and a reading of short runs is shorter
     * than the sample's time. */
    return 2 * MEASURE_ATTEMPTS_MAX * sample_seconds;
}

double measure_possible_ms(const struct solution *solution, const struct target *target,
                           enum data_type type, bool cold_caches)
{
    double ms = target_least_ms(target, type, solution->flops);

    if (cold_caches && target->peak_bytes > 0)
        ms = fmax(ms, (solution->read_bytes + solution->write_bytes) / target->peak_bytes * 1e3);
    return ms;
}
