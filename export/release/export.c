#include "export/release/export.h"
#include "schema/store_foreign.h"

#include "export/release/export_plan.h"

void export_summary_clear(struct export_summary *summary)
{
    refusals_clear(&summary->refused);
    g_clear_pointer(&summary->files, g_ptr_array_unref);
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

/* An export at work. */
struct export_work {
    Store *store;
    const struct export_wish *wish;
    const char *name; /* the campaign's */
    bool built_only;  /* it is */
    struct gate gate;
    struct export_source source;
    struct export_folder *folder;
    struct export_spool spool;
    struct export_summary *summary;
    int64_t results;
};

static bool write_files(struct export_work *work, unsigned what, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    const struct export_files files = {
        .spool = &work->spool,
        .store = work->store,
        .target = &work->gate.target,
        .context = &work->gate.context,
        .wish = work->wish,
        .name = work->name,
        .what = what,
    };
    return export_files_write(&files, work->folder->temp, names, error) &&
           export_folder_keep(work->folder, names, work->summary->files, error);
}

static bool write_chosen(struct export_work *work, GError **error)
{
    const struct export_wish *wish = work->wish;
    const struct export_summary *summary = work->summary;
    if (work->results == 0 && work->built_only) {
        return nothing(wish, "no config of it was built yet that was asked for", error);
    }
    if (work->built_only) {
        return summary->built_configs == 0 || write_files(work, EXPORT_KERNELS, error);
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
    /* Nothing for MIOpen's files, but something for our own. */
    int own = 0;
    if (!export_spool_count(&work->spool, "SELECT count(*) FROM candidates", 0, &own, error)) {
        return false;
    }
    if (own > 0 && (wish->what & EXPORT_COMPACT) != 0) {
        return write_files(work, EXPORT_COMPACT, error);
    }
    /* Where all was refused, that is what there is to say. */
    return summary->refused.count > 0 ||
           nothing(wish,
                   summary->beyond_limits > 0 ? "no result is within the limits"
                                              : "MIOpen's keys cannot express its problems",
                   error);
}

/* Reads the code of every kernel chosen: damage in one is seldom alone. *found: of what was not known. */
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

/* What was counted of a choice is forgotten; another is made. */
static void summary_begin_anew(struct export_summary *summary)
{
    struct refusals refused = summary->refused;
    GPtrArray *files = summary->files;
    *summary = (struct export_summary){.refused = refused, .files = files};
    refusals_begin_anew(&summary->refused);
}

/* *again: a code object that was chosen is damaged, the gate knows it now. */
static bool export_once(struct export_work *work, bool *again, GError **error)
{
    g_autoptr(GError) failure = NULL;
    *again = false;
    summary_begin_anew(work->summary);
    if (!export_folder_begin(work->folder, error)) {
        return false;
    }
    g_autofree char *path = g_build_filename(work->folder->temp, "spool", NULL);
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

static bool export_results(struct export_work *work, const char *target, const char *dir,
                           GError **error)
{
    bool again = true;
    bool done = gate_init(&work->gate, work->store, target, error) &&
                export_folder_take(work->folder, dir, error);
    work->gate.built_only = work->built_only;
    export_source_init(&work->source, work->store, work->wish, &work->gate);
    while (done && again) {
        done = export_once(work, &again, error);
    }
    gate_clear(&work->gate);
    return done;
}

/* The gate, for a whole campaign: who measured it, and how, nobody here knows. */
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

/* What was built and not measured fills a kernel-db alone, and its workspaces are not known. */
static bool suits_built(const struct export_wish *wish, GError **error)
{
    if ((wish->what == EXPORT_ALL || wish->what == EXPORT_KERNELS) && !wish->limits_workspace &&
        !wish->dynamic_only) {
        return true;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "campaign %" G_GINT64_FORMAT " is build-only: nothing of it was measured, so all "
                "its kernels go into a kernel-db, and there is nothing for other files: ask for "
                "--kernels alone",
                wish->campaign);
    return false;
}

/* Free with g_free(); NULL where there is no such campaign, or it may not ship. *name: the campaign's. */
static char *find_target(struct export_work *work, char **name, GError **error)
{
    Store *store = work->store;
    const struct export_wish *wish = work->wish;
    if (wish->golden_target != NULL) {
        return g_strdup(wish->golden_target);
    }
    struct campaign *campaign = store_get_campaign(store, wish->campaign, error);
    char *target = campaign != NULL && is_ours(campaign, error) ? g_strdup(campaign->target) : NULL;
    if (campaign != NULL) {
        *name = g_strdup(campaign->name);
        work->built_only = campaign->build_only;
        campaign_free(campaign);
        if (target != NULL && work->built_only && !suits_built(wish, error)) {
            g_clear_pointer(&target, g_free);
        }
    }
    return target;
}

bool export_campaign_and_hold(Store *store, const struct export_wish *wish, const char *dir,
                              struct export_folder *held, struct export_summary *summary,
                              GError **error)
{
    struct export_work work = {.store = store, .wish = wish, .summary = summary, .folder = held};
    *held = (struct export_folder){.fd = -1};
    g_autofree char *refused = g_build_filename(dir, "refused", NULL);
    refusals_init(&summary->refused, refused);
    summary->files = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *name = NULL;
    g_autofree char *target = find_target(&work, &name, error);
    work.name = name;
    return target != NULL && export_results(&work, target, dir, error);
}

bool export_campaign(Store *store, const struct export_wish *wish, const char *dir,
                     struct export_summary *summary, GError **error)
{
    struct export_folder held;
    bool done = export_campaign_and_hold(store, wish, dir, &held, summary, error);
    export_folder_leave(&held);
    return done;
}
