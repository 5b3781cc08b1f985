#include "worker/eval/cold_run.h"

#include <string.h>

#include "worker/eval/eval_request.h"
#include "worker/eval/invocation.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/protocol.h"
#include "worker/protocol/target_json.h"

struct cold_layer {
    struct problem problem;
    const struct solver *solver;
    /* With the limits under which the config was valid when it was tuned. */
    struct context context;
    struct eval_config config;
    int runs;
    struct solution solution;
    struct tensor tensors[OPERAND_COUNT];
    struct device_memory *packed; /* the layer's packed filter, NULL for none */
    struct invocation invocation; /* points into this struct: a layer must not be moved */
};

struct cold_network {
    struct device *device;
    struct eval_kernels *kernels;
    struct target target;
    GPtrArray *layers;                           /* struct cold_layer * */
    struct device_memory *memory[OPERAND_COUNT]; /* by role, NULL where no layer has the operand */
    /* Memory shared by all layers; NULL if no layer needs a workspace. */
    struct device_memory *workspace;
};

static void layer_free(gpointer data)
{
    struct cold_layer *layer = data;
    invocation_clear(&layer->invocation);
    g_free(layer);
}

/* ---- steps that are not timed: parsing, solving, memory ---- */

static bool fail_frame(const char *what, GError **error)
{
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME, "cannot read a cold request: %s", what);
    return false;
}

static bool read_layer(struct cold_network *network, const json_t *object, GError **error)
{
    struct cold_layer *layer = g_new0(struct cold_layer, 1);
    const char *problem, *solver;
    json_int_t workspace_bytes = INT64_MAX;
    json_error_t why;

    g_ptr_array_add(network->layers, layer);
    if (json_unpack_ex((json_t *)(uintptr_t)object, &why, 0, "{s:s,s:s,s:i,s?I}", "problem",
                       &problem, "solver", &solver, "runs", &layer->runs, "workspace_bytes",
                       &workspace_bytes) != 0)
        return fail_frame(why.text, error);
    if (layer->runs < 1 || layer->runs > COLD_RUNS_MAX || !eval_config_read(object, &layer->config))
        return fail_frame("a layer's runs, config or kernels are missing or wrong", error);
    if (!eval_work_find(problem, solver, &layer->problem, &layer->solver, error))
        return false;
    solver_result_context(layer->solver, &layer->problem, &network->target, &layer->config.config,
                          (uint64_t)MAX(workspace_bytes, 0), &layer->context);
    for (int t = 0; t < OPERAND_COUNT; t++)
        tensor_init(&layer->tensors[t], &layer->problem, (enum tensor_role)t);
    return true;
}

static bool read_network(struct cold_network *network, const json_t *request, GError **error)
{
    const json_t *layers = json_object_get(request, "layers");

    if (!target_from_json(json_object_get(request, "target"), &network->target, error))
        return false;
    if (!json_is_array(layers))
        return fail_frame("it has no list of layers", error);
    for (size_t i = 0; i < json_array_size(layers); i++) {
        if (!read_layer(network, json_array_get(layers, i), error))
            return false;
    }
    return true;
}

static bool solve_layers(struct cold_network *network, GError **error)
{
    for (guint i = 0; i < network->layers->len; i++) {
        struct cold_layer *layer = g_ptr_array_index(network->layers, i);
        solution_init(&layer->solution);
        if (!solver_solve(layer->solver, &layer->problem, &layer->context, &layer->config.config,
                          &layer->solution, error))
            return false;
        if (layer->config.kernel_count != layer->solution.launch_count)
            return fail_frame("a layer needs one kernel for each launch", error);
    }
    return true;
}

static bool alloc_zeros(struct cold_network *network, int64_t bytes, struct device_memory **memory,
                        GError **error)
{
    const struct device_row *row = network->device->row;

    *memory = row->alloc(network->device, bytes, error);
    return *memory && row->fill(*memory, 0, bytes, 0, error);
}

/* Allocates the memory and fills it with zeros: otherwise the first touch of a page would count
 * as a kernel's time. */
static bool alloc_memory(struct cold_network *network, GError **error)
{
    int64_t bytes[OPERAND_COUNT] = {0}, workspace = 0;

    for (guint i = 0; i < network->layers->len; i++) {
        struct cold_layer *layer = g_ptr_array_index(network->layers, i);
        int64_t packed = (int64_t)layer->solution.packed_bytes;
        for (int t = 0; t < OPERAND_COUNT; t++)
            bytes[t] = MAX(bytes[t], tensor_bytes(&layer->tensors[t]));
        workspace = MAX(workspace, (int64_t)layer->solution.workspace_bytes);
        if (packed > 0 && !alloc_zeros(network, packed, &layer->packed, error))
            return false;
    }
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (bytes[t] > 0 && !alloc_zeros(network, bytes[t], &network->memory[t], error))
            return false;
    }
    return (workspace == 0 || alloc_zeros(network, workspace, &network->workspace, error)) &&
           network->device->row->sync(network->device, error);
}

/* ---- steps that are timed ---- */

static bool load_layer(struct cold_network *network, struct cold_layer *layer, GError **error)
{
    struct device_program *programs[SOLUTION_LAUNCHES_MAX];

    for (int i = 0; i < layer->config.kernel_count; i++) {
        programs[i] = eval_kernels_program(network->kernels, layer->config.kernels[i], error);
        if (!programs[i])
            return false;
    }
    return invocation_prepare(&layer->invocation, network->device, &layer->solution, programs,
                              layer->tensors, network->workspace, error);
}

static bool load_all(struct cold_network *network, GError **error)
{
    for (guint i = 0; i < network->layers->len; i++) {
        if (!load_layer(network, g_ptr_array_index(network->layers, i), error))
            return false;
    }
    return network->device->row->sync(network->device, error);
}

/* Points to the memory of the layer's operands. */
static void operands_of(const struct cold_network *network, const struct cold_layer *layer,
                        struct device_memory *memory[OPERAND_COUNT])
{
    memcpy(memory, network->memory, sizeof(network->memory));
    memory[TENSOR_PACKED] = layer->packed;
}

static bool pack_all(struct cold_network *network, GError **error)
{
    for (guint i = 0; i < network->layers->len; i++) {
        struct cold_layer *layer = g_ptr_array_index(network->layers, i);
        struct device_memory *memory[OPERAND_COUNT];
        operands_of(network, layer, memory);
        if (!invocation_pack(&layer->invocation, memory, error))
            return false;
    }
    return network->device->row->sync(network->device, error);
}

static bool run_all(struct cold_network *network, GError **error)
{
    for (guint i = 0; i < network->layers->len; i++) {
        struct cold_layer *layer = g_ptr_array_index(network->layers, i);
        struct device_memory *memory[OPERAND_COUNT];
        operands_of(network, layer, memory);
        for (int r = 0; r < layer->runs; r++) {
            if (!invocation_launch(&layer->invocation, memory, error))
                return false;
        }
    }
    return network->device->row->sync(network->device, error);
}

/* Measures a step in host time, since loading is no work of the device. Each step ends with a
 * sync, so that its work has ended. */
static bool timed(struct cold_network *network,
                  bool (*step)(struct cold_network *network, GError **error), double *seconds,
                  GError **error)
{
    gint64 start = g_get_monotonic_time();
    bool done = step(network, error);

    *seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    return done;
}

bool cold_run(struct device *device, struct eval_kernels *kernels, const json_t *request,
              struct cold_times *times, GError **error)
{
    struct cold_network network = {.device = device, .kernels = kernels};

    network.layers = g_ptr_array_new_with_free_func(layer_free);
    bool done = read_network(&network, request, error) && solve_layers(&network, error) &&
                alloc_memory(&network, error) &&
                timed(&network, load_all, &times->load_seconds, error) &&
                timed(&network, pack_all, &times->pack_seconds, error) &&
                timed(&network, run_all, &times->first_seconds, error) &&
                timed(&network, run_all, &times->second_seconds, error);
    for (guint i = 0; i < network.layers->len; i++) {
        struct cold_layer *layer = g_ptr_array_index(network.layers, i);
        if (layer->packed)
            device->row->memory_free(layer->packed);
    }
    g_ptr_array_unref(network.layers);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (network.memory[t])
            device->row->memory_free(network.memory[t]);
    }
    if (network.workspace)
        device->row->memory_free(network.workspace);
    return done;
}
