/*
 * The build pool's jobs: a claimed job becomes a round, the round's configs
 * become kernels, and when all of them are there the round is stored.
 */
#include "worker/agent/agent_build.h"

#include <string.h>

#include "worker/agent/own_code.h"
#include "worker/agent/rebuild.h"
#include "worker/agent/work_check.h"

/* ---- a job's end in this pool ---- */

static void build_job_refuse(struct build_job *job);

static void build_job_gone(struct agent *agent, void *data, const GError *error)
{
    struct build_job *job = data;
    /* A round that the database finds impossible, or cannot store, ends its job with the database's words. */
    if (agent_ends_job(error) && !job->refused) {
        job->refused = true;
        g_free(job->work.refusal);
        job->work.refusal = g_strdup(error->message);
        build_job_refuse(job);
        return;
    }
    if (agent_ends_job(error) && !job->unstorable) {
        job->unstorable = true;
        call_release_job(agent, &job->work, build_job_gone, job);
        return;
    }
    if (error)
        agent_refused(agent, &job->work, error);
    g_ptr_array_remove_fast(job->builder->jobs, job);
    work_clear(&job->work);
    g_free(job);
    agent_changed(agent);
}

void build_job_release(struct build_job *job)
{
    if (job->leaving)
        return;
    job->leaving = true;
    call_release_job(job->builder->agent, &job->work, build_job_gone, job);
}

void build_job_complete(struct build_job *job)
{
    struct agent *agent = job->builder->agent;
    struct round *round = job->work.round;
    for (int i = 0; i < round->config_count; i++) {
        if (round->outcomes[i].failure == FAILURE_PENDING)
            continue;
        g_free(round->kernel_keys[i]);
        round->kernel_keys[i] = g_strdup("");
    }
    job->leaving = true;
    if (job->seconds > 0)
        call_spent(agent, &job->work, job->seconds / (double)job->builder->slots->len);
    call_built(agent, &job->work, build_job_gone, job);
}

static void build_job_without_round(struct build_job *job)
{
    struct agent *agent = job->builder->agent;
    job->leaving = true;
    if (job->work.job->rounds->len > 0)
        call_finish_job(agent, &job->work, build_job_gone, job);
    else
        call_fail_job(agent, &job->work, FAILURE_REFUSED_BY_CHECK,
                      "every config of its space is quarantined", build_job_gone, job);
}

/* What the database says of it cannot be: the job ends with the reason, and the worker goes on. */
static void build_job_refuse(struct build_job *job)
{
    struct agent *agent = job->builder->agent;
    struct log_about about = work_about(&job->work);
    log_write(LEVEL_ERROR, "job_refused", &about,
              "job %" G_GINT64_FORMAT " of %s: refused by check: %s", (gint64)about.job,
              about.solver, job->work.refusal);
    call_event(agent, "job refused", &job->work, job->work.refusal);
    job->leaving = true;
    call_fail_job(agent, &job->work, FAILURE_REFUSED_BY_CHECK, job->work.refusal, build_job_gone,
                  job);
}

/* ---- from a job to its kernels ---- */

/* The launches of a config whose kernels are distinct, with their keys. */
struct recipe {
    struct solution solution;
    int count;
    const struct launch *launches[SOLUTION_LAUNCHES_MAX];
    char hashes[SOLUTION_LAUNCHES_MAX][PROGRAM_HASH_LENGTH + 1];
    char keys[SOLUTION_LAUNCHES_MAX][KERNEL_KEY_LENGTH + 1];
};

static bool recipe_make(struct build_job *job, int index, struct recipe *recipe)
{
    const struct recipient *recipient = job->recipient;
    int kernel_of[SOLUTION_LAUNCHES_MAX];
    if (!work_solve(&job->work, index, &recipe->solution))
        return false;
    work_launch_kernels(&recipe->solution, kernel_of, &recipe->count);
    for (int i = recipe->solution.launch_count - 1; i >= 0; i--)
        recipe->launches[kernel_of[i]] = &recipe->solution.launches[i];
    for (int i = 0; i < recipe->count; i++) {
        g_autoptr(GError) error = NULL;
        if (!program_hash(recipe->launches[i]->file, &recipient->target, recipe->hashes[i],
                          &error)) {
            work_fail_config(&job->work, index, FAILURE_REFUSED_BY_CHECK, error->message);
            return false;
        }
        kernel_key(recipe->hashes[i], recipe->launches[i], &recipient->target, recipient->toolchain,
                   recipient->version, recipe->keys[i]);
    }
    return true;
}

static char *recipe_keys(const struct recipe *recipe)
{
    GString *joined = g_string_new(NULL);
    for (int i = 0; i < recipe->count; i++)
        g_string_append_printf(joined, "%s%s", i ? "," : "", recipe->keys[i]);
    return g_string_free(joined, FALSE);
}

/* What others say they have built is another kernel: none is built over it, and the config ends. */
static bool recipe_check(struct build_job *job, int index, const struct recipe *recipe,
                         GHashTable *known)
{
    for (int i = 0; i < recipe->count; i++) {
        g_autoptr(GError) error = NULL;
        const struct kernel_row *row = g_hash_table_lookup(known, recipe->keys[i]);
        if (!row || work_check_kernel(recipe->launches[i], &job->recipient->target, row, &error))
            continue;
        work_fail_config(&job->work, index, FAILURE_REFUSED_BY_CHECK, error->message);
        return false;
    }
    return true;
}

static void config_compile(struct build_job *job, int index, const struct recipe *recipe,
                           GHashTable *known)
{
    struct builder *builder = job->builder;
    for (int i = 0; i < recipe->count; i++) {
        struct need need = {job, index, recipe->launches[i]->local_bytes};
        const struct kernel_row *row = g_hash_table_lookup(known, recipe->keys[i]);
        struct compilation *compilation =
            g_hash_table_lookup(builder->compilations, recipe->keys[i]);
        job->missing++;
        if (row || (compilation && compilation->over)) {
            need_met(&need, row ? row : &compilation->row, 0);
            continue;
        }
        if (!compilation)
            compilation =
                compilation_new(job, recipe->launches[i], recipe->hashes[i], recipe->keys[i]);
        g_array_append_val(compilation->needs, need);
    }
}

static void build_job_known(void *data, GHashTable *known)
{
    struct build_job *job = data;
    struct recipe recipe;
    if (job->leaving)
        return;
    /* Held open by one, so that the job is not complete before its last config was looked at. */
    job->missing = 1;
    for (int i = 0; i < job->work.round->config_count; i++)
        if (job->work.round->outcomes[i].failure == FAILURE_PENDING &&
            recipe_make(job, i, &recipe) && recipe_check(job, i, &recipe, known))
            config_compile(job, i, &recipe, known);
    if (--job->missing == 0)
        build_job_complete(job);
    agent_kick(job->builder->agent);
}

void build_job_plan(struct build_job *job)
{
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct recipe recipe;
    job->planned = true;
    if (!work_propose(&job->work)) {
        build_job_without_round(job);
        return;
    }
    struct round *round = job->work.round;
    g_free(round->stack);
    round->stack =
        g_strdup_printf("%s %s", job->recipient->toolchain->name, job->recipient->version);
    for (int c = 0; c < round->config_count; c++) {
        if (!recipe_make(job, c, &recipe))
            continue;
        g_free(round->kernel_keys[c]);
        round->kernel_keys[c] = recipe_keys(&recipe);
        for (int i = 0; i < recipe.count; i++)
            g_hash_table_add(keys, g_strdup(recipe.keys[i]));
    }
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init(&iter, keys);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        g_ptr_array_add(list, key);
        g_hash_table_iter_steal(&iter);
    }
    call_known(job->builder->agent, list, build_job_known, job);
}

/* ---- claiming ---- */

static void build_claimed(void *data, struct claimed *claimed)
{
    struct builder *builder = data;
    builder->claiming = false;
    builder->empty = claimed->jobs->len == 0;
    builder->claimed_in_turn += (int)claimed->jobs->len;
    while (claimed->jobs->len > 0) {
        struct build_job *job = g_new0(struct build_job, 1);
        struct job *stored = g_ptr_array_steal_index(claimed->jobs, 0);
        const struct target *target = g_hash_table_lookup(claimed->targets, stored->target);
        job->builder = builder;
        work_init(&job->work, stored, target, POOL_BUILD, claimed->quarantine);
        g_ptr_array_add(builder->jobs, job);
        if (job->work.refusal) {
            build_job_refuse(job);
            continue;
        }
        job->recipient = recipient_get(builder, target, stored->stack);
        if (!stored->build_only)
            own_code_want(builder->agent, target, OWN_JUDGE);
        if (job->recipient->refusal || builder->agent->state != AGENT_WORKING)
            build_job_release(job);
        else if (job->recipient->version)
            build_job_plan(job);
    }
    agent_kick(builder->agent);
}

static void builder_claim(struct builder *builder)
{
    struct agent *agent = builder->agent;
    const struct agent_options *options = agent->options;
    int limit = MAX(options->batch, 2 * (int)builder->slots->len);
    if (agent->state != AGENT_WORKING || !agent_may_build(agent) || builder->claiming ||
        builder->empty || builder->useless || builder->slots->len == 0 ||
        (int)builder->jobs->len >= limit || builder_full(builder))
        return;
    const char *target = NULL;
    if (builder->own_target_only)
        target = evaluator_target(agent_first_open(agent))->id;
    builder->claiming = true;
    call_claim(agent, POOL_BUILD, target, options->batch, build_claimed, builder);
}

const char *builder_stack(Builder *builder)
{
    if (builder->slots->len == 0)
        return "";
    if (!builder->stack)
        slot_pump(g_ptr_array_index(builder->slots, 0));
    return builder->stack;
}

/* Past its campaign's deadline nothing more is compiled for a job. */
static void builder_release_overdue(struct builder *builder)
{
    for (guint i = 0; i < builder->jobs->len; i++) {
        struct build_job *job = g_ptr_array_index(builder->jobs, i);
        if (job->leaving || !work_is_overdue(&job->work))
            continue;
        compilations_withdraw(job);
        build_job_release(job);
    }
}

void builder_pump(Builder *builder)
{
    builder_release_overdue(builder);
    builder_claim(builder);
    if (builder->agent->state != AGENT_WORKING)
        return;
    for (guint i = 0; i < builder->slots->len; i++)
        slot_pump(g_ptr_array_index(builder->slots, i));
}

void builder_wake(Builder *builder)
{
    builder->empty = false;
}

bool builder_empty(const Builder *builder)
{
    return builder->empty || builder->useless || builder->slots->len == 0;
}

const char *builder_refusal(const Builder *builder)
{
    return builder->refusal;
}

bool builder_busy(const Builder *builder)
{
    return builder->claiming || builder->jobs->len > 0 ||
           g_hash_table_size(builder->compilations) > 0 || own_codes_come(builder->agent);
}

unsigned builder_jobs(const Builder *builder)
{
    return builder->jobs->len;
}

bool builder_full(const Builder *builder)
{
    return builder->agent->take_turns && builder->claimed_in_turn >= AGENT_BUILD_AHEAD;
}

void builder_turn(Builder *builder)
{
    builder->claimed_in_turn = 0;
}

static gboolean compilation_undone(gpointer key, gpointer value, gpointer data)
{
    (void)key;
    (void)data;
    return !((struct compilation *)value)->over;
}

void builder_stop(Builder *builder)
{
    g_queue_clear(&builder->ready);
    g_queue_clear(&builder->unknown);
    g_queue_clear(&builder->own_codes);
    own_codes_stop(builder->agent);
    for (guint i = 0; i < builder->slots->len; i++) {
        struct slot *slot = g_ptr_array_index(builder->slots, i);
        slot->compilation = NULL;
        slot->recipient = NULL;
        slot->own = NULL;
        rebuild_drop(slot);
        slot->asked_stack = false;
        child_end(slot->child, 0);
    }
    g_hash_table_foreach_remove(builder->compilations, compilation_undone, NULL);
    for (guint i = 0; i < builder->jobs->len; i++)
        build_job_release(g_ptr_array_index(builder->jobs, i));
}

/* ---- the pool ---- */

Builder *builder_new(struct agent *agent, int children)
{
    Builder *builder = g_new0(struct builder, 1);
    builder->agent = agent;
    builder->slots = g_ptr_array_new_with_free_func(slot_free);
    builder->jobs = g_ptr_array_new();
    builder->recipients = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, recipient_free);
    builder->compilations = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, compilation_free);
    g_queue_init(&builder->ready);
    g_queue_init(&builder->unknown);
    g_queue_init(&builder->own_codes);
    g_queue_init(&builder->rebuilds);
    for (int i = 0; i < children; i++)
        g_ptr_array_add(builder->slots, slot_new(builder, (guint)i));
    return builder;
}

void builder_limit(Builder *builder, int children)
{
    if ((int)builder->slots->len > children)
        g_ptr_array_set_size(builder->slots, children);
}

void builder_free(Builder *builder)
{
    if (!builder)
        return;
    g_ptr_array_unref(builder->slots);
    g_ptr_array_unref(builder->jobs);
    g_hash_table_unref(builder->recipients);
    g_hash_table_unref(builder->compilations);
    g_free(builder->stack);
    g_free(builder->refusal);
    g_free(builder);
}
