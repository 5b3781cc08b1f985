#include "worker/agent/agent.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "solvers/problem/problem_key.h"
#include "worker/agent/agent_calls.h"
#include "worker/agent/agent_metrics.h"
#include "worker/agent/agent_row.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/build/own_code.h"
#include "worker/agent/eval/device_service.h"
#include "worker/agent/eval/evaluator.h"
#include "worker/agent/identity.h"

/* While nothing is claimable the worker pauses between claims. Each pause is twice the one
 * before, from PAUSE_FIRST_MS to the longest one below, and the wait is drawn from its upper
 * half, so that nodes started together drift apart. A worker with --until-empty has a shorter
 * longest pause: it waits for the jobs of other workers to end. */
#define PAUSE_FIRST_MS       1000
#define PAUSE_LAST_MS        32000
#define PAUSE_UNTIL_EMPTY_MS 4000

#define BEAT_MAX_SECONDS 5

/* How long a database call waits for an answer before it is repeated on a new connection. A
 * heartbeat waits a third of its lease, and at most BEAT_PATIENCE_MAX seconds, so that a
 * repeated heartbeat still comes before the lease ends. */
#define DATA_PATIENCE_SECONDS 120
#define BEAT_PATIENCE_MAX     30
/* An orderly end that waits for an absent database gives up after this time. */
#define PATIENCE_MS           60000

/* ---- which states allow work ---- */

bool agent_is_starting(const struct agent *agent)
{
    return agent->state <= AGENT_REGISTERING;
}

bool agent_is_working(const struct agent *agent)
{
    return agent->state == AGENT_WORKING || agent->state == AGENT_ASKING_OTHERS;
}

bool agent_is_ending(const struct agent *agent)
{
    return agent->state >= AGENT_STOPPING_EARLY;
}

bool agent_may_build(const struct agent *agent)
{
    return agent->turn != TURN_EVAL;
}

bool agent_may_eval(const struct agent *agent)
{
    return agent->turn != TURN_BUILD;
}

void agent_begin_turns(struct agent *agent)
{
    if (agent->turn == TURN_BOTH)
        agent->turn = TURN_EVAL;
}

static bool evaluators_any(const struct agent *agent, bool (*holds)(const Evaluator *evaluator))
{
    for (guint i = 0; i < agent->evaluators->len; i++)
        if (holds(g_ptr_array_index(agent->evaluators, i)))
            return true;
    return false;
}

static bool evaluators_all(const struct agent *agent, bool (*holds)(const Evaluator *evaluator))
{
    for (guint i = 0; i < agent->evaluators->len; i++)
        if (!holds(g_ptr_array_index(agent->evaluators, i)))
            return false;
    return true;
}

static bool agent_busy(const struct agent *agent)
{
    return builder_busy(agent->builder) || evaluators_any(agent, evaluator_busy);
}

bool agent_is_idle(const struct agent *agent)
{
    return !agent_busy(agent) && builder_empty(agent->builder) &&
           evaluators_all(agent, evaluator_empty);
}

static void agent_wake_pools(struct agent *agent)
{
    builder_wake(agent->builder);
    for (guint i = 0; i < agent->evaluators->len; i++)
        evaluator_wake(g_ptr_array_index(agent->evaluators, i));
}

void agent_changed(struct agent *agent)
{
    agent_wake_pools(agent);
    agent_schedule(agent);
}

/* On a CPU target the build pool and the eval pool take turns. A turn ends when its pool has no
 * work left, or when the build pool has built AGENT_BUILD_AHEAD jobs. The eval pool has the
 * first turn, so that a worker that is restarted again and again still stores results of the
 * kernels that are built already. */
static void agent_take_turns(struct agent *agent)
{
    if (agent->turn == TURN_BOTH || agent_is_idle(agent))
        return;
    if (agent->turn == TURN_BUILD && !builder_busy(agent->builder) &&
        (builder_empty(agent->builder) || builder_full(agent->builder))) {
        agent->turn = TURN_EVAL;
    } else if (agent->turn == TURN_EVAL && !evaluators_any(agent, evaluator_busy) &&
               evaluators_all(agent, evaluator_empty)) {
        agent->turn = TURN_BUILD;
        builder_turn(agent->builder);
    }
}

char *agent_join_stacks(const char *first, const char *second)
{
    if (*second == '\0' || strstr(first, second))
        return g_strdup(first);
    if (*first == '\0' || strstr(second, first))
        return g_strdup(second);
    return g_strdup_printf("%s; %s", first, second);
}

/* ---- the best time of each problem ---- */

static char *best_key(const struct work *work)
{
    char key[PROBLEM_KEY_MAX];
    return g_strdup_printf("%" G_GINT64_FORMAT " %s", work->job->campaign,
                           problem_key(&work->job->problem, key));
}

double agent_best_ms(struct agent *agent, const struct work *work)
{
    g_autofree char *key = best_key(work);
    const double *noted = g_hash_table_lookup(agent->best_ms, key);
    double times[] = {work->job->best_ms, work_best_ms(work), noted ? *noted : 0};
    double best = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
        if (times[i] > 0 && (best <= 0 || times[i] < best))
            best = times[i];
    return best;
}

void agent_note_best(struct agent *agent, const struct work *work, double ms)
{
    double best = agent_best_ms(agent, work);
    if (ms > 0 && (best <= 0 || ms <= best))
        g_hash_table_replace(agent->best_ms, best_key(work), g_memdup2(&ms, sizeof(ms)));
}

void agent_forget_best(struct agent *agent, const struct work *work)
{
    g_autofree char *key = best_key(work);
    g_hash_table_remove(agent->best_ms, key);
}

/* ---- ending ---- */

static void patience_over(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    if (!lane_lost(agent->data) && !lane_lost(agent->control))
        return;
    log_write(LEVEL_ERROR, "database_given_up", NULL,
              "the database did not come back: this worker ends, and its leases run out");
    identity_remove_scratch(agent->scratch);
    _exit(1);
}

static void stop_pools(void *object, const void *detail)
{
    struct agent *agent = object;
    (void)detail;
    builder_stop(agent->builder);
    for (guint i = 0; i < agent->evaluators->len; i++)
        evaluator_stop(g_ptr_array_index(agent->evaluators, i));
    uv_timer_start(&agent->patience, patience_over, PATIENCE_MS, PATIENCE_MS);
    agent_schedule(agent);
}

void agent_stop(struct agent *agent)
{
    if (!agent_is_ending(agent))
        agent_move(agent, AGENT_STOP);
}

void agent_log_failure(struct agent *agent, const char *what, const GError *error)
{
    unsigned left_out;
    if (!log_due(&agent->failures, &left_out))
        return;
    g_autofree char *more =
        left_out ? g_strdup_printf(" (and %u more such failures)", left_out) : g_strdup("");
    log_write(LEVEL_WARNING, "call_failed", NULL, "%s: %s%s", what, error->message, more);
}

void agent_give_up(struct agent *agent, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (agent->exit_status == 0)
        log_write(LEVEL_ERROR, "worker_failed", NULL, "%s", text);
    if (agent->exit_status == 0 && agent->worker && agent->data)
        call_event(agent, "worker failed", NULL, text);
    agent->exit_status = 1;
    agent_schedule(agent);
}

bool agent_ends_job(const GError *error)
{
    return g_error_matches(error, STORE_ERROR, STORE_ERROR_REFUSED) ||
           g_error_matches(error, STORE_ERROR, STORE_ERROR_QUERY) ||
           g_error_matches(error, STORE_ERROR, STORE_ERROR_DAMAGED);
}

void agent_refused(struct agent *agent, const struct work *work, const GError *error)
{
    struct log_about about = work ? work_about(work) : (struct log_about){0};
    if (g_error_matches(error, STORE_ERROR, STORE_ERROR_FENCE) ||
        g_error_matches(error, STORE_ERROR, STORE_ERROR_STATE) ||
        g_error_matches(error, STORE_ERROR, STORE_ERROR_NOT_FOUND))
        log_write(LEVEL_WARNING, "result_refused", &about, "its result is not wanted any more: %s",
                  error->message);
    else if (g_error_matches(error, STORE_ERROR, STORE_ERROR_REFUSED))
        log_write(LEVEL_WARNING, "refused_by_check", &about, "%s", error->message);
    else if (agent_ends_job(error))
        log_write(LEVEL_ERROR, "call_failed", &about, "%s: %s",
                  work ? work->job->solver : "a kernel", error->message);
    else
        agent_give_up(agent, "%s: %s", work ? work->job->solver : "a kernel", error->message);
}

void agent_drain(struct agent *agent, const char *why)
{
    if (agent_is_ending(agent))
        return;
    log_write(LEVEL_INFO, "drain", NULL,
              "%s: what is being measured is finished, the rest released", why);
    agent_stop(agent);
}

static void close_timer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

/* Closes the agent's timers and signal handles; uv_run() returns when the last one is closed. */
static void close_all(void *object, const void *detail)
{
    struct agent *agent = object;
    (void)detail;
    g_clear_pointer(&agent->builder, builder_free);
    g_ptr_array_set_size(agent->evaluators, 0);
    g_clear_pointer(&agent->data, lane_free);
    g_clear_pointer(&agent->control, lane_free);
    close_timer(&agent->wake);
    close_timer(&agent->poll);
    close_timer(&agent->beat);
    close_timer(&agent->patience);
    close_timer(&agent->window);
    close_timer(&agent->room);
    g_clear_pointer(&agent->monitor, http_server_close);
    signal_watch_close(&agent->signals);
}

void agent_count_death(struct agent *agent, enum pool pool, const struct child_death *death)
{
    bool well = death->end == CHILD_EXITED && death->code == 0;
    if (!agent_is_ending(agent) && !well)
        agent->counts.child_ends[pool][death->end]++;
}

/* ---- actions and table of the agent's state machine ---- */

static void enter_row(void *object, const void *detail)
{
    (void)detail;
    agent_register(object);
}

static void begin_work(void *object, const void *detail)
{
    struct agent *agent = object;
    (void)detail;
    agent_listen(agent);
    for (guint i = 0; i < agent->evaluators->len; i++)
        device_enter(agent->evaluators->pdata[i]);
}

static void ask_others(void *object, const void *detail)
{
    (void)detail;
    agent_ask_others(object);
}

static void sign_off(void *object, const void *detail)
{
    (void)detail;
    agent_sign_off(object);
}

static const struct state_machine_name states[] = {AGENT_STATES(MACHINE_NAME)};
static const struct state_machine_name events[] = {AGENT_EVENTS(MACHINE_NAME)};

#define ROW(state, event, next) MACHINE_ROW(AGENT_##state, AGENT_##event, AGENT_##next)
#define ROW_DOES(state, event, next, action)                                                       \
    MACHINE_ROW_DOES(AGENT_##state, AGENT_##event, AGENT_##next, action)

static const struct state_machine_row rows[] = {
    ROW_DOES(OPENING, OPENED, REGISTERING, enter_row),
    ROW_DOES(OPENING, STOP, CLOSING, stop_pools),
    ROW_DOES(REGISTERING, REGISTERED, WORKING, begin_work),
    ROW_DOES(REGISTERING, STOP, STOPPING_EARLY, stop_pools),
    ROW_DOES(WORKING, QUEUE_EMPTY, ASKING_OTHERS, ask_others),
    ROW_DOES(WORKING, STOP, STOPPING, stop_pools),
    ROW(ASKING_OTHERS, OTHERS_KNOWN, WORKING),
    ROW_DOES(ASKING_OTHERS, STOP, STOPPING, stop_pools),
    ROW(STOPPING_EARLY, REGISTERED, STOPPING),
    ROW(STOPPING_EARLY, NOT_REGISTERED, CLOSING),
    ROW_DOES(STOPPING, JOBS_GONE, SIGNING_OFF, sign_off),
    ROW(SIGNING_OFF, SIGNED_OFF, CLOSING),
    ROW_DOES(CLOSING, CALLS_OVER, ENDED, close_all),
};

const struct state_machine agent_machine = MACHINE_INIT("agent", states, events, rows);

void agent_move(struct agent *agent, enum agent_event event)
{
    const struct state_machine_row *row =
        state_machine_move(&agent_machine, NULL, NULL, (int)agent->state, (int)event);
    agent->state = (enum agent_state)row->next;
    if (row->action)
        row->action(agent, NULL);
}

/* ---- the scheduler ---- */

const Evaluator *agent_first_open(const struct agent *agent)
{
    for (guint i = 0; i < agent->evaluators->len; i++)
        if (evaluator_target(g_ptr_array_index(agent->evaluators, i)))
            return g_ptr_array_index(agent->evaluators, i);
    return NULL;
}

static bool on_a_cpu(const Evaluator *evaluator)
{
    const struct target *target = evaluator_target(evaluator);
    return target && target->vendor == VENDOR_CPU;
}

int agent_build_beside(int build, int gpus)
{
    return gpus == 0 ? build : MAX(build - gpus - 1, MIN(build, 1));
}

static int count_gpus(const struct agent *agent)
{
    int gpus = 0;
    for (guint i = 0; i < agent->evaluators->len; i++)
        gpus += !on_a_cpu(g_ptr_array_index(agent->evaluators, i));
    return gpus;
}

static bool has_assembly(const struct solver *solver)
{
    for (const char *const *source = solver->sources; *source; source++)
        if (program_kind_of(*source) == PROGRAM_ASSEMBLY)
            return true;
    return false;
}

static char **carried_solvers(bool with_assembly)
{
    g_autoptr(GStrvBuilder) solvers = g_strv_builder_new();
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        g_autofree char *name =
            g_strdup_printf("%s:%d:%s", solver->name, solver->revision, solver_hash(solver));
        if (with_assembly || !has_assembly(solver))
            g_strv_builder_add(solvers, name);
    }
    return g_strv_builder_end(solvers);
}

/* Removes from the solvers that this worker claims the ones whose kernels are assembly, if the
 * node has no assembler: their jobs would end as compile errors here, and other nodes can build
 * them. */
static void agent_learn_buildable(struct agent *agent)
{
    bool only_compiles = toolchain_stack_only_compiles(builder_stack(agent->builder));
    agent->buildable = carried_solvers(!only_compiles);
    if (only_compiles)
        log_write(LEVEL_WARNING, "no_assembler", NULL,
                  "no toolchain here assembles for AMD's GPUs: solvers whose kernels are assembly "
                  "are left to nodes that have clang");
}

static void schedule_opening(struct agent *agent)
{
    if (!builder_stack(agent->builder) || !evaluators_all(agent, evaluator_has_settled))
        return;
    if (agent->options->build > 0 && evaluators_any(agent, on_a_cpu))
        agent_begin_turns(agent);
    if (agent->options->spare_cores)
        builder_limit(agent->builder, agent_build_beside(agent->options->build, count_gpus(agent)));
    if (!agent->buildable)
        agent_learn_buildable(agent);
    agent_move(agent, AGENT_OPENED);
}

static void poll_due(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    agent_changed(agent);
}

/* The next claim comes after a pause that grows, or when the database notifies this worker. */
static void agent_rest(struct agent *agent)
{
    unsigned longest = agent->options->until_empty ? PAUSE_UNTIL_EMPTY_MS : PAUSE_LAST_MS;
    agent->pause_ms = MIN(MAX(agent->pause_ms * 2, PAUSE_FIRST_MS), longest);
    unsigned half = agent->pause_ms / 2;
    uint64_t ms = half + (unsigned)g_random_int_range(0, (gint32)half + 1);
    uv_timer_start(&agent->poll, poll_due, ms, 0);
}

void agent_woken(void *data, bool drains)
{
    struct agent *agent = data;
    if (!agent_is_working(agent))
        return;
    /* Any login of the database can send this notification, so it only triggers a heartbeat
     * early: the worker drains if the database's answer to the heartbeat says so. */
    if (drains) {
        agent_beat_soon(agent);
        return;
    }
    agent->pause_ms = 0;
    uv_timer_stop(&agent->poll);
    agent_changed(agent);
}

static void schedule_working(struct agent *agent)
{
    agent_take_turns(agent);
    builder_pump(agent->builder);
    for (guint i = 0; i < agent->evaluators->len; i++)
        evaluator_pump(g_ptr_array_index(agent->evaluators, i));
    if (!agent_is_idle(agent) || uv_is_active((uv_handle_t *)&agent->poll))
        return;
    if (!agent->options->until_empty)
        agent_ask_refusals(agent);
    else if (agent->state == AGENT_WORKING)
        agent_move(agent, AGENT_QUEUE_EMPTY);
    if (agent->turn == TURN_BUILD)
        agent->turn = TURN_EVAL;
    agent_rest(agent);
}

static void schedule_stopping(struct agent *agent)
{
    if (!agent_busy(agent))
        agent_move(agent, AGENT_JOBS_GONE);
}

static void schedule_closing(struct agent *agent)
{
    if (lane_idle(agent->data) && lane_idle(agent->control))
        agent_move(agent, AGENT_CALLS_OVER);
}

static void scheduled(uv_timer_t *timer)
{
    static void (*const schedule[])(struct agent * agent) = {
        [AGENT_OPENING] = schedule_opening,       [AGENT_WORKING] = schedule_working,
        [AGENT_ASKING_OTHERS] = schedule_working, [AGENT_STOPPING] = schedule_stopping,
        [AGENT_CLOSING] = schedule_closing,       [AGENT_ENDED] = NULL,
    };
    struct agent *agent = timer->data;
    if (agent->exit_status != 0)
        agent_stop(agent);
    if (schedule[agent->state])
        schedule[agent->state](agent);
}

void agent_schedule(struct agent *agent)
{
    if (agent->state != AGENT_ENDED)
        uv_timer_start(&agent->wake, scheduled, 0, 0);
}

static void signalled(uv_signal_t *handle, int number)
{
    struct agent *agent = handle->data;
    /* A terminal that closes sends SIGHUP twice, once by the kernel and once by the shell. */
    if (agent_is_ending(agent) && number == SIGHUP)
        return;
    if (agent_is_ending(agent)) {
        log_write(LEVEL_WARNING, "end_at_once", NULL, "ending at once");
        identity_remove_scratch(agent->scratch);
        _exit(128 + number);
    }
    agent_drain(agent, "stopping");
}

/* How often the time of day is compared with --drain-at: a timer over the whole time would miss
 * changes of the clock. */
#define WINDOW_MS 5000

static void window_due(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    if (g_get_real_time() / G_USEC_PER_SEC >= agent->options->drain_unix)
        agent_drain(agent, "the time of --drain-at has come");
}

static void agent_open_window(struct agent *agent)
{
    int64_t left_ms = agent->options->drain_unix * 1000 - g_get_real_time() / 1000;
    if (agent->options->drain_unix > 0)
        uv_timer_start(&agent->window, window_due, (uint64_t)CLAMP(left_ms, 0, WINDOW_MS),
                       left_ms < WINDOW_MS ? 1000 : WINDOW_MS);
}

/* ---- setting up ---- */

char **agent_child_environment(const struct agent *agent, const char *name)
{
    char **environment = g_new0(char *, 2);
    environment[0] = g_strdup_printf("SKIPJACK_SCRATCH=%s/%s", agent->scratch, name);
    return environment;
}

static void timer_init(struct agent *agent, uv_timer_t *timer)
{
    uv_timer_init(&agent->loop, timer);
    timer->data = agent;
}

double agent_beat_seconds(const struct agent *agent)
{
    return MIN(agent->options->lease_seconds / 4, BEAT_MAX_SECONDS);
}

static void agent_init_handles(struct agent *agent)
{
    uv_timer_t *timers[] = {&agent->wake,     &agent->poll,   &agent->beat,
                            &agent->patience, &agent->window, &agent->room};
    for (size_t i = 0; i < G_N_ELEMENTS(timers); i++)
        timer_init(agent, timers[i]);
    uint64_t beat_ms = (uint64_t)(agent_beat_seconds(agent) * 1000);
    uv_timer_start(&agent->beat, agent_beat_due, beat_ms, beat_ms);
    agent_open_window(agent);
    signal_watch_start(&agent->signals, &agent->loop, signalled, agent);
}

static void evaluator_destroy(gpointer evaluator)
{
    evaluator_free(evaluator);
}

static void agent_init_pools(struct agent *agent, const char *url, bool embedded)
{
    struct lane_spec data = {.url = url,
                             .embedded = embedded,
                             .patience_seconds = DATA_PATIENCE_SECONDS,
                             .speaks = true};
    struct lane_spec control = {.url = url,
                                .embedded = embedded,
                                .patience_seconds =
                                    CLAMP(agent->options->lease_seconds / 3, 2, BEAT_PATIENCE_MAX)};
    agent->data = lane_new(&agent->loop, &data);
    agent->control = lane_new(&agent->loop, &control);
    agent->builder = builder_new(agent, agent->options->build);
    agent->evaluators = g_ptr_array_new_with_free_func(evaluator_destroy);
    for (char **device = agent->options->devices; *device; device++)
        g_ptr_array_add(agent->evaluators, evaluator_new(agent, *device));
}

static void agent_clear(struct agent *agent)
{
    g_ptr_array_unref(agent->evaluators);
    g_hash_table_unref(agent->best_ms);
    g_hash_table_unref(agent->own_codes);
    g_hash_table_unref(agent->refusals);
    g_strfreev(agent->solvers);
    g_strfreev(agent->buildable);
    identity_remove_scratch(agent->scratch);
    g_free(agent->scratch);
    g_free(agent->node);
    g_free(agent->process);
}

int agent_run(const struct agent_options *options, const char *url, bool embedded)
{
    g_autoptr(GError) error = NULL;
    struct agent agent = {.options = options, .began_us = g_get_real_time()};
    agent.scratch = identity_make_scratch(&error);
    if (!agent.scratch) {
        log_write(LEVEL_ERROR, "worker_failed", NULL, "%s", error->message);
        return 1;
    }
    agent.node = identity_node();
    log_name_node(agent.node);
    agent.process = identity_process();
    agent.solvers = carried_solvers(true);
    agent.refusals = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    agent.own_codes = own_codes_new();
    agent.best_ms = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    /* Writing to a dead child's pipe then returns an error instead of killing the agent. */
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&agent.loop);
    agent_init_handles(&agent);
    agent_init_pools(&agent, url, embedded);
    if (agent_open_monitor(&agent, &error)) {
        for (guint i = 0; i < agent.evaluators->len; i++)
            evaluator_open(g_ptr_array_index(agent.evaluators, i));
    } else {
        agent_give_up(&agent, "%s", error->message);
    }
    agent_schedule(&agent);
    uv_run(&agent.loop, UV_RUN_DEFAULT);
    uv_loop_close(&agent.loop);
    agent_clear(&agent);
    return agent.exit_status;
}
