/*
 * The child has one thread. It reads a frame when it waits for work, and between two configs, so that kernels for the
 * next job arrive, and a stop is noticed, while a request is served. Code objects are stored at once; evaluate and
 * cold requests wait in a queue. A config under way cannot be interrupted: the agent kills a child that hangs.
 *
 * Two kinds of failure are kept apart. A request that cannot be served on this device is answered, and the child goes
 * on. After a device fault, a broken protocol or a lack of memory the process ends, since only a new process gets a
 * sound driver and its own memory.
 */
#include "worker/eval/eval_child.h"

#include <float.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "worker/child/child_enter.h"
#include "worker/eval/cold_run.h"
#include "worker/eval/eval_device.h"
#include "worker/eval/eval_round.h"
#include "worker/pipeline/pipeline_run.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/protocol.h"
#include "worker/protocol/target_json.h"
#include "worker/verify/judge_cache.h"

/* Most bytes of references kept in memory: those of a few large problems, or of all problems of
 * a network. */
#define REFERENCES_BYTES (512ll << 20)

/* While the child waits for requests it frees judges that were not used for this long: their
 * campaign has probably ended. */
#define JUDGES_KEPT_SECONDS 60

struct server {
    int out; /* descriptor for the answers */
    struct eval_device opened;
    struct eval_kernels *kernels;
    struct reference_cache *references;
    struct judge_cache *judges;
    /* The part of the device's busy seconds that was reported with outcomes. */
    double busy_reported;
    /* json_t *: evaluate and cold requests that came while another was served. */
    GQueue waiting;
    const struct eval_request *current;
    bool stop;      /* a "stop" came: the request under way and all waiting ones end early */
    bool ended;     /* stdin is at its end, or broken */
    GError *broken; /* error that broke stdin */
};

static bool send_head(struct server *server, json_t *head, GError **error)
{
    bool sent;

    g_assert(head);
    sent = frame_write(server->out, head, NULL, error);
    json_decref(head);
    return sent;
}

/* Replaces NaN and infinity, which JSON cannot hold: a NaN in a result counts as an infinite
 * error. */
static double finite_number(double value)
{
    return isfinite(value) ? value : DBL_MAX;
}

static json_t *valid_text(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    return json_string(valid);
}

/* ---- reading requests ---- */

static bool take_kernel(struct server *server, const struct frame *frame)
{
    const char *key = json_string_value(json_object_get(frame->head, "key"));

    if (!key || !frame->blob)
        return false;
    eval_kernels_add(server->kernels, key, frame->blob);
    return true;
}

static bool take_forget(struct server *server, const struct frame *frame)
{
    const char *key = json_string_value(json_object_get(frame->head, "key"));

    if (key)
        eval_kernels_forget(server->kernels, key);
    return key != NULL;
}

static bool take_work(struct server *server, const struct frame *frame)
{
    g_queue_push_tail(&server->waiting, json_incref(frame->head));
    return true;
}

static bool take_stop(struct server *server, const struct frame *frame)
{
    (void)frame;
    /* A stop that comes while no request is served or waits must not stop the next one. */
    server->stop = server->current || !g_queue_is_empty(&server->waiting);
    return true;
}

static const struct {
    const char *op;
    bool (*take)(struct server *server, const struct frame *frame);
} requests[] = {
    {"kernel", take_kernel}, {"forget", take_forget},  {"evaluate", take_work}, {"cold", take_work},
    {"pipeline", take_work}, {"pipelines", take_work}, {"stop", take_stop},
};

static bool take_frame(struct server *server, const struct frame *frame)
{
    const char *op = json_string_value(json_object_get(frame->head, "op"));

    for (gsize i = 0; op && i < G_N_ELEMENTS(requests); i++) {
        if (strcmp(op, requests[i].op) == 0)
            return requests[i].take(server, frame);
    }
    return false;
}

/* Waits for one frame. Kernels are stored at once; evaluate and cold requests are queued. */
static void read_request(struct server *server)
{
    struct frame frame = {0};

    if (!frame_read(STDIN_FILENO, &frame, &server->broken)) {
        server->ended = true;
        if (g_error_matches(server->broken, WORKER_ERROR, WORKER_ERROR_CLOSED))
            g_clear_error(&server->broken);
        return;
    }
    if (!take_frame(server, &frame)) {
        server->ended = true;
        g_set_error(&server->broken, WORKER_ERROR, WORKER_ERROR_FRAME,
                    "an eval child cannot serve the request '%s'",
                    json_string_value(json_object_get(frame.head, "op")));
    }
    frame_clear(&frame);
}

static bool input_comes(int within_ms)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&in, 1, within_ms) > 0;
}

static void await_request(struct server *server)
{
    do
        judge_cache_drop_unused(server->judges, JUDGES_KEPT_SECONDS);
    while (!input_comes(JUDGES_KEPT_SECONDS * 1000));
}

/* Reads the frames that have come. Called between two configs. Returns true if the round has to
 * end. */
static bool round_stopped(void *data)
{
    struct server *server = data;

    while (!server->ended && input_comes(0))
        read_request(server);
    return server->stop || server->ended;
}

/* ---- writing answers ---- */

static bool send_hello(struct server *server, GError **error)
{
    const struct device_info *info = server->opened.device->row->info(server->opened.device);

    return send_head(server,
                     json_pack("{s:s,s:o,s:o,s:o,s:o,s:s*}", "op", "hello", "target",
                               target_to_json(&info->target), "stack", valid_text(info->stack),
                               "device", valid_text(info->name), "identity",
                               identity_to_json(&server->opened.identity), "unwatched",
                               server->opened.unwatched),
                     error);
}

/* The device's busy seconds since this function was last called. */
static double busy_since(struct server *server)
{
    double before = server->busy_reported;

    server->busy_reported = server->opened.device->busy_seconds;
    return server->busy_reported - before;
}

static bool send_begin(void *data, const struct eval_config *config, GError **error)
{
    struct server *server = data;

    return send_head(server,
                     json_pack("{s:s,s:I,s:i}", "op", "begin", "id", server->current->id, "index",
                               config->index),
                     error);
}

static void note_conditions(void *data, struct evaluation *evaluation)
{
    struct server *server = data;

    evaluation->watched = eval_device_conditions(&server->opened, &evaluation->conditions);
}

/* A bound of the median's interval; NULL for a config without one. */
static json_t *bound_or_none(double ms)
{
    return ms > 0 ? json_real(finite_number(ms)) : NULL;
}

static bool send_outcome(void *data, const struct eval_config *config,
                         const struct evaluation *evaluation, GError **error)
{
    struct server *server = data;
    const struct measurement *times = &evaluation->times;

    return send_head(
        server,
        json_pack(
            "{s:s,s:I,s:i,s:s,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:i,s:i,s:b,s:f,s:o*,s:o*,s:o,s:o*}",
            "op", "outcome", "id", server->current->id, "index", config->index, "failure",
            failure_name(evaluation->failure), "n", times->n, "min_ms",
            finite_number(times->min_ms), "median_ms", finite_number(times->median_ms), "spread",
            finite_number(times->spread), "error", finite_number(evaluation->error), "eval_seconds",
            evaluation->eval_seconds, "busy_seconds", busy_since(server), "pack_ms",
            finite_number(evaluation->pack_ms), "proof_runs", evaluation->proof_runs, "proof_kinds",
            evaluation->proof_kinds, "cold", evaluation->cold, "verified_share",
            evaluation->verified_share, "low_ms", bound_or_none(evaluation->low_ms), "high_ms",
            bound_or_none(evaluation->high_ms), "detail", valid_text(evaluation->detail),
            "conditions", evaluation->watched ? conditions_to_json(&evaluation->conditions) : NULL),
        error);
}

static bool send_evaluated(struct server *server, const struct eval_end *end, GError **error)
{
    return send_head(server,
                     json_pack("{s:s,s:I,s:f,s:f,s:b,s:b,s:b,s:b,s:o}", "op", "evaluated", "id",
                               server->current->id, "drift", finite_number(end->drift),
                               "busy_seconds", busy_since(server), "stopped", end->stopped,
                               "repeated", end->repeated, "by_device", end->by_device, "doubted",
                               end->doubted, "refusal", valid_text(end->refusal)),
                     error);
}

static bool send_failed(struct server *server, enum failure failure, const GError *reason,
                        GError **error)
{
    return send_head(server,
                     json_pack("{s:s,s:I,s:s,s:o}", "op", "failed", "id", server->current->id,
                               "failure", failure_name(failure), "detail",
                               valid_text(reason->message)),
                     error);
}

/* ---- serving ---- */

/* Answers a request that failed as a whole. False if the child must end. It must for a lack of device memory, too: a
 * new process may get memory that this one lost, and another process may have freed some by then. */
static bool answer_failure(struct server *server, const GError *reason, GError **error)
{
    if (g_error_matches(reason, WORKER_ERROR, WORKER_ERROR_INVALID))
        return send_failed(server, FAILURE_NOT_APPLICABLE, reason, error);
    if (g_error_matches(reason, DEVICE_ERROR, DEVICE_ERROR_SIZE))
        return send_failed(server, FAILURE_LAUNCH_ERROR, reason, error);
    if (error)
        *error = g_error_copy(reason);
    return false;
}

static bool run_round(struct server *server, GError **error)
{
    struct eval_round round = {
        .device = server->opened.device,
        .kernels = server->kernels,
        .references = server->references,
        .judges = server->judges,
        .floor_ms = server->opened.floor_ms,
        .request = server->current,
        .begin = send_begin,
        .outcome = send_outcome,
        .timed = note_conditions,
        .stopped = round_stopped,
        .data = server,
    };
    g_autoptr(GError) reason = NULL;
    struct eval_end end;

    if (eval_round_run(&round, &end, &reason))
        return send_evaluated(server, &end, error);
    return answer_failure(server, reason, error);
}

static bool serve_evaluate(struct server *server, const json_t *head, GError **error)
{
    struct eval_request request;
    g_autoptr(GError) reason = NULL;
    bool served;

    server->current = &request;
    if (eval_request_read(head, &request, &reason))
        served = run_round(server, error);
    else
        served = answer_failure(server, reason, error);
    server->current = NULL;
    eval_request_clear(&request);
    return served;
}

/* Serves a cold request. Its failure ends the child: a cold start has no partial result. */
static bool serve_cold(struct server *server, const json_t *head, GError **error)
{
    struct cold_times times;

    if (!cold_run(server->opened.device, server->kernels, head, &times, error))
        return false;
    return send_head(server,
                     json_pack("{s:s,s:f,s:f,s:f,s:f}", "op", "cold", "load_seconds",
                               times.load_seconds, "pack_seconds", times.pack_seconds,
                               "first_seconds", times.first_seconds, "second_seconds",
                               times.second_seconds),
                     error);
}

/* Serve pipeline requests. Their failure ends the child, too. A network may need the memory of the kept references. */
static bool serve_pipeline(struct server *server, const json_t *head, GError **error)
{
    judge_cache_clear(server->judges);
    json_t *answer =
        pipeline_run(server->opened.device, server->kernels, server->opened.floor_ms, head, error);

    return answer && send_head(server, answer, error);
}

static bool serve_pipelines(struct server *server, const json_t *head, GError **error)
{
    judge_cache_clear(server->judges);
    json_t *answer =
        pipelines_run(server->opened.device, server->kernels, server->opened.floor_ms, head, error);

    return answer && send_head(server, answer, error);
}

static bool serve_work(struct server *server, const json_t *head, GError **error)
{
    static const struct {
        const char *op;
        bool (*serve)(struct server *server, const json_t *head, GError **error);
    } rows[] = {{"cold", serve_cold},
                {"pipeline", serve_pipeline},
                {"pipelines", serve_pipelines},
                {"evaluate", serve_evaluate}};
    const char *op = json_string_value(json_object_get(head, "op"));

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (strcmp(op, rows[i].op) == 0)
            return rows[i].serve(server, head, error);
    }
    g_assert_not_reached();
}

static bool serve(struct server *server, GError **error)
{
    bool served = true;

    while (served) {
        json_t *head = g_queue_pop_head(&server->waiting);
        if (!head) {
            server->stop = false;
            if (server->ended)
                break;
            await_request(server);
            read_request(server);
            continue;
        }
        served = serve_work(server, head, error);
        json_decref(head);
    }
    if (served && server->broken)
        g_propagate_error(error, g_steal_pointer(&server->broken));
    return served && !*error;
}

static bool server_open(struct server *server, const char *device, bool only_hello, GError **error)
{
    server->out = child_take_stdout(error);
    if (server->out < 0 || !eval_device_open(&server->opened, device, only_hello, error))
        return false;
    server->kernels = eval_kernels_new(server->opened.device);
    server->references = reference_cache_new(REFERENCES_BYTES);
    server->judges = judge_cache_new(server->opened.device);
    return send_hello(server, error);
}

static void server_close(struct server *server)
{
    while (!g_queue_is_empty(&server->waiting))
        json_decref(g_queue_pop_head(&server->waiting));
    judge_cache_free(server->judges);
    reference_cache_free(server->references);
    eval_kernels_free(server->kernels);
    eval_device_clear(&server->opened);
    g_clear_error(&server->broken);
}

static int failed_status(const struct server *server, const GError *error)
{
    if (g_error_matches(error, DEVICE_ERROR, DEVICE_ERROR_FAULT))
        return EVAL_CHILD_BROKEN;
    bool is_short = g_error_matches(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY) &&
                    server->opened.device && eval_round_finds_memory(server->opened.device);
    return is_short ? EVAL_CHILD_SHORT : 1;
}

static int child_main(const char *device, bool only_hello)
{
    struct server server = {.out = -1, .waiting = G_QUEUE_INIT};
    g_autoptr(GError) error = NULL;

    signal(SIGPIPE, SIG_IGN);
    if (server_open(&server, device, only_hello, &error) && serve(&server, &error)) {
        server_close(&server);
        return 0;
    }
    if (g_error_matches(error, WORKER_ERROR, WORKER_ERROR_CLOSED))
        return 0;
    fprintf(stderr, "eval child: %s\n", error->message);
    /* The process ends without freeing anything: calls to a broken device may hang. */
    return failed_status(&server, error);
}

int eval_child_main(const char *device)
{
    return child_main(device, false);
}

int eval_child_hello(const char *device)
{
    return child_main(device, true);
}
