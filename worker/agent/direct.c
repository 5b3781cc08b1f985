#include "worker/agent/direct.h"

#include <stdio.h>
#include <string.h>

#include "kernels/program.h"
#include "kernels/toolchains/toolchain.h"
#include "schema/monitor/log.h"
#include "schema/monitor/signals.h"
#include "schema/small_file.h"
#include "worker/agent/identity.h"
#include "worker/child/child.h"
#include "worker/protocol/protocol.h"
#include "worker/protocol/target_json.h"

#define OPEN_SECONDS     60
#define PROGRESS_SECONDS 2

struct direct_kernel {
    char key[KERNEL_KEY_LENGTH + 1], hash[PROGRAM_HASH_LENGTH + 1];
    char *file, *entry, *options;
    GBytes *code;
};

struct direct {
    const struct direct_job *job;
    const char *scratch;
    uv_loop_t loop;
    struct signal_watch signals;
    int caught; /* the signal that ended the run, 0 for none */
    Child *build, *eval;
    struct target target;
    /* The build child's toolchain and its version; NULL until it has answered. */
    char *toolchain, *version;
    json_t *request;    /* the eval child's request; NULL until the work is planned */
    GPtrArray *kernels; /* struct direct_kernel *: each distinct kernel once */
    GHashTable *by_key; /* the same, by key */
    guint compiled;
    int64_t began_us, said_us;
    double compile_seconds;
    double run_seconds; /* what direct_allow() gave */
    int64_t bytes;
    bool answered, failed;
};

static void kernel_free(gpointer data)
{
    struct direct_kernel *kernel = data;
    g_free(kernel->file);
    g_free(kernel->entry);
    g_free(kernel->options);
    g_clear_pointer(&kernel->code, g_bytes_unref);
    g_free(kernel);
}

/* Asks both children to end; the loop ends when they have. */
static void direct_end(struct direct *direct)
{
    if (direct->build && child_is_up(direct->build))
        child_end(direct->build, 1);
    if (direct->eval && child_is_up(direct->eval))
        child_end(direct->eval, 1);
}

static void log_failure(const char *name, const char *text)
{
    g_autofree char *event = g_strdup_printf("%s_failed", name);
    log_write(LEVEL_ERROR, event, NULL, "%s", text);
}

G_GNUC_PRINTF(2, 3)
static void direct_fail(struct direct *direct, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (!direct->failed)
        log_failure(direct->job->name, text);
    direct->failed = true;
    direct_end(direct);
}

/* ---- the kernels ---- */

/* The launch's kernel, added if no equal one is there. Its key only tells kernels apart: it is made with the first
 * toolchain of the table, since the toolchain that will compile is not known yet. NULL if this program has no source
 * for the kernel. */
static const struct direct_kernel *take_kernel(struct direct *direct, const struct launch *launch,
                                               GError **error)
{
    char hash[PROGRAM_HASH_LENGTH + 1], key[KERNEL_KEY_LENGTH + 1];
    if (!program_hash(launch->file, &direct->target, hash, error))
        return NULL;
    kernel_key(hash, launch, &direct->target, toolchain_table[0], "", key);
    struct direct_kernel *kernel = g_hash_table_lookup(direct->by_key, key);
    if (kernel)
        return kernel;
    kernel = g_new0(struct direct_kernel, 1);
    g_strlcpy(kernel->key, key, sizeof kernel->key);
    g_strlcpy(kernel->hash, hash, sizeof kernel->hash);
    kernel->file = g_strdup(launch->file);
    kernel->entry = g_strdup(launch->entry);
    kernel->options = g_strdup(launch->options);
    g_ptr_array_add(direct->kernels, kernel);
    g_hash_table_insert(direct->by_key, kernel->key, kernel);
    return kernel;
}

bool direct_add_kernels(struct direct *direct, const struct solution *solution, json_t *keys,
                        GError **error)
{
    for (int i = 0; i < solution->launch_count; i++) {
        const struct direct_kernel *kernel = take_kernel(direct, &solution->launches[i], error);
        if (!kernel)
            return false;
        json_array_append_new(keys, json_string(kernel->key));
    }
    return true;
}

void direct_allow(struct direct *direct, double seconds)
{
    direct->run_seconds += seconds;
}

void direct_facts(const struct direct *direct, struct direct_facts *facts)
{
    *facts = (struct direct_facts){.kernels = (int)direct->kernels->len,
                                   .bytes = direct->bytes,
                                   .compile_seconds = direct->compile_seconds,
                                   .target = direct->target.id};
}

/* ---- compiling ---- */

static double seconds_since(int64_t us)
{
    return (double)(g_get_monotonic_time() - us) / G_USEC_PER_SEC;
}

static void compile_next(struct direct *direct)
{
    const struct direct_kernel *kernel = g_ptr_array_index(direct->kernels, direct->compiled);
    json_t *head =
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id",
                  (int)direct->compiled, "toolchain", direct->toolchain, "version", direct->version,
                  "file", kernel->file, "hash", kernel->hash, "entry", kernel->entry, "options",
                  kernel->options, "target", target_to_json(&direct->target));
    child_send(direct->build, head, NULL);
    child_set_deadline(direct->build, direct->job->compile_timeout_seconds);
    json_decref(head);
}

static void say_progress(struct direct *direct)
{
    g_autofree char *event = g_strdup_printf("%s_progress", direct->job->name);
    if (direct->compiled < direct->kernels->len &&
        seconds_since(direct->said_us) < PROGRESS_SECONDS)
        return;
    direct->said_us = g_get_monotonic_time();
    log_write(LEVEL_INFO, event, NULL, "compiled %u of %u kernels in %.1f s", direct->compiled,
              direct->kernels->len, seconds_since(direct->began_us));
}

static void send_request(struct direct *direct)
{
    for (guint i = 0; i < direct->kernels->len; i++) {
        const struct direct_kernel *kernel = g_ptr_array_index(direct->kernels, i);
        json_t *head = json_pack("{s:s, s:s}", "op", "kernel", "key", kernel->key);
        child_send(direct->eval, head, kernel->code);
        json_decref(head);
    }
    child_send(direct->eval, direct->request, NULL);
    child_set_deadline(direct->eval, direct->job->run_timeout_seconds + direct->run_seconds);
}

static void build_up(Child *child, void *data)
{
    struct direct *direct = data;
    json_t *head =
        json_pack("{s:s, s:o}", "op", "version", "target", target_to_json(&direct->target));
    direct->began_us = direct->said_us = g_get_monotonic_time();
    child_send(child, head, NULL);
    child_set_deadline(child, OPEN_SECONDS);
    json_decref(head);
}

/* Takes toolchain and version from the build child's first answer: each compile request names
 * the version. */
static void take_version(struct direct *direct, const json_t *head)
{
    const char *name = json_string_value(json_object_get(head, "toolchain"));
    const char *version = json_string_value(json_object_get(head, "version"));
    const char *refusal = json_string_value(json_object_get(head, "error"));
    if (name && *name && version && *version) {
        direct->toolchain = g_strdup(name);
        direct->version = g_strdup(version);
        compile_next(direct);
        return;
    }
    direct_fail(direct, "cannot compile for %s here: %s", direct->target.id,
                refusal ? refusal : "");
}

static void build_frame(Child *child, const struct frame *frame, void *data)
{
    struct direct *direct = data;
    if (direct->failed || direct->compiled >= direct->kernels->len)
        return;
    struct direct_kernel *kernel = g_ptr_array_index(direct->kernels, direct->compiled);
    child_set_deadline(child, 0);
    if (!direct->version) {
        take_version(direct, frame->head);
        return;
    }
    if (!frame->blob) {
        const char *log = json_string_value(json_object_get(frame->head, "log"));
        direct_fail(direct, "cannot compile %s %s: %s", kernel->file, kernel->options,
                    log ? log : "");
        return;
    }
    kernel->code = g_bytes_ref(frame->blob);
    direct->bytes += (int64_t)g_bytes_get_size(frame->blob);
    direct->compiled++;
    say_progress(direct);
    if (direct->compiled < direct->kernels->len) {
        compile_next(direct);
        return;
    }
    direct->compile_seconds = seconds_since(direct->began_us);
    child_end(child, 1);
    send_request(direct);
}

static void build_died(Child *child, const struct child_death *death, void *data)
{
    struct direct *direct = data;
    direct->build = NULL;
    if (direct->compiled < direct->kernels->len)
        direct_fail(direct, "cannot compile: %s: %s", death->text, death->words);
    child_free(child);
}

/* ---- running ---- */

static void start_building(struct direct *direct)
{
    static const struct child_callbacks callbacks = {build_up, build_frame, build_died};
    g_autofree char *setting = g_strdup_printf("SKIPJACK_SCRATCH=%s/build", direct->scratch);
    char *environment[] = {setting, NULL};
    const struct child_spec spec = {.role = "build", .environment = environment};
    direct->build = child_new(&direct->loop, &spec, &callbacks, direct);
    child_start(direct->build);
}

static void take_hello(struct direct *direct, const json_t *head)
{
    g_autoptr(GError) error = NULL;
    if (direct->request)
        return; /* the work was planned before */
    if (target_from_json(json_object_get(head, "target"), &direct->target, &error))
        direct->request = direct->job->plan(direct, &direct->target, direct->job->data, &error);
    if (direct->request)
        start_building(direct);
    else
        direct_fail(direct, "%s", error->message);
}

static void take_answer(struct direct *direct, const json_t *head)
{
    direct->answered = true;
    if (!direct->job->take(direct, head, direct->job->data))
        direct->failed = true;
    direct_end(direct);
}

static void eval_up(Child *child, void *data)
{
    (void)data;
    child_set_deadline(child, OPEN_SECONDS);
}

static void eval_frame(Child *child, const struct frame *frame, void *data)
{
    struct direct *direct = data;
    const char *op = json_string_value(json_object_get(frame->head, "op"));
    child_set_deadline(child, 0);
    if (op && strcmp(op, "hello") == 0)
        take_hello(direct, frame->head);
    else if (op && direct->request &&
             strcmp(op, json_string_value(json_object_get(direct->request, "op"))) == 0)
        take_answer(direct, frame->head);
}

static void eval_died(Child *child, const struct child_death *death, void *data)
{
    struct direct *direct = data;
    direct->eval = NULL;
    if (!direct->answered)
        direct_fail(direct, "cannot run on the device: %s: %s", death->text, death->words);
    child_free(child);
}

/* ---- the whole ---- */

/* After a signal the loop ends in order, so that the children's folders are removed. */
static void signalled(uv_signal_t *handle, int number)
{
    struct direct *direct = handle->data;
    direct->caught = number;
    direct_fail(direct, "stopped");
}

static bool run(struct direct *direct)
{
    static const struct child_callbacks callbacks = {eval_up, eval_frame, eval_died};
    g_autofree char *setting = g_strdup_printf("SKIPJACK_SCRATCH=%s/eval", direct->scratch);
    char *environment[] = {setting, NULL};
    const struct child_spec spec = {
        .role = "eval", .argument = direct->job->device, .environment = environment};
    uv_loop_init(&direct->loop);
    signal_watch_start(&direct->signals, &direct->loop, signalled, direct);
    signal_watch_unref(&direct->signals);
    direct->eval = child_new(&direct->loop, &spec, &callbacks, direct);
    child_start(direct->eval);
    uv_run(&direct->loop, UV_RUN_DEFAULT);
    signal_watch_close(&direct->signals);
    uv_run(&direct->loop, UV_RUN_DEFAULT);
    uv_loop_close(&direct->loop);
    return direct->answered && !direct->failed;
}

json_t *direct_read_file(const char *name, const char *path, gsize most_bytes)
{
    json_error_t why;
    gsize length = 0;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = small_file_read(path, most_bytes, &length, &error);
    if (!text) {
        log_failure(name, error->message);
        return NULL;
    }
    json_t *file = json_loadb(text, length, 0, &why);
    if (!file) {
        g_autofree char *words =
            g_strdup_printf("cannot read '%s', line %d: %s", path, why.line, why.text);
        log_failure(name, words);
    }
    return file;
}

int direct_run(const struct direct_job *job)
{
    g_autoptr(GError) error = NULL;
    struct direct direct = {.job = job};
    g_autofree char *scratch = identity_make_scratch(&error);
    if (!scratch) {
        log_failure(job->name, error->message);
        return 1;
    }
    direct.scratch = scratch;
    direct.kernels = g_ptr_array_new_with_free_func(kernel_free);
    direct.by_key = g_hash_table_new(g_str_hash, g_str_equal);
    bool done = run(&direct);
    identity_remove_scratch(scratch);
    g_hash_table_unref(direct.by_key);
    g_ptr_array_unref(direct.kernels);
    g_free(direct.toolchain);
    g_free(direct.version);
    json_decref(direct.request);
    if (direct.caught)
        return 128 + direct.caught;
    return done ? 0 : 1;
}
