#include "worker/agent/agent_cold.h"

#include <stdio.h>

#include "schema/monitor/log.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "worker/agent/direct.h"
#include "worker/agent/work.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/protocol.h"
#include "worker/protocol/target_json.h"

struct cold {
    const struct cold_options *options;
    struct direct *direct;
    const struct target *target;
    json_t *file;   /* the request, as it was read */
    json_t *layers; /* the file's layers as an eval child's "cold" request has them */
};

struct layer_text {
    const char *problem, *solver, *config; /* texts as the file has them */
    int runs;
    /* Limit on the workspace of the config's solution; INT64_MAX if the file has none. */
    json_int_t workspace_bytes;
};

static bool layer_read(json_t *object, struct layer_text *layer, GError **error)
{
    json_error_t why;
    layer->workspace_bytes = INT64_MAX;
    if (json_unpack_ex(object, &why, 0, "{s:s, s:s, s:s, s:i, s?I}", "problem", &layer->problem,
                       "solver", &layer->solver, "config", &layer->config, "runs", &layer->runs,
                       "workspace_bytes", &layer->workspace_bytes) != 0) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                    "it needs problem, solver and config (texts) and runs (a number): %s",
                    why.text);
        return false;
    }
    if (layer->runs >= 1 && layer->runs <= COLD_RUNS_MAX)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                "runs is %d; it is at least 1, at most %d", layer->runs, COLD_RUNS_MAX);
    return false;
}

/* Adds the layer to the eval child's "cold" request. */
static bool add_request(struct cold *cold, const struct layer_text *layer,
                        const struct perf_config *config, const struct solution *solution,
                        GError **error)
{
    json_t *values = json_array(), *kernels = json_array();
    json_array_append_new(cold->layers,
                          json_pack("{s:i, s:s, s:s, s:o, s:o, s:i, s:I}", "index", 0, "problem",
                                    layer->problem, "solver", layer->solver, "values", values,
                                    "kernels", kernels, "runs", layer->runs, "workspace_bytes",
                                    (json_int_t)solution->workspace_bytes));
    for (int i = 0; i < config->count; i++)
        json_array_append_new(values, json_integer(config->values[i]));
    return direct_add_kernels(cold->direct, solution, kernels, error);
}

static bool add_layer(struct cold *cold, json_t *object, GError **error)
{
    struct layer_text layer;
    struct problem problem;
    struct perf_config config;
    struct solution solution;
    struct context context;
    if (!layer_read(object, &layer, error))
        return false;
    const struct solver *solver = solver_find(layer.solver);
    if (!solver) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "there is no solver '%s' here",
                    layer.solver);
        return false;
    }
    solution_init(&solution);
    if (!problem_key_parse(layer.problem, &problem, error) || !problem_validate(&problem, error) ||
        !solver_result_parse(solver, &problem, cold->target, layer.config,
                             (uint64_t)MAX(layer.workspace_bytes, 0), &context, &config, error) ||
        !solver_solve(solver, &problem, &context, &config, &solution, error))
        return false;
    /* Two iterations of the network, and two operations for each multiply-accumulate. */
    direct_allow(cold->direct, 2.0 * layer.runs * 2 * problem_macs(&problem) / WORK_SLOWEST_FLOPS);
    return add_request(cold, &layer, &config, &solution, error);
}

static bool add_layers(struct cold *cold, GError **error)
{
    size_t i;
    json_t *layer;
    json_array_foreach (json_object_get(cold->file, "layers"), i, layer) {
        if (!add_layer(cold, layer, error)) {
            g_prefix_error(error, "cannot use '%s', layer %zu: ", cold->options->path, i + 1);
            return false;
        }
    }
    if (json_array_size(cold->layers) > 0)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "cannot use '%s': it lists no layers",
                cold->options->path);
    return false;
}

static json_t *plan(struct direct *direct, const struct target *target, void *data, GError **error)
{
    struct cold *cold = data;
    cold->direct = direct;
    cold->target = target;
    if (!add_layers(cold, error))
        return NULL;
    return json_pack("{s:s, s:o, s:O}", "op", "cold", "target", target_to_json(target), "layers",
                     cold->layers);
}

static bool take_times(struct direct *direct, const json_t *head, void *data)
{
    struct direct_facts facts;
    (void)data;
    direct_facts(direct, &facts);
    json_t *answer =
        json_pack("{s:i, s:I, s:f, s:O, s:O, s:O, s:O}", "kernels", facts.kernels, "bytes",
                  (json_int_t)facts.bytes, "compile_seconds", facts.compile_seconds, "load_seconds",
                  json_object_get(head, "load_seconds"), "pack_seconds",
                  json_object_get(head, "pack_seconds"), "first_seconds",
                  json_object_get(head, "first_seconds"), "second_seconds",
                  json_object_get(head, "second_seconds"));
    bool printed = answer && json_dumpf(answer, stdout, JSON_COMPACT) == 0;
    putchar('\n');
    json_decref(answer);
    return printed;
}

#define NETWORK_FILE_BYTES_MAX ((gsize)256 << 20) /* for a million layers of some 300 bytes each */

int agent_cold(const struct cold_options *options)
{
    struct cold cold = {.options = options};
    const struct direct_job job = {
        .name = "cold",
        .device = options->device,
        .compile_timeout_seconds = options->compile_timeout_seconds,
        .run_timeout_seconds = options->run_timeout_seconds,
        .plan = plan,
        .take = take_times,
        .data = &cold,
    };
    cold.file = direct_read_file("cold", options->path, NETWORK_FILE_BYTES_MAX);
    if (!cold.file)
        return 1;
    cold.layers = json_array();
    int status = direct_run(&job);
    json_decref(cold.layers);
    json_decref(cold.file);
    return status;
}
