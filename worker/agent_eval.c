/*
 * The eval pool of one device: claimed jobs wait with their code at hand while
 * the eval child measures one of them. A config that takes the child with it
 * is tried once more, alone, in a fresh child; then it is quarantined. What was
 * measured is never measured again.
 */
#include <string.h>

#include "solvers/problem_key.h"
#include "worker/agent_calls.h"
#include "worker/target_json.h"

#define CONFIG_LIVES         2 /* a config whose child dies that often is the reason */
#define BARREN_DEATHS        3 /* deaths in a row, with no config in flight, that fail a job */
#define OPEN_ATTEMPTS        5 /* deaths in a row before a hello that end the agent */
#define OPEN_TIMEOUT_SECONDS 60
#define STOP_GRACE_SECONDS   2
#define FLUSH_MS             3000
#define FETCH_AHEAD          2 /* jobs whose code lies ready */
#define SLOWEST_FLOPS        1e8 /* below this a run hangs: a slow CPU core does fifty times as much */
#define RUNS_AT_LEAST        8    /* of a config: warm-up, repeats, verification */
#define ERROR_MAX            1e12 /* of a wrong result: more says nothing more */
#define DETAIL_MAX           2000

struct eval_job {
    struct work work;
    Evaluator *evaluator;
    GHashTable *kernels; /* key -> struct kernel_row *, NULL until fetched */
    bool fetching;
    guint8 *deaths; /* a config: children it took with it */
    int barren;     /* deaths in a row with no config in flight */
    bool dirty;     /* outcomes that are not flushed */
    int flushing;   /* flushes under way */
    bool lost;      /* the database gave the job to somebody else */
    bool leaving;
    gint64 began_us;
    double slowest_seconds; /* deadline of a config */
};

struct evaluator {
    struct agent *agent;
    char *device;
    Child *child;
    bool open; /* this child said hello */
    bool known;
    struct target target;
    char *stack;
    int failed_opens;
    GQueue jobs; /* struct eval_job *: claimed, waiting */
    struct eval_job *current;
    int leaving; /* jobs whose last call is under way */
    bool claiming, empty, stopping;
    bool asked;                /* an evaluate request is under way */
    GHashTable *asked_configs; /* indices of that request */
    int in_flight;             /* config that was begun, or -1 */
    json_int_t request;
    GHashTable *sent; /* keys the child holds */
    uv_timer_t *flush;
};

static void evaluator_next(struct evaluator *evaluator);

static void job_event(struct eval_job *job, const char *kind, const char *detail)
{
    agent_log("%s: %s: %s", job->work.name, kind, detail);
    call_event(job->evaluator->agent, kind, &job->work, detail);
}

/* ---- a job's end in this pool ---- */

static void eval_job_gone(struct agent *agent, void *data, const GError *error)
{
    struct eval_job *job = data;
    if (error && !job->lost)
        agent_refused(agent, job->work.name, error);
    job->evaluator->leaving--;
    g_clear_pointer(&job->kernels, g_hash_table_unref);
    work_clear(&job->work);
    g_free(job->deaths);
    g_free(job);
    agent_changed(agent);
}

static void forget_kernels(struct evaluator *evaluator)
{
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init(&iter, evaluator->sent);
    while (child_is_up(evaluator->child) && g_hash_table_iter_next(&iter, &key, NULL)) {
        json_t *head = json_pack("{s:s, s:s}", "op", "forget", "key", key);
        child_send(evaluator->child, head, NULL);
        json_decref(head);
    }
    g_hash_table_remove_all(evaluator->sent);
}

static void eval_job_leave(struct eval_job *job)
{
    g_assert(!job->leaving);
    job->leaving = true;
    job->evaluator->leaving++;
    if (job->evaluator->current != job)
        return;
    job->evaluator->current = NULL;
    forget_kernels(job->evaluator);
}

static void eval_job_release(struct eval_job *job)
{
    eval_job_leave(job);
    if (job->lost)
        call_barrier(job->evaluator->agent, eval_job_gone, job);
    else
        call_release_job(job->evaluator->agent, &job->work, eval_job_gone, job);
}

static double eval_job_seconds(const struct eval_job *job)
{
    return job->began_us ? (double)(g_get_monotonic_time() - job->began_us) / 1e6 : 0;
}

static void eval_job_finish(struct eval_job *job)
{
    struct agent *agent = job->evaluator->agent;
    g_autofree char *summary = work_summary(&job->work);
    eval_job_leave(job);
    if (job->lost) {
        call_barrier(agent, eval_job_gone, job);
        return;
    }
    agent_log("%s: round %d: %s", job->work.name, job->work.round->number, summary);
    call_round(agent, &job->work, work_kept(&job->work), work_more(&job->work),
               eval_job_seconds(job), eval_job_gone, job);
}

static void eval_job_fail(struct eval_job *job, enum failure failure, const char *detail)
{
    job_event(job, "job failed", detail);
    eval_job_leave(job);
    call_fail_job(job->evaluator->agent, &job->work, failure, detail, eval_job_gone, job);
}

/* ---- code ---- */

static bool config_pending(const struct eval_job *job, int index)
{
    return job->work.round->outcomes[index].failure == FAILURE_PENDING;
}

static int pending_count(const struct eval_job *job)
{
    int count = 0;
    for (int i = 0; i < job->work.round->config_count; i++)
        count += config_pending(job, i);
    return count;
}

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

static void eval_job_fetched(void *data, GHashTable *kernels)
{
    struct eval_job *job = data;
    job->fetching = false;
    job->kernels = g_hash_table_ref(kernels);
    if (job->leaving)
        return;
    for (int i = 0; i < job->work.round->config_count; i++)
        if (config_pending(job, i) && !config_has_code(job, i))
            work_fail_config(&job->work, i, FAILURE_LOAD_ERROR,
                             "its code object is not in the database any more");
    agent_kick(job->evaluator->agent);
}

static void eval_job_fetch(struct eval_job *job)
{
    if (job->fetching || job->kernels)
        return;
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < job->work.round->config_count; i++) {
        g_auto(GStrv) parts = g_strsplit(job->work.round->kernel_keys[i], ",", -1);
        for (char **key = parts; config_pending(job, i) && *key; key++)
            if (**key && g_hash_table_add(keys, g_strdup(*key)))
                g_ptr_array_add(list, g_strdup(*key));
    }
    job->fetching = true;
    call_load(job->evaluator->agent, list, eval_job_fetched, job);
}

/* ---- requests ---- */

/* The config that already cost a child is tried alone: whatever happens then is its own doing. */
static int suspect(const struct eval_job *job)
{
    for (int i = 0; i < job->work.round->config_count; i++)
        if (config_pending(job, i) && job->deaths[i] > 0)
            return i;
    return -1;
}

static json_t *launch_keys(const struct eval_job *job, int index, const struct solution *solution)
{
    int kernel_of[SOLUTION_LAUNCHES_MAX], count;
    g_auto(GStrv) keys = g_strsplit(job->work.round->kernel_keys[index], ",", -1);
    work_launch_kernels(solution, kernel_of, &count);
    if ((int)g_strv_length(keys) != count)
        return NULL;
    json_t *list = json_array();
    for (int i = 0; i < solution->launch_count; i++)
        json_array_append_new(list, json_string(keys[kernel_of[i]]));
    return list;
}

static void send_kernels(struct eval_job *job, json_t *keys)
{
    struct evaluator *evaluator = job->evaluator;
    size_t i;
    json_t *key;
    json_array_foreach (keys, i, key) {
        const char *text = json_string_value(key);
        const struct kernel_row *row = g_hash_table_lookup(job->kernels, text);
        if (!g_hash_table_add(evaluator->sent, g_strdup(text)))
            continue;
        json_t *head = json_pack("{s:s, s:s}", "op", "kernel", "key", text);
        child_send(evaluator->child, head, row->code);
        json_decref(head);
    }
}

static double config_deadline(const struct eval_job *job, const struct solution *solution)
{
    const struct agent_options *options = job->evaluator->agent->options;
    return options->run_timeout_seconds + RUNS_AT_LEAST * options->sample_seconds +
           RUNS_AT_LEAST * solution->flops / SLOWEST_FLOPS;
}

/* The config as the child reads it, its kernels sent ahead; NULL when it cannot be evaluated. */
static json_t *config_request(struct eval_job *job, int index)
{
    struct solution solution;
    if (!work_solve(&job->work, index, &solution))
        return NULL;
    json_t *keys = launch_keys(job, index, &solution);
    if (!keys) {
        work_fail_config(&job->work, index, FAILURE_LOAD_ERROR,
                         "it was built by another recipe than this program's");
        return NULL;
    }
    send_kernels(job, keys);
    job->slowest_seconds = MAX(job->slowest_seconds, config_deadline(job, &solution));
    const struct perf_config *config = &job->work.round->configs[index];
    json_t *values = json_array();
    for (int i = 0; i < config->count; i++)
        json_array_append_new(values, json_integer(config->values[i]));
    return json_pack("{s:i, s:o, s:o}", "index", index, "values", values, "kernels", keys);
}

static json_t *request_configs(struct eval_job *job, int *default_index)
{
    json_t *configs = json_array();
    int alone = suspect(job), usual = work_default_index(&job->work);
    *default_index = -1;
    for (int i = 0; i < job->work.round->config_count; i++) {
        if (!config_pending(job, i) || (alone >= 0 && i != alone))
            continue;
        json_t *config = config_request(job, i);
        if (!config)
            continue;
        json_array_append_new(configs, config);
        g_hash_table_add(job->evaluator->asked_configs, GINT_TO_POINTER(i));
        if (i == usual)
            *default_index = i;
    }
    return configs;
}

/* Until the first config begins the child computes the reference, in plain loops. */
static double reference_deadline(const struct eval_job *job)
{
    return job->slowest_seconds + 2 * problem_macs(&job->work.job->problem) / SLOWEST_FLOPS;
}

static void evaluate(struct eval_job *job)
{
    struct evaluator *evaluator = job->evaluator;
    char key[PROBLEM_KEY_MAX];
    int default_index;
    g_hash_table_remove_all(evaluator->asked_configs);
    json_t *configs = request_configs(job, &default_index);
    if (json_array_size(configs) == 0) {
        json_decref(configs);
        eval_job_finish(job);
        return;
    }
    json_t *head =
        json_pack("{s:s, s:I, s:s, s:s, s:o, s:I, s:o, s:i, s:f, s:f}", "op", "evaluate", "id",
                  ++evaluator->request, "problem", problem_key(&job->work.job->problem, key),
                  "solver", job->work.job->solver, "target", target_to_json(&job->work.target),
                  "seed", (json_int_t)job->work.job->seed, "configs", configs, "default",
                  default_index, "best_ms", agent_best_ms(evaluator->agent, &job->work),
                  "sample_seconds", evaluator->agent->options->sample_seconds);
    child_send(evaluator->child, head, NULL);
    json_decref(head);
    evaluator->asked = true;
    evaluator->in_flight = -1;
    child_set_deadline(evaluator->child, reference_deadline(job));
}

/* ---- answers ---- */

static void partial_stored(struct agent *agent, void *data, const GError *error)
{
    struct eval_job *job = data;
    job->flushing--;
    if (!error)
        return;
    agent_refused(agent, job->work.name, error);
    job->lost = true;
    if (job->evaluator->current == job && child_is_up(job->evaluator->child)) {
        json_t *head = json_pack("{s:s}", "op", "stop");
        child_send(job->evaluator->child, head, NULL);
        json_decref(head);
    }
}

static void eval_job_flush(struct eval_job *job)
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
}

/* A config that hung or took a child with it is tried by nobody again. */
static void config_condemn(struct eval_job *job, int index, enum failure failure,
                           const char *detail)
{
    work_fail_config(&job->work, index, failure, detail);
    work_quarantine(&job->work, index);
    job->dirty = true;
    eval_job_flush(job);
    call_quarantine(job->evaluator->agent, &job->work, index);
    job_event(job, "config quarantined", detail);
}

static double number(json_t *head, const char *name)
{
    return json_number_value(json_object_get(head, name));
}

static bool frame_config(const struct evaluator *evaluator, json_t *head, int *index)
{
    json_int_t id = json_integer_value(json_object_get(head, "id"));
    *index = (int)json_integer_value(json_object_get(head, "index"));
    return evaluator->asked && id == evaluator->request &&
           g_hash_table_contains(evaluator->asked_configs, GINT_TO_POINTER(*index));
}

/* A later outcome of a config replaces the earlier: the child repeats what drift made doubtful. */
static void outcome_read(struct eval_job *job, int index, json_t *head)
{
    struct outcome *outcome = &job->work.round->outcomes[index];
    const char *failure = json_string_value(json_object_get(head, "failure"));
    const char *detail = json_string_value(json_object_get(head, "detail"));
    outcome->n = (int)json_integer_value(json_object_get(head, "n"));
    outcome->min_ms = number(head, "min_ms");
    outcome->median_ms = number(head, "median_ms");
    outcome->spread = number(head, "spread");
    outcome->error = MIN(number(head, "error"), ERROR_MAX);
    outcome->eval_seconds = number(head, "eval_seconds");
    if (!failure || !failure_parse(failure, &outcome->failure))
        outcome->failure = FAILURE_LAUNCH_ERROR;
    if (detail && *detail && outcome->failure != FAILURE_NONE) {
        g_free(job->work.round->details[index]);
        job->work.round->details[index] = g_strndup(detail, DETAIL_MAX);
    }
}

static void answer_begin(struct evaluator *evaluator, const struct frame *frame)
{
    int index;
    if (!frame_config(evaluator, frame->head, &index))
        return;
    evaluator->in_flight = index;
    child_set_deadline(evaluator->child, evaluator->current->slowest_seconds);
}

static void answer_outcome(struct evaluator *evaluator, const struct frame *frame)
{
    struct eval_job *job = evaluator->current;
    int index;
    if (!frame_config(evaluator, frame->head, &index))
        return;
    evaluator->in_flight = -1;
    job->barren = 0;
    job->dirty = true;
    outcome_read(job, index, frame->head);
    const struct outcome *outcome = &job->work.round->outcomes[index];
    if (outcome->failure == FAILURE_NONE)
        agent_note_best(evaluator->agent, &job->work, outcome->median_ms);
    if (outcome->failure == FAILURE_DEVICE_FAULT || outcome->failure == FAILURE_RUN_TIMEOUT) {
        g_autofree char *detail = g_strdup(job->work.round->details[index]);
        config_condemn(job, index, outcome->failure, detail ? detail : "");
    }
    child_set_deadline(evaluator->child, job->slowest_seconds);
}

static void request_over(struct evaluator *evaluator)
{
    evaluator->asked = false;
    evaluator->in_flight = -1;
    child_set_deadline(evaluator->child, 0);
}

/* A request that ended without an outcome for what it was asked is not asked again. */
static void fail_unanswered(struct eval_job *job)
{
    GHashTableIter iter;
    gpointer index;
    g_hash_table_iter_init(&iter, job->evaluator->asked_configs);
    while (g_hash_table_iter_next(&iter, &index, NULL))
        if (config_pending(job, GPOINTER_TO_INT(index)))
            work_fail_config(&job->work, GPOINTER_TO_INT(index), FAILURE_LAUNCH_ERROR,
                             "the eval child told no outcome");
}

static void answer_evaluated(struct evaluator *evaluator, const struct frame *frame)
{
    struct eval_job *job = evaluator->current;
    bool stopped = json_is_true(json_object_get(frame->head, "stopped"));
    double drift = number(frame->head, "drift");
    if (!evaluator->asked)
        return;
    request_over(evaluator);
    if (drift > 0)
        job->work.round->drift = drift;
    if (!stopped)
        fail_unanswered(job);
    if (pending_count(job) == 0) {
        eval_job_finish(job);
    } else if (stopped || evaluator->stopping) {
        eval_job_flush(job);
        eval_job_release(job);
    }
    evaluator_next(evaluator);
}

static void answer_failed(struct evaluator *evaluator, const struct frame *frame)
{
    struct eval_job *job = evaluator->current;
    enum failure failure;
    const char *name = json_string_value(json_object_get(frame->head, "failure"));
    const char *detail = json_string_value(json_object_get(frame->head, "detail"));
    if (!evaluator->asked)
        return;
    request_over(evaluator);
    if (!name || !failure_parse(name, &failure) || failure == FAILURE_NONE)
        failure = FAILURE_LAUNCH_ERROR;
    eval_job_fail(job, failure, detail ? detail : "the eval child gave no reason");
    evaluator_next(evaluator);
}

static void answer_hello(struct evaluator *evaluator, const struct frame *frame)
{
    g_autoptr(GError) error = NULL;
    const char *stack = json_string_value(json_object_get(frame->head, "stack"));
    if (!target_from_json(json_object_get(frame->head, "target"), &evaluator->target, &error)) {
        agent_give_up(evaluator->agent, "device '%s': %s", evaluator->device, error->message);
        return;
    }
    g_free(evaluator->stack);
    evaluator->stack = g_strdup(stack ? stack : "");
    evaluator->open = evaluator->known = true;
    evaluator->failed_opens = 0;
    child_set_deadline(evaluator->child, 0);
}

static const struct {
    const char *op;
    void (*answer)(struct evaluator *evaluator, const struct frame *frame);
} answers[] = {
    {"hello", answer_hello},         {"begin", answer_begin},   {"outcome", answer_outcome},
    {"evaluated", answer_evaluated}, {"failed", answer_failed},
};

static void evaluator_frame(Child *child, const struct frame *frame, void *data)
{
    struct evaluator *evaluator = data;
    const char *op = json_string_value(json_object_get(frame->head, "op"));
    (void)child;
    for (size_t i = 0; op && i < G_N_ELEMENTS(answers); i++)
        if (strcmp(op, answers[i].op) == 0)
            answers[i].answer(evaluator, frame);
    agent_kick(evaluator->agent);
}

/* ---- deaths ---- */

static void open_failed(struct evaluator *evaluator, const struct child_death *death)
{
    if (++evaluator->failed_opens >= OPEN_ATTEMPTS)
        agent_give_up(evaluator->agent, "cannot open device '%s': %s: %s", evaluator->device,
                      death->text, death->words);
    else if (evaluator->agent->state == AGENT_STARTING)
        child_start(evaluator->child);
}

static void config_died(struct eval_job *job, int index, const struct child_death *death,
                        const char *detail)
{
    if (death->end == CHILD_TIMEOUT)
        config_condemn(job, index, FAILURE_RUN_TIMEOUT, detail);
    else if (config_pending(job, index) && ++job->deaths[index] >= CONFIG_LIVES)
        config_condemn(job, index, FAILURE_DEVICE_FAULT, detail);
}

static void request_died(struct eval_job *job, const struct child_death *death)
{
    struct evaluator *evaluator = job->evaluator;
    int index = evaluator->in_flight;
    char text[CONFIG_TEXT_MAX];
    g_autofree char *detail = g_strndup(death->words, DETAIL_MAX);
    g_autofree char *full = g_strdup_printf("%s%s%s", death->text, *detail ? ": " : "", detail);
    g_autofree char *where =
        index < 0
            ? g_strdup(full)
            : g_strdup_printf("config %s: %s",
                              perf_config_format(&job->work.round->configs[index], text), full);
    request_over(evaluator);
    job_event(job, "eval child died", where);
    if (index >= 0)
        config_died(job, index, death, full);
    else if (pending_count(job) > 0 && ++job->barren >= BARREN_DEATHS)
        eval_job_fail(job, death->end == CHILD_TIMEOUT ? FAILURE_RUN_TIMEOUT : FAILURE_DEVICE_FAULT,
                      full);
}

static void evaluator_died(Child *child, const struct child_death *death, void *data)
{
    struct evaluator *evaluator = data;
    bool was_open = evaluator->open;
    (void)child;
    evaluator->open = false;
    g_hash_table_remove_all(evaluator->sent);
    if (evaluator->asked)
        request_died(evaluator->current, death);
    else if (!was_open && !evaluator->stopping)
        open_failed(evaluator, death);
    evaluator_next(evaluator);
    agent_kick(evaluator->agent);
}

static void evaluator_up(Child *child, void *data)
{
    (void)data;
    child_set_deadline(child, OPEN_TIMEOUT_SECONDS);
}

/* ---- the next thing to do ---- */

/* Goes on with the current job, or takes the next whose code is there. */
static void evaluator_next(struct evaluator *evaluator)
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
    if (!evaluator->current) {
        struct eval_job *job = g_queue_peek_head(&evaluator->jobs);
        if (!job || !job->kernels || !agent_may_eval(evaluator->agent))
            return;
        evaluator->current = g_queue_pop_head(&evaluator->jobs);
        job->began_us = g_get_monotonic_time();
    }
    if (pending_count(evaluator->current) == 0)
        eval_job_finish(evaluator->current);
    else if (evaluator->open && child_is_up(evaluator->child))
        evaluate(evaluator->current);
    else if (child_is_down(evaluator->child))
        child_start(evaluator->child);
}

static struct eval_job *eval_job_new(struct evaluator *evaluator, struct claimed *claimed)
{
    struct eval_job *job = g_new0(struct eval_job, 1);
    struct job *stored = g_ptr_array_steal_index(claimed->jobs, 0);
    job->evaluator = evaluator;
    work_init(&job->work, stored, g_hash_table_lookup(claimed->targets, stored->target), POOL_EVAL,
              claimed->quarantine);
    g_assert(job->work.round); /* a built job has an open round */
    job->deaths = g_new0(guint8, MAX(job->work.round->config_count, 1));
    return job;
}

static void eval_claimed(void *data, struct claimed *claimed)
{
    struct evaluator *evaluator = data;
    evaluator->claiming = false;
    evaluator->empty = claimed->jobs->len == 0;
    while (claimed->jobs->len > 0) {
        struct eval_job *job = eval_job_new(evaluator, claimed);
        if (evaluator->stopping)
            eval_job_release(job);
        else
            g_queue_push_tail(&evaluator->jobs, job);
    }
    agent_kick(evaluator->agent);
}

static void evaluator_claim(struct evaluator *evaluator)
{
    struct agent *agent = evaluator->agent;
    if (agent->state != AGENT_WORKING || !agent_may_eval(agent) || evaluator->claiming ||
        evaluator->empty || evaluator->stopping || evaluator->jobs.length >= FETCH_AHEAD)
        return;
    evaluator->claiming = true;
    call_claim(agent, POOL_EVAL, evaluator->target.id, agent->options->batch, eval_claimed,
               evaluator);
}

void evaluator_pump(Evaluator *evaluator)
{
    GList *at = evaluator->jobs.head;
    evaluator_claim(evaluator);
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

void evaluator_wake(Evaluator *evaluator)
{
    evaluator->empty = false;
}

bool evaluator_empty(const Evaluator *evaluator)
{
    return evaluator->empty;
}

bool evaluator_busy(const Evaluator *evaluator)
{
    return evaluator->claiming || evaluator->current || evaluator->jobs.head ||
           evaluator->leaving > 0;
}

void evaluator_stop(Evaluator *evaluator)
{
    struct eval_job *job;
    evaluator->stopping = true;
    while ((job = g_queue_pop_head(&evaluator->jobs)))
        eval_job_release(job);
    if (evaluator->asked && child_is_up(evaluator->child)) {
        json_t *head = json_pack("{s:s}", "op", "stop");
        child_send(evaluator->child, head, NULL);
        json_decref(head);
    } else {
        evaluator_next(evaluator);
    }
}

static void timer_closed(uv_handle_t *handle)
{
    g_free(handle);
}

Evaluator *evaluator_new(struct agent *agent, const char *device)
{
    static const struct child_callbacks callbacks = {evaluator_up, evaluator_frame, evaluator_died};
    Evaluator *evaluator = g_new0(struct evaluator, 1);
    g_autofree char *name = g_strdup_printf("eval-%u", agent->evaluators->len);
    g_auto(GStrv) environment = agent_child_environment(agent, name);
    struct child_spec spec = {.role = "eval", .argument = device, .environment = environment};
    evaluator->agent = agent;
    evaluator->device = g_strdup(device);
    evaluator->child = child_new(&agent->loop, &spec, &callbacks, evaluator);
    evaluator->in_flight = -1;
    evaluator->sent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    evaluator->asked_configs = g_hash_table_new(NULL, NULL);
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
    g_free(evaluator->device);
    g_free(evaluator->stack);
    g_free(evaluator);
}
