#include "coordinator/network/autotune/execute.h"

#include "coordinator/cli/cli.h"
#include "coordinator/process/process.h"
#include "schema/small_file.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define LOG_BYTES_MAX ((gsize)1 << 20)

/* ---- choices ---- */

static const struct solver *best_by_estimate(const struct problem *problem,
                                             const struct context *context, double *estimate)
{
    const struct solver *best = NULL;
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        if (!solver_applicable(solver, problem, context, NULL))
            continue;
        double own = solver->estimate(problem, context);
        if (!best || own > *estimate) {
            best = solver;
            *estimate = own;
        }
    }
    return best;
}

/* Estimates of solvers that come near the target's peaks: of convolutions, and of kernels that only move and combine. */
#define ESTIMATE_AT_PEAK_GPU  400
#define ESTIMATE_AT_PEAK_CPU  160
#define ESTIMATE_AT_BANDWIDTH 8
/* Operations in the time of a byte, where the target's bandwidth is unknown. */
#define FLOPS_PER_BYTE        64

static double moving_ms(const struct problem *problem, const struct target *target)
{
    double bytes = 0;
    double rate = target->peak_bytes > 0 ? target->peak_bytes : target->peak_flops / FLOPS_PER_BYTE;
    for (int t = 0; t < TENSOR_COUNT; t++)
        bytes += (double)problem_tensor_bytes(problem, (enum tensor_role)t);
    if (problem_has_operand(problem, TENSOR_RESIDUAL))
        bytes += (double)problem_tensor_bytes(problem, TENSOR_RESIDUAL);
    return rate > 0 ? bytes / rate * 1e3 : bytes;
}

double estimated_ms(const struct problem *problem, const struct target *target)
{
    struct context context;
    double estimate = 0;
    context_init(&context, target);
    if (!best_by_estimate(problem, &context, &estimate) || estimate <= 0)
        return INFINITY;
    double moving = moving_ms(problem, target);
    if (problem->kind != OP_CONV)
        return moving * MAX(1, ESTIMATE_AT_BANDWIDTH / estimate);
    double peak = context_is_cpu(&context) ? ESTIMATE_AT_PEAK_CPU : ESTIMATE_AT_PEAK_GPU;
    double computing = target_least_ms(target, problem->type[TENSOR_X], 2 * problem_macs(problem)) *
                       peak / estimate;
    return MAX(computing, moving);
}

struct choice *choice_by_estimate(const struct problem *problem, const struct target *target)
{
    struct context context;
    double estimate = 0;
    context_init(&context, target);
    const struct solver *best = best_by_estimate(problem, &context, &estimate);
    if (!best)
        return NULL;
    struct perf_config config;
    char text[CONFIG_TEXT_MAX];
    best->default_config(problem, &context, &config);
    struct choice *choice = choice_pinned(problem, target, best->name,
                                          perf_config_format(&config, text), INT64_MAX, NULL);
    if (choice)
        choice->is_estimated = true;
    return choice;
}

struct choice *choice_pinned(const struct problem *problem, const struct target *target,
                             const char *solver, const char *config, int64_t workspace_bytes,
                             GError **error)
{
    const struct solver *row = solver_find(solver);
    struct perf_config values;
    struct context context;
    struct solution solution;
    if (!row) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "this program has no solver '%s'", solver);
        return NULL;
    }
    solution_init(&solution);
    if (!solver_result_parse(row, problem, target, config, (uint64_t)workspace_bytes, &context,
                             &values, error) ||
        !solver_solve(row, problem, &context, &values, &solution, error))
        return NULL;
    struct choice *choice = g_new0(struct choice, 1);
    choice->problem = *problem;
    choice->solver = g_strdup(solver);
    choice->config = g_strdup(config);
    choice->revision = row->revision;
    choice->workspace_bytes = (int64_t)solution.workspace_bytes;
    return choice;
}

/* ---- files ---- */

static json_t *request_json(const struct execution *execution, const char *plan, const char *input,
                            const char *output)
{
    json_t *steps = json_array();
    for (guint i = 0; i < execution->plan->steps->len; i++) {
        const struct choice *choice = execution->choices[i];
        json_array_append_new(steps, json_pack("{s:s, s:s, s:I}", "solver", choice->solver,
                                               "config", choice->config, "workspace_bytes",
                                               (json_int_t)choice->workspace_bytes));
    }
    return json_pack("{s:s, s:o, s:s, s:s, s:f, s:b}", "plan", plan, "steps", steps, "input", input,
                     "output", output, "sample_seconds", execution->sample_seconds, "verify", true);
}

static bool write_json(json_t *json, const char *path, GError **error)
{
    char *text = json_dumps(json, JSON_COMPACT);
    bool written = g_file_set_contents(path, text, -1, error);
    free(text);
    json_decref(json);
    return written;
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"net.json",   "net.weights",  "input.f32",
                                        "output.f32", "request.json", "log"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

/* ---- running ---- */

/* Puts the worker's own words into the error: the last line of its log. */
static void tell_why(const char *log, GError **error)
{
    gsize length = 0;
    g_autofree char *text = small_file_read(log, LOG_BYTES_MAX, &length, NULL);
    if (!text || !error || !*error)
        return;
    g_strchomp(text);
    const char *line = strrchr(text, '\n');
    g_prefix_error(error, "%s: ", line ? line + 1 : text);
}

static bool run_worker(const char *request, const char *log, char **output, int *caught,
                       GError **error)
{
    const char *args[] = {"worker", "--pipeline", request, NULL};
    process_block_signals();
    bool ran = process_run_stoppable(args, log, output, caught, error);
    process_unblock_signals();
    if (!ran)
        tell_why(log, error);
    return ran;
}

static bool read_outputs(const char *path, struct executed *executed, GError **error)
{
    gsize length = 0;
    if (!g_file_get_contents(path, (char **)&executed->outputs, &length, error))
        return false;
    executed->output_count = (int64_t)(length / sizeof(float));
    return true;
}

static bool execute_in(const char *folder, const struct execution *execution,
                       struct executed *executed, int *caught, GError **error)
{
    g_autofree char *plan = g_build_filename(folder, "net.json", NULL);
    g_autofree char *input = g_build_filename(folder, "input.f32", NULL);
    g_autofree char *outputs = g_build_filename(folder, "output.f32", NULL);
    g_autofree char *request = g_build_filename(folder, "request.json", NULL);
    g_autofree char *log = g_build_filename(folder, "log", NULL);
    g_autofree char *printed = NULL;
    json_error_t why;
    if (!network_plan_write(execution->plan, plan, error) ||
        !g_file_set_contents(input, (const char *)execution->inputs,
                             (gssize)((gsize)execution->input_count * sizeof(float)), error) ||
        !write_json(request_json(execution, plan, input, outputs), request, error) ||
        !run_worker(request, log, &printed, caught, error) ||
        !read_outputs(outputs, executed, error))
        return false;
    executed->answer = json_loads(printed, 0, &why);
    if (!executed->answer)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                    "skipjack worker --pipeline printed no answer: %s", why.text);
    return executed->answer != NULL;
}

bool execute_plan(const struct execution *execution, struct executed *executed, int *caught,
                  GError **error)
{
    *executed = (struct executed){0};
    *caught = 0;
    g_autofree char *folder = g_dir_make_tmp("skipjack-network-XXXXXX", error);
    if (!folder)
        return false;
    bool done = execute_in(folder, execution, executed, caught, error);
    remove_folder(folder);
    return done;
}

void executed_clear(struct executed *executed)
{
    json_decref(executed->answer);
    g_free(executed->outputs);
    *executed = (struct executed){0};
}
