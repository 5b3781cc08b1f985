#include "worker/verify/judge_state.h"

#include <math.h>
#include <string.h>

#include "worker/protocol/frames.h"
#include "worker/verify/reference_kinds.h"

/* ---- the epilogue ---- */

bool judge_has_epilogue(const struct judge *judge)
{
    return judge->bound.epilogue.count > 0;
}

/* Writes the steps' numbers: a kernel may have written into them. A write waits for the device, so it comes before the
 * reference, which the host does not wait for. */
static bool write_steps(struct judge *judge, GError **error)
{
    double numbers[EPILOGUE_STEPS_MAX][JUDGE_STEP_NUMBERS] = {{0}};

    if (!judge_has_epilogue(judge))
        return true;
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
    struct judge_args arguments = {0};

    if (!judge_has_epilogue(judge))
        return true;
    judge_add_memory(&arguments, judge->value);
    judge_add_memory(&arguments, judge->magnitude);
    judge_add_memory(&arguments, judge->gain);
    judge_add_memory(&arguments, judge->slack);
    judge_add_memory(&arguments, judge->steps);
    judge_add_memory(&arguments, operand_or(memory, TENSOR_BIAS, judge->steps));
    judge_add_memory(&arguments, operand_or(memory, TENSOR_RESIDUAL, judge->steps));
    judge_add_memory(&arguments, operand_or(memory, TENSOR_SCALES, judge->steps));
    judge_add_int64(&arguments, judge->count);
    judge_add_int32(&arguments, bound->epilogue.count);
    judge_add_float64(&arguments, bound->unit);
    judge_add_int32(&arguments, bound->integers);
    judge_add_int32(&arguments, judge_type_number(bound->output));
    judge_add_int32(&arguments, bound->channels);
    judge_add_int64(&arguments, bound->inner);
    judge_add_int64(&arguments, bound->scales);
    judge_add_int32(&arguments, bound->residual_is_scaled);
    judge_add_int32(&arguments,
                    memory[TENSOR_BIAS] ? judge_type_number(judge->tensors[TENSOR_BIAS].type) : -1);
    judge_add_int32(&arguments, memory[TENSOR_RESIDUAL] != NULL);
    judge_add_tensor(&arguments, residual);
    return judge_launch(judge, JUDGE_ENTRY_EPILOGUE, judge_groups_for(judge->count), &arguments,
                        error);
}

/* ---- operators other than convolutions ---- */

bool judge_has_functions(const struct problem *p)
{
    return p->kind == OP_SOFTMAX || p->kind == OP_LRN;
}

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

static void add_mode(struct judge_args *arguments, const struct problem *p)
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
    judge_add_int32(arguments, mode_number(p));
    judge_add_int32(arguments, is_resize ? place_of(words[1], coordinates) : 0);
    judge_add_int32(arguments, is_resize ? place_of(words[2], roundings) : 0);
    judge_add_float64(arguments, lrn.size);
    judge_add_float64(arguments, lrn.alpha);
    judge_add_float64(arguments, lrn.beta);
    judge_add_float64(arguments, lrn.bias);
}

static bool run_operator(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                         GError **error)
{
    const struct problem *p = &judge->problem;
    int64_t items = p->kind == OP_SOFTMAX ? judge->count / p->c : judge->count;
    struct judge_args arguments = {0};
    double least, most;

    reference_range(p, &least, &most);
    judge_add_memory(&arguments, memory[TENSOR_X]);
    judge_add_memory(&arguments, judge->value);
    judge_add_memory(&arguments, judge->magnitude);
    judge_add_int64(&arguments, items);
    judge_add_int32(&arguments, (int)p->kind);
    add_mode(&arguments, p);
    judge_add_float64(&arguments, least);
    judge_add_float64(&arguments, most);
    judge_add_tensor(&arguments, &judge->tensors[TENSOR_X]);
    judge_add_axes(&arguments, p->fil);
    judge_add_axes(&arguments, p->out);
    judge_add_axes(&arguments, p->pad);
    judge_add_axes(&arguments, p->stride);
    judge_add_axes(&arguments, p->dilation);
    return judge_launch(judge, JUDGE_ENTRY_OPERATOR, judge_groups_for(items), &arguments, error);
}

/* ---- convolutions ---- */

static void add_problem(struct judge_args *arguments, const struct judge *judge)
{
    const struct problem *p = &judge->problem;

    judge_add_int32(arguments, (int)p->direction);
    for (int t = 0; t < TENSOR_COUNT; t++)
        judge_add_int32(arguments, judge_type_number(judge->tensors[t].type));
    for (int t = 0; t < TENSOR_COUNT; t++)
        judge_add_int32(arguments, judge_type_number(problem_cast_type(p, (enum tensor_role)t)));
    for (int t = 0; t < TENSOR_COUNT; t++)
        judge_add_int32(arguments, judge->tensors[t].block);
    for (int t = 0; t < TENSOR_COUNT; t++)
        for (int i = 0; i < TENSOR_AXES; i++)
            judge_add_int64(arguments, judge->tensors[t].stride[i]);
    judge_add_int32(arguments, p->n);
    judge_add_int32(arguments, p->groups);
    judge_add_int32(arguments, p->c / p->groups);
    judge_add_int32(arguments, p->k / p->groups);
    judge_add_axes(arguments, p->in);
    judge_add_axes(arguments, p->fil);
    judge_add_axes(arguments, p->out);
    judge_add_axes(arguments, p->pad);
    judge_add_axes(arguments, p->stride);
    judge_add_axes(arguments, p->dilation);
}

static bool run_sums(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                     GError **error)
{
    struct judge_args sums = {0};

    for (int t = 0; t < TENSOR_COUNT; t++)
        judge_add_memory(&sums, memory[t]);
    judge_add_memory(&sums, judge->value);
    judge_add_memory(&sums, judge->magnitude);
    judge_add_int64(&sums, judge->count);
    judge_add_int64(&sums, judge->items);
    judge_add_int32(&sums, judge->rows);
    judge_add_int32(&sums, judge->parts);
    add_problem(&sums, judge);
    return judge_launch(judge, JUDGE_ENTRY_REFERENCE, judge_groups_for(judge->items * judge->parts),
                        &sums, error);
}

/* ---- the reference ---- */

/* Overwrites the sums, too (judge_forget_found()): they may be another problem's, or damaged by a kernel. */
static bool forget_sums(struct judge *judge, GError **error)
{
    int64_t sums = judge->count * judge->parts;
    const struct device_row *row = judge->device->row;
    return row->fill(judge->value, 0, sums * 8, 0xff, error) &&
           row->fill(judge->magnitude, 0, sums * 4, 0xff, error) &&
           (!judge->gain || (row->fill(judge->gain, 0, judge->count * 4, 0xff, error) &&
                             row->fill(judge->slack, 0, judge->count * 4, 0xff, error)));
}

bool judge_run_reference(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                         GError **error)
{
    bool is_conv = judge->problem.kind == OP_CONV;
    struct judge_args join = {0};

    judge_add_memory(&join, judge->value);
    judge_add_memory(&join, judge->magnitude);
    judge_add_memory(&join, judge->found);
    judge_add_int64(&join, judge->count);
    judge_add_int32(&join, judge->parts);
    judge_add_int32(&join, judge_groups(judge));
    judge_add_int32(&join, judge_has_epilogue(judge) ? -1 : judge_type_number(judge->bound.output));
    return write_steps(judge, error) && judge_forget_found(judge, error) &&
           forget_sums(judge, error) &&
           (is_conv ? run_sums(judge, memory, error) : run_operator(judge, memory, error)) &&
           judge_launch(judge, JUDGE_ENTRY_JOIN, judge_groups(judge), &join, error) &&
           run_epilogue(judge, memory, error);
}

bool judge_read_largest(struct judge *judge, GError **error)
{
    float largest[JUDGE_GROUPS_MAX];
    int64_t groups = judge_groups(judge);
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
