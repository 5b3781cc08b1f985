#include "worker/verify/judge_private.h"

#include <math.h>

#include "worker/protocol/frames.h"
#include "worker/verify/random.h"

/* What the host computes besides, in about the time that the device takes for all; elements in runs
 * of consecutive ones, since each read of the device costs as much as a thousand bytes. */
#define SAMPLE_MACS 2e6
#define SAMPLE_RUN  8
#define SAMPLE_RUNS 256

struct sample {
    int64_t runs, length; /* of a run */
    double *value, *magnitude;
};

static int64_t run_start(const struct judge *judge, const struct sample *sample, int64_t run)
{
    int64_t last = judge->count - sample->length;

    if (run == 0 || run == sample->runs - 1)
        return run == 0 ? 0 : last;
    return (int64_t)(random_bits(~judge->seed, (uint64_t)run) % (uint64_t)(last + 1));
}

static double host_input(const void *data, enum tensor_role role, int64_t index)
{
    const struct judge *judge = data;

    return random_value(judge->tensors[role].type,
                        random_bits(judge->seed_of[role], (uint64_t)index));
}

static void sample_init(struct sample *sample, const struct judge *judge)
{
    const struct reference_inputs inputs = {host_input, judge};
    double elements = SAMPLE_MACS / judge_length(judge);

    sample->length = MIN(judge->count, elements < 2 * SAMPLE_RUN ? 1 : SAMPLE_RUN);
    sample->runs = (int64_t)CLAMP(elements / (double)sample->length, 2, SAMPLE_RUNS);
    sample->value = g_new(double, sample->runs * sample->length);
    sample->magnitude = g_new(double, sample->runs * sample->length);
    for (int64_t run = 0; run < sample->runs; run++) {
        for (int64_t i = 0; i < sample->length; i++) {
            int64_t at = run * sample->length + i;
            reference_element(&judge->problem, &inputs, run_start(judge, sample, run) + i,
                              &sample->value[at], &sample->magnitude[at]);
        }
    }
}

static void sample_clear(struct sample *sample)
{
    g_free(sample->value);
    g_free(sample->magnitude);
}

/* Both are off by their own order of summing; a float holds the device's magnitude. */
static bool agrees(const struct judge *judge, double value, double magnitude, double host_value,
                   double host_magnitude)
{
    double rounding = 2 * (judge_length(judge) + 2) * 0x1p-53;

    return fabs(value - host_value) <= rounding * host_magnitude &&
           fabs(magnitude - host_magnitude) <= (rounding + 0x1p-20) * host_magnitude;
}

static bool check_run(struct judge *judge, const struct sample *sample, int64_t run, GError **error)
{
    const struct device_row *row = judge->device->row;
    double value[SAMPLE_RUN];
    float magnitude[SAMPLE_RUN];
    int64_t start = run_start(judge, sample, run), length = sample->length;

    if (!row->read(judge->value, start * 8, value, length * 8, error) ||
        !row->read(judge->magnitude, start * 4, magnitude, length * 4, error))
        return false;
    for (int64_t i = 0; i < length; i++) {
        int64_t at = run * length + i;
        if (agrees(judge, value[i], (double)magnitude[i], sample->value[at], sample->magnitude[at]))
            continue;
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                    "the device's reference is wrong: its element %" G_GINT64_FORMAT
                    " is %.17g of %.9g, the host has %.17g of %.9g",
                    start + i, value[i], (double)magnitude[i], sample->value[at],
                    sample->magnitude[at]);
        return false;
    }
    return true;
}

bool judge_check_sample(struct judge *judge, GError **error)
{
    struct sample sample;
    bool good = true;

    sample_init(&sample, judge);
    for (int64_t run = 0; good && run < sample.runs; run++)
        good = check_run(judge, &sample, run, error);
    sample_clear(&sample);
    return good;
}
