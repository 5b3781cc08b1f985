#include "worker/agent/agent_row.h"

#include "schema/farm/farm.h"
#include "schema/store/store_workers.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/eval/device_service.h"
#include "worker/agent/eval/evaluator.h"
#include "worker/agent/identity.h"

struct worker_call {
    struct lane_call call;
    struct agent *agent;
    struct worker_info info;
    char *node, *process, *target, *stack;
    struct worker_device *devices;
    GStringChunk *texts; /* copies of the devices' texts: the call runs on another thread */
    int64_t worker;
    bool others_work, drains;
    bool reports; /* the call stores this worker's counts, too */
    struct farm_counts counts;
    GPtrArray *refusals; /* struct refusal_row * */
    /* struct refusal_row *: campaigns that this node cannot build for; NULL if the database is
     * not asked for them. */
    GPtrArray *unbuilt;
    /* Names of solvers that this node cannot build, as "name:revision:hash"; NULL: `unbuilt` is
     * not asked for. */
    char **cannot_build;
};

static struct worker_call *worker_call_new(struct agent *agent)
{
    struct worker_call *call = g_new0(struct worker_call, 1);
    const struct evaluator *first = agent_first_open(agent);
    call->agent = agent;
    call->node = g_strdup(agent->node);
    call->process = g_strdup(agent->process);
    call->target = g_strdup(first ? evaluator_target(first)->id : "");
    call->stack =
        agent_join_stacks(first ? evaluator_stack(first) : "", builder_stack(agent->builder));
    call->info = (struct worker_info){
        .node = call->node,
        .process = call->process,
        .target = call->target,
        .stack = call->stack,
        .eval_only = agent->options->build == 0,
        .labels = (const char *const *)agent->options->labels,
        .solvers = (const char *const *)agent->solvers,
    };
    call->worker = agent->worker;
    return call;
}

static void add_devices(struct worker_call *call)
{
    GPtrArray *evaluators = call->agent->evaluators;
    call->texts = g_string_chunk_new(256);
    call->devices = g_new0(struct worker_device, evaluators->len);
    for (guint i = 0; i < evaluators->len; i++) {
        struct worker_device *device = &call->devices[i];
        evaluator_describe(evaluators->pdata[i], device);
        const char **texts[] = {&device->device, &device->name,    &device->target,
                                &device->uuid,   &device->address, &device->partition,
                                &device->stack};
        for (gsize t = 0; t < G_N_ELEMENTS(texts); t++)
            *texts[t] = g_string_chunk_insert_const(call->texts, *texts[t]);
    }
    call->info.devices = call->devices;
    call->info.device_count = (int)evaluators->len;
}

static void worker_call_free(struct worker_call *call)
{
    g_free(call->node);
    g_free(call->process);
    g_free(call->target);
    g_free(call->stack);
    g_free(call->devices);
    if (call->texts)
        g_string_chunk_free(call->texts);
    if (call->refusals)
        g_ptr_array_unref(call->refusals);
    if (call->unbuilt)
        g_ptr_array_unref(call->unbuilt);
    g_strfreev(call->cannot_build);
    g_free(call);
}

/* Returns the jobs of dead workers of this node to the queue without waiting for their leases.
 * Any login may register under this node's name, so workers of another login are left alone:
 * their leases run out. */
static bool bury_dead(struct worker_call *call, Store *store, GError **error)
{
    g_autoptr(GPtrArray) workers = store_list_workers(store, call->node, error);
    if (!workers)
        return false;
    for (guint i = 0; i < workers->len; i++) {
        const struct worker_row *row = g_ptr_array_index(workers, i);
        g_autoptr(GError) refused = NULL;
        if (row->ended || !row->ours || row->id == call->worker || !identity_is_dead(row->process))
            continue;
        if (store_worker_lost(store, row->id, &refused) ||
            g_error_matches(refused, STORE_ERROR, STORE_ERROR_ACCESS) ||
            g_error_matches(refused, STORE_ERROR, STORE_ERROR_NOT_FOUND))
            continue;
        g_propagate_error(error, g_steal_pointer(&refused));
        return false;
    }
    return true;
}

static bool run_listen(struct lane_call *base, Store *store, GError **error)
{
    return store_listen(store, ((struct worker_call *)base)->worker, error);
}

static void listens(struct lane_call *base, const GError *error)
{
    struct worker_call *call = (struct worker_call *)base;
    if (error)
        log_write(LEVEL_WARNING, "listen_failed", NULL,
                  "cannot listen for notifications, so work is looked for now and then: %s",
                  error->message);
    else
        lane_watch(call->agent->control, agent_woken, call->agent);
    agent_schedule(call->agent);
    worker_call_free(call);
}

void agent_listen(struct agent *agent)
{
    struct worker_call *call = worker_call_new(agent);
    call->call.run = run_listen;
    call->call.done = listens;
    lane_push(agent->control, &call->call);
}

static bool run_register(struct lane_call *base, Store *store, GError **error)
{
    struct worker_call *call = (struct worker_call *)base;
    return store_register_worker(store, &call->info, &call->worker, error) &&
           bury_dead(call, store, error);
}

static void registered(struct lane_call *base, const GError *error)
{
    struct worker_call *call = (struct worker_call *)base;
    struct agent *agent = call->agent;
    agent->worker = call->worker;
    agent->beaten_us = g_get_monotonic_time();
    log_name_worker(call->worker);
    if (error) {
        agent_give_up(agent, "cannot register this worker: %s", error->message);
        agent_stop(agent);
    } else {
        log_write(LEVEL_INFO, "registered", NULL,
                  "worker %" G_GINT64_FORMAT " on %s: target %s, stack %s", (gint64)call->worker,
                  call->node, *call->target ? call->target : "none, it only builds",
                  *call->stack ? call->stack : "none");
    }
    agent_move(agent, agent->worker ? AGENT_REGISTERED : AGENT_NOT_REGISTERED);
    worker_call_free(call);
    agent_changed(agent);
}

void agent_register(struct agent *agent)
{
    struct worker_call *call = worker_call_new(agent);
    add_devices(call);
    call->call.run = run_register;
    call->call.done = registered;
    lane_push(agent->data, &call->call);
}

static bool run_list(struct lane_call *base, Store *store, GError **error)
{
    struct worker_call *call = (struct worker_call *)base;
    return store_register_worker(store, &call->info, &call->worker, error);
}

static void listed(struct lane_call *base, const GError *error)
{
    struct worker_call *call = (struct worker_call *)base;
    if (error)
        agent_log_failure(call->agent, "cannot say what this worker's devices are", error);
    agent_schedule(call->agent);
    worker_call_free(call);
}

void agent_list_devices(struct agent *agent)
{
    struct worker_call *call = worker_call_new(agent);
    add_devices(call);
    call->call.run = run_list;
    call->call.done = listed;
    lane_push(agent->data, &call->call);
}

/* The least time between two reports of this agent's counts, from which the database computes
 * the farm's rates. Unchanged counts are not reported again. */
#define REPORT_US (10 * G_USEC_PER_SEC)

static void add_report(struct worker_call *call, bool at_last)
{
    struct agent *agent = call->agent;
    struct farm_counts *counts = &call->counts;
    counts->jobs = (int64_t)agent->counts.jobs_ended;
    for (int i = 0; i < FAILURE_COUNT; i++) {
        counts->configs += (int64_t)agent->counts.configs[i];
        counts->failures[i] = (int64_t)agent->counts.configs[i];
        counts->kernels += (int64_t)agent->counts.kernels[i];
    }
    int64_t sum = counts->jobs + counts->configs + counts->kernels;
    gint64 now = g_get_monotonic_time();
    if (sum == agent->reported || (!at_last && now - agent->reported_us < REPORT_US))
        return;
    call->reports = true;
    agent->reported = sum;
    agent->reported_us = now;
}

static bool run_ended(struct lane_call *base, Store *store, GError **error)
{
    struct worker_call *call = (struct worker_call *)base;
    if (call->reports && !farm_report_worker(store, call->worker, &call->counts, error))
        return false;
    return store_worker_ended(store, call->worker, error);
}

static void ended(struct lane_call *base, const GError *error)
{
    struct worker_call *call = (struct worker_call *)base;
    struct agent *agent = call->agent;
    if (error)
        log_write(LEVEL_WARNING, "sign_off_failed", NULL, "cannot sign off: %s", error->message);
    agent->worker = 0;
    worker_call_free(call);
    agent_move(agent, AGENT_SIGNED_OFF);
    agent_schedule(agent);
}

void agent_sign_off(struct agent *agent)
{
    struct worker_call *call = worker_call_new(agent);
    add_report(call, true);
    call->call.run = run_ended;
    call->call.done = ended;
    lane_push(agent->data, &call->call);
}

static bool run_beat(struct lane_call *base, Store *store, GError **error)
{
    struct worker_call *call = (struct worker_call *)base;
    if (!store_heartbeat(store, call->worker, error) ||
        (call->reports && !farm_report_worker(store, call->worker, &call->counts, error)))
        return false;
    call->drains = store_drains(store);
    return true;
}

static void beaten(struct lane_call *base, const GError *error)
{
    struct worker_call *call = (struct worker_call *)base;
    if (error) {
        agent_log_failure(call->agent, "heartbeat", error);
    } else {
        call->agent->counts.heartbeats++;
        call->agent->beaten_us = g_get_monotonic_time();
    }
    if (call->drains)
        agent_drain(call->agent, DRAIN_ASKED);
    agent_schedule(call->agent);
    worker_call_free(call);
}

static void beat(struct agent *agent)
{
    agent->beat_us = g_get_monotonic_time();
    struct worker_call *call = worker_call_new(agent);
    add_report(call, false);
    call->call.run = run_beat;
    call->call.done = beaten;
    lane_push(agent->control, &call->call);
}

/* Whether a heartbeat may be sent: between registration and sign-off, and while no other
 * heartbeat is under way. */
static bool may_beat(const struct agent *agent)
{
    return (agent_is_working(agent) || agent->state == AGENT_STOPPING) && lane_idle(agent->control);
}

void agent_beat_soon(struct agent *agent)
{
    agent->beat_us = 0;
    if (may_beat(agent))
        beat(agent);
}

/* An idle worker has no lease to renew, so it sends only every third heartbeat, which shows that
 * it is alive. */
#define IDLE_BEATS 3

void agent_beat_due(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    gint64 now = g_get_monotonic_time();
    gint64 idle_us = (gint64)uv_timer_get_repeat(timer) * 1000 * IDLE_BEATS;
    if (!may_beat(agent))
        return;
    if (!agent_is_idle(agent) || now - agent->beat_us >= idle_us - idle_us / 10)
        beat(agent);
}

/* ---- why nothing is claimable ---- */

static bool run_refusals(struct lane_call *base, Store *store, GError **error)
{
    struct worker_call *call = (struct worker_call *)base;
    call->refusals =
        store_list_refusals(store, call->worker, call->agent->options->campaign, error);
    return call->refusals != NULL;
}

static void say_refusals(struct worker_call *call)
{
    for (guint i = 0; call->refusals && i < call->refusals->len; i++) {
        const struct refusal_row *row = g_ptr_array_index(call->refusals, i);
        const struct log_about about = {.campaign = row->campaign};
        g_autofree char *text =
            g_strdup_printf("campaign %" G_GINT64_FORMAT " does not admit this worker: %s",
                            (gint64)row->campaign, row->reason);
        if (g_hash_table_add(call->agent->refusals, g_strdup(text)))
            log_write(LEVEL_WARNING, "not_admitted", &about, "%s", text);
    }
}

static void refusals_known(struct lane_call *base, const GError *error)
{
    struct worker_call *call = (struct worker_call *)base;
    if (error)
        agent_log_failure(call->agent, "cannot ask which campaigns admit this worker", error);
    say_refusals(call);
    agent_schedule(call->agent);
    worker_call_free(call);
}

void agent_ask_refusals(struct agent *agent)
{
    struct worker_call *call = worker_call_new(agent);
    call->call.run = run_refusals;
    call->call.done = refusals_known;
    lane_push(agent->control, &call->call);
}

/* ---- --until-empty: whether other workers still hold jobs ---- */

static bool run_others(struct lane_call *base, Store *store, GError **error)
{
    struct worker_call *call = (struct worker_call *)base;
    g_autoptr(GPtrArray) workers = store_list_workers(store, NULL, error);
    if (!workers)
        return false;
    call->others_work = false;
    for (guint i = 0; i < workers->len; i++) {
        const struct worker_row *row = g_ptr_array_index(workers, i);
        call->others_work |= !row->ended && row->leases > 0 && row->id != call->worker;
    }
    if (call->cannot_build &&
        !(call->unbuilt = store_list_unbuilt(store, call->worker, call->agent->options->campaign,
                                             (const char *const *)call->cannot_build, error)))
        return false;
    return run_refusals(base, store, error);
}

static bool has_stored(const struct agent *agent)
{
    return agent->counts.stored[POOL_BUILD] > 0 || agent->counts.stored[POOL_EVAL] > 0;
}

/* Names the missing toolchain that kept this worker from building or measuring anything. NULL if
 * no toolchain is missing, or if this worker stored something. Claims alone would not show it:
 * campaigns that do not admit the worker, or whose kernels need an assembler, give it no job.
 * Free with g_free(). */
static char *lack_of_toolchain(const struct worker_call *call)
{
    struct agent *agent = call->agent;
    if (!call->unbuilt || has_stored(agent))
        return NULL;
    if (builder_refusal(agent->builder))
        return g_strdup(builder_refusal(agent->builder));
    if (call->unbuilt->len == 0)
        return NULL;
    const struct refusal_row *first = g_ptr_array_index(call->unbuilt, 0);
    return g_strdup_printf("no toolchain of this node builds for campaign %" G_GINT64_FORMAT ": %s",
                           (gint64)first->campaign, first->reason);
}

static void others_known(struct lane_call *base, const GError *error)
{
    struct worker_call *call = (struct worker_call *)base;
    struct agent *agent = call->agent;
    if (agent->state != AGENT_ASKING_OTHERS) {
        worker_call_free(call); /* the agent is stopping already: the answer is not needed */
        return;
    }
    agent_move(agent, AGENT_OTHERS_KNOWN);
    say_refusals(call);
    if (error)
        agent_give_up(agent, "cannot list the workers: %s", error->message);
    else if (!call->others_work && agent_is_idle(agent)) {
        g_autofree char *lack = lack_of_toolchain(call);
        if (lack)
            agent_give_up(agent, "nothing was built or measured: %s", lack);
        agent_stop(agent);
    }
    worker_call_free(call);
}

/* This program's solvers ("name:revision:hash") whose kernels this node's toolchains do not
 * build. */
static char **solvers_not_built(const struct agent *agent)
{
    g_autoptr(GStrvBuilder) pins = g_strv_builder_new();
    for (char **pin = agent->solvers; *pin; pin++)
        if (!g_strv_contains((const char *const *)agent->buildable, *pin))
            g_strv_builder_add(pins, *pin);
    return g_strv_builder_end(pins);
}

void agent_ask_others(struct agent *agent)
{
    struct worker_call *call = worker_call_new(agent);
    if (agent->options->build > 0 && !has_stored(agent))
        call->cannot_build = solvers_not_built(agent);
    call->call.run = run_others;
    call->call.done = others_known;
    lane_push(agent->data, &call->call);
}
