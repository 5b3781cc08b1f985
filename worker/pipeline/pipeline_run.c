#include "worker/pipeline/pipeline_run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "worker/eval/eval_request.h"
#include "worker/eval/invocation.h"
#include "worker/measure/measure.h"
#include "worker/pipeline/pipeline_memory.h"
#include "worker/pipeline/pipeline_verify.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

#define STEP_PASSES 7 /* runs of the network in which each step is timed by itself */

/* A step, ready to run. */
struct ready_step {
    const struct pipeline_step *step;
    const struct solver *solver;
    struct eval_config config;
    struct solution solution;
    struct tensor tensors[OPERAND_COUNT];
    struct invocation invocation; /* points into this struct: a step must not be moved */
    struct device_memory *memory[OPERAND_COUNT];
    struct device_memory *packed; /* the packed filter; NULL if there is none */
    bool repacks; /* earlier steps or the network's inputs make the filter: each run packs it */
    double times_ms[STEP_PASSES];
    struct verdict verdict; /* of its result in its place */
};

struct pipeline {
    struct device *device;
    struct eval_kernels *kernels;
    struct target target;
    struct pipeline_plan plan;
    struct pipeline_memory memory;
    struct ready_step *steps;
    int step_count;
    int64_t packed_bytes;
    struct device_graph *graph; /* NULL where the device has none */
    double load_seconds, pack_ms;
    bool verifies; /* each step is compared with its reference */
    int wrong;     /* steps whose results are wrong */
};

static bool fail_frame(const char *what, GError **error)
{
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME, "cannot read a pipeline request: %s",
                what);
    return false;
}

/* ---- solving ---- */

static bool solve_step(struct pipeline *pipeline, struct ready_step *ready, const json_t *object,
                       GError **error)
{
    const char *name = json_string_value(json_object_get(object, "solver"));
    const struct problem *p = &ready->step->problem;
    struct context context;
    json_int_t workspace = json_integer_value(json_object_get(object, "workspace_bytes"));

    if (!name || workspace < 0 || !eval_config_read(object, &ready->config))
        return fail_frame("a step's solver, config or kernels are missing or wrong", error);
    ready->solver = solver_find(name);
    if (!ready->solver) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "this program has no solver '%s'",
                    name);
        return false;
    }
    solver_result_context(ready->solver, p, &pipeline->target, &ready->config.config,
                          (uint64_t)workspace, &context);
    solution_init(&ready->solution);
    if (!solver_solve(ready->solver, p, &context, &ready->config.config, &ready->solution, error))
        return false;
    if (ready->config.kernel_count != ready->solution.launch_count)
        return fail_frame("a step needs one kernel for each launch", error);
    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (problem_has_operand(p, (enum tensor_role)role))
            tensor_init(&ready->tensors[role], p, (enum tensor_role)role);
    }
    return true;
}

static bool solve_steps(struct pipeline *pipeline, const json_t *list, GError **error)
{
    if (!json_is_array(list) || json_array_size(list) != pipeline->plan.steps->len)
        return fail_frame("it needs one solver for each step of the plan", error);
    pipeline->steps = g_new0(struct ready_step, pipeline->plan.steps->len);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct ready_step *ready = &pipeline->steps[pipeline->step_count++];
        ready->step = pipeline_step_at(&pipeline->plan, (int)i);
        if (!solve_step(pipeline, ready, json_array_get(list, i), error)) {
            g_prefix_error(error, "step '%s': ", ready->step->name);
            return false;
        }
    }
    return true;
}

static int64_t most_workspace(const struct pipeline *pipeline)
{
    int64_t most = 0;

    for (int i = 0; i < pipeline->step_count; i++)
        most = MAX(most, (int64_t)pipeline->steps[i].solution.workspace_bytes);
    return most;
}

/* ---- loading ---- */

static bool give_memory(struct pipeline *pipeline, struct ready_step *ready, GError **error)
{
    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (ready->step->operands[role].buffer < 0)
            continue;
        ready->memory[role] =
            pipeline_memory_operand(&pipeline->memory, ready->step, (enum tensor_role)role, error);
        if (!ready->memory[role])
            return false;
    }
    if (ready->solution.packed_bytes == 0)
        return true;
    ready->repacks =
        pipeline_buffer_at(&pipeline->plan, ready->step->operands[TENSOR_W].buffer)->kind !=
        BUFFER_WEIGHT;
    ready->packed = pipeline->device->row->alloc(pipeline->device,
                                                 (int64_t)ready->solution.packed_bytes, error);
    ready->memory[TENSOR_PACKED] = ready->packed;
    pipeline->packed_bytes += (int64_t)ready->solution.packed_bytes;
    return ready->packed != NULL;
}

static bool load_step(struct pipeline *pipeline, struct ready_step *ready, GError **error)
{
    struct device_program *programs[SOLUTION_LAUNCHES_MAX];
    struct device_memory *workspace =
        pipeline->memory.workspace.device ? pipeline->memory.workspace.parts[0] : NULL;

    for (int i = 0; i < ready->config.kernel_count; i++) {
        programs[i] = eval_kernels_program(pipeline->kernels, ready->config.kernels[i], error);
        if (!programs[i])
            return false;
    }
    return give_memory(pipeline, ready, error) &&
           invocation_prepare(&ready->invocation, pipeline->device, &ready->solution, programs,
                              ready->tensors, workspace, error);
}

static bool load_steps(struct pipeline *pipeline, GError **error)
{
    gint64 start = g_get_monotonic_time();

    for (int i = 0; i < pipeline->step_count; i++) {
        if (!load_step(pipeline, &pipeline->steps[i], error)) {
            g_prefix_error(error, "step '%s': ", pipeline->steps[i].step->name);
            return false;
        }
    }
    pipeline->load_seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    return pipeline->device->row->sync(pipeline->device, error);
}

/* Packs all filters that are constants, once. */
static bool pack_steps(struct pipeline *pipeline, GError **error)
{
    const struct device_row *row = pipeline->device->row;
    struct device_event *from = row->record(pipeline->device, error), *to = NULL;
    bool done = from != NULL;

    for (int i = 0; done && i < pipeline->step_count; i++) {
        struct ready_step *ready = &pipeline->steps[i];
        done = ready->repacks || invocation_pack(&ready->invocation, ready->memory, error);
    }
    if (done)
        to = row->record(pipeline->device, error);
    done = to && row->elapsed(from, to, &pipeline->pack_ms, error);
    row->event_free(from);
    row->event_free(to);
    return done;
}

/* ---- running ---- */

static bool launch_step(struct ready_step *ready, GError **error)
{
    return (!ready->repacks || invocation_pack(&ready->invocation, ready->memory, error)) &&
           invocation_launch(&ready->invocation, ready->memory, error);
}

static bool launch_steps(struct pipeline *pipeline, GError **error)
{
    for (int i = 0; i < pipeline->step_count; i++) {
        struct ready_step *ready = &pipeline->steps[i];
        if (!launch_step(ready, error)) {
            g_prefix_error(error, "step '%s': ", ready->step->name);
            return false;
        }
    }
    return true;
}

static bool run_launches(void *data, int64_t run, GError **error)
{
    (void)run;
    return launch_steps(data, error);
}

static bool run_graph(void *data, int64_t run, GError **error)
{
    struct pipeline *pipeline = data;
    (void)run;
    return pipeline->device->row->graph_launch(pipeline->device, pipeline->graph, error);
}

/* Records all launches as one graph. Leaves pipeline->graph NULL, without an error, where the device has no graphs. */
static bool record_graph(struct pipeline *pipeline, GError **error)
{
    const struct device_row *row = pipeline->device->row;
    g_autoptr(GError) refused = NULL;

    if (!row->capture_begin)
        return true;
    if (!row->capture_begin(pipeline->device, &refused)) {
        if (g_error_matches(refused, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE))
            return true;
        g_propagate_error(error, g_steal_pointer(&refused));
        return false;
    }
    bool launched = launch_steps(pipeline, error);
    pipeline->graph = row->capture_end(pipeline->device, launched ? error : NULL);
    return launched && pipeline->graph;
}

static bool time_run(struct pipeline *pipeline,
                     bool (*run)(void *data, int64_t run, GError **error), double floor_ms,
                     double sample_seconds, struct measurement *times, GError **error)
{
    const struct measure_job job = {
        .device = pipeline->device,
        .run = run,
        .data = pipeline,
        .floor_ms = floor_ms,
        .sample_seconds = sample_seconds,
        .keep = true,
        .alone = true,
    };
    return measure(&job, times, error);
}

/* Times one step in its place: what ran before it left the caches as they are in a whole run. */
static bool time_step(struct pipeline *pipeline, struct ready_step *ready, int pass, GError **error)
{
    const struct device_row *row = pipeline->device->row;
    struct device_event *from = row->record(pipeline->device, error), *to = NULL;
    bool done = from && launch_step(ready, error);

    if (done)
        to = row->record(pipeline->device, error);
    done = to && row->elapsed(from, to, &ready->times_ms[pass], error);
    row->event_free(from);
    row->event_free(to);
    return done;
}

static bool time_steps(struct pipeline *pipeline, GError **error)
{
    for (int pass = 0; pass < STEP_PASSES; pass++) {
        for (int i = 0; i < pipeline->step_count; i++) {
            if (!time_step(pipeline, &pipeline->steps[i], pass, error))
                return false;
        }
    }
    return true;
}

/* ---- samples ---- */

/* Reads the file of inputs; *samples is NULL for no path. Free with g_free(). */
static bool read_inputs(const struct pipeline *pipeline, const char *path, float **samples,
                        GError **error)
{
    gsize length = 0;
    gsize wanted = pipeline_samples_count(&pipeline->plan, pipeline->plan.inputs) * sizeof(float);

    *samples = NULL;
    if (!path)
        return true;
    if (!g_file_get_contents(path, (char **)samples, &length, error))
        return false;
    if (length == wanted)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                "'%s' has %zu bytes; the inputs of '%s' as FP32 have %zu", path, length,
                pipeline->plan.network, wanted);
    g_clear_pointer(samples, g_free);
    return false;
}

static bool write_outputs(struct pipeline *pipeline, const char *path, GError **error)
{
    gsize count = pipeline_samples_count(&pipeline->plan, pipeline->plan.outputs);
    g_autofree float *samples = g_new(float, count + 1);

    return pipeline_memory_read_outputs(&pipeline->memory, samples, error) &&
           (!path || g_file_set_contents(path, (const char *)samples,
                                         (gssize)(count * sizeof(float)), error));
}

/* ---- verifying ---- */

static bool launch_one(void *data, GError **error)
{
    return launch_step(data, error);
}

static bool shares_output(const struct pipeline *pipeline, const struct pipeline_step *step)
{
    enum tensor_role out = problem_output_role(&step->problem);
    int64_t unused = 0;
    int home = pipeline_buffer_home(&pipeline->plan, step->operands[out].buffer, &unused);

    for (int role = 0; role < OPERAND_COUNT; role++) {
        int other = step->operands[role].buffer;
        if (role != (int)out && other >= 0 &&
            pipeline_buffer_home(&pipeline->plan, other, &unused) == home)
            return true;
    }
    return false;
}

/* Runs the network step by step and compares each result with its reference. */
static bool verify_steps(struct pipeline *pipeline, GError **error)
{
    for (int i = 0; i < pipeline->step_count; i++) {
        struct ready_step *ready = &pipeline->steps[i];
        const struct verifiable step = {.device = pipeline->device,
                                        .problem = &ready->step->problem,
                                        .rounding = &ready->solution.rounding,
                                        .tensors = ready->tensors,
                                        .memory = ready->memory,
                                        .is_in_place = shares_output(pipeline, ready->step),
                                        .launch = launch_one,
                                        .data = ready};
        if (!pipeline_verify_step(&step, &ready->verdict, error)) {
            g_prefix_error(error, "step '%s': ", ready->step->name);
            return false;
        }
        pipeline->wrong += ready->verdict.failure != FAILURE_NONE;
    }
    return true;
}

static bool run_once(struct pipeline *pipeline, const json_t *request, GError **error)
{
    const char *input = json_string_value(json_object_get(request, "input"));
    const char *output = json_string_value(json_object_get(request, "output"));
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(request, "seed"));
    g_autofree float *samples = NULL;

    return read_inputs(pipeline, input, &samples, error) &&
           pipeline_memory_poison(&pipeline->memory, error) &&
           pipeline_memory_write_inputs(&pipeline->memory, samples, seed, error) &&
           (pipeline->verifies ? verify_steps(pipeline, error) : launch_steps(pipeline, error)) &&
           pipeline->device->row->sync(pipeline->device, error) &&
           write_outputs(pipeline, output, error);
}

/* ---- the answer ---- */

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static json_t *step_json(const struct ready_step *ready)
{
    const struct solution *solution = &ready->solution;
    const struct verdict *verdict = &ready->verdict;
    g_autofree char *detail = g_utf8_make_valid(verdict->detail, -1);

    return json_pack("{s:s, s:s, s:f, s:s*, s:f, s:f, s:f, s:i, s:I, s:I}", "name",
                     ready->step->name, "verdict", failure_name(verdict->failure), "error",
                     isfinite(verdict->error) ? verdict->error : DBL_MAX, "detail",
                     detail[0] ? detail : NULL, "median_ms", ready->times_ms[STEP_PASSES / 2],
                     "flops", solution->flops, "bytes",
                     solution->read_bytes + solution->write_bytes, "launches",
                     solution->launch_count - (ready->repacks ? 0 : solution->pack_count),
                     "packed_bytes", (json_int_t)solution->packed_bytes, "workspace_bytes",
                     (json_int_t)solution->workspace_bytes);
}

static json_t *steps_json(struct pipeline *pipeline)
{
    json_t *list = json_array();

    for (int i = 0; i < pipeline->step_count; i++) {
        struct ready_step *ready = &pipeline->steps[i];
        qsort(ready->times_ms, STEP_PASSES, sizeof(double), compare_doubles);
        json_array_append_new(list, step_json(ready));
    }
    return list;
}

static json_t *measurement_json(const struct measurement *times)
{
    return json_pack("{s:i, s:f, s:f, s:f, s:b}", "n", times->n, "min_ms", times->min_ms,
                     "median_ms", times->median_ms, "spread", times->spread, "unstable",
                     times->unstable);
}

struct timings {
    struct measurement launches, graph;
    double host_ms; /* from the first launch to the end of the last, by the host's clock */
};

static json_t *answer(struct pipeline *pipeline, const struct timings *times, const char *where)
{
    const struct arena *arena = &pipeline->memory.arena;

    return json_pack(
        "{s:s, s:s, s:{s:I, s:I, s:I}, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:o?, s:s?, s:b, s:i, s:o}",
        "op", "pipeline", "network", pipeline->plan.network, "arena", "bytes",
        (json_int_t)arena->bytes, "sum_bytes", (json_int_t)arena->sum_bytes, "bound_bytes",
        (json_int_t)arena->bound_bytes, "input_bytes", (json_int_t)pipeline->memory.input_bytes,
        "weight_bytes", (json_int_t)pipeline->memory.weight_bytes, "packed_bytes",
        (json_int_t)pipeline->packed_bytes, "workspace_bytes", (json_int_t)most_workspace(pipeline),
        "load_seconds", pipeline->load_seconds, "pack_ms", pipeline->pack_ms, "host_ms",
        times->host_ms, "launches", measurement_json(&times->launches), "graph",
        pipeline->graph ? measurement_json(&times->graph) : NULL, "stray", where, "verified",
        pipeline->verifies, "wrong", pipeline->wrong, "steps", steps_json(pipeline));
}

static bool time_host(struct pipeline *pipeline, double *host_ms, GError **error)
{
    gint64 start = g_get_monotonic_time();

    if (!launch_steps(pipeline, error) || !pipeline->device->row->sync(pipeline->device, error))
        return false;
    *host_ms = (double)(g_get_monotonic_time() - start) / 1000;
    return true;
}

/* ---- the whole ---- */

static bool open_pipeline(struct pipeline *pipeline, const json_t *request, GError **error)
{
    const char *path = json_string_value(json_object_get(request, "plan"));

    if (!path)
        return fail_frame("it names no plan", error);
    return target_from_json(json_object_get(request, "target"), &pipeline->target, error) &&
           pipeline_plan_read(&pipeline->plan, path, error) &&
           solve_steps(pipeline, json_object_get(request, "steps"), error) &&
           pipeline_memory_open(&pipeline->memory, pipeline->device, &pipeline->plan,
                                most_workspace(pipeline), error) &&
           load_steps(pipeline, error) && pack_steps(pipeline, error);
}

static void close_pipeline(struct pipeline *pipeline)
{
    const struct device_row *row = pipeline->device->row;

    if (pipeline->graph)
        row->graph_free(pipeline->graph);
    for (int i = 0; i < pipeline->step_count; i++) {
        invocation_clear(&pipeline->steps[i].invocation);
        if (pipeline->steps[i].packed)
            row->memory_free(pipeline->steps[i].packed);
    }
    if (pipeline->memory.device)
        pipeline_memory_close(&pipeline->memory);
    g_free(pipeline->steps);
    pipeline_plan_clear(&pipeline->plan);
}

static bool time_all(struct pipeline *pipeline, double floor_ms, double sample_seconds,
                     struct timings *times, GError **error)
{
    if (sample_seconds <= 0)
        return true;
    return time_run(pipeline, run_launches, floor_ms, sample_seconds, &times->launches, error) &&
           time_host(pipeline, &times->host_ms, error) && record_graph(pipeline, error) &&
           (!pipeline->graph ||
            time_run(pipeline, run_graph, floor_ms, sample_seconds, &times->graph, error)) &&
           time_steps(pipeline, error);
}

json_t *pipeline_run(struct device *device, struct eval_kernels *kernels, double floor_ms,
                     const json_t *request, GError **error)
{
    struct pipeline pipeline = {.device = device, .kernels = kernels};
    struct timings times = {0};
    g_autofree char *where = NULL;
    double seconds = json_number_value(json_object_get(request, "sample_seconds"));
    json_t *made = NULL;

    pipeline.verifies = json_is_true(json_object_get(request, "verify"));
    if (open_pipeline(&pipeline, request, error) && run_once(&pipeline, request, error) &&
        pipeline_memory_check(&pipeline.memory, &where, error) &&
        (where || pipeline.wrong > 0 ||
         (time_all(&pipeline, floor_ms, seconds, &times, error) &&
          pipeline_memory_check(&pipeline.memory, &where, error))))
        made = answer(&pipeline, &times, where);
    close_pipeline(&pipeline);
    return made;
}
