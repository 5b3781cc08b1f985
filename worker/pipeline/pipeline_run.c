#include "worker/pipeline/pipeline_run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "worker/eval/eval_request.h"
#include "worker/eval/invocation.h"
#include "worker/measure/measure.h"
#include "worker/measure/statistics.h"
#include "worker/pipeline/pipeline_memory.h"
#include "worker/pipeline/pipeline_verify.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

#define STEP_PASSES 7 /* runs of the network in which each step is timed by itself */
/* Turns of several pipelines. The interval of a median of 15 leaves out the 3 least and the 3 largest values
 * (statistics.h), so that as many disturbed turns do not hide a difference. */
#define TURNS_MIN   15
#define TURNS_MAX   101
#define TURN_MS     10 /* the runs of a reading take about so long, so that turns are many */

/* A step, ready to run. */
struct ready_step {
    const struct pipeline_step *step;
    const struct solver *solver;
    struct eval_config config;
    struct solution solution;
    struct tensor tensors[OPERAND_COUNT];
    struct invocation invocation; /* points into this struct: a step must not be moved */
    struct device_memory *memory[OPERAND_COUNT];
    struct device_memory *packed; /* the packed filter; NULL if the solution packs none */
    bool repacks; /* earlier steps or the network's inputs make the filter: each run packs it */
    double times_ms[TURNS_MAX]; /* by pass, or by turn */
    struct verdict verdict;     /* of its result in its place */
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
    char *stray;   /* where a step wrote that it must not; NULL for nowhere */
    int passes;    /* times of each step */
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

/* One more pass. */
static bool time_steps(struct pipeline *pipeline, GError **error)
{
    for (int i = 0; i < pipeline->step_count; i++) {
        if (!time_step(pipeline, &pipeline->steps[i], pipeline->passes, error))
            return false;
    }
    pipeline->passes++;
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

/* The measurements of the pipeline in one form: launch by launch, or as a graph. */
struct form {
    struct measurement times;
    int turns;                  /* 0: it was measured by itself */
    double turns_ms[TURNS_MAX]; /* of one run, by turn */
};

struct timings {
    struct form launches, graph;
    double host_ms; /* from the first launch to the end of the last, by the host's clock */
};

static json_t *turns_json(const double *ms, int count)
{
    json_t *list = json_array();

    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_real(ms[i]));
    return list;
}

static double median_of(const double *ms, int count)
{
    double sorted[TURNS_MAX];

    if (count == 0)
        return 0;
    memcpy(sorted, ms, (gsize)count * sizeof *sorted);
    statistics_sort(sorted, count);
    return statistics_median(sorted, count);
}

static json_t *step_json(const struct pipeline *pipeline, const struct ready_step *ready,
                         bool in_turns)
{
    const struct solution *solution = &ready->solution;
    const struct verdict *verdict = &ready->verdict;
    g_autofree char *detail = g_utf8_make_valid(verdict->detail, -1);

    return json_pack("{s:s, s:s, s:f, s:s*, s:f, s:f, s:f, s:i, s:I, s:I, s:o*}", "name",
                     ready->step->name, "verdict", failure_name(verdict->failure), "error",
                     isfinite(verdict->error) ? verdict->error : DBL_MAX, "detail",
                     detail[0] ? detail : NULL, "median_ms",
                     median_of(ready->times_ms, pipeline->passes), "flops", solution->flops,
                     "bytes", solution->read_bytes + solution->write_bytes, "launches",
                     solution->launch_count - (ready->repacks ? 0 : solution->pack_count),
                     "packed_bytes", (json_int_t)solution->packed_bytes, "workspace_bytes",
                     (json_int_t)solution->workspace_bytes, "turns_ms",
                     in_turns ? turns_json(ready->times_ms, pipeline->passes) : NULL);
}

static json_t *steps_json(const struct pipeline *pipeline, bool in_turns)
{
    json_t *list = json_array();

    for (int i = 0; i < pipeline->step_count; i++)
        json_array_append_new(list, step_json(pipeline, &pipeline->steps[i], in_turns));
    return list;
}

static json_t *form_json(const struct form *form)
{
    const struct measurement *times = &form->times;

    return json_pack("{s:i, s:f, s:f, s:f, s:b, s:o*}", "n", times->n, "min_ms", times->min_ms,
                     "median_ms", times->median_ms, "spread", times->spread, "unstable",
                     times->unstable, "turns_ms",
                     form->turns > 0 ? turns_json(form->turns_ms, form->turns) : NULL);
}

static json_t *answer(const struct pipeline *pipeline, const struct timings *times)
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
        times->host_ms, "launches", form_json(&times->launches), "graph",
        pipeline->graph ? form_json(&times->graph) : NULL, "stray", pipeline->stray, "verified",
        pipeline->verifies, "wrong", pipeline->wrong, "steps",
        steps_json(pipeline, times->launches.turns > 0));
}

static bool time_host(struct pipeline *pipeline, double *host_ms, GError **error)
{
    gint64 start = g_get_monotonic_time();

    if (!launch_steps(pipeline, error) || !pipeline->device->row->sync(pipeline->device, error))
        return false;
    *host_ms = (double)(g_get_monotonic_time() - start) / 1000;
    return true;
}

/* ---- a pipeline by itself ---- */

static bool open_pipeline(struct pipeline *pipeline, const json_t *request, GError **error)
{
    const char *path = json_string_value(json_object_get(request, "plan"));

    if (!path)
        return fail_frame("it names no plan", error);
    return pipeline_plan_read(&pipeline->plan, path, error) &&
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
    g_free(pipeline->stray);
    pipeline_plan_clear(&pipeline->plan);
}

/* All pipelines of a request share this. */
struct session {
    struct device *device;
    struct eval_kernels *kernels;
    struct target target;
    double floor_ms, sample_seconds;
    bool verifies;
};

static bool read_session(struct session *session, const json_t *request, GError **error)
{
    session->sample_seconds = json_number_value(json_object_get(request, "sample_seconds"));
    session->verifies = json_is_true(json_object_get(request, "verify"));
    return target_from_json(json_object_get(request, "target"), &session->target, error);
}

/* Opens the pipeline and runs it for its outputs. Close it after failure, too. */
static bool begin_pipeline(const struct session *session, struct pipeline *pipeline,
                           const json_t *request, GError **error)
{
    *pipeline = (struct pipeline){.device = session->device,
                                  .kernels = session->kernels,
                                  .target = session->target,
                                  .verifies = session->verifies};
    return open_pipeline(pipeline, request, error) && run_once(pipeline, request, error) &&
           pipeline_memory_check(&pipeline->memory, &pipeline->stray, error);
}

/* Whether its times would mean something: its steps are right and write only where they may. */
static bool is_right(const struct pipeline *pipeline)
{
    return !pipeline->stray && pipeline->wrong == 0;
}

static bool time_alone(const struct session *session, struct pipeline *pipeline,
                       struct timings *times, GError **error)
{
    double floor_ms = session->floor_ms, seconds = session->sample_seconds;

    if (!time_run(pipeline, run_launches, floor_ms, seconds, &times->launches.times, error) ||
        !time_host(pipeline, &times->host_ms, error) || !record_graph(pipeline, error) ||
        (pipeline->graph &&
         !time_run(pipeline, run_graph, floor_ms, seconds, &times->graph.times, error)))
        return false;
    while (pipeline->passes < STEP_PASSES) {
        if (!time_steps(pipeline, error))
            return false;
    }
    return pipeline_memory_check(&pipeline->memory, &pipeline->stray, error);
}

static json_t *run_alone(const struct session *session, const json_t *request, GError **error)
{
    struct pipeline pipeline;
    struct timings times = {0};
    json_t *made = NULL;

    if (begin_pipeline(session, &pipeline, request, error) &&
        (!is_right(&pipeline) || session->sample_seconds <= 0 ||
         time_alone(session, &pipeline, &times, error)))
        made = answer(&pipeline, &times);
    close_pipeline(&pipeline);
    return made;
}

json_t *pipeline_run(struct device *device, struct eval_kernels *kernels, double floor_ms,
                     const json_t *request, GError **error)
{
    struct session session = {.device = device, .kernels = kernels, .floor_ms = floor_ms};

    return read_session(&session, request, error) ? run_alone(&session, request, error) : NULL;
}

/* ---- several pipelines in turns ---- */

struct contender {
    struct pipeline pipeline;
    struct timings times;
    int launch_runs, graph_runs; /* in a reading */
    int64_t next;                /* the next run's number */
};

struct contest {
    const struct session *session;
    struct contender *contenders;
    int count;
    double spent_ms; /* of readings */
    json_t *order;   /* the contenders' indexes as they took their turns */
};

static bool take_reading(struct contest *contest, struct contender *c,
                         bool (*run)(void *data, int64_t run, GError **error), int runs,
                         double *run_ms, GError **error)
{
    const struct measure_job job = {.device = c->pipeline.device, .run = run, .data = &c->pipeline};
    double ms;

    if (!measure_reading(&job, runs, &c->next, &ms, error))
        return false;
    contest->spent_ms += ms;
    *run_ms = ms / runs;
    return true;
}

/* How many runs make a reading of this form: as many as the timer needs, and a turn's time holds. */
static bool size_reading(struct contest *contest, struct contender *c,
                         bool (*run)(void *data, int64_t run, GError **error), int *runs,
                         GError **error)
{
    const struct measure_job job = {.device = c->pipeline.device,
                                    .run = run,
                                    .data = &c->pipeline,
                                    .floor_ms = contest->session->floor_ms};
    struct measure_size size;
    double first, second;

    if (!take_reading(contest, c, run, 1, &first, error) ||
        !take_reading(contest, c, run, 1, &second, error) ||
        !measure_size(&job, fmin(first, second), &c->next, &size, error))
        return false;
    contest->spent_ms += size.spent_ms;
    *runs = size.reading_ms > 0
                ? (int)CLAMP(TURN_MS / size.reading_ms, size.batch, MAX(size.batch, 1000))
                : size.batch;
    return true;
}

static bool warm_up(struct contest *contest, struct contender *c, GError **error)
{
    struct pipeline *pipeline = &c->pipeline;

    return launch_steps(pipeline, error) &&
           size_reading(contest, c, run_launches, &c->launch_runs, error) &&
           time_host(pipeline, &c->times.host_ms, error) && record_graph(pipeline, error) &&
           (!pipeline->graph || size_reading(contest, c, run_graph, &c->graph_runs, error));
}

static bool read_form(struct contest *contest, struct contender *c, struct form *form,
                      bool (*run)(void *data, int64_t run, GError **error), int runs,
                      GError **error)
{
    return take_reading(contest, c, run, runs, &form->turns_ms[form->turns++], error);
}

/* A pipeline's turn. The first run does not count: the runs before were another pipeline's, and the caches are too. */
static bool take_turn(struct contest *contest, struct contender *c, GError **error)
{
    struct pipeline *pipeline = &c->pipeline;

    return launch_steps(pipeline, error) &&
           read_form(contest, c, &c->times.launches, run_launches, c->launch_runs, error) &&
           (!pipeline->graph ||
            read_form(contest, c, &c->times.graph, run_graph, c->graph_runs, error)) &&
           time_steps(pipeline, error);
}

static void sum_up(struct form *form)
{
    double sorted[TURNS_MAX];

    if (form->turns == 0)
        return;
    memcpy(sorted, form->turns_ms, (gsize)form->turns * sizeof *sorted);
    statistics_sort(sorted, form->turns);
    form->times = (struct measurement){.n = form->turns,
                                       .min_ms = sorted[0],
                                       .median_ms = statistics_median(sorted, form->turns),
                                       .spread = statistics_spread(sorted, form->turns)};
    form->times.unstable = form->times.spread > MEASURE_SPREAD_MAX;
}

/* All that are right take each turn, each of them first in its turn, so that drift and neighbours hit all alike. */
static bool take_turns(struct contest *contest, GError **error)
{
    double limit_ms = contest->session->sample_seconds * 1000 * contest->count;

    for (int i = 0; i < contest->count; i++) {
        struct contender *c = &contest->contenders[i];
        if (is_right(&c->pipeline) && !warm_up(contest, c, error))
            return false;
    }
    contest->spent_ms = 0;
    for (int turn = 0; turn < TURNS_MIN || (turn < TURNS_MAX && contest->spent_ms < limit_ms);
         turn++) {
        for (int k = 0; k < contest->count; k++) {
            int place = (turn + k) % contest->count;
            struct contender *c = &contest->contenders[place];
            if (!is_right(&c->pipeline))
                continue;
            json_array_append_new(contest->order, json_integer(place));
            if (!take_turn(contest, c, error))
                return false;
        }
    }
    for (int i = 0; i < contest->count; i++) {
        struct contender *c = &contest->contenders[i];
        sum_up(&c->times.launches);
        sum_up(&c->times.graph);
        if (is_right(&c->pipeline) &&
            !pipeline_memory_check(&c->pipeline.memory, &c->pipeline.stray, error))
            return false;
    }
    return true;
}

/* The answers of pipelines that are in memory at once; NULL with DEVICE_ERROR_MEMORY if the device has no room. Appends to
 * `order` whose turn it was. */
static json_t *run_together(const struct session *session, const json_t *list, json_t *order,
                            GError **error)
{
    struct contest contest = {.session = session,
                              .contenders = g_new0(struct contender, json_array_size(list)),
                              .order = order};
    json_t *answers = NULL;
    bool done = true;

    while (done && contest.count < (int)json_array_size(list)) {
        struct contender *next = &contest.contenders[contest.count];
        const json_t *request = json_array_get(list, (size_t)contest.count++);
        done = begin_pipeline(session, &next->pipeline, request, error);
    }
    if (done && (session->sample_seconds <= 0 || take_turns(&contest, error))) {
        answers = json_array();
        for (int i = 0; i < contest.count; i++)
            json_array_append_new(
                answers, answer(&contest.contenders[i].pipeline, &contest.contenders[i].times));
    }
    for (int i = 0; i < contest.count; i++)
        close_pipeline(&contest.contenders[i].pipeline);
    g_free(contest.contenders);
    return answers;
}

static json_t *run_one_by_one(const struct session *session, const json_t *list, GError **error)
{
    json_t *answers = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *made = run_alone(session, json_array_get(list, i), error);
        if (!made) {
            json_decref(answers);
            return NULL;
        }
        json_array_append_new(answers, made);
    }
    return answers;
}

json_t *pipelines_run(struct device *device, struct eval_kernels *kernels, double floor_ms,
                      const json_t *request, GError **error)
{
    struct session session = {.device = device, .kernels = kernels, .floor_ms = floor_ms};
    const json_t *list = json_object_get(request, "pipelines");
    g_autoptr(GError) why = NULL;

    if (json_array_size(list) == 0) {
        fail_frame("'pipelines' is no list of pipelines", error);
        return NULL;
    }
    if (!read_session(&session, request, error))
        return NULL;
    json_t *order = json_array(), *made = NULL;
    json_t *answers = run_together(&session, list, order, &why);
    bool is_short = why && g_error_matches(why, DEVICE_ERROR, DEVICE_ERROR_MEMORY);
    if (is_short) {
        json_array_clear(order);
        answers = run_one_by_one(&session, list, error);
    } else if (!answers) {
        g_propagate_error(error, g_steal_pointer(&why));
    }
    if (answers)
        made = json_pack("{s:s, s:s?, s:O, s:o}", "op", "pipelines", "no_room",
                         is_short ? why->message : NULL, "order", order, "pipelines", answers);
    json_decref(order);
    return made;
}
