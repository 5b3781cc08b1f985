/*
 * Each request is answered before the next one is read, so a crash concerns one kernel only. An error that is not the
 * kernel's, such as a missing toolchain or another version than the requested one, ends the child without an answer:
 * the agent then reports the child's last words, and blames no kernel.
 */
#include "worker/build/build_child.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "schema/store/failure.h"
#include "worker/build/compile_request.h"
#include "worker/child/child_enter.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

#define LOG_MAX (64 << 10) /* a compiler's output is cut to this many bytes a kernel */

/* The toolchain of that name, if it is installed and compiles for the target; else NULL. */
static const struct toolchain *toolchain_open(const char *name, const struct target *target,
                                              const char **version, GError **error)
{
    const struct toolchain *toolchain = toolchain_find(name);
    if (!toolchain) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "this program has no toolchain '%s'", name);
        return NULL;
    }
    *version = toolchain->version(target, error);
    return *version && toolchain->can_compile(target, error) ? toolchain : NULL;
}

static bool compile(const struct compile_request *request, struct code_object *object,
                    GError **error)
{
    const char *version = NULL;
    const struct toolchain *toolchain =
        toolchain_open(request->toolchain, &request->target, &version, error);
    if (!toolchain)
        return false;
    /* The code will be stored under a key that names the requested version, so another version
     * must not compile it. */
    if (strcmp(version, request->version) != 0) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "%s is installed as '%s', not as '%s': was it changed while the worker runs?",
                    request->toolchain, version, request->version);
        return false;
    }
    return program_build(toolchain, &request->program, &request->target, object, error);
}

/* Translates an error of a compilation into the failure to report. Returns false for an error
 * that says nothing about the kernel, such as a missing toolchain. */
static bool failure_of(const GError *error, enum failure *failure)
{
    *failure = FAILURE_NONE;
    if (g_error_matches(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE))
        *failure = FAILURE_COMPILE_ERROR;
    else if (g_error_matches(error, KERNELS_ERROR, KERNELS_ERROR_CRASH))
        *failure = FAILURE_COMPILER_CRASH;
    else if (g_error_matches(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT))
        *failure = FAILURE_LOAD_ERROR;
    return !error || *failure != FAILURE_NONE;
}

/* The first LOG_MAX bytes of a compiler's output. A compiler may print without end, and its
 * first messages name the cause. */
static char *shortened(const char *text)
{
    gsize length = strlen(text);
    g_autofree char *first = g_strndup(text, LOG_MAX);
    g_autofree char *valid = g_utf8_make_valid(first, -1);
    g_strstrip(valid);
    if (length <= LOG_MAX)
        return g_steal_pointer(&valid);
    return g_strdup_printf("%s\n[%" G_GSIZE_FORMAT " bytes more]", valid, length - LOG_MAX);
}

static json_t *compiled_head(const struct compile_request *request,
                             const struct code_object *object, enum failure failure,
                             const GError *error)
{
    const char *log = object->log ? object->log : "";
    g_autofree char *text = error ? g_strdup_printf("%s\n%s", error->message, log) : g_strdup(log);
    g_autofree char *said = shortened(text);
    json_t *head =
        json_pack("{s:s, s:I, s:s, s:f, s:s}", "op", "compiled", "id", request->id, "failure",
                  failure_name(failure), "seconds", object->seconds, "log", said);
    if (!error) {
        json_object_set_new(head, "registers", json_integer(object->registers));
        json_object_set_new(head, "accumulation_registers",
                            json_integer(object->accumulation_registers));
        json_object_set_new(head, "scalar_registers", json_integer(object->scalar_registers));
        if (object->instructions)
            json_object_set_new(head, "instructions", json_string(object->instructions));
        json_object_set_new(head, "spills", json_integer(object->spills));
        json_object_set_new(head, "scratch_bytes", json_integer(object->scratch_bytes));
        json_object_set_new(head, "local_bytes", json_integer(object->local_bytes));
    }
    return head;
}

static bool serve_compile(int out, json_t *head, GError **error)
{
    struct compile_request request = {0};
    if (!compile_request_read(head, &request, error))
        return false;
    g_autoptr(GError) refused = NULL;
    struct code_object object = {0};
    enum failure failure;
    compile(&request, &object, &refused);
    if (!failure_of(refused, &failure)) {
        /* The child ends without an answer, so that the agent does not count the error as the
         * kernel's. */
        g_propagate_error(error, g_steal_pointer(&refused));
        return false;
    }
    json_t *answer = compiled_head(&request, &object, failure, refused);
    bool sent = frame_write(out, answer, object.code, error);
    json_decref(answer);
    code_object_clear(&object);
    return sent;
}

/* The names of the request's list, which is NULL-terminated; NULL if the request has no list. Free with g_free(). */
static const char **names_read(const json_t *head)
{
    const json_t *list = json_object_get(head, "toolchains");
    size_t count = json_array_size(list), taken = 0;
    const char **names = json_is_array(list) ? g_new0(const char *, count + 1) : NULL;
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name)
            names[taken++] = name;
    }
    return names;
}

static bool serve_version(int out, json_t *head, GError **error)
{
    struct target target;
    g_autoptr(GError) missing = NULL;
    if (!target_from_json(json_object_get(head, "target"), &target, error))
        return false;
    g_autofree const char **names = names_read(head);
    const struct toolchain *toolchain = toolchain_for_target(&target, names, &missing);
    const char *version = toolchain ? toolchain->version(&target, &missing) : NULL;
    json_t *answer = json_pack("{s:s, s:s, s:s, s:s}", "op", "version", "toolchain",
                               version ? toolchain->name : "", "version", version ? version : "",
                               "error", missing ? missing->message : "");
    bool sent = frame_write(out, answer, NULL, error);
    json_decref(answer);
    return sent;
}

/* Answers a "stack" request with all installed toolchains. */
static bool serve_stack(int out, json_t *head, GError **error)
{
    g_autoptr(GString) stack = g_string_new(NULL);
    (void)head;
    for (int i = 0; i < toolchain_table_count; i++) {
        const char *version = toolchain_table[i]->version(NULL, NULL);
        if (version)
            g_string_append_printf(stack, "%s%s %s", stack->len ? "; " : "",
                                   toolchain_table[i]->name, version);
    }
    json_t *answer = json_pack("{s:s, s:s}", "op", "stack", "stack", stack->str);
    bool sent = frame_write(out, answer, NULL, error);
    json_decref(answer);
    return sent;
}

static const struct {
    const char *op;
    bool (*serve)(int out, json_t *head, GError **error);
} requests[] = {
    {"compile", serve_compile},
    {"version", serve_version},
    {"stack", serve_stack},
};

static bool serve(int out, json_t *head, GError **error)
{
    const char *op = json_string_value(json_object_get(head, "op"));
    for (size_t i = 0; op && i < G_N_ELEMENTS(requests); i++)
        if (strcmp(op, requests[i].op) == 0)
            return requests[i].serve(out, head, error);
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME,
                "a build child cannot serve the request '%s'", op ? op : "");
    return false;
}

int build_child_main(void)
{
    g_autoptr(GError) error = NULL;
    int out = child_take_stdout(&error);
    while (out >= 0) {
        struct frame frame = {0};
        if (!frame_read(STDIN_FILENO, &frame, &error))
            break;
        bool served = serve(out, frame.head, &error);
        frame_clear(&frame);
        if (!served)
            break;
    }
    if (g_error_matches(error, WORKER_ERROR, WORKER_ERROR_CLOSED))
        return 0;
    fprintf(stderr, "build child: %s\n", error->message);
    return 1;
}
