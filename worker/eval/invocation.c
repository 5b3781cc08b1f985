#include "worker/eval/invocation.h"

/* Replaces an argument that points into the workspace by a slice of it, which reaches to the
 * workspace's end: devices take memory objects as arguments, not addresses. */
static bool resolve_workspace(struct invocation *invocation, const struct solution *solution,
                              int64_t offset, struct device_memory *workspace,
                              struct device_arg *arg, GError **error)
{
    int64_t bytes = (int64_t)solution->workspace_bytes;

    if (!workspace || offset < 0 || offset >= bytes) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_LAUNCH,
                    "an argument points %" G_GINT64_FORMAT
                    " bytes into a workspace of %" G_GINT64_FORMAT,
                    offset, bytes);
        return false;
    }
    arg->memory = workspace;
    if (offset == 0)
        return true;
    arg->memory = invocation->device->row->slice(workspace, offset, bytes - offset, error);
    if (arg->memory)
        g_ptr_array_add(invocation->slices, arg->memory);
    return arg->memory != NULL;
}

static bool resolve_arg(struct invocation *invocation, const struct solution *solution,
                        const struct launch_arg *from, const struct tensor tensors[OPERAND_COUNT],
                        struct device_memory *workspace, struct device_arg *arg, GError **error)
{
    *arg = (struct device_arg){0};
    switch (from->kind) {
    case ARG_TENSOR: return true; /* invocation_launch() sets the tensor's memory for each run */
    case ARG_WORKSPACE:
        return resolve_workspace(invocation, solution, from->value, workspace, arg, error);
    case ARG_INT32:
        arg->bytes = sizeof(int32_t);
        arg->value.int32 = (int32_t)from->value;
        return true;
    case ARG_INT64:
        arg->bytes = sizeof(int64_t);
        arg->value.int64 = from->value;
        return true;
    case ARG_FLOAT32:
        arg->bytes = sizeof(float);
        arg->value.float32 = (float)from->real;
        return true;
    case ARG_STRIDE:
        arg->bytes = sizeof(int64_t);
        arg->value.int64 = tensors[from->tensor].stride[from->value] * from->factor;
        return true;
    }
    g_assert_not_reached();
}

static bool prepare_launch(struct invocation *invocation, const struct solution *solution,
                           int index, struct device_program *program,
                           const struct tensor tensors[OPERAND_COUNT],
                           struct device_memory *workspace, GError **error)
{
    const struct launch *from = &solution->launches[index];
    struct invocation_launch *to = &invocation->launches[index];

    to->launch.kernel = invocation->device->row->kernel(program, from->entry, error);
    if (!to->launch.kernel)
        return false;
    g_ptr_array_add(invocation->kernels, to->launch.kernel);
    for (int i = 0; i < 3; i++) {
        to->launch.grid[i] = from->grid[i];
        to->launch.block[i] = from->block[i];
    }
    to->launch.local_bytes = from->local_bytes;
    to->launch.arg_count = from->arg_count;
    to->launch.args = to->args;
    for (int i = 0; i < from->arg_count; i++) {
        to->tensor_of[i] = from->args[i].kind == ARG_TENSOR ? (int)from->args[i].tensor : -1;
        if (!resolve_arg(invocation, solution, &from->args[i], tensors, workspace, &to->args[i],
                         error))
            return false;
    }
    return true;
}

bool invocation_prepare(struct invocation *invocation, struct device *device,
                        const struct solution *solution, struct device_program *const *programs,
                        const struct tensor tensors[OPERAND_COUNT], struct device_memory *workspace,
                        GError **error)
{
    *invocation = (struct invocation){.device = device,
                                      .launch_count = solution->launch_count,
                                      .pack_count = solution->pack_count,
                                      .rounding = solution->rounding};
    invocation->slices = g_ptr_array_new();
    invocation->kernels = g_ptr_array_new();
    for (int i = 0; i < solution->launch_count; i++) {
        if (!prepare_launch(invocation, solution, i, programs[i], tensors, workspace, error)) {
            invocation_clear(invocation);
            return false;
        }
    }
    return true;
}

void invocation_clear(struct invocation *invocation)
{
    for (guint i = 0; invocation->slices && i < invocation->slices->len; i++)
        invocation->device->row->memory_free(invocation->slices->pdata[i]);
    for (guint i = 0; invocation->kernels && i < invocation->kernels->len; i++)
        invocation->device->row->kernel_free(invocation->kernels->pdata[i]);
    g_clear_pointer(&invocation->slices, g_ptr_array_unref);
    g_clear_pointer(&invocation->kernels, g_ptr_array_unref);
}

static bool enqueue(struct invocation *invocation, int index,
                    struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    struct invocation_launch *launch = &invocation->launches[index];

    for (int a = 0; a < launch->launch.arg_count; a++) {
        int role = launch->tensor_of[a];
        if (role < 0)
            continue;
        launch->args[a].memory = memory[role];
        if (!memory[role]) {
            g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_LAUNCH,
                        "launch %d wants an operand that the problem lacks (role %d)", index, role);
            return false;
        }
    }
    return invocation->device->row->launch(invocation->device, &launch->launch, error);
}

static bool enqueue_all(struct invocation *invocation, int from, int to,
                        struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    for (int i = from; i < to; i++) {
        if (!enqueue(invocation, i, memory, error))
            return false;
    }
    return true;
}

bool invocation_pack(struct invocation *invocation,
                     struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    return enqueue_all(invocation, 0, invocation->pack_count, memory, error);
}

bool invocation_launch(struct invocation *invocation,
                       struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    return enqueue_all(invocation, invocation->pack_count, invocation->launch_count, memory, error);
}
