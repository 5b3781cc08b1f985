/*
 * The eval pool of one device: claimed jobs wait with their code at hand while
 * the eval child measures one of them. What was measured is never measured
 * again.
 */
#include "worker/agent/agent_eval.h"

#include <string.h>

#include "schema/store/store_workers.h"
#include "worker/agent/agent_proof.h"
#include "worker/agent/own_code.h"
#include "worker/agent/rebuild.h"
#include "worker/protocol/protocol.h"

#define FLUSH_MS    3000
#define FETCH_AHEAD 4 /* jobs whose code lies ready: a GPU ends some in less than a claim takes */

void eval_job_event(struct eval_job *job, const char *kind, const char *detail)
{
    struct log_about about = work_about(&job->work);
    g_autofree char *event = g_strdelimit(g_strdup(kind), " ", '_');
    about.device = job->evaluator->device;
    log_write(LEVEL_WARNING, event, &about, "%s: %s", kind, detail);
    call_event(job->evaluator->agent, kind, &job->work, detail);
}

/* ---- a job's end in this pool ---- */

static void eval_job_gone(struct agent *agent, void *data, const GError *error)
{
    struct eval_job *job = data;
    /* A round that the database finds impossible, or cannot store, ends its job with the database's words. */
    if (agent_ends_job(error) && !job->refused) {
        job->refused = true;
        eval_job_event(job, "job refused", error->message);
        call_fail_job(agent, &job->work, FAILURE_REFUSED_BY_CHECK, error->message, eval_job_gone,
                      job);
        return;
    }
    if (agent_ends_job(error) && !job->unstorable) {
        job->unstorable = true;
        call_release_job(agent, &job->work, eval_job_gone, job);
        return;
    }
    if (error && !job->lost)
        agent_refused(agent, &job->work, error);
    job->evaluator->leaving--;
    g_clear_pointer(&job->kernels, g_hash_table_unref);
    work_clear(&job->work);
    g_free(job->deaths);
    g_array_unref(job->suspects);
    g_ptr_array_unref(job->rebuilds);
    g_clear_pointer(&job->doubted, g_hash_table_unref);
    g_free(job->doubt_detail);
    g_free(job->verdict_detail);
    g_free(job);
    agent_changed(agent);
}

static double eval_job_took(const struct eval_job *job)
{
    return job->began_us ? (double)(g_get_monotonic_time() - job->began_us) / 1e6 : 0;
}

/* Of a CPU nothing is told: what it computes, its own cores do. */
static void eval_job_tell_use(struct eval_job *job)
{
    struct device_use use = {eval_job_took(job), job->busy_seconds};
    if (job->lost || !job->began_us || job->evaluator->target.vendor == VENDOR_CPU)
        return;
    call_device_use(job->evaluator->agent, &job->work, &use);
}

static void eval_job_leave(struct eval_job *job)
{
    g_assert(!job->leaving);
    eval_job_tell_use(job);
    job->leaving = true;
    rebuilds_withdraw(job);
    job->evaluator->leaving++;
    if (job->evaluator->current != job)
        return;
    job->evaluator->current = NULL;
    evaluator_forget_kernels(job->evaluator);
}

void eval_job_release(struct eval_job *job)
{
    eval_job_leave(job);
    if (job->lost)
        call_barrier(job->evaluator->agent, eval_job_gone, job);
    else
        call_release_job(job->evaluator->agent, &job->work, eval_job_gone, job);
}

void eval_job_finish(struct eval_job *job)
{
    struct agent *agent = job->evaluator->agent;
    g_autofree char *summary = work_summary(&job->work);
    eval_job_leave(job);
    if (job->lost) {
        call_barrier(agent, eval_job_gone, job);
        return;
    }
    struct log_about about = work_about(&job->work);
    about.device = job->evaluator->device;
    log_write(LEVEL_INFO, "round_done", &about, "round %d: %s", job->work.round->number, summary);
    call_round(agent, &job->work, work_kept(&job->work), work_more(&job->work), eval_job_took(job),
               eval_job_gone, job);
}

void eval_job_fail(struct eval_job *job, enum failure failure, const char *detail)
{
    eval_job_event(job, "job failed", detail);
    eval_job_leave(job);
    call_fail_job(job->evaluator->agent, &job->work, failure, detail, eval_job_gone, job);
}

/* ---- a job's outcomes ---- */

bool eval_job_pending(const struct eval_job *job, int index)
{
    return job->work.round->outcomes[index].failure == FAILURE_PENDING;
}

int eval_job_pending_count(const struct eval_job *job)
{
    int count = 0;
    for (int i = 0; i < job->work.round->config_count; i++)
        count += eval_job_pending(job, i);
    return count;
}

static void partial_stored(struct agent *agent, void *data, const GError *error)
{
    struct eval_job *job = data;
    job->flushing--;
    if (!error)
        return;
    agent_refused(agent, &job->work, error);
    if (agent_ends_job(error))
        return; /* the whole round ends the job */
    job->lost = true;
    if (job->evaluator->current == job)
        evaluator_send_stop(job->evaluator);
}

void eval_job_flush(struct eval_job *job)
{
    if (!job->dirty || job->leaving || job->lost)
        return;
    job->dirty = false;
    job->flushing++;
    call_partial(job->evaluator->agent, &job->work, partial_stored, job);
}

static void flush_due(uv_timer_t *timer)
{
    struct evaluator *evaluator = timer->data;
    if (evaluator->current && evaluator->current->flushing == 0)
        eval_job_flush(evaluator->current);
    evaluator_look(evaluator);
}

/* ---- the next thing to do ---- */

void evaluator_start(struct evaluator *evaluator)
{
    if (evaluator->spoiled)
        agent_clear_scratch(evaluator->agent, evaluator->folder);
    evaluator->spoiled = false;
    child_start(evaluator->child);
}

/* Jobs that wait for another device of this node, the more the better; one that nothing runs on begins its first
 * itself. */
static struct evaluator *laden_with_work_for(const struct evaluator *evaluator)
{
    const GPtrArray *all = evaluator->agent->evaluators;
    struct evaluator *laden = NULL;
    for (guint i = 0; i < all->len; i++) {
        struct evaluator *other = all->pdata[i];
        unsigned spare = other->jobs.length - (other->jobs.length > 0 && !other->current);
        if (other != evaluator && spare > 0 &&
            strcmp(other->target.id, evaluator->target.id) == 0 &&
            g_strcmp0(other->stack, evaluator->stack) == 0 &&
            (!laden || other->jobs.length > laden->jobs.length))
            laden = other;
    }
    return laden;
}

/* A claim brings several jobs, and the last of a campaign may all be one device's while others idle. */
static void take_from_others(struct evaluator *evaluator)
{
    if (!evaluator->known || !evaluator->empty || evaluator->claiming ||
        evaluator->service != IN_SERVICE)
        return;
    struct evaluator *other = laden_with_work_for(evaluator);
    if (!other)
        return;
    struct eval_job *job = g_queue_pop_tail(&other->jobs);
    job->evaluator = evaluator;
    g_queue_push_tail(&evaluator->jobs, job);
    eval_job_fetch(job);
}

/* Past its campaign's deadline a job is not begun. */
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

void evaluator_next(struct evaluator *evaluator)
{
    if (evaluator->asked)
        return;
    if (evaluator->stopping) {
        if (evaluator->current) {
            eval_job_flush(evaluator->current);
            eval_job_release(evaluator->current);
        }
        return;
    }
    if (evaluator->proof != PROOF_NONE) {
        proof_pump(evaluator);
        return;
    }
    if (!evaluator->current) {
        evaluator_release_overdue(evaluator);
        if (!evaluator->jobs.head && agent_may_eval(evaluator->agent))
            take_from_others(evaluator);
        struct eval_job *job = g_queue_peek_head(&evaluator->jobs);
        if (!job || !job->kernels || !agent_may_eval(evaluator->agent))
            return;
        evaluator->current = g_queue_pop_head(&evaluator->jobs);
        job->began_us = g_get_monotonic_time();
    }
    if (eval_job_pending_count(evaluator->current) == 0)
        eval_job_finish(evaluator->current);
    else if (!rebuilds_ready(evaluator->current) || !agent_has_room(evaluator->agent) ||
             own_code_comes(evaluator->agent, &evaluator->target, OWN_JUDGE))
        return;
    else if (evaluator->open && child_is_up(evaluator->child) && !evaluator->spoiled)
        eval_job_ask(evaluator->current);
    else if (child_is_down(evaluator->child))
        evaluator_start(evaluator);
}

static struct eval_job *eval_job_new(struct evaluator *evaluator, struct claimed *claimed)
{
    struct eval_job *job = g_new0(struct eval_job, 1);
    struct job *stored = g_ptr_array_steal_index(claimed->jobs, 0);
    job->evaluator = evaluator;
    job->suspects = g_array_new(FALSE, FALSE, sizeof(int));
    job->rebuilds = g_ptr_array_new();
    work_init(&job->work, stored, g_hash_table_lookup(claimed->targets, stored->target), POOL_EVAL,
              claimed->quarantine);
    struct round *round = job->work.round;
    if (job->work.refusal)
        return job;
    char *stack = agent_join_stacks(round->stack ? round->stack : "", evaluator->stack);
    g_free(round->stack);
    round->stack = stack;
    job->deaths = g_new0(guint8, MAX(round->config_count, 1));
    return job;
}

static void eval_claimed(void *data, struct claimed *claimed)
{
    struct evaluator *evaluator = data;
    evaluator->claiming = false;
    evaluator->empty = claimed->jobs->len == 0;
    while (claimed->jobs->len > 0) {
        struct eval_job *job = eval_job_new(evaluator, claimed);
        if (evaluator->stopping || evaluator->service != IN_SERVICE)
            eval_job_release(job);
        else if (job->work.refusal)
            eval_job_fail(job, FAILURE_REFUSED_BY_CHECK, job->work.refusal);
        else
            g_queue_push_tail(&evaluator->jobs, job);
    }
    agent_kick(evaluator->agent);
}

static void evaluator_claim(struct evaluator *evaluator)
{
    struct agent *agent = evaluator->agent;
    if (agent->state != AGENT_WORKING || !agent_may_eval(agent) || evaluator->claiming ||
        evaluator->empty || evaluator->stopping || evaluator->service != IN_SERVICE ||
        evaluator->proof != PROOF_NONE || evaluator->jobs.length >= FETCH_AHEAD)
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
    if (evaluator->agent->state == AGENT_WORKING)
        evaluator_next(evaluator);
}

/* ---- for the agent ---- */

void evaluator_open(Evaluator *evaluator)
{
    child_start(evaluator->child);
}

const struct target *evaluator_target(const Evaluator *evaluator)
{
    return evaluator->known ? &evaluator->target : NULL;
}

const char *evaluator_stack(const Evaluator *evaluator)
{
    return evaluator->stack;
}

bool evaluator_is_away(const Evaluator *evaluator)
{
    return evaluator->service == AWAY;
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
    evaluator->empty = false;
}

bool evaluator_empty(const Evaluator *evaluator)
{
    return evaluator->empty || evaluator->service != IN_SERVICE;
}

bool evaluator_busy(const Evaluator *evaluator)
{
    return evaluator->claiming || evaluator->current || evaluator->jobs.head ||
           evaluator->leaving > 0;
}

unsigned evaluator_jobs(const Evaluator *evaluator)
{
    return evaluator->jobs.length + (evaluator->current != NULL) + (unsigned)evaluator->leaving;
}

void evaluator_stop(Evaluator *evaluator)
{
    struct eval_job *job;
    evaluator->stopping = true;
    while ((job = g_queue_pop_head(&evaluator->jobs)))
        eval_job_release(job);
    if (evaluator->asked)
        evaluator_send_stop(evaluator);
    else
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
    evaluator->faulty = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    evaluator->condemned = g_array_new(FALSE, FALSE, sizeof(struct condemned));
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
    g_hash_table_unref(evaluator->faulty);
    g_array_unref(evaluator->condemned);
    twins_free(evaluator->twins);
    g_free(evaluator->device);
    g_free(evaluator->folder);
    g_free(evaluator->name);
    g_free(evaluator->became);
    g_free(evaluator->out_reason);
    g_free(evaluator->fault);
    g_free(evaluator->proof_failure);
    g_free(evaluator->stack);
    g_free(evaluator);
}
