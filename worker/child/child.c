/*
 * A process has ended when its exit was reported and its pipes have ended; the two
 * come in any order. died() waits for both, so that all frames come before it.
 * Grandchildren may keep the pipes open, so the wait for the pipes is limited
 * (DRAIN_MS). A struct process belongs to one process, and may outlive the Child,
 * which libuv requires: it frees a handle only after its close callback, and reaps
 * a killed process only in its exit callback.
 */
#include "worker/child/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/child/child_words.h"
#include "worker/protocol/protocol.h"

/* Longest wait for the pipes' end after the exit: a grandchild may hold the pipes open. */
#define DRAIN_MS       500
/* Pause before a restart; doubled with each death of a child that gave no answer. */
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS   10000

enum child_state { CHILD_DOWN, CHILD_PAUSED, CHILD_UP, CHILD_ENDING };

/* One process of the child. It is freed when the loop has closed its handles, which may be after
 * child_free(). */
struct process {
    Child *child; /* NULL after the child's death or child_free() */
    uv_process_t handle;
    uv_pipe_t in, out, err;
    uv_timer_t drain;
    int open_handles;
    int open_streams; /* how many of the pipes `out` and `err` have not ended */
    bool exited, spoke;
    int64_t status;
    int signal;
    enum child_end end; /* CHILD_EXITED unless another cause is known */
    GByteArray *frames;
    struct child_words words;
};

struct child {
    uv_loop_t *loop;
    struct child_callbacks callbacks;
    void *data;
    char *role, *argument;
    struct child_speaker speaker;
    uint64_t memory_bytes;
    char **environment;
    enum child_state state;
    struct process *process;
    /* The deadline while the child is up; the pause before the start while it is paused. */
    uv_timer_t *timer;
    int silent_deaths;
    int spawn_error;
};

struct write {
    uv_write_t request;
    GBytes *bytes;
};

static void child_die(Child *child);

/* ---- a process and its handles ---- */

static void process_closed(uv_handle_t *handle)
{
    struct process *process = handle->data;
    if (--process->open_handles > 0)
        return;
    g_byte_array_unref(process->frames);
    child_words_clear(&process->words);
    g_free(process);
}

static void handle_close(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, process_closed);
}

/* Kills the whole process group: a compiler's own children must end, too. */
static void process_kill(struct process *process)
{
    if (process->exited || process->handle.pid <= 0)
        return;
    if (kill(-process->handle.pid, SIGKILL) != 0)
        uv_process_kill(&process->handle, SIGKILL);
}

static void process_release(struct process *process)
{
    process_kill(process);
    process->child = NULL;
    handle_close(&process->in);
    handle_close(&process->out);
    handle_close(&process->err);
    handle_close(&process->drain);
    /* libuv reaps a process only through its open handle: closed before the exit it would leave a zombie. */
    if (process->exited || process->handle.pid <= 0)
        handle_close(&process->handle);
}

static void process_over(struct process *process)
{
    if (process->child && process->exited && process->open_streams == 0)
        child_die(process->child);
}

static void drain_over(uv_timer_t *timer)
{
    struct process *process = timer->data;
    process->open_streams = 0;
    process_over(process);
}

static void process_exited(uv_process_t *handle, int64_t status, int signal)
{
    struct process *process = handle->data;
    process->exited = true;
    process->status = status;
    process->signal = signal;
    if (!process->child) {
        handle_close(handle);
        return;
    }
    process->child->state = CHILD_ENDING;
    uv_timer_start(&process->drain, drain_over, DRAIN_MS, 0);
    process_over(process);
}

static void stream_ended(struct process *process, uv_stream_t *stream)
{
    uv_read_stop(stream);
    if (process->open_streams > 0)
        process->open_streams--;
    process_over(process);
}

static void stream_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle;
    *buffer = uv_buf_init(g_malloc(suggested), (unsigned)suggested);
}

static void words_keep(struct process *process, const char *bytes, size_t length)
{
    if (process->child)
        child_words_hear(&process->words, &process->child->speaker, bytes, length);
}

static void stream_words(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct process *process = stream->data;
    if (count > 0)
        words_keep(process, buffer->base, (size_t)count);
    g_free(buffer->base);
    if (count < 0)
        stream_ended(process, stream);
}

static void protocol_broken(struct process *process, const GError *error)
{
    words_keep(process, error->message, strlen(error->message));
    process->end = CHILD_PROTOCOL;
    process_kill(process);
}

static void frames_deliver(struct process *process)
{
    for (;;) {
        g_autoptr(GError) error = NULL;
        struct frame frame = {0};
        bool complete = false;
        if (!process->child || process->end == CHILD_PROTOCOL)
            return;
        if (!frame_take(process->frames, &frame, &complete, &error)) {
            protocol_broken(process, error);
            return;
        }
        if (!complete)
            return;
        process->spoke = true;
        process->child->callbacks.frame(process->child, &frame, process->child->data);
        frame_clear(&frame);
    }
}

static void stream_frames(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct process *process = stream->data;
    if (count > 0)
        g_byte_array_append(process->frames, (const guint8 *)buffer->base, (guint)count);
    g_free(buffer->base);
    if (count > 0)
        frames_deliver(process);
    else if (count < 0)
        stream_ended(process, stream);
}

static struct process *process_new(Child *child)
{
    struct process *process = g_new0(struct process, 1);
    process->child = child;
    process->frames = g_byte_array_new();
    child_words_init(&process->words);
    uv_pipe_init(child->loop, &process->in, 0);
    uv_pipe_init(child->loop, &process->out, 0);
    uv_pipe_init(child->loop, &process->err, 0);
    uv_timer_init(child->loop, &process->drain);
    process->in.data = process->out.data = process->err.data = process;
    process->drain.data = process->handle.data = process;
    process->open_handles = 5;
    process->open_streams = 2;
    return process;
}

/* ---- starting ---- */

static char **child_environment(const Child *child)
{
    char **environment = g_get_environ();
    for (char **more = child->environment; more && *more; more++) {
        g_auto(GStrv) pair = g_strsplit(*more, "=", 2);
        environment = g_environ_setenv(environment, pair[0], pair[1] ? pair[1] : "", TRUE);
    }
    return environment;
}

static int process_spawn(struct process *process, const Child *child)
{
    g_auto(GStrv) environment = child_environment(child);
    g_autofree char *role = g_strdup(child->role);
    g_autofree char *parent = g_strdup_printf("%ld", (long)getpid());
    g_autofree char *memory = g_strdup_printf("%" G_GUINT64_FORMAT, child->memory_bytes);
    char name[] = "skipjack", command[] = CHILD_COMMAND;
    char *arguments[] = {name, command, role, parent, memory, child->argument, NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&process->in},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&process->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&process->err},
    };
    /* The process gets a process group of its own, so that an interrupt from the terminal
     * reaches only the agent. */
    uv_process_options_t options = {
        .exit_cb = process_exited,
        .file = "/proc/self/exe",
        .args = arguments,
        .env = environment,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = stdio,
    };
    int status = uv_spawn(child->loop, &process->handle, &options);
    process->handle.data = process;
    return status;
}

static void unborn(uv_timer_t *timer)
{
    Child *child = timer->data;
    child_die(child);
}

static void child_spawn(uv_timer_t *timer)
{
    Child *child = timer->data;
    struct process *process = process_new(child);
    child->process = process;
    child->spawn_error = process_spawn(process, child);
    if (child->spawn_error != 0) {
        process->handle.pid = 0;
        process->end = CHILD_UNBORN;
        uv_timer_start(child->timer, unborn, 0, 0);
        return;
    }
    uv_read_start((uv_stream_t *)&process->out, stream_buffer, stream_frames);
    uv_read_start((uv_stream_t *)&process->err, stream_buffer, stream_words);
    child->state = CHILD_UP;
    child->callbacks.up(child, child->data);
}

static uint64_t child_pause_ms(const Child *child)
{
    if (child->silent_deaths == 0)
        return 0;
    return MIN(PAUSE_FIRST_MS << MIN(child->silent_deaths - 1, 10), PAUSE_MAX_MS);
}

void child_start(Child *child)
{
    g_assert(child->state == CHILD_DOWN);
    child->state = CHILD_PAUSED;
    uv_timer_start(child->timer, child_spawn, child_pause_ms(child), 0);
}

/* ---- a process's death ---- */

static char *death_text(const Child *child, const struct process *process)
{
    switch (process->end) {
    case CHILD_UNBORN:
        return g_strdup_printf("cannot start the %s child: %s", child->role,
                               uv_strerror(child->spawn_error));
    case CHILD_TIMEOUT:
        return g_strdup_printf("the %s child did not answer in time and was killed", child->role);
    case CHILD_PROTOCOL:
        return g_strdup_printf("the %s child wrote bytes that are not a frame and was killed",
                               child->role);
    case CHILD_CRASHED:
        return g_strdup_printf("the %s child was ended by SIG%s", child->role,
                               sigabbrev_np(process->signal) ? sigabbrev_np(process->signal) : "?");
    case CHILD_EXITED:
    case CHILD_ENDS: break;
    }
    return g_strdup_printf("the %s child exited with status %d", child->role, (int)process->status);
}

static void child_die(Child *child)
{
    struct process *process = child->process;
    if (process->end == CHILD_EXITED && process->signal != 0)
        process->end = CHILD_CRASHED;
    child_words_end(&process->words, &child->speaker);
    g_autofree char *words = child_words_last(&process->words);
    g_autofree char *text = death_text(child, process);
    struct child_death death = {
        .end = process->end,
        .code = process->signal ? process->signal : (int)process->status,
        .words = g_strstrip(words),
        .text = text,
    };
    child->silent_deaths = process->spoke ? 0 : child->silent_deaths + 1;
    child->state = CHILD_DOWN;
    child->process = NULL;
    uv_timer_stop(child->timer);
    process_release(process);
    child->callbacks.died(child, &death, child->data);
}

static void deadline_over(uv_timer_t *timer)
{
    Child *child = timer->data;
    child->process->end = CHILD_TIMEOUT;
    process_kill(child->process);
}

void child_set_deadline(Child *child, double seconds)
{
    if (child->state != CHILD_UP)
        return;
    if (seconds > 0)
        uv_timer_start(child->timer, deadline_over, (uint64_t)(seconds * 1000) + 1, 0);
    else
        uv_timer_stop(child->timer);
}

static void grace_over(uv_timer_t *timer)
{
    Child *child = timer->data;
    process_kill(child->process);
}

void child_end(Child *child, double grace_seconds)
{
    if (child->state != CHILD_UP)
        return;
    handle_close(&child->process->in);
    uv_timer_start(child->timer, grace_over, (uint64_t)(grace_seconds * 1000), 0);
}

/* ---- requests ---- */

static void write_done(uv_write_t *request, int status)
{
    (void)status; /* a write fails because the child is dying, which died() reports */
    struct write *write = request->data;
    g_bytes_unref(write->bytes);
    g_free(write);
}

void child_send(Child *child, json_t *head, GBytes *blob)
{
    g_assert(child->state == CHILD_UP || child->state == CHILD_ENDING);
    if (child->state != CHILD_UP || uv_is_closing((uv_handle_t *)&child->process->in))
        return;
    struct write *write = g_new0(struct write, 1);
    write->bytes = frame_encode(head, blob);
    g_assert(write->bytes); /* all requests are far smaller than FRAME_MAX */
    write->request.data = write;
    gsize length;
    gconstpointer bytes = g_bytes_get_data(write->bytes, &length);
    uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)length);
    if (uv_write(&write->request, (uv_stream_t *)&child->process->in, &buffer, 1, write_done) != 0)
        write_done(&write->request, 0);
}

/* ---- the child's public functions ---- */

Child *child_new(uv_loop_t *loop, const struct child_spec *spec,
                 const struct child_callbacks *callbacks, void *data)
{
    Child *child = g_new0(struct child, 1);
    child->loop = loop;
    child->callbacks = *callbacks;
    child->data = data;
    child->role = g_strdup(spec->role);
    child->argument = g_strdup(spec->argument);
    child->speaker = (struct child_speaker){child->role, child->argument, spec->logged};
    child->memory_bytes = spec->memory_bytes;
    child->environment = g_strdupv((char **)(uintptr_t)spec->environment);
    child->timer = g_new0(uv_timer_t, 1);
    child->timer->data = child;
    uv_timer_init(loop, child->timer);
    return child;
}

static void timer_closed(uv_handle_t *handle)
{
    g_free(handle);
}

void child_free(Child *child)
{
    if (!child)
        return;
    uv_close((uv_handle_t *)child->timer, timer_closed);
    if (child->process)
        process_release(child->process);
    g_free(child->role);
    g_free(child->argument);
    g_strfreev(child->environment);
    g_free(child);
}

bool child_is_down(const Child *child)
{
    return child->state == CHILD_DOWN;
}

bool child_is_up(const Child *child)
{
    return child->state == CHILD_UP;
}

long child_pid(const Child *child)
{
    return child->state == CHILD_UP ? (long)child->process->handle.pid : 0;
}
