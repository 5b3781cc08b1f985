#include "worker/verify/judge_state.h"

#include <string.h>

#include "worker/protocol/frames.h"

#define BLOCK        8 /* channels of a work-item of judge_reference, the same number as in judge.cl */
#define MEMORY_SHARE 4 /* a judge may use 1/4 of the device's memory */
/* Several work-items share a sum if that gives up to this many work-items: when W is the output,
 * there are few elements, and each is a long sum. */
#define ITEMS_WANTED (1 << 18)
#define PARTS_MAX    64

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
    for (int i = 0; i < JUDGE_ENTRY_COUNT; i++) {
        judge->kernels[i] =
            judge->device->row->kernel(program, judge_entry_name((enum judge_entry)i), error);
        if (!judge->kernels[i])
            return false;
    }
    return true;
}

/* Whether judge.cl computes the problem's reference. Its functions are not exact enough for FP64. */
static bool judge_supports(const struct judge *judge, GError **error)
{
    const struct problem *p = &judge->problem;
    const char *what = judge_has_epilogue(judge) ? "an epilogue" : op_kind_name(p->kind);

    if (p->type[TENSOR_X] != TYPE_FP64 || !(judge_has_functions(p) || judge_has_epilogue(judge)))
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

/* Bytes on the device: of each part of an element of the reference a double and a float, and two floats more for an
 * element of a problem with an epilogue; the sample, and what workgroups found. */
int64_t judge_bytes(const struct judge *judge)
{
    return judge->count * (judge->parts * 12 + (judge_has_epilogue(judge) ? 8 : 0)) +
           JUDGE_SAMPLE_BYTES + JUDGE_FOUND_BYTES;
}

static bool alloc_for_epilogue(struct judge *judge, GError **error)
{
    const struct device_row *row = judge->device->row;
    int64_t bytes = EPILOGUE_STEPS_MAX * JUDGE_STEP_NUMBERS * (int64_t)sizeof(double);

    if (!judge_has_epilogue(judge))
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
    int64_t elements = judge->count * judge->parts, part = JUDGE_GROUPS_MAX * 8;
    int64_t limit = MIN(info->memory_bytes / MEMORY_SHARE, info->largest_bytes);

    if (elements > limit / 20 && judge_bytes(judge) > limit) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY,
                    "a reference of %" G_GINT64_FORMAT " elements is too large for the device",
                    elements);
        return false;
    }
    judge->value = row->alloc(judge->device, elements * 8, error);
    judge->magnitude = judge->value ? row->alloc(judge->device, elements * 4, error) : NULL;
    judge->sample = judge->magnitude ? row->alloc(judge->device, JUDGE_SAMPLE_BYTES, error) : NULL;
    judge->found = judge->sample ? row->alloc(judge->device, JUDGE_FOUND_BYTES, error) : NULL;
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
    return judge_write_inputs(judge, memory, error) && judge_run_reference(judge, memory, error) &&
           judge_check_sample(judge, error) && judge_read_largest(judge, error);
}

bool judge_resume(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                  GError **error)
{
    return judge_write_inputs(judge, memory, error) &&
           check_comparison(judge, memory[judge->out], error);
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
    row->memory_free(judge->sample);
    row->memory_free(judge->steps);
    row->memory_free(judge->slack);
    row->memory_free(judge->gain);
    row->memory_free(judge->magnitude);
    row->memory_free(judge->value);
    for (int i = 0; i < JUDGE_ENTRY_COUNT; i++)
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

bool judge_is_for(const struct judge *judge, const struct device_program *program,
                  const struct problem *p, const struct tensor *tensors, uint64_t seed)
{
    return judge->program == program && judge->seed == seed && problem_equal(&judge->problem, p) &&
           memcmp(judge->tensors, tensors, sizeof(judge->tensors)) == 0;
}
