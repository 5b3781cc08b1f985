#include "worker/verify/judge_state.h"

bool judge_write_input(struct judge *judge, enum tensor_role role, struct device_memory *memory,
                       GError **error)
{
    const struct random_source *source = &judge->sources[role];
    const struct device_row *row = judge->device->row;
    struct judge_args arguments = {0};
    struct tensor distinct;

    tensor_without_repeats(&source->tensor, &distinct);
    if (distinct.block > 1 && !row->fill(memory, 0, tensor_bytes(&distinct), 0, error))
        return false;
    judge_add_memory(&arguments, memory);
    judge_add_int64(&arguments, source->length);
    judge_add_int64(&arguments, (int64_t)source->seed);
    judge_add_int32(&arguments, source->spread.positive);
    judge_add_int32(&arguments, source->spread.whole);
    judge_add_float64(&arguments, source->spread.scale);
    judge_add_int64(&arguments, source->spread.range);
    judge_add_float64(&arguments, source->spread.last);
    judge_add_tensor(&arguments, &distinct);
    return judge_launch(judge, JUDGE_ENTRY_RANDOM, judge_groups_for(source->length), &arguments,
                        error);
}

static bool is_input(const struct judge *judge, int role)
{
    return role != (int)judge->out && tensor_exists(&judge->tensors[role]);
}

bool judge_write_inputs(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                        GError **error)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (is_input(judge, t) && !judge_write_input(judge, (enum tensor_role)t, memory[t], error))
            return false;
    }
    return true;
}
