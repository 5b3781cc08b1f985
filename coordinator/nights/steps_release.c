/* The last states of a night: proposing, exporting, reporting and telling. Each target's outcome is
 * written to the night's summary as soon as it is known, so that the report has it also after a kill. */
#include "coordinator/cli/cli.h"
#include "coordinator/nights/judge/regressions.h"
#include "coordinator/nights/night_wait.h"
#include "coordinator/nights/release_dir.h"
#include "coordinator/nights/report/night_report.h"
#include "coordinator/nights/steps.h"
#include "coordinator/process/process.h"
#include "coordinator/tell/tell.h"
#include "schema/results/store_golden.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

/* ---- what came of each target ---- */

/* The target's object in the night's summary, made if it is missing. Borrowed. */
static json_t *outcome_of(struct night_run *run, const char *target)
{
    json_t *outcomes = json_object_get(run->night->summary, "outcomes");
    if (!json_is_object(outcomes)) {
        outcomes = json_object();
        json_object_set_new(run->night->summary, "outcomes", outcomes);
    }
    json_t *outcome = json_object_get(outcomes, target);
    if (!json_is_object(outcome)) {
        outcome = json_object();
        json_object_set_new(outcomes, target, outcome);
    }
    return outcome;
}

static bool keep_outcomes(struct night_run *run, GError **error)
{
    return store_set_night_summary(run->store, run->night->id, run->night->summary,
                                   run->night->findings, run->night->empty, error);
}

/* Sets a text; bytes that are not UTF-8 are replaced. */
static void set_text(json_t *outcome, const char *name, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    json_object_set_new(outcome, name, json_string(g_strchomp(valid)));
}

/* ---- proposing ---- */

/* Runs `skipjack ARGS`, and reads the JSON object that it prints. NULL with an error if it printed none; its own words
 * are on standard error. */
static json_t *run_json(struct night_run *run, const GPtrArray *args, GError **error)
{
    g_autofree char *output = NULL;
    json_error_t where;
    int status = 0, caught = 0;
    if (!process_run_status((const char *const *)args->pdata, &output, &status, &caught, error)) {
        run->caught = caught ? caught : run->caught;
        return NULL;
    }
    run->caught = caught ? caught : run->caught;
    json_t *object = json_loads(output ? output : "", 0, &where);
    if (json_is_object(object))
        return object;
    json_decref(object);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                "'skipjack %s %s' ended with status %d", (const char *)args->pdata[0],
                (const char *)args->pdata[1], status);
    return NULL;
}

static GPtrArray *propose_words(const struct night_run *run, int64_t campaign, bool remeasures)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    const struct night_golden *golden = &run->file->golden;
    g_ptr_array_add(words, g_strdup("golden"));
    g_ptr_array_add(words, g_strdup("propose"));
    g_ptr_array_add(words, g_strdup_printf("--campaign=%" G_GINT64_FORMAT, campaign));
    g_ptr_array_add(words, g_strdup_printf("--noise=%g", golden->noise));
    g_ptr_array_add(words, g_strdup_printf("--gain=%g", golden->gain));
    g_ptr_array_add(words,
                    g_strdup_printf("--note=night %s of %s", run->night->name, run->night->date));
    g_ptr_array_add(words, g_strdup("--allow-incomplete"));
    g_ptr_array_add(words, g_strdup("--json"));
    if (remeasures)
        g_ptr_array_add(words, g_strdup("--remeasure"));
    g_ptr_array_add(words, NULL);
    return words;
}

static int64_t member(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Waits until the campaign's workers have measured what the proposal lacks, or the deadline has passed. */
static enum night_outcome await_proof(struct night_run *run, int64_t campaign, const json_t *said,
                                      GError **error)
{
    const json_t *work = json_object_get(said, "remeasure");
    g_autoptr(GArray) campaigns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_array_append_val(campaigns, campaign);
    return member(work, "asked") + member(work, "under_way") > 0 ? night_wait(run, campaigns, error)
                                                                 : NIGHT_STEP_EMPTY;
}

/* Proposes what the campaign brings. Where it and the base disagree, workers measure both again first. *said: what the
 * last `golden propose` printed, a new reference, or NULL. */
static enum night_outcome propose(struct night_run *run, int64_t campaign, json_t **said,
                                  GError **error)
{
    bool remeasures = !night_is_overdue(run->night);
    g_autoptr(GPtrArray) first = propose_words(run, campaign, remeasures);
    *said = run_json(run, first, error);
    if (!*said)
        return NIGHT_STEP_FAILED;
    enum night_outcome waited = await_proof(run, campaign, *said, error);
    if (waited != NIGHT_STEP_DONE)
        return waited == NIGHT_STEP_EMPTY ? NIGHT_STEP_DONE : waited;
    g_autoptr(GPtrArray) again = propose_words(run, campaign, false);
    json_decref(*said);
    *said = run_json(run, again, error);
    return *said ? NIGHT_STEP_DONE : NIGHT_STEP_FAILED;
}

/* "4 new problem, 2 better": the counts that are not 0. Free with g_free(). */
static char *counts_text(const json_t *counts)
{
    GString *text = g_string_new(NULL);
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)counts, name, value) {
        if (json_integer_value(value) != 0)
            g_string_append_printf(text, "%s%d %s", text->len > 0 ? ", " : "",
                                   (int)json_integer_value(value), name);
    }
    return g_string_free(text, FALSE);
}

/* Approves the version. Returns false with the reason in *error; a policy of two persons is one. */
static bool approve(struct night_run *run, const char *target, int64_t version, GError **error)
{
    g_autofree char *number = g_strdup_printf("%d", (int)version);
    const char *const args[] = {"golden", "approve", "--target", target, "--json", number, NULL};
    g_autofree char *output = NULL;
    int caught = 0;
    bool done = process_run_stoppable(args, NULL, &output, &caught, error);
    run->caught = caught ? caught : run->caught;
    return done;
}

static bool is_approved(struct night_run *run, const char *target, int64_t version)
{
    int newest = 0;
    return store_newest_golden(run->store, target, &newest, NULL) && newest == version;
}

/* Notes what the proposal brought, and approves it if the night's file says so. A target with a backfill has two
 * proposals: their words are joined, and the later version counts. */
static void settle_proposal(struct night_run *run, const char *target, const json_t *said,
                            bool joins, GString *detail)
{
    json_t *outcome = outcome_of(run, target);
    int64_t version = member(said, "version");
    const char *former = json_string_value(json_object_get(outcome, "golden_words"));
    if (version == 0 && member(outcome, "golden_version") != 0 && former) {
        /* The process that proposed and approved it was killed behind that. */
        g_string_append_printf(detail, "%s%s: %s", detail->len > 0 ? "; " : "", target, former);
        return;
    }
    g_autofree char *taken = counts_text(json_object_get(said, "taken"));
    g_autofree char *left = counts_text(json_object_get(said, "not_taken"));
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) words = g_string_new(NULL);
    if (version == 0)
        g_string_append_printf(words, "nothing to propose on version %d",
                               (int)member(said, "base"));
    else
        g_string_append_printf(words, "version %d on version %d, taken: %s", (int)version,
                               (int)member(said, "base"), taken);
    if (left[0])
        g_string_append_printf(words, "; not taken: %s", left);
    bool approved = version != 0 && run->file->golden.approve &&
                    (is_approved(run, target, version) || approve(run, target, version, &error));
    if (error)
        g_string_append_printf(words, "; not approved: %s", error->message);
    else if (version != 0 && !approved)
        g_string_append(words, "; it waits for skipjack golden approve");
    if (version != 0) {
        json_object_set_new(outcome, "golden_version", json_integer(version));
        json_object_set_new(outcome, "golden_approved", json_boolean(approved));
    }
    g_autofree char *both =
        former && joins ? g_strdup_printf("%s; %s", former, words->str) : g_strdup(words->str);
    set_text(outcome, "golden_words", both);
    g_string_append_printf(detail, "%s%s: %s%s", detail->len > 0 ? "; " : "", target, words->str,
                           approved ? ", approved" : "");
}

/* Returns how many jobs of the campaign are done; -1 with an error. The deadline may leave a campaign without any
 * result, and `golden propose` and `export` refuse that. */
static int count_done(struct night_run *run, int64_t id, GError **error)
{
    struct campaign *campaign = store_get_campaign(run->store, id, error);
    int done = campaign ? campaign->jobs_done : -1;
    if (campaign)
        campaign_free(campaign);
    return done;
}

static enum night_outcome propose_target(struct night_run *run, const struct night_target *target,
                                         GString *detail, GError **error)
{
    const int64_t campaigns[] = {target->campaign, target->backfill_campaign};
    for (gsize i = 0; i < G_N_ELEMENTS(campaigns); i++) {
        json_t *said = NULL;
        int done = campaigns[i] ? count_done(run, campaigns[i], error) : 0;
        if (done < 0)
            return NIGHT_STEP_FAILED;
        if (done == 0) {
            if (campaigns[i] != 0)
                g_string_append_printf(detail, "%s%s: nothing was measured",
                                       detail->len > 0 ? "; " : "", target->target);
            continue;
        }
        enum night_outcome outcome = propose(run, campaigns[i], &said, error);
        if (outcome == NIGHT_STEP_DONE)
            settle_proposal(run, target->target, said, i > 0 && target->campaign != 0, detail);
        json_decref(said);
        if (outcome == NIGHT_STEP_FAILED && error && *error)
            set_text(outcome_of(run, target->target), "golden_words", (*error)->message);
        if (run->caught)
            return NIGHT_STEP_STOPPED;
        if (outcome != NIGHT_STEP_DONE)
            return outcome;
    }
    return NIGHT_STEP_DONE;
}

enum night_outcome night_step_propose(struct night_run *run, GString *detail, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    enum night_outcome outcome = targets ? NIGHT_STEP_DONE : NIGHT_STEP_FAILED;
    if (!run->file->golden.propose) {
        g_string_append(detail, "nothing is to be proposed");
        return outcome;
    }
    for (guint i = 0; outcome == NIGHT_STEP_DONE && i < targets->len; i++)
        outcome = propose_target(run, targets->pdata[i], detail, error);
    g_autoptr(GError) unkept = NULL;
    if (!keep_outcomes(run, &unkept) && outcome == NIGHT_STEP_DONE) {
        g_propagate_error(error, g_steal_pointer(&unkept));
        return NIGHT_STEP_FAILED;
    }
    return outcome;
}

/* ---- exporting ---- */

static void add_kinds(const struct night_file *file, GPtrArray *words)
{
    g_auto(GStrv) kinds = g_strsplit(file->export.kinds ? file->export.kinds : "", ",", -1);
    for (char **kind = kinds; *kind; kind++)
        g_ptr_array_add(words, g_strconcat("--", *kind, NULL));
}

/* The words of `export` for the target; NULL if there is nothing to export. */
static GPtrArray *export_words(struct night_run *run, const struct night_target *target,
                               const char *folder, GError **error)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    int64_t campaign = target->campaign ? target->campaign : target->backfill_campaign;
    int version = 0;
    g_ptr_array_add(words, g_strdup("export"));
    if (run->file->export.what == NIGHT_EXPORT_CAMPAIGN && campaign != 0 &&
        count_done(run, campaign, error) > 0)
        g_ptr_array_add(words, g_strdup_printf("--campaign=%" G_GINT64_FORMAT, campaign));
    else if (run->file->export.what == NIGHT_EXPORT_GOLDEN &&
             store_newest_golden(run->store, target->target, &version, error) && version != 0) {
        g_ptr_array_add(words, g_strdup_printf("--golden=%d", version));
        g_ptr_array_add(words, g_strdup_printf("--target=%s", target->target));
    } else {
        g_ptr_array_unref(words);
        return NULL;
    }
    add_kinds(run->file, words);
    g_ptr_array_add(words, g_strdup("-o"));
    g_ptr_array_add(words, g_strdup(folder));
    g_ptr_array_add(words, NULL);
    return words;
}

/* Sets the error of an export that wrote nothing. Its own words are on standard error only, so that a full disk, the
 * likeliest cause, is named here, too. */
static bool fail_export(const char *target, const char *folder, int status, GError **error)
{
    struct statvfs disk;
    g_autofree char *left = statvfs(folder, &disk) == 0
                                ? g_format_size((guint64)disk.f_bavail * disk.f_frsize)
                                : g_strdup("an unknown size");
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                "'skipjack export' for %s ended with status %d and wrote nothing to '%s', where %s "
                "is free; the log of this run has the reason",
                target, status, folder, left);
    return false;
}

/* Exports the target into the folder. An export that refuses some results (status 1) still writes the others, and says
 * so on standard output: what it wrote is checked with the whole folder. One that fails says nothing there. *written is
 * set if there was something to export; a target without a golden version is appended to `lacking`. */
static bool export_target(struct night_run *run, const struct night_target *target,
                          const char *folder, bool *written, GString *lacking, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(GPtrArray) words = export_words(run, target, folder, &failure);
    g_autofree char *output = NULL;
    int status = 0, caught = 0;
    if (failure) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
    }
    if (!words && run->file->export.what == NIGHT_EXPORT_GOLDEN)
        g_string_append_printf(lacking, "%s%s", lacking->len > 0 ? ", " : "", target->target);
    if (!words)
        return true;
    bool ran =
        process_run_status((const char *const *)words->pdata, &output, &status, &caught, error);
    run->caught = caught ? caught : run->caught;
    bool silent = !output || !output[0];
    if (ran && (status > 1 || (status == 1 && silent)))
        return fail_export(target->target, folder, status, error);
    if (ran && !silent)
        cli_note("%s", output);
    *written = *written || ran;
    return ran;
}

static bool check_folder(struct night_run *run, const char *folder, GError **error)
{
    const char *const args[] = {"check", folder, NULL};
    g_autofree char *output = NULL;
    int caught = 0;
    bool clean = process_run_stoppable(args, NULL, &output, &caught, error);
    run->caught = caught ? caught : run->caught;
    if (!clean && output)
        fputs(output, stderr);
    return clean;
}

static void note_export(struct night_run *run, const GPtrArray *targets, const char *folder,
                        const char *words)
{
    for (guint i = 0; i < targets->len; i++) {
        const struct night_target *target = targets->pdata[i];
        json_t *outcome = outcome_of(run, target->target);
        json_object_del(outcome, "export_words");
        if (folder)
            set_text(outcome, "export_folder", folder);
        if (words)
            set_text(outcome, "export_words", words);
    }
}

/* Exports all targets into a new folder beside the release, checks it, and puts it into the release's place. */
static bool release(struct night_run *run, const GPtrArray *targets, GString *detail,
                    GError **error)
{
    struct release_dir dir;
    bool written = false;
    g_autoptr(GString) lacking = g_string_new(NULL);
    bool ok = release_dir_begin(&dir, run->file->export.folder, run->night->date, error);
    for (guint i = 0; ok && i < targets->len; i++)
        ok = export_target(run, targets->pdata[i], dir.part, &written, lacking, error) &&
             run->caught == 0;
    ok = ok && (!written || check_folder(run, dir.part, error));
    enum release_change change = RELEASE_EMPTY;
    if (ok && written)
        ok = release_dir_publish(&dir, (int)run->file->export.keep, &change, error);
    else
        release_dir_drop(&dir);
    if (ok) {
        static const char *const says[] = {[RELEASE_EMPTY] = "nothing to export",
                                           [RELEASE_SAME] = "the release is as it was: ",
                                           [RELEASE_NEW] = "a new release: "};
        g_string_append(detail, says[change]);
        if (change != RELEASE_EMPTY)
            g_string_append(detail, dir.place);
        if (lacking->len > 0)
            g_string_append_printf(detail, "; without an approved golden version: %s",
                                   lacking->str);
        note_export(run, targets, change == RELEASE_EMPTY ? NULL : dir.place, NULL);
    }
    release_dir_clear(&dir);
    return ok;
}

enum night_outcome night_step_export(struct night_run *run, GString *detail, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    g_autoptr(GError) failure = NULL;
    if (!targets)
        return NIGHT_STEP_FAILED;
    if (!run->file->export.folder) {
        g_string_append(detail, "nothing is to be exported");
        return NIGHT_STEP_DONE;
    }
    bool released = release(run, targets, detail, &failure);
    if (run->caught)
        return NIGHT_STEP_STOPPED;
    if (!released && failure)
        note_export(run, targets, NULL, failure->message);
    if (!keep_outcomes(run, released ? error : NULL))
        released = false;
    if (failure)
        g_propagate_error(error, g_steal_pointer(&failure));
    return released ? NIGHT_STEP_DONE : NIGHT_STEP_FAILED;
}

/* ---- reporting ---- */

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* The outcomes of the night's targets, for the report. GArray of struct night_report_target, whose texts are borrowed. */
static GArray *report_targets(struct night_run *run)
{
    GArray *targets = g_array_new(FALSE, TRUE, sizeof(struct night_report_target));
    const char *name;
    json_t *outcome;
    json_object_foreach (json_object_get(run->night->summary, "outcomes"), name, outcome) {
        const struct night_report_target target = {
            .target = name,
            .golden_version = (int)member(outcome, "golden_version"),
            .golden_approved = json_is_true(json_object_get(outcome, "golden_approved")),
            .golden_words = text_of(outcome, "golden_words"),
            .export_folder = text_of(outcome, "export_folder"),
            .export_words = text_of(outcome, "export_words"),
        };
        g_array_append_val(targets, target);
    }
    return targets;
}

/* Reads the report, a new reference. */
static json_t *read_report(struct night_run *run, GError **error)
{
    g_autoptr(GArray) outcomes = report_targets(run);
    return night_report_read(run->store, run->night->id,
                             (const struct night_report_target *)(const void *)outcomes->data,
                             (int)outcomes->len, error);
}

/* Findings of a kind that were confirmed, of all targets. -1 with an error if they cannot be read. */
static int count_confirmed(struct night_run *run, enum regression_kind kind, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    int count = 0;
    if (!targets)
        return -1;
    for (guint i = 0; i < targets->len; i++) {
        const struct night_target *target = targets->pdata[i];
        if (json_object_size(target->judged) == 0)
            continue;
        g_autoptr(Regressions) judged = regressions_from_json(target->judged, error);
        if (!judged)
            return -1;
        count += regressions_count(judged, kind, REGRESSION_CONFIRMED);
    }
    return count;
}

/* Steps of the night that were given up; -1 with an error. */
static int count_failed_steps(struct night_run *run, GError **error)
{
    g_autoptr(GPtrArray) steps = store_list_night_steps(run->store, run->night->id, error);
    int count = 0;
    if (!steps)
        return -1;
    for (guint i = 0; i < steps->len; i++)
        count += ((const struct night_step *)steps->pdata[i])->failed;
    return count;
}

/* Counts what the night found. Returns which events it has, as bits of enum night_tell_on; -1 with an error. */
static int count_findings(struct night_run *run, int *findings, GError **error)
{
    int slower = count_confirmed(run, REGRESSION_SLOWER, error);
    int faster = slower < 0 ? -1 : count_confirmed(run, REGRESSION_FASTER, error);
    int broken = faster < 0 ? -1 : count_confirmed(run, REGRESSION_FAILED, error);
    int failed = broken < 0 ? -1 : count_failed_steps(run, error);
    if (failed < 0)
        return -1;
    *findings = slower + broken + failed;
    return NIGHT_TELL_ALWAYS | (slower > 0 ? NIGHT_TELL_REGRESSION : 0) |
           (faster > 0 ? NIGHT_TELL_GAIN : 0) | (broken + failed > 0 ? NIGHT_TELL_FAILURE : 0);
}

bool night_count_findings(struct night_run *run, GError **error)
{
    return count_findings(run, &run->night->findings, error) >= 0;
}

enum night_outcome night_step_report(struct night_run *run, GString *detail, GError **error)
{
    json_t *report = read_report(run, error);
    g_autofree char *folder = NULL;
    if (!report)
        return NIGHT_STEP_FAILED;
    bool ok = !run->file->report.folder ||
              night_report_write(report, run->file->report.folder, &folder, error);
    json_decref(report);
    if (folder)
        set_text(run->night->summary, "report", folder);
    g_string_append(detail, folder ? folder : "no folder is named for it");
    return ok && night_count_findings(run, error) && keep_outcomes(run, error) ? NIGHT_STEP_DONE
                                                                               : NIGHT_STEP_FAILED;
}

/* ---- telling ---- */

/* The longest wait, in seconds, for receivers that do not answer. Messages that are not delivered by then stay in the
 * database and are tried again later. */
#define TELL_SECONDS 60

static bool keep_message(struct night_run *run, const struct night_tell *tell, const char *topic,
                         const json_t *body, GError **error)
{
    const struct tell_receiver receiver = {.webhook = tell->webhook,
                                           .secret_file = tell->secret_file};
    return tell_keep(run->store, &receiver, topic, body, error);
}

/* Keeps a message for each receiver that wants to hear of one of the events. A receiver gets one message of a topic; a
 * night whose failed steps were begun again is another topic. */
static bool keep_messages(struct night_run *run, int events, int *kept, GError **error)
{
    json_t *report = read_report(run, error);
    json_t *body = report ? tell_night_body(report) : NULL;
    int again = (int)member(run->night->summary, "again");
    g_autofree char *topic =
        again > 0
            ? g_strdup_printf("night %s %s, again %d", run->night->name, run->night->date, again)
            : g_strdup_printf("night %s %s", run->night->name, run->night->date);
    bool ok = report != NULL;
    for (int i = 0; ok && i < run->file->tell_count; i++) {
        const struct night_tell *tell = &run->file->tells[i];
        if ((tell->on & events) == 0)
            continue;
        ok = keep_message(run, tell, topic, body, error);
        *kept += ok;
    }
    json_decref(body);
    json_decref(report);
    return ok;
}

enum night_outcome night_step_tell(struct night_run *run, GString *detail, GError **error)
{
    struct tell_counts counts = {0};
    int kept = 0, findings = 0;
    int events = count_findings(run, &findings, error);
    if (events < 0 || !keep_messages(run, events, &kept, error))
        return NIGHT_STEP_FAILED;
    if (kept == 0) {
        g_string_append(detail, "nobody is to be told");
        return NIGHT_STEP_DONE;
    }
    if (!tell_deliver(run->store, TELL_SECONDS, NULL, &counts, error))
        return NIGHT_STEP_FAILED;
    bool with_earlier = counts.delivered + counts.waiting + counts.failed > kept;
    g_string_append_printf(detail, "%d messages%s: %d delivered, %d wait, %d given up", kept,
                           with_earlier ? ", with earlier ones" : "", counts.delivered,
                           counts.waiting, counts.failed);
    return NIGHT_STEP_DONE;
}
