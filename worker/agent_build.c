/*
 * The build pool: claimed jobs become rounds, rounds become kernels, and each
 * kernel that nobody has compiled yet goes to a build child, once, however many
 * jobs wait for it.
 */
#include <string.h>

#include "kernels/kernel_source.h"
#include "worker/agent_calls.h"
#include "worker/target_json.h"

#define COMPILE_LIVES           2 /* a kernel whose child dies that often is the reason */
#define VERSION_LIVES           3 /* likewise a toolchain that is asked for its version */
#define BUILD_MEMORY_BYTES      (4ull << 30) /* of a compiler; those we know stay below 1 GiB */
#define VERSION_TIMEOUT_SECONDS 60
#define DETAIL_MAX              2000

/* What this node can build for a target; the toolchain's version is asked of a child. */
struct recipient {
    struct target target;
    const struct toolchain *toolchain;
    char *version; /* NULL until known */
    char *refusal; /* why nothing can be built for it here */
    bool queued;
    int deaths;
};

struct build_job {
    struct work work;
    Builder *builder;
    struct recipient *recipient;
    bool planned;
    bool leaving;   /* a call that ends it is under way */
    int missing;    /* kernels that are not there yet, counted a config */
    double seconds; /* compile time */
};

/* A config that waits for a kernel. */
struct need {
    struct build_job *job;
    int index;
};

struct compilation {
    Builder *builder;
    struct kernel_row row;
    struct recipient *recipient;
    GArray *needs; /* struct need */
    int deaths;
    bool over; /* its outcome is known; being stored */
};

struct slot {
    Builder *builder;
    Child *child;
    struct compilation *compilation; /* in flight, or NULL */
    struct recipient *recipient;     /* asked for its toolchain's version, or NULL */
};

struct builder {
    struct agent *agent;
    GPtrArray *slots;
    GPtrArray *jobs;          /* struct build_job * */
    GHashTable *recipients;   /* target id -> struct recipient * */
    GHashTable *compilations; /* key -> struct compilation *, until stored */
    GQueue ready;             /* compilations without a child */
    GQueue unknown;           /* recipients without a version */
    bool claiming, empty, own_target_only, useless;
    int claimed_in_turn;
    json_int_t next_id;
};

static void recipient_free(gpointer data)
{
    struct recipient *recipient = data;
    g_free(recipient->version);
    g_free(recipient->refusal);
    g_free(recipient);
}

static void compilation_free(gpointer data)
{
    struct compilation *compilation = data;
    struct kernel_row *row = &compilation->row;
    char *texts[] = {row->key,        row->file,      row->entry, row->options,
                     row->arch,       row->toolchain, row->log,   row->toolchain_version,
                     row->code_sha256};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_clear_pointer(&row->code, g_bytes_unref);
    g_array_unref(compilation->needs);
    g_free(compilation);
}

/* ---- a job's end in this pool ---- */

static void build_job_gone(struct agent *agent, void *data, const GError *error)
{
    struct build_job *job = data;
    if (error)
        agent_refused(agent, job->work.name, error);
    g_ptr_array_remove_fast(job->builder->jobs, job);
    work_clear(&job->work);
    g_free(job);
    agent_changed(agent);
}

static void build_job_release(struct build_job *job)
{
    if (job->leaving)
        return;
    job->leaving = true;
    call_release_job(job->builder->agent, &job->work, build_job_gone, job);
}

static void build_job_complete(struct build_job *job)
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

/* ---- compilations ---- */

static void need_met(struct need *need, const struct kernel_row *row, double seconds)
{
    struct build_job *job = need->job;
    struct outcome *outcome = &job->work.round->outcomes[need->index];
    outcome->build_seconds += seconds;
    job->seconds += seconds;
    if (row->failure != FAILURE_NONE && outcome->failure == FAILURE_PENDING) {
        g_autofree char *detail = g_strndup(row->log ? row->log : "", DETAIL_MAX);
        g_autofree char *valid = g_utf8_make_valid(detail, -1);
        work_fail_config(&job->work, need->index, row->failure, valid);
    }
    g_assert(job->missing > 0);
    if (--job->missing == 0 && !job->leaving)
        build_job_complete(job);
}

static void compilation_stored(struct agent *agent, void *data, const GError *error)
{
    struct compilation *compilation = data;
    if (error)
        agent_refused(agent, compilation->row.key, error);
    g_hash_table_remove(compilation->builder->compilations, compilation->row.key);
    agent_kick(agent);
}

/* The kernel is stored before the rounds that wait for it: the lane keeps the order. */
static void compilation_finish(struct compilation *compilation)
{
    struct kernel_row *row = &compilation->row;
    compilation->over = true;
    if (row->code)
        row->code_sha256 = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, row->code);
    else
        row->code_sha256 = g_strdup("");
    row->built_by = compilation->builder->agent->worker;
    call_put_kernel(compilation->builder->agent, row, compilation_stored, compilation);
    for (guint i = 0; i < compilation->needs->len; i++)
        need_met(&g_array_index(compilation->needs, struct need, i), row, i ? 0 : row->seconds);
    g_array_set_size(compilation->needs, 0);
}

static void compilation_fail(struct compilation *compilation, enum failure failure,
                             const struct child_death *death)
{
    compilation->row.failure = failure;
    compilation->row.log = g_strdup_printf("%s\n%s", death->text, death->words);
    compilation_finish(compilation);
}

static struct compilation *compilation_new(struct build_job *job, const struct launch *launch,
                                           const char *key)
{
    struct compilation *compilation = g_new0(struct compilation, 1);
    const struct recipient *recipient = job->recipient;
    compilation->builder = job->builder;
    compilation->recipient = job->recipient;
    compilation->needs = g_array_new(FALSE, FALSE, sizeof(struct need));
    compilation->row = (struct kernel_row){
        .key = g_strdup(key),
        .file = g_strdup(launch->file),
        .entry = g_strdup(launch->entry),
        .options = g_strdup(launch->options),
        .arch = g_strdup(recipient->target.arch),
        .toolchain = g_strdup(recipient->toolchain->name),
        .toolchain_version = g_strdup(recipient->version),
    };
    g_hash_table_insert(job->builder->compilations, compilation->row.key, compilation);
    g_queue_push_tail(&job->builder->ready, compilation);
    return compilation;
}

/* ---- from a job to its kernels ---- */

/* The launches of a config whose kernels are distinct, with their keys. */
struct recipe {
    struct solution solution;
    int count;
    const struct launch *launches[SOLUTION_LAUNCHES_MAX];
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
        const struct kernel_source *source = kernel_source_find(recipe->launches[i]->file, &error);
        if (!source) {
            work_fail_config(&job->work, index, FAILURE_REFUSED_BY_CHECK, error->message);
            return false;
        }
        kernel_key(source->sha256, recipe->launches[i], &recipient->target, recipient->toolchain,
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

static void config_compile(struct build_job *job, int index, const struct recipe *recipe,
                           GHashTable *known)
{
    struct builder *builder = job->builder;
    struct need need = {.job = job, .index = index};
    for (int i = 0; i < recipe->count; i++) {
        const struct kernel_row *row = g_hash_table_lookup(known, recipe->keys[i]);
        struct compilation *compilation =
            g_hash_table_lookup(builder->compilations, recipe->keys[i]);
        job->missing++;
        if (row || (compilation && compilation->over)) {
            need_met(&need, row ? row : &compilation->row, 0);
            continue;
        }
        if (!compilation)
            compilation = compilation_new(job, recipe->launches[i], recipe->keys[i]);
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
        if (job->work.round->outcomes[i].failure == FAILURE_PENDING && recipe_make(job, i, &recipe))
            config_compile(job, i, &recipe, known);
    if (--job->missing == 0)
        build_job_complete(job);
    agent_kick(job->builder->agent);
}

static void build_job_plan(struct build_job *job)
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
    round->stack = g_strdup(job->recipient->version);
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

/* ---- toolchains ---- */

static void recipient_refuse(struct builder *builder, struct recipient *recipient, const char *why)
{
    struct agent *agent = builder->agent;
    recipient->refusal = g_strdup(why);
    agent_log("cannot build for %s here: %s", recipient->target.id, why);
    const struct evaluator *first = agent->evaluators->len ? agent->evaluators->pdata[0] : NULL;
    const struct target *own = first ? evaluator_target(first) : NULL;
    /* A claim takes any target or one: after a refusal only our own is left. */
    if (own && strcmp(own->id, recipient->target.id) != 0) {
        builder->own_target_only = true;
        return;
    }
    builder->useless = true;
    agent_give_up(agent, "no job can be built on this node");
}

static void recipient_known(struct builder *builder, struct recipient *recipient)
{
    for (guint i = 0; i < builder->jobs->len; i++) {
        struct build_job *job = g_ptr_array_index(builder->jobs, i);
        if (job->recipient != recipient || job->planned || job->leaving)
            continue;
        if (recipient->refusal)
            build_job_release(job);
        else
            build_job_plan(job);
    }
    agent_kick(builder->agent);
}

static struct recipient *recipient_get(struct builder *builder, const struct target *target)
{
    struct recipient *recipient = g_hash_table_lookup(builder->recipients, target->id);
    if (!recipient) {
        recipient = g_new0(struct recipient, 1);
        g_hash_table_insert(builder->recipients, g_strdup(target->id), recipient);
    }
    recipient->target = *target;
    recipient->toolchain = toolchain_for_target(target);
    if (!recipient->toolchain && !recipient->refusal)
        recipient_refuse(builder, recipient, "no toolchain of this program serves it");
    if (!recipient->version && !recipient->refusal && !recipient->queued) {
        recipient->queued = true;
        g_queue_push_tail(&builder->unknown, recipient);
    }
    return recipient;
}

static void version_answered(struct slot *slot, json_t *head)
{
    struct builder *builder = slot->builder;
    struct recipient *recipient = g_steal_pointer(&slot->recipient);
    const char *version = json_string_value(json_object_get(head, "version"));
    const char *refusal = json_string_value(json_object_get(head, "error"));
    if (version && *version)
        recipient->version = g_strdup(version);
    else
        recipient_refuse(builder, recipient, refusal && *refusal ? refusal : "it says no version");
    recipient_known(builder, recipient);
}

/* ---- children ---- */

static void slot_up(Child *child, void *data)
{
    struct slot *slot = data;
    (void)child;
    agent_kick(slot->builder->agent);
}

static void compiled(struct slot *slot, const struct frame *frame)
{
    struct compilation *compilation = g_steal_pointer(&slot->compilation);
    struct kernel_row *row = &compilation->row;
    const char *failure = json_string_value(json_object_get(frame->head, "failure"));
    const char *log = json_string_value(json_object_get(frame->head, "log"));
    row->log = g_strdup(log ? log : "");
    row->seconds = json_number_value(json_object_get(frame->head, "seconds"));
    if (!failure || !failure_parse(failure, &row->failure))
        row->failure = FAILURE_COMPILER_CRASH;
    if (row->failure == FAILURE_NONE && !frame->blob)
        row->failure = FAILURE_COMPILE_ERROR;
    if (row->failure == FAILURE_NONE)
        row->code = g_bytes_ref(frame->blob);
    compilation_finish(compilation);
}

static void slot_frame(Child *child, const struct frame *frame, void *data)
{
    struct slot *slot = data;
    const char *op = json_string_value(json_object_get(frame->head, "op"));
    child_set_deadline(child, 0);
    if (op && strcmp(op, "version") == 0 && slot->recipient)
        version_answered(slot, frame->head);
    else if (op && strcmp(op, "compiled") == 0 && slot->compilation)
        compiled(slot, frame);
    agent_kick(slot->builder->agent);
}

static void compilation_died(struct slot *slot, const struct child_death *death)
{
    struct compilation *compilation = g_steal_pointer(&slot->compilation);
    if (death->end == CHILD_TIMEOUT)
        compilation_fail(compilation, FAILURE_COMPILE_TIMEOUT, death);
    else if (++compilation->deaths >= COMPILE_LIVES)
        compilation_fail(compilation, FAILURE_COMPILER_CRASH, death);
    else
        g_queue_push_head(&slot->builder->ready, compilation);
}

static void recipient_died(struct slot *slot, const struct child_death *death)
{
    struct recipient *recipient = g_steal_pointer(&slot->recipient);
    if (++recipient->deaths < VERSION_LIVES) {
        g_queue_push_tail(&slot->builder->unknown, recipient);
        return;
    }
    g_autofree char *why = g_strdup_printf("%s: %s", death->text, death->words);
    recipient_refuse(slot->builder, recipient, why);
    recipient_known(slot->builder, recipient);
}

static void slot_died(Child *child, const struct child_death *death, void *data)
{
    struct slot *slot = data;
    struct agent *agent = slot->builder->agent;
    struct compilation *compilation = slot->compilation;
    (void)child;
    g_autofree char *detail =
        g_strdup_printf("%s%s%s %s", death->text, compilation ? ", compiling " : "",
                        compilation ? compilation->row.file : "", death->words);
    if (agent->state == AGENT_WORKING && death->end != CHILD_UNBORN) {
        agent_log("%s", detail);
        call_event(agent, "build child died", NULL, detail);
    }
    if (compilation && death->end != CHILD_UNBORN)
        compilation_died(slot, death);
    else if (compilation)
        g_queue_push_head(&slot->builder->ready, g_steal_pointer(&slot->compilation));
    if (slot->recipient)
        recipient_died(slot, death);
    agent_kick(agent);
}

static void slot_ask_version(struct slot *slot)
{
    slot->recipient = g_queue_pop_head(&slot->builder->unknown);
    json_t *head =
        json_pack("{s:s, s:s, s:o}", "op", "version", "toolchain", slot->recipient->toolchain->name,
                  "target", target_to_json(&slot->recipient->target));
    child_send(slot->child, head, NULL);
    child_set_deadline(slot->child, VERSION_TIMEOUT_SECONDS);
    json_decref(head);
}

static void slot_compile(struct slot *slot)
{
    struct builder *builder = slot->builder;
    struct compilation *compilation = g_queue_pop_head(&builder->ready);
    const struct kernel_row *row = &compilation->row;
    slot->compilation = compilation;
    json_t *head =
        json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id", builder->next_id++,
                  "toolchain", row->toolchain, "file", row->file, "entry", row->entry, "options",
                  row->options, "target", target_to_json(&compilation->recipient->target));
    child_send(slot->child, head, NULL);
    child_set_deadline(slot->child, builder->agent->options->compile_timeout_seconds);
    json_decref(head);
}

static void slot_pump(struct slot *slot)
{
    struct builder *builder = slot->builder;
    if (slot->compilation || slot->recipient)
        return;
    if (!builder->unknown.head && !builder->ready.head)
        return;
    if (child_is_down(slot->child))
        child_start(slot->child);
    else if (child_is_up(slot->child) && builder->unknown.head)
        slot_ask_version(slot);
    else if (child_is_up(slot->child))
        slot_compile(slot);
}

static struct slot *slot_new(struct builder *builder, guint number)
{
    static const struct child_callbacks callbacks = {slot_up, slot_frame, slot_died};
    struct slot *slot = g_new0(struct slot, 1);
    g_autofree char *name = g_strdup_printf("build-%u", number);
    g_auto(GStrv) environment = agent_child_environment(builder->agent, name);
    struct child_spec spec = {
        .role = "build",
        .memory_bytes = BUILD_MEMORY_BYTES,
        .environment = environment,
    };
    slot->builder = builder;
    slot->child = child_new(&builder->agent->loop, &spec, &callbacks, slot);
    return slot;
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
        job->recipient = recipient_get(builder, target);
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
        target = evaluator_target(g_ptr_array_index(agent->evaluators, 0))->id;
    builder->claiming = true;
    call_claim(agent, POOL_BUILD, target, options->batch, build_claimed, builder);
}

void builder_pump(Builder *builder)
{
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

bool builder_busy(const Builder *builder)
{
    return builder->claiming || builder->jobs->len > 0 ||
           g_hash_table_size(builder->compilations) > 0;
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
    for (guint i = 0; i < builder->slots->len; i++) {
        struct slot *slot = g_ptr_array_index(builder->slots, i);
        slot->compilation = NULL;
        slot->recipient = NULL;
        child_end(slot->child, 0);
    }
    g_hash_table_foreach_remove(builder->compilations, compilation_undone, NULL);
    for (guint i = 0; i < builder->jobs->len; i++)
        build_job_release(g_ptr_array_index(builder->jobs, i));
}

/* ---- */

static void slot_free(gpointer data)
{
    struct slot *slot = data;
    child_free(slot->child);
    g_free(slot);
}

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
    for (int i = 0; i < children; i++)
        g_ptr_array_add(builder->slots, slot_new(builder, (guint)i));
    return builder;
}

void builder_free(Builder *builder)
{
    if (!builder)
        return;
    g_ptr_array_unref(builder->slots);
    g_ptr_array_unref(builder->jobs);
    g_hash_table_unref(builder->recipients);
    g_hash_table_unref(builder->compilations);
    g_free(builder);
}
