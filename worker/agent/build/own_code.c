#include "worker/agent/build/own_code.h"

#include <string.h>

#include "worker/agent/agent_room.h"
#include "worker/agent/build/agent_build_child.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/build/compilation.h"
#include "worker/agent/eval/device_proof.h"
#include "worker/agent/work_check.h"
#include "worker/protocol/target_json.h"
#include "worker/verify/judge.h"

/* After so many deaths of build children, or crashes of compilers, the kernel counts as failed. */
#define LIVES         2
#define ASK_SECONDS   60
/* After this time the database is searched again: another node may have built the code. */
#define LOOK_AGAIN_US (30 * G_USEC_PER_SEC)
#define REFUSAL_MAX   500

enum state {
    /* It waits for a build child that finds its toolchain's version, then compiles it. */
    CODE_QUEUED,
    CODE_ASKED,   /* a build child works on it */
    CODE_LOADING, /* the database was asked for it */
    CODE_HERE,
    CODE_ABSENT,
};

struct own_code {
    struct agent *agent;
    enum own_code_kind kind;
    struct target target;
    /* The one launch of the code's kernel: its key is made from it. */
    struct solution solution;
    /* The toolchain that a build child or the database named; NULL before. */
    const struct toolchain *toolchain;
    enum state state;
    /* Key and toolchain version once they are known; the code when it was compiled or loaded. */
    struct kernel_row row;
    char hash[PROGRAM_HASH_LENGTH + 1];
    int deaths;
    char *refusal;    /* why no build child of this node can compile it, else NULL */
    gint64 looked_us; /* when the database was last searched for it, monotonic time in us */
    bool logged;      /* a warning that the code is missing was logged */
};

/* ---- the two kinds: judge and proof ---- */

static bool device_verifies(const struct target *target)
{
    const char *said = g_getenv(JUDGE_SETTING);

    if (said && strcmp(said, "device") == 0)
        return true;
    return target->vendor != VENDOR_CPU && !(said && strcmp(said, "host") == 0);
}

static bool solve_judge(const struct target *target, struct solution *solution, GError **error)
{
    (void)target;
    (void)error;
    solution_init(solution);
    solution_add_launch(solution, JUDGE_FILE, JUDGE_ENTRY);
    return true;
}

static bool is_gpu(const struct target *target)
{
    return target->vendor != VENDOR_CPU;
}

static const struct kind {
    const char *name, *does, *without;
    bool (*is_for)(const struct target *target);
    bool (*solve)(const struct target *target, struct solution *solution, GError **error);
    void (*search)(struct agent *agent, const char *arch, kernels_fn *done, void *data);
} kinds[] = {
    [OWN_JUDGE] = {"judge", "verifies on the device", "results are verified on the host",
                   device_verifies, solve_judge, call_judges},
    [OWN_PROOF] = {"proof", "proves that a device can compute",
                   "no device is proved before it is out of service", is_gpu, proof_solve,
                   call_proofs},
};

static const struct kind *kind_of(const struct own_code *own)
{
    return &kinds[own->kind];
}

/* The code's key in the agent's table of own codes. Free with g_free(). */
static char *name_of(const struct target *target, enum own_code_kind kind)
{
    return g_strdup_printf("%s %s", kinds[kind].name, target->id);
}

static struct own_code *own_code_find(const struct agent *agent, const struct target *target,
                                      enum own_code_kind kind)
{
    g_autofree char *name = name_of(target, kind);

    return g_hash_table_lookup(agent->own_codes, name);
}

static const struct launch *launch_of(const struct own_code *own)
{
    return &own->solution.launches[0];
}

static void own_code_free(gpointer data)
{
    struct own_code *own = data;

    kernel_row_clear(&own->row);
    g_free(own->refusal);
    g_free(own);
}

GHashTable *own_codes_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, own_code_free);
}

static void own_code_settle(struct own_code *own, enum state state)
{
    own->state = state;
    agent_schedule(own->agent);
}

static void own_code_absent(struct own_code *own, const char *why)
{
    g_autofree char *event = g_strdup_printf("%s_missing", kind_of(own)->name);

    if (!own->logged)
        log_write(LEVEL_WARNING, event, NULL, "%s: %s: %.*s", own->target.id, kind_of(own)->without,
                  REFUSAL_MAX, why);
    own->logged = true;
    own_code_settle(own, CODE_ABSENT);
}

/* ---- loading from the database ---- */

static void own_code_queue(struct own_code *own)
{
    if (!agent_is_working(own->agent)) {
        own_code_settle(own, CODE_ABSENT);
        return;
    }
    own->state = CODE_QUEUED;
    g_queue_push_tail(&own->agent->builder->own_codes, own);
    agent_schedule(own->agent);
}

static void own_code_loaded(void *data, GHashTable *kernels)
{
    struct own_code *own = data;
    const struct kernel_row *row = g_hash_table_lookup(kernels, own->row.key);
    g_autoptr(GError) error = NULL;

    /* On a CPU the code would run with this worker's own rights, so code of another login is not
     * used. */
    if (row && !row->is_own && own->target.vendor == VENDOR_CPU)
        row = NULL;
    if (row && !work_check_kernel(launch_of(own), &own->target, row, &error)) {
        own_code_absent(own, error->message);
    } else if (row && row->code) {
        own->row.code = g_bytes_ref(row->code);
        own_code_settle(own, CODE_HERE);
    } else if (own->refusal) {
        own_code_absent(own, "its code is not in the database any more");
    } else {
        own_code_queue(own);
    }
}

/* Asks the database for the code. Its kernel key must be known. */
static void own_code_load(struct own_code *own)
{
    GPtrArray *keys = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(keys, g_strdup(own->row.key));
    own->state = CODE_LOADING;
    call_load(own->agent, keys, 0, own_code_loaded, own);
}

/* ---- compiling in a build child ---- */

static void take_key(struct own_code *own, const char *version)
{
    const struct launch *launch = launch_of(own);
    char key[KERNEL_KEY_LENGTH + 1];

    kernel_key(own->hash, launch, &own->target, own->toolchain, version, key);
    kernel_row_clear(&own->row);
    kernel_row_plan(&own->row, key, launch, &own->target, own->toolchain, version);
}

/* The version of the stored row's toolchain, if this program's source compiled with it has the
 * row's key; else NULL. */
static const char *own_version(struct own_code *own, const struct kernel_row *row)
{
    char key[KERNEL_KEY_LENGTH + 1];

    own->toolchain = toolchain_find(row->toolchain);
    if (!own->toolchain || own->toolchain->vendor != own->target.vendor)
        return NULL;
    kernel_key(own->hash, launch_of(own), &own->target, own->toolchain, row->toolchain_version,
               key);
    return strcmp(key, row->key) == 0 ? row->toolchain_version : NULL;
}

static void own_code_searched(void *data, GHashTable *kernels)
{
    struct own_code *own = data;
    GHashTableIter iter;
    gpointer row;

    g_hash_table_iter_init(&iter, kernels);
    while (g_hash_table_iter_next(&iter, NULL, &row)) {
        const char *version = own_version(own, row);
        if (version) {
            take_key(own, version);
            own_code_load(own);
            return;
        }
    }
    own_code_absent(own, own->refusal);
}

/* No build child of this node can compile the code, for the reason `refusal`: searches the
 * database for code that another node compiled. */
static void own_code_search(struct own_code *own, const char *refusal)
{
    g_free(own->refusal);
    own->refusal =
        g_strdup_printf("%s, and no other node has built what %s", refusal, kind_of(own)->does);
    own->looked_us = g_get_monotonic_time();
    own->state = CODE_LOADING;
    kind_of(own)->search(own->agent, own->target.arch, own_code_searched, own);
}

bool own_code_has_key(const struct own_code *own)
{
    return own->row.key != NULL;
}

void own_code_ask(struct build_child *child)
{
    struct own_code *own = g_queue_pop_head(&child->builder->own_codes);

    child->own = own;
    own->state = CODE_ASKED;
    if (own_code_has_key(own))
        build_child_send_compile(child, &own->row, own->hash, &own->target);
    else
        build_child_send(
            child, json_pack("{s:s, s:o}", "op", "version", "target", target_to_json(&own->target)),
            ASK_SECONDS);
}

void own_code_version_answered(struct build_child *child, const struct frame *frame)
{
    json_t *head = frame->head;
    struct own_code *own = g_steal_pointer(&child->own);
    const char *name = json_string_value(json_object_get(head, "toolchain"));
    const char *version = json_string_value(json_object_get(head, "version"));
    const char *refusal = json_string_value(json_object_get(head, "error"));

    own->toolchain = name ? toolchain_find(name) : NULL;
    if (own->toolchain && version && *version) {
        take_key(own, version);
        own_code_load(own);
        return;
    }
    own_code_search(own, refusal && *refusal ? refusal : "no toolchain says its version");
}

static void own_code_stored(struct agent *agent, void *data, const GError *error)
{
    (void)data;
    if (error)
        agent_refused(agent, NULL, error);
}

/* Queues the code again after a full disk or a compiler's first crash: a fresh child with an
 * empty folder compiles it. Returns false if the failure counts. */
static bool try_again(struct build_child *child, struct own_code *own, json_t *head)
{
    const char *name = json_string_value(json_object_get(head, "failure"));
    enum failure failure = FAILURE_NONE;
    bool crashed = name && failure_parse(name, &failure) && failure == FAILURE_COMPILER_CRASH;

    if (agent_has_room(own->agent) && (!crashed || ++own->deaths >= LIVES))
        return false;
    build_child_move(child, BUILD_CHILD_DISCARD, NULL);
    own_code_queue(own);
    return true;
}

void own_code_compiled(struct build_child *child, const struct frame *frame)
{
    struct own_code *own = g_steal_pointer(&child->own);
    struct kernel_row *row = &own->row;
    const char *log = json_string_value(json_object_get(frame->head, "log"));

    if (!frame->blob && try_again(child, own, frame->head))
        return;
    if (!frame->blob) {
        own_code_absent(own, log ? log : "its compiler gave no reason");
        return;
    }
    row->code = g_bytes_ref(frame->blob);
    row->seconds = json_number_value(json_object_get(frame->head, "seconds"));
    row->log = g_strdup(log ? log : "");
    row->built_by = own->agent->worker;
    call_put_kernel(own->agent, row, own_code_stored, own);
    own_code_settle(own, CODE_HERE);
}

void own_code_died(struct build_child *child, const struct child_death *death)
{
    struct own_code *own = g_steal_pointer(&child->own);

    if (death->end == CHILD_UNBORN || !agent_has_room(own->agent) || ++own->deaths < LIVES)
        own_code_queue(own);
    else
        own_code_absent(own, death->text);
}

/* ---- called by the pools of build children and of evaluators (own_code.h) ---- */

static struct own_code *own_code_new(struct agent *agent, const struct target *target,
                                     enum own_code_kind kind)
{
    struct own_code *own = g_new0(struct own_code, 1);

    own->agent = agent;
    own->kind = kind;
    own->target = *target;
    g_hash_table_insert(agent->own_codes, name_of(target, kind), own);
    return own;
}

static void own_code_begin(struct own_code *own)
{
    g_autoptr(GError) error = NULL;

    kernel_row_clear(&own->row);
    if (!kind_of(own)->solve(&own->target, &own->solution, &error) ||
        !program_hash(launch_of(own)->file, &own->target, own->hash, &error))
        own_code_absent(own, error->message);
    else if (own->agent->builder->children->len == 0)
        own_code_search(own, "this node builds nothing");
    else
        own_code_queue(own);
}

void own_code_want(struct agent *agent, const struct target *target, enum own_code_kind kind)
{
    struct own_code *own = own_code_find(agent, target, kind);

    if (!agent_is_working(agent) || !kinds[kind].is_for(target))
        return;
    if (!own)
        own_code_begin(own_code_new(agent, target, kind));
    else if (own->state == CODE_ABSENT && own->refusal &&
             g_get_monotonic_time() - own->looked_us > LOOK_AGAIN_US)
        own_code_begin(own);
}

static bool comes(const struct own_code *own)
{
    return own->state != CODE_HERE && own->state != CODE_ABSENT;
}

bool own_code_comes(const struct agent *agent, const struct target *target, enum own_code_kind kind)
{
    const struct own_code *own = own_code_find(agent, target, kind);

    return own && comes(own);
}

bool own_codes_come(const struct agent *agent)
{
    GHashTableIter iter;
    gpointer own;

    g_hash_table_iter_init(&iter, agent->own_codes);
    while (g_hash_table_iter_next(&iter, NULL, &own)) {
        if (comes(own))
            return true;
    }
    return false;
}

void own_codes_stop(struct agent *agent)
{
    GHashTableIter iter;
    gpointer own;

    g_hash_table_iter_init(&iter, agent->own_codes);
    while (g_hash_table_iter_next(&iter, NULL, &own)) {
        if (comes(own))
            ((struct own_code *)own)->state = CODE_ABSENT;
    }
}

GBytes *own_code_bytes(const struct agent *agent, const struct target *target,
                       enum own_code_kind kind, const char **key)
{
    const struct own_code *own = own_code_find(agent, target, kind);

    if (!own || own->state != CODE_HERE)
        return NULL;
    *key = own->row.key;
    return own->row.code;
}
