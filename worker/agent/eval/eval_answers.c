#include "worker/agent/eval/eval_answers.h"

#include <string.h>

#include "worker/agent/build/rebuild.h"
#include "worker/agent/eval/device_proof.h"
#include "worker/agent/eval/device_service.h"
#include "worker/agent/eval/eval_request.h"
#include "worker/agent/work_check.h"
#include "worker/eval/eval_child.h"
#include "worker/protocol/target_json.h"
#include "worker/verify/random.h"

/* A config whose child dies this often is blamed for the deaths. */
#define CONFIG_LIVES           2
/* A job whose child dies this often in a row, with no config in flight, fails. */
#define DEATHS_BETWEEN_CONFIGS 3
/* This many deaths in a row before the child's hello take the device out of service. */
#define OPEN_ATTEMPTS          5
#define OPEN_TIMEOUT_SECONDS   60
#define ERROR_MAX              1e12 /* the largest stored error of a wrong result */
#define DETAIL_MAX             2000

void eval_job_quarantine(struct eval_job *job, int index, enum failure failure, const char *words)
{
    g_autofree char *builders = rebuild_builders(job, index);
    g_autofree char *detail = g_strconcat(words, builders ? "; " : NULL, builders, NULL);
    work_fail_config(&job->work, index, failure, detail);
    /* The job names the solver that is quarantined; a final has configs of others, too. */
    if (work_solver(&job->work, index) == job->work.solver) {
        work_quarantine(&job->work, index);
        job->evaluator->agent->counts.quarantined++;
        job->dirty = true;
        eval_job_flush(job);
        call_quarantine(job->evaluator->agent, &job->work, index);
    }
    eval_job_event(job, "config quarantined", detail);
    device_failed(job->evaluator, index, detail);
}

/* Quarantines a config that broke the device. If another login's worker built its code, it is
 * not blamed yet: it is tried once more with code that this worker builds. */
static void config_blame(struct eval_job *job, int index, enum failure failure, const char *detail)
{
    g_autofree char *builders = rebuild_builders(job, index);
    char text[CONFIG_TEXT_MAX];
    if (!builders || !rebuild_doubted(job, index, failure, detail)) {
        eval_job_quarantine(job, index, failure, detail);
        return;
    }
    g_autofree char *words = g_strdup_printf(
        "config %s: %s; %s, and is built here before it is tried once more",
        perf_config_format(&job->work.round->configs[index], text), detail, builders);
    job->deaths[index] = CONFIG_LIVES - 1;
    eval_job_event(job, "foreign code faulted", words);
}

/* Whether the outcome is a failure that a full disk causes, too. Such a config stays pending
 * while the disk is full. */
static bool may_lack_room(json_t *head)
{
    enum failure failure = FAILURE_NONE;
    const char *name = json_string_value(json_object_get(head, "failure"));
    if (!name || !failure_parse(name, &failure))
        return true;
    return failure == FAILURE_LOAD_ERROR || failure == FAILURE_LAUNCH_ERROR ||
           failure == FAILURE_DEVICE_FAULT;
}

static double number(json_t *head, const char *name)
{
    return MAX(json_number_value(json_object_get(head, name)), 0);
}

static int count_of(json_t *head, const char *name)
{
    return (int)CLAMP(json_integer_value(json_object_get(head, name)), 0, G_MAXINT32);
}

static bool frame_config(const struct evaluator *evaluator, json_t *head, int *index)
{
    json_int_t id = json_integer_value(json_object_get(head, "id"));
    *index = (int)json_integer_value(json_object_get(head, "index"));
    return evaluator_is_measuring(evaluator) && id == evaluator->request &&
           g_hash_table_contains(evaluator->asked_configs, GINT_TO_POINTER(*index));
}

bool eval_is_verified(enum failure failure)
{
    return failure == FAILURE_NONE || failure == FAILURE_SLOW || failure == FAILURE_UNSTABLE;
}

/* A round is cold if each of its timed configs was. */
static void note_caches(struct round *round, const struct outcome *outcome, enum caches caches)
{
    if (outcome->n > 0 && round->caches != CACHES_WARM && caches != CACHES_UNKNOWN)
        round->caches = caches;
}

/* Gives a config that was verified alone the times of its twin, with the error that was seen here. */
static void take_times(struct eval_job *job, int index, const char *name)
{
    struct outcome *outcome = &job->work.round->outcomes[index];
    double error = outcome->error, eval_seconds = outcome->eval_seconds;
    if (!twins_take(job->evaluator->twins, name, &job->work, index)) {
        work_fail_config(&job->work, index, FAILURE_LAUNCH_ERROR,
                         "the times of the config with equal code were forgotten");
        return;
    }
    outcome->error = error;
    outcome->eval_seconds = eval_seconds;
}

/* A round's share is the least of its verified configs. */
static void note_share(struct round *round, const struct outcome *outcome, double share)
{
    if (eval_is_verified(outcome->failure) && share > 0 &&
        (round->verified_share <= 0 || share < round->verified_share))
        round->verified_share = MIN(share, 1);
}

/* Takes a config's outcome from the child's frame. It replaces an earlier outcome of the config,
 * since the child measures configs again when the device drifted. */
static void outcome_read(struct eval_job *job, int index, json_t *head)
{
    struct outcome *outcome = &job->work.round->outcomes[index];
    const char *failure = json_string_value(json_object_get(head, "failure"));
    const char *detail = json_string_value(json_object_get(head, "detail"));
    outcome->n = count_of(head, "n");
    outcome->min_ms = number(head, "min_ms");
    outcome->median_ms = number(head, "median_ms");
    outcome->spread = number(head, "spread");
    outcome->low_ms = number(head, "low_ms");
    outcome->high_ms = number(head, "high_ms");
    outcome->error = MIN(number(head, "error"), ERROR_MAX);
    outcome->eval_seconds = number(head, "eval_seconds");
    outcome->pack_ms = number(head, "pack_ms");
    outcome->proof_runs = count_of(head, "proof_runs");
    outcome->proof_kinds = MIN(count_of(head, "proof_kinds"), INPUT_KIND_COUNT);
    if (!failure || !failure_parse(failure, &outcome->failure))
        outcome->failure = FAILURE_LAUNCH_ERROR;
    const char *twin = g_hash_table_lookup(job->evaluator->asked_twins, GINT_TO_POINTER(index));
    if (twin && outcome->failure == FAILURE_NONE) {
        take_times(job, index, twin);
        return;
    }
    /* The database refuses a whole round for one impossible time, so the config fails here. */
    if (!work_check_time(outcome)) {
        outcome->failure = FAILURE_TIME_IMPOSSIBLE;
        detail = "the child reported a time that cannot be stored";
    }
    /* The detail of a right config says how many runs were compared. */
    if (detail && *detail) {
        g_autofree char *builders =
            eval_is_verified(outcome->failure) ? NULL : rebuild_builders(job, index);
        g_autofree char *words = g_strndup(detail, DETAIL_MAX);
        g_free(job->work.round->details[index]);
        job->work.round->details[index] =
            g_strconcat(words, builders ? "; " : NULL, builders, NULL);
    }
    note_caches(job->work.round, outcome, caches_from_json(head, "cold"));
    note_share(job->work.round, outcome, number(head, "verified_share"));
    struct conditions sample;
    conditions_from_json(json_object_get(head, "conditions"), &sample);
    conditions_add(&job->work.conditions, &sample);
}

static void note_busy(struct eval_job *job, json_t *head)
{
    double seconds = number(head, "busy_seconds");
    job->busy_seconds += seconds;
    job->evaluator->agent->counts.busy_seconds += seconds;
}

static void answer_begin(struct evaluator *evaluator, const struct frame *frame)
{
    int index;
    if (!frame_config(evaluator, frame->head, &index))
        return;
    evaluator->in_flight = index;
    child_set_deadline(evaluator->child, evaluator->current->slowest_seconds);
}

static bool says_device_fault(json_t *head)
{
    const char *failure = json_string_value(json_object_get(head, "failure"));
    return failure && strcmp(failure, failure_name(FAILURE_DEVICE_FAULT)) == 0;
}

static void answer_outcome(struct evaluator *evaluator, const struct frame *frame)
{
    struct eval_job *job = evaluator->current;
    int index;
    if (!frame_config(evaluator, frame->head, &index))
        return;
    /* After a device fault the child ends, and its death has the same consequences as a death by
     * the fault itself. The outcome is therefore not taken. */
    if (says_device_fault(frame->head))
        return;
    evaluator->in_flight = -1;
    job->deaths_between_configs = 0;
    note_busy(job, frame->head);
    if (may_lack_room(frame->head) && !evaluator_has_room(evaluator))
        return;
    job->dirty = true;
    outcome_read(job, index, frame->head);
    const struct outcome *outcome = &job->work.round->outcomes[index];
    evaluator->agent->counts.eval_seconds += outcome->eval_seconds;
    if (outcome->failure == FAILURE_NONE && !job->work.round->remeasures)
        agent_note_best(evaluator->agent, &job->work, outcome->median_ms);
    if (eval_is_verified(outcome->failure))
        device_was_right(evaluator);
    child_set_deadline(evaluator->child, job->slowest_seconds);
}

/* Keeps the outcomes of the request for the configs' twins. Call it at the request's end, when
 * configs that drift made doubtful have been measured again. */
static void keep_for_twins(struct evaluator *evaluator)
{
    GHashTableIter iter;
    gpointer name, index;
    g_hash_table_iter_init(&iter, evaluator->asked_names);
    while (g_hash_table_iter_next(&iter, &name, &index))
        twins_record(evaluator->twins, name, &evaluator->current->work, GPOINTER_TO_INT(index));
    g_hash_table_remove_all(evaluator->asked_names);
}

static void request_over(struct evaluator *evaluator)
{
    keep_for_twins(evaluator);
    evaluator->in_flight = -1;
    child_set_deadline(evaluator->child, 0);
    evaluator_move(evaluator, EVALUATOR_OVER, NULL);
}

/* Fails the configs for which the ended request brought no outcome, so that they are not asked
 * for again. */
static void fail_unanswered(struct eval_job *job)
{
    GHashTableIter iter;
    gpointer index;
    g_hash_table_iter_init(&iter, job->evaluator->asked_configs);
    while (g_hash_table_iter_next(&iter, &index, NULL))
        if (eval_job_is_pending(job, GPOINTER_TO_INT(index)))
            work_fail_config(&job->work, GPOINTER_TO_INT(index), FAILURE_LAUNCH_ERROR,
                             "the eval child reported no outcome");
}

/* Logs who verified: the device, or the host and why. */
static void note_refusal(struct eval_job *job, json_t *head)
{
    const char *refusal = json_string_value(json_object_get(head, "refusal"));
    struct log_about about = work_about(&job->work);
    about.device = job->evaluator->device;
    if (json_is_true(json_object_get(head, "doubted")))
        eval_job_event(job, "device doubted", refusal ? refusal : "");
    else if (refusal && *refusal)
        log_write(LEVEL_INFO, "verified_by_host", &about, "verified on the host: %s", refusal);
    else
        log_write(LEVEL_DEBUG, "verified", &about, "verified on the %s",
                  json_is_true(json_object_get(head, "by_device")) ? "device" : "host");
}

static void answer_evaluated(struct evaluator *evaluator, const struct frame *frame)
{
    struct eval_job *job = evaluator->current;
    bool stopped = json_is_true(json_object_get(frame->head, "stopped"));
    double drift = number(frame->head, "drift");
    if (!evaluator_is_measuring(evaluator))
        return;
    request_over(evaluator);
    note_refusal(job, frame->head);
    note_busy(job, frame->head);
    if (drift > 0)
        job->work.round->drift = drift;
    if (!stopped && !evaluator->needs_fresh_child)
        fail_unanswered(job);
    if (evaluator->needs_fresh_child)
        child_end(evaluator->child, 0);
    if (eval_job_pending_count(job) == 0) {
        eval_job_finish(job);
    } else if (stopped || evaluator->state == EVALUATOR_STOPPED) {
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
    if (!evaluator_is_measuring(evaluator))
        return;
    request_over(evaluator);
    if (may_lack_room(frame->head) && !evaluator_has_room(evaluator)) {
        child_end(evaluator->child, 0);
        return;
    }
    if (!name || !failure_parse(name, &failure) || failure == FAILURE_NONE)
        failure = FAILURE_LAUNCH_ERROR;
    eval_job_fail(job, failure, detail ? detail : "the eval child gave no reason");
    evaluator_next(evaluator);
}

/* Whether the child opened another device than before. A GPU was lost, and another has its
 * number now. The claimed jobs are for the lost GPU, which may come back. */
static bool is_another(struct evaluator *evaluator, const struct target *target,
                       const struct device_identity *identity)
{
    bool same = strcmp(target->id, evaluator->target.id) == 0 &&
                strcmp(identity->uuid, evaluator->identity.uuid) == 0;
    if (!evaluator->known || same)
        return false;
    g_free(evaluator->other_device);
    evaluator->other_device = g_strdup_printf(
        "device '%s' was %s%s%s and is %s%s%s now", evaluator->device, evaluator->target.id,
        *evaluator->identity.uuid ? " " : "", evaluator->identity.uuid, target->id,
        *identity->uuid ? " " : "", identity->uuid);
    return true;
}

static void answer_hello(struct evaluator *evaluator, const struct frame *frame)
{
    g_autoptr(GError) error = NULL;
    struct target target;
    const char *stack = json_string_value(json_object_get(frame->head, "stack"));
    if (evaluator->open)
        return; /* it says so once */
    if (!target_from_json(json_object_get(frame->head, "target"), &target, &error)) {
        agent_give_up(evaluator->agent, "device '%s': %s", evaluator->device, error->message);
        return;
    }
    const char *name = json_string_value(json_object_get(frame->head, "device"));
    struct device_identity identity;
    identity_from_json(json_object_get(frame->head, "identity"), &identity);
    if (is_another(evaluator, &target, &identity)) {
        child_end(evaluator->child, 0);
        return;
    }
    evaluator->identity = identity;
    g_free(evaluator->name);
    evaluator->name = g_strdup(name ? name : "");
    evaluator->target = target;
    g_free(evaluator->stack);
    evaluator->stack = g_strdup(stack ? stack : "");
    evaluator->open = evaluator->known = true;
    evaluator->failed_opens = 0;
    child_set_deadline(evaluator->child, 0);
    const char *unwatched = json_string_value(json_object_get(frame->head, "unwatched"));
    const struct log_about about = {.device = evaluator->device};
    if (unwatched)
        log_write(LEVEL_DEBUG, "device_unwatched", &about, "its clocks and heat are not known: %s",
                  unwatched);
    evaluator_move(evaluator, EVALUATOR_OPENED, NULL);
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
    if (op && evaluator_is_proving(evaluator))
        proof_answered(evaluator, op, frame->head);
    else
        for (size_t i = 0; op && i < G_N_ELEMENTS(answers); i++)
            if (strcmp(op, answers[i].op) == 0)
                answers[i].answer(evaluator, frame);
    agent_schedule(evaluator->agent);
}

/* ---- deaths ---- */

/* Blames the config or job during which the device was lost: it might take the next device with
 * it, too. */
static void blame_for_loss(struct evaluator *evaluator, const char *why)
{
    struct eval_job *job = evaluator->current;
    if (evaluator->state != EVALUATOR_PREPARING || evaluator->target.vendor == VENDOR_CPU)
        return;
    int index = eval_job_suspect(job);
    g_autofree char *device = device_farm_name(evaluator);
    g_autofree char *detail = g_strdup_printf("%s was lost while it ran: %s", device, why);
    if (index >= 0)
        eval_job_quarantine(job, index, FAILURE_DEVICE_FAULT, detail);
    else if (job->deaths_between_configs > 0)
        device_failed(evaluator, -1, detail);
}

static void open_failed(struct evaluator *evaluator, const struct child_death *death)
{
    bool is_starting = evaluator->state == EVALUATOR_OPENING;
    g_autofree char *other_device = g_steal_pointer(&evaluator->other_device);
    g_autofree char *why = other_device
                               ? g_strdup(other_device)
                               : g_strdup_printf("%s: %.*s", death->text, DETAIL_MAX, death->words);
    if (evaluator_has_room(evaluator) && ++evaluator->failed_opens >= OPEN_ATTEMPTS) {
        if (is_starting) {
            evaluator_move(evaluator, EVALUATOR_LOST, why);
        } else if (!evaluator_is_out(evaluator)) {
            blame_for_loss(evaluator, why);
            device_lost(evaluator, why);
        }
    }
    if (evaluator->state == EVALUATOR_OPENING)
        evaluator_start(evaluator);
}

static void config_died(struct eval_job *job, int index, const struct child_death *death,
                        const char *detail)
{
    if (death->end == CHILD_TIMEOUT)
        config_blame(job, index, FAILURE_RUN_TIMEOUT, detail);
    else if (!evaluator_has_room(job->evaluator))
        return;
    else if (eval_job_is_pending(job, index) && ++job->deaths[index] >= CONFIG_LIVES)
        config_blame(job, index, FAILURE_DEVICE_FAULT, detail);
}

/* Whether the child died because the device has too little memory for this problem, but enough
 * for smaller ones: not a fault of the device. */
static bool is_short(const struct child_death *death)
{
    return death->end == CHILD_EXITED && death->code == EVAL_CHILD_SHORT;
}

static enum failure job_death_failure(const struct child_death *death)
{
    if (is_short(death))
        return FAILURE_LAUNCH_ERROR;
    return death->end == CHILD_TIMEOUT ? FAILURE_RUN_TIMEOUT : FAILURE_DEVICE_FAULT;
}

static void job_died(struct eval_job *job, const struct child_death *death, const char *detail)
{
    if (is_short(death) || !device_failed(job->evaluator, -1, detail)) {
        eval_job_fail(job, job_death_failure(death), detail);
        return;
    }
    job->pending_failure = job_death_failure(death);
    job->pending_detail = g_strdup(detail);
}

/* The text about a child's death, with the GPU's name: another GPU of the node may work. */
static char *death_text(const struct evaluator *evaluator, const struct child_death *death,
                        const char *words)
{
    bool is_gpu = evaluator->target.vendor != VENDOR_CPU;
    g_autofree char *device = is_gpu ? device_farm_name(evaluator) : g_strdup("");
    return g_strdup_printf("%s%s%s%s%s", death->text, is_gpu ? " on " : "", device,
                           *words ? ": " : "", words);
}

static void request_died(struct eval_job *job, const struct child_death *death)
{
    struct evaluator *evaluator = job->evaluator;
    int index = evaluator->in_flight;
    char text[CONFIG_TEXT_MAX];
    g_autofree char *detail = g_strndup(death->words, DETAIL_MAX);
    g_autofree char *full = death_text(evaluator, death, detail);
    g_autofree char *where =
        index < 0
            ? g_strdup(full)
            : g_strdup_printf("config %s: %s",
                              perf_config_format(&job->work.round->configs[index], text), full);
    request_over(evaluator);
    eval_job_event(job, "eval child died", where);
    if (index >= 0)
        config_died(job, index, death, full);
    else if (eval_job_pending_count(job) > 0 && evaluator_has_room(job->evaluator) &&
             ++job->deaths_between_configs >= DEATHS_BETWEEN_CONFIGS)
        job_died(job, death, full);
}

static void evaluator_died(Child *child, const struct child_death *death, void *data)
{
    struct evaluator *evaluator = data;
    bool was_open = evaluator->open;
    (void)child;
    if (!evaluator->needs_fresh_child)
        agent_count_death(evaluator->agent, POOL_EVAL, death);
    evaluator->open = false;
    g_hash_table_remove_all(evaluator->sent);
    evaluator->judge_sent = false;
    if (evaluator_is_proving(evaluator))
        proof_died(evaluator, death);
    else if (evaluator_is_measuring(evaluator))
        request_died(evaluator->current, death);
    else if (!was_open && evaluator->state != EVALUATOR_STOPPED &&
             evaluator->state != EVALUATOR_OUT)
        open_failed(evaluator, death);
    evaluator_next(evaluator);
    agent_schedule(evaluator->agent);
}

static void evaluator_up(Child *child, void *data)
{
    (void)data;
    child_set_deadline(child, OPEN_TIMEOUT_SECONDS);
}

const struct child_callbacks evaluator_callbacks = {evaluator_up, evaluator_frame, evaluator_died};
