#include "worker/agent/agent_cold.h"

#include <stdio.h>
#include <string.h>

#include "kernels/program.h"
#include "kernels/toolchains/toolchain.h"
#include "schema/monitor/signals.h"
#include "schema/small_file.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "worker/agent/identity.h"
#include "worker/agent/work.h"
#include "worker/child/child.h"
#include "worker/protocol/protocol.h"
#include "worker/protocol/target_json.h"

#define OPEN_SECONDS     60
#define PROGRESS_SECONDS 2

struct cold_kernel {
    char key[KERNEL_KEY_LENGTH + 1], hash[PROGRAM_HASH_LENGTH + 1];
    char *file, *entry, *options;
    GBytes *code;
};

struct cold {
    const struct cold_options *options;
    const char *scratch;
    uv_loop_t loop;
    struct signal_watch signals;
    int caught; /* the signal that ended the run, 0 for none */
    Child *build, *eval;
    struct target target;
    /* The build child's toolchain and its version; NULL until it has answered. */
    char *toolchain, *version;
    json_t *file;       /* the request, as it was read */
    json_t *layers;     /* the file's layers as an eval child's "cold" request has them */
    GPtrArray *kernels; /* struct cold_kernel *: each distinct kernel once */
    guint compiled;
    int64_t began_us, said_us;
    double compile_seconds, run_seconds; /* run_seconds: the eval child's deadline */
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

/* Asks both children to end; the loop ends when they have. */
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
        log_write(LEVEL_ERROR, "cold_failed", NULL, "%s", text);
    cold->failed = true;
    cold_end(cold);
}

/* ---- the request ---- */

static struct cold_kernel *find_kernel(const struct cold *cold, const char *key)
{
    for (guint i = 0; i < cold->kernels->len; i++) {
        struct cold_kernel *known = g_ptr_array_index(cold->kernels, i);
        if (strcmp(known->key, key) == 0)
            return known;
    }
    return NULL;
}

/* The launch's kernel in cold->kernels, added if no equal one is there. Its key only tells
 * kernels apart: it is made with the first toolchain of the table, since the toolchain that will
 * compile is not known yet. NULL if this program has no source for the kernel. */
static const struct cold_kernel *take_kernel(struct cold *cold, const struct launch *launch,
                                             GError **error)
{
    char hash[PROGRAM_HASH_LENGTH + 1], key[KERNEL_KEY_LENGTH + 1];
    if (!program_hash(launch->file, &cold->target, hash, error))
        return NULL;
    kernel_key(hash, launch, &cold->target, toolchain_table[0], "", key);
    struct cold_kernel *kernel = find_kernel(cold, key);
    if (kernel)
        return kernel;
    kernel = g_new0(struct cold_kernel, 1);
    g_strlcpy(kernel->key, key, sizeof kernel->key);
    g_strlcpy(kernel->hash, hash, sizeof kernel->hash);
    kernel->file = g_strdup(launch->file);
    kernel->entry = g_strdup(launch->entry);
    kernel->options = g_strdup(launch->options);
    g_ptr_array_add(cold->kernels, kernel);
    return kernel;
}

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
    for (int i = 0; i < solution->launch_count; i++) {
        const struct cold_kernel *kernel = take_kernel(cold, &solution->launches[i], error);
        if (!kernel)
            return false;
        json_array_append_new(kernels, json_string(kernel->key));
    }
    return true;
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
        !solver_result_parse(solver, &problem, &cold->target, layer.config,
                             (uint64_t)MAX(layer.workspace_bytes, 0), &context, &config, error) ||
        !solver_solve(solver, &problem, &context, &config, &solution, error))
        return false;
    /* Two iterations of the network, and two operations for each multiply-accumulate. */
    cold->run_seconds += 2.0 * layer.runs * 2 * problem_macs(&problem) / WORK_SLOWEST_FLOPS;
    return add_request(cold, &layer, &config, &solution, error);
}

static bool plan(struct cold *cold, GError **error)
{
    size_t i;
    json_t *layer;
    json_array_foreach (json_object_get(cold->file, "layers"), i, layer) {
        if (!add_layer(cold, layer, error)) {
            g_prefix_error(error, "cannot use '%s', layer %zu: ", cold->options->path, i + 1);
            return false;
        }
    }
    if (cold->kernels->len > 0)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "cannot use '%s': it lists no layers",
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
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id",
                  (int)cold->compiled, "toolchain", cold->toolchain, "version", cold->version,
                  "file", kernel->file, "hash", kernel->hash, "entry", kernel->entry, "options",
                  kernel->options, "target", target_to_json(&cold->target));
    child_send(cold->build, head, NULL);
    child_set_deadline(cold->build, cold->options->compile_timeout_seconds);
    json_decref(head);
}

static void say_progress(struct cold *cold)
{
    if (cold->compiled < cold->kernels->len && seconds_since(cold->said_us) < PROGRESS_SECONDS)
        return;
    cold->said_us = g_get_monotonic_time();
    log_write(LEVEL_INFO, "cold_progress", NULL, "compiled %u of %u kernels in %.1f s",
              cold->compiled, cold->kernels->len, seconds_since(cold->began_us));
}

static void run_network(struct cold *cold)
{
    for (guint i = 0; i < cold->kernels->len; i++) {
        const struct cold_kernel *kernel = g_ptr_array_index(cold->kernels, i);
        json_t *head = json_pack("{s:s, s:s}", "op", "kernel", "key", kernel->key);
        child_send(cold->eval, head, kernel->code);
        json_decref(head);
    }
    json_t *head = json_pack("{s:s, s:o, s:O}", "op", "cold", "target",
                             target_to_json(&cold->target), "layers", cold->layers);
    child_send(cold->eval, head, NULL);
    child_set_deadline(cold->eval, cold->options->run_timeout_seconds + cold->run_seconds);
    json_decref(head);
}

static void build_up(Child *child, void *data)
{
    struct cold *cold = data;
    json_t *head =
        json_pack("{s:s, s:o}", "op", "version", "target", target_to_json(&cold->target));
    cold->began_us = cold->said_us = g_get_monotonic_time();
    child_send(child, head, NULL);
    child_set_deadline(child, OPEN_SECONDS);
    json_decref(head);
}

/* Takes toolchain and version from the build child's first answer: each compile request names
 * the version. */
static void take_version(struct cold *cold, const json_t *head)
{
    const char *name = json_string_value(json_object_get(head, "toolchain"));
    const char *version = json_string_value(json_object_get(head, "version"));
    const char *refusal = json_string_value(json_object_get(head, "error"));
    if (name && *name && version && *version) {
        cold->toolchain = g_strdup(name);
        cold->version = g_strdup(version);
        compile_next(cold);
        return;
    }
    cold_fail(cold, "cannot compile for %s here: %s", cold->target.id, refusal ? refusal : "");
}

static void build_frame(Child *child, const struct frame *frame, void *data)
{
    struct cold *cold = data;
    if (cold->failed || cold->compiled >= cold->kernels->len)
        return;
    struct cold_kernel *kernel = g_ptr_array_index(cold->kernels, cold->compiled);
    child_set_deadline(child, 0);
    if (!cold->version) {
        take_version(cold, frame->head);
        return;
    }
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
    if (cold->kernels->len > 0)
        return; /* the layers were planned before, and their kernels are in cold->kernels */
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

/* ---- the whole ---- */

/* After a signal the loop ends in order, so that the children's folders are removed. */
static void signalled(uv_signal_t *handle, int number)
{
    struct cold *cold = handle->data;
    cold->caught = number;
    cold_fail(cold, "stopped");
}

static bool run(struct cold *cold)
{
    static const struct child_callbacks callbacks = {eval_up, eval_frame, eval_died};
    g_autofree char *setting = g_strdup_printf("SKIPJACK_SCRATCH=%s/eval", cold->scratch);
    char *environment[] = {setting, NULL};
    const struct child_spec spec = {
        .role = "eval", .argument = cold->options->device, .environment = environment};
    uv_loop_init(&cold->loop);
    signal_watch_start(&cold->signals, &cold->loop, signalled, cold);
    signal_watch_unref(&cold->signals);
    cold->eval = child_new(&cold->loop, &spec, &callbacks, cold);
    child_start(cold->eval);
    uv_run(&cold->loop, UV_RUN_DEFAULT);
    signal_watch_close(&cold->signals);
    uv_run(&cold->loop, UV_RUN_DEFAULT);
    uv_loop_close(&cold->loop);
    return cold->answered && !cold->failed;
}

#define NETWORK_FILE_BYTES_MAX ((gsize)256 << 20) /* for a million layers of some 300 bytes each */

static json_t *read_file(const char *path)
{
    json_error_t why;
    gsize length = 0;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = small_file_read(path, NETWORK_FILE_BYTES_MAX, &length, &error);
    if (!text) {
        log_write(LEVEL_ERROR, "cold_failed", NULL, "%s", error->message);
        return NULL;
    }
    json_t *file = json_loadb(text, length, 0, &why);
    if (!file)
        log_write(LEVEL_ERROR, "cold_failed", NULL, "cannot read '%s', line %d: %s", path, why.line,
                  why.text);
    return file;
}

static int exit_status(const struct cold *cold, bool done)
{
    if (cold->caught)
        return 128 + cold->caught;
    return done ? 0 : 1;
}

int agent_cold(const struct cold_options *options)
{
    g_autoptr(GError) error = NULL;
    struct cold cold = {.options = options, .file = read_file(options->path)};
    if (!cold.file)
        return 1;
    g_autofree char *scratch = identity_make_scratch(&error);
    if (!scratch) {
        log_write(LEVEL_ERROR, "cold_failed", NULL, "%s", error->message);
        json_decref(cold.file);
        return 1;
    }
    cold.scratch = scratch;
    cold.layers = json_array();
    cold.kernels = g_ptr_array_new_with_free_func(kernel_free);
    bool done = run(&cold);
    identity_remove_scratch(scratch);
    g_ptr_array_unref(cold.kernels);
    g_free(cold.toolchain);
    g_free(cold.version);
    json_decref(cold.layers);
    json_decref(cold.file);
    return exit_status(&cold, done);
}
