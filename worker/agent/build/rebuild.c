#include "worker/agent/build/rebuild.h"

#include <string.h>

#include "worker/agent/agent_room.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/build/compilation.h"
#include "worker/agent/eval/eval_answers.h"
#include "worker/agent/work_check.h"

/* After so many deaths of build children, or crashes of compilers, the kernel counts as failed. */
#define LIVES       2
#define REFUSAL_MAX 1000

struct rebuild {
    struct agent *agent;
    /* The job that waits for the kernel; NULL once the job has left its device. */
    struct eval_job *job;
    struct target target;
    struct kernel_row row; /* the row with the new code, which replaces the stored one */
    char hash[PROGRAM_HASH_LENGTH + 1];
    int deaths;
};

static void rebuild_free(struct rebuild *rebuild)
{
    kernel_row_clear(&rebuild->row);
    g_free(rebuild);
}

/* ---- which ---- */

static bool must_rebuild(const struct eval_job *job, const struct kernel_row *row)
{
    if (row->is_own)
        return false;
    return (job->work.target.vendor == VENDOR_CPU && !row->is_trusted) ||
           (job->doubted && g_hash_table_contains(job->doubted, row->key));
}

static char *builder_text(const struct kernel_row *row)
{
    if (!row->builder_login || !*row->builder_login)
        return g_strdup_printf("worker %" G_GINT64_FORMAT ", of a login that is not known",
                               (gint64)row->built_by);
    return g_strdup_printf("login %s on node %s (worker %" G_GINT64_FORMAT ")", row->builder_login,
                           row->builder_node, (gint64)row->built_by);
}

char *rebuild_builders(const struct eval_job *job, int index)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) keys = g_strsplit(job->work.round->kernel_keys[index], ",", -1);

    for (char **key = keys; job->kernels && *key; key++) {
        const struct kernel_row *row = g_hash_table_lookup(job->kernels, *key);
        g_autofree char *text = row && !row->is_own ? builder_text(row) : NULL;
        if (text && !g_ptr_array_find_with_equal_func(texts, text, g_str_equal, NULL))
            g_ptr_array_add(texts, g_steal_pointer(&text));
    }
    if (texts->len == 0)
        return NULL;
    g_ptr_array_add(texts, NULL);
    g_autofree char *joined = g_strjoinv(" and ", (char **)texts->pdata);
    return g_strconcat("its code was built by ", joined, NULL);
}

bool rebuild_doubted(struct eval_job *job, int index, enum failure failure, const char *detail)
{
    g_auto(GStrv) keys = g_strsplit(job->work.round->kernel_keys[index], ",", -1);
    bool any = false;

    for (char **key = keys; *key; key++) {
        const struct kernel_row *row = g_hash_table_lookup(job->kernels, *key);
        if (!row || row->is_own)
            continue;
        if (!job->doubted)
            job->doubted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_hash_table_add(job->doubted, g_strdup(*key));
        any = true;
    }
    if (!any)
        return false;
    job->doubt_index = index;
    job->doubt_failure = failure;
    g_free(job->doubt_detail);
    job->doubt_detail = g_strdup(detail);
    eval_job_move(job, EVAL_JOB_DOUBT, NULL);
    return true;
}

/* ---- the end of a rebuild ---- */

static bool needs(const struct eval_job *job, int index, const char *key)
{
    g_auto(GStrv) keys = g_strsplit(job->work.round->kernel_keys[index], ",", -1);

    return eval_job_is_pending(job, index) && g_strv_contains((const char *const *)keys, key);
}

/* Handles a kernel that cannot be built here. If another login built the kernel, and
 * the config that runs it broke the device, that config is quarantined now: it waited for a build of
 * our own, which would have shown whose fault it was. Where code of that login may not run (on a CPU,
 * unless the campaign trusts it), all other configs that need the kernel fail. */
static void kernel_refused(struct eval_job *job, const char *key, const char *why)
{
    const struct kernel_row *row = g_hash_table_lookup(job->kernels, key);
    g_autofree char *builder = builder_text(row);
    bool is_doubted = job->doubted && g_hash_table_contains(job->doubted, key);

    if (is_doubted && needs(job, job->doubt_index, key)) {
        g_autofree char *detail = g_strdup_printf("%s (and it cannot be built here: %.*s)",
                                                  job->doubt_detail, REFUSAL_MAX, why);
        eval_job_quarantine(job, job->doubt_index, job->doubt_failure, detail);
    }
    if (is_doubted)
        g_hash_table_remove(job->doubted, key);
    if (!must_rebuild(job, row))
        return;
    g_autofree char *detail = g_strdup_printf(
        "its kernel %.12s was built by %s, whom its campaign does not trust, and cannot be built here: "
        "%.*s (skipjack campaign set %" G_GINT64_FORMAT " --trust %s lets its code run)",
        key, builder, REFUSAL_MAX, why, (gint64)job->work.job->campaign,
        *row->builder_login ? row->builder_login : "LOGIN");
    for (int i = 0; i < job->work.round->config_count; i++)
        if (needs(job, i, key))
            work_fail_config(&job->work, i, FAILURE_LOAD_ERROR, detail);
    job->dirty = true;
    eval_job_event(job, "foreign code refused", detail);
}

static void awaited_no_more(struct rebuild *rebuild)
{
    struct eval_job *job = rebuild->job;

    g_ptr_array_remove(job->rebuilds, rebuild);
    rebuild->job = NULL;
    if (job->rebuilds->len == 0)
        eval_job_move(job, EVAL_JOB_REBUILT, NULL);
    agent_schedule(rebuild->agent);
}

static void rebuild_refused(struct rebuild *rebuild, const char *why)
{
    struct eval_job *job = rebuild->job;

    if (job) {
        kernel_refused(job, rebuild->row.key, why);
        awaited_no_more(rebuild);
    }
    rebuild_free(rebuild);
}

static void rebuild_stored(struct agent *agent, void *data, const GError *error)
{
    if (error)
        agent_refused(agent, NULL, error);
    rebuild_free(data);
}

/* Puts the new code into the job's copy of the row: the job's child gets this code from now on. */
static void take_code(struct eval_job *job, const struct kernel_row *built)
{
    struct kernel_row *row = g_hash_table_lookup(job->kernels, built->key);
    g_autofree char *builder = builder_text(row);
    bool same = g_strcmp0(row->code_sha256, built->code_sha256) == 0;
    g_autofree char *detail = g_strdup_printf(
        "kernel %.12s of %s, which %s built, was built here again%s", row->key, row->file, builder,
        same ? ": it is the same" : ", with other code, and that is measured");

    eval_job_event(job, "foreign code built again", detail);
    g_bytes_unref(row->code);
    row->code = g_bytes_ref(built->code);
    g_free(row->code_sha256);
    row->code_sha256 = g_strdup(built->code_sha256);
    row->is_own = true;
    row->built_by = built->built_by;
    if (job->doubted)
        g_hash_table_remove(job->doubted, row->key);
}

/* ---- compiling in a build child ---- */

static void rebuild_queue(struct rebuild *rebuild)
{
    g_queue_push_tail(&rebuild->agent->builder->rebuilds, rebuild);
    agent_schedule(rebuild->agent);
}

void rebuild_ask(struct build_child *child)
{
    struct rebuild *rebuild = g_queue_pop_head(&child->builder->rebuilds);

    child->rebuild = rebuild;
    build_child_send_compile(child, &rebuild->row, rebuild->hash, &rebuild->target);
}

/* Queues the kernel again after a full disk or a compiler's first crash: a fresh child with an
 * empty folder compiles it. Returns false if the failure counts. */
static bool try_again(struct build_child *child, struct rebuild *rebuild, json_t *head)
{
    const char *name = json_string_value(json_object_get(head, "failure"));
    enum failure failure = FAILURE_NONE;
    bool crashed = name && failure_parse(name, &failure) && failure == FAILURE_COMPILER_CRASH;

    if (agent_has_room(rebuild->agent) && (!crashed || ++rebuild->deaths >= LIVES))
        return false;
    build_child_move(child, BUILD_CHILD_DISCARD, NULL);
    rebuild_queue(rebuild);
    return true;
}

void rebuild_compiled(struct build_child *child, const struct frame *frame)
{
    struct rebuild *rebuild = g_steal_pointer(&child->rebuild);
    const char *log = json_string_value(json_object_get(frame->head, "log"));

    if (!rebuild->job) {
        rebuild_free(rebuild);
        return;
    }
    if (!frame->blob) {
        if (!try_again(child, rebuild, frame->head))
            rebuild_refused(rebuild, log ? log : "its compiler gave no reason");
        return;
    }
    kernel_row_fill(&rebuild->row, frame);
    rebuild->row.seconds = json_number_value(json_object_get(frame->head, "seconds"));
    rebuild->row.code_sha256 = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, rebuild->row.code);
    rebuild->row.built_by = rebuild->agent->worker;
    rebuild->row.displaces = true;
    take_code(rebuild->job, &rebuild->row);
    /* The new code is stored before the round that is measured with it, and while the job is
     * still claimed, as the database demands. */
    call_put_kernel(rebuild->agent, &rebuild->row, rebuild_stored, rebuild);
    awaited_no_more(rebuild);
}

void rebuild_died(struct build_child *child, const struct child_death *death)
{
    struct rebuild *rebuild = g_steal_pointer(&child->rebuild);

    if (!rebuild->job)
        rebuild_free(rebuild);
    else if (death->end == CHILD_UNBORN || !agent_has_room(rebuild->agent) ||
             ++rebuild->deaths < LIVES)
        rebuild_queue(rebuild);
    else
        rebuild_refused(rebuild, death->text);
}

void rebuild_drop(struct build_child *child)
{
    struct rebuild *rebuild = g_steal_pointer(&child->rebuild);

    if (!rebuild)
        return;
    if (rebuild->job)
        g_ptr_array_remove(rebuild->job->rebuilds, rebuild);
    rebuild_free(rebuild);
}

/* ---- for the eval pool ---- */

/* Makes the rebuild of a launch's kernel. NULL if this program's source and the row's toolchain
 * give another key than the row has: it is another kernel. */
static struct rebuild *rebuild_new(struct eval_job *job, const struct launch *launch,
                                   const struct kernel_row *row)
{
    const struct toolchain *toolchain = toolchain_find(row->toolchain);
    const struct target *target = &job->work.target;
    char hash[PROGRAM_HASH_LENGTH + 1], key[KERNEL_KEY_LENGTH + 1];

    if (!toolchain || toolchain->vendor != target->vendor ||
        !program_hash(launch->file, target, hash, NULL))
        return NULL;
    kernel_key(hash, launch, target, toolchain, row->toolchain_version, key);
    if (strcmp(key, row->key) != 0)
        return NULL;
    struct rebuild *rebuild = g_new0(struct rebuild, 1);
    rebuild->agent = job->evaluator->agent;
    rebuild->job = job;
    rebuild->target = *target;
    g_strlcpy(rebuild->hash, hash, sizeof rebuild->hash);
    kernel_row_plan(&rebuild->row, key, launch, target, toolchain, row->toolchain_version);
    return rebuild;
}

static bool is_awaited(const struct eval_job *job, const char *key)
{
    for (guint i = 0; i < job->rebuilds->len; i++) {
        const struct rebuild *rebuild = job->rebuilds->pdata[i];
        if (strcmp(rebuild->row.key, key) == 0)
            return true;
    }
    return false;
}

static void kernel_begin(struct eval_job *job, const struct launch *launch,
                         const struct kernel_row *row)
{
    struct rebuild *rebuild;

    if (!row || !row->code || !must_rebuild(job, row) || is_awaited(job, row->key) ||
        !work_check_kernel(launch, &job->work.target, row, NULL))
        return;
    if (job->evaluator->agent->builder->children->len == 0) {
        kernel_refused(job, row->key, "this worker builds nothing");
        return;
    }
    rebuild = rebuild_new(job, launch, row);
    if (!rebuild) {
        kernel_refused(job, row->key, "this program makes another kernel");
        return;
    }
    g_ptr_array_add(job->rebuilds, rebuild);
    rebuild_queue(rebuild);
}

static void config_begin(struct eval_job *job, int index)
{
    struct solution solution;
    int kernel_of[SOLUTION_LAUNCHES_MAX], count;
    g_auto(GStrv) keys = g_strsplit(job->work.round->kernel_keys[index], ",", -1);

    if (!work_solve(&job->work, index, &solution))
        return;
    work_launch_kernels(&solution, kernel_of, &count);
    if ((int)g_strv_length(keys) != count)
        return; /* the config fails when launch_keys() makes its request */
    for (int i = 0; i < solution.launch_count && eval_job_is_pending(job, index); i++)
        kernel_begin(job, &solution.launches[i],
                     g_hash_table_lookup(job->kernels, keys[kernel_of[i]]));
}

void rebuilds_begin(struct eval_job *job)
{
    for (int i = 0; i < job->work.round->config_count; i++)
        if (eval_job_is_pending(job, i))
            config_begin(job, i);
    eval_job_move(job, job->rebuilds->len > 0 ? EVAL_JOB_REBUILD : EVAL_JOB_TRUST, NULL);
}

void rebuilds_withdraw(struct eval_job *job)
{
    GQueue *queue = &job->evaluator->agent->builder->rebuilds;

    for (guint i = 0; i < job->rebuilds->len; i++) {
        struct rebuild *rebuild = job->rebuilds->pdata[i];
        rebuild->job = NULL;
        if (g_queue_remove(queue, rebuild))
            rebuild_free(rebuild);
    }
    g_ptr_array_set_size(job->rebuilds, 0);
}
