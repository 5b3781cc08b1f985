#include "export/commands.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/terminal.h"
#include "export/golden/golden.h"
#include "export/golden/golden_release.h"
#include "export/release/export_manifest.h"
#include "schema/server/database.h"
#include "schema/store/drift.h"
#include "solvers/problem/problem_key.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MAX 10 /* refusals printed as text; --json prints all of them */

/* Prints a JSON value and drops its reference. */
static void print_json(json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    printf("%s\n", text != NULL ? text : "null");
    free(text);
    json_decref(value);
}

/* ---- versions ---- */

static json_t *or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *number_or_null(int64_t number)
{
    return number != 0 ? json_integer(number) : json_null();
}

static json_t *version_json(const struct golden_version *version)
{
    return json_pack(
        "{s:s, s:i, s:s, s:s, s:i, s:o, s:o, s:o, s:s, s:o, s:s, s:s, s:I, s:o, s:o,"
        " s:o}",
        "target", version->target, "version", version->version, "state", version->state, "kind",
        version->kind, "base", version->base, "restores", number_or_null(version->restores),
        "campaign", number_or_null(version->campaign), "campaign_name",
        or_null(version->campaign_name), "note", version->note, "counts",
        json_loads(version->counts, 0, NULL), "proposed_by", version->proposed_by, "proposed_login",
        version->proposed_login, "proposed_unix", (json_int_t)version->proposed_unix, "approved_by",
        or_null(version->approved_by), "approved_login", or_null(version->approved_login),
        "approved_unix", number_or_null(version->approved_unix));
}

static char *time_text(int64_t seconds)
{
    g_autoptr(GDateTime) at = seconds != 0 ? g_date_time_new_from_unix_local(seconds) : NULL;
    return at != NULL ? g_date_time_format(at, "%Y-%m-%d %H:%M") : g_strdup("-");
}

static void print_version(const struct golden_version *version, int width)
{
    g_autofree char *when =
        time_text(version->approved_unix != 0 ? version->approved_unix : version->proposed_unix);
    g_autofree char *from =
        version->restores != 0 ? g_strdup_printf("version %d", version->restores)
                               : g_strdup_printf("campaign %" G_GINT64_FORMAT " %s",
                                                 (gint64)version->campaign, version->campaign_name);
    printf("%-*s  %7d  %-9s %4d  %-16s  %-10s  %-10s  %s%s%s\n", width, version->target,
           version->version, version->state, version->base, when, version->proposed_by,
           version->approved_by[0] != '\0' ? version->approved_by : "-", from,
           version->note[0] != '\0' ? ": " : "", version->note);
}

static void print_versions(const GPtrArray *versions, bool json)
{
    json_t *list = json_array();
    int width = (int)strlen("target");
    for (guint i = 0; i < versions->len; i++) {
        const struct golden_version *version = versions->pdata[i];
        width = MAX(width, (int)strlen(version->target));
    }
    if (!json && versions->len > 0) {
        printf("%-*s  %7s  %-9s %4s  %-16s  %-10s  %-10s  %s\n", width, "target", "version",
               "state", "base", "when", "proposed", "approved", "from");
    }
    for (guint i = 0; i < versions->len; i++) {
        if (json) {
            json_array_append_new(list, version_json(versions->pdata[i]));
        } else {
            print_version(versions->pdata[i], width);
        }
    }
    if (json) {
        print_json(json_incref(list));
    }
    json_decref(list);
}

static void print_state(const char *target, int version, const char *state, bool json)
{
    if (json) {
        print_json(
            json_pack("{s:s, s:i, s:s}", "target", target, "version", version, "state", state));
    } else {
        printf("%s: version %d is %s\n", target, version, state);
    }
}

static void print_pruned(const char *target, int before, const struct golden_pruned *pruned,
                         bool json)
{
    if (json) {
        print_json(json_pack("{s:s, s:i, s:I, s:I}", "target", target, "before", before, "versions",
                             (json_int_t)pruned->versions, "configs", (json_int_t)pruned->configs));
    } else {
        printf("%s: %" G_GINT64_FORMAT " versions before %d are pruned, %" G_GINT64_FORMAT
               " configs given up\n",
               target, (gint64)pruned->versions, before, (gint64)pruned->configs);
    }
}

static void print_policy(const char *target, bool two_persons, bool json)
{
    if (json) {
        print_json(json_pack("{s:s?, s:b}", "target", target, "two_persons", two_persons));
    } else {
        printf("%s: %s\n", target != NULL ? target : "the farm",
               two_persons ? "who proposes a version may not approve it"
                           : "one person may propose a version and approve it");
    }
}

/* ---- printing changes between versions ---- */

/* Returns a number, or JSON's null for 0, which means an unknown time or drift. */
static json_t *positive_or_null(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *change_json(const struct golden_change *change)
{
    char key[PROBLEM_KEY_MAX];
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s}", "change", change->change,
        "problem", problem_key(&change->problem, key), "solver", change->solver, "reason",
        or_null(change->reason), "old_ms", positive_or_null(change->old_ms), "new_ms",
        positive_or_null(change->new_ms), "old_drift", positive_or_null(change->old_drift),
        "new_drift", positive_or_null(change->new_drift), "old_revision",
        number_or_null(change->old_revision), "new_revision", number_or_null(change->new_revision),
        "old_config", change->old_config, "new_config", change->new_config);
}

static json_t *changes_json(const GPtrArray *rows)
{
    json_t *list = json_array();
    for (guint i = 0; rows != NULL && i < rows->len; i++) {
        json_array_append_new(list, change_json(rows->pdata[i]));
    }
    return list;
}

static int count_changes(const GPtrArray *rows, const char *change)
{
    int count = 0;
    for (guint i = 0; i < rows->len; i++) {
        count += strcmp(((const struct golden_change *)rows->pdata[i])->change, change) == 0;
    }
    return count;
}

static void print_ms(double ms)
{
    if (ms > 0) {
        printf("  %10.6g", ms);
    } else {
        printf("  %10s", "-");
    }
}

static void print_change(const struct golden_change *change)
{
    char key[PROBLEM_KEY_MAX];
    printf("%-7s", change->change);
    print_ms(change->old_ms);
    print_ms(change->new_ms);
    printf("  %-15s %s %s", change->reason[0] != '\0' ? change->reason : "-", change->solver,
           problem_key(&change->problem, key));
    if (drift_is_large(change->new_drift)) {
        printf(" (its round drifted by %.2f)", change->new_drift);
    }
    printf("\n");
}

static void print_changes(const char *target, int a, int b, const GPtrArray *rows, bool json)
{
    int gained = count_changes(rows, "gained"), lost = count_changes(rows, "lost");
    int changed = count_changes(rows, "changed");
    if (json) {
        print_json(json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:o}", "target", target, "a", a, "b",
                             b, "gained", gained, "lost", lost, "changed", changed, "rows",
                             changes_json(rows)));
        return;
    }
    printf("%s, version %d to %d: %d entries gained, %d lost, %d changed\n", target, a, b, gained,
           lost, changed);
    if (rows->len > 0) {
        printf("%-7s  %10s  %10s  %-15s %s\n", "", "old ms", "new ms", "reason", "solver, problem");
    }
    for (guint i = 0; i < rows->len; i++) {
        print_change(rows->pdata[i]);
    }
}

/* ---- a proposal ---- */

static json_t *counts_json(const int *counts, int from, int to)
{
    json_t *object = json_object();
    for (int i = from; i < to; i++) {
        if (counts[i] > 0) {
            json_object_set_new(object, golden_finding_name((enum golden_finding)i),
                                json_integer(counts[i]));
        }
    }
    return object;
}

/* Prints a refusal as one element of a JSON array. *data becomes true: a comma goes in front of the
 * next one. */
static void print_refusal(void *data, const struct export_refusal *refusal)
{
    bool *any = data;
    g_autofree char *reason =
        g_strdup_printf("%s: %s", refusal_name(refusal->why), refusal->reason);
    json_t *object = json_pack("{s:I, s:s, s:s, s:s}", "job", (json_int_t)refusal->job, "problem",
                               refusal->problem, "solver", refusal->solver, "reason", reason);
    char *text = json_dumps(object, JSON_COMPACT);
    printf("%s%s", *any ? "," : "", text);
    *any = true;
    free(text);
    json_decref(object);
}

static void print_counts(const int *counts, const char *before, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (counts[i] > 0) {
            printf("%s %s: %d\n", before, golden_finding_name((enum golden_finding)i), counts[i]);
        }
    }
}

static void print_refused(const struct refusals *refused)
{
    for (guint i = 0; i < refused->listed->len && i < NAMED_MAX; i++) {
        const struct export_refusal *refusal = refused->listed->pdata[i];
        g_printerr("refused: job %" G_GINT64_FORMAT ", %s, %s: %s: %s\n", (gint64)refusal->job,
                   refusal->problem, refusal->solver, refusal_name(refusal->why), refusal->reason);
    }
    if (refused->count > NAMED_MAX) {
        g_printerr("and %" G_GINT64_FORMAT " more, --json names all\n", refused->count - NAMED_MAX);
    }
}

static json_t *remeasure_json(const struct golden_summary *summary)
{
    const struct golden_remeasure *counts = &summary->remeasure;
    return json_pack("{s:I, s:I, s:I, s:I}", "asked", (json_int_t)counts->asked, "under_way",
                     (json_int_t)counts->under_way, "at_work", (json_int_t)counts->at_work,
                     "impossible", (json_int_t)counts->impossible);
}

static json_t *logins_json(const struct golden_logins *logins)
{
    return json_pack("{s:i, s:i, s:i, s:s?, s:s?}", "alone", logins->alone, "awaited",
                     logins->awaited, "disagreed", logins->disagreed, "measured_by",
                     logins->measured_by, "able", logins->able);
}

static void print_logins(const struct golden_summary *summary)
{
    const struct golden_logins *logins = &summary->logins;
    const char *by = logins->measured_by != NULL ? logins->measured_by : "not known which";
    if (logins->alone > 0) {
        printf("measured by one login alone (%s): %d winners%s%s%s\n", by, logins->alone,
               logins->able != NULL ? "; others can measure them, too: " : "",
               logins->able != NULL ? logins->able : "",
               logins->able == NULL ? "; no other login has a worker for them" : "");
    }
    if (logins->awaited > 0) {
        printf("%d winners count when two logins agree on their times: measured by %s, to be "
               "confirmed by %s\n",
               logins->awaited, by, logins->able != NULL ? logins->able : "nobody else");
    }
    if (logins->disagreed > 0) {
        printf("on %d of them the logins disagree: skipjack report CAMPAIGN --measured-by\n",
               logins->disagreed);
    }
}

static void print_work(const struct golden_summary *summary)
{
    const struct golden_remeasure *counts = &summary->remeasure;
    int64_t under_way = counts->asked + counts->under_way;
    if (under_way > 0) {
        printf("workers do that for %" G_GINT64_FORMAT
               " of them: propose again when they are done\n",
               (gint64)under_way);
    }
    if (counts->at_work > 0) {
        printf("%" G_GINT64_FORMAT " have to wait: their jobs are not done yet\n",
               (gint64)counts->at_work);
    }
    if (counts->impossible > 0) {
        printf("%" G_GINT64_FORMAT
               " cannot be: this program has their solvers at another revision, "
               "their jobs lost their workers, or no other login has a worker for them\n",
               (gint64)counts->impossible);
    }
    if (under_way + counts->at_work + counts->impossible == 0) {
        printf("to have that done by workers: the same with --remeasure\n");
    }
}

static void print_remeasure(const struct golden_summary *summary)
{
    int differing = summary->disputes - summary->logins.awaited;
    print_logins(summary);
    if (differing > 0) {
        printf(
            "the campaign and version %d disagree beyond the noise: %d entries are to be measured "
            "again on both sides before they count\n",
            summary->base, differing);
    }
    if (summary->disputes > 0) {
        print_work(summary);
    }
}

/* Prints the refusals one by one while reading them, since there may be more than fit into
 * memory. */
static bool print_summary_json(const struct golden_summary *summary, const GPtrArray *rows,
                               GError **error)
{
    bool any = false;
    json_t *object = json_pack(
        "{s:s, s:i, s:o, s:b, s:o, s:o, s:i, s:o, s:o, s:o}", "target", summary->target, "base",
        summary->base, "version", number_or_null(summary->version), "new", summary->is_new, "taken",
        counts_json(summary->counts, 0, GOLDEN_TAKEN_COUNT), "not_taken",
        counts_json(summary->counts, GOLDEN_TAKEN_COUNT, GOLDEN_FINDING_COUNT), "to_remeasure",
        summary->disputes, "remeasure", remeasure_json(summary), "logins",
        logins_json(&summary->logins), "rows", changes_json(rows));
    export_add_completeness(object, &summary->completeness, true);
    char *text = json_dumps(object, JSON_COMPACT);
    printf("%.*s,\"refused\":[", (int)strlen(text) - 1, text);
    free(text);
    json_decref(object);
    bool printed = refusals_each(&summary->refused, print_refusal, &any, error);
    printf("]}\n");
    return printed;
}

static bool print_summary(const struct golden_summary *summary, const GPtrArray *rows, bool json,
                          GError **error)
{
    print_refused(&summary->refused);
    if (json) {
        return print_summary_json(summary, rows, error);
    }
    if (summary->version == 0) {
        printf("%s: nothing to propose on version %d\n", summary->target, summary->base);
    } else {
        printf("%s: version %d %s, on version %d\n", summary->target, summary->version,
               summary->is_new ? "is proposed" : "was proposed before", summary->base);
    }
    print_counts(summary->counts, "taken,", 0, GOLDEN_TAKEN_COUNT);
    print_counts(summary->counts, "not taken,", GOLDEN_TAKEN_COUNT, GOLDEN_FINDING_COUNT);
    print_remeasure(summary);
    if (summary->version != 0) {
        printf("to see its rows: skipjack golden diff %d %d --target %s\n", summary->base,
               summary->version, summary->target);
    }
    return true;
}

struct options {
    gint64 campaign;
    int base;
    double noise, gain_percent;
    char *by, *note, *target, *two_persons;
    gboolean json, allow_drift, allow_incomplete, allow_unconfirmed, remeasure, yes, dry_run;
    char **words; /* the verb's arguments that are not options */
    guint word_count;
};

/* One bit for each group of options; a verb's `takes` says which it accepts. */
#define TAKES_TARGET  1u
#define TAKES_BY      2u
#define TAKES_NOTE    4u
#define TAKES_PROPOSE 8u
#define TAKES_POLICY  16u
#define TAKES_PRUNE   32u

struct verb {
    const char *name, *words, *does, *example;
    unsigned takes;
    guint least, most; /* least and largest number of arguments that the verb takes */
    bool (*run)(const struct options *options, Store *store, GError **error);
};

/* ---- verbs ---- */

/* Finds the version that the user named; without a name, the only version that waits for
 * approval. */
static bool find_open(const struct options *options, Store *store, const char *target, int *version,
                      GError **error)
{
    if (options->word_count > 0) {
        return golden_find_version(store, target, options->words[0], version, error);
    }
    g_autoptr(GPtrArray) versions = store_list_golden(store, target, error);
    int open = 0;
    for (guint i = 0; versions != NULL && i < versions->len; i++) {
        const struct golden_version *found = versions->pdata[i];
        if (strcmp(found->state, "proposed") == 0) {
            *version = found->version;
            open++;
        }
    }
    if (versions == NULL || open == 1) {
        return versions != NULL;
    }
    if (open == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "no proposal of %s waits for an approval: skipjack golden list", target);
        return false;
    }
    return cli_misuse(error, "%d proposals of %s wait for an approval: name the version", open,
                      target);
}

/* Fails if the proposal left out results: refused ones, or entries that have to be measured again
 * while no worker is asked to. */
static bool is_complete(const struct golden_summary *summary, GError **error)
{
    int64_t under_way = summary->remeasure.asked + summary->remeasure.under_way;
    if (summary->refused.count > 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "%" G_GINT64_FORMAT " results were refused and left out",
                    summary->refused.count);
    } else if (under_way < summary->disputes) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "%" G_GINT64_FORMAT " entries have to be measured again and were left out",
                    summary->disputes - under_way);
    } else {
        return true;
    }
    return false;
}

static bool run_propose(const struct options *options, Store *store, GError **error)
{
    struct golden_summary summary;
    const struct golden_wish wish = {
        .campaign = options->campaign,
        .base = options->base,
        .by = options->by,
        .note = options->note,
        .noise = options->noise,
        .gain = options->gain_percent / 100,
        .allow_drift = options->allow_drift,
        .allow_incomplete = options->allow_incomplete,
        .allow_unconfirmed = options->allow_unconfirmed,
        .remeasure = options->remeasure,
    };
    g_autoptr(GPtrArray) rows = NULL;
    bool done = golden_propose(store, &wish, &summary, error);
    if (done && !completeness_is_whole(&summary.completeness)) {
        g_autofree char *text = completeness_text(&summary.completeness, options->campaign);
        g_printerr("%s\n", text);
    }
    if (done && summary.version != 0 && options->json) {
        rows = store_diff_golden(store, summary.target, summary.base, summary.version, error);
        done = rows != NULL;
    }
    if (done) {
        done = print_summary(&summary, rows, options->json, error) && is_complete(&summary, error);
    }
    golden_summary_clear(&summary);
    return done;
}

/* Names the proposals that the approval made outdated: they have the same base as `version`, which therefore lacks their
 * results. before: the versions before the approval. */
static bool warn_outdated(Store *store, const char *target, int version, const GPtrArray *before,
                          GError **error)
{
    g_autoptr(GPtrArray) after = store_list_golden(store, target, error);
    for (guint i = 0; after != NULL && i < after->len && i < before->len; i++) {
        const struct golden_version *was = before->pdata[i];
        const struct golden_version *now = after->pdata[i];
        if (strcmp(was->state, "proposed") == 0 && strcmp(now->state, "outdated") == 0) {
            g_autofree char *again =
                now->campaign != 0
                    ? g_strdup_printf("propose --campaign %" G_GINT64_FORMAT, now->campaign)
                    : g_strdup_printf("rollback %d", now->restores);
            g_printerr("%s: proposal %d is outdated by this: version %d does not build on it; to "
                       "propose it again: skipjack golden %s\n",
                       target, now->version, version, again);
        }
    }
    return after != NULL;
}

static bool run_approve(const struct options *options, Store *store, GError **error)
{
    int version = 0;
    g_autofree char *target = golden_find_target(store, options->target, error);
    if (target == NULL || !find_open(options, store, target, &version, error)) {
        return false;
    }
    g_autoptr(GPtrArray) before = store_list_golden(store, target, error);
    if (before == NULL || !store_approve_golden(store, target, version, options->by, error)) {
        return false;
    }
    if (!warn_outdated(store, target, version, before, error)) {
        return false;
    }
    print_state(target, version, "approved", options->json);
    return true;
}

static bool run_withdraw(const struct options *options, Store *store, GError **error)
{
    int version = 0;
    g_autofree char *target = golden_find_target(store, options->target, error);
    if (target == NULL || !find_open(options, store, target, &version, error) ||
        !store_withdraw_golden(store, target, version, options->by, error)) {
        return false;
    }
    print_state(target, version, "withdrawn", options->json);
    return true;
}

static bool run_list(const struct options *options, Store *store, GError **error)
{
    g_autoptr(GPtrArray) versions = store_list_golden(store, options->target, error);
    if (versions != NULL) {
        print_versions(versions, options->json);
    }
    return versions != NULL;
}

static bool run_diff(const struct options *options, Store *store, GError **error)
{
    int a = 0, b = 0;
    g_autofree char *target = golden_find_target(store, options->target, error);
    if (target == NULL || !golden_find_version(store, target, options->words[0], &a, error) ||
        !golden_find_version(store, target, options->words[1], &b, error)) {
        return false;
    }
    g_autoptr(GPtrArray) rows = store_diff_golden(store, target, a, b, error);
    if (rows != NULL) {
        print_changes(target, a, b, rows, options->json);
    }
    return rows != NULL;
}

static bool run_rollback(const struct options *options, Store *store, GError **error)
{
    int version = 0;
    bool approved = false;
    struct golden_rollback rollback = {.by = options->by,
                                       .note = options->note != NULL ? options->note : ""};
    g_autofree char *target = golden_find_target(store, options->target, error);
    rollback.target = target;
    if (target == NULL ||
        !golden_find_version(store, target, options->words[0], &rollback.to, error) ||
        !store_roll_back_golden(store, &rollback, &version, &approved, error)) {
        return false;
    }
    print_state(target, version, approved ? "approved" : "proposed", options->json);
    return true;
}

/* Counts what pruning would remove: prunes in a transaction and rolls it back. */
static bool count_pruned(Store *store, const char *target, int before, const char *by,
                         struct golden_pruned *pruned, GError **error)
{
    if (!store_begin(store, error)) {
        return false;
    }
    bool done = store_prune_golden(store, target, before, by, pruned, error);
    return store_end(store, false, done ? error : NULL) && done;
}

static bool run_prune(const struct options *options, Store *store, GError **error)
{
    int before = 0;
    struct golden_pruned pruned;
    g_autofree char *target = golden_find_target(store, options->target, error);
    if (target == NULL || !golden_find_version(store, target, options->words[0], &before, error) ||
        !count_pruned(store, target, before, options->by, &pruned, error)) {
        return false;
    }
    g_autofree char *question =
        g_strdup_printf("%s: %" G_GINT64_FORMAT " versions before %d with %" G_GINT64_FORMAT
                        " configs that no later version has: shall they go?",
                        target, (gint64)pruned.versions, before, (gint64)pruned.configs);
    if (options->dry_run) {
        fputs(options->json ? "" : "would go: ", stdout);
        print_pruned(target, before, &pruned, options->json);
        return true;
    }
    if (!terminal_confirm(question, options->yes)) {
        return cli_misuse(error, "nothing was pruned%s", "");
    }
    if (!store_prune_golden(store, target, before, options->by, &pruned, error)) {
        return false;
    }
    print_pruned(target, before, &pruned, options->json);
    return true;
}

static bool run_policy(const struct options *options, Store *store, GError **error)
{
    bool demand = g_strcmp0(options->two_persons, "yes") == 0;
    if (options->two_persons != NULL && !demand && strcmp(options->two_persons, "no") != 0) {
        return cli_misuse(error, "--two-persons is yes or no, not '%s'", options->two_persons);
    }
    if ((options->two_persons != NULL &&
         !store_set_golden_policy(store, options->target, demand, options->by, error)) ||
        !store_golden_policy(store, options->target, &demand, error)) {
        return false;
    }
    print_policy(options->target, demand, options->json);
    return true;
}

static const struct verb verbs[] = {
    {"propose", "", "propose what a campaign brings beyond the newest approved version",
     "skipjack golden propose --campaign 3 --note 'ResNet-50, nightly'",
     TAKES_PROPOSE | TAKES_BY | TAKES_NOTE, 0, 0, run_propose},
    {"approve", "[VERSION]", "make a proposal the newest version", "skipjack golden approve 2",
     TAKES_TARGET | TAKES_BY, 0, 1, run_approve},
    {"withdraw", "[VERSION]", "take a proposal back", "skipjack golden withdraw 2",
     TAKES_TARGET | TAKES_BY, 0, 1, run_withdraw},
    {"list", "", "the versions and proposals, who and when", "skipjack golden list --json",
     TAKES_TARGET, 0, 0, run_list},
    {"diff", "A B", "entries gained, lost and changed between two versions (0 is empty)",
     "skipjack golden diff 1 2", TAKES_TARGET, 2, 2, run_diff},
    {"rollback", "VERSION", "a new version with the content of an older one",
     "skipjack golden rollback 1 --note 'version 2 was tuned hot'",
     TAKES_TARGET | TAKES_BY | TAKES_NOTE, 1, 1, run_rollback},
    {"prune", "VERSION", "give up what only versions before this one hold",
     "skipjack golden prune 12 --dry-run", TAKES_TARGET | TAKES_BY | TAKES_PRUNE, 1, 1, run_prune},
    {"policy", "", "whether somebody else must approve; without --target the farm's",
     "skipjack golden policy --two-persons yes", TAKES_TARGET | TAKES_BY | TAKES_POLICY, 0, 0,
     run_policy},
};

/* ---- parsing ---- */

static GArray *entries_of(const struct verb *verb, struct options *options)
{
    const struct {
        unsigned takes;
        GOptionEntry entry;
    } all[] = {
        {TAKES_PROPOSE,
         {"campaign", 'c', 0, G_OPTION_ARG_INT64, &options->campaign, "The campaign", "ID"}},
        {TAKES_PROPOSE,
         {"base", 0, 0, G_OPTION_ARG_INT, &options->base,
          "The version to build on: fails unless it is the newest approved one", "VERSION"}},
        {TAKES_PROPOSE,
         {"noise", 0, 0, G_OPTION_ARG_DOUBLE, &options->noise,
          "Better is: the medians are further apart than this times the mean of both "
          "interquartile ranges (1)",
          "FACTOR"}},
        {TAKES_PROPOSE,
         {"gain", 0, 0, G_OPTION_ARG_DOUBLE, &options->gain_percent,
          "and by this much of the old one at the least (1)", "PERCENT"}},
        {TAKES_PROPOSE,
         {"require-complete", 0, G_OPTION_FLAG_REVERSE, G_OPTION_ARG_NONE,
          &options->allow_incomplete,
          "Nothing of a campaign with jobs that have not ended or problems without a winner (the "
          "default)",
          NULL}},
        {TAKES_PROPOSE,
         {"allow-incomplete", 0, 0, G_OPTION_ARG_NONE, &options->allow_incomplete,
          "What there is of a campaign that is not complete", NULL}},
        {TAKES_PROPOSE,
         {"allow-drift", 0, 0, G_OPTION_ARG_NONE, &options->allow_drift,
          "Also what was measured while the device drifted or was throttled, which is refused else",
          NULL}},
        {TAKES_PROPOSE,
         {"remeasure", 0, 0, G_OPTION_ARG_NONE, &options->remeasure,
          "Have workers measure both sides again where the campaign and the version disagree beyond "
          "the noise, and other logins' workers what one login alone measured; propose again when "
          "they are done",
          NULL}},
        {TAKES_PROPOSE,
         {"allow-unconfirmed", 0, 0, G_OPTION_ARG_NONE, &options->allow_unconfirmed,
          "Take what is better without measuring it again, also what one login alone measured, and "
          "leave what is worse: lucky times stay",
          NULL}},
        {TAKES_TARGET,
         {"target", 't', 0, G_OPTION_ARG_STRING, &options->target, "Of this target", "T"}},
        {TAKES_PRUNE,
         {"yes", 'y', 0, G_OPTION_ARG_NONE, &options->yes, "Do not ask on a terminal", NULL}},
        {TAKES_PRUNE,
         {"dry-run", 0, 0, G_OPTION_ARG_NONE, &options->dry_run, "Only say what would go", NULL}},
        {TAKES_POLICY,
         {"two-persons", 0, 0, G_OPTION_ARG_STRING, &options->two_persons,
          "Whether who proposes a version may not approve it", "yes|no"}},
        {TAKES_NOTE, {"note", 0, 0, G_OPTION_ARG_STRING, &options->note, "Why", "TEXT"}},
        {TAKES_BY,
         {"by", 0, 0, G_OPTION_ARG_STRING, &options->by, "Who does it (your user name)", "NAME"}},
        {~0u, {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "Print JSON", NULL}},
    };
    GArray *entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
        if ((all[i].takes & verb->takes) != 0 || all[i].takes == ~0u) {
            g_array_append_val(entries, all[i].entry);
        }
    }
    return entries;
}

static bool check(const struct verb *verb, const struct options *options, GError **error)
{
    if (options->word_count < verb->least || options->word_count > verb->most) {
        return cli_misuse(error, "it takes %s",
                          verb->words[0] != '\0' ? verb->words : "options and no other words");
    }
    if ((verb->takes & TAKES_PROPOSE) != 0 && options->campaign <= 0) {
        return cli_misuse(error, "name a campaign: --campaign ID");
    }
    if (options->remeasure && options->allow_unconfirmed) {
        return cli_misuse(error, "--remeasure and --allow-unconfirmed exclude each other");
    }
    return (options->noise >= 0 && options->gain_percent >= 0) ||
           cli_misuse(error, "--noise and --gain are numbers that are not negative");
}

static bool parse(const struct verb *verb, int argc, char **argv, struct options *options,
                  GError **error)
{
    g_autofree char *name = g_strdup_printf("golden %s", verb->name);
    g_autofree char *description = g_strdup_printf(
        "Exit status: 0 done, 1 failed or something was refused, 2 wrong usage.\n\nExample:\n  %s",
        verb->example);
    g_autofree char *summary =
        g_strdup_printf("Golden versions: %s. A version is of one target.", verb->does);
    g_autoptr(GArray) entries = entries_of(verb, options);
    const struct cli cli = {.command = name,
                            .arguments = verb->words,
                            .summary = summary,
                            .description = description,
                            .options = (const GOptionEntry *)(void *)entries->data};
    if (!cli_parse_options(&cli, &argc, &argv, error)) {
        return false;
    }
    options->words = argv + 1;
    options->word_count = (guint)(argc - 1);
    return check(verb, options, error);
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
    struct options options = {.base = -1,
                              .noise = GOLDEN_NOISE_FACTOR,
                              .gain_percent = GOLDEN_GAIN_PERCENT,
                              .by = g_strdup(g_get_user_name())};
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = NULL;
    bool done = parse(verb, argc, argv, &options, &error) &&
                (store = database_open(false, &error)) != NULL &&
                verb->run(&options, store, &error);
    g_free(options.by);
    g_free(options.note);
    g_free(options.target);
    g_free(options.two_persons);
    g_autofree char *command = g_strdup_printf("golden %s", verb->name);
    return done ? CLI_DONE : cli_fail(command, g_steal_pointer(&error));
}

int command_golden(int argc, char **argv)
{
    struct cli_verb names[G_N_ELEMENTS(verbs)];
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++) {
        names[i] = (struct cli_verb){.name = verbs[i].name, .summary = verbs[i].does};
    }
    const struct cli_verbs list = {
        .command = "golden",
        .about = "Golden versions are what a target ships with: proposed from a campaign,\n"
                 "approved, compared, rolled back.",
        .example = "skipjack golden propose --campaign 3",
        .verbs = names,
        .count = G_N_ELEMENTS(verbs)};
    int status, verb = cli_find_verb(&list, argc, argv, &status);
    return verb < 0 ? status : run_verb(&verbs[verb], argc - 1, argv + 1);
}
