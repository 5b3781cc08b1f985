#include "export/usage/usage_read.h"
#include "coordinator/import/import.h"
#include "export/check/check.h"
#include "export/formats/find_db.h"
#include "export/sjdb/reader/layout.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "schema/results/store_foreign.h"
#include "schema/results/store_golden.h"
#include "schema/store/store_campaigns.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

#define NAMED_MAX 5 /* unusable lines of a file that are named; further lines are only counted */

static void say_unused(const char *path, int64_t line, int64_t count, const char *reason)
{
    if (count <= NAMED_MAX) {
        g_printerr("%s:%" G_GINT64_FORMAT ": not used: %s\n", path, line, reason);
    }
}

static void say_more(const char *path, int64_t count, const char *remedy)
{
    if (count > NAMED_MAX) {
        g_printerr("%s: %" G_GINT64_FORMAT " more lines could not be used; %s names them\n", path,
                   count - NAMED_MAX, remedy);
    }
}

/* ---- lists ---- */

static void say_skipped(const char *path, const Import *import)
{
    for (guint i = 0; i < import->skipped->len; i++) {
        const struct import_skip *skip = import->skipped->pdata[i];
        say_unused(path, skip->line, i + 1, skip->reason);
    }
    say_more(path, import->skipped->len, "skipjack import --dry-run --json");
}

/* Adds the networks of a list: a layer table names its networks; any other list is one network,
 * named after its file. */
static void add_networks(Usage *usage, const char *path, const Import *import)
{
    g_autofree char *name = import_file_name(path);
    for (guint i = 0; i < import->networks->len; i++) {
        const struct import_network *network = import->networks->pdata[i];
        for (guint j = 0; j < network->layers->len; j++) {
            const struct layer *layer = &g_array_index(network->layers, struct layer, j);
            usage_add_problem(usage, network->name, &layer->problem, layer->multiplicity);
        }
    }
    for (int i = 0; import->networks->len == 0 && i < problem_list_count(import->problems); i++) {
        const struct problem_entry *entry = problem_list_get(import->problems, i);
        usage_add_problem(usage, name, &entry->problem, entry->multiplicity);
    }
}

bool usage_read_list(Usage *usage, const char *path, const struct import_options *options,
                     GError **error)
{
    g_autoptr(Import) import = import_new(options);
    if (!import_file(import, path, error)) {
        return false;
    }
    say_skipped(path, import);
    if (problem_list_count(import->problems) == 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY, "there is no problem in '%s'", path);
        return false;
    }
    add_networks(usage, path, import);
    return true;
}

/* ---- find-dbs ---- */

static bool add_line(Usage *usage, const struct find_line *line, GError **error)
{
    struct problem problem;
    if (!problem_key_parse(line->key, &problem, error)) {
        return false;
    }
    for (guint i = 0; i < line->entries->len; i++) {
        const struct find_entry *entry = &g_array_index(line->entries, struct find_entry, i);
        usage_add_time(usage, &problem, entry->solver, entry->time_ms);
    }
    return true;
}

static bool no_find_db(const char *path, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "no line of '%s' is a find-db's: times stand in files such as gfx90a68.HIP.fdb.txt "
                "and gfx90a68.sjdb",
                path);
    return false;
}

static bool no_times(const char *path, enum file_kind kind, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "'%s' is a %s and has no times: they stand in files such as gfx90a68.HIP.fdb.txt "
                "and gfx90a68.sjdb",
                path, file_kind_name(kind));
    return false;
}

static bool read_find_db(Usage *usage, const char *path, GError **error)
{
    g_autoptr(FindDb) db = find_db_open(path, error);
    struct find_line line;
    struct line at;
    enum read_step step;
    int64_t used = 0, unused = 0;
    if (db == NULL) {
        return false;
    }
    find_line_init(&line);
    do {
        g_autoptr(GError) reason = NULL;
        step = find_db_next(db, &line, &at, &reason);
        if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
        } else if (step == READ_ROW && add_line(usage, &line, &reason)) {
            used++;
        } else if (step != READ_END) {
            say_unused(path, at.number, ++unused, reason->message);
        }
    } while (step == READ_ROW || step == READ_BAD);
    find_line_clear(&line);
    say_more(path, unused, "skipjack check --json");
    return step == READ_END && (used > 0 || no_find_db(path, error));
}

/* ---- .sjdb ---- */

static int add_sjdb_problem(Usage *usage, const skipjackdb *db, uint64_t number,
                            struct skipjackdb_entry *entries)
{
    char key[SKIPJACKDB_KEY_MAX];
    struct skipjackdb_problem held = {.size = sizeof held};
    struct problem problem;
    size_t count = 0;
    int code = skipjackdb_problem_at(db, number, &held);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_problem_key(&held, key, sizeof key);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_entries(db, number, entries, sizeof *entries, SJDB_LIST_MAX, &count);
    }
    if (code != SKIPJACKDB_OK || !problem_key_parse(key, &problem, NULL)) {
        return code == SKIPJACKDB_OK ? SKIPJACKDB_SYNTAX : code;
    }
    for (size_t i = 0; i < MIN(count, SJDB_LIST_MAX); i++) {
        usage_add_time(usage, &problem, entries[i].solver, entries[i].time_ms);
    }
    return SKIPJACKDB_OK;
}

static bool read_sjdb(Usage *usage, const char *path, GError **error)
{
    skipjackdb *db = NULL;
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, SJDB_LIST_MAX);
    int64_t unused = 0;
    int code = skipjackdb_open(path, &db);
    uint64_t count = skipjackdb_problem_count(db);
    for (uint64_t i = 0; i < count; i++) {
        int read = add_sjdb_problem(usage, db, i, entries);
        if (read != SKIPJACKDB_OK) {
            say_unused(path, (int64_t)i, ++unused, skipjackdb_error_text(read));
        }
    }
    skipjackdb_close(db);
    if (code != SKIPJACKDB_OK) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read '%s': %s", path,
                    skipjackdb_error_text(code));
        return false;
    }
    say_more(path, unused, "skipjack check --json");
    return true;
}

bool usage_read_db(Usage *usage, const char *path, GError **error)
{
    enum file_kind kind;
    if (!check_file_kind(path, &kind, NULL) || kind == FILE_FIND_DB) {
        return read_find_db(usage, path, error);
    }
    return kind == FILE_SJDB ? read_sjdb(usage, path, error) : no_times(path, kind, error);
}

/* ---- campaigns ---- */

/* Adds a problem of a campaign once. The campaign lists it for each of its solvers, each time with
 * the same multiplicity. */
static void add_once(Usage *usage, ProblemList *known, const char *network,
                     const struct problem *problem, int multiplicity)
{
    int before = problem_list_count(known);
    problem_list_add(known, problem, 1);
    if (problem_list_count(known) > before) {
        usage_add_problem(usage, network, problem, multiplicity);
    }
}

static bool add_jobs(Usage *usage, Store *store, const struct campaign *campaign, GError **error)
{
    g_autoptr(GPtrArray) jobs = store_list_jobs(store, campaign->id, error);
    if (jobs == NULL) {
        return false;
    }
    g_autofree char *number = g_strdup_printf("campaign %" G_GINT64_FORMAT, campaign->id);
    g_autoptr(ProblemList) known = problem_list_new();
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = jobs->pdata[i];
        add_once(usage, known, campaign->name[0] != '\0' ? campaign->name : number, &job->problem,
                 job->multiplicity);
    }
    return true;
}

struct foreign_use {
    Usage *usage;
    /* name of the network that the campaign's problems become; NULL if only their times are
     * added */
    const char *network;
};

static void add_foreign(const struct problem *problem, const struct foreign_entry *entries,
                        int count, gpointer data)
{
    const struct foreign_use *use = data;
    if (use->network != NULL) {
        usage_add_problem(use->usage, use->network, problem, 1);
    }
    for (int i = 0; i < count; i++) {
        usage_add_time(use->usage, problem, entries[i].solver, entries[i].time_ms);
    }
}

static bool add_results(Usage *usage, Store *store, int64_t campaign, GError **error)
{
    g_autoptr(GPtrArray) results = store_list_results(store, campaign, error);
    for (guint i = 0; results != NULL && i < results->len; i++) {
        const struct result *result = results->pdata[i];
        usage_add_time(usage, &result->problem, result->solver, result->kept.outcome.median_ms);
    }
    return results != NULL;
}

bool usage_read_campaign(Usage *usage, Store *store, int64_t id, bool as_network, GError **error)
{
    struct campaign *campaign = store_get_campaign(store, id, error);
    if (campaign == NULL) {
        return false;
    }
    struct foreign_use use = {usage, as_network ? campaign->name : NULL};
    bool read = campaign_is_foreign(campaign)
                    ? store_each_foreign(store, id, add_foreign, &use, error)
                    : (!as_network || add_jobs(usage, store, campaign, error)) &&
                          add_results(usage, store, id, error);
    campaign_free(campaign);
    return read;
}

/* ---- golden versions: a target's approved results ---- */

static bool find_version(Store *store, const char *target, int *version, GError **error)
{
    if (*version == 0 && !store_newest_golden(store, target, version, error)) {
        return false;
    }
    if (*version == 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY,
                    "target '%s' has no approved golden version, see skipjack golden list", target);
    }
    return *version != 0;
}

bool usage_read_golden(Usage *usage, Store *store, const char *target, int version, bool as_network,
                       GError **error)
{
    if (!find_version(store, target, &version, error)) {
        return false;
    }
    const struct golden_query query = {.target = target, .version = version, .stack = ""};
    g_autoptr(GPtrArray) rows = store_list_golden_rows(store, &query, error);
    g_autofree char *network = g_strdup_printf("%s version %d", target, version);
    g_autoptr(ProblemList) known = problem_list_new();
    for (guint i = 0; rows != NULL && i < rows->len; i++) {
        const struct result *result = &((const struct golden_row *)rows->pdata[i])->result;
        if (result->damage != NULL) {
            g_printerr("%s: not used: %s\n", network, result->damage);
            continue;
        }
        if (as_network) {
            add_once(usage, known, network, &result->problem, result->multiplicity);
        }
        /* Only the best config of an entry counts: the others were kept for exports with
         * limits, and one of them may have a time that was merely lucky. */
        if (result->rank == 0) {
            usage_add_time(usage, &result->problem, result->solver, result->kept.outcome.median_ms);
        }
    }
    return rows != NULL;
}
