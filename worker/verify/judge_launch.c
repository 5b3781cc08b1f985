#include "worker/verify/judge_state.h"

static const char *const entry_names[JUDGE_ENTRY_COUNT] = {
    [JUDGE_ENTRY_RANDOM] = "judge_random",     [JUDGE_ENTRY_REFERENCE] = JUDGE_ENTRY,
    [JUDGE_ENTRY_JOIN] = "judge_join",         [JUDGE_ENTRY_COMPARE] = "judge_compare",
    [JUDGE_ENTRY_EPILOGUE] = "judge_epilogue", [JUDGE_ENTRY_FINGERPRINT] = "judge_fingerprint",
    [JUDGE_ENTRY_OPERATOR] = "judge_operator", [JUDGE_ENTRY_WRITTEN] = "judge_written",
    [JUDGE_ENTRY_SAMPLE] = "judge_sample",
};

const char *judge_entry_name(enum judge_entry entry)
{
    return entry_names[entry];
}

static struct device_arg *next_argument(struct judge_args *arguments, int bytes)
{
    g_assert(arguments->count < JUDGE_ARGS_MAX);
    struct device_arg *arg = &arguments->list[arguments->count++];
    *arg = (struct device_arg){.bytes = bytes};
    return arg;
}

void judge_add_memory(struct judge_args *arguments, struct device_memory *memory)
{
    next_argument(arguments, 0)->memory = memory;
}

void judge_add_int32(struct judge_args *arguments, int64_t value)
{
    next_argument(arguments, sizeof(int32_t))->value.int32 = (int32_t)value;
}

void judge_add_int64(struct judge_args *arguments, int64_t value)
{
    next_argument(arguments, sizeof(int64_t))->value.int64 = value;
}

void judge_add_float64(struct judge_args *arguments, double value)
{
    next_argument(arguments, sizeof(double))->value.float64 = value;
}

void judge_add_axes(struct judge_args *arguments, const int64_t values[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++)
        judge_add_int32(arguments, values[a]);
}

int judge_type_number(enum data_type type)
{
    /* judge.cl is compiled for the target's form of FP8 and BF8. */
    static const int numbers[STORED_TYPE_COUNT] = {
        [TYPE_NONE] = -1, [TYPE_FP32] = 0,     [TYPE_FP16] = 1,     [TYPE_BF16] = 2,
        [TYPE_INT8] = 3,  [TYPE_INT32] = 4,    [TYPE_FP64] = 5,     [TYPE_FP8] = 6,
        [TYPE_BF8] = 7,   [TYPE_FP8_FNUZ] = 6, [TYPE_BF8_FNUZ] = 7,
    };

    return numbers[type];
}

void judge_add_tensor(struct judge_args *arguments, const struct tensor *tensor)
{
    judge_add_int32(arguments, judge_type_number(tensor->type));
    judge_add_int32(arguments, tensor->block);
    for (int i = 1; i < TENSOR_AXES; i++)
        judge_add_int32(arguments, tensor->extent[i]);
    for (int i = 0; i < TENSOR_AXES; i++)
        judge_add_int64(arguments, tensor->stride[i]);
}

bool judge_launch(struct judge *judge, enum judge_entry entry, int64_t groups,
                  const struct judge_args *arguments, GError **error)
{
    const struct device_launch launch = {
        .kernel = judge->kernels[entry],
        .grid = {groups * JUDGE_ITEMS, 1, 1},
        .block = {JUDGE_ITEMS, 1, 1},
        .arg_count = arguments->count,
        .args = arguments->list,
    };

    return judge->device->row->launch(judge->device, &launch, error);
}

int64_t judge_groups_for(int64_t items)
{
    return (items + JUDGE_ITEMS - 1) / JUDGE_ITEMS;
}

int64_t judge_groups(const struct judge *judge)
{
    return MIN(judge_groups_for(judge->count), JUDGE_GROUPS_MAX);
}

bool judge_forget_found(struct judge *judge, GError **error)
{
    return judge->device->row->fill(judge->found, 0, JUDGE_FOUND_BYTES, 0xff, error);
}
