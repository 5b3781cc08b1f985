#include "export/golden/golden_print.h"

#include "export/release/export_manifest.h"
#include "schema/store/drift.h"
#include "solvers/problem/problem_key.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MAX 10 /* refusals that are named where no JSON is asked for */

/* Takes the value. */
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

void golden_print_versions(const GPtrArray *versions, bool json)
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

void golden_print_state(const char *target, int version, const char *state, bool json)
{
    if (json) {
        print_json(
            json_pack("{s:s, s:i, s:s}", "target", target, "version", version, "state", state));
    } else {
        printf("%s: version %d is %s\n", target, version, state);
    }
}

void golden_print_pruned(const char *target, int before, const struct golden_pruned *pruned,
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

void golden_print_policy(const char *target, bool two_persons, bool json)
{
    if (json) {
        print_json(json_pack("{s:s?, s:b}", "target", target, "two_persons", two_persons));
    } else {
        printf("%s: %s\n", target != NULL ? target : "the farm",
               two_persons ? "who proposes a version may not approve it"
                           : "one person may propose a version and approve it");
    }
}

/* ---- changes ---- */

/* Times and drifts that are not known are 0. */
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

void golden_print_changes(const char *target, int a, int b, const GPtrArray *rows, bool json)
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

/* *data: whether one was printed. */
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

/* What was refused may be long: it is printed as it is read. */
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

bool golden_print_summary(const struct golden_summary *summary, const GPtrArray *rows, bool json,
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
