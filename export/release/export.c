#include "export/release/export.h"
#include "schema/results/store_foreign.h"

#include "export/release/export_manifest.h"
#include "export/release/export_plan.h"
#include "export/release/export_write.h"
#include "export/release/release_folder.h"
#include "schema/store/store_campaigns.h"

void export_summary_clear(struct export_summary *summary)
{
    refusals_clear(&summary->refused);
    completeness_clear(&summary->completeness);
    g_clear_pointer(&summary->verified_in_part, json_decref);
    g_clear_pointer(&summary->briefly_proved, json_decref);
    g_clear_pointer(&summary->beyond_sjdb, json_decref);
    g_clear_pointer(&summary->files, g_ptr_array_unref);
    g_clear_pointer(&summary->removed, g_ptr_array_unref);
}

static bool nothing(const struct export_wish *wish, const char *why, GError **error)
{
    g_autofree char *what =
        wish->golden_target != NULL
            ? g_strdup_printf("golden version %d of %s", wish->golden_version, wish->golden_target)
            : g_strdup_printf("campaign %" G_GINT64_FORMAT, (gint64)wish->campaign);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY, "%s has nothing to export: %s", what, why);
    return false;
}

/* The state of one export. */
struct export_work {
    Store *store;
    const struct export_wish *wish;
    const char *name; /* the campaign's */
    bool built_only;  /* true for a build-only campaign: it has kernels and no times */
    const struct export_manifest *manifest;
    struct gate gate;
    struct export_source source;
    struct export_folder folder;
    struct release_folder there; /* what the folder held before this export */
    struct export_spool spool;
    struct export_summary *summary;
    int64_t results;
};

/* Returns the name of the release being written. The caller drops the reference to its `part`. */
static struct release_name name_release(const struct export_work *work)
{
    const struct export_wish *wish = work->wish;
    bool golden = wish->golden_target != NULL;
    return (struct release_name){
        .target = work->gate.target.id,
        .campaign = golden ? NULL : work->name,
        .golden_version = golden ? wish->golden_version : 0,
        .part = export_part_json(wish),
    };
}

/* Writes the manifest and appends its name to `names` as the last one. export_folder_keep() renames
 * the last file first: an export that is killed after this rename leaves a folder that already says
 * whose files it holds. */
static bool write_manifest(struct export_work *work, const struct release_name *release,
                           GPtrArray *names, GError **error)
{
    const struct export_wish *wish = work->wish;
    g_autoptr(GPtrArray) kept = NULL;
    char *name = manifest_name(release->target, wish->golden_target != NULL);
    g_autofree char *path = g_build_filename(work->folder.temp, name, NULL);
    json_t *files = release_folder_settle(&work->there, work->folder.dir, release, names,
                                          wish->replace, &kept, error)
                        ? manifest_files_json(work->folder.temp, names, kept, error)
                        : NULL;
    g_ptr_array_add(names, name);
    if (files == NULL) {
        return false;
    }
    bool written = work->manifest != NULL
                       ? work->manifest->write(work->manifest->data, wish, &work->gate.target,
                                               files, path, error)
                       : export_manifest_write(&work->gate.target, work->name, release->results,
                                               wish, work->summary, files, path, error);
    return written && export_manifest_add_finals(path, &work->spool, error);
}

static bool write_files(struct export_work *work, unsigned what, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    const struct export_files files = {
        .spool = &work->spool,
        .store = work->store,
        .target = &work->gate.target,
        .wish = work->wish,
        .name = work->name,
        .built_only = work->built_only,
        .what = what,
    };
    struct release_name release = name_release(work);
    g_autofree char *sum = export_spool_sum(&work->spool, error);
    release.results = work->manifest == NULL ? sum : NULL;
    bool written = sum != NULL && export_files_write(&files, work->folder.temp, names, error) &&
                   write_manifest(work, &release, names, error);
    json_decref(release.part);
    return written && export_folder_keep(&work->folder, names, work->there.stale,
                                         work->summary->files, work->summary->removed, error);
}

/* Writes the files of a build-only campaign. A kernel-db has only kernels of problems that MIOpen's keys can
 * express; if the gate refused all configs, no file is written, and the refusals are reported. */
static bool write_built(struct export_work *work, GError **error)
{
    const struct export_summary *summary = work->summary;
    unsigned what = work->wish->what & (EXPORT_KERNELS | EXPORT_COMPACT);
    if (summary->kernels == 0) {
        what &= ~EXPORT_KERNELS;
    }
    if (summary->built_configs == 0) {
        return true;
    }
    return what != 0 ? write_files(work, what, error)
                     : nothing(work->wish,
                               "MIOpen's keys cannot express its problems; a .sjdb can (--compact)",
                               error);
}

static bool write_chosen(struct export_work *work, GError **error)
{
    const struct export_wish *wish = work->wish;
    const struct export_summary *summary = work->summary;
    if (work->results == 0 && work->built_only) {
        return nothing(wish, "no config of it was built yet that was asked for", error);
    }
    if (work->built_only) {
        return write_built(work, error);
    }
    if (work->results == 0) {
        return nothing(wish,
                       wish->network != NULL || wish->tag != NULL
                           ? "no config was measured and verified yet of the problems asked for"
                           : "no config of it was measured and verified yet",
                       error);
    }
    if (summary->find_keys > 0) {
        return write_files(work, wish->what, error);
    }
    /* No problem can be expressed in MIOpen's files, but the .sjdb may still have entries. */
    int own = 0;
    if (!export_spool_count(&work->spool, "SELECT count(*) FROM candidates", 0, &own, error)) {
        return false;
    }
    if (own > 0 && (wish->what & EXPORT_COMPACT) != 0) {
        return write_files(work, EXPORT_COMPACT, error);
    }
    /* If the gate refused all results, the export succeeds and reports the refusals. */
    return summary->refused.count > 0 ||
           nothing(wish,
                   summary->beyond_limits > 0 ? "no result is within the limits"
                                              : "MIOpen's keys cannot express its problems",
                   error);
}

/* Reads the code objects of all chosen kernels, since where one is damaged others often are. *found
 * becomes true if damage was found that the gate did not know. */
static bool find_damage(struct export_work *work, bool *found, GError **error)
{
    struct planned_kernel kernel;
    enum read_step step = READ_FAILED;
    guint known = g_hash_table_size(work->gate.damaged);
    g_autoptr(ExportKernels) kernels =
        export_kernels_open(&work->spool, SPOOL_MIOPEN | SPOOL_OWN, error);
    while (kernels != NULL && (step = export_kernels_next(kernels, &kernel, error)) == READ_ROW) {
        if (!gate_read_code(&work->gate, work->store, kernel.key, error)) {
            return false;
        }
    }
    *found = g_hash_table_size(work->gate.damaged) > known;
    return step == READ_END;
}

/* Resets the counts before a new choice is made. */
static void summary_begin_anew(struct export_summary *summary)
{
    struct refusals refused = summary->refused;
    g_clear_pointer(&summary->verified_in_part, json_decref);
    g_clear_pointer(&summary->briefly_proved, json_decref);
    g_clear_pointer(&summary->beyond_sjdb, json_decref);
    const struct export_summary begun = {.refused = refused,
                                         .completeness = summary->completeness,
                                         .files = summary->files,
                                         .removed = summary->removed};
    *summary = begun;
    refusals_begin_anew(&summary->refused);
}

/* Plans and writes the export. If a chosen code object turns out to be damaged, *again becomes
 * true: the gate now refuses results that need it, and the caller must repeat the export. */
static bool export_once(struct export_work *work, bool *again, GError **error)
{
    g_autoptr(GError) failure = NULL;
    *again = false;
    summary_begin_anew(work->summary);
    if (!export_folder_begin(&work->folder, error)) {
        return false;
    }
    g_autofree char *path = g_build_filename(work->folder.temp, "spool", NULL);
    bool done = export_spool_open(&work->spool, path, error) &&
                export_plan_make(&work->source, &work->spool, work->summary, &work->results, error);
    if (done && !write_chosen(work, &failure)) {
        done = g_error_matches(failure, STORE_ERROR, STORE_ERROR_DAMAGED) &&
               find_damage(work, again, error) && *again;
        if (!done && (error == NULL || *error == NULL)) {
            g_propagate_error(error, g_steal_pointer(&failure));
        }
    }
    export_spool_close(&work->spool);
    return done;
}

/* Finds out whose files the folder holds. The folder is locked, so no other export changes it
 * meanwhile. */
static bool admit_folder(struct export_work *work, const char *dir, GError **error)
{
    const struct release_name release = name_release(work);
    bool admitted = release_folder_read(&work->there, dir, &release, work->wish->replace, error);
    json_decref(release.part);
    return admitted;
}

static bool export_results(struct export_work *work, const char *target, const char *dir,
                           GError **error)
{
    bool again = true;
    bool done = gate_init(&work->gate, work->store, target, error) &&
                export_folder_take(&work->folder, dir, error) && admit_folder(work, dir, error);
    work->gate.built_only = work->built_only;
    work->gate.allow_drift = work->wish->allow_drift;
    export_source_init(&work->source, work->store, work->wish, &work->gate);
    while (done && again) {
        done = export_once(work, &again, error);
    }
    gate_clear(&work->gate);
    release_folder_clear(&work->there);
    export_folder_leave(&work->folder);
    return done;
}

/* Refuses a foreign campaign: it was imported, so nobody here knows who measured it, or how. */
static bool is_ours(const struct campaign *campaign, GError **error)
{
    if (!campaign_is_foreign(campaign)) {
        return true;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "campaign %" G_GINT64_FORMAT
                " is foreign: somebody else measured it and nothing of "
                "it was verified here, so nothing of it may ship",
                campaign->id);
    return false;
}

/* Checks the wish for a build-only campaign. Entries of a find-db and params of a perf-db stand for measurements,
 * and the limits choose among measured configs. */
static bool suits_built(const struct export_wish *wish, GError **error)
{
    bool measured = wish->what != EXPORT_ALL && (wish->what & (EXPORT_FIND | EXPORT_PERF)) != 0;
    if (!measured && !wish->limits_workspace && !wish->dynamic_only) {
        return true;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "campaign %" G_GINT64_FORMAT " is build-only: nothing of it was measured, so %s",
                wish->campaign,
                measured ? "there is no time for a find-db and no winner for a perf-db: ask for "
                           "--kernels, --compact or both"
                         : "all that it built is exported: --workspace and --dynamic-only choose "
                           "among measured configs");
    return false;
}

static bool look_at_completeness(struct export_work *work, const struct campaign *campaign,
                                 GError **error)
{
    const struct export_wish *wish = work->wish;
    struct completeness *completeness = &work->summary->completeness;
    if (!store_completeness(work->store, campaign, wish->network, wish->tag, completeness, error)) {
        return false;
    }
    if (!wish->require_complete || completeness_is_whole(completeness)) {
        return true;
    }
    g_autofree char *text = completeness_text(completeness, campaign->id);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_INCOMPLETE,
                "%s: wait for it, or export what there is without --require-complete", text);
    return false;
}

/* Returns the target of the campaign (g_free()), and the campaign's name in *name. NULL if there is
 * no such campaign, or if it must not be exported. */
static char *find_target(struct export_work *work, char **name, GError **error)
{
    Store *store = work->store;
    const struct export_wish *wish = work->wish;
    if (wish->golden_target != NULL) {
        return g_strdup(wish->golden_target);
    }
    struct campaign *campaign = store_get_campaign(store, wish->campaign, error);
    if (campaign == NULL) {
        return NULL;
    }
    char *target = NULL;
    work->built_only = campaign->build_only;
    if (is_ours(campaign, error) && (!work->built_only || suits_built(wish, error)) &&
        look_at_completeness(work, campaign, error)) {
        *name = g_strdup(campaign->name);
        target = g_strdup(campaign->target);
    }
    campaign_free(campaign);
    return target;
}

bool export_with_manifest(Store *store, const struct export_wish *wish,
                          const struct export_manifest *manifest, const char *dir,
                          struct export_summary *summary, GError **error)
{
    struct export_work work = {.store = store,
                               .wish = wish,
                               .manifest = manifest,
                               .summary = summary,
                               .folder = {.fd = -1}};
    g_autofree char *refused = g_build_filename(dir, "refused", NULL);
    refusals_init(&summary->refused, refused);
    summary->files = g_ptr_array_new_with_free_func(g_free);
    summary->removed = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *name = NULL;
    g_autofree char *target = find_target(&work, &name, error);
    work.name = name;
    return target != NULL && export_results(&work, target, dir, error);
}

bool export_campaign(Store *store, const struct export_wish *wish, const char *dir,
                     struct export_summary *summary, GError **error)
{
    return export_with_manifest(store, wish, NULL, dir, summary, error);
}
