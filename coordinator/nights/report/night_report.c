/* The report's document: read from the night's rows, and written as three files. */
#include "coordinator/nights/report/night_report.h"

#include "coordinator/cli/when.h"
#include "coordinator/nights/judge/regressions.h"
#include "coordinator/nights/plan/night_reasons.h"
#include "coordinator/nights/report/night_html.h"
#include "coordinator/nights/report/report_members.h"
#include "schema/results/conditions.h"
#include "schema/results/store_nights.h"
#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>

/* Jobs of a state that the report names; it counts all of them. */
#define JOBS_NAMED 200

/* ---- jobs ---- */

struct job_counts {
    int jobs, done, failed, unfinished, open;
};

static void count_job(struct job_counts *counts, const char *state)
{
    counts->jobs++;
    counts->done += strcmp(state, "done") == 0;
    counts->failed += strcmp(state, "failed") == 0;
    counts->unfinished += strcmp(state, "unfinished") == 0;
    counts->open += strcmp(state, "open") == 0;
}

static json_t *counts_json(const struct job_counts *counts)
{
    return json_pack("{si si si si si}", "jobs", counts->jobs, "done", counts->done, "failed",
                     counts->failed, "unfinished", counts->unfinished, "open", counts->open);
}

static json_t *job_json(const struct night_job *job)
{
    char key[PROBLEM_KEY_MAX];
    return json_pack("{ss ss ss ss sI sI}", "key", problem_key(&job->problem, key), "solver",
                     job->solver, "reason", night_reason_name((enum night_reason)job->reason),
                     "detail", job->detail != NULL ? job->detail : "", "campaign",
                     (json_int_t)job->campaign, "job", (json_int_t)job->job);
}

/* Adds the target's jobs: counts, counts by reason, and those that failed or were not finished. */
static bool add_jobs(Store *store, int64_t night, const char *target, json_t *json, GError **error)
{
    const struct night_job_query query = {.night = night, .target = target, .reason = -1};
    g_autoptr(GPtrArray) jobs = store_list_night_jobs(store, &query, error);
    struct job_counts all = {0}, by_reason[NIGHT_REASON_COUNT + 1] = {0};
    if (jobs == NULL)
        return false;
    json_t *reasons = json_array(), *failed = json_array(), *unfinished = json_array();
    for (guint i = 0; i < jobs->len; i++) {
        const struct night_job *job = g_ptr_array_index(jobs, i);
        json_t *named = strcmp(job->state, "failed") == 0       ? failed
                        : strcmp(job->state, "unfinished") == 0 ? unfinished
                                                                : NULL;
        count_job(&all, job->state);
        if (job->reason > 0 && job->reason <= NIGHT_REASON_COUNT)
            count_job(&by_reason[job->reason], job->state);
        if (named != NULL && json_array_size(named) < JOBS_NAMED)
            json_array_append_new(named, job_json(job));
    }
    for (int reason = 1; reason <= NIGHT_REASON_COUNT; reason++) {
        if (by_reason[reason].jobs == 0)
            continue;
        json_t *row = counts_json(&by_reason[reason]);
        json_object_set_new(row, "reason",
                            json_string(night_reason_name((enum night_reason)reason)));
        json_array_append_new(reasons, row);
    }
    json_object_set_new(json, "counts", counts_json(&all));
    json_object_set_new(json, "reasons", reasons);
    json_object_set_new(json, "failed_jobs", failed);
    json_object_set_new(json, "unfinished_jobs", unfinished);
    return true;
}

/* ---- conditions ---- */

static bool add_conditions(Store *store, int64_t campaign, json_t *json, GError **error)
{
    const struct problem_part all = PROBLEM_PART_ALL;
    json_t *devices = json_array();
    json_object_set_new(json, "devices", devices);
    if (campaign == 0)
        return true;
    g_autoptr(GPtrArray) rows = store_list_part_conditions(store, campaign, &all, error);
    if (rows == NULL)
        return false;
    g_autoptr(GHashTable) by_device = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    for (guint i = 0; i < rows->len; i++) {
        const struct conditions *seen = &((const struct job_conditions *)rows->pdata[i])->seen;
        struct conditions *sum = g_hash_table_lookup(by_device, seen->device);
        if (sum != NULL) {
            conditions_add(sum, seen);
            continue;
        }
        sum = g_memdup2(seen, sizeof *seen);
        g_hash_table_insert(by_device, sum->device, sum);
    }
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(by_device), (GCompareFunc)strcmp);
    for (const GList *name = names; name != NULL; name = name->next) {
        const struct conditions *sum = g_hash_table_lookup(by_device, name->data);
        g_autofree char *throttle = conditions_throttle_text(sum->throttle);
        json_array_append_new(devices, json_pack("{ss si si si sf ss si}", "device", sum->device,
                                                 "sm_mhz_min", sum->sm_mhz_min, "sm_mhz_max",
                                                 sum->sm_mhz_max, "temperature_c",
                                                 sum->temperature_c, "power_w", sum->power_w,
                                                 "throttle", throttle, "samples", sum->samples));
    }
    return true;
}

/* ---- golden and export ---- */

static json_t *text_or_null(const char *text)
{
    if (text == NULL || *text == '\0')
        return json_null();
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

static json_t *file_json(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    guchar bytes[65536];
    gint64 size = 0;
    size_t got;
    FILE *file = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? fopen(path, "re") : NULL;
    if (file == NULL)
        return NULL;
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0) {
        g_checksum_update(checksum, bytes, (gssize)got);
        size += (gint64)got;
    }
    bool whole = ferror(file) == 0;
    fclose(file);
    return whole ? json_pack("{ss sI ss}", "name", name, "bytes", (json_int_t)size, "sha256",
                             g_checksum_get_string(checksum))
                 : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static json_t *files_json(const char *folder)
{
    json_t *files = json_array();
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = folder != NULL ? g_dir_open(folder, 0, NULL) : NULL;
    const char *name;
    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
        g_ptr_array_add(names, g_strdup(name));
    if (dir != NULL)
        g_dir_close(dir);
    g_ptr_array_sort(names, by_name);
    for (guint i = 0; i < names->len; i++) {
        json_t *file = file_json(folder, g_ptr_array_index(names, i));
        if (file != NULL)
            json_array_append_new(files, file);
    }
    return files;
}

static void add_outcome(const struct night_report_target *outcome, json_t *json)
{
    json_t *golden = json_null(), *export = json_null();
    if (outcome != NULL && (outcome->golden_version > 0 || outcome->golden_words != NULL))
        golden = json_pack("{si sb so}", "version", outcome->golden_version, "approved",
                           outcome->golden_approved, "words", text_or_null(outcome->golden_words));
    if (outcome != NULL && (outcome->export_folder != NULL || outcome->export_words != NULL))
        export = json_pack("{so so so}", "folder", text_or_null(outcome->export_folder), "words",
                           text_or_null(outcome->export_words), "files",
                           files_json(outcome->export_folder));
    json_object_set_new(json, "golden", golden);
    json_object_set_new(json, "export", export);
}

/* ---- the document ---- */

static json_t *target_json(Store *store, int64_t night, const struct night_target *target,
                           const struct night_report_target *outcome, GError **error)
{
    json_t *json =
        json_pack("{ss si sI sI sO}", "target", target->target, "baseline", target->baseline,
                  "campaign", (json_int_t)target->campaign, "backfill_campaign",
                  (json_int_t)target->backfill_campaign, "plan", target->plan);
    json_object_set_new(json, "judged",
                        json_object_size(target->judged) > 0 ? json_incref(target->judged)
                                                             : json_null());
    add_outcome(outcome, json);
    if (add_jobs(store, night, target->target, json, error) &&
        add_conditions(store, target->campaign, json, error))
        return json;
    json_decref(json);
    return NULL;
}

static bool add_targets(Store *store, int64_t night, const struct night_report_target *outcomes,
                        int count, json_t *report, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(store, night, error);
    json_t *list = json_array();
    json_object_set_new(report, "targets", list);
    for (guint i = 0; targets != NULL && i < targets->len; i++) {
        const struct night_target *target = g_ptr_array_index(targets, i);
        const struct night_report_target *outcome = NULL;
        for (int k = 0; k < count; k++)
            if (strcmp(outcomes[k].target, target->target) == 0)
                outcome = &outcomes[k];
        json_t *json = target_json(store, night, target, outcome, error);
        if (json == NULL)
            return false;
        json_array_append_new(list, json);
    }
    return targets != NULL;
}

static bool add_steps(Store *store, int64_t night, json_t *report, GError **error)
{
    g_autoptr(GPtrArray) steps = store_list_night_steps(store, night, error);
    json_t *list = json_array();
    json_object_set_new(report, "steps", list);
    for (guint i = 0; steps != NULL && i < steps->len; i++) {
        const struct night_step *step = g_ptr_array_index(steps, i);
        gint64 seconds = step->ended_unix > 0 ? step->ended_unix - step->begun_unix : 0;
        json_array_append_new(list, json_pack("{ss si sI sb so}", "step",
                                              night_state_name(step->step), "tries", step->tries,
                                              "seconds", (json_int_t)seconds, "failed",
                                              step->failed, "detail", text_or_null(step->detail)));
    }
    return steps != NULL;
}

/* Counts of findings by what a reader asks first. */
static json_t *count_found(const json_t *report)
{
    int counts[G_N_ELEMENTS(report_sections)] = {0}, gone = 0;
    size_t t, f;
    json_t *target, *finding;
    json_array_foreach (json_object_get(report, "targets"), t, target)
        json_array_foreach (json_object_get(json_object_get(target, "judged"), "findings"), f,
                            finding) {
            for (size_t s = 0; s < G_N_ELEMENTS(report_sections); s++)
                counts[s] += report_belongs(&report_sections[s], finding);
            gone += report_is(finding, "state", "gone");
        }
    return json_pack("{si si si si si si si}", "failed", counts[0], "slower", counts[1], "faster",
                     counts[2], "node", counts[3], "unconfirmed", counts[4], "suspect", counts[5],
                     "gone", gone);
}

bool night_report_is_bad(const json_t *report)
{
    const json_t *found = json_object_get(report, "found");
    size_t i;
    json_t *item;
    bool bad = report_int(found, "slower") + report_int(found, "failed") > 0;
    json_array_foreach (json_object_get(report, "steps"), i, item)
        bad |= json_is_true(json_object_get(item, "failed"));
    json_array_foreach (json_object_get(report, "targets"), i, item)
        bad |= json_is_string(json_object_get(json_object_get(item, "export"), "words"));
    return bad;
}

json_t *night_report_read(Store *store, int64_t id, const struct night_report_target *outcomes,
                          int count, GError **error)
{
    struct night *night = store_get_night(store, id, error);
    if (night == NULL)
        return NULL;
    json_t *report =
        json_pack("{si s{ss ss ss sI sI sI sb ss}}", "version", NIGHT_REPORT_VERSION, "night",
                  "name", night->name, "date", night->date, "state", night_state_name(night->state),
                  "begun_unix", (json_int_t)night->begun_unix, "ended_unix",
                  (json_int_t)(night->ended_unix > 0 ? night->ended_unix
                                                     : g_get_real_time() / G_USEC_PER_SEC),
                  "deadline_unix", (json_int_t)night->deadline_unix, "empty", night->empty, "by",
                  night->begun_by);
    night_free(night);
    if (!add_steps(store, id, report, error) ||
        !add_targets(store, id, outcomes, count, report, error)) {
        json_decref(report);
        return NULL;
    }
    json_object_set_new(report, "found", count_found(report));
    json_object_set_new(report, "bad", json_boolean(night_report_is_bad(report)));
    return report;
}

/* ---- writing ---- */

static bool write_file(const char *folder, const char *name, const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return g_file_set_contents_full(
        path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0644, error);
}

bool night_report_write(const json_t *report, const char *folder, char **written, GError **error)
{
    const json_t *night = json_object_get(report, "night");
    g_autofree char *name =
        g_strdup_printf("%s-%s", report_text(night, "name"), report_text(night, "date"));
    g_autofree char *path = g_build_filename(folder, name, NULL);
    if (g_mkdir_with_parents(path, 0755) != 0) {
        int code = errno;
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code),
                    "cannot make the report's folder '%s': %s", path, g_strerror(code));
        return false;
    }
    g_autofree char *text = night_report_text(report);
    g_autofree char *page = night_html(report);
    char *json = json_dumps(report, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    bool done = write_file(path, "report.txt", text, error) &&
                write_file(path, "report.html", page, error) &&
                write_file(path, "report.json", json, error);
    free(json);
    if (done && written != NULL)
        *written = g_steal_pointer(&path);
    return done;
}
