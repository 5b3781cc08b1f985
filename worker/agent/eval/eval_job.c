#include "worker/agent/eval/eval_job.h"

#include "worker/agent/build/rebuild.h"
#include "worker/agent/eval/eval_request.h"
#include "worker/agent/eval/evaluator.h"

void eval_job_event(struct eval_job *job, const char *kind, const char *detail)
{
    struct log_about about = work_about(&job->work);
    g_autofree char *event = g_strdelimit(g_strdup(kind), " ", '_');
    about.device = job->evaluator->device;
    log_write(LEVEL_WARNING, event, &about, "%s: %s", kind, detail);
    call_event(job->evaluator->agent, kind, &job->work, detail);
}

/* ---- the job's code objects ---- */

static bool config_has_code(struct eval_job *job, int index)
{
    g_auto(GStrv) keys = g_strsplit(job->work.round->kernel_keys[index], ",", -1);
    for (char **key = keys; *key; key++) {
        const struct kernel_row *row = g_hash_table_lookup(job->kernels, *key);
        if (!row || !row->code)
            return false;
    }
    return keys[0] != NULL;
}

static void take_code(void *object, const void *detail)
{
    struct eval_job *job = object;
    job->kernels = g_hash_table_ref((GHashTable *)(uintptr_t)detail);
    for (int i = 0; i < job->work.round->config_count; i++)
        if (eval_job_is_pending(job, i) && !config_has_code(job, i))
            work_fail_config(&job->work, i, FAILURE_LOAD_ERROR,
                             "its code object is not in the store any more, or damaged");
    agent_schedule(job->evaluator->agent);
}

static void code_fetched(void *data, GHashTable *kernels)
{
    eval_job_move(data, EVAL_JOB_FETCHED, kernels);
}

static void fetch_code(void *object, const void *detail)
{
    struct eval_job *job = object;
    (void)detail;
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < job->work.round->config_count; i++) {
        g_auto(GStrv) parts = g_strsplit(job->work.round->kernel_keys[i], ",", -1);
        for (char **key = parts; eval_job_is_pending(job, i) && *key; key++)
            if (**key && g_hash_table_add(keys, g_strdup(*key)))
                g_ptr_array_add(list, g_strdup(*key));
    }
    call_load(job->evaluator->agent, list, job->work.job->campaign, code_fetched, job);
}

void eval_job_fetch(struct eval_job *job)
{
    if (job->state == EVAL_JOB_WAITING)
        eval_job_move(job, EVAL_JOB_FETCH, NULL);
}

static void note_begin(void *object, const void *detail)
{
    struct eval_job *job = object;
    (void)detail;
    job->began_us = g_get_monotonic_time();
}

/* ---- the job's outcomes ---- */

bool eval_job_is_pending(const struct eval_job *job, int index)
{
    return job->work.round->outcomes[index].failure == FAILURE_PENDING;
}

int eval_job_pending_count(const struct eval_job *job)
{
    int count = 0;
    for (int i = 0; i < job->work.round->config_count; i++)
        count += eval_job_is_pending(job, i);
    return count;
}

static void outcomes_stored(struct agent *agent, void *data, const GError *error)
{
    struct eval_job *job = data;
    job->flushes--;
    if (!error)
        return;
    agent_refused(agent, &job->work, error);
    if (agent_ends_job(error))
        return; /* the job ends when the database refuses its whole round, too */
    job->lost = true;
    if (job->evaluator->current == job)
        evaluator_send_stop(job->evaluator);
}

void eval_job_flush(struct eval_job *job)
{
    if (!job->dirty || eval_job_is_ending(job) || job->lost || job->work.job->final)
        return;
    job->dirty = false;
    job->flushes++;
    call_partial(job->evaluator->agent, &job->work, outcomes_stored, job);
}

/* ---- the end of the job's claim ---- */

bool eval_job_is_ending(const struct eval_job *job)
{
    return job->state >= EVAL_JOB_ENDING;
}

static void eval_job_answered(struct agent *agent, void *data, const GError *error)
{
    struct eval_job *job = data;
    bool is_refused = agent_ends_job(error) && job->state != EVAL_JOB_RELEASING;
    if (error && !is_refused && !job->lost)
        agent_refused(agent, &job->work, error);
    eval_job_move(job, is_refused ? EVAL_JOB_REFUSED : EVAL_JOB_ENDED, error);
}

/* The database finds the job's round impossible or cannot store it: fails the job with the
 * database's message. */
static void fail_refused(void *object, const void *detail)
{
    struct eval_job *job = object;
    const GError *error = detail;
    eval_job_event(job, "job refused", error->message);
    call_fail_job(job->evaluator->agent, &job->work, FAILURE_REFUSED_BY_CHECK, error->message,
                  eval_job_answered, job);
}

static void release_refused(void *object, const void *detail)
{
    struct eval_job *job = object;
    (void)detail;
    call_release_job(job->evaluator->agent, &job->work, eval_job_answered, job);
}

static void free_job(void *object, const void *detail)
{
    struct eval_job *job = object;
    struct agent *agent = job->evaluator->agent;
    (void)detail;
    job->evaluator->ending_jobs--;
    g_clear_pointer(&job->kernels, g_hash_table_unref);
    work_clear(&job->work);
    g_free(job->deaths);
    g_array_unref(job->suspects);
    g_ptr_array_unref(job->rebuilds);
    g_clear_pointer(&job->doubted, g_hash_table_unref);
    g_free(job->doubt_detail);
    g_free(job->pending_detail);
    g_free(job);
    agent_changed(agent);
}

static double eval_job_took(const struct eval_job *job)
{
    return job->began_us ? (double)(g_get_monotonic_time() - job->began_us) / 1e6 : 0;
}

/* Fills in how long the job had its device, and how long the device was busy. Returns false if
 * there is nothing to report: the device never took the job; the database gave the job away; or
 * the device is a CPU, whose kernels run on the worker's own cores. */
static bool eval_job_use(const struct eval_job *job, struct device_use *use)
{
    *use = (struct device_use){eval_job_took(job), job->busy_seconds};
    return !job->lost && job->began_us && job->evaluator->target.vendor != VENDOR_CPU;
}

static void eval_job_report_use(struct eval_job *job)
{
    struct device_use use;
    if (eval_job_use(job, &use))
        call_device_use(job->evaluator->agent, &job->work, &use);
}

static void leave_device(void *object, const void *detail)
{
    struct eval_job *job = object;
    (void)detail;
    rebuilds_withdraw(job);
    job->evaluator->ending_jobs++;
    evaluator_drop(job->evaluator, job);
}

void eval_job_release(struct eval_job *job)
{
    eval_job_report_use(job);
    eval_job_move(job, EVAL_JOB_END, NULL);
    if (job->lost)
        call_barrier(job->evaluator->agent, eval_job_answered, job);
    else
        call_release_job(job->evaluator->agent, &job->work, eval_job_answered, job);
}

void eval_job_finish(struct eval_job *job)
{
    struct agent *agent = job->evaluator->agent;
    g_autofree char *summary = work_summary(&job->work);
    struct device_use use;
    bool has_use = eval_job_use(job, &use);
    eval_job_move(job, EVAL_JOB_END, NULL);
    if (job->lost) {
        call_barrier(agent, eval_job_answered, job);
        return;
    }
    struct log_about about = work_about(&job->work);
    about.device = job->evaluator->device;
    log_write(LEVEL_INFO, "round_done", &about, "round %d: %s", job->work.round->number, summary);
    if (job->work.job->final) {
        call_final(agent, &job->work, eval_job_took(job), has_use ? &use : NULL, eval_job_answered,
                   job);
        return;
    }
    enum search_end end;
    bool more = work_more(&job->work, agent_best_ms(job->evaluator->agent, &job->work), &end);
    call_round(agent, &job->work, work_kept(&job->work), more, end, eval_job_took(job),
               has_use ? &use : NULL, eval_job_answered, job);
}

void eval_job_fail(struct eval_job *job, enum failure failure, const char *detail)
{
    eval_job_event(job, "job failed", detail);
    eval_job_report_use(job);
    eval_job_move(job, EVAL_JOB_END, NULL);
    call_fail_job(job->evaluator->agent, &job->work, failure, detail, eval_job_answered, job);
}

/* ---- the table of the job's state machine ---- */

static const struct state_machine_name states[] = {EVAL_JOB_STATES(MACHINE_NAME)};
static const struct state_machine_name events[] = {EVAL_JOB_EVENTS(MACHINE_NAME)};

#define ROW(state, event, next) MACHINE_ROW(EVAL_JOB_##state, EVAL_JOB_##event, EVAL_JOB_##next)
#define ROW_DOES(state, event, next, action)                                                       \
    MACHINE_ROW_DOES(EVAL_JOB_##state, EVAL_JOB_##event, EVAL_JOB_##next, action)

/* A job that ends while its code objects are fetched still gets that answer first: the data lane
 * keeps the order of calls. */
static const struct state_machine_row rows[] = {
    ROW_DOES(WAITING, FETCH, FETCHING, fetch_code),
    ROW_DOES(WAITING, END, ENDING, leave_device),
    ROW_DOES(FETCHING, FETCHED, READY, take_code),
    ROW_DOES(FETCHING, END, ENDING, leave_device),
    ROW_DOES(READY, TAKE, CHECKING, note_begin),
    ROW_DOES(READY, END, ENDING, leave_device),
    ROW(CHECKING, TRUST, RUNNING),
    ROW(CHECKING, REBUILD, REBUILDING),
    ROW_DOES(CHECKING, END, ENDING, leave_device),
    ROW(REBUILDING, REBUILT, RUNNING),
    ROW_DOES(REBUILDING, END, ENDING, leave_device),
    ROW(RUNNING, DOUBT, CHECKING),
    ROW_DOES(RUNNING, END, ENDING, leave_device),
    ROW(ENDING, FETCHED, ENDING),
    ROW_DOES(ENDING, ENDED, GONE, free_job),
    ROW_DOES(ENDING, REFUSED, FAILING, fail_refused),
    ROW_DOES(FAILING, ENDED, GONE, free_job),
    ROW_DOES(FAILING, REFUSED, RELEASING, release_refused),
    ROW_DOES(RELEASING, ENDED, GONE, free_job),
};

const struct state_machine eval_job_machine = MACHINE_INIT("eval job", states, events, rows);

void eval_job_move(struct eval_job *job, enum eval_job_event event, const void *detail)
{
    struct log_about about = work_about(&job->work);
    about.device = job->evaluator->device;
    const struct state_machine_row *row =
        state_machine_move(&eval_job_machine, NULL, &about, (int)job->state, (int)event);
    job->state = (enum eval_job_state)row->next;
    if (row->action)
        row->action(job, detail);
}

struct eval_job *eval_job_new(struct evaluator *evaluator, struct claimed *claimed)
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
