#include "worker/agent/eval/evaluator.h"

#include <string.h>

#include "worker/agent/agent_room.h"
#include "worker/agent/build/own_code.h"
#include "worker/agent/build/rebuild.h"
#include "worker/agent/eval/device_proof.h"
#include "worker/agent/eval/device_service.h"
#include "worker/agent/eval/eval_answers.h"
#include "worker/agent/eval/eval_request.h"
#include "worker/protocol/protocol.h"

#define FLUSH_MS    3000
/* Jobs whose code is fetched ahead. There are several since a GPU ends some jobs faster than
 * a claim takes. */
#define FETCH_AHEAD 4

/* ---- actions and table of the evaluator's state machine ---- */

static void want_proof_code(void *object, const void *detail)
{
    struct evaluator *evaluator = object;
    (void)detail;
    own_code_want(evaluator->agent, &evaluator->target, OWN_PROOF);
}

static void stop_child(void *object, const void *detail)
{
    (void)detail;
    evaluator_send_stop(object);
}

/* Most second measurements that one eval child does. */
#define FINALS_A_CHILD 16

static const struct state_machine_name states[] = {EVALUATOR_STATES(MACHINE_NAME)};
static const struct state_machine_name events[] = {EVALUATOR_EVENTS(MACHINE_NAME)};

#define ROW(state, event, next) MACHINE_ROW(EVALUATOR_##state, EVALUATOR_##event, EVALUATOR_##next)
#define ROW_DOES(state, event, next, action)                                                       \
    MACHINE_ROW_DOES(EVALUATOR_##state, EVALUATOR_##event, EVALUATOR_##next, action)

/* The eval child is started anew for a job, for a proof, or because its device is absent; each
 * new child opens the device again. */
static const struct state_machine_row rows[] = {
    ROW(OPENING, OPENED, IDLE),
    ROW_DOES(OPENING, LOST, AWAY, device_give_up),
    ROW(OPENING, STOP, STOPPED),
    ROW(IDLE, OPENED, IDLE),
    ROW(IDLE, TAKE, PREPARING),
    ROW_DOES(IDLE, LOST, AWAY, device_take_out),
    ROW(IDLE, STOP, STOPPED),
    ROW(PREPARING, OPENED, PREPARING),
    ROW(PREPARING, ASK, MEASURING),
    ROW_DOES(PREPARING, SUSPECT, PROOF_WANTED, want_proof_code),
    ROW(PREPARING, JOB_LEFT, IDLE),
    ROW_DOES(PREPARING, LOST, AWAY, device_take_out),
    ROW(PREPARING, STOP, STOPPED),
    ROW(MEASURING, OVER, PREPARING),
    ROW_DOES(MEASURING, STOP, FINISHING, stop_child),
    ROW(PROOF_WANTED, OPENED, PROOF_WANTED),
    ROW(PROOF_WANTED, SUSPECT, PROOF_WANTED),
    ROW(PROOF_WANTED, ASK_PROOF, PROVING),
    ROW(PROOF_WANTED, GO_ON, PREPARING),
    ROW_DOES(PROOF_WANTED, SICK, OUT, device_take_out),
    ROW_DOES(PROOF_WANTED, LOST, AWAY, device_take_out),
    ROW(PROOF_WANTED, STOP, STOPPED),
    ROW(PROVING, OVER, PROOF_WANTED),
    ROW(PROVING, SUSPECT, PROVING),
    ROW_DOES(PROVING, STOP, FINISHING_PROOF, stop_child),
    ROW(FINISHING, OVER, STOPPED),
    ROW(FINISHING_PROOF, OVER, STOPPED),
    ROW(STOPPED, OPENED, STOPPED),
    ROW(STOPPED, SUSPECT, STOPPED),
    ROW(STOPPED, JOB_LEFT, STOPPED),
    ROW(STOPPED, GO_ON, STOPPED),
    ROW_DOES(STOPPED, SICK, OUT, device_take_out),
    ROW_DOES(AWAY, OPENED, IDLE, device_return),
    ROW(AWAY, JOB_LEFT, AWAY),
    ROW(AWAY, STOP, OUT),
    ROW(OUT, OPENED, OUT),
    ROW(OUT, JOB_LEFT, OUT),
    ROW(OUT, STOP, OUT),
};

const struct state_machine evaluator_machine = MACHINE_INIT("evaluator", states, events, rows);

void evaluator_move(Evaluator *evaluator, enum evaluator_event event, const void *detail)
{
    const struct log_about about = {.device = evaluator->device};
    const struct state_machine_row *row = state_machine_move(
        &evaluator_machine, evaluator->device, &about, (int)evaluator->state, (int)event);
    evaluator->state = (enum evaluator_state)row->next;
    if (row->action)
        row->action(evaluator, detail);
}

bool evaluator_is_out(const Evaluator *evaluator)
{
    return evaluator->state == EVALUATOR_AWAY || evaluator->state == EVALUATOR_OUT;
}

bool evaluator_is_measuring(const Evaluator *evaluator)
{
    return evaluator->state == EVALUATOR_MEASURING || evaluator->state == EVALUATOR_FINISHING;
}

bool evaluator_is_proving(const Evaluator *evaluator)
{
    return evaluator->state == EVALUATOR_PROVING || evaluator->state == EVALUATOR_FINISHING_PROOF;
}

/* Whether the evaluator keeps its jobs, to begin them at once or after a proof. */
static bool keeps_jobs(const Evaluator *evaluator)
{
    return evaluator->state >= EVALUATOR_IDLE && evaluator->state <= EVALUATOR_PROVING;
}

/* ---- the child ---- */

void evaluator_start(struct evaluator *evaluator)
{
    const struct log_about about = {.device = evaluator->device};
    agent_clear_scratch(evaluator->agent, evaluator->folder);
    evaluator->needs_fresh_child = false;
    evaluator->has_searched = false;
    evaluator->finals_served = 0;
    log_write(LEVEL_DEBUG, "child_starts", &about, "the eval child starts");
    child_start(evaluator->child);
}

bool evaluator_has_child(const Evaluator *evaluator)
{
    return evaluator->open && child_is_up(evaluator->child) && !evaluator->needs_fresh_child;
}

bool evaluator_has_room(Evaluator *evaluator)
{
    if (agent_has_room(evaluator->agent))
        return true;
    evaluator->needs_fresh_child = true;
    return false;
}

/* ---- choosing what to do next ---- */

/* The evaluator with the most waiting jobs, among this node's evaluators of the same target and
 * stack. NULL if none of them can spare a job: an evaluator without a current job keeps its
 * first one. */
static struct evaluator *busiest_for(const struct evaluator *evaluator)
{
    const GPtrArray *all = evaluator->agent->evaluators;
    struct evaluator *busiest = NULL;
    for (guint i = 0; i < all->len; i++) {
        struct evaluator *other = all->pdata[i];
        unsigned spare = other->jobs.length - (other->jobs.length > 0 && !other->current);
        if (other != evaluator && spare > 0 &&
            strcmp(other->target.id, evaluator->target.id) == 0 &&
            g_strcmp0(other->stack, evaluator->stack) == 0 &&
            (!busiest || other->jobs.length > busiest->jobs.length))
            busiest = other;
    }
    return busiest;
}

/* Moves a waiting job from another device of this node to this idle one. A claim brings several
 * jobs, and the last jobs of a campaign may all wait for one device. */
static void take_from_others(struct evaluator *evaluator)
{
    if (!evaluator->queue_empty || evaluator->claiming)
        return;
    struct evaluator *other = busiest_for(evaluator);
    if (!other)
        return;
    struct eval_job *job = g_queue_pop_tail(&other->jobs);
    job->evaluator = evaluator;
    g_queue_push_tail(&evaluator->jobs, job);
    eval_job_fetch(job);
}

/* Releases waiting jobs whose campaign's deadline has passed. */
static void evaluator_release_overdue(struct evaluator *evaluator)
{
    for (GList *at = evaluator->jobs.head, *next; at; at = next) {
        struct eval_job *job = at->data;
        next = at->next;
        if (!work_is_overdue(&job->work))
            continue;
        g_queue_delete_link(&evaluator->jobs, at);
        eval_job_release(job);
    }
}

/* Whether the child may be asked for a final: it has searched nothing, so that nothing of a search is left in its memory
 * or on the device, and few finals came before. To start a process and to open a GPU takes as long as a final. */
static bool serves_finals(const struct evaluator *evaluator)
{
    return !evaluator->has_searched && evaluator->finals_served < FINALS_A_CHILD;
}

/* Returns the waiting job to do next. While a child does finals it is the first final that is ready; if no final is
 * ready, and otherwise, it is the first job. NULL if no job waits. */
static GList *next_job(const struct evaluator *evaluator)
{
    for (GList *at = evaluator->jobs.head;
         at && evaluator->finals_served > 0 && serves_finals(evaluator) &&
         evaluator_has_child(evaluator);
         at = at->next) {
        const struct eval_job *job = at->data;
        if (job->work.job->final && job->state == EVAL_JOB_READY)
            return at;
    }
    return evaluator->jobs.head;
}

/* Makes a waiting job the current one, if its code objects were fetched. */
static bool evaluator_take(struct evaluator *evaluator)
{
    evaluator_release_overdue(evaluator);
    if (!agent_may_eval(evaluator->agent))
        return false;
    if (!evaluator->jobs.head)
        take_from_others(evaluator);
    GList *next = next_job(evaluator);
    struct eval_job *job = next ? next->data : NULL;
    if (!job || job->state != EVAL_JOB_READY)
        return false;
    evaluator->current = job;
    g_queue_delete_link(&evaluator->jobs, next);
    evaluator_move(evaluator, EVALUATOR_TAKE, NULL);
    eval_job_move(job, EVAL_JOB_TAKE, NULL);
    return true;
}

static void evaluator_prepare(struct evaluator *evaluator)
{
    struct eval_job *job = evaluator->current;
    if (job->lost) {
        eval_job_release(job);
        return;
    }
    if (eval_job_pending_count(job) == 0) {
        eval_job_finish(job);
        return;
    }
    if (job->state == EVAL_JOB_CHECKING)
        rebuilds_begin(job);
    /* A kernel that cannot be rebuilt quarantines its config. That may have been the last fault
     * that the device was allowed, so the state is checked again. */
    if (evaluator->state != EVALUATOR_PREPARING || job->state != EVAL_JOB_RUNNING ||
        !agent_has_room(evaluator->agent) ||
        own_code_comes(evaluator->agent, &evaluator->target, OWN_JUDGE))
        return;
    if (job->work.job->final && !serves_finals(evaluator) && evaluator_has_child(evaluator)) {
        evaluator->needs_fresh_child = true;
        child_end(evaluator->child, 0);
    }
    if (evaluator_has_child(evaluator))
        eval_job_ask(job);
    else if (child_is_down(evaluator->child))
        evaluator_start(evaluator);
}

void evaluator_next(struct evaluator *evaluator)
{
    if (evaluator->state == EVALUATOR_STOPPED && evaluator->current) {
        eval_job_flush(evaluator->current);
        eval_job_release(evaluator->current);
    } else if (evaluator->state == EVALUATOR_PROOF_WANTED) {
        proof_pump(evaluator);
    } else if (evaluator->state == EVALUATOR_PREPARING ||
               (evaluator->state == EVALUATOR_IDLE && evaluator_take(evaluator))) {
        evaluator_prepare(evaluator);
    }
}

void evaluator_drop(struct evaluator *evaluator, const struct eval_job *job)
{
    if (evaluator->current != job)
        return;
    evaluator->current = NULL;
    evaluator_forget_kernels(evaluator);
    evaluator_move(evaluator, EVALUATOR_JOB_LEFT, NULL);
}

static void flush_due(uv_timer_t *timer)
{
    struct evaluator *evaluator = timer->data;
    if (evaluator->current && evaluator->current->flushes == 0)
        eval_job_flush(evaluator->current);
    device_look(evaluator);
}

static void eval_claimed(void *data, struct claimed *claimed)
{
    struct evaluator *evaluator = data;
    evaluator->claiming = false;
    evaluator->queue_empty = claimed->jobs->len == 0;
    while (claimed->jobs->len > 0) {
        struct eval_job *job = eval_job_new(evaluator, claimed);
        if (!keeps_jobs(evaluator))
            eval_job_release(job);
        else if (job->work.refusal)
            eval_job_fail(job, FAILURE_REFUSED_BY_CHECK, job->work.refusal);
        else
            g_queue_push_tail(&evaluator->jobs, job);
    }
    agent_schedule(evaluator->agent);
}

static void evaluator_claim(struct evaluator *evaluator)
{
    struct agent *agent = evaluator->agent;
    bool takes_jobs = evaluator->state >= EVALUATOR_IDLE && evaluator->state <= EVALUATOR_MEASURING;
    if (!agent_is_working(agent) || !agent_may_eval(agent) || !takes_jobs || evaluator->claiming ||
        evaluator->queue_empty || evaluator->jobs.length >= FETCH_AHEAD)
        return;
    evaluator->claiming = true;
    call_claim(agent, POOL_EVAL, evaluator->target.id, agent->options->batch, eval_claimed,
               evaluator);
}

void evaluator_pump(Evaluator *evaluator)
{
    GList *at = evaluator->jobs.head;
    evaluator_claim(evaluator);
    if (at)
        own_code_want(evaluator->agent, &evaluator->target, OWN_JUDGE);
    for (int i = 0; i < FETCH_AHEAD && at; i++, at = at->next)
        eval_job_fetch(at->data);
    if (agent_is_working(evaluator->agent))
        evaluator_next(evaluator);
}

/* ---- functions that the agent calls ---- */

void evaluator_open(Evaluator *evaluator)
{
    evaluator_start(evaluator);
}

const struct target *evaluator_target(const Evaluator *evaluator)
{
    return evaluator->known ? &evaluator->target : NULL;
}

const char *evaluator_stack(const Evaluator *evaluator)
{
    return evaluator->stack;
}

bool evaluator_has_settled(const Evaluator *evaluator)
{
    return evaluator->state != EVALUATOR_OPENING;
}

void evaluator_describe(Evaluator *evaluator, struct worker_device *device)
{
    evaluator->listed = evaluator->known;
    const struct device_identity *identity = &evaluator->identity;
    *device = (struct worker_device){
        .device = evaluator->device,
        .name = evaluator->name,
        .target = evaluator->target.id,
        .uuid = identity->uuid,
        .address = identity->address,
        .partition = identity->partition,
        .stack = evaluator->stack ? evaluator->stack : "",
    };
}

void evaluator_wake(Evaluator *evaluator)
{
    evaluator->queue_empty = false;
}

bool evaluator_empty(const Evaluator *evaluator)
{
    return evaluator->queue_empty || evaluator_is_out(evaluator);
}

bool evaluator_busy(const Evaluator *evaluator)
{
    return evaluator->claiming || evaluator->current || evaluator->jobs.head ||
           evaluator->ending_jobs > 0;
}

unsigned evaluator_jobs(const Evaluator *evaluator)
{
    return evaluator->jobs.length + (evaluator->current != NULL) + (unsigned)evaluator->ending_jobs;
}

void evaluator_stop(Evaluator *evaluator)
{
    struct eval_job *job;
    while ((job = g_queue_pop_head(&evaluator->jobs)))
        eval_job_release(job);
    evaluator_move(evaluator, EVALUATOR_STOP, NULL);
    evaluator_next(evaluator);
}

static void timer_closed(uv_handle_t *handle)
{
    g_free(handle);
}

static char **add_wish(char **environment, int lock_mhz)
{
    guint count = g_strv_length(environment);
    environment = g_renew(char *, environment, count + 2);
    environment[count] = g_strdup_printf(LOCK_CLOCKS_SETTING "=%d", lock_mhz);
    environment[count + 1] = NULL;
    return environment;
}

Evaluator *evaluator_new(struct agent *agent, const char *device)
{
    Evaluator *evaluator = g_new0(struct evaluator, 1);
    g_autofree char *name = g_strdup_printf("eval-%u", agent->evaluators->len);
    g_auto(GStrv) environment = agent_child_environment(agent, name);
    if (agent->options->lock_mhz > 0)
        environment = add_wish(environment, agent->options->lock_mhz);
    struct child_spec spec = {
        .role = "eval", .argument = device, .logged = true, .environment = environment};
    evaluator->agent = agent;
    evaluator->device = g_strdup(device);
    evaluator->name = g_strdup("");
    evaluator->folder = g_strdup(name);
    evaluator->child = child_new(&agent->loop, &spec, &evaluator_callbacks, evaluator);
    evaluator->in_flight = -1;
    evaluator->sent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    evaluator->asked_configs = g_hash_table_new(NULL, NULL);
    evaluator->asked_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    evaluator->asked_twins = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    evaluator->faulty = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    evaluator->blamed = g_array_new(FALSE, FALSE, sizeof(struct blamed));
    evaluator->twins = twins_new();
    g_queue_init(&evaluator->jobs);
    evaluator->flush = g_new0(uv_timer_t, 1);
    evaluator->flush->data = evaluator;
    uv_timer_init(&agent->loop, evaluator->flush);
    uv_timer_start(evaluator->flush, flush_due, FLUSH_MS, FLUSH_MS);
    return evaluator;
}

void evaluator_free(Evaluator *evaluator)
{
    if (!evaluator)
        return;
    uv_close((uv_handle_t *)evaluator->flush, timer_closed);
    child_free(evaluator->child);
    g_hash_table_unref(evaluator->sent);
    g_hash_table_unref(evaluator->asked_configs);
    g_hash_table_unref(evaluator->asked_names);
    g_hash_table_unref(evaluator->asked_twins);
    g_hash_table_unref(evaluator->faulty);
    g_array_unref(evaluator->blamed);
    twins_free(evaluator->twins);
    g_free(evaluator->device);
    g_free(evaluator->folder);
    g_free(evaluator->name);
    g_free(evaluator->other_device);
    g_free(evaluator->out_reason);
    g_free(evaluator->last_fault);
    g_free(evaluator->proof_failure);
    g_free(evaluator->stack);
    g_free(evaluator);
}
