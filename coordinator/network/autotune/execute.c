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

/* The files of one plan in the folder. */
struct files {
    char *plan, *input, *output;
};

static void files_clear(struct files *files)
{
    g_free(files->plan);
    g_free(files->input);
    g_free(files->output);
}

static char *numbered(const char *folder, const char *name, int number, const char *suffix)
{
    g_autofree char *file = g_strdup_printf("%s%d.%s", name, number, suffix);
    return g_build_filename(folder, file, NULL);
}

/* Writes plan and inputs, unless an earlier execution has the same ones. */
static bool write_files(const char *folder, const struct execution *executions, int index,
                        struct files *files, GError **error)
{
    const struct execution *own = &executions[index];
    int plan = 0, input = 0;
    while (executions[plan].plan != own->plan)
        plan++;
    while (executions[input].inputs != own->inputs)
        input++;
    files->plan = numbered(folder, "net", plan, "json");
    files->input = numbered(folder, "input", input, "f32");
    files->output = numbered(folder, "output", index, "f32");
    return (plan < index || network_plan_write(own->plan, files->plan, error)) &&
           (input < index ||
            g_file_set_contents(files->input, (const char *)own->inputs,
                                (gssize)((gsize)own->input_count * sizeof(float)), error));
}

static json_t *part_json(const struct execution *execution, const struct files *files)
{
    json_t *steps = json_array();
    for (guint i = 0; i < execution->plan->steps->len; i++) {
        const struct choice *choice = execution->choices[i];
        json_array_append_new(steps, json_pack("{s:s, s:s, s:I}", "solver", choice->solver,
                                               "config", choice->config, "workspace_bytes",
                                               (json_int_t)choice->workspace_bytes));
    }
    return json_pack("{s:s, s:o, s:s, s:s}", "plan", files->plan, "steps", steps, "input",
                     files->input, "output", files->output);
}

static bool write_json(const json_t *json, const char *path, GError **error)
{
    char *text = json_dumps(json, JSON_COMPACT);
    bool written = g_file_set_contents(path, text, -1, error);
    free(text);
    return written;
}

static void remove_folder(const char *folder)
{
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    const char *name;
    while (files && (name = g_dir_read_name(files))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
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

/* Runs the request, an object that gets what all its parts share. NULL with an error. */
static json_t *ask_worker(const char *folder, json_t *request, double sample_seconds, int *caught,
                          GError **error)
{
    g_autofree char *path = g_build_filename(folder, "request.json", NULL);
    g_autofree char *log = g_build_filename(folder, "log", NULL);
    g_autofree char *printed = NULL;
    json_error_t why;
    json_object_set_new(request, "sample_seconds", json_real(sample_seconds));
    json_object_set_new(request, "verify", json_true());
    if (!write_json(request, path, error) || !run_worker(path, log, &printed, caught, error))
        return NULL;
    json_t *answer = json_loads(printed, 0, &why);
    if (!answer)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                    "skipjack worker --pipeline printed no answer: %s", why.text);
    return answer;
}

static bool execute_one(const char *folder, const struct execution *execution,
                        struct executed *executed, int *caught, GError **error)
{
    struct files files = {0};
    json_t *request = NULL;
    if (write_files(folder, execution, 0, &files, error)) {
        request = part_json(execution, &files);
        executed->answer = ask_worker(folder, request, execution->sample_seconds, caught, error);
    }
    bool done = executed->answer && read_outputs(files.output, executed, error);
    json_decref(request);
    files_clear(&files);
    return done;
}

bool execute_plan(const struct execution *execution, struct executed *executed, int *caught,
                  GError **error)
{
    *executed = (struct executed){0};
    *caught = 0;
    g_autofree char *folder = g_dir_make_tmp("skipjack-network-XXXXXX", error);
    if (!folder)
        return false;
    bool done = execute_one(folder, execution, executed, caught, error);
    remove_folder(folder);
    return done;
}

/* Runs all whose files are written. */
static bool execute_all(const char *folder, json_t *parts, const struct files *files,
                        double sample_seconds, struct executed *executed, char **no_room,
                        int *caught, GError **error)
{
    json_t *request = json_pack("{s:O}", "pipelines", parts);
    json_t *answer = ask_worker(folder, request, sample_seconds, caught, error);
    const json_t *answers = json_object_get(answer, "pipelines");
    bool done = answer != NULL;
    if (done)
        *no_room = g_strdup(json_string_value(json_object_get(answer, "no_room")));
    for (size_t i = 0; done && i < json_array_size(parts); i++) {
        executed[i].answer = json_incref(json_array_get(answers, i));
        done = read_outputs(files[i].output, &executed[i], error);
    }
    json_decref(answer);
    json_decref(request);
    return done;
}

bool execute_plans(const struct execution *executions, int count, double sample_seconds,
                   struct executed *executed, char **no_room, int *caught, GError **error)
{
    memset(executed, 0, (size_t)count * sizeof *executed);
    *no_room = NULL;
    *caught = 0;
    g_autofree char *folder = g_dir_make_tmp("skipjack-network-XXXXXX", error);
    if (!folder)
        return false;
    struct files *files = g_new0(struct files, (gsize)count);
    json_t *parts = json_array();
    bool done = true;
    for (int i = 0; done && i < count; i++) {
        done = write_files(folder, executions, i, &files[i], error);
        if (done)
            json_array_append_new(parts, part_json(&executions[i], &files[i]));
    }
    done =
        done && execute_all(folder, parts, files, sample_seconds, executed, no_room, caught, error);
    for (int i = 0; i < count; i++)
        files_clear(&files[i]);
    g_free(files);
    json_decref(parts);
    remove_folder(folder);
    return done;
}

void executed_clear(struct executed *executed)
{
    json_decref(executed->answer);
    g_free(executed->outputs);
    *executed = (struct executed){0};
}
