/* The store's call that claims jobs, with what an agent must know of them. */
#include "schema/store/store_events.h"
#include "schema/store/store_problems.h"
#include "worker/agent/agent_calls.h"

struct claim_call {
    struct lane_call call;
    struct agent *agent;
    claimed_fn *done;
    void *data;
    struct claim claim;
    char *target;
    struct claimed claimed;
};

/* The error is of one campaign or one row: the other jobs of the claim are worked on. */
static bool is_partial(const GError *error)
{
    return g_error_matches(error, STORE_ERROR, STORE_ERROR_DAMAGED) ||
           g_error_matches(error, STORE_ERROR, STORE_ERROR_NOT_FOUND) ||
           g_error_matches(error, STORE_ERROR, STORE_ERROR_QUERY);
}

static bool load_targets(struct claimed *claimed, Store *store, GError **error)
{
    for (guint i = 0; i < claimed->jobs->len; i++) {
        struct job *job = g_ptr_array_index(claimed->jobs, i);
        struct target target;
        if (g_hash_table_contains(claimed->targets, job->target))
            continue;
        g_autoptr(GError) damaged = NULL;
        if (!store_get_target(store, job->target, &target, &damaged)) {
            if (!is_partial(damaged)) {
                g_propagate_error(error, g_steal_pointer(&damaged));
                return false;
            }
            if (!job->damage)
                job->damage = g_strdup(damaged->message);
            continue;
        }
        g_hash_table_insert(claimed->targets, g_strdup(job->target),
                            g_memdup2(&target, sizeof(target)));
    }
    return true;
}

/* Only a round that is open already needs to know why a config was taken out. */
static bool quarantine_matters(const struct claim_call *call)
{
    for (guint i = 0; call->claim.pool == POOL_EVAL && i < call->claimed.jobs->len; i++)
        if (((const struct job *)g_ptr_array_index(call->claimed.jobs, i))->quarantined->len > 0)
            return true;
    return false;
}

/* Without the list a config that was taken out since is found so again. */
static bool load_quarantine(struct claimed *claimed, Store *store, GError **error)
{
    g_autoptr(GError) failure = NULL;
    claimed->quarantine = store_list_quarantine(store, &failure);
    if (claimed->quarantine)
        return true;
    if (is_partial(failure)) {
        log_write(LEVEL_WARNING, "quarantine_damaged", NULL,
                  "the list of quarantined configs cannot be read: %s", failure->message);
        claimed->quarantine = g_ptr_array_new();
        return true;
    }
    g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}

static bool run_claim(struct lane_call *base, Store *store, GError **error)
{
    struct claim_call *call = (struct claim_call *)base;
    struct claimed *claimed = &call->claimed;
    if (!claimed->jobs && !(claimed->jobs = store_claim(store, &call->claim, error)))
        return false;
    if (claimed->jobs->len == 0)
        return true;
    if (quarantine_matters(call) && !claimed->quarantine && !load_quarantine(claimed, store, error))
        return false;
    return load_targets(claimed, store, error);
}

/* A worker that stays tries again later; one that ends with the queue cannot tell whether that is empty. */
static void claim_failed(struct agent *agent, const GError *error)
{
    if (g_error_matches(error, STORE_ERROR, STORE_ERROR_QUERY) && !agent->options->until_empty)
        agent_say_failure(agent, "cannot claim jobs", error);
    else
        agent_give_up(agent, "cannot claim jobs: %s", error->message);
}

static void claim_call_done(struct lane_call *base, const GError *error)
{
    struct claim_call *call = (struct claim_call *)base;
    struct claimed *claimed = &call->claimed;
    if (error)
        claim_failed(call->agent, error);
    if (!claimed->jobs)
        claimed->jobs = g_ptr_array_new();
    if (!claimed->quarantine)
        claimed->quarantine = g_ptr_array_new();
    if (error)
        g_ptr_array_set_size(claimed->jobs, 0);
    call->agent->counts.claimed[call->claim.pool] += claimed->jobs->len;
    if (claimed->jobs->len > 0)
        call->agent->pause_ms = 0;
    call->done(call->data, claimed);
    g_ptr_array_unref(claimed->jobs);
    g_ptr_array_unref(claimed->quarantine);
    g_hash_table_unref(claimed->targets);
    g_free(call->target);
    g_free(call);
}

void call_claim(struct agent *agent, enum pool pool, const char *target, int batch,
                claimed_fn *done, void *data)
{
    struct claim_call *call = g_new0(struct claim_call, 1);
    call->call.run = run_claim;
    call->call.done = claim_call_done;
    call->agent = agent;
    call->done = done;
    call->data = data;
    call->target = g_strdup(target);
    call->claimed.targets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    call->claim = (struct claim){
        .worker = agent->worker,
        .pool = pool,
        .campaign = agent->options->campaign,
        .target = call->target,
        .solvers = (const char *const *)(pool == POOL_BUILD ? agent->buildable : agent->solvers),
        .batch = batch,
        .lease_seconds = agent->options->lease_seconds,
    };
    lane_push(agent->data, &call->call);
}
