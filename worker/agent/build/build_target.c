#include "worker/agent/build/build_target.h"

#include <string.h>

#include "schema/farm/farm.h"
#include "worker/agent/build/agent_build_child.h"
#include "worker/agent/build/build_job.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/eval/evaluator.h"
#include "worker/protocol/target_json.h"

/* Deaths of build children asked for a target's toolchain after which the target is refused. */
#define VERSION_LIVES   3
#define VERSION_SECONDS 60

void build_target_free(gpointer data)
{
    struct build_target *build_target = data;
    g_strfreev(build_target->names);
    g_free(build_target->stack);
    g_free(build_target->version);
    g_free(build_target->refusal);
    g_free(build_target);
}

static void build_target_refuse(struct builder *builder, struct build_target *build_target,
                                const char *why)
{
    struct agent *agent = builder->agent;
    g_autofree char *text =
        g_strdup_printf("cannot build for %s here: %s", build_target->target.id, why);
    build_target->refusal = g_strdup(why);
    log_write(LEVEL_ERROR, "toolchain_missing", NULL, "%s", text);
    call_event(agent, FARM_NO_TOOLCHAIN, NULL, text);
    if (!builder->refusal)
        builder->refusal = g_strdup_printf("no toolchain of this node serves %s: %s",
                                           build_target->target.id, why);
    const struct evaluator *first = agent_first_open(agent);
    const struct target *own = first ? evaluator_target(first) : NULL;
    /* A claim asks for jobs of any target or of one target. Claiming for any target would bring
     * jobs of the refused one again, so only jobs for this node's own target are claimed from
     * now on. */
    if (own && strcmp(own->id, build_target->target.id) != 0) {
        builder->own_target_only = true;
        return;
    }
    builder->cannot_build = true;
    agent_give_up(agent, "no job can be built here: %s", builder->refusal);
}

static void build_target_known(struct builder *builder, struct build_target *build_target)
{
    for (guint i = 0; i < builder->jobs->len; i++) {
        struct build_job *job = g_ptr_array_index(builder->jobs, i);
        if (job->build_target != build_target || job->state != BUILD_JOB_WAITING)
            continue;
        if (build_target->refusal)
            build_job_release(job);
        else
            build_job_plan(job);
    }
    agent_schedule(builder->agent);
}

struct build_target *build_target_get(struct builder *builder, const struct target *target,
                                      const char *stack)
{
    g_auto(GStrv) names = toolchain_names_in(stack, target);
    g_autofree char *key = g_strconcat(target->id, names ? " " : NULL, stack, NULL);
    struct build_target *build_target = g_hash_table_lookup(builder->targets, key);
    if (!build_target) {
        build_target = g_new0(struct build_target, 1);
        build_target->stack = names ? g_strdup(stack) : NULL;
        build_target->names = g_steal_pointer(&names);
        g_hash_table_insert(builder->targets, g_steal_pointer(&key), build_target);
    }
    build_target->target = *target;
    if (!build_target->version && !build_target->refusal && !build_target->queued) {
        build_target->queued = true;
        g_queue_push_tail(&builder->unknown_targets, build_target);
    }
    return build_target;
}

void build_target_answered(struct build_child *child, const struct frame *frame)
{
    json_t *head = frame->head;
    struct builder *builder = child->builder;
    struct build_target *build_target = g_steal_pointer(&child->build_target);
    const char *name = json_string_value(json_object_get(head, "toolchain"));
    const char *version = json_string_value(json_object_get(head, "version"));
    const char *refusal = json_string_value(json_object_get(head, "error"));
    build_target->toolchain = name ? toolchain_find(name) : NULL;
    bool known = build_target->toolchain && version && *version;
    g_autofree char *lacking =
        known && build_target->stack
            ? toolchain_lacks(build_target->toolchain, version, build_target->stack)
            : NULL;
    if (lacking)
        build_target_refuse(builder, build_target, lacking);
    else if (known)
        build_target->version = g_strdup(version);
    else
        build_target_refuse(builder, build_target,
                            refusal && *refusal ? refusal : "no toolchain says its version");
    build_target_known(builder, build_target);
}

void build_target_died(struct build_child *child, const struct child_death *death)
{
    struct build_target *build_target = g_steal_pointer(&child->build_target);
    if (++build_target->deaths < VERSION_LIVES) {
        g_queue_push_tail(&child->builder->unknown_targets, build_target);
        return;
    }
    g_autofree char *why = g_strdup_printf("%s: %s", death->text, death->words);
    build_target_refuse(child->builder, build_target, why);
    build_target_known(child->builder, build_target);
}

void build_target_ask(struct build_child *child)
{
    child->build_target = g_queue_pop_head(&child->builder->unknown_targets);
    json_t *head = json_pack("{s:s, s:o}", "op", "version", "target",
                             target_to_json(&child->build_target->target));
    if (child->build_target->names) {
        json_t *names = json_array();
        for (char **name = child->build_target->names; *name; name++)
            json_array_append_new(names, json_string(*name));
        json_object_set_new(head, "toolchains", names);
    }
    build_child_send(child, head, VERSION_SECONDS);
}
