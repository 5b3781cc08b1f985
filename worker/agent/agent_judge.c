#include "worker/agent/agent_judge.h"

#include <string.h>

#include "worker/agent/work_check.h"
#include "worker/eval/judge.h"
#include "worker/target_json.h"

#define LIVES         2 /* of build children that it may take with it */
#define ASK_SECONDS   60
#define LOOK_AGAIN_US (30 * G_USEC_PER_SEC) /* in the database, for what others may have built */
#define REFUSAL_MAX   500

enum judge_state {
    JUDGE_QUEUED,  /* for a build child: its toolchain's version, then its code */
    JUDGE_IN_SLOT, /* a build child is asked */
    JUDGE_LOADING, /* the database is asked */
    JUDGE_HERE,
    JUDGE_ABSENT,
};

struct judge_code {
    struct agent *agent;
    struct target target;
    struct solution solution; /* of one launch: what its key is made from */
    const struct toolchain *toolchain;
    enum judge_state state;
    struct kernel_row row; /* key and version once they are known, code at last */
    char hash[PROGRAM_HASH_LENGTH + 1];
    int deaths;
    char *refusal;    /* why no build child of this node makes it, else NULL */
    gint64 looked_us; /* in the database */
    bool told;        /* that it is not there */
};

static const struct launch *launch_of(const struct judge_code *judge)
{
    return &judge->solution.launches[0];
}

static void row_clear(struct kernel_row *row)
{
    char *texts[] = {row->key,
                     row->file,
                     row->entry,
                     row->options,
                     row->arch,
                     row->toolchain,
                     row->toolchain_version,
                     row->log};

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_clear_pointer(&row->code, g_bytes_unref);
    *row = (struct kernel_row){0};
}

static void judge_code_free(gpointer data)
{
    struct judge_code *judge = data;

    row_clear(&judge->row);
    g_free(judge->refusal);
    g_free(judge);
}

GHashTable *judges_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, judge_code_free);
}

static void judge_settle(struct judge_code *judge, enum judge_state state)
{
    judge->state = state;
    agent_kick(judge->agent);
}

static void judge_absent(struct judge_code *judge, const char *why)
{
    if (!judge->told)
        log_write(LEVEL_WARNING, "judge_missing", NULL,
                  "results for %s are verified on the host: %.*s", judge->target.id, REFUSAL_MAX,
                  why);
    judge->told = true;
    judge_settle(judge, JUDGE_ABSENT);
}

/* ---- from the database ---- */

static void judge_queue(struct judge_code *judge)
{
    if (judge->agent->state != AGENT_WORKING) {
        judge_settle(judge, JUDGE_ABSENT);
        return;
    }
    judge->state = JUDGE_QUEUED;
    g_queue_push_tail(&judge->agent->builder->judges, judge);
    agent_kick(judge->agent);
}

static void judge_loaded(void *data, GHashTable *kernels)
{
    struct judge_code *judge = data;
    const struct kernel_row *row = g_hash_table_lookup(kernels, judge->row.key);
    g_autoptr(GError) error = NULL;

    if (row && !work_check_kernel(launch_of(judge), &judge->target, row, &error)) {
        judge_absent(judge, error->message);
    } else if (row && row->code) {
        judge->row.code = g_bytes_ref(row->code);
        judge_settle(judge, JUDGE_HERE);
    } else if (judge->refusal) {
        judge_absent(judge, "its code is not in the database any more");
    } else {
        judge_queue(judge);
    }
}

/* Its key is known. */
static void judge_load(struct judge_code *judge)
{
    GPtrArray *keys = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(keys, g_strdup(judge->row.key));
    judge->state = JUDGE_LOADING;
    call_load(judge->agent, keys, judge_loaded, judge);
}

/* ---- by a build child ---- */

static void take_key(struct judge_code *judge, const char *version)
{
    const struct launch *launch = launch_of(judge);
    char key[KERNEL_KEY_LENGTH + 1];

    kernel_key(judge->hash, launch, &judge->target, judge->toolchain, version, key);
    row_clear(&judge->row);
    judge->row = (struct kernel_row){
        .key = g_strdup(key),
        .file = g_strdup(launch->file),
        .entry = g_strdup(launch->entry),
        .options = g_strdup(launch->options),
        .arch = g_strdup(judge->target.arch),
        .toolchain = g_strdup(judge->toolchain->name),
        .toolchain_version = g_strdup(version),
        .registers = -1,
        .accumulation_registers = -1,
        .scalar_registers = -1,
        .spills = -1,
        .scratch_bytes = -1,
        .local_bytes = -1,
    };
}

/* A row under the key that this program's own text gives it with the row's toolchain. */
static const char *own_version(struct judge_code *judge, const struct kernel_row *row)
{
    char key[KERNEL_KEY_LENGTH + 1];

    judge->toolchain = toolchain_find(row->toolchain);
    if (!judge->toolchain || judge->toolchain->vendor != judge->target.vendor)
        return NULL;
    kernel_key(judge->hash, launch_of(judge), &judge->target, judge->toolchain,
               row->toolchain_version, key);
    return strcmp(key, row->key) == 0 ? row->toolchain_version : NULL;
}

static void judge_searched(void *data, GHashTable *kernels)
{
    struct judge_code *judge = data;
    GHashTableIter iter;
    gpointer row;

    g_hash_table_iter_init(&iter, kernels);
    while (g_hash_table_iter_next(&iter, NULL, &row)) {
        const char *version = own_version(judge, row);
        if (version) {
            take_key(judge, version);
            judge_load(judge);
            return;
        }
    }
    judge_absent(judge, judge->refusal);
}

/* No build child of this node makes it, for that reason; another node may have. */
static void judge_search(struct judge_code *judge, const char *refusal)
{
    g_free(judge->refusal);
    judge->refusal =
        g_strdup_printf("%s, and no other node has built what verifies on the device", refusal);
    judge->looked_us = g_get_monotonic_time();
    judge->state = JUDGE_LOADING;
    call_judges(judge->agent, judge->target.arch, judge_searched, judge);
}

void judge_ask(struct slot *slot)
{
    struct judge_code *judge = g_queue_pop_head(&slot->builder->judges);
    const struct kernel_row *row = &judge->row;
    json_t *head;

    slot->judge = judge;
    judge->state = JUDGE_IN_SLOT;
    if (!row->key)
        head = json_pack("{s:s, s:s, s:o}", "op", "version", "toolchain", judge->toolchain->name,
                         "target", target_to_json(&judge->target));
    else
        head = json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id",
                         slot->builder->next_id++, "toolchain", row->toolchain, "version",
                         row->toolchain_version, "file", row->file, "hash", judge->hash, "entry",
                         row->entry, "options", row->options, "target",
                         target_to_json(&judge->target));
    child_send(slot->child, head, NULL);
    child_set_deadline(slot->child, row->key
                                        ? slot->builder->agent->options->compile_timeout_seconds
                                        : ASK_SECONDS);
    json_decref(head);
}

void judge_version_answered(struct slot *slot, json_t *head)
{
    struct judge_code *judge = g_steal_pointer(&slot->judge);
    const char *version = json_string_value(json_object_get(head, "version"));
    const char *refusal = json_string_value(json_object_get(head, "error"));

    if (version && *version) {
        take_key(judge, version);
        judge_load(judge);
        return;
    }
    judge_search(judge, refusal && *refusal ? refusal : "its toolchain says no version");
}

static void judge_stored(struct agent *agent, void *data, const GError *error)
{
    (void)data;
    if (error)
        agent_refused(agent, NULL, error);
}

/* Without room, or after a compiler's first crash, the next try is in a fresh child with an empty folder. */
static bool try_again(struct slot *slot, struct judge_code *judge, json_t *head)
{
    const char *name = json_string_value(json_object_get(head, "failure"));
    enum failure failure = FAILURE_NONE;
    bool crashed = name && failure_parse(name, &failure) && failure == FAILURE_COMPILER_CRASH;

    if (agent_has_room(judge->agent) && (!crashed || ++judge->deaths >= LIVES))
        return false;
    slot->spoiled = true;
    child_end(slot->child, 0);
    judge_queue(judge);
    return true;
}

void judge_compiled(struct slot *slot, const struct frame *frame)
{
    struct judge_code *judge = g_steal_pointer(&slot->judge);
    struct kernel_row *row = &judge->row;
    const char *log = json_string_value(json_object_get(frame->head, "log"));

    if (!frame->blob && try_again(slot, judge, frame->head))
        return;
    if (!frame->blob) {
        judge_absent(judge, log ? log : "its compiler gave no reason");
        return;
    }
    row->code = g_bytes_ref(frame->blob);
    row->seconds = json_number_value(json_object_get(frame->head, "seconds"));
    row->log = g_strdup(log ? log : "");
    row->built_by = judge->agent->worker;
    call_put_kernel(judge->agent, row, judge_stored, judge);
    judge_settle(judge, JUDGE_HERE);
}

void judge_died(struct slot *slot, const struct child_death *death)
{
    struct judge_code *judge = g_steal_pointer(&slot->judge);

    if (death->end == CHILD_UNBORN || !agent_has_room(judge->agent) || ++judge->deaths < LIVES)
        judge_queue(judge);
    else
        judge_absent(judge, death->text);
}

/* ---- for the pools ---- */

static bool device_verifies(const struct target *target)
{
    const char *said = g_getenv(JUDGE_SETTING);

    if (said && strcmp(said, "device") == 0)
        return true;
    return target->vendor != VENDOR_CPU && !(said && strcmp(said, "host") == 0);
}

static struct judge_code *judge_new_for(struct agent *agent, const struct target *target)
{
    struct judge_code *judge = g_new0(struct judge_code, 1);

    judge->agent = agent;
    judge->target = *target;
    solution_init(&judge->solution);
    solution_add_launch(&judge->solution, JUDGE_FILE, JUDGE_ENTRY);
    g_hash_table_insert(agent->judges, g_strdup(target->id), judge);
    return judge;
}

static void judge_begin(struct judge_code *judge)
{
    g_autoptr(GError) error = NULL;

    row_clear(&judge->row);
    judge->toolchain = toolchain_for_target(&judge->target, &error);
    if (!judge->toolchain || !program_hash(JUDGE_FILE, &judge->target, judge->hash, &error))
        judge_absent(judge, error->message);
    else if (judge->agent->builder->slots->len == 0)
        judge_search(judge, "this node builds nothing");
    else
        judge_queue(judge);
}

void judge_want(struct agent *agent, const struct target *target)
{
    struct judge_code *judge = g_hash_table_lookup(agent->judges, target->id);

    if (agent->state != AGENT_WORKING || !device_verifies(target))
        return;
    if (!judge)
        judge_begin(judge_new_for(agent, target));
    else if (judge->state == JUDGE_ABSENT && judge->refusal &&
             g_get_monotonic_time() - judge->looked_us > LOOK_AGAIN_US)
        judge_begin(judge);
}

static bool comes(const struct judge_code *judge)
{
    return judge->state != JUDGE_HERE && judge->state != JUDGE_ABSENT;
}

bool judge_comes(const struct agent *agent, const struct target *target)
{
    const struct judge_code *judge = g_hash_table_lookup(agent->judges, target->id);

    return judge && comes(judge);
}

bool judges_come(const struct agent *agent)
{
    GHashTableIter iter;
    gpointer judge;

    g_hash_table_iter_init(&iter, agent->judges);
    while (g_hash_table_iter_next(&iter, NULL, &judge)) {
        if (comes(judge))
            return true;
    }
    return false;
}

void judges_stop(struct agent *agent)
{
    GHashTableIter iter;
    gpointer judge;

    g_hash_table_iter_init(&iter, agent->judges);
    while (g_hash_table_iter_next(&iter, NULL, &judge)) {
        if (comes(judge))
            ((struct judge_code *)judge)->state = JUDGE_ABSENT;
    }
}

GBytes *judge_code(const struct agent *agent, const struct target *target, const char **key)
{
    const struct judge_code *judge = g_hash_table_lookup(agent->judges, target->id);

    if (!judge || judge->state != JUDGE_HERE)
        return NULL;
    *key = judge->row.key;
    return judge->row.code;
}
