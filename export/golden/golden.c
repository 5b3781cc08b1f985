#include "export/golden/golden.h"

#include "export/golden/golden_logins.h"
#include "export/golden/golden_spool.h"
#include "export/golden/golden_verdict.h"
#include "export/release/export_source.h"
#include "schema/store/store_campaigns.h"

#include <glib/gstdio.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define TAKES_AT_ONCE 5000 /* most rows that one SQL statement writes */

const char *golden_finding_name(enum golden_finding finding)
{
    static const char *const names[GOLDEN_FINDING_COUNT] = {
        [GOLDEN_NEW_PROBLEM] = "new problem",
        [GOLDEN_NEW_SOLVER] = "new solver",
        [GOLDEN_OTHER_REVISION] = "other revision",
        [GOLDEN_NOT_VALID] = "not valid today",
        [GOLDEN_OTHER_STACK] = "other stack",
        [GOLDEN_BETTER] = "better",
        [GOLDEN_CONFIRMED] = "confirmed",
        [GOLDEN_BASE_FAILED] = "base failed",
        [GOLDEN_SHARED_KERNEL] = "shared kernel",
        [GOLDEN_WITHIN_NOISE] = "within noise",
        [GOLDEN_WORSE] = "worse",
        [GOLDEN_UNCONFIRMED] = "unconfirmed",
        [GOLDEN_REFUSED] = "refused",
        [GOLDEN_STALE_LEFT] = "stale left",
        [GOLDEN_KERNEL_LEFT] = "shared kernel left",
    };
    return names[finding];
}

void golden_summary_clear(struct golden_summary *summary)
{
    g_clear_pointer(&summary->target, g_free);
    g_clear_pointer(&summary->logins.measured_by, g_free);
    g_clear_pointer(&summary->logins.able, g_free);
    refusals_clear(&summary->refused);
    completeness_clear(&summary->completeness);
}

struct comparison {
    Store *store;
    const struct golden_wish *wish;
    struct golden_summary *summary;
    struct gate gate;
    struct golden_spool spool;
    /* entry's key -> verdict of measuring it again, from golden_read_verdicts() */
    GHashTable *verdicts;
    int64_t asked, take_count;
};

/* ---- reading results of the campaign and of the base version ---- */

/* Returns the key that groups results by entry. A result of a job that the campaign lacks has no
 * problem; it gets a key of its own, and the gate refuses it later. */
static char *entry_key(const struct result *result)
{
    return result->problem_id != 0 ? golden_entry_key(result->problem_id, result->solver)
                                   : g_strdup_printf("job %" G_GINT64_FORMAT, (gint64)result->job);
}

static void free_group(void *group)
{
    g_ptr_array_unref(group);
}

/* Groups a part's results by entry: key -> GPtrArray of struct result *. */
static GHashTable *group_by_entry(const GPtrArray *results)
{
    GHashTable *groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_group);
    for (guint i = 0; i < results->len; i++) {
        char *key = entry_key(results->pdata[i]);
        GPtrArray *group = g_hash_table_lookup(groups, key);
        if (group == NULL) {
            group = g_ptr_array_new();
            g_hash_table_insert(groups, key, group);
        } else {
            g_free(key);
        }
        g_ptr_array_add(group, results->pdata[i]);
    }
    return groups;
}

/* Makes a job from the results of one entry. `fits` becomes false if a row of the base version
 * (struct golden_row, which begins with its struct result) was measured under another software
 * stack than the campaign asks for. */
static struct golden_job make_job(const char *key, const GPtrArray *group, enum golden_side side)
{
    struct golden_job job = {.key = key, .best = group->pdata[0], .results = group, .fits = true};
    for (guint i = 0; i < group->len; i++) {
        const struct result *result = group->pdata[i];
        if (result->rank < job.best->rank) {
            job.best = result;
        }
        job.fits =
            job.fits && (side != GOLDEN_BASE || ((const struct golden_row *)group->pdata[i])->fits);
    }
    return job;
}

/* If measuring again chose one of the entry's configs, that config becomes the entry's best and
 * `confirmed` is set. It must have a time from the second round (export/golden/GOLDEN.md). */
static void take_verdict(const struct comparison *comparison, struct golden_job *job)
{
    const struct golden_verdict *verdict = g_hash_table_lookup(comparison->verdicts, job->key);
    for (guint i = 0; verdict != NULL && i < job->results->len; i++) {
        const struct result *result = job->results->pdata[i];
        if (result->verified && strcmp(result->kept.config_text, verdict->config) == 0) {
            job->best = result;
            job->confirmed = true;
            return;
        }
    }
}

static bool add_part(struct comparison *comparison, enum golden_side side, const GPtrArray *results,
                     GError **error)
{
    GHashTableIter iter;
    gpointer key, group;
    g_autoptr(GHashTable) groups = group_by_entry(results);
    g_hash_table_iter_init(&iter, groups);
    while (g_hash_table_iter_next(&iter, &key, &group)) {
        struct golden_job job = make_job(key, group, side);
        if (side == GOLDEN_FRESH) {
            take_verdict(comparison, &job);
        }
        if (!golden_spool_add(&comparison->spool, side, &comparison->gate, &job, error)) {
            return false;
        }
    }
    return true;
}

/* Reads all results of one side, the base version or the campaign, into the scratch database.
 * *count becomes their number. */
static bool read_side(struct comparison *comparison, enum golden_side side,
                      const struct export_wish *wish, const char *stack, int64_t *count,
                      GError **error)
{
    struct export_source source;
    struct result_part part = RESULT_PART_BEGIN;
    export_source_init(&source, comparison->store, wish, &comparison->gate);
    source.stack = stack;
    *count = 0;
    while (part.last != INT64_MAX) {
        if (!source.advance(&source, &part, error)) {
            return false;
        }
        g_autoptr(GPtrArray) results = source.list(&source, &part, error);
        if (results == NULL || !add_part(comparison, side, results, error)) {
            return false;
        }
        *count += results->len;
    }
    return source.still_there(&source, error) &&
           golden_spool_settle(&comparison->spool, side, error);
}

/* ---- comparing the campaign's entries with the base version ---- */

/* Returns the reason why the base version's entry no longer holds, or GOLDEN_FINDING_COUNT if it
 * still holds. */
static enum golden_finding find_stale(const struct golden_entry *old)
{
    if (!old->passes) {
        return old->why == REFUSAL_SOLVER ? GOLDEN_OTHER_REVISION : GOLDEN_NOT_VALID;
    }
    return old->fits ? GOLDEN_FINDING_COUNT : GOLDEN_OTHER_STACK;
}

/* Decides about one entry of the campaign. If it is taken, all its kept configs are: an export with
 * limits chooses among them. */
static enum golden_finding judge(void *data, const struct golden_pair *pair)
{
    const struct comparison *comparison = data;
    if (!pair->fresh.passes) {
        return GOLDEN_REFUSED;
    }
    if (!pair->has_base) {
        return pair->has_problem ? GOLDEN_NEW_SOLVER : GOLDEN_NEW_PROBLEM;
    }
    enum golden_finding stale = find_stale(&pair->base);
    if (stale != GOLDEN_FINDING_COUNT) {
        return stale;
    }
    if (pair->fresh.confirmed) {
        const struct golden_verdict *verdict = g_hash_table_lookup(comparison->verdicts, pair->key);
        return verdict->finding;
    }
    const struct golden_time old = {pair->base.median_ms, pair->base.spread};
    const struct golden_time fresh = {pair->fresh.median_ms, pair->fresh.spread};
    enum golden_finding finding = golden_compare(comparison->wish, &old, &fresh);
    return finding == GOLDEN_WITHIN_NOISE || comparison->wish->allow_unconfirmed
               ? finding
               : GOLDEN_UNCONFIRMED;
}

static bool refuse(void *data, const struct export_refusal *refusal, GError **error)
{
    struct comparison *comparison = data;
    return refusals_add(&comparison->summary->refused, refusal, error);
}

/* ---- entries to be measured again ---- */

#define DISPUTES_AT_ONCE 1000

static bool remeasure(void *data, const struct golden_dispute *disputes, int count, GError **error)
{
    struct comparison *comparison = data;
    /* the gate refuses results of all other solvers and revisions */
    g_auto(GStrv) solvers = solver_pins();
    return !comparison->wish->remeasure ||
           store_remeasure_golden(
               comparison->store, comparison->summary->target, comparison->wish->campaign, disputes,
               count, (const char *const *)solvers, &comparison->summary->remeasure, error);
}

static bool doubt_winners(struct comparison *comparison, GError **error)
{
    const struct golden_wish *wish = comparison->wish;
    return wish->allow_unconfirmed ||
           golden_spool_doubt_winners(&comparison->spool, wish->noise, wish->gain, error);
}

/* ---- proposing ---- */

static bool ask(void *data, const struct golden_take *takes, int count, GError **error)
{
    struct comparison *comparison = data;
    comparison->take_count += count;
    return store_ask_golden(comparison->store, takes, count, &comparison->asked, error);
}

/* Returns the numbers of entries by finding, which the approver sees, and how many winners only one
 * login has measured. Free with g_free(). */
static char *counts_json(const struct golden_summary *summary)
{
    const int *counts = summary->counts;
    json_t *object = json_object();
    if (summary->logins.alone > 0) {
        json_object_set_new(object, "of one login", json_integer(summary->logins.alone));
    }
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

static bool judge_all(struct comparison *comparison, GError **error)
{
    struct golden_summary *summary = comparison->summary;
    struct golden_spool *spool = &comparison->spool;
    return golden_spool_judge(spool, judge, comparison, error) &&
           doubt_winners(comparison, error) &&
           golden_doubt_logins(spool, comparison->store, comparison->wish, summary, error) &&
           golden_spool_list_refused(spool, refuse, comparison, error) &&
           golden_spool_follow_names(spool, error) &&
           golden_spool_count(spool, summary->counts, error);
}

/* Stores the proposal; does nothing if no entry is taken. */
static bool propose_taken(struct comparison *comparison, GError **error)
{
    struct golden_summary *summary = comparison->summary;
    if (!golden_spool_list_takes(&comparison->spool, TAKES_AT_ONCE, ask, comparison, error)) {
        return false;
    }
    if (comparison->take_count == 0) {
        return true;
    }
    g_autofree char *counts = counts_json(summary);
    const struct golden_proposal proposal = {
        .target = summary->target,
        .base = summary->base,
        .campaign = comparison->wish->campaign,
        .by = comparison->wish->by,
        .note = comparison->wish->note != NULL ? comparison->wish->note : "",
        .asked = comparison->asked,
        .take_count = comparison->take_count,
        .counts = counts,
    };
    return store_propose_golden(comparison->store, &proposal, &summary->version, &summary->is_new,
                                error);
}

static bool propose(struct comparison *comparison, GError **error)
{
    return judge_all(comparison, error) && propose_taken(comparison, error) &&
           golden_spool_list_disputes(&comparison->spool, DISPUTES_AT_ONCE, remeasure, comparison,
                                      &comparison->summary->disputes, error);
}

static bool only_built(int64_t campaign, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "campaign %" G_GINT64_FORMAT " is build-only: nothing of it was ever measured, so "
                "nothing of it can be golden",
                (gint64)campaign);
    return false;
}

static bool nothing(int64_t campaign, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY,
                "campaign %" G_GINT64_FORMAT
                " has nothing to propose: no config of it was measured and verified yet",
                (gint64)campaign);
    return false;
}

static bool compare_and_propose(struct comparison *comparison, const char *stack, GError **error)
{
    int64_t rows = 0, results = 0;
    const struct golden_summary *summary = comparison->summary;
    const struct export_wish base = {.golden_target = summary->target,
                                     .golden_version = summary->base};
    const struct export_wish fresh = {.campaign = comparison->wish->campaign};
    if (!gate_init(&comparison->gate, comparison->store, summary->target, error)) {
        return false;
    }
    comparison->gate.allow_drift = comparison->wish->allow_drift;
    comparison->verdicts =
        golden_read_verdicts(comparison->store, comparison->wish, summary->target, error);
    return comparison->verdicts != NULL &&
           read_side(comparison, GOLDEN_BASE, &base, stack, &rows, error) &&
           read_side(comparison, GOLDEN_FRESH, &fresh, "", &results, error) &&
           (results > 0 || nothing(fresh.campaign, error)) && propose(comparison, error);
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

/* Opens the scratch database in a file without a name, which the system deletes when the process
 * ends. */
static bool open_spool(struct golden_spool *spool, GError **error)
{
    g_autofree char *folder = g_dir_make_tmp("skipjack-golden-XXXXXX", error);
    if (folder == NULL) {
        return false;
    }
    g_autofree char *path = g_build_filename(folder, "spool", NULL);
    bool open = golden_spool_open(spool, path, error);
    g_unlink(path);
    g_rmdir(folder);
    return open;
}

static bool is_complete(Store *store, const struct golden_wish *wish,
                        const struct campaign *campaign, struct golden_summary *summary,
                        GError **error)
{
    struct completeness *completeness = &summary->completeness;
    if (!store_completeness(store, campaign, NULL, NULL, completeness, error)) {
        return false;
    }
    if (wish->allow_incomplete || completeness_is_whole(completeness)) {
        return true;
    }
    g_autofree char *text = completeness_text(completeness, campaign->id);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_INCOMPLETE,
                "%s: wait for it, or propose what there is with --allow-incomplete", text);
    return false;
}

bool golden_propose(Store *store, const struct golden_wish *wish, struct golden_summary *summary,
                    GError **error)
{
    struct comparison comparison = {.store = store, .wish = wish, .summary = summary};
    memset(summary, 0, sizeof *summary);
    g_autofree char *refused = g_build_filename(g_get_tmp_dir(), "skipjack-refused", NULL);
    refusals_init(&summary->refused, refused);
    struct campaign *campaign = store_get_campaign(store, wish->campaign, error);
    if (campaign == NULL) {
        return false;
    }
    if (campaign->build_only) {
        campaign_free(campaign);
        return only_built(wish->campaign, error);
    }
    summary->target = g_strdup(campaign->target);
    g_autofree char *stack = g_strdup(campaign->stack);
    bool complete = is_complete(store, wish, campaign, summary, error);
    campaign_free(campaign);
    bool done = complete && find_base(store, wish, summary, error) &&
                open_spool(&comparison.spool, error) &&
                compare_and_propose(&comparison, stack, error);
    golden_spool_close(&comparison.spool);
    g_clear_pointer(&comparison.verdicts, g_hash_table_unref);
    gate_clear(&comparison.gate);
    return done;
}
