#include "worker/measure/together.h"

#include <math.h>
#include <string.h>

#include "worker/measure/statistics.h"

#define READINGS_MAX   1000
#define TURNS_MIN      3
#define SLICE_MS       5.0 /* readings of a slice take about so long, so that turns are many */
#define SLICE_MAX      4   /* readings */
/* Short runs share a reading of this length. The first run of a reading finds an idle device, and caches that had time to
 * write back; both change the time of a reading of 0.1 ms by 2 to 8 %. */
#define READING_MS     (SLICE_MS / SLICE_MAX)
#define BATCH_MAX      1000
#define PRECISION      0.02 /* half the interval's width over the median */
#define INTERVAL_LEAST 6    /* readings that an interval needs */
/* The warm-up takes at most so many readings, and ends when two in a row agree. */
#define WARM_UP_MAX    10
#define SETTLED        0.05

struct contender {
    bool warm;    /* it takes part */
    bool dropped; /* it failed, or the clock did */
    int batch;    /* runs in a reading */
    int64_t runs;
    int slice; /* readings in a turn */
    int turns;
    int count;
    double *readings; /* ms of one run, in the order of time */
    /* The statistics of the readings so far. */
    double median, low, high, precision;
};

struct together {
    int count;
    double limit_ms, spent_ms;
    int64_t
        next; /* the number of the next run, whichever config's it is: each run uses the copy that waited longest */
    struct contender *contenders;
};

Together *together_new(int count, double seconds)
{
    Together *together = g_new0(Together, 1);
    together->count = count;
    together->limit_ms = seconds * 1000;
    together->contenders = g_new0(struct contender, (gsize)MAX(count, 1));
    for (int i = 0; i < count; i++)
        together->contenders[i].readings = g_new0(double, READINGS_MAX);
    return together;
}

void together_free(Together *together)
{
    if (!together)
        return;
    for (int i = 0; i < together->count; i++)
        g_free(together->contenders[i].readings);
    g_free(together->contenders);
    g_free(together);
}

void together_drop(Together *together, int index)
{
    together->contenders[index].dropped = true;
}

static bool read_one(Together *together, struct contender *c, const struct measure_job *job,
                     double *run_ms, GError **error)
{
    double ms;
    if (!measure_reading(job, c->batch, &together->next, &ms, error))
        return false;
    together->spent_ms += ms;
    c->runs += c->batch;
    *run_ms = ms / c->batch;
    if (!(*run_ms > 0)) {
        c->dropped = true;
        c->count = 0;
    }
    return true;
}

static bool size_batch(Together *together, struct contender *c, const struct measure_job *job,
                       double one_ms, GError **error)
{
    int64_t before = together->next;
    struct measure_size size;

    if (!measure_size(job, one_ms, &together->next, &size, error))
        return false;
    c->batch = size.batch;
    c->runs += together->next - before;
    c->dropped = c->dropped || size.impossible;
    together->spent_ms += size.spent_ms;
    return true;
}

bool together_warm_up(Together *together, int index, const struct measure_job *job, GError **error)
{
    struct contender *c = &together->contenders[index];
    double first, second, last, now;

    c->batch = 1;
    c->warm = true;
    if (!read_one(together, c, job, &first, error) || !read_one(together, c, job, &second, error) ||
        !size_batch(together, c, job, fmin(first, second), error))
        return false;
    last = now = 0;
    for (int i = 0; i < WARM_UP_MAX && !c->dropped; i++, last = now) {
        if (!read_one(together, c, job, &now, error))
            return false;
        if (i > 0 && fabs(now - last) <= SETTLED * last)
            break;
    }
    if (now > 0)
        c->batch = (int)CLAMP(READING_MS / now, c->batch, BATCH_MAX);
    double reading_ms = now * c->batch;
    c->slice = reading_ms > 0 ? (int)CLAMP(SLICE_MS / reading_ms, 1, SLICE_MAX) : 1;
    return true;
}

/* ---- what is known so far ---- */

static void sort_readings(const struct contender *c, int from, int count, double *sorted)
{
    memcpy(sorted, c->readings + from, (gsize)count * sizeof *sorted);
    statistics_sort(sorted, count);
}

static void know(struct contender *c)
{
    double sorted[READINGS_MAX];

    sort_readings(c, 0, c->count, sorted);
    c->median = statistics_median(sorted, c->count);
    c->precision = statistics_median_precision(sorted, c->count);
    if (!statistics_median_interval(sorted, c->count, &c->low, &c->high)) {
        c->low = sorted[0];
        c->high = sorted[c->count - 1];
    }
}

static bool has_time(const struct contender *c)
{
    return c->warm && !c->dropped && c->count > 0;
}

static const struct contender *fastest(const Together *together)
{
    const struct contender *best = NULL;
    for (int i = 0; i < together->count; i++) {
        const struct contender *c = &together->contenders[i];
        if (has_time(c) && (!best || c->median < best->median))
            best = c;
    }
    return best;
}

static bool is_behind(const struct contender *c, const struct contender *best)
{
    return c != best && c->count >= INTERVAL_LEAST && best->count >= INTERVAL_LEAST &&
           c->low > best->high;
}

bool together_takes_part(const Together *together, int index)
{
    const struct contender *c = &together->contenders[index], *best = fastest(together);
    if (!c->warm || c->dropped || c->count + c->slice > READINGS_MAX)
        return false;
    return c->turns < TURNS_MIN || !best || c->precision > PRECISION || !is_behind(c, best);
}

/* Whether the config's place beside the fastest one is still open: it is the fastest, or meets its interval, and the
 * medians are not known well enough. */
static bool is_open(const struct contender *c, const struct contender *best)
{
    if (is_behind(c, best))
        return false;
    return c->precision > PRECISION || best->precision > PRECISION;
}

bool together_goes_on(const Together *together)
{
    const struct contender *best = fastest(together);
    bool open = false;

    for (int i = 0; i < together->count; i++) {
        const struct contender *c = &together->contenders[i];
        if (!c->warm || c->dropped)
            continue;
        if (c->turns < TURNS_MIN)
            return true;
        open = open || (is_open(c, best) && together_takes_part(together, i));
    }
    return open && together->spent_ms < together->limit_ms;
}

bool together_slice(Together *together, int index, const struct measure_job *job, GError **error)
{
    struct contender *c = &together->contenders[index];
    double ignored, *readings = c->readings;
    int batch = c->batch;

    /* The runs before were another config's: the first run meets other code in the caches. */
    c->batch = 1;
    bool done = read_one(together, c, job, &ignored, error);
    c->batch = batch;
    for (int i = 0; i < c->slice && done && !c->dropped; i++) {
        double now;
        done = read_one(together, c, job, &now, error);
        if (done && !c->dropped)
            readings[c->count++] = now;
    }
    c->turns++;
    if (done && c->count > 0)
        know(c);
    return done;
}

bool together_may_win(const Together *together, int index)
{
    const struct contender *c = &together->contenders[index], *best = fastest(together);
    return best && has_time(c) && !is_behind(c, best);
}

void together_sum_up(const Together *together, int index, struct measurement *measurement,
                     double *low_ms, double *high_ms)
{
    const struct contender *c = &together->contenders[index];
    double sorted[READINGS_MAX];

    *measurement = (struct measurement){.n = 1, .runs = c->runs};
    *low_ms = *high_ms = 0;
    if (!has_time(c))
        return;
    sort_readings(c, 0, c->count, sorted);
    measurement->n = c->count;
    measurement->min_ms = sorted[0];
    measurement->median_ms = c->median;
    measurement->spread = statistics_spread(sorted, c->count);
    measurement->unstable = measurement->spread > MEASURE_SPREAD_MAX;
    *low_ms = c->low;
    *high_ms = c->high;
}

double together_drift(const Together *together)
{
    g_autofree double *ratios = g_new0(double, (gsize)MAX(together->count, 1));
    double sorted[READINGS_MAX];
    int count = 0;

    for (int i = 0; i < together->count; i++) {
        const struct contender *c = &together->contenders[i];
        int half = c->count / 2;
        if (!has_time(c) || c->count < INTERVAL_LEAST)
            continue;
        sort_readings(c, 0, half, sorted);
        double before = statistics_median(sorted, half);
        sort_readings(c, c->count - half, half, sorted);
        ratios[count++] = statistics_median(sorted, half) / before;
    }
    if (count == 0)
        return 0;
    statistics_sort(ratios, count);
    return statistics_median(ratios, count);
}
