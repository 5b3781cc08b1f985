#include "worker/agent/agent_pipeline.h"

#include <stdio.h>

#include "schema/monitor/log.h"
#include "solvers/framework/solver.h"
#include "worker/agent/direct.h"
#include "worker/agent/work.h"
#include "worker/pipeline/pipeline_plan.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

#define FILE_BYTES_MAX ((gsize)64 << 20)
#define RUNS           40 /* runs of the network beside those of the readings */

/* One of the file's networks. */
struct part {
    const json_t *request; /* the file itself, or an element of its "pipelines" */
    char *where;           /* "FILE", or "FILE, pipeline 2" */
    struct pipeline_plan plan;
};

struct whole {
    const struct pipeline_options *options;
    json_t *file; /* the request, as it was read */
    struct part *parts;
    int part_count;
    bool is_list; /* it has "pipelines" */
};

struct choice {
    const char *solver, *config;
    json_int_t workspace_bytes; /* INT64_MAX if the file has none */
};

static bool choice_read(const json_t *object, struct choice *choice, GError **error)
{
    json_error_t why;
    choice->workspace_bytes = INT64_MAX;
    if (json_unpack_ex((json_t *)(uintptr_t)object, &why, 0, "{s:s, s:s, s?I}", "solver",
                       &choice->solver, "config", &choice->config, "workspace_bytes",
                       &choice->workspace_bytes) == 0)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "it needs solver and config (texts): %s",
                why.text);
    return false;
}

/* The step of the eval child's request: the choice, solved. */
static json_t *step_request(struct direct *direct, const struct target *target,
                            const struct problem *p, int index, const struct choice *choice,
                            GError **error)
{
    struct perf_config config;
    struct solution solution;
    struct context context;
    const struct solver *solver = solver_find(choice->solver);
    if (!solver) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "there is no solver '%s' here",
                    choice->solver);
        return NULL;
    }
    solution_init(&solution);
    if (!solver_result_parse(solver, p, target, choice->config,
                             (uint64_t)MAX(choice->workspace_bytes, 0), &context, &config, error) ||
        !solver_solve(solver, p, &context, &config, &solution, error))
        return NULL;
    direct_allow(direct, RUNS * 2 * problem_macs(p) / WORK_SLOWEST_FLOPS);
    json_t *values = json_array(), *kernels = json_array();
    json_t *made = json_pack("{s:i, s:s, s:o, s:o, s:I}", "index", index, "solver", choice->solver,
                             "values", values, "kernels", kernels, "workspace_bytes",
                             (json_int_t)solution.workspace_bytes);
    for (int i = 0; i < config.count; i++)
        json_array_append_new(values, json_integer(config.values[i]));
    if (!direct_add_kernels(direct, &solution, kernels, error)) {
        json_decref(made);
        return NULL;
    }
    return made;
}

static bool add_steps(struct part *part, struct direct *direct, const struct target *target,
                      json_t *steps, GError **error)
{
    const json_t *list = json_object_get(part->request, "steps");
    if (json_array_size(list) != part->plan.steps->len) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                    "cannot use %s: 'steps' has %zu elements, the plan has %u steps", part->where,
                    json_array_size(list), part->plan.steps->len);
        return false;
    }
    for (guint i = 0; i < part->plan.steps->len; i++) {
        const struct pipeline_step *step = pipeline_step_at(&part->plan, (int)i);
        struct choice choice;
        json_t *made = NULL;
        if (choice_read(json_array_get(list, i), &choice, error))
            made = step_request(direct, target, &step->problem, (int)i, &choice, error);
        if (!made) {
            g_prefix_error(error, "cannot use %s, step %u ('%s'): ", part->where, i + 1,
                           step->name);
            return false;
        }
        json_array_append_new(steps, made);
    }
    return true;
}

/* Copies the members that the eval child takes as they are. */
static void copy_members(const json_t *from, json_t *to)
{
    static const char *const names[] = {"plan", "input",          "output",
                                        "seed", "sample_seconds", "verify"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        json_t *value = json_object_get(from, names[i]);
        if (value)
            json_object_set(to, names[i], value);
    }
}

/* The part as the eval child takes it; NULL with an error. */
static json_t *part_request(struct part *part, struct direct *direct, const struct target *target,
                            GError **error)
{
    json_t *steps = json_array();
    json_t *request = json_pack("{s:o}", "steps", steps);
    copy_members(part->request, request);
    if (add_steps(part, direct, target, steps, error))
        return request;
    json_decref(request);
    return NULL;
}

static json_t *plan(struct direct *direct, const struct target *target, void *data, GError **error)
{
    struct whole *whole = data;
    json_t *request = NULL, *list = json_array();
    double seconds = json_number_value(json_object_get(whole->file, "sample_seconds"));
    direct_allow(direct, 20 * seconds * whole->part_count);
    for (int i = 0; i < whole->part_count; i++) {
        json_t *made = part_request(&whole->parts[i], direct, target, error);
        if (!made) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, made);
    }
    if (whole->is_list) {
        request = json_pack("{s:s, s:O}", "op", "pipelines", "pipelines", list);
        copy_members(whole->file, request);
    } else {
        request = json_incref(json_array_get(list, 0));
        json_object_set_new(request, "op", json_string("pipeline"));
    }
    json_object_set_new(request, "target", target_to_json(target));
    json_decref(list);
    return request;
}

static bool take_answer(struct direct *direct, const json_t *head, void *data)
{
    struct direct_facts facts;
    json_t *answer = json_copy((json_t *)(uintptr_t)head);
    (void)data;
    direct_facts(direct, &facts);
    json_object_del(answer, "op");
    json_object_set_new(answer, "target", json_string(facts.target));
    json_object_set_new(answer, "kernels", json_integer(facts.kernels));
    json_object_set_new(answer, "bytes", json_integer(facts.bytes));
    json_object_set_new(answer, "compile_seconds", json_real(facts.compile_seconds));
    bool printed = json_dumpf(answer, stdout, JSON_COMPACT) == 0;
    putchar('\n');
    json_decref(answer);
    return printed;
}

static bool read_plan(struct part *part)
{
    g_autoptr(GError) error = NULL;
    const char *path = json_string_value(json_object_get(part->request, "plan"));
    if (!path)
        g_set_error(&error, WORKER_ERROR, WORKER_ERROR_INVALID,
                    "cannot use %s: 'plan' must name the file of a plan", part->where);
    if (path && pipeline_plan_read(&part->plan, path, &error))
        return true;
    log_write(LEVEL_ERROR, "pipeline_failed", NULL, "%s", error->message);
    return false;
}

/* Reads the plans of all parts. */
static bool read_parts(struct whole *whole)
{
    const json_t *list = json_object_get(whole->file, "pipelines");
    const char *path = whole->options->path;
    whole->is_list = list != NULL;
    if (list && json_array_size(list) == 0) {
        log_write(LEVEL_ERROR, "pipeline_failed", NULL,
                  "cannot use '%s': 'pipelines' must be a list of at least one pipeline", path);
        return false;
    }
    whole->part_count = list ? (int)json_array_size(list) : 1;
    whole->parts = g_new0(struct part, (gsize)whole->part_count);
    for (int i = 0; i < whole->part_count; i++) {
        struct part *part = &whole->parts[i];
        part->request = list ? json_array_get(list, (size_t)i) : whole->file;
        part->where = list ? g_strdup_printf("'%s', pipeline %d", path, i + 1)
                           : g_strdup_printf("'%s'", path);
        if (!read_plan(part))
            return false;
    }
    return true;
}

static void whole_clear(struct whole *whole)
{
    for (int i = 0; i < whole->part_count; i++) {
        pipeline_plan_clear(&whole->parts[i].plan);
        g_free(whole->parts[i].where);
    }
    g_free(whole->parts);
    json_decref(whole->file);
}

int agent_pipeline(const struct pipeline_options *options)
{
    struct whole whole = {.options = options};
    const struct direct_job job = {
        .name = "pipeline",
        .device = options->device,
        .compile_timeout_seconds = options->compile_timeout_seconds,
        .run_timeout_seconds = options->run_timeout_seconds,
        .plan = plan,
        .take = take_answer,
        .data = &whole,
    };
    int status = 1;
    whole.file = direct_read_file("pipeline", options->path, FILE_BYTES_MAX);
    if (whole.file && read_parts(&whole))
        status = direct_run(&job);
    whole_clear(&whole);
    return status;
}
