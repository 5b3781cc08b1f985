/*
 * The proof of the reference. While the device computes, the host computes some 2 million multiply-accumulates of the
 * same reference with other code (reference_element.h), in runs of 8 consecutive elements: the first and the last
 * elements, which kernels most often miss, and runs drawn from the seed. Values must agree within the rounding errors of
 * both sums. A fault that spoils a share s of the elements escapes n runs with a probability of at most (1 - s)^n.
 */
#include "worker/verify/judge_state.h"

#include <float.h>
#include <math.h>

#include "worker/protocol/frames.h"
#include "worker/verify/parallel.h"
#include "worker/verify/reference_element.h"

/* The host's sample: so many multiply-accumulates take eight threads about 10 ms, as long as a fast GPU takes for the
 * whole reference. */
#define SAMPLE_MACS    2e6
/* A term of a softmax or an LRN, with its exp or power, takes the host as long as so many products. */
#define FUNCTION_TERMS 4

/* Host and device compute the functions of an epilogue within this share of what a kernel's may be off. */
#define FUNCTION_SHARE 0x1p-8
/* The same for the functions of an operator (exp, log, a power), as a share of the magnitude: those of judge.cl are
 * good to about 2^-43. */
#define OPERATOR_SHARE 0x1p-40

/* As judge.cl stores it: JUDGE_SAMPLE_NUMBERS doubles. */
struct element {
    double value, magnitude, gain, slack;
};
G_STATIC_ASSERT(sizeof(struct element) == JUDGE_SAMPLE_NUMBERS * sizeof(double));

struct sample {
    const struct judge *judge;
    int64_t runs, length;     /* of a run */
    struct element *elements; /* [runs][length] */
};

/* Where a run begins, as in judge.cl. */
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

    return tensor_round(problem_cast_type(&judge->problem, role),
                        random_element(&judge->sources[role], index));
}

/* Does the epilogue on the element of the sample. */
static void finish_element(const struct judge *judge, int64_t index, struct element *element)
{
    const struct epilogue_bound *bound = &judge->bound;
    int64_t channel = epilogue_bound_channel(bound, index);
    struct epilogue_inputs inputs = {.residual_scale = 1};
    struct bounded result;

    if (tensor_exists(&judge->tensors[TENSOR_BIAS]))
        inputs.bias = host_input(judge, TENSOR_BIAS, channel);
    if (tensor_exists(&judge->tensors[TENSOR_RESIDUAL]))
        inputs.residual = host_input(judge, TENSOR_RESIDUAL, index);
    if (bound->scales > 0) {
        inputs.scale = host_input(judge, TENSOR_SCALES, bound->scales > 2 ? channel : 0);
        inputs.residual_scale = host_input(judge, TENSOR_SCALES, bound->scales - 1);
    }
    epilogue_bound_at(bound, element->value, element->magnitude, &inputs, &result);
    element->value = result.value;
    element->gain = (double)(float)result.gain;
    element->slack = (double)(float)result.slack;
}

static void compute_run(void *data, int64_t run)
{
    const struct sample *sample = data;
    const struct judge *judge = sample->judge;
    const struct reference_inputs inputs = {host_input, judge};

    for (int64_t i = 0; i < sample->length; i++) {
        struct element *element = &sample->elements[run * sample->length + i];
        int64_t index = run_start(judge, sample, run) + i;
        reference_element(&judge->problem, &inputs, index, &element->value, &element->magnitude);
        element->gain = 1;
        if (judge_has_epilogue(judge))
            finish_element(judge, index, element);
        else
            element->value = tensor_clamp(judge->bound.output, element->value);
    }
}

static void sample_init(struct sample *sample, const struct judge *judge)
{
    double terms =
        judge_length(judge) * (judge_has_functions(&judge->problem) ? FUNCTION_TERMS : 1);
    double elements = SAMPLE_MACS / terms;

    *sample = (struct sample){.judge = judge};
    sample->length = MIN(judge->count, elements < 2 * JUDGE_SAMPLE_RUN ? 1 : JUDGE_SAMPLE_RUN);
    sample->runs = (int64_t)CLAMP(elements / (double)sample->length, 2, JUDGE_SAMPLE_RUNS);
    sample->elements = g_new0(struct element, sample->runs * sample->length);
}

static void sample_clear(struct sample *sample)
{
    g_free(sample->elements);
}

static bool near(double a, double b, double most)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= most;
}

/* Whether the device's element agrees with the host's. Host and device sum in different orders,
 * each with a rounding error of up to (L + 2) 2^-53 of the magnitude, which the epilogue turns into gain times as
 * much. The functions of the epilogue's steps differ by far less than a kernel may be off (slack). The device keeps
 * magnitudes, gains and slacks as floats, and may take those below FLT_MIN as zero. */
static bool agrees(const struct judge *judge, const struct element *device,
                   const struct element *host)
{
    bool functions = judge_has_functions(&judge->problem);
    double rounding = 2 * (judge_length(judge) + 2) * 0x1p-53 + (functions ? OPERATOR_SHARE : 0);
    double least = functions ? (double)FLT_MIN : 0; /* powers become as small as that */
    double sum = rounding * host->magnitude * host->gain + least;

    if (isinf(host->slack)) /* any value is right */
        return device->slack == host->slack &&
               near(device->magnitude, host->magnitude, 0x1p-18 * host->magnitude);
    return near(device->value, host->value, sum + host->slack * FUNCTION_SHARE) &&
           near(device->magnitude, host->magnitude,
                (rounding + 0x1p-20) * host->magnitude + least) &&
           near(device->gain, host->gain, 0x1p-18 * host->gain + (double)FLT_MIN) &&
           near(device->slack, host->slack, 0x1p-18 * host->slack + sum + (double)FLT_MIN);
}

/* Has the device gather its elements of the sample behind the reference, into memory full of NaNs: a launch that the
 * driver drops must not leave numbers of an earlier one. */
static bool start_gathering(struct judge *judge, const struct sample *sample, GError **error)
{
    struct device_memory *none = judge->magnitude;
    struct judge_args arguments = {0};

    judge_add_memory(&arguments, judge->value);
    judge_add_memory(&arguments, judge->magnitude);
    judge_add_memory(&arguments, judge->gain ? judge->gain : none);
    judge_add_memory(&arguments, judge->slack ? judge->slack : none);
    judge_add_memory(&arguments, judge->sample);
    judge_add_int64(&arguments, judge->count);
    judge_add_int64(&arguments, (int64_t)~judge->seed);
    judge_add_int32(&arguments, sample->runs);
    judge_add_int32(&arguments, sample->length);
    judge_add_int32(&arguments, judge->gain != NULL);
    return judge->device->row->fill(judge->sample, 0, JUDGE_SAMPLE_BYTES, 0xff, error) &&
           judge_launch(judge, JUDGE_ENTRY_SAMPLE, judge_groups_for(sample->runs * sample->length),
                        &arguments, error);
}

static bool check_run(const struct judge *judge, const struct sample *sample, int64_t run,
                      const struct element *device, GError **error)
{
    int64_t start = run_start(judge, sample, run), length = sample->length;

    for (int64_t i = 0; i < length; i++) {
        const struct element *mine = &device[run * length + i],
                             *host = &sample->elements[run * length + i];
        if (agrees(judge, mine, host))
            continue;
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                    "the device's reference is wrong: its element %" G_GINT64_FORMAT
                    " is %.17g of %.9g (gain %.9g, slack %.9g), the host has %.17g of %.9g (gain "
                    "%.9g, slack %.9g)",
                    start + i, mine->value, mine->magnitude, mine->gain, mine->slack, host->value,
                    host->magnitude, host->gain, host->slack);
        return false;
    }
    return true;
}

static bool check_runs(struct judge *judge, const struct sample *sample, GError **error)
{
    int64_t bytes = sample->runs * sample->length * (int64_t)sizeof(struct element);
    g_autofree struct element *device = g_malloc((gsize)bytes);

    if (!judge->device->row->read(judge->sample, 0, device, bytes, error))
        return false;
    for (int64_t run = 0; run < sample->runs; run++) {
        if (!check_run(judge, sample, run, device, error))
            return false;
    }
    return true;
}

bool judge_check_sample(struct judge *judge, GError **error)
{
    struct sample sample;

    sample_init(&sample, judge);
    bool good = start_gathering(judge, &sample, error);
    if (good) { /* while the device computes */
        parallel_parts(parallel_threads(), sample.runs, compute_run, &sample);
        good = check_runs(judge, &sample, error);
    }
    sample_clear(&sample);
    return good;
}
