#include "worker/agent/agent_calls.h"

#include "schema/farm/farm.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_problems.h"

/* ---- struct job_call: a call about one job, or about none ---- */

/* The effect of a successful call on its job's claim: the claim goes on, its round was stored, the
 * job ended, or the job went back to the queue. */
enum job_fate { FATE_GOES_ON, FATE_STORED, FATE_ENDED, FATE_RELEASED };

struct job_call {
    struct lane_call call;
    struct agent *agent;
    call_done_fn *done;
    void *data;
    const struct work *work; /* the job's work; NULL if the call is about no job */
    const struct job *job;
    struct blamed blamed;
    struct round *round;      /* the call's own copy of the round to store, or NULL */
    const struct round *open; /* the job's own */
    struct conditions conditions;
    struct device_use use;
    bool has_use; /* `use` is still to be stored, before the round */
    GArray *kept;
    enum job_fate fate;
    bool stores_round, more;
    enum search_end end;
    double seconds;
    double spent; /* compile seconds that are added to the campaign's before the round is stored */
    /* struct job_call *: calls behind this one whose rounds this call stores, too. */
    GPtrArray *joined;
    int configs; /* configs of the call's round and of the joined rounds */
    /* The round was stored, or refused: a repeated call skips it. */
    bool is_over;
    /* Why the database refused the round; NULL if it was stored. */
    GError *error;
    GError *aside_error;             /* why use was */
    int64_t campaign, worker, place; /* place: a device's index in this worker */
    enum failure failure;
    char *kind, *detail;
    struct perf_config config;
    const struct kernel_row *kernel;
};

/* Each pool counts only outcomes that it found itself: the build pool counts configs that ended
 * without a kernel, the eval pool those with one. */
static void count_configs(struct agent_counts *counts, const struct work *work)
{
    for (int i = 0; i < work->round->config_count; i++) {
        enum failure failure = work->round->outcomes[i].failure;
        bool built = *work->round->kernel_keys[i] != '\0';
        if (failure != FAILURE_PENDING && built == (work->pool == POOL_EVAL))
            counts->configs[failure]++;
    }
}

static void count_job(const struct job_call *call, const GError *error)
{
    struct agent_counts *counts = &call->agent->counts;
    if (call->fate == FATE_GOES_ON)
        return;
    if (error)
        counts->refused[call->work->pool]++;
    else if (call->fate == FATE_RELEASED)
        counts->released[call->work->pool]++;
    else
        counts->stored[call->work->pool]++;
    counts->jobs_ended += !error && call->fate == FATE_ENDED;
    if (!error && call->stores_round)
        count_configs(counts, call->work);
}

static void job_call_end(struct job_call *call, const GError *error)
{
    count_job(call, error);
    if (call->aside_error)
        agent_refused(call->agent, call->work, call->aside_error);
    if (call->done)
        call->done(call->agent, call->data, error);
    else if (error)
        agent_refused(call->agent, call->work, error);
    if (agent_is_ending(call->agent))
        agent_schedule(call->agent); /* an ending agent waits for the last call */
    if (call->round)
        round_free(call->round);
    if (call->kept)
        g_array_unref(call->kept);
    g_clear_error(&call->error);
    g_clear_error(&call->aside_error);
    g_free(call->kind);
    g_free(call->detail);
    g_free(call);
}

static void job_call_done(struct lane_call *base, const GError *error)
{
    struct job_call *call = (struct job_call *)base;
    g_autoptr(GPtrArray) joined = g_steal_pointer(&call->joined);
    job_call_end(call, call->error ? call->error : error);
    for (guint i = 0; joined && i < joined->len; i++) {
        struct job_call *other = joined->pdata[i];
        job_call_end(other, other->error ? other->error : error);
    }
}

typedef bool run_fn(struct lane_call *base, Store *store, GError **error);

static struct job_call *job_call_new(struct agent *agent, run_fn *run, struct work *work)
{
    struct job_call *call = g_new0(struct job_call, 1);
    call->call.run = run;
    call->call.done = job_call_done;
    call->agent = agent;
    call->worker = agent->worker;
    if (work) {
        call->work = work;
        call->job = work->job;
        call->open = work->round;
        call->configs = work->round ? work->round->config_count : 0;
        call->conditions = work->conditions;
        call->campaign = work->job->campaign;
    }
    return call;
}

static void job_call_push(struct job_call *call, call_done_fn *done, void *data)
{
    call->done = done;
    call->data = data;
    lane_push(call->agent->data, &call->call);
}

/* ---- rounds, many by one statement ---- */

#define JOINED_MAX         64
/* Most configs in one statement: a config takes some KiB of it if its compiler printed much. */
#define JOINED_CONFIGS_MAX 10000

/* Lets one statement store several rounds: joins the next call to this one if it stores a round
 * of the same campaign, and the configs of all rounds are not too many for one statement. Adds up
 * the compile seconds of both. A call whose own round is settled already, and that waits to be
 * repeated for the rounds that joined it, would store no more seconds: nothing joins it. */
static bool join_rounds(struct lane_call *base, struct lane_call *next)
{
    struct job_call *call = (struct job_call *)base, *other = (struct job_call *)next;
    if (call->is_over || next->run != base->run || other->campaign != call->campaign ||
        (call->joined && call->joined->len == JOINED_MAX - 1) ||
        call->configs + other->configs > JOINED_CONFIGS_MAX)
        return false;
    call->configs += other->configs;
    if (!call->joined)
        call->joined = g_ptr_array_new();
    g_ptr_array_add(call->joined, other);
    call->spent += other->spent;
    other->spent = 0;
    return true;
}

static bool is_away(const GError *error)
{
    return g_error_matches(error, STORE_ERROR, STORE_ERROR_CONNECTION);
}

/* Stores clocks and temperature of the device, if any were read. Call it before storing
 * outcomes: the claim may end with them, and the conditions would be refused. */
static bool put_conditions(const struct job_call *call, Store *store, const struct round *round,
                           GError **error)
{
    return call->conditions.samples == 0 ||
           store_conditions(store, call->job, round->number, &call->conditions, error);
}

/* The outcome of storing device use or compile seconds, which are stored once however often the
 * call is repeated. A refusal is logged at the call's end, and the round is stored without them.
 * Returns false if the database is away, so that the call is repeated. */
static bool is_settled(struct job_call *call, GError *failure, GError **error)
{
    if (is_away(failure)) {
        g_propagate_error(error, failure);
        return false;
    }
    if (failure && !call->aside_error)
        call->aside_error = failure;
    else
        g_clear_error(&failure);
    return true;
}

static bool put_use(struct job_call *call, Store *store, GError **error)
{
    GError *failure = NULL;
    if (call->has_use)
        store_device_use(store, call->job, &call->use, &failure);
    if (!is_settled(call, failure, error))
        return false;
    call->has_use = false;
    return true;
}

static bool put_spent(struct job_call *call, Store *store, GError **error)
{
    GError *failure = NULL;
    if (call->spent > 0)
        store_add_spent(store, call->campaign, call->spent, &failure);
    if (!is_settled(call, failure, error))
        return false;
    call->spent = 0;
    return true;
}

typedef bool store_many_fn(Store *store, const struct handed *items, int count, GError **refused,
                           GError **error);

static void job_call_is_over(struct job_call *call, GError *error)
{
    call->is_over = true;
    call->error = error;
}

/* Stores the rounds of several calls by one statement. If the statement fails as a whole, stores
 * each round alone, so that one bad round does not stop the others. Returns false if the
 * database is away. */
static bool store_calls(struct job_call **calls, int count, Store *store, store_many_fn *many,
                        GError **error)
{
    struct handed items[JOINED_MAX];
    GError *refused[JOINED_MAX] = {NULL};
    g_autoptr(GError) failure = NULL;
    for (int i = 0; i < count; i++) {
        const GArray *kept = calls[i]->kept;
        items[i] = (struct handed){.job = calls[i]->job,
                                   .round = calls[i]->open,
                                   .kept = kept ? (const struct kept *)(void *)kept->data : NULL,
                                   .kept_count = kept ? (int)kept->len : 0,
                                   .more = calls[i]->more,
                                   .end = calls[i]->end,
                                   .seconds = calls[i]->seconds};
    }
    if (count == 0)
        return true;
    if (many(store, items, count, refused, &failure)) {
        for (int i = 0; i < count; i++)
            job_call_is_over(calls[i], refused[i]);
        return true;
    }
    for (int i = 0; i < count; i++)
        g_clear_error(&refused[i]);
    if (is_away(failure)) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
    }
    if (count == 1) {
        job_call_is_over(calls[0], g_steal_pointer(&failure));
        return true;
    }
    for (int i = 0; i < count; i++)
        if (!store_calls(&calls[i], 1, store, many, error))
            return false;
    return true;
}

/* Stores device use, compile seconds and conditions of a round, before the round itself. */
static bool prepare(struct job_call *call, Store *store, GError **error)
{
    return put_use(call, store, error) && put_spent(call, store, error) &&
           put_conditions(call, store, call->open, error);
}

static bool run_rounds(struct job_call *call, Store *store, store_many_fn *many, GError **error)
{
    struct job_call *calls[JOINED_MAX];
    guint joined = call->joined ? call->joined->len : 0;
    int count = 0;
    for (guint i = 0; i <= joined; i++) {
        struct job_call *at = i == 0 ? call : call->joined->pdata[i - 1];
        GError *failure = NULL;
        if (at->is_over)
            continue;
        if (prepare(at, store, &failure)) {
            calls[count++] = at;
        } else if (is_away(failure)) {
            g_propagate_error(error, failure);
            return false;
        } else {
            job_call_is_over(at, failure);
        }
    }
    if (count > 1)
        log_write(LEVEL_DEBUG, "rounds_joined", NULL, "%d rounds are stored by one statement",
                  count);
    return store_calls(calls, count, store, many, error);
}

static bool run_built(struct lane_call *base, Store *store, GError **error)
{
    return run_rounds((struct job_call *)base, store, store_built_many, error);
}

void call_built(struct agent *agent, struct work *work, double spent, call_done_fn *done,
                void *data)
{
    struct job_call *call = job_call_new(agent, run_built, work);
    call->call.join = join_rounds;
    call->fate = work->job->build_only ? FATE_ENDED : FATE_STORED;
    call->stores_round = true;
    call->spent = spent;
    job_call_push(call, done, data);
}

static bool run_round(struct lane_call *base, Store *store, GError **error)
{
    return run_rounds((struct job_call *)base, store, store_round_many, error);
}

void call_round(struct agent *agent, struct work *work, GArray *kept, bool more,
                enum search_end end, double seconds, const struct device_use *use,
                call_done_fn *done, void *data)
{
    struct job_call *call = job_call_new(agent, run_round, work);
    call->call.join = join_rounds;
    call->kept = kept;
    call->more = more;
    call->end = end;
    call->fate = more ? FATE_STORED : FATE_ENDED;
    call->stores_round = true;
    call->seconds = seconds;
    call->has_use = use != NULL;
    if (use)
        call->use = *use;
    job_call_push(call, done, data);
}

static bool run_final(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    return prepare(call, store, error) &&
           store_final(store, call->job, call->open, call->seconds, error);
}

void call_final(struct agent *agent, struct work *work, double seconds,
                const struct device_use *use, call_done_fn *done, void *data)
{
    struct job_call *call = job_call_new(agent, run_final, work);
    call->fate = FATE_ENDED;
    call->stores_round = true;
    call->seconds = seconds;
    call->has_use = use != NULL;
    if (use)
        call->use = *use;
    job_call_push(call, done, data);
}

/* ---- other calls about a job ---- */

static bool run_partial(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    return put_conditions(call, store, call->round, error) &&
           store_partial(store, call->job, call->round, error);
}

void call_partial(struct agent *agent, struct work *work, call_done_fn *done, void *data)
{
    struct job_call *call = job_call_new(agent, run_partial, work);
    call->round = work_copy_round(work->round);
    job_call_push(call, done, data);
}

static bool run_fail_job(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    return store_fail_job(store, call->job, call->failure, call->detail, error);
}

void call_fail_job(struct agent *agent, struct work *work, enum failure failure, const char *detail,
                   call_done_fn *done, void *data)
{
    struct job_call *call = job_call_new(agent, run_fail_job, work);
    call->failure = failure;
    call->fate = FATE_ENDED;
    call->detail = g_strdup(detail);
    job_call_push(call, done, data);
}

static bool run_finish_job(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    return store_finish_job(store, call->job, call->end, error);
}

void call_finish_job(struct agent *agent, struct work *work, enum search_end end,
                     call_done_fn *done, void *data)
{
    struct job_call *call = job_call_new(agent, run_finish_job, work);
    call->end = end;
    call->fate = FATE_ENDED;
    job_call_push(call, done, data);
}

static bool run_release_job(struct lane_call *base, Store *store, GError **error)
{
    return store_release_job(store, ((struct job_call *)base)->job, error);
}

void call_release_job(struct agent *agent, struct work *work, call_done_fn *done, void *data)
{
    struct job_call *call = job_call_new(agent, run_release_job, work);
    call->fate = FATE_RELEASED;
    job_call_push(call, done, data);
}

static bool run_quarantine(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    return store_quarantine(store, call->job, &call->config, call->failure, call->detail, error);
}

void call_quarantine(struct agent *agent, struct work *work, int index)
{
    struct job_call *call = job_call_new(agent, run_quarantine, work);
    call->config = work->round->configs[index];
    call->failure = work->round->outcomes[index].failure;
    call->detail = g_strdup(work->round->details[index] ? work->round->details[index] : "");
    job_call_push(call, NULL, NULL);
}

static bool run_lift_quarantine(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    const struct job job = {.campaign = call->blamed.campaign, .id = call->blamed.job};
    return store_lift_quarantine(store, &job, &call->blamed.config, error);
}

void call_lift_quarantine(struct agent *agent, const struct blamed *blamed)
{
    struct job_call *call = job_call_new(agent, run_lift_quarantine, NULL);
    call->blamed = *blamed;
    call->campaign = blamed->campaign;
    job_call_push(call, NULL, NULL);
}

static bool run_return_job(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    const struct job job = {.campaign = call->blamed.campaign, .id = call->blamed.job};
    return store_return_job(store, &job, call->worker, call->detail, error);
}

void call_return_job(struct agent *agent, const struct blamed *blamed, const char *device)
{
    struct job_call *call = job_call_new(agent, run_return_job, NULL);
    call->blamed = *blamed;
    call->campaign = blamed->campaign;
    call->detail = g_strdup(device);
    job_call_push(call, NULL, NULL);
}

static bool run_device_use(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    return store_device_use(store, call->job, &call->use, error);
}

void call_device_use(struct agent *agent, struct work *work, const struct device_use *use)
{
    struct job_call *call = job_call_new(agent, run_device_use, work);
    call->use = *use;
    job_call_push(call, NULL, NULL);
}

static bool run_device_service(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    return farm_set_device_service(store, call->worker, (int)call->place, call->detail, error);
}

void call_device_service(struct agent *agent, int place, const char *reason)
{
    struct job_call *call = job_call_new(agent, run_device_service, NULL);
    call->place = place;
    call->detail = g_strdup(reason);
    job_call_push(call, NULL, NULL);
}

static bool run_event(struct lane_call *base, Store *store, GError **error)
{
    struct job_call *call = (struct job_call *)base;
    return store_event(store, call->kind, call->campaign, call->job ? call->job->id : 0,
                       call->worker, call->detail, error);
}

void call_event(struct agent *agent, const char *kind, struct work *work, const char *detail)
{
    struct job_call *call = job_call_new(agent, run_event, work);
    call->kind = g_strdup(kind);
    call->detail = g_strdup(detail);
    job_call_push(call, NULL, NULL);
}

/* A blob store that refuses this node's requests counts as a lost database: the call is repeated
 * until somebody has repaired the store. The kernels and their jobs are not to blame. */
static bool wait_where_refused(bool done, GError **error)
{
    if (!done && g_error_matches(*error, STORE_ERROR, STORE_ERROR_BLOBS))
        (*error)->code = STORE_ERROR_CONNECTION;
    return done;
}

static bool run_put_kernel(struct lane_call *base, Store *store, GError **error)
{
    return wait_where_refused(store_put_kernel(store, ((struct job_call *)base)->kernel, error),
                              error);
}

void call_put_kernel(struct agent *agent, const struct kernel_row *kernel, call_done_fn *done,
                     void *data)
{
    struct job_call *call = job_call_new(agent, run_put_kernel, NULL);
    call->kernel = kernel;
    job_call_push(call, done, data);
}

static bool run_nothing(struct lane_call *base, Store *store, GError **error)
{
    (void)base;
    (void)store;
    (void)error;
    return true;
}

void call_barrier(struct agent *agent, call_done_fn *done, void *data)
{
    job_call_push(job_call_new(agent, run_nothing, NULL), done, data);
}

/* ---- kernels ---- */

struct kernels_call {
    struct lane_call call;
    struct agent *agent;
    kernels_fn *done;
    void *data;
    GPtrArray *keys;
    int64_t campaign; /* the campaign whose workers get the code; 0 for none */
    GHashTable *kernels;
};

static bool run_known(struct lane_call *base, Store *store, GError **error)
{
    struct kernels_call *call = (struct kernels_call *)base;
    call->kernels = store_known_kernels(store, (const char *const *)call->keys->pdata,
                                        (int)call->keys->len, error);
    return call->kernels != NULL;
}

static void kernel_free(gpointer kernel)
{
    kernel_row_free(kernel);
}

/* call->keys holds one text, the architecture, instead of kernel keys. */
static bool run_judges(struct lane_call *base, Store *store, GError **error)
{
    struct kernels_call *call = (struct kernels_call *)base;
    call->kernels = store_judge_kernels(store, g_ptr_array_index(call->keys, 0), error);
    return call->kernels != NULL;
}

static bool run_proofs(struct lane_call *base, Store *store, GError **error)
{
    struct kernels_call *call = (struct kernels_call *)base;
    call->kernels = store_proof_kernels(store, g_ptr_array_index(call->keys, 0), error);
    return call->kernels != NULL;
}

static bool run_load(struct lane_call *base, Store *store, GError **error)
{
    struct kernels_call *call = (struct kernels_call *)base;
    if (!call->kernels)
        call->kernels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, kernel_free);
    for (guint i = 0; i < call->keys->len; i++) {
        g_autoptr(GError) missing = NULL;
        const char *key = g_ptr_array_index(call->keys, i);
        struct kernel_row *kernel = store_get_campaign_kernel(store, key, call->campaign, &missing);
        if (kernel) {
            g_hash_table_replace(call->kernels, g_strdup(key), kernel);
        } else if (g_error_matches(missing, STORE_ERROR, STORE_ERROR_DAMAGED)) {
            /* configs that need the damaged kernel fail, and the job goes on */
            log_write(LEVEL_WARNING, "kernel_damaged", NULL, "%s", missing->message);
        } else if (!g_error_matches(missing, STORE_ERROR, STORE_ERROR_NOT_FOUND)) {
            g_propagate_error(error, g_steal_pointer(&missing));
            return wait_where_refused(false, error);
        }
    }
    return true;
}

static void kernels_call_done(struct lane_call *base, const GError *error)
{
    struct kernels_call *call = (struct kernels_call *)base;
    if (agent_ends_job(error))
        agent_log_failure(call->agent, "cannot read kernels", error);
    else if (error)
        agent_give_up(call->agent, "cannot read kernels: %s", error->message);
    if (!call->kernels)
        call->kernels = g_hash_table_new(g_str_hash, g_str_equal);
    call->done(call->data, call->kernels);
    g_hash_table_unref(call->kernels);
    g_ptr_array_unref(call->keys);
    g_free(call);
}

static void kernels_call_push(struct agent *agent, run_fn *run, GPtrArray *keys, int64_t campaign,
                              kernels_fn *done, void *data)
{
    struct kernels_call *call = g_new0(struct kernels_call, 1);
    call->call.run = run;
    call->call.done = kernels_call_done;
    call->agent = agent;
    call->keys = keys;
    call->campaign = campaign;
    call->done = done;
    call->data = data;
    lane_push(agent->data, &call->call);
}

void call_known(struct agent *agent, GPtrArray *keys, kernels_fn *done, void *data)
{
    kernels_call_push(agent, run_known, keys, 0, done, data);
}

void call_load(struct agent *agent, GPtrArray *keys, int64_t campaign, kernels_fn *done, void *data)
{
    kernels_call_push(agent, run_load, keys, campaign, done, data);
}

static void call_own(struct agent *agent, run_fn *run, const char *arch, kernels_fn *done,
                     void *data)
{
    GPtrArray *keys = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(keys, g_strdup(arch));
    kernels_call_push(agent, run, keys, 0, done, data);
}

void call_judges(struct agent *agent, const char *arch, kernels_fn *done, void *data)
{
    call_own(agent, run_judges, arch, done, data);
}

void call_proofs(struct agent *agent, const char *arch, kernels_fn *done, void *data)
{
    call_own(agent, run_proofs, arch, done, data);
}

/* ---- claims ---- */

struct claim_call {
    struct lane_call call;
    struct agent *agent;
    claimed_fn *done;
    void *data;
    struct claim claim;
    char *target;
    struct claimed claimed;
};

/* Whether the error concerns only one campaign or row of the claim: the claim's other jobs are
 * then worked on. */
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

/* Whether the database has to be asked for quarantined configs: only if an open round holds
 * some. The round has only the fact, the list has the reasons. */
static bool quarantine_matters(const struct claim_call *call)
{
    for (guint i = 0; call->claim.pool == POOL_EVAL && i < call->claimed.jobs->len; i++)
        if (((const struct job *)g_ptr_array_index(call->claimed.jobs, i))->quarantined->len > 0)
            return true;
    return false;
}

/* Reads the claimed jobs' quarantined configs. If that fails the claim goes on without them: a
 * config that was quarantined meanwhile fails again when it is evaluated. */
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

/* After a failed claim a worker tries again later. With --until-empty the worker ends with an
 * error instead: it cannot know whether the queue is empty. */
static void claim_failed(struct agent *agent, const GError *error)
{
    if (g_error_matches(error, STORE_ERROR, STORE_ERROR_QUERY) && !agent->options->until_empty)
        agent_log_failure(agent, "cannot claim jobs", error);
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
