/*
 * A cold start, really done: what a file lists is compiled by a fresh build
 * child and run by a fresh eval child, each with an empty folder for its
 * caches. Needs no database and stores nothing.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/toolchain.h"
#include "solvers/problem_key.h"
#include "solvers/solver.h"
#include "worker/agent/agent.h"
#include "worker/agent/child.h"
#include "worker/agent/identity.h"
#include "worker/target_json.h"

#define OPEN_SECONDS     60
#define RUN_SECONDS      60  /* beside what the operations need */
#define SLOWEST_FLOPS    1e8 /* below this a run hangs */
#define PROGRESS_SECONDS 2

struct cold_kernel {
    char *file, *entry, *options;
    GBytes *code;
};

struct cold {
    const struct cold_options *options;
    const char *scratch;
    uv_loop_t loop;
    Child *build, *eval;
    struct target target;
    const struct toolchain *toolchain;
    json_t *file;       /* what is asked for */
    json_t *layers;     /* the same as an eval child takes it */
    GPtrArray *kernels; /* struct cold_kernel *: distinct ones */
    guint compiled;
    int64_t began_us, said_us;
    double compile_seconds, run_seconds; /* run_seconds: at the very most */
    int64_t bytes;
    bool answered, failed;
};

static void kernel_free(gpointer data)
{
    struct cold_kernel *kernel = data;
    g_free(kernel->file);
    g_free(kernel->entry);
    g_free(kernel->options);
    g_clear_pointer(&kernel->code, g_bytes_unref);
    g_free(kernel);
}

/* Ends both children; the loop ends with them. */
static void cold_end(struct cold *cold)
{
    if (cold->build && child_is_up(cold->build))
        child_end(cold->build, 1);
    if (cold->eval && child_is_up(cold->eval))
        child_end(cold->eval, 1);
}

G_GNUC_PRINTF(2, 3)
static void cold_fail(struct cold *cold, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (!cold->failed)
        fprintf(stderr, "worker: %s\n", text);
    cold->failed = true;
    cold_end(cold);
}

/* ---- what is asked for ---- */

/* The name by which the children know a kernel. */
static char *kernel_name(guint index)
{
    return g_strdup_printf("kernel-%u", index);
}

/* The launch's place among the distinct kernels. */
static guint find_kernel(struct cold *cold, const struct launch *launch)
{
    for (guint i = 0; i < cold->kernels->len; i++) {
        const struct cold_kernel *known = g_ptr_array_index(cold->kernels, i);
        if (strcmp(known->file, launch->file) == 0 && strcmp(known->entry, launch->entry) == 0 &&
            strcmp(known->options, launch->options) == 0)
            return i;
    }
    struct cold_kernel *kernel = g_new0(struct cold_kernel, 1);
    kernel->file = g_strdup(launch->file);
    kernel->entry = g_strdup(launch->entry);
    kernel->options = g_strdup(launch->options);
    g_ptr_array_add(cold->kernels, kernel);
    return cold->kernels->len - 1;
}

static json_t *layer_request(struct cold *cold, const char *key, const struct solver *solver,
                             const struct perf_config *config, const struct solution *solution,
                             int runs)
{
    json_t *values = json_array(), *kernels = json_array();
    for (int i = 0; i < config->count; i++)
        json_array_append_new(values, json_integer(config->values[i]));
    for (int i = 0; i < solution->launch_count; i++) {
        g_autofree char *name = kernel_name(find_kernel(cold, &solution->launches[i]));
        json_array_append_new(kernels, json_string(name));
    }
    return json_pack("{s:i, s:s, s:s, s:o, s:o, s:i}", "index", 0, "problem", key, "solver",
                     solver->name, "values", values, "kernels", kernels, "runs", runs);
}

static bool add_layer(struct cold *cold, const struct context *context, json_t *object,
                      GError **error)
{
    const char *key, *name, *text;
    int runs;
    struct problem problem;
    struct perf_config config;
    struct solution solution;
    json_error_t why;
    if (json_unpack_ex(object, &why, 0, "{s:s, s:s, s:s, s:i}", "problem", &key, "solver", &name,
                       "config", &text, "runs", &runs) != 0) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "not a layer: %s", why.text);
        return false;
    }
    const struct solver *solver = solver_find(name);
    if (!solver) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "there is no solver '%s' here",
                    name);
        return false;
    }
    solution_init(&solution);
    if (!problem_key_parse(key, &problem, error) || !problem_validate(&problem, error) ||
        !solver_config_parse(solver, &problem, context, text, &config, error) ||
        !solver_solve(solver, &problem, context, &config, &solution, error))
        return false;
    cold->run_seconds += 2 * runs * 2 * problem_macs(&problem) / SLOWEST_FLOPS;
    json_array_append_new(cold->layers, layer_request(cold, key, solver, &config, &solution, runs));
    return true;
}

static bool plan(struct cold *cold, GError **error)
{
    struct context context;
    size_t i;
    json_t *layer;
    context_init(&context, &cold->target);
    cold->toolchain = toolchain_for_target(&cold->target);
    if (!cold->toolchain) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                    "no toolchain of this program serves %s", cold->target.id);
        return false;
    }
    json_array_foreach (json_object_get(cold->file, "layers"), i, layer)
        if (!add_layer(cold, &context, layer, error))
            return false;
    if (cold->kernels->len > 0)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "'%s' lists no layers",
                cold->options->path);
    return false;
}

/* ---- compiling ---- */

static double seconds_since(int64_t us)
{
    return (double)(g_get_monotonic_time() - us) / G_USEC_PER_SEC;
}

static void compile_next(struct cold *cold)
{
    const struct cold_kernel *kernel = g_ptr_array_index(cold->kernels, cold->compiled);
    json_t *head =
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id", (int)cold->compiled,
                  "toolchain", cold->toolchain->name, "file", kernel->file, "entry", kernel->entry,
                  "options", kernel->options, "target", target_to_json(&cold->target));
    child_send(cold->build, head, NULL);
    child_set_deadline(cold->build, cold->options->compile_timeout_seconds);
    json_decref(head);
}

static void say_progress(struct cold *cold)
{
    if (cold->compiled < cold->kernels->len && seconds_since(cold->said_us) < PROGRESS_SECONDS)
        return;
    cold->said_us = g_get_monotonic_time();
    fprintf(stderr, "compiled %u of %u kernels in %.1f s\n", cold->compiled, cold->kernels->len,
            seconds_since(cold->began_us));
}

static void run_network(struct cold *cold)
{
    for (guint i = 0; i < cold->kernels->len; i++) {
        const struct cold_kernel *kernel = g_ptr_array_index(cold->kernels, i);
        g_autofree char *name = kernel_name(i);
        json_t *head = json_pack("{s:s, s:s}", "op", "kernel", "key", name);
        child_send(cold->eval, head, kernel->code);
        json_decref(head);
    }
    json_t *head = json_pack("{s:s, s:o, s:O}", "op", "cold", "target",
                             target_to_json(&cold->target), "layers", cold->layers);
    child_send(cold->eval, head, NULL);
    child_set_deadline(cold->eval, RUN_SECONDS + cold->run_seconds);
    json_decref(head);
}

static void build_up(Child *child, void *data)
{
    struct cold *cold = data;
    (void)child;
    cold->began_us = cold->said_us = g_get_monotonic_time();
    compile_next(cold);
}

static void build_frame(Child *child, const struct frame *frame, void *data)
{
    struct cold *cold = data;
    if (cold->failed || cold->compiled >= cold->kernels->len)
        return;
    struct cold_kernel *kernel = g_ptr_array_index(cold->kernels, cold->compiled);
    child_set_deadline(child, 0);
    if (!frame->blob) {
        const char *log = json_string_value(json_object_get(frame->head, "log"));
        cold_fail(cold, "cannot compile %s %s: %s", kernel->file, kernel->options, log ? log : "");
        return;
    }
    kernel->code = g_bytes_ref(frame->blob);
    cold->bytes += (int64_t)g_bytes_get_size(frame->blob);
    cold->compiled++;
    say_progress(cold);
    if (cold->compiled < cold->kernels->len) {
        compile_next(cold);
        return;
    }
    cold->compile_seconds = seconds_since(cold->began_us);
    child_end(child, 1);
    run_network(cold);
}

static void build_died(Child *child, const struct child_death *death, void *data)
{
    struct cold *cold = data;
    cold->build = NULL;
    if (cold->compiled < cold->kernels->len)
        cold_fail(cold, "cannot compile: %s: %s", death->text, death->words);
    child_free(child);
}

/* ---- running ---- */

static void start_building(struct cold *cold)
{
    static const struct child_callbacks callbacks = {build_up, build_frame, build_died};
    g_autofree char *setting = g_strdup_printf("SKIPJACK_SCRATCH=%s/build", cold->scratch);
    char *environment[] = {setting, NULL};
    const struct child_spec spec = {.role = "build", .environment = environment};
    cold->build = child_new(&cold->loop, &spec, &callbacks, cold);
    child_start(cold->build);
}

static void take_hello(struct cold *cold, const json_t *head)
{
    g_autoptr(GError) error = NULL;
    if (cold->toolchain)
        return;
    if (target_from_json(json_object_get(head, "target"), &cold->target, &error) &&
        plan(cold, &error))
        start_building(cold);
    else
        cold_fail(cold, "%s", error->message);
}

static void take_times(struct cold *cold, const json_t *head)
{
    json_t *answer =
        json_pack("{s:i, s:I, s:f, s:O, s:O, s:O}", "kernels", (int)cold->kernels->len, "bytes",
                  (json_int_t)cold->bytes, "compile_seconds", cold->compile_seconds, "load_seconds",
                  json_object_get(head, "load_seconds"), "first_seconds",
                  json_object_get(head, "first_seconds"), "second_seconds",
                  json_object_get(head, "second_seconds"));
    cold->answered = answer && json_dumpf(answer, stdout, JSON_COMPACT) == 0;
    putchar('\n');
    json_decref(answer);
    cold_end(cold);
}

static void eval_up(Child *child, void *data)
{
    (void)data;
    child_set_deadline(child, OPEN_SECONDS);
}

static void eval_frame(Child *child, const struct frame *frame, void *data)
{
    struct cold *cold = data;
    const char *op = json_string_value(json_object_get(frame->head, "op"));
    child_set_deadline(child, 0);
    if (op && strcmp(op, "hello") == 0)
        take_hello(cold, frame->head);
    else if (op && strcmp(op, "cold") == 0)
        take_times(cold, frame->head);
}

static void eval_died(Child *child, const struct child_death *death, void *data)
{
    struct cold *cold = data;
    cold->eval = NULL;
    if (!cold->answered)
        cold_fail(cold, "cannot run on the device: %s: %s", death->text, death->words);
    child_free(child);
}

static bool run(struct cold *cold)
{
    static const struct child_callbacks callbacks = {eval_up, eval_frame, eval_died};
    g_autofree char *setting = g_strdup_printf("SKIPJACK_SCRATCH=%s/eval", cold->scratch);
    char *environment[] = {setting, NULL};
    const struct child_spec spec = {
        .role = "eval", .argument = cold->options->device, .environment = environment};
    uv_loop_init(&cold->loop);
    cold->eval = child_new(&cold->loop, &spec, &callbacks, cold);
    child_start(cold->eval);
    uv_run(&cold->loop, UV_RUN_DEFAULT);
    uv_loop_close(&cold->loop);
    return cold->answered && !cold->failed;
}

int agent_cold(const struct cold_options *options)
{
    g_autoptr(GError) error = NULL;
    json_error_t why;
    struct cold cold = {.options = options, .file = json_load_file(options->path, 0, &why)};
    if (!cold.file) {
        fprintf(stderr, "worker: cannot read '%s', line %d: %s\n", options->path, why.line,
                why.text);
        return 1;
    }
    g_autofree char *scratch = identity_make_scratch(&error);
    if (!scratch) {
        fprintf(stderr, "worker: %s\n", error->message);
        json_decref(cold.file);
        return 1;
    }
    cold.scratch = scratch;
    cold.layers = json_array();
    cold.kernels = g_ptr_array_new_with_free_func(kernel_free);
    bool done = run(&cold);
    identity_remove_scratch(scratch);
    g_ptr_array_unref(cold.kernels);
    json_decref(cold.layers);
    json_decref(cold.file);
    return done ? 0 : 1;
}
