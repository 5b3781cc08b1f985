/*
 * The entries of judge.cl, and the order in which they run:
 *   judge_random     writes an input from the seed; once for each input
 *   judge_reference  for convolutions: sums value and magnitude of each output element, in `parts` parts
 *   judge_operator   for all other operators: computes value and magnitude of each output element
 *   judge_join       adds the parts up, and finds each workgroup's largest magnitude
 *   judge_epilogue   does the epilogue on the joined elements, and finds each one's gain and slack (epilogue_bound.h);
 *                    for problems with an epilogue
 *   judge_compare    for each workgroup: the largest error, the elements looked at, the wrong elements
 *   judge_written    for each workgroup: the elements looked at, those that do not hold the poison
 *   judge_fingerprint  for each workgroup: its part of a fingerprint, the bytes looked at
 * The host reads back only the workgroups' results, a few KiB.
 *
 * The sample. While the device computes, the host computes some 2 million multiply-accumulates of the same reference
 * with other code (reference_element.h), in runs of 8 consecutive elements: the first and the last elements, which
 * kernels most often miss, and runs drawn from the seed. Values must agree within the rounding errors of both sums. A
 * fault that spoils a share s of the elements escapes n runs with a probability of at most (1 - s)^n.
 */
#include "worker/verify/judge.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "worker/protocol/frames.h"
#include "worker/verify/epilogue_bound.h"
#include "worker/verify/parallel.h"
#include "worker/verify/random.h"
#include "worker/verify/reference_element.h"
#include "worker/verify/reference_kinds.h"

#define ITEMS        256 /* work-items in a workgroup, the same number as in judge.cl */
#define BLOCK        8 /* channels of a work-item of judge_reference, the same number as in judge.cl */
/* Workgroups of the entries that loop over all elements: enough to occupy any device. */
#define GROUPS_MAX   1024
#define ARGS_MAX     72
#define FOUND_BYTES  (3ll * 8 * GROUPS_MAX)
#define MEMORY_SHARE 4 /* a judge may use 1/4 of the device's memory */
/* Several work-items share a sum if that gives up to this many work-items: when W is the output,
 * there are few elements, and each is a long sum. */
#define ITEMS_WANTED (1 << 18)
#define PARTS_MAX    64

#define JUDGE_ENTRIES 8 /* of its file */

/* Numbers of a step in judge.cl: operation, a, b, whether scales are one a channel. */
#define STEP_NUMBERS 4

struct judge {
    struct device *device;
    const struct device_program *program;
    struct problem problem;
    struct tensor tensors[OPERAND_COUNT];
    enum tensor_role out;
    uint64_t seed;
    struct random_source sources[OPERAND_COUNT]; /* of the operands that the problem has */
    struct epilogue_bound bound;
    struct device_kernel *kernels[JUDGE_ENTRIES];
    int64_t count; /* elements of the output */
    /* Of a convolution's reference: work-items without their parts, blocks of channels in a group of the output. */
    int64_t items, rows;
    int parts;
    /* Doubles and floats, [parts][count]: each part is a partial sum of every element.
     * judge_join adds all parts up into the first one, which is the reference. */
    struct device_memory *value, *magnitude;
    /* For problems with an epilogue, else NULL: floats [count], and the steps' numbers. */
    struct device_memory *gain, *slack, *steps;
    struct device_memory *found; /* the results of each workgroup, three 8-byte numbers */
    struct device_memory *found_parts[3];
    double largest; /* magnitude */
};

enum entry {
    ENTRY_RANDOM,
    ENTRY_REFERENCE,
    ENTRY_JOIN,
    ENTRY_COMPARE,
    ENTRY_EPILOGUE,
    ENTRY_FINGERPRINT,
    ENTRY_OPERATOR,
    ENTRY_WRITTEN
};

static const char *const entry_names[JUDGE_ENTRIES] = {
    [ENTRY_RANDOM] = "judge_random",     [ENTRY_REFERENCE] = JUDGE_ENTRY,
    [ENTRY_JOIN] = "judge_join",         [ENTRY_COMPARE] = "judge_compare",
    [ENTRY_EPILOGUE] = "judge_epilogue", [ENTRY_FINGERPRINT] = "judge_fingerprint",
    [ENTRY_OPERATOR] = "judge_operator", [ENTRY_WRITTEN] = "judge_written",
};

/* ---- launches ---- */

struct arguments {
    int count;
    struct device_arg list[ARGS_MAX];
};

static struct device_arg *next_argument(struct arguments *arguments, int bytes)
{
    g_assert(arguments->count < ARGS_MAX);
    struct device_arg *arg = &arguments->list[arguments->count++];
    *arg = (struct device_arg){.bytes = bytes};
    return arg;
}

static void add_memory(struct arguments *arguments, struct device_memory *memory)
{
    next_argument(arguments, 0)->memory = memory;
}

static void add_int32(struct arguments *arguments, int64_t value)
{
    next_argument(arguments, sizeof(int32_t))->value.int32 = (int32_t)value;
}

static void add_int64(struct arguments *arguments, int64_t value)
{
    next_argument(arguments, sizeof(int64_t))->value.int64 = value;
}

static void add_float64(struct arguments *arguments, double value)
{
    next_argument(arguments, sizeof(double))->value.float64 = value;
}

static void add_axes(struct arguments *arguments, const int64_t values[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++)
        add_int32(arguments, values[a]);
}

static int type_number(enum data_type type)
{
    static const enum data_type numbered[] = {TYPE_FP32, TYPE_FP16,  TYPE_BF16,
                                              TYPE_INT8, TYPE_INT32, TYPE_FP64};

    for (int i = 0; i < (int)G_N_ELEMENTS(numbered); i++)
        if (numbered[i] == type)
            return i;
    g_assert_not_reached();
}

static void add_tensor(struct arguments *arguments, const struct tensor *tensor)
{
    add_int32(arguments, type_number(tensor->type));
    add_int32(arguments, tensor->block);
    for (int i = 1; i < TENSOR_AXES; i++)
        add_int32(arguments, tensor->extent[i]);
    for (int i = 0; i < TENSOR_AXES; i++)
        add_int64(arguments, tensor->stride[i]);
}

static bool launch(struct judge *judge, enum entry entry, int64_t groups,
                   const struct arguments *arguments, GError **error)
{
    const struct device_launch launch = {
        .kernel = judge->kernels[entry],
        .grid = {groups * ITEMS, 1, 1},
        .block = {ITEMS, 1, 1},
        .arg_count = arguments->count,
        .args = arguments->list,
    };

    return judge->device->row->launch(judge->device, &launch, error);
}

static int64_t groups_for(int64_t items)
{
    return (items + ITEMS - 1) / ITEMS;
}

static int64_t groups_through(const struct judge *judge)
{
    return MIN(groups_for(judge->count), GROUPS_MAX);
}

/* ---- inputs and reference ---- */

bool judge_write_input(struct judge *judge, enum tensor_role role, struct device_memory *memory,
                       GError **error)
{
    const struct random_source *source = &judge->sources[role];
    const struct device_row *row = judge->device->row;
    struct arguments arguments = {0};
    struct tensor distinct;

    tensor_without_repeats(&source->tensor, &distinct);
    if (distinct.block > 1 && !row->fill(memory, 0, tensor_bytes(&distinct), 0, error))
        return false;
    add_memory(&arguments, memory);
    add_int64(&arguments, source->length);
    add_int64(&arguments, (int64_t)source->seed);
    add_int32(&arguments, source->spread.positive);
    add_int32(&arguments, source->spread.whole);
    add_float64(&arguments, source->spread.scale);
    add_int64(&arguments, source->spread.range);
    add_float64(&arguments, source->spread.last);
    add_tensor(&arguments, &distinct);
    return launch(judge, ENTRY_RANDOM, groups_for(source->length), &arguments, error);
}

static bool is_input(const struct judge *judge, int role)
{
    return role != (int)judge->out && tensor_exists(&judge->tensors[role]);
}

static bool write_inputs(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                         GError **error)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (is_input(judge, t) && !judge_write_input(judge, (enum tensor_role)t, memory[t], error))
            return false;
    }
    return true;
}

static void add_problem(struct arguments *arguments, const struct judge *judge)
{
    const struct problem *p = &judge->problem;

    add_int32(arguments, (int)p->direction);
    for (int t = 0; t < TENSOR_COUNT; t++)
        add_int32(arguments, type_number(judge->tensors[t].type));
    for (int t = 0; t < TENSOR_COUNT; t++)
        add_int32(arguments, judge->tensors[t].block);
    for (int t = 0; t < TENSOR_COUNT; t++)
        for (int i = 0; i < TENSOR_AXES; i++)
            add_int64(arguments, judge->tensors[t].stride[i]);
    add_int32(arguments, p->n);
    add_int32(arguments, p->groups);
    add_int32(arguments, p->c / p->groups);
    add_int32(arguments, p->k / p->groups);
    add_axes(arguments, p->in);
    add_axes(arguments, p->fil);
    add_axes(arguments, p->out);
    add_axes(arguments, p->pad);
    add_axes(arguments, p->stride);
    add_axes(arguments, p->dilation);
}

/* Overwrites the results of earlier launches with numbers that are refused: a launch that the
 * driver drops must not look like one that found every element right. */
static bool forget_found(struct judge *judge, GError **error)
{
    return judge->device->row->fill(judge->found, 0, FOUND_BYTES, 0xff, error);
}

/* Does the same for the sums, which may be another problem's, or damaged by a kernel. */
static bool forget_sums(struct judge *judge, GError **error)
{
    int64_t sums = judge->count * judge->parts;
    const struct device_row *row = judge->device->row;
    return row->fill(judge->value, 0, sums * 8, 0xff, error) &&
           row->fill(judge->magnitude, 0, sums * 4, 0xff, error) &&
           (!judge->gain || (row->fill(judge->gain, 0, judge->count * 4, 0xff, error) &&
                             row->fill(judge->slack, 0, judge->count * 4, 0xff, error)));
}

/* ---- the epilogue ---- */

static bool has_epilogue(const struct judge *judge)
{
    return judge->bound.epilogue.count > 0;
}

/* Writes the steps' numbers: a kernel may have written into them. */
static bool write_steps(struct judge *judge, GError **error)
{
    double numbers[EPILOGUE_STEPS_MAX][STEP_NUMBERS] = {{0}};

    for (int i = 0; i < judge->bound.epilogue.count; i++) {
        const struct epilogue_step *step = &judge->bound.epilogue.steps[i];
        numbers[i][0] = (double)step->op;
        numbers[i][1] = step->a;
        numbers[i][2] = step->b;
        numbers[i][3] = step->per_channel;
    }
    return judge->device->row->write(judge->steps, 0, numbers, sizeof(numbers), error);
}

/* An operand that the problem lacks is replaced by memory that the entry does not read. */
static struct device_memory *operand_or(struct device_memory *const memory[OPERAND_COUNT],
                                        enum tensor_role role, struct device_memory *other)
{
    return memory[role] ? memory[role] : other;
}

static bool run_epilogue(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                         GError **error)
{
    const struct tensor *residual = &judge->tensors[TENSOR_RESIDUAL];
    const struct epilogue_bound *bound = &judge->bound;
    struct arguments arguments = {0};

    if (!has_epilogue(judge))
        return true;
    add_memory(&arguments, judge->value);
    add_memory(&arguments, judge->magnitude);
    add_memory(&arguments, judge->gain);
    add_memory(&arguments, judge->slack);
    add_memory(&arguments, judge->steps);
    add_memory(&arguments, operand_or(memory, TENSOR_BIAS, judge->steps));
    add_memory(&arguments, operand_or(memory, TENSOR_RESIDUAL, judge->steps));
    add_memory(&arguments, operand_or(memory, TENSOR_SCALES, judge->steps));
    add_int64(&arguments, judge->count);
    add_int32(&arguments, bound->epilogue.count);
    add_float64(&arguments, bound->unit);
    add_int32(&arguments, bound->integers);
    add_int32(&arguments, type_number(bound->output));
    add_int32(&arguments, bound->channels);
    add_int64(&arguments, bound->inner);
    add_int64(&arguments, bound->scales);
    add_int32(&arguments, bound->residual_is_scaled);
    add_int32(&arguments, memory[TENSOR_BIAS] ? type_number(judge->tensors[TENSOR_BIAS].type) : -1);
    add_int32(&arguments, memory[TENSOR_RESIDUAL] != NULL);
    add_tensor(&arguments, residual);
    return write_steps(judge, error) &&
           launch(judge, ENTRY_EPILOGUE, groups_for(judge->count), &arguments, error);
}

/* ---- operators other than convolutions ---- */

/* The place of a word in a list that ends with NULL; 0 for NULL and for a word that is not in it: the coordinates
 * "half_pixel_symmetric" are those of "half_pixel" where the scale is out / in. */
static int place_of(const char *word, const char *const *list)
{
    for (int i = 0; word && list[i]; i++) {
        if (strcmp(word, list[i]) == 0)
            return i;
    }
    return 0;
}

/* The numbers by which judge.cl knows the problem's mode. */
static int mode_number(const struct problem *p)
{
    static const char *const pools[] = {"max", "average", "average_all", NULL};

    switch (p->kind) {
    case OP_POOL: return place_of(p->mode, pools);
    case OP_SOFTMAX: return strcmp(p->mode, "log") == 0;
    case OP_RESIZE: return g_str_has_prefix(p->mode, "linear");
    default: return 0;
    }
}

static void add_mode(struct arguments *arguments, const struct problem *p)
{
    static const char *const coordinates[] = {"half_pixel", "asymmetric", "align_corners",
                                              "pytorch_half_pixel", NULL};
    static const char *const roundings[] = {"floor", "ceil", "round_prefer_floor",
                                            "round_prefer_ceil", NULL};
    g_auto(GStrv) words = g_strsplit(p->mode, ",", 3);
    bool is_resize = p->kind == OP_RESIZE;
    struct lrn_mode lrn = {0};

    if (p->kind == OP_LRN)
        lrn = lrn_mode_of(p);
    add_int32(arguments, mode_number(p));
    add_int32(arguments, is_resize ? place_of(words[1], coordinates) : 0);
    add_int32(arguments, is_resize ? place_of(words[2], roundings) : 0);
    add_float64(arguments, lrn.size);
    add_float64(arguments, lrn.alpha);
    add_float64(arguments, lrn.beta);
    add_float64(arguments, lrn.bias);
}

static bool run_operator(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                         GError **error)
{
    const struct problem *p = &judge->problem;
    int64_t items = p->kind == OP_SOFTMAX ? judge->count / p->c : judge->count;
    struct arguments arguments = {0};
    double least, most;

    reference_range(p, &least, &most);
    add_memory(&arguments, memory[TENSOR_X]);
    add_memory(&arguments, judge->value);
    add_memory(&arguments, judge->magnitude);
    add_int64(&arguments, items);
    add_int32(&arguments, (int)p->kind);
    add_mode(&arguments, p);
    add_float64(&arguments, least);
    add_float64(&arguments, most);
    add_tensor(&arguments, &judge->tensors[TENSOR_X]);
    add_axes(&arguments, p->fil);
    add_axes(&arguments, p->out);
    add_axes(&arguments, p->pad);
    add_axes(&arguments, p->stride);
    add_axes(&arguments, p->dilation);
    return launch(judge, ENTRY_OPERATOR, groups_for(items), &arguments, error);
}

/* ---- the reference ---- */

static bool run_sums(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                     GError **error)
{
    struct arguments sums = {0};

    for (int t = 0; t < TENSOR_COUNT; t++)
        add_memory(&sums, memory[t]);
    add_memory(&sums, judge->value);
    add_memory(&sums, judge->magnitude);
    add_int64(&sums, judge->count);
    add_int64(&sums, judge->items);
    add_int32(&sums, judge->rows);
    add_int32(&sums, judge->parts);
    add_problem(&sums, judge);
    return launch(judge, ENTRY_REFERENCE, groups_for(judge->items * judge->parts), &sums, error);
}

static bool run_reference(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                          GError **error)
{
    bool is_conv = judge->problem.kind == OP_CONV;
    struct arguments join = {0};

    add_memory(&join, judge->value);
    add_memory(&join, judge->magnitude);
    add_memory(&join, judge->found);
    add_int64(&join, judge->count);
    add_int32(&join, judge->parts);
    add_int32(&join, groups_through(judge));
    return forget_found(judge, error) && forget_sums(judge, error) &&
           (is_conv ? run_sums(judge, memory, error) : run_operator(judge, memory, error)) &&
           launch(judge, ENTRY_JOIN, groups_through(judge), &join, error) &&
           run_epilogue(judge, memory, error);
}

static bool read_largest(struct judge *judge, GError **error)
{
    float largest[GROUPS_MAX];
    int64_t groups = groups_through(judge);
    bool sound = true;

    judge->largest = 0;
    if (!judge->device->row->read(judge->found, 0, largest, groups * (int64_t)sizeof(float), error))
        return false;
    for (int64_t i = 0; i < groups; i++) {
        sound = sound && largest[i] >= 0 && isfinite(largest[i]);
        judge->largest = fmax(judge->largest, (double)largest[i]);
    }
    if (!sound)
        g_set_error_literal(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                            "the device did not report its reference's largest magnitude");
    return sound;
}

/* ---- the host's sample of the reference ---- */

/* The host's sample: so many multiply-accumulates take eight threads about 10 ms, as long as a fast GPU takes for the
 * whole reference. The elements are in runs of consecutive ones, since each read of the device costs as much as a
 * thousand bytes. */
#define SAMPLE_MACS    2e6
#define SAMPLE_RUN     8
#define SAMPLE_RUNS    256
/* A term of a softmax or an LRN, with its exp or power, takes the host as long as so many products. */
#define FUNCTION_TERMS 4

/* Host and device compute the functions of an epilogue within this share of what a kernel's may be off. */
#define FUNCTION_SHARE 0x1p-8
/* The same for the functions of an operator (exp, log, a power), as a share of the magnitude: those of judge.cl are
 * good to about 2^-43. */
#define OPERATOR_SHARE 0x1p-40

struct sample {
    const struct judge *judge;
    int64_t runs, length; /* of a run */
    struct element {
        double value, magnitude, gain, slack;
    } * elements; /* [runs][length] */
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

    return random_element(&judge->sources[role], index);
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

static bool has_functions(const struct problem *p)
{
    return p->kind == OP_SOFTMAX || p->kind == OP_LRN;
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
        if (has_epilogue(judge))
            finish_element(judge, index, element);
    }
}

/* The device idles until the host has its sample. */
static void sample_init(struct sample *sample, const struct judge *judge)
{
    double terms = judge_length(judge) * (has_functions(&judge->problem) ? FUNCTION_TERMS : 1);
    double elements = SAMPLE_MACS / terms;

    *sample = (struct sample){.judge = judge};
    sample->length = MIN(judge->count, elements < 2 * SAMPLE_RUN ? 1 : SAMPLE_RUN);
    sample->runs = (int64_t)CLAMP(elements / (double)sample->length, 2, SAMPLE_RUNS);
    sample->elements = g_new0(struct element, sample->runs * sample->length);
    parallel_parts(parallel_threads(), sample->runs, compute_run, sample);
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
    bool functions = has_functions(&judge->problem);
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

/* Reads elements of the reference. */
static bool read_elements(struct judge *judge, int64_t start, int64_t count,
                          struct element elements[SAMPLE_RUN], GError **error)
{
    const struct device_row *row = judge->device->row;
    double value[SAMPLE_RUN];
    float magnitude[SAMPLE_RUN], gain[SAMPLE_RUN], slack[SAMPLE_RUN];

    if (!row->read(judge->value, start * 8, value, count * 8, error) ||
        !row->read(judge->magnitude, start * 4, magnitude, count * 4, error))
        return false;
    if (judge->gain && (!row->read(judge->gain, start * 4, gain, count * 4, error) ||
                        !row->read(judge->slack, start * 4, slack, count * 4, error)))
        return false;
    for (int64_t i = 0; i < count; i++) {
        elements[i] = (struct element){value[i], (double)magnitude[i], 1, 0};
        if (judge->gain) {
            elements[i].gain = (double)gain[i];
            elements[i].slack = (double)slack[i];
        }
    }
    return true;
}

static bool check_run(struct judge *judge, const struct sample *sample, int64_t run, GError **error)
{
    struct element elements[SAMPLE_RUN];
    int64_t start = run_start(judge, sample, run), length = sample->length;

    if (!read_elements(judge, start, length, elements, error))
        return false;
    for (int64_t i = 0; i < length; i++) {
        const struct element *mine = &elements[i], *host = &sample->elements[run * length + i];
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

static bool check_sample(struct judge *judge, GError **error)
{
    struct sample sample;
    bool good = true;

    sample_init(&sample, judge);
    for (int64_t run = 0; good && run < sample.runs; run++)
        good = check_run(judge, &sample, run, error);
    sample_clear(&sample);
    return good;
}

/* ---- comparing ---- */

static bool run_comparison(struct judge *judge, struct device_memory *output,
                           const struct tolerance *tolerance, GError **error)
{
    struct arguments arguments = {0};

    add_memory(&arguments, output);
    add_memory(&arguments, judge->value);
    add_memory(&arguments, judge->magnitude);
    add_memory(&arguments, judge->gain ? judge->gain : judge->magnitude);
    add_memory(&arguments, judge->gain ? judge->slack : judge->magnitude);
    for (int i = 0; i < 3; i++)
        add_memory(&arguments, judge->found_parts[i]);
    add_int64(&arguments, judge->count);
    add_int32(&arguments, groups_through(judge));
    add_int32(&arguments, has_epilogue(judge));
    add_int32(&arguments, tolerance->exact);
    add_float64(&arguments, tolerance->tensor_wide ? judge->largest : -1);
    add_float64(&arguments, tolerance->per_magnitude);
    add_float64(&arguments, tolerance->per_value);
    add_float64(&arguments, tolerance->smallest);
    add_float64(&arguments, fmin(tolerance->overflow, DBL_MAX));
    add_tensor(&arguments, &judge->tensors[judge->out]);
    return forget_found(judge, error) &&
           launch(judge, ENTRY_COMPARE, groups_through(judge), &arguments, error);
}

bool judge_compare(struct judge *judge, struct device_memory *output,
                   const struct tolerance *tolerance, struct judged *judged, GError **error)
{
    union {
        double ratio;
        int64_t number;
    } found[3][GROUPS_MAX];
    int64_t groups = groups_through(judge), looked = 0;
    bool sound = true;

    if (!run_comparison(judge, output, tolerance, error) ||
        !judge->device->row->read(judge->found, 0, found, sizeof(found), error))
        return false;
    *judged = (struct judged){0};
    for (int64_t i = 0; i < groups; i++) {
        int64_t looks = found[1][i].number, wrong = found[2][i].number;
        /* If the driver dropped the launch, the poison of forget_found() fails these tests: NaN
         * is not >= 0, and -1 is negative. */
        sound = sound && looks >= 0 && looks <= judge->count && wrong >= 0 && wrong <= looks &&
                found[0][i].ratio >= 0;
        looked += sound ? looks : 0;
        judged->error = fmax(judged->error, found[0][i].ratio);
        judged->wrong += sound ? wrong : 0;
    }
    if (sound && looked == judge->count)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                "the device compared %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " elements", looked,
                judge->count);
    return false;
}

/* ---- gaps ---- */

static bool run_written(struct judge *judge, struct device_memory *output,
                        const struct tensor *places, int64_t count, uint8_t poison, int64_t groups,
                        GError **error)
{
    struct arguments arguments = {0};

    add_memory(&arguments, output);
    add_memory(&arguments, judge->found_parts[0]);
    add_memory(&arguments, judge->found_parts[1]);
    add_int64(&arguments, count);
    add_int32(&arguments, groups);
    add_int32(&arguments, poison);
    add_tensor(&arguments, places);
    return forget_found(judge, error) && launch(judge, ENTRY_WRITTEN, groups, &arguments, error);
}

/* Counts the places of the tensor, all in the output's memory, that do not hold the poison. */
static bool count_written(struct judge *judge, struct device_memory *output,
                          const struct tensor *places, uint8_t poison, int64_t *written,
                          GError **error)
{
    int64_t found[2][GROUPS_MAX], count = tensor_count(places), looked = 0;
    int64_t groups = MIN(groups_for(count), GROUPS_MAX);
    bool sound = true;

    if (!run_written(judge, output, places, count, poison, groups, error) ||
        !judge->device->row->read(judge->found, 0, found, sizeof(found), error))
        return false;
    *written = 0;
    for (int64_t i = 0; i < groups; i++) {
        /* If the driver dropped the launch, a group looked at -1 elements (forget_found()). */
        sound = sound && found[0][i] >= 0 && found[1][i] >= 0 && found[1][i] <= found[0][i];
        looked += sound ? found[0][i] : 0;
        *written += sound ? found[1][i] : 0;
    }
    if (sound && looked == count)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                "the device looked at %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                " elements for writes between them",
                looked, count);
    return false;
}

bool judge_finds_gaps_whole(struct judge *judge, struct device_memory *output, uint8_t poison,
                            bool *whole, GError **error)
{
    const struct tensor *tensor = &judge->tensors[judge->out];
    struct tensor all = {.type = tensor->type, .block = 1, .extent = {1, 1, 1, 1, 1}};
    int64_t in_elements, in_all;

    *whole = tensor_is_packed(tensor);
    if (*whole || tensor->block > 1)
        return true;
    all.extent[0] = tensor_elements(tensor);
    all.stride[0] = 1;
    if (!count_written(judge, output, tensor, poison, &in_elements, error) ||
        !count_written(judge, output, &all, poison, &in_all, error))
        return false;
    *whole = in_elements == in_all;
    return true;
}

/* ---- fingerprints ---- */

static bool run_fingerprints(struct judge *judge, const struct judge_pieces *pieces, int groups,
                             GError **error)
{
    struct arguments arguments = {0};

    add_memory(&arguments, pieces->memory);
    add_memory(&arguments, judge->found_parts[0]);
    add_memory(&arguments, judge->found_parts[1]);
    add_int64(&arguments, pieces->offset);
    add_int64(&arguments, pieces->step);
    add_int64(&arguments, pieces->bytes);
    add_int32(&arguments, groups);
    return forget_found(judge, error) &&
           launch(judge, ENTRY_FINGERPRINT, (int64_t)groups * pieces->count, &arguments, error);
}

bool judge_fingerprints(struct judge *judge, const struct judge_pieces *pieces, uint64_t *prints,
                        GError **error)
{
    int64_t found[2][GROUPS_MAX];
    int64_t items = groups_for(pieces->bytes / 8 + 1);
    int groups;
    bool sound = true;

    g_assert(pieces->count >= 1 && pieces->count <= GROUPS_MAX);
    groups = (int)CLAMP(items, 1, GROUPS_MAX / pieces->count);
    if (!run_fingerprints(judge, pieces, groups, error) ||
        !judge->device->row->read(judge->found, 0, found, sizeof(found), error))
        return false;
    for (int piece = 0; piece < pieces->count; piece++) {
        int64_t looked = 0;
        prints[piece] = 0;
        for (int i = piece * groups; i < (piece + 1) * groups; i++) {
            /* If the driver dropped the launch, a group looked at -1 bytes (forget_found()). */
            sound = sound && found[1][i] >= 0;
            looked += sound ? found[1][i] : 0;
            prints[piece] += (uint64_t)found[0][i];
        }
        sound = sound && looked == pieces->bytes;
    }
    if (!sound)
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                    "the device did not look at all of %d times %" G_GINT64_FORMAT " bytes",
                    pieces->count, pieces->bytes);
    return sound;
}

/* Proves that the comparison finds an unwritten output wrong. Only half of the elements must be found: poison may
 * equal a right integer by chance. */
static bool check_comparison(struct judge *judge, struct device_memory *poisoned, GError **error)
{
    struct tolerance tolerance;
    struct judged judged;

    tolerance_init(&tolerance, &judge->problem, NULL, judge_length(judge));
    if (!judge_compare(judge, poisoned, &tolerance, &judged, error))
        return false;
    if (judged.wrong > judge->count / 2)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                "the device finds %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                " elements wrong in an output that nobody wrote",
                judged.wrong, judge->count);
    return false;
}

/* ---- making and freeing a judge ---- */

static bool find_kernels(struct judge *judge, struct device_program *program, GError **error)
{
    for (int i = 0; i < JUDGE_ENTRIES; i++) {
        judge->kernels[i] = judge->device->row->kernel(program, entry_names[i], error);
        if (!judge->kernels[i])
            return false;
    }
    return true;
}

/* Whether judge.cl computes the problem's reference. Its functions are not exact enough for FP64. */
static bool judge_supports(const struct judge *judge, GError **error)
{
    const struct problem *p = &judge->problem;
    const char *what = has_epilogue(judge) ? "an epilogue" : op_kind_name(p->kind);

    if (p->type[TENSOR_X] != TYPE_FP64 || !(has_functions(p) || has_epilogue(judge)))
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                "the device's judge has no reference for %s in FP64; the host verifies", what);
    return false;
}

/* Counts the work-items, and chooses into how many parts each sum is split. Work-items divide the images and output
 * lines of a sum among them, so there are at most as many parts as lines. */
static void choose_parts(struct judge *judge)
{
    const struct problem *p = &judge->problem;
    int64_t lines = p->n * p->out[AXIS_D] * p->out[AXIS_H];
    int64_t channels = (judge->out == TENSOR_X ? p->c : p->k) / p->groups;

    judge->rows = (channels + BLOCK - 1) / BLOCK;
    judge->items = judge->count / channels * judge->rows;
    judge->parts = 1;
    if (p->direction == DIRECTION_W)
        judge->parts = (int)CLAMP(ITEMS_WANTED / judge->items, 1, MIN(lines, PARTS_MAX));
}

/* Bytes of the reference on the device: of each part of an element a double and a float, and two floats more for an
 * element of a problem with an epilogue. */
static int64_t judge_bytes(const struct judge *judge)
{
    return judge->count * (judge->parts * 12 + (has_epilogue(judge) ? 8 : 0));
}

static bool alloc_for_epilogue(struct judge *judge, GError **error)
{
    const struct device_row *row = judge->device->row;
    int64_t bytes = EPILOGUE_STEPS_MAX * STEP_NUMBERS * (int64_t)sizeof(double);

    if (!has_epilogue(judge))
        return true;
    judge->gain = row->alloc(judge->device, judge->count * 4, error);
    judge->slack = judge->gain ? row->alloc(judge->device, judge->count * 4, error) : NULL;
    judge->steps = judge->slack ? row->alloc(judge->device, bytes, error) : NULL;
    return judge->steps != NULL;
}

static bool alloc_memory(struct judge *judge, GError **error)
{
    const struct device_row *row = judge->device->row;
    const struct device_info *info = row->info(judge->device);
    int64_t elements = judge->count * judge->parts, part = GROUPS_MAX * 8;
    int64_t limit = MIN(info->memory_bytes / MEMORY_SHARE, info->largest_bytes);

    if (elements > limit / 20 && judge_bytes(judge) > limit) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY,
                    "a reference of %" G_GINT64_FORMAT " elements is too large for the device",
                    elements);
        return false;
    }
    judge->value = row->alloc(judge->device, elements * 8, error);
    judge->magnitude = judge->value ? row->alloc(judge->device, elements * 4, error) : NULL;
    judge->found = judge->magnitude ? row->alloc(judge->device, FOUND_BYTES, error) : NULL;
    for (int i = 0; judge->found && i < 3; i++) {
        judge->found_parts[i] = row->slice(judge->found, i * part, part, error);
        if (!judge->found_parts[i])
            return false;
    }
    return judge->found && alloc_for_epilogue(judge, error);
}

bool judge_refresh(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                   GError **error)
{
    return write_inputs(judge, memory, error) && run_reference(judge, memory, error) &&
           check_sample(judge, error) && read_largest(judge, error);
}

bool judge_resume(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                  GError **error)
{
    return write_inputs(judge, memory, error) && check_comparison(judge, memory[judge->out], error);
}

struct judge *judge_new(struct device *device, struct device_program *program,
                        const struct problem *p, const struct tensor *tensors, uint64_t seed,
                        struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    struct judge *judge = g_new0(struct judge, 1);

    judge->device = device;
    judge->program = program;
    judge->problem = *p;
    memcpy(judge->tensors, tensors, sizeof(judge->tensors));
    judge->out = problem_output_role(p);
    judge->seed = seed;
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (tensor_exists(&tensors[t]))
            random_source_init(&judge->sources[t], p, &tensors[t], (enum tensor_role)t, seed);
    }
    epilogue_bound_init(&judge->bound, p);
    judge->count = tensor_count(&tensors[judge->out]);
    choose_parts(judge);
    if (judge_supports(judge, error) && find_kernels(judge, program, error) &&
        alloc_memory(judge, error) && judge_refresh(judge, memory, error) &&
        check_comparison(judge, memory[judge->out], error))
        return judge;
    judge_free(judge);
    return NULL;
}

void judge_free(struct judge *judge)
{
    if (!judge)
        return;
    const struct device_row *row = judge->device->row;
    for (int i = 0; i < 3; i++)
        row->memory_free(judge->found_parts[i]);
    row->memory_free(judge->found);
    row->memory_free(judge->steps);
    row->memory_free(judge->slack);
    row->memory_free(judge->gain);
    row->memory_free(judge->magnitude);
    row->memory_free(judge->value);
    for (int i = 0; i < JUDGE_ENTRIES; i++)
        row->kernel_free(judge->kernels[i]);
    g_free(judge);
}

double judge_length(const struct judge *judge)
{
    return reference_length(&judge->problem);
}

struct reference *judge_fetch(struct judge *judge, GError **error)
{
    const struct device_row *row = judge->device->row;
    struct reference *reference = g_new0(struct reference, 1);

    *reference = (struct reference){.role = judge->out,
                                    .count = judge->count,
                                    .largest = judge->largest,
                                    .length = judge_length(judge),
                                    .share = 1,
                                    .uses = 1};
    reference->value = g_new(double, judge->count);
    reference->magnitude = g_new(float, judge->count);
    if (judge->gain) {
        reference->gain = g_new(float, judge->count);
        reference->slack = g_new(float, judge->count);
    }
    if (row->read(judge->value, 0, reference->value, judge->count * 8, error) &&
        row->read(judge->magnitude, 0, reference->magnitude, judge->count * 4, error) &&
        (!judge->gain || (row->read(judge->gain, 0, reference->gain, judge->count * 4, error) &&
                          row->read(judge->slack, 0, reference->slack, judge->count * 4, error))))
        return reference;
    reference_unref(reference);
    return NULL;
}

static bool judge_is_for(const struct judge *judge, const struct device_program *program,
                         const struct problem *p, const struct tensor *tensors, uint64_t seed)
{
    return judge->program == program && judge->seed == seed && problem_equal(&judge->problem, p) &&
           memcmp(judge->tensors, tensors, sizeof(judge->tensors)) == 0;
}

/* ---- the cache of judges ---- */

#define KEPT_SHARE 16 /* the cache may use 1/16 of the device's memory */

struct kept {
    struct judge *judge;
    int64_t used_us; /* monotonic */
};

struct judge_cache {
    GQueue kept; /* struct kept *, most recently used first */
    int64_t bytes, bytes_limit;
};

struct judge_cache *judge_cache_new(const struct device *device)
{
    struct judge_cache *cache = g_new0(struct judge_cache, 1);

    g_queue_init(&cache->kept);
    cache->bytes_limit = device->row->info(device)->memory_bytes / KEPT_SHARE;
    return cache;
}

/* Takes an entry out of the cache; the caller owns its judge. */
static struct judge *take_out(struct judge_cache *cache, GList *link)
{
    struct kept *kept = link->data;
    struct judge *judge = kept->judge;

    g_queue_delete_link(&cache->kept, link);
    g_free(kept);
    cache->bytes -= judge_bytes(judge);
    return judge;
}

static void drop_last(struct judge_cache *cache)
{
    judge_free(take_out(cache, cache->kept.tail));
}

bool judge_cache_clear(struct judge_cache *cache)
{
    bool any = !g_queue_is_empty(&cache->kept);

    while (!g_queue_is_empty(&cache->kept))
        drop_last(cache);
    return any;
}

void judge_cache_drop_unused(struct judge_cache *cache, int64_t seconds)
{
    int64_t since = g_get_monotonic_time() - seconds * G_USEC_PER_SEC;

    for (struct kept *last; (last = g_queue_peek_tail(&cache->kept)) && last->used_us <= since;)
        drop_last(cache);
}

void judge_cache_free(struct judge_cache *cache)
{
    if (cache)
        judge_cache_clear(cache);
    g_free(cache);
}

struct judge *judge_cache_take(struct judge_cache *cache, const struct device_program *program,
                               const struct problem *p, const struct tensor *tensors, uint64_t seed)
{
    for (GList *link = cache->kept.head; link; link = link->next) {
        struct kept *kept = link->data;
        if (judge_is_for(kept->judge, program, p, tensors, seed))
            return take_out(cache, link);
    }
    return NULL;
}

void judge_cache_give(struct judge_cache *cache, struct judge *judge)
{
    struct kept *kept = g_new(struct kept, 1);

    *kept = (struct kept){judge, g_get_monotonic_time()};
    g_queue_push_head(&cache->kept, kept);
    cache->bytes += judge_bytes(judge);
    while (cache->bytes > cache->bytes_limit && !g_queue_is_empty(&cache->kept))
        drop_last(cache);
}
