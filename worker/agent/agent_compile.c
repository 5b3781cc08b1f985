/*
 * The build pool's kernels: each that nobody has compiled yet goes to a build
 * child, once, however many jobs wait for it.
 */
#include <string.h>

#include "kernels/objects/limits.h"
#include "schema/farm/farm.h"
#include "worker/agent/own_code.h"
#include "worker/agent/rebuild.h"
#include "worker/protocol/target_json.h"

#define COMPILE_LIVES           2 /* a kernel over which child or compiler die that often */
#define VERSION_LIVES           3 /* likewise a toolchain that is asked for its version */
#define BUILD_MEMORY_BYTES      (4ull << 30) /* of a compiler: far beyond what one kernel needs */
#define VERSION_TIMEOUT_SECONDS 60
#define DETAIL_MAX              2000

void recipient_free(gpointer data)
{
    struct recipient *recipient = data;
    g_strfreev(recipient->names);
    g_free(recipient->stack);
    g_free(recipient->version);
    g_free(recipient->refusal);
    g_free(recipient);
}

void compilation_free(gpointer data)
{
    struct compilation *compilation = data;
    struct kernel_row *row = &compilation->row;
    char *texts[] = {row->key,         row->file,        row->entry, row->options,
                     row->arch,        row->toolchain,   row->log,   row->toolchain_version,
                     row->code_sha256, row->instructions};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_clear_pointer(&row->code, g_bytes_unref);
    g_array_unref(compilation->needs);
    g_free(compilation);
}

/* ---- compilations ---- */

/* What its compiler says may end a config before a device sees it. Not the default one: the others are
 * measured against it. */
static void need_within_limits(const struct need *need, const struct kernel_row *row)
{
    struct build_job *job = need->job;
    g_autofree char *excess = NULL;
    if (row->failure != FAILURE_NONE ||
        job->work.round->outcomes[need->index].failure != FAILURE_PENDING)
        return;
    excess = limits_excess(&job->work.target, row->scratch_bytes,
                           MAX(row->local_bytes, 0) + need->local_bytes);
    if (!excess || need->index == work_default_index(&job->work))
        return;
    g_autofree char *detail = g_strdup_printf("%s of %s: %s", row->entry, row->file, excess);
    work_fail_config(&job->work, need->index, FAILURE_OVER_LIMITS, detail);
}

void need_met(struct need *need, const struct kernel_row *row, double seconds)
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
    need_within_limits(need, row);
    g_assert(job->missing > 0);
    if (--job->missing == 0 && !job->leaving)
        build_job_complete(job);
}

static void compilation_stored(struct agent *agent, void *data, const GError *error)
{
    struct compilation *compilation = data;
    if (error)
        agent_refused(agent, NULL, error);
    g_hash_table_remove(compilation->builder->compilations, compilation->row.key);
    agent_kick(agent);
}

/* The kernel is stored before the rounds that wait for it: the lane keeps the order. */
static void compilation_finish(struct compilation *compilation)
{
    struct kernel_row *row = &compilation->row;
    struct agent_counts *counts = &compilation->builder->agent->counts;
    compilation->over = true;
    counts->kernels[row->failure]++;
    counts->compile_seconds += row->seconds;
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

void kernel_row_plan(struct kernel_row *row, const char *key, const struct launch *launch,
                     const struct target *target, const struct toolchain *toolchain,
                     const char *version)
{
    *row = (struct kernel_row){
        .key = g_strdup(key),
        .file = g_strdup(launch->file),
        .entry = g_strdup(launch->entry),
        .options = g_strdup(launch->options),
        .arch = g_strdup(target->arch),
        .toolchain = g_strdup(toolchain->name),
        .toolchain_version = g_strdup(version),
        .registers = -1,
        .accumulation_registers = -1,
        .scalar_registers = -1,
        .spills = -1,
        .scratch_bytes = -1,
        .local_bytes = -1,
    };
}

struct compilation *compilation_new(struct build_job *job, const struct launch *launch,
                                    const char *program_hash, const char *key)
{
    struct compilation *compilation = g_new0(struct compilation, 1);
    const struct recipient *recipient = job->recipient;
    compilation->builder = job->builder;
    compilation->recipient = job->recipient;
    g_strlcpy(compilation->program_hash, program_hash, sizeof(compilation->program_hash));
    compilation->needs = g_array_new(FALSE, FALSE, sizeof(struct need));
    kernel_row_plan(&compilation->row, key, launch, &recipient->target, recipient->toolchain,
                    recipient->version);
    g_hash_table_insert(job->builder->compilations, compilation->row.key, compilation);
    g_queue_push_tail(&job->builder->ready, compilation);
    return compilation;
}

void compilations_withdraw(struct build_job *job)
{
    struct builder *builder = job->builder;
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, builder->compilations);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct compilation *compilation = value;
        for (guint i = compilation->needs->len; i > 0; i--)
            if (g_array_index(compilation->needs, struct need, i - 1).job == job)
                g_array_remove_index(compilation->needs, i - 1);
        if (compilation->needs->len == 0 && g_queue_remove(&builder->ready, compilation))
            g_hash_table_iter_remove(&iter);
    }
}

/* ---- toolchains ---- */

static void recipient_refuse(struct builder *builder, struct recipient *recipient, const char *why)
{
    struct agent *agent = builder->agent;
    g_autofree char *text =
        g_strdup_printf("cannot build for %s here: %s", recipient->target.id, why);
    recipient->refusal = g_strdup(why);
    log_write(LEVEL_ERROR, "toolchain_missing", NULL, "%s", text);
    call_event(agent, FARM_NO_TOOLCHAIN, NULL, text);
    if (!builder->refusal)
        builder->refusal =
            g_strdup_printf("no toolchain of this node serves %s: %s", recipient->target.id, why);
    const struct evaluator *first = agent_first_open(agent);
    const struct target *own = first ? evaluator_target(first) : NULL;
    /* A claim takes any target or one: after a refusal only our own is left. */
    if (own && strcmp(own->id, recipient->target.id) != 0) {
        builder->own_target_only = true;
        return;
    }
    builder->useless = true;
    agent_give_up(agent, "no job can be built here: %s", builder->refusal);
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

struct recipient *recipient_get(struct builder *builder, const struct target *target,
                                const char *stack)
{
    g_auto(GStrv) names = toolchain_names_in(stack, target);
    g_autofree char *key = g_strconcat(target->id, names ? " " : NULL, stack, NULL);
    struct recipient *recipient = g_hash_table_lookup(builder->recipients, key);
    if (!recipient) {
        recipient = g_new0(struct recipient, 1);
        recipient->stack = names ? g_strdup(stack) : NULL;
        recipient->names = g_steal_pointer(&names);
        g_hash_table_insert(builder->recipients, g_steal_pointer(&key), recipient);
    }
    recipient->target = *target;
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
    const char *name = json_string_value(json_object_get(head, "toolchain"));
    const char *version = json_string_value(json_object_get(head, "version"));
    const char *refusal = json_string_value(json_object_get(head, "error"));
    recipient->toolchain = name ? toolchain_find(name) : NULL;
    bool known = recipient->toolchain && version && *version;
    g_autofree char *lacking =
        known && recipient->stack ? toolchain_lacks(recipient->toolchain, version, recipient->stack)
                                  : NULL;
    if (lacking)
        recipient_refuse(builder, recipient, lacking);
    else if (known)
        recipient->version = g_strdup(version);
    else
        recipient_refuse(builder, recipient,
                         refusal && *refusal ? refusal : "no toolchain says its version");
    recipient_known(builder, recipient);
}

/* ---- children ---- */

static void slot_up(Child *child, void *data)
{
    struct slot *slot = data;
    (void)child;
    agent_kick(slot->builder->agent);
}

static enum failure frame_failure(const struct frame *frame)
{
    const char *name = json_string_value(json_object_get(frame->head, "failure"));
    enum failure failure = FAILURE_COMPILER_CRASH;
    if (!name || !failure_parse(name, &failure))
        return FAILURE_COMPILER_CRASH;
    return failure == FAILURE_NONE && !frame->blob ? FAILURE_COMPILE_ERROR : failure;
}

/* Nothing that happens while the disk is full is the kernel's fault: it waits for room, and a child
 * without half a file in its cache. */
static bool lacked_room(struct slot *slot, struct compilation *compilation)
{
    if (agent_has_room(slot->builder->agent))
        return false;
    slot->spoiled = true;
    if (child_is_up(slot->child))
        child_end(slot->child, 0);
    g_queue_push_head(&slot->builder->ready, compilation);
    return true;
}

/* What the child says of a kernel, -1 for nothing: a child may say anything. */
static int64_t fact(json_t *head, const char *name)
{
    json_t *said = json_object_get(head, name);
    return json_is_integer(said) ? CLAMP(json_integer_value(said), -1, G_MAXINT32) : -1;
}

void compilation_facts(struct kernel_row *row, const struct frame *frame)
{
    const char *counts = json_string_value(json_object_get(frame->head, "instructions"));
    const char *log = json_string_value(json_object_get(frame->head, "log"));
    row->code = g_bytes_ref(frame->blob);
    row->log = g_strdup(log ? log : "");
    row->instructions = g_strdup(counts);
    row->registers = (int)fact(frame->head, "registers");
    row->accumulation_registers = (int)fact(frame->head, "accumulation_registers");
    row->scalar_registers = (int)fact(frame->head, "scalar_registers");
    row->spills = (int)fact(frame->head, "spills");
    row->scratch_bytes = fact(frame->head, "scratch_bytes");
    row->local_bytes = fact(frame->head, "local_bytes");
}

static void compiled(struct slot *slot, const struct frame *frame)
{
    struct compilation *compilation = g_steal_pointer(&slot->compilation);
    struct kernel_row *row = &compilation->row;
    enum failure failure = frame_failure(frame);
    const char *log = json_string_value(json_object_get(frame->head, "log"));
    row->seconds += json_number_value(json_object_get(frame->head, "seconds"));
    if (failure != FAILURE_NONE && lacked_room(slot, compilation))
        return;
    /* A compiler in a process of its own dies alone, and its child lives to tell: it counts as the
     * child's death does. */
    if (failure == FAILURE_COMPILER_CRASH && ++compilation->deaths < COMPILE_LIVES) {
        log_write(LEVEL_WARNING, "compiler_crash", NULL,
                  "a compiler crashed, compiling %s; trying it once more", row->file);
        slot->spoiled = true;
        child_end(slot->child, 0);
        g_queue_push_head(&slot->builder->ready, compilation);
        return;
    }
    row->failure = failure;
    if (failure == FAILURE_NONE)
        compilation_facts(row, frame);
    else
        row->log = g_strdup(log ? log : "");
    compilation_finish(compilation);
}

static void stack_answered(struct slot *slot, json_t *head)
{
    const char *stack = json_string_value(json_object_get(head, "stack"));
    slot->asked_stack = false;
    slot->builder->stack = g_strdup(stack ? stack : "");
}

/* A toolchain whose version cannot be asked without a crash is left to the jobs that need it. */
static void stack_died(struct slot *slot)
{
    slot->asked_stack = false;
    if (++slot->builder->stack_deaths >= VERSION_LIVES)
        slot->builder->stack = g_strdup("");
}

static void slot_frame(Child *child, const struct frame *frame, void *data)
{
    struct slot *slot = data;
    const char *op = json_string_value(json_object_get(frame->head, "op"));
    child_set_deadline(child, 0);
    if (op && strcmp(op, "stack") == 0 && slot->asked_stack)
        stack_answered(slot, frame->head);
    else if (op && strcmp(op, "version") == 0 && slot->own)
        own_code_version_answered(slot, frame->head);
    else if (op && strcmp(op, "compiled") == 0 && slot->own)
        own_code_compiled(slot, frame);
    else if (op && strcmp(op, "compiled") == 0 && slot->rebuild)
        rebuild_compiled(slot, frame);
    else if (op && strcmp(op, "version") == 0 && slot->recipient)
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
    else if (lacked_room(slot, compilation))
        return;
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
    if (!slot->spoiled)
        agent_count_death(agent, POOL_BUILD, death);
    slot->spoiled = true;
    g_autofree char *detail =
        g_strdup_printf("%s%s%s %s", death->text, compilation ? ", compiling " : "",
                        compilation ? compilation->row.file : "", death->words);
    if (agent->state == AGENT_WORKING && death->end != CHILD_UNBORN) {
        log_write(LEVEL_WARNING, "build_child_died", NULL, "%s", detail);
        call_event(agent, "build child died", NULL, detail);
    }
    if (compilation && death->end != CHILD_UNBORN)
        compilation_died(slot, death);
    else if (compilation)
        g_queue_push_head(&slot->builder->ready, g_steal_pointer(&slot->compilation));
    if (slot->recipient)
        recipient_died(slot, death);
    if (slot->own)
        own_code_died(slot, death);
    if (slot->rebuild)
        rebuild_died(slot, death);
    if (slot->asked_stack)
        stack_died(slot);
    agent_kick(agent);
}

static void slot_ask_stack(struct slot *slot)
{
    json_t *head = json_pack("{s:s}", "op", "stack");
    slot->asked_stack = true;
    child_send(slot->child, head, NULL);
    child_set_deadline(slot->child, VERSION_TIMEOUT_SECONDS);
    json_decref(head);
}

static void slot_ask_version(struct slot *slot)
{
    slot->recipient = g_queue_pop_head(&slot->builder->unknown);
    json_t *head = json_pack("{s:s, s:o}", "op", "version", "target",
                             target_to_json(&slot->recipient->target));
    if (slot->recipient->names) {
        json_t *names = json_array();
        for (char **name = slot->recipient->names; *name; name++)
            json_array_append_new(names, json_string(*name));
        json_object_set_new(head, "toolchains", names);
    }
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
    json_t *head = json_pack(
        "{s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id", builder->next_id++,
        "toolchain", row->toolchain, "version", row->toolchain_version, "file", row->file, "hash",
        compilation->program_hash, "entry", row->entry, "options", row->options, "target",
        target_to_json(&compilation->recipient->target));
    child_send(slot->child, head, NULL);
    child_set_deadline(slot->child, builder->agent->options->compile_timeout_seconds);
    json_decref(head);
}

static void slot_start(struct slot *slot)
{
    if (slot->spoiled)
        agent_clear_scratch(slot->builder->agent, slot->folder);
    slot->spoiled = false;
    child_start(slot->child);
}

void slot_pump(struct slot *slot)
{
    struct builder *builder = slot->builder;
    if (slot->compilation || slot->recipient || slot->own || slot->rebuild || slot->asked_stack)
        return;
    if (slot->spoiled && !child_is_down(slot->child))
        return; /* it is ending */
    if (builder->stack && !builder->unknown.head && !builder->ready.head &&
        !builder->own_codes.head && !builder->rebuilds.head)
        return;
    if (!agent_has_room(builder->agent))
        return;
    if (child_is_down(slot->child))
        slot_start(slot);
    else if (child_is_up(slot->child) && !builder->stack)
        slot_ask_stack(slot);
    else if (child_is_up(slot->child) && builder->unknown.head)
        slot_ask_version(slot);
    else if (child_is_up(slot->child) && builder->own_codes.head)
        own_code_ask(slot);
    else if (child_is_up(slot->child) && builder->rebuilds.head)
        rebuild_ask(slot);
    else if (child_is_up(slot->child))
        slot_compile(slot);
}

struct slot *slot_new(struct builder *builder, guint number)
{
    static const struct child_callbacks callbacks = {slot_up, slot_frame, slot_died};
    struct slot *slot = g_new0(struct slot, 1);
    g_autofree char *name = g_strdup_printf("build-%u", number);
    g_auto(GStrv) environment = agent_child_environment(builder->agent, name);
    struct child_spec spec = {
        .role = "build",
        .logged = true,
        .memory_bytes = BUILD_MEMORY_BYTES,
        .environment = environment,
    };
    slot->builder = builder;
    slot->folder = g_steal_pointer(&name);
    slot->child = child_new(&builder->agent->loop, &spec, &callbacks, slot);
    return slot;
}

void slot_free(gpointer data)
{
    struct slot *slot = data;
    child_free(slot->child);
    g_free(slot->folder);
    g_free(slot);
}
