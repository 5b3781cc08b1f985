#include "worker/agent/build/compilation.h"

#include "kernels/objects/limits.h"
#include "worker/agent/agent_room.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/build/build_target.h"

/* A kernel over which this many children or compilers died counts as failed. */
#define COMPILE_LIVES 2
#define DETAIL_MAX    2000

void kernel_row_clear(struct kernel_row *row)
{
    char *texts[] = {row->key,         row->file,        row->entry, row->options,
                     row->arch,        row->toolchain,   row->log,   row->toolchain_version,
                     row->code_sha256, row->instructions};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_clear_pointer(&row->code, g_bytes_unref);
    *row = (struct kernel_row){0};
}

void compilation_free(gpointer data)
{
    struct compilation *compilation = data;
    kernel_row_clear(&compilation->row);
    g_array_unref(compilation->waiting);
    g_free(compilation);
}

/* Fails a config whose kernel needs more local memory or scratch than the target has, so that no
 * device runs it. The default config is measured all the same, since all other configs are
 * compared with it. */
static void waiting_config_check_limits(const struct waiting_config *config,
                                        const struct kernel_row *row)
{
    struct build_job *job = config->job;
    g_autofree char *excess = NULL;
    if (row->failure != FAILURE_NONE ||
        job->work.round->outcomes[config->index].failure != FAILURE_PENDING)
        return;
    excess = limits_excess(&job->work.target, row->scratch_bytes,
                           MAX(row->local_bytes, 0) + config->local_bytes);
    if (!excess || config->index == work_default_index(&job->work))
        return;
    g_autofree char *detail = g_strdup_printf("%s of %s: %s", row->entry, row->file, excess);
    work_fail_config(&job->work, config->index, FAILURE_OVER_LIMITS, detail);
}

void waiting_config_receive(struct waiting_config *config, const struct kernel_row *row,
                            double seconds)
{
    struct build_job *job = config->job;
    struct outcome *outcome = &job->work.round->outcomes[config->index];
    outcome->build_seconds += seconds;
    job->seconds += seconds;
    if (row->failure != FAILURE_NONE && outcome->failure == FAILURE_PENDING) {
        g_autofree char *detail = g_strndup(row->log ? row->log : "", DETAIL_MAX);
        g_autofree char *valid = g_utf8_make_valid(detail, -1);
        work_fail_config(&job->work, config->index, row->failure, valid);
    }
    waiting_config_check_limits(config, row);
    build_job_count_kernel(job);
}

static void compilation_stored(struct agent *agent, void *data, const GError *error)
{
    struct compilation *compilation = data;
    if (error)
        agent_refused(agent, NULL, error);
    g_hash_table_remove(compilation->builder->compilations, compilation->row.key);
    agent_schedule(agent);
}

/* Stores the compiled kernel, then tells the configs that wait for it. The order matters: the
 * lane stores the kernel before the rounds that name it. */
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
    for (guint i = 0; i < compilation->waiting->len; i++)
        waiting_config_receive(&g_array_index(compilation->waiting, struct waiting_config, i), row,
                               i ? 0 : row->seconds);
    g_array_set_size(compilation->waiting, 0);
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
    const struct build_target *build_target = job->build_target;
    compilation->builder = job->builder;
    compilation->target = build_target->target;
    g_strlcpy(compilation->program_hash, program_hash, sizeof(compilation->program_hash));
    compilation->waiting = g_array_new(FALSE, FALSE, sizeof(struct waiting_config));
    kernel_row_plan(&compilation->row, key, launch, &build_target->target, build_target->toolchain,
                    build_target->version);
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
        for (guint i = compilation->waiting->len; i > 0; i--)
            if (g_array_index(compilation->waiting, struct waiting_config, i - 1).job == job)
                g_array_remove_index(compilation->waiting, i - 1);
        if (compilation->waiting->len == 0 && g_queue_remove(&builder->ready, compilation))
            g_hash_table_iter_remove(&iter);
    }
}

static enum failure frame_failure(const struct frame *frame)
{
    const char *name = json_string_value(json_object_get(frame->head, "failure"));
    enum failure failure = FAILURE_COMPILER_CRASH;
    if (!name || !failure_parse(name, &failure))
        return FAILURE_COMPILER_CRASH;
    return failure == FAILURE_NONE && !frame->blob ? FAILURE_COMPILE_ERROR : failure;
}

/* Whether the answer came while the disk was full. Its error then proves nothing about the
 * kernel: once there is room, a fresh child compiles the kernel again. */
static bool lacked_room(struct build_child *child, struct compilation *compilation)
{
    if (agent_has_room(child->builder->agent))
        return false;
    build_child_move(child, BUILD_CHILD_DISCARD, NULL);
    g_queue_push_head(&child->builder->ready, compilation);
    return true;
}

/* A figure that the compiler reported; -1 if the child's answer has no valid one. */
static int64_t fact(json_t *head, const char *name)
{
    json_t *said = json_object_get(head, name);
    return json_is_integer(said) ? CLAMP(json_integer_value(said), -1, G_MAXINT32) : -1;
}

void kernel_row_fill(struct kernel_row *row, const struct frame *frame)
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

void compilation_answered(struct build_child *child, const struct frame *frame)
{
    struct compilation *compilation = g_steal_pointer(&child->compilation);
    struct kernel_row *row = &compilation->row;
    enum failure failure = frame_failure(frame);
    const char *log = json_string_value(json_object_get(frame->head, "log"));
    row->seconds += json_number_value(json_object_get(frame->head, "seconds"));
    if (failure != FAILURE_NONE && lacked_room(child, compilation))
        return;
    /* A compiler that runs as a process of its own may crash without its child. The crash counts
     * like a death of the child, and the kernel is compiled again. */
    if (failure == FAILURE_COMPILER_CRASH && ++compilation->deaths < COMPILE_LIVES) {
        log_write(LEVEL_WARNING, "compiler_crash", NULL,
                  "a compiler crashed, compiling %s; trying it once more", row->file);
        build_child_move(child, BUILD_CHILD_DISCARD, NULL);
        g_queue_push_head(&child->builder->ready, compilation);
        return;
    }
    row->failure = failure;
    if (failure == FAILURE_NONE)
        kernel_row_fill(row, frame);
    else
        row->log = g_strdup(log ? log : "");
    compilation_finish(compilation);
}

void compilation_died(struct build_child *child, const struct child_death *death)
{
    struct compilation *compilation = g_steal_pointer(&child->compilation);
    if (death->end == CHILD_TIMEOUT)
        compilation_fail(compilation, FAILURE_COMPILE_TIMEOUT, death);
    else if (agent_has_room(child->builder->agent) && ++compilation->deaths >= COMPILE_LIVES)
        compilation_fail(compilation, FAILURE_COMPILER_CRASH, death);
    else
        g_queue_push_head(&child->builder->ready, compilation);
}

void compilation_ask(struct build_child *child)
{
    struct compilation *compilation = g_queue_pop_head(&child->builder->ready);
    child->compilation = compilation;
    build_child_send_compile(child, &compilation->row, compilation->program_hash,
                             &compilation->target);
}
