#include "export/export.h"

#include "export/export_plan.h"
#include "schema/store_golden.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FOLDER_PREFIX ".export-"
#define FOLDER_NAME   FOLDER_PREFIX "XXXXXX"

const char *refusal_name(enum refusal why)
{
    static const char *const names[REFUSAL_COUNT] = {
        [REFUSAL_DAMAGED] = "damaged row",
        [REFUSAL_FOREIGN] = "foreign job",
        [REFUSAL_UNVERIFIED] = "no verified outcome",
        [REFUSAL_SOLVER] = "unknown solver",
        [REFUSAL_CONFIG] = "unknown config",
        [REFUSAL_TIME] = "impossible time",
        [REFUSAL_KERNEL] = "wrong kernel",
        [REFUSAL_SHARED_ROW] = "shared perf-db row",
    };
    return names[why];
}

static void refusal_free(void *data)
{
    struct export_refusal *refusal = data;
    g_free(refusal->problem);
    g_free(refusal->solver);
    g_free(refusal->reason);
    g_free(refusal);
}

void export_summary_clear(struct export_summary *summary)
{
    g_clear_pointer(&summary->refused, g_ptr_array_unref);
    g_clear_pointer(&summary->files, g_ptr_array_unref);
}

static bool io_error(const char *doing, const char *path, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot %s '%s': %s", doing, path,
                g_strerror(errno));
    return false;
}

/* The content is on disk before its name is: a crash leaves the old file or the new one. */
static bool sync_file(const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return io_error("open", path, error);
    }
    bool synced = fsync(fd) == 0 || io_error("write", path, error);
    close(fd);
    return synced;
}

static bool sync_all(const char *folder, const GPtrArray *names, GError **error)
{
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
        if (!sync_file(path, error)) {
            return false;
        }
    }
    return true;
}

static bool move_all(const char *folder, const char *dir, const GPtrArray *names, GPtrArray *moved,
                     GError **error)
{
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *from = g_build_filename(folder, names->pdata[i], NULL);
        g_autofree char *to = g_build_filename(dir, names->pdata[i], NULL);
        if (rename(from, to) != 0) {
            return io_error("rename to", to, error);
        }
        g_ptr_array_add(moved, g_steal_pointer(&to));
    }
    return true;
}

/* What cannot be removed is in nobody's way: the next export tries again. */
static void remove_folder(const char *folder)
{
    const char *name;
    GDir *entries = g_dir_open(folder, 0, NULL);
    while (entries != NULL && (name = g_dir_read_name(entries)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_clear_pointer(&entries, g_dir_close);
    g_rmdir(folder);
}

static void remove_leftovers(const char *dir)
{
    const char *name;
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    GDir *entries = g_dir_open(dir, 0, NULL);
    while (entries != NULL && (name = g_dir_read_name(entries)) != NULL) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        if (g_str_has_prefix(name, FOLDER_PREFIX) && strlen(name) == strlen(FOLDER_NAME) &&
            !g_file_test(path, G_FILE_TEST_IS_SYMLINK)) {
            g_ptr_array_add(found, g_steal_pointer(&path));
        }
    }
    g_clear_pointer(&entries, g_dir_close);
    for (guint i = 0; i < found->len; i++) {
        remove_folder(found->pdata[i]);
    }
}

/* Exports into one folder take turns, so the temporary folder of one that was killed is nobody's. A
 * file system that cannot lock folders keeps it. Returns the open folder, -1 on failure. */
static int take_folder(const char *dir, GError **error)
{
    if (g_mkdir_with_parents(dir, 0777) != 0) {
        io_error("make the folder", dir, error);
        return -1;
    }
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        io_error("open the folder", dir, error);
        return -1;
    }
    if (TEMP_FAILURE_RETRY(flock(fd, LOCK_EX)) == 0) {
        remove_leftovers(dir);
    }
    return fd;
}

static bool write_files(const struct export_plan *plan, Store *store, const struct target *target,
                        unsigned what, const char *dir, struct export_summary *summary,
                        GError **error)
{
    g_autofree char *folder = g_build_filename(dir, FOLDER_NAME, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    int dir_fd = take_folder(dir, error);
    if (dir_fd < 0) {
        return false;
    }
    bool written = g_mkdtemp(folder) != NULL || io_error("write into the folder", dir, error);
    if (written) {
        written = export_plan_write(plan, store, target, what, folder, names, error) &&
                  sync_all(folder, names, error) &&
                  move_all(folder, dir, names, summary->files, error) &&
                  (fsync(dir_fd) == 0 || io_error("write", dir, error));
        remove_folder(folder);
    }
    close(dir_fd);
    return written;
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

/* Reads the code of every kernel chosen: damage in one is seldom alone. */
static bool find_damage(struct gate *gate, Store *store, const struct export_plan *plan,
                        GError **error)
{
    for (guint i = 0; i < plan->kernels->len; i++) {
        const struct planned_kernel *kernel = plan->kernels->pdata[i];
        if (!gate_read_code(gate, store, kernel->key, error)) {
            return false;
        }
    }
    return true;
}

/* What was counted of a choice is forgotten; another is made. */
static void summary_begin_anew(struct export_summary *summary)
{
    GPtrArray *refused = summary->refused, *files = summary->files;
    *summary = (struct export_summary){.refused = refused, .files = files};
    g_ptr_array_set_size(refused, 0);
}

/* *again: a code object that was chosen is damaged, the gate knows it now. */
static bool export_chosen(Store *store, const struct export_wish *wish, struct gate *gate,
                          const GPtrArray *results, const char *dir, struct export_summary *summary,
                          bool *again, GError **error)
{
    struct export_plan plan;
    g_autoptr(GError) failure = NULL;
    guint known = g_hash_table_size(gate->damaged);
    bool done = true;
    export_plan_init(&plan, wish, gate, results, summary);
    if (plan.lines->len > 0) {
        done = write_files(&plan, store, &gate->target, wish->what, dir, summary, &failure);
    } else if (summary->refused->len == 0) {
        done = nothing(wish,
                       summary->beyond_limits > 0 ? "no result is within the limits"
                                                  : "MIOpen's keys cannot express its problems",
                       &failure);
    }
    if (g_error_matches(failure, STORE_ERROR, STORE_ERROR_DAMAGED)) {
        done = find_damage(gate, store, &plan, error);
        *again = done && g_hash_table_size(gate->damaged) > known;
    }
    if (failure != NULL && !*again && (error == NULL || *error == NULL)) {
        g_propagate_error(error, g_steal_pointer(&failure));
        done = false;
    }
    export_plan_clear(&plan);
    return done;
}

static bool export_results(Store *store, const struct export_wish *wish, const char *target,
                           const GPtrArray *results, const char *dir,
                           struct export_summary *summary, GError **error)
{
    struct gate gate;
    bool again = true;
    bool done = gate_init(&gate, store, target, results, error);
    while (done && again) {
        again = false;
        summary_begin_anew(summary);
        gate_begin_anew(&gate);
        done = export_chosen(store, wish, &gate, results, dir, summary, &again, error);
    }
    gate_clear(&gate);
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

/* Free with g_free(); NULL where there is no such campaign, or it may not ship. */
static char *find_target(Store *store, const struct export_wish *wish, GError **error)
{
    if (wish->golden_target != NULL) {
        return g_strdup(wish->golden_target);
    }
    struct campaign *campaign = store_get_campaign(store, wish->campaign, error);
    char *target = campaign != NULL && is_ours(campaign, error) ? g_strdup(campaign->target) : NULL;
    if (campaign != NULL) {
        campaign_free(campaign);
    }
    return target;
}

/* What the gate is to judge. A golden row begins with its result. */
static GPtrArray *list_results(Store *store, const struct export_wish *wish, GError **error)
{
    const struct golden_query query = {wish->golden_target, wish->golden_version, "", wish->network,
                                       wish->tag};
    return wish->golden_target != NULL
               ? store_list_golden_rows(store, &query, error)
               : store_list_judged_results(store, wish->campaign, wish->network, wish->tag, error);
}

bool export_campaign(Store *store, const struct export_wish *wish, const char *dir,
                     struct export_summary *summary, GError **error)
{
    summary->refused = g_ptr_array_new_with_free_func(refusal_free);
    summary->files = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *target = find_target(store, wish, error);
    g_autoptr(GPtrArray) results = target != NULL ? list_results(store, wish, error) : NULL;
    if (results == NULL) {
        return false;
    }
    if (results->len == 0) {
        return nothing(wish,
                       wish->network != NULL || wish->tag != NULL
                           ? "no config was measured and verified yet of the problems asked for"
                           : "no config of it was measured and verified yet",
                       error);
    }
    return export_results(store, wish, target, results, dir, summary, error);
}
