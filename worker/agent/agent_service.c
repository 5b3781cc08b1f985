/*
 * Whether a GPU may be worked with. One that configs fail on one after the other has to prove that it can compute
 * (agent_proof.h). If it cannot it is sick: what is at hand goes back to the farm, and it stays out of service
 * until a worker is started again, which opens it anew. One that is not there any more is looked for now and then,
 * and is back once it opens.
 */
#include "worker/agent/agent_eval.h"

#include <string.h>

#include "worker/agent/agent_proof.h"

#define REASON_MAX  1500 /* bytes of each half of a reason: the database takes 4096 */
#define END_SECONDS 1    /* for a child to give its device up */
#define TICKS_MOST  16   /* between two looks for an absent device: three quarters of a minute */

static char *device_text(const struct evaluator *evaluator)
{
    const struct device_identity *identity = &evaluator->identity;
    const char *which = *identity->uuid ? identity->uuid : identity->address;
    if (strcmp(which, evaluator->device) == 0)
        which = "";
    if (!evaluator->known)
        return g_strdup_printf("device %s", evaluator->device);
    return g_strdup_printf("device %s (%s%s%s)", evaluator->device, evaluator->name,
                           *which ? ", " : "", which);
}

char *evaluator_device_name(const struct evaluator *evaluator)
{
    const struct device_identity *identity = &evaluator->identity;
    if (*identity->uuid)
        return g_strdup(identity->uuid);
    return g_strdup_printf("device %s of %s", evaluator->device, evaluator->agent->node);
}

static int place_of(const struct evaluator *evaluator)
{
    guint place = 0;
    g_ptr_array_find(evaluator->agent->evaluators, evaluator, &place);
    return (int)place;
}

/* ---- blame ---- */

static void forget_faults(struct evaluator *evaluator)
{
    evaluator->faults = 0;
    g_hash_table_remove_all(evaluator->faulty);
    g_array_set_size(evaluator->condemned, 0);
}

static bool is_at_hand(const struct evaluator *evaluator, const struct condemned *condemned)
{
    const struct eval_job *job = evaluator->current;
    return job && condemned->campaign == job->work.job->campaign &&
           condemned->job == job->work.job->id;
}

/* Of what it broke since it was right last, the job at hand, or those that ended; each is named once. */
static void return_jobs(struct evaluator *evaluator, bool at_hand)
{
    g_autofree char *device = evaluator_device_name(evaluator);
    int64_t campaign = 0, job = 0;
    for (guint i = 0; i < evaluator->condemned->len; i++) {
        const struct condemned *at = &g_array_index(evaluator->condemned, struct condemned, i);
        if (at->campaign == campaign && at->job == job)
            continue;
        campaign = at->campaign;
        job = at->job;
        if (is_at_hand(evaluator, at) == at_hand)
            call_return_job(evaluator->agent, at, device);
    }
}

/* Of jobs that ended before they are ready for others; of the one at hand when it is clear whether it goes on: what
 * stays failed stays quarantined. */
static void return_condemned(struct evaluator *evaluator)
{
    return_jobs(evaluator, true);
    for (guint i = 0; i < evaluator->condemned->len; i++) {
        const struct condemned *at = &g_array_index(evaluator->condemned, struct condemned, i);
        if (!at->whole)
            call_lift_quarantine(evaluator->agent, at);
    }
    return_jobs(evaluator, false);
    g_array_set_size(evaluator->condemned, 0);
}

/* Before the farm may end the job. */
static void absolve_at_hand(struct eval_job *job)
{
    for (guint i = 0; i < job->suspects->len; i++) {
        int index = g_array_index(job->suspects, int, i);
        struct outcome *outcome = &job->work.round->outcomes[index];
        double build_seconds = outcome->build_seconds;
        *outcome = (struct outcome){.failure = FAILURE_PENDING, .build_seconds = build_seconds};
        g_clear_pointer(&job->work.round->details[index], g_free);
        job->dirty = true;
    }
    g_array_set_size(job->suspects, 0);
    eval_job_flush(job);
}

/* The device was to blame: the configs are tried again, by others. */
static void absolve(struct evaluator *evaluator)
{
    if (evaluator->current)
        absolve_at_hand(evaluator->current);
    return_condemned(evaluator);
}

void evaluator_was_right(struct evaluator *evaluator)
{
    forget_faults(evaluator);
    g_array_set_size(evaluator->current->suspects, 0);
}

static int faults_of(const struct evaluator *evaluator, const char *solver)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(evaluator->faulty, solver));
}

/* Faults that the solver with most of them is not the reason of. */
static int faults_of_others(const struct evaluator *evaluator)
{
    GHashTableIter iter;
    gpointer count;
    int most = 0;
    g_hash_table_iter_init(&iter, evaluator->faulty);
    while (g_hash_table_iter_next(&iter, NULL, &count))
        most = MAX(most, GPOINTER_TO_INT(count));
    return evaluator->faults - most;
}

/* What there is to go by without a proof: one solver may crash on every problem, and jobs that follow each other are
 * often of one; a config of another that crashes, too, may be chance. */
static bool is_sick(const struct evaluator *evaluator)
{
    int limit = evaluator->agent->options->fault_limit;
    return faults_of_others(evaluator) >= MAX(limit / 2, 1);
}

/* On a CPU it is the code that crashes. */
static bool is_suspect(const struct evaluator *evaluator)
{
    int limit = evaluator->agent->options->fault_limit;
    return limit > 0 && evaluator->faults >= limit && evaluator->target.vendor != VENDOR_CPU;
}

bool evaluator_failed(struct evaluator *evaluator, int index, const char *detail)
{
    struct eval_job *job = evaluator->current;
    evaluator->faults++;
    const char *solver = job->work.job->solver;
    g_hash_table_replace(evaluator->faulty, g_strdup(solver),
                         GINT_TO_POINTER(faults_of(evaluator, solver) + 1));
    struct condemned condemned = {
        .campaign = job->work.job->campaign, .job = job->work.job->id, .whole = index < 0};
    if (index >= 0) {
        condemned.config = job->work.round->configs[index];
        g_array_append_val(job->suspects, index);
    }
    g_array_append_val(evaluator->condemned, condemned);
    g_free(evaluator->fault);
    evaluator->fault = g_strdup(detail);
    if (!is_suspect(evaluator))
        return false;
    proof_begin(evaluator);
    return true;
}

static char *cut(const char *text)
{
    g_autofree char *start = g_strndup(text, REASON_MAX);
    return g_utf8_make_valid(start, -1);
}

/* "it failed 5 times in a row, with 2 solvers, at last so: ...". Free with g_free(). */
static char *faults_text(const struct evaluator *evaluator)
{
    guint solvers = g_hash_table_size(evaluator->faulty);
    g_autofree char *last = cut(evaluator->fault);
    return g_strdup_printf("it failed %d time%s in a row, with %u solver%s, at last so: %s",
                           evaluator->faults, evaluator->faults == 1 ? "" : "s", solvers,
                           solvers == 1 ? "" : "s", last);
}

/* The job that waited for it ends as it would have ended without. */
static void go_on(struct evaluator *evaluator)
{
    struct eval_job *job = evaluator->current;
    evaluator->proof = PROOF_NONE;
    if (job->verdict != FAILURE_NONE)
        eval_job_fail(job, job->verdict, job->verdict_detail);
}

static void tell_right(struct evaluator *evaluator)
{
    struct log_about about = {.device = evaluator->device};
    g_autofree char *device = device_text(evaluator), *faults = faults_text(evaluator);
    g_autofree char *detail = g_strdup_printf(
        "%s: %s; the plain convolution is right on it: the configs are to blame", device, faults);
    log_write(LEVEL_WARNING, "device_proved", &about, "device proved: %s", detail);
    call_event(evaluator->agent, "device proved", NULL, detail);
}

void evaluator_proved(struct evaluator *evaluator, const char *failure)
{
    if (failure) {
        g_autofree char *faults = faults_text(evaluator), *last = cut(failure);
        g_autofree char *why =
            g_strdup_printf("%s; and the plain convolution fails on it: %s", faults, last);
        evaluator_retire(evaluator, false, why);
        return;
    }
    tell_right(evaluator);
    evaluator_was_right(evaluator);
    go_on(evaluator);
}

void evaluator_unproved(struct evaluator *evaluator)
{
    g_autofree char *why = faults_text(evaluator);
    if (is_sick(evaluator))
        evaluator_retire(evaluator, false, why);
    else
        go_on(evaluator);
}

/* ---- out of service, and back ---- */

static bool is_out(const struct evaluator *evaluator)
{
    return evaluator->service != IN_SERVICE;
}

static const char *service_kind(const struct evaluator *evaluator)
{
    return is_out(evaluator) ? "device out of service" : "device in service";
}

/* Into its list of devices, and into its diary. */
static void tell_farm(struct evaluator *evaluator, const char *why)
{
    g_autofree char *device = device_text(evaluator);
    g_autofree char *detail = g_strdup_printf("%s: %s", device, why);
    call_device_service(evaluator->agent, place_of(evaluator), is_out(evaluator) ? why : "");
    call_event(evaluator->agent, service_kind(evaluator), NULL, detail);
}

/* Before the worker's row is there the farm cannot be told: evaluator_entered() does so. */
static void tell(struct evaluator *evaluator, const char *why)
{
    struct log_about about = {.device = evaluator->device};
    g_autofree char *device = device_text(evaluator);
    log_write(is_out(evaluator) ? LEVEL_ERROR : LEVEL_INFO,
              is_out(evaluator) ? "device_out_of_service" : "device_in_service", &about,
              "%s: %s: %s", service_kind(evaluator), device, why);
    g_free(evaluator->out_reason);
    evaluator->out_reason = is_out(evaluator) ? g_strdup(why) : NULL;
    if (evaluator->agent->state != AGENT_STARTING)
        tell_farm(evaluator, why);
}

/* Whoever waits for the queue's end would wait for ever. */
static void end_without_devices(struct agent *agent, const char *why)
{
    for (guint i = 0; i < agent->evaluators->len; i++)
        if (!is_out(agent->evaluators->pdata[i]))
            return;
    if (agent->options->until_empty)
        agent_give_up(agent, "no device is in service any more, the last one since %s", why);
}

void evaluator_retire(struct evaluator *evaluator, bool returns, const char *why)
{
    struct eval_job *job;
    /* It is not there to prove anything, or could not. Of a CPU the code is to blame in any case. */
    if (evaluator->target.vendor != VENDOR_CPU)
        absolve(evaluator);
    evaluator->proof = PROOF_NONE;
    evaluator->service = returns ? AWAY : SICK;
    evaluator->away_ticks = 0;
    if (evaluator->current) {
        eval_job_flush(evaluator->current);
        eval_job_release(evaluator->current);
    }
    while ((job = g_queue_pop_head(&evaluator->jobs)))
        eval_job_release(job);
    /* Of one that answered, if wrongly, the child lives: no tool resets a device that a process holds. */
    child_end(evaluator->child, END_SECONDS);
    tell(evaluator, why);
    end_without_devices(evaluator->agent, why);
}

void evaluator_give_up(struct evaluator *evaluator, const char *why)
{
    struct agent *agent = evaluator->agent;
    evaluator->service = AWAY;
    evaluator->away_ticks = 0;
    for (guint i = 0; i < agent->evaluators->len; i++) {
        if (!is_out(agent->evaluators->pdata[i])) {
            tell(evaluator, why);
            return;
        }
    }
    agent_give_up(agent, "cannot open device '%s': %s", evaluator->device, why);
}

/* Its line in the farm's list is new with the whole list, and says nothing of service. */
static void list_anew(struct agent *agent)
{
    agent_list_devices(agent);
    for (guint i = 0; i < agent->evaluators->len; i++) {
        struct evaluator *evaluator = agent->evaluators->pdata[i];
        if (is_out(evaluator))
            call_device_service(agent, (int)i, evaluator->out_reason);
    }
}

void evaluator_entered(struct evaluator *evaluator)
{
    if (is_out(evaluator))
        tell_farm(evaluator, evaluator->out_reason);
    else if (!evaluator->listed)
        list_anew(evaluator->agent);
}

/* After one tick, two, four, and so on, then all TICKS_MOST. */
void evaluator_look(struct evaluator *evaluator)
{
    if (evaluator->service != AWAY || evaluator->stopping || !child_is_down(evaluator->child))
        return;
    unsigned ticks = ++evaluator->away_ticks;
    if ((ticks & (ticks - 1)) == 0 || ticks % TICKS_MOST == 0)
        evaluator_start(evaluator);
}

void evaluator_returned(struct evaluator *evaluator)
{
    if (evaluator->service != AWAY)
        return;
    evaluator->service = IN_SERVICE;
    forget_faults(evaluator);
    if (evaluator->target.vendor == VENDOR_CPU && evaluator->agent->options->build > 0)
        evaluator->agent->take_turns = true;
    if (!evaluator->listed && evaluator->agent->state == AGENT_WORKING)
        list_anew(evaluator->agent);
    tell(evaluator, "it opens again");
    agent_changed(evaluator->agent);
}
