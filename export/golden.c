#include "export/golden.h"

#include "export/code_names.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *golden_finding_name(enum golden_finding finding)
{
    static const char *const names[GOLDEN_FINDING_COUNT] = {
        [GOLDEN_NEW_PROBLEM] = "new problem",
        [GOLDEN_NEW_SOLVER] = "new solver",
        [GOLDEN_OTHER_REVISION] = "other revision",
        [GOLDEN_NOT_VALID] = "not valid today",
        [GOLDEN_OTHER_STACK] = "other stack",
        [GOLDEN_BETTER] = "better",
        [GOLDEN_SHARED_KERNEL] = "shared kernel",
        [GOLDEN_WITHIN_NOISE] = "within noise",
        [GOLDEN_WORSE] = "worse",
        [GOLDEN_REFUSED] = "refused",
        [GOLDEN_STALE_LEFT] = "stale left",
        [GOLDEN_KERNEL_LEFT] = "shared kernel left",
    };
    return names[finding];
}

static void refusal_free(void *data)
{
    struct golden_refusal *refusal = data;
    g_free(refusal->problem);
    g_free(refusal->solver);
    g_free(refusal->reason);
    g_free(refusal);
}

void golden_summary_clear(struct golden_summary *summary)
{
    g_clear_pointer(&summary->target, g_free);
    g_clear_pointer(&summary->refused, g_ptr_array_unref);
}

/* A problem with a solver: the results of one job. */
struct entry {
    char *key;
    GPtrArray *results;        /* struct result *, borrowed */
    const struct result *best; /* of the lowest rank */
    bool passes;               /* the best one */
    enum refusal why;          /* where it does not */
    char *reason;
    bool taken; /* of the campaign: goes into the proposal; of the base: is replaced */
};

/* Entries in the order of their best results, and by key. */
struct side {
    GPtrArray *entries; /* struct entry * */
    GHashTable *by_key;
    GHashTable *problems; /* ids of those that have an entry */
    struct gate gate;
};

static void entry_free(void *data)
{
    struct entry *entry = data;
    g_free(entry->key);
    g_free(entry->reason);
    g_ptr_array_unref(entry->results);
    g_free(entry);
}

static void side_clear(struct side *side)
{
    g_clear_pointer(&side->entries, g_ptr_array_unref);
    g_clear_pointer(&side->by_key, g_hash_table_unref);
    g_clear_pointer(&side->problems, g_hash_table_unref);
    gate_clear(&side->gate);
}

/* One whose job is not the campaign's has no problem: it stays an entry of its own, and is refused. */
static char *entry_key(const struct result *result)
{
    return result->problem_id != 0 ? g_strdup_printf("%" G_GINT64_FORMAT " %s",
                                                     (gint64)result->problem_id, result->solver)
                                   : g_strdup_printf("job %" G_GINT64_FORMAT, (gint64)result->job);
}

static void add_result(struct side *side, struct result *result)
{
    g_autofree char *key = entry_key(result);
    struct entry *entry = g_hash_table_lookup(side->by_key, key);
    if (entry == NULL) {
        entry = g_new0(struct entry, 1);
        entry->key = g_steal_pointer(&key);
        entry->results = g_ptr_array_new();
        entry->best = result;
        g_ptr_array_add(side->entries, entry);
        g_hash_table_insert(side->by_key, entry->key, entry);
        g_hash_table_add(side->problems, &result->problem_id);
    }
    g_ptr_array_add(entry->results, result);
    if (result->rank < entry->best->rank) {
        entry->best = result;
    }
}

static bool gate_entry(struct side *side, struct code_names *names, guint index, GError **error)
{
    struct entry *entry = side->entries->pdata[index];
    struct candidate *passed = gate_pass(&side->gate, entry->best, &entry->why, &entry->reason);
    bool done =
        passed == NULL || (code_names_add(names, index, &side->gate, passed->kernels, error) &&
                           code_names_bind(names, index, &entry->reason, error));
    if (passed != NULL && entry->reason != NULL) {
        entry->why = REFUSAL_KERNEL;
    }
    entry->passes = entry->reason == NULL;
    candidate_free(passed);
    return done;
}

/* Groups the results, and asks the gate for the best one of each entry. */
static bool side_init(struct side *side, Store *store, const char *target, const GPtrArray *results,
                      GError **error)
{
    memset(side, 0, sizeof *side);
    side->entries = g_ptr_array_new_with_free_func(entry_free);
    side->by_key = g_hash_table_new(g_str_hash, g_str_equal);
    side->problems = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < results->len; i++) {
        add_result(side, results->pdata[i]);
    }
    struct code_names names = {0};
    sqlite3 *db = sqlite_file_scratch(":memory:", CODE_NAMES_SCHEMA, error);
    bool done = db != NULL && code_names_init(&names, db, 0, error) &&
                gate_init(&side->gate, store, target, error) &&
                gate_learn_kernels(&side->gate, store, results, error);
    for (guint i = 0; done && i < side->entries->len; i++) {
        done = gate_entry(side, &names, i, error);
    }
    code_names_clear(&names);
    sqlite_file_close(db);
    return done;
}

struct comparison {
    const struct golden_wish *wish;
    struct golden_summary *summary;
    struct side base, fresh;
    GHashTable *misfits; /* keys of the base's entries whose stack is not the one wanted */
    GHashTable *codes;   /* "file\noptions" -> code_sha256 of what is taken */
    GArray *takes;       /* struct golden_take */
};

/* ---- kernels that share a name ---- */

/* Calls back for each kernel of the entry's best config; stops at true, and returns it. */
static bool any_kernel(const struct side *side, const struct entry *entry, GHashTable *codes,
                       bool (*look)(GHashTable *codes, const struct kernel_row *kernel))
{
    g_auto(GStrv) keys = g_strsplit(entry->best->kept.kernel_keys, ",", -1);
    for (char **key = keys; *key != NULL; key++) {
        const struct kernel_row *kernel = g_hash_table_lookup(side->gate.kernels, *key);
        if (kernel != NULL && look(codes, kernel)) {
            return true;
        }
    }
    return false;
}

static char *code_name(const struct kernel_row *kernel)
{
    return g_strconcat(kernel->file, "\n", kernel->options, NULL);
}

static bool note_code(GHashTable *codes, const struct kernel_row *kernel)
{
    g_hash_table_replace(codes, code_name(kernel), kernel->code_sha256);
    return false;
}

static bool has_other_code(GHashTable *codes, const struct kernel_row *kernel)
{
    g_autofree char *name = code_name(kernel);
    const char *taken = g_hash_table_lookup(codes, name);
    return taken != NULL && strcmp(taken, kernel->code_sha256) != 0;
}

/* ---- one entry ---- */

/* All that was kept of the job comes along: exports with limits choose among it. */
static void take(struct comparison *comparison, struct entry *entry, enum golden_finding reason)
{
    struct entry *old = g_hash_table_lookup(comparison->base.by_key, entry->key);
    for (guint i = 0; i < entry->results->len; i++) {
        const struct result *result = entry->results->pdata[i];
        if (result->verified && result->damage == NULL) {
            const struct golden_take taken = {result, golden_finding_name(reason)};
            g_array_append_val(comparison->takes, taken);
        }
    }
    any_kernel(&comparison->fresh, entry, comparison->codes, note_code);
    comparison->summary->counts[reason]++;
    entry->taken = true;
    if (old != NULL) {
        old->taken = true;
    }
}

static enum golden_finding compare_times(const struct golden_wish *wish, const struct outcome *old,
                                         const struct outcome *fresh)
{
    double gap = old->median_ms - fresh->median_ms;
    double range = (old->spread * old->median_ms + fresh->spread * fresh->median_ms) / 2;
    if (!(fabs(gap) > wish->noise * range) || fabs(gap) < wish->gain * old->median_ms) {
        return GOLDEN_WITHIN_NOISE;
    }
    return gap > 0 ? GOLDEN_BETTER : GOLDEN_WORSE;
}

/* GOLDEN_FINDING_COUNT where the base's entry holds. */
static enum golden_finding find_stale(const struct comparison *comparison, const struct entry *old)
{
    if (!old->passes) {
        return old->why == REFUSAL_SOLVER ? GOLDEN_OTHER_REVISION : GOLDEN_NOT_VALID;
    }
    return g_hash_table_contains(comparison->misfits, old->key) ? GOLDEN_OTHER_STACK
                                                                : GOLDEN_FINDING_COUNT;
}

static enum golden_finding judge(const struct comparison *comparison, const struct entry *fresh)
{
    const struct entry *old = g_hash_table_lookup(comparison->base.by_key, fresh->key);
    if (!fresh->passes) {
        return GOLDEN_REFUSED;
    }
    if (old == NULL) {
        return g_hash_table_contains(comparison->base.problems, &fresh->best->problem_id)
                   ? GOLDEN_NEW_SOLVER
                   : GOLDEN_NEW_PROBLEM;
    }
    enum golden_finding stale = find_stale(comparison, old);
    return stale != GOLDEN_FINDING_COUNT ? stale
                                         : compare_times(comparison->wish, &old->best->kept.outcome,
                                                         &fresh->best->kept.outcome);
}

static void refuse(struct golden_summary *summary, const struct entry *entry)
{
    char key[PROBLEM_KEY_MAX];
    const struct result *result = entry->best;
    struct golden_refusal *refusal = g_new0(struct golden_refusal, 1);
    refusal->job = result->job;
    refusal->problem = g_strdup(result->problem_id != 0 ? problem_key(&result->problem, key) : "");
    refusal->solver = g_strdup(result->solver);
    refusal->reason = g_strdup_printf("%s: %s", refusal_name(entry->why), entry->reason);
    g_ptr_array_add(summary->refused, refusal);
}

/* ---- all of them ---- */

/* Replaces entries of the base whose kernels lost their name, which may take names in turn; true while
 * something changes. */
static bool follow_names(struct comparison *comparison, enum golden_finding *found)
{
    bool changed = false;
    for (guint i = 0; i < comparison->fresh.entries->len; i++) {
        struct entry *fresh = comparison->fresh.entries->pdata[i];
        const struct entry *old = g_hash_table_lookup(comparison->base.by_key, fresh->key);
        if (fresh->taken || !fresh->passes || old == NULL ||
            !any_kernel(&comparison->base, old, comparison->codes, has_other_code)) {
            continue;
        }
        found[i] = GOLDEN_SHARED_KERNEL;
        take(comparison, fresh, GOLDEN_SHARED_KERNEL);
        changed = true;
    }
    return changed;
}

static void count_left(struct comparison *comparison)
{
    int *counts = comparison->summary->counts;
    for (guint i = 0; i < comparison->base.entries->len; i++) {
        const struct entry *old = comparison->base.entries->pdata[i];
        if (old->taken) {
            continue;
        }
        counts[GOLDEN_STALE_LEFT] += find_stale(comparison, old) != GOLDEN_FINDING_COUNT;
        counts[GOLDEN_KERNEL_LEFT] +=
            any_kernel(&comparison->base, old, comparison->codes, has_other_code);
    }
}

static void compare(struct comparison *comparison)
{
    const GPtrArray *entries = comparison->fresh.entries;
    g_autofree enum golden_finding *found = g_new(enum golden_finding, entries->len);
    for (guint i = 0; i < entries->len; i++) {
        struct entry *entry = entries->pdata[i];
        found[i] = judge(comparison, entry);
        if (found[i] < GOLDEN_TAKEN_COUNT) {
            take(comparison, entry, found[i]);
        } else if (found[i] == GOLDEN_REFUSED) {
            refuse(comparison->summary, entry);
        }
    }
    while (follow_names(comparison, found)) {
    }
    for (guint i = 0; i < entries->len; i++) {
        comparison->summary->counts[found[i]] += found[i] >= GOLDEN_TAKEN_COUNT;
    }
    count_left(comparison);
}

static void note_misfits(struct comparison *comparison, const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++) {
        const struct golden_row *row = rows->pdata[i];
        if (!row->fits) {
            g_hash_table_add(comparison->misfits, entry_key(&row->result));
        }
    }
}

static char *counts_json(const int *counts)
{
    json_t *object = json_object();
    for (int i = 0; i < GOLDEN_FINDING_COUNT; i++) {
        if (counts[i] > 0) {
            json_object_set_new(object, golden_finding_name((enum golden_finding)i),
                                json_integer(counts[i]));
        }
    }
    char *dumped = json_dumps(object, JSON_COMPACT);
    char *text = g_strdup(dumped);
    free(dumped);
    json_decref(object);
    return text;
}

static bool propose(Store *store, struct comparison *comparison, GError **error)
{
    struct golden_summary *summary = comparison->summary;
    compare(comparison);
    if (comparison->takes->len == 0) {
        return true;
    }
    g_autofree char *counts = counts_json(summary->counts);
    const struct golden_proposal proposal = {
        .target = summary->target,
        .base = summary->base,
        .campaign = comparison->wish->campaign,
        .by = comparison->wish->by,
        .note = comparison->wish->note != NULL ? comparison->wish->note : "",
        .takes = (const struct golden_take *)(void *)comparison->takes->data,
        .take_count = (int)comparison->takes->len,
        .counts = counts,
    };
    return store_propose_golden(store, &proposal, &summary->version, &summary->is_new, error);
}

static bool compare_and_propose(Store *store, const struct golden_wish *wish,
                                const GPtrArray *results, const GPtrArray *rows,
                                struct golden_summary *summary, GError **error)
{
    struct comparison comparison = {.wish = wish, .summary = summary};
    comparison.misfits = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    comparison.codes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    comparison.takes = g_array_new(FALSE, FALSE, sizeof(struct golden_take));
    note_misfits(&comparison, rows);
    bool done = side_init(&comparison.base, store, summary->target, rows, error) &&
                side_init(&comparison.fresh, store, summary->target, results, error) &&
                propose(store, &comparison, error);
    side_clear(&comparison.base);
    side_clear(&comparison.fresh);
    g_hash_table_unref(comparison.misfits);
    g_hash_table_unref(comparison.codes);
    g_array_unref(comparison.takes);
    return done;
}

static bool find_base(Store *store, const struct golden_wish *wish, struct golden_summary *summary,
                      GError **error)
{
    int newest = 0;
    if (!store_newest_golden(store, summary->target, &newest, error)) {
        return false;
    }
    summary->base = wish->base < 0 ? newest : wish->base;
    if (summary->base != newest) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_STATE,
                    "version %d is not the newest approved one of %s, which is %d: a proposal is "
                    "built on that one",
                    summary->base, summary->target, newest);
        return false;
    }
    return true;
}

bool golden_propose(Store *store, const struct golden_wish *wish, struct golden_summary *summary,
                    GError **error)
{
    memset(summary, 0, sizeof *summary);
    summary->refused = g_ptr_array_new_with_free_func(refusal_free);
    struct campaign *campaign = store_get_campaign(store, wish->campaign, error);
    if (campaign == NULL) {
        return false;
    }
    summary->target = g_strdup(campaign->target);
    g_autofree char *stack = g_strdup(campaign->stack);
    campaign_free(campaign);
    if (!find_base(store, wish, summary, error)) {
        return false;
    }
    g_autoptr(GPtrArray) results =
        store_list_judged_results(store, wish->campaign, NULL, NULL, NULL, error);
    const struct golden_query query = {summary->target, summary->base, stack, NULL, NULL, NULL};
    g_autoptr(GPtrArray) rows =
        results != NULL ? store_list_golden_rows(store, &query, error) : NULL;
    if (rows != NULL && results->len == 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY,
                    "campaign %" G_GINT64_FORMAT
                    " has nothing to propose: no config of it was measured and verified yet",
                    (gint64)wish->campaign);
        return false;
    }
    return rows != NULL && compare_and_propose(store, wish, results, rows, summary, error);
}
