#include "worker/agent/eval/device_service.h"

#include <string.h>

#include "worker/agent/agent_row.h"

/* Bytes of each of the two halves of a reason: the database takes 4096 bytes. */
#define REASON_MAX  1500
#define END_SECONDS 1 /* time that a child has to close its device */
/* Most ticks of the flush timer between two attempts to open an absent device: three quarters of
 * a minute. */
#define TICKS_MOST  16

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

char *device_farm_name(const struct evaluator *evaluator)
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
    g_array_set_size(evaluator->blamed, 0);
}

static bool is_at_hand(const struct evaluator *evaluator, const struct blamed *blamed)
{
    const struct eval_job *job = evaluator->current;
    return job && blamed->campaign == job->work.job->campaign && blamed->job == job->work.job->id;
}

/* Returns blamed jobs to the farm, each once: only the current job if at_hand, else only the
 * jobs that have ended. */
static void return_jobs(struct evaluator *evaluator, bool at_hand)
{
    g_autofree char *device = device_farm_name(evaluator);
    int64_t campaign = 0, job = 0;
    for (guint i = 0; i < evaluator->blamed->len; i++) {
        const struct blamed *at = &g_array_index(evaluator->blamed, struct blamed, i);
        if (at->campaign == campaign && at->job == job)
            continue;
        campaign = at->campaign;
        job = at->job;
        if (is_at_hand(evaluator, at) == at_hand)
            call_return_job(evaluator->agent, at, device);
    }
}

/* Returns the blamed jobs and lifts the quarantine of their configs. The database does not lift
 * a quarantine of a job that stays failed, and an ended job must not become ready while its
 * configs are quarantined. So the order is: return the current job, lift the quarantines, return
 * the ended jobs. */
static void return_blamed(struct evaluator *evaluator)
{
    return_jobs(evaluator, true);
    for (guint i = 0; i < evaluator->blamed->len; i++) {
        const struct blamed *at = &g_array_index(evaluator->blamed, struct blamed, i);
        if (!at->whole)
            call_lift_quarantine(evaluator->agent, at);
    }
    return_jobs(evaluator, false);
    g_array_set_size(evaluator->blamed, 0);
}

/* Makes the quarantined configs of the current job pending again, as the device was to blame,
 * and flushes them. Call it before the calls that may end the job. */
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

/* Blames the device for its faults: lifts the quarantine of the configs and returns their jobs,
 * so that other devices try them again. */
static void absolve(struct evaluator *evaluator)
{
    if (evaluator->current)
        absolve_at_hand(evaluator->current);
    return_blamed(evaluator);
}

/* Blames the device, which is absent or failed its proof, and not the configs. A CPU is never to
 * blame: a crash there is a fault of the code. */
static void absolve_configs(struct evaluator *evaluator)
{
    if (evaluator->target.vendor != VENDOR_CPU)
        absolve(evaluator);
}

void device_lost(struct evaluator *evaluator, const char *why)
{
    absolve_configs(evaluator);
    evaluator_move(evaluator, EVALUATOR_LOST, why);
}

static void device_sick(struct evaluator *evaluator, const char *why)
{
    absolve_configs(evaluator);
    evaluator_move(evaluator, EVALUATOR_SICK, why);
}

void device_was_right(struct evaluator *evaluator)
{
    forget_faults(evaluator);
    g_array_set_size(evaluator->current->suspects, 0);
}

static int faults_of(const struct evaluator *evaluator, const char *solver)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(evaluator->faulty, solver));
}

/* The number of faults by all solvers except the solver with the most faults. */
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

/* The verdict if no proof can be had: the device is sick if at least half of --fault-limit faults
 * are of other solvers than the one with the most faults. One solver's faults prove nothing, since
 * it may crash on every problem and consecutive jobs often have the same solver; nor do a few
 * crashes of other solvers, which may be chance. */
static bool is_sick(const struct evaluator *evaluator)
{
    int limit = evaluator->agent->options->fault_limit;
    return faults_of_others(evaluator) >= MAX(limit / 2, 1);
}

/* Whether the device had enough faults in a row for a proof. A CPU is never suspected: a crash
 * there is a fault of the code. */
static bool is_suspect(const struct evaluator *evaluator)
{
    int limit = evaluator->agent->options->fault_limit;
    return limit > 0 && evaluator->faults >= limit && evaluator->target.vendor != VENDOR_CPU;
}

bool device_failed(struct evaluator *evaluator, int index, const char *detail)
{
    struct eval_job *job = evaluator->current;
    evaluator->faults++;
    const char *solver = job->work.job->solver;
    g_hash_table_replace(evaluator->faulty, g_strdup(solver),
                         GINT_TO_POINTER(faults_of(evaluator, solver) + 1));
    struct blamed blamed = {
        .campaign = job->work.job->campaign, .job = job->work.job->id, .whole = index < 0};
    if (index >= 0) {
        blamed.config = job->work.round->configs[index];
        g_array_append_val(job->suspects, index);
    }
    g_array_append_val(evaluator->blamed, blamed);
    g_free(evaluator->last_fault);
    evaluator->last_fault = g_strdup(detail);
    if (!is_suspect(evaluator))
        return false;
    evaluator_move(evaluator, EVALUATOR_SUSPECT, NULL);
    return true;
}

static char *cut(const char *text)
{
    g_autofree char *start = g_strndup(text, REASON_MAX);
    return g_utf8_make_valid(start, -1);
}

/* "it failed 5 times in a row, with 2 solvers, the last time so: ...". Free with g_free(). */
static char *faults_text(const struct evaluator *evaluator)
{
    guint solvers = g_hash_table_size(evaluator->faulty);
    g_autofree char *last = cut(evaluator->last_fault);
    return g_strdup_printf("it failed %d time%s in a row, with %u solver%s, the last time so: %s",
                           evaluator->faults, evaluator->faults == 1 ? "" : "s", solvers,
                           solvers == 1 ? "" : "s", last);
}

/* Goes on after the proof was right, or could not be had: a job that waited for it ends as it
 * would have ended without a proof. */
static void go_on(struct evaluator *evaluator)
{
    struct eval_job *job = evaluator->current;
    evaluator_move(evaluator, EVALUATOR_GO_ON, NULL);
    if (job->pending_failure != FAILURE_NONE)
        eval_job_fail(job, job->pending_failure, job->pending_detail);
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

void device_proved(struct evaluator *evaluator, const char *failure)
{
    if (failure) {
        g_autofree char *faults = faults_text(evaluator), *last = cut(failure);
        g_autofree char *why =
            g_strdup_printf("%s; and the plain convolution fails on it: %s", faults, last);
        device_sick(evaluator, why);
        return;
    }
    tell_right(evaluator);
    device_was_right(evaluator);
    go_on(evaluator);
}

void device_not_provable(struct evaluator *evaluator)
{
    g_autofree char *why = faults_text(evaluator);
    if (is_sick(evaluator))
        device_sick(evaluator, why);
    else
        go_on(evaluator);
}

/* ---- out of service, and back ---- */

static const char *service_kind(const struct evaluator *evaluator)
{
    return evaluator_is_out(evaluator) ? "device out of service" : "device in service";
}

/* Stores in the worker's row whether the device is in service, and adds a line to the farm's
 * event log. */
static void tell_farm(struct evaluator *evaluator, const char *why)
{
    g_autofree char *device = device_text(evaluator);
    g_autofree char *detail = g_strdup_printf("%s: %s", device, why);
    call_device_service(evaluator->agent, place_of(evaluator),
                        evaluator_is_out(evaluator) ? why : "");
    call_event(evaluator->agent, service_kind(evaluator), NULL, detail);
}

/* Reports a change of the device's service to the log and the database. Before the worker has a
 * row only the log gets it: device_enter() stores it later. */
static void tell(struct evaluator *evaluator, const char *why)
{
    struct log_about about = {.device = evaluator->device};
    g_autofree char *device = device_text(evaluator);
    log_write(evaluator_is_out(evaluator) ? LEVEL_ERROR : LEVEL_INFO,
              evaluator_is_out(evaluator) ? "device_out_of_service" : "device_in_service", &about,
              "%s: %s: %s", service_kind(evaluator), device, why);
    g_free(evaluator->out_reason);
    evaluator->out_reason = evaluator_is_out(evaluator) ? g_strdup(why) : NULL;
    if (!agent_is_starting(evaluator->agent))
        tell_farm(evaluator, why);
}

/* Ends a worker with --until-empty when no device is left in service: the queue would never
 * become empty. */
static void end_without_devices(struct agent *agent, const char *why)
{
    for (guint i = 0; i < agent->evaluators->len; i++)
        if (!evaluator_is_out(agent->evaluators->pdata[i]))
            return;
    if (agent->options->until_empty)
        agent_give_up(agent, "no device is in service any more; the last one: %s", why);
}

void device_take_out(void *object, const void *detail)
{
    struct evaluator *evaluator = object;
    const char *why = detail;
    struct eval_job *job;
    evaluator->away_ticks = 0;
    if (evaluator->current) {
        eval_job_flush(evaluator->current);
        eval_job_release(evaluator->current);
    }
    while ((job = g_queue_pop_head(&evaluator->jobs)))
        eval_job_release(job);
    /* The child gets time to close its device: no tool can reset a device while a process holds
     * it. */
    child_end(evaluator->child, END_SECONDS);
    tell(evaluator, why);
    end_without_devices(evaluator->agent, why);
}

void device_give_up(void *object, const void *detail)
{
    struct evaluator *evaluator = object;
    const char *why = detail;
    struct agent *agent = evaluator->agent;
    evaluator->away_ticks = 0;
    for (guint i = 0; i < agent->evaluators->len; i++) {
        if (!evaluator_is_out(agent->evaluators->pdata[i])) {
            tell(evaluator, why);
            return;
        }
    }
    agent_give_up(agent, "cannot open device '%s': %s", evaluator->device, why);
}

/* Stores the list of devices again. That resets which ones are out of service, so their service
 * is stored again, too. */
static void list_anew(struct agent *agent)
{
    agent_list_devices(agent);
    for (guint i = 0; i < agent->evaluators->len; i++) {
        struct evaluator *evaluator = agent->evaluators->pdata[i];
        if (evaluator_is_out(evaluator))
            call_device_service(agent, (int)i, evaluator->out_reason);
    }
}

void device_enter(struct evaluator *evaluator)
{
    if (evaluator_is_out(evaluator))
        tell_farm(evaluator, evaluator->out_reason);
    else if (!evaluator->listed)
        list_anew(evaluator->agent);
}

/* Tries to open an absent device after 1, 2, 4, 8 and 16 ticks of the flush timer, then after
 * every TICKS_MOST. */
void device_look(struct evaluator *evaluator)
{
    if (evaluator->state != EVALUATOR_AWAY || !child_is_down(evaluator->child))
        return;
    unsigned ticks = ++evaluator->away_ticks;
    if ((ticks & (ticks - 1)) == 0 || ticks % TICKS_MOST == 0)
        evaluator_start(evaluator);
}

void device_return(void *object, const void *detail)
{
    struct evaluator *evaluator = object;
    (void)detail;
    forget_faults(evaluator);
    if (evaluator->target.vendor == VENDOR_CPU && evaluator->agent->options->build > 0)
        agent_begin_turns(evaluator->agent);
    if (!evaluator->listed && agent_is_working(evaluator->agent))
        list_anew(evaluator->agent);
    tell(evaluator, "it opens again");
    agent_changed(evaluator->agent);
}
