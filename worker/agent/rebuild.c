#include "worker/agent/rebuild.h"

#include <string.h>

#include "worker/agent/work_check.h"
#include "worker/protocol/target_json.h"

#define LIVES       2 /* of build children that it may take with it */
#define REFUSAL_MAX 1000

struct rebuild {
    struct agent *agent;
    struct eval_job *job; /* that waits for it; NULL once it does not any more */
    struct target target;
    struct kernel_row row; /* what is put in the database */
    char hash[PROGRAM_HASH_LENGTH + 1];
    int deaths;
};

static void rebuild_free(struct rebuild *rebuild)
{
    struct kernel_row *row = &rebuild->row;
    char *texts[] = {
        row->key,       row->file, row->entry,       row->options,      row->arch,
        row->toolchain, row->log,  row->code_sha256, row->instructions, row->toolchain_version};

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_clear_pointer(&row->code, g_bytes_unref);
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
    job->looked = false;
    return true;
}

/* ---- their ends ---- */

static bool needs(const struct eval_job *job, int index, const char *key)
{
    g_auto(GStrv) keys = g_strsplit(job->work.round->kernel_keys[index], ",", -1);

    return eval_job_pending(job, index) && g_strv_contains((const char *const *)keys, key);
}

/* Each config that needs the kernel ends, and the one that broke the device as it would have without this. */
static void kernel_refused(struct eval_job *job, const char *key, const char *why)
{
    const struct kernel_row *row = g_hash_table_lookup(job->kernels, key);
    g_autofree char *builder = builder_text(row);
    bool is_doubted = job->doubted && g_hash_table_contains(job->doubted, key);

    if (is_doubted && needs(job, job->doubt_index, key)) {
        g_autofree char *detail = g_strdup_printf("%s (and it cannot be built here: %.*s)",
                                                  job->doubt_detail, REFUSAL_MAX, why);
        eval_job_condemn(job, job->doubt_index, job->doubt_failure, detail);
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
    g_ptr_array_remove(rebuild->job->rebuilds, rebuild);
    rebuild->job = NULL;
    agent_kick(rebuild->agent);
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

/* The job's row becomes this worker's: what its child is sent from now on is the new code. */
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

/* ---- by a build child ---- */

static void rebuild_queue(struct rebuild *rebuild)
{
    g_queue_push_tail(&rebuild->agent->builder->rebuilds, rebuild);
    agent_kick(rebuild->agent);
}

void rebuild_ask(struct slot *slot)
{
    struct rebuild *rebuild = g_queue_pop_head(&slot->builder->rebuilds);
    const struct kernel_row *row = &rebuild->row;

    slot->rebuild = rebuild;
    json_t *head =
        json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id",
                  slot->builder->next_id++, "toolchain", row->toolchain, "version",
                  row->toolchain_version, "file", row->file, "hash", rebuild->hash, "entry",
                  row->entry, "options", row->options, "target", target_to_json(&rebuild->target));
    child_send(slot->child, head, NULL);
    child_set_deadline(slot->child, slot->builder->agent->options->compile_timeout_seconds);
    json_decref(head);
}

/* Without room, or after a compiler's first crash, the next try is in a fresh child with an empty folder. */
static bool try_again(struct slot *slot, struct rebuild *rebuild, json_t *head)
{
    const char *name = json_string_value(json_object_get(head, "failure"));
    enum failure failure = FAILURE_NONE;
    bool crashed = name && failure_parse(name, &failure) && failure == FAILURE_COMPILER_CRASH;

    if (agent_has_room(rebuild->agent) && (!crashed || ++rebuild->deaths >= LIVES))
        return false;
    slot->spoiled = true;
    child_end(slot->child, 0);
    rebuild_queue(rebuild);
    return true;
}

void rebuild_compiled(struct slot *slot, const struct frame *frame)
{
    struct rebuild *rebuild = g_steal_pointer(&slot->rebuild);
    const char *log = json_string_value(json_object_get(frame->head, "log"));

    if (!rebuild->job) {
        rebuild_free(rebuild);
        return;
    }
    if (!frame->blob) {
        if (!try_again(slot, rebuild, frame->head))
            rebuild_refused(rebuild, log ? log : "its compiler gave no reason");
        return;
    }
    compilation_facts(&rebuild->row, frame);
    rebuild->row.seconds = json_number_value(json_object_get(frame->head, "seconds"));
    rebuild->row.code_sha256 = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, rebuild->row.code);
    rebuild->row.built_by = rebuild->agent->worker;
    rebuild->row.displaces = true;
    take_code(rebuild->job, &rebuild->row);
    /* Before the round that was measured with it: the job is still claimed then. */
    call_put_kernel(rebuild->agent, &rebuild->row, rebuild_stored, rebuild);
    awaited_no_more(rebuild);
}

void rebuild_died(struct slot *slot, const struct child_death *death)
{
    struct rebuild *rebuild = g_steal_pointer(&slot->rebuild);

    if (!rebuild->job)
        rebuild_free(rebuild);
    else if (death->end == CHILD_UNBORN || !agent_has_room(rebuild->agent) ||
             ++rebuild->deaths < LIVES)
        rebuild_queue(rebuild);
    else
        rebuild_refused(rebuild, death->text);
}

void rebuild_drop(struct slot *slot)
{
    struct rebuild *rebuild = g_steal_pointer(&slot->rebuild);

    if (!rebuild)
        return;
    if (rebuild->job)
        g_ptr_array_remove(rebuild->job->rebuilds, rebuild);
    rebuild_free(rebuild);
}

/* ---- for the eval pool ---- */

/* NULL where this program does not make the kernel's key from its own text and the row's toolchain. */
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
    if (job->evaluator->agent->builder->slots->len == 0) {
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
        return; /* its request says so */
    for (int i = 0; i < solution.launch_count && eval_job_pending(job, index); i++)
        kernel_begin(job, &solution.launches[i],
                     g_hash_table_lookup(job->kernels, keys[kernel_of[i]]));
}

bool rebuilds_ready(struct eval_job *job)
{
    if (!job->looked) {
        job->looked = true;
        for (int i = 0; i < job->work.round->config_count; i++)
            if (eval_job_pending(job, i))
                config_begin(job, i);
    }
    return job->rebuilds->len == 0;
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
