#include "worker/agent/build/build_pool.h"

#include "worker/agent/build/build_job.h"
#include "worker/agent/build/build_target.h"
#include "worker/agent/build/compilation.h"
#include "worker/agent/build/own_code.h"
#include "worker/agent/eval/evaluator.h"

/* ---- claiming ---- */

static void build_claimed(void *data, struct claimed *claimed)
{
    struct builder *builder = data;
    builder->claiming = false;
    builder->queue_empty = claimed->jobs->len == 0;
    builder->claimed_in_turn += (int)claimed->jobs->len;
    while (claimed->jobs->len > 0)
        build_job_take(builder, claimed);
    agent_schedule(builder->agent);
}

static void builder_claim(struct builder *builder)
{
    struct agent *agent = builder->agent;
    const struct agent_options *options = agent->options;
    int limit = MAX(options->batch, 2 * (int)builder->children->len);
    if (!agent_is_working(agent) || !agent_may_build(agent) || builder->claiming ||
        builder->queue_empty || builder->cannot_build || builder->children->len == 0 ||
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
    if (builder->children->len == 0)
        return "";
    if (!builder->stack)
        build_child_pump(g_ptr_array_index(builder->children, 0));
    return builder->stack;
}

/* Releases the jobs whose campaign's deadline has passed. Kernels that only these jobs need are
 * not compiled. */
static void builder_release_overdue(struct builder *builder)
{
    for (guint i = 0; i < builder->jobs->len; i++) {
        struct build_job *job = g_ptr_array_index(builder->jobs, i);
        if (build_job_is_ending(job) || !work_is_overdue(&job->work))
            continue;
        compilations_withdraw(job);
        build_job_release(job);
    }
}

void builder_pump(Builder *builder)
{
    builder_release_overdue(builder);
    builder_claim(builder);
    if (!agent_is_working(builder->agent))
        return;
    for (guint i = 0; i < builder->children->len; i++)
        build_child_pump(g_ptr_array_index(builder->children, i));
}

void builder_wake(Builder *builder)
{
    builder->queue_empty = false;
}

bool builder_empty(const Builder *builder)
{
    return builder->queue_empty || builder->cannot_build || builder->children->len == 0;
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
    return builder->agent->turn != TURN_BOTH && builder->claimed_in_turn >= AGENT_BUILD_AHEAD;
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
    g_queue_clear(&builder->unknown_targets);
    g_queue_clear(&builder->own_codes);
    own_codes_stop(builder->agent);
    for (guint i = 0; i < builder->children->len; i++)
        build_child_move(g_ptr_array_index(builder->children, i), BUILD_CHILD_STOP, NULL);
    g_hash_table_foreach_remove(builder->compilations, compilation_undone, NULL);
    for (guint i = 0; i < builder->jobs->len; i++)
        build_job_release(g_ptr_array_index(builder->jobs, i));
}

/* ---- the pool ---- */

Builder *builder_new(struct agent *agent, int children)
{
    Builder *builder = g_new0(struct builder, 1);
    builder->agent = agent;
    builder->children = g_ptr_array_new_with_free_func(build_child_free);
    builder->jobs = g_ptr_array_new();
    builder->targets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, build_target_free);
    builder->compilations = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, compilation_free);
    g_queue_init(&builder->ready);
    g_queue_init(&builder->unknown_targets);
    g_queue_init(&builder->own_codes);
    g_queue_init(&builder->rebuilds);
    for (int i = 0; i < children; i++)
        g_ptr_array_add(builder->children, build_child_new(builder, (guint)i));
    return builder;
}

void builder_limit(Builder *builder, int children)
{
    if ((int)builder->children->len > children)
        g_ptr_array_set_size(builder->children, children);
}

void builder_free(Builder *builder)
{
    if (!builder)
        return;
    g_ptr_array_unref(builder->children);
    g_ptr_array_unref(builder->jobs);
    g_hash_table_unref(builder->targets);
    g_hash_table_unref(builder->compilations);
    g_free(builder->stack);
    g_free(builder->refusal);
    g_free(builder);
}
