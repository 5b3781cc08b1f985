#include "export/usage/usage_read.h"
#include "export/check/check.h"
#include "export/formats/export_error.h"
#include "export/formats/find_db.h"
#include "export/sjdb/reader/layout.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "schema/results/store_golden.h"
#include "solvers/framework/target.h"
#include "solvers/problem/problem_key.h"

#include <jansson.h>
#include <math.h>

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
        if (network_facts_runs(&network->facts) > 0) {
            usage_set_runs(usage, network->name, network_facts_runs(&network->facts));
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

/* ---- files with times ---- */

/* How a file is read: its problems become a network, or its times are added. */
struct file_use {
    Usage *usage;
    const char *network; /* name of the network that the problems become; NULL to add times */
    int place, origin;
};

static void use_problem(const struct file_use *use, const struct problem *problem)
{
    if (use->network != NULL) {
        usage_add_problem(use->usage, use->network, problem, 1);
    }
}

static void use_time(const struct file_use *use, const struct problem *problem,
                     struct usage_entry *entry)
{
    if (use->network == NULL) {
        entry->place = use->place;
        entry->origin = use->origin;
        usage_add_entry(use->usage, problem, entry);
    }
}

/* The target that the file's name begins with, "" for other names. */
static void name_target(const char *path, char target[64])
{
    struct target parsed;
    g_autofree char *name = g_path_get_basename(path);
    name[strcspn(name, ".")] = '\0';
    g_strlcpy(target, target_parse(name, &parsed, NULL) ? parsed.id : "", 64);
}

static int place_of_file(Usage *usage, const char *path, bool apart)
{
    char target[64];
    g_autofree char *name = g_path_get_basename(path);
    name_target(path, target);
    return usage_place(usage, target, apart ? name : "");
}

static bool use_line(const struct file_use *use, const struct find_line *line, GError **error)
{
    struct problem problem;
    if (!problem_key_parse(line->key, &problem, error)) {
        return false;
    }
    use_problem(use, &problem);
    for (guint i = 0; i < line->entries->len; i++) {
        const struct find_entry *found = &g_array_index(line->entries, struct find_entry, i);
        struct usage_entry entry = {
            .solver = found->solver, .dynamic = -1, .time_ms = found->time_ms};
        use_time(use, &problem, &entry);
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

static bool use_find_db(const struct file_use *use, const char *path, GError **error)
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
        } else if (step == READ_ROW && use_line(use, &line, &reason)) {
            used++;
        } else if (step != READ_END && use->network == NULL) {
            say_unused(path, at.number, ++unused, reason->message);
        }
    } while (step == READ_ROW || step == READ_BAD);
    find_line_clear(&line);
    say_more(path, unused, "skipjack check --json");
    return step == READ_END && (used > 0 || no_find_db(path, error));
}

/* ---- .sjdb ---- */

static int dynamic_of(uint32_t flags)
{
    return (flags & SKIPJACKDB_FLAGS_KNOWN) != 0 ? (flags & SKIPJACKDB_DYNAMIC) != 0 : -1;
}

static int use_sjdb_problem(const struct file_use *use, const skipjackdb *db, uint64_t number,
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
    use_problem(use, &problem);
    for (size_t i = 0; i < MIN(count, SJDB_LIST_MAX); i++) {
        struct usage_entry entry = {.solver = entries[i].solver,
                                    .revision = (int)entries[i].revision,
                                    .dynamic = dynamic_of(entries[i].flags),
                                    .time_ms = entries[i].time_ms};
        use_time(use, &problem, &entry);
    }
    return SKIPJACKDB_OK;
}

static bool use_sjdb(const struct file_use *use, const char *path, GError **error)
{
    skipjackdb *db = NULL;
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, SJDB_LIST_MAX);
    int64_t unused = 0;
    int code = skipjackdb_open(path, &db);
    uint64_t count = skipjackdb_problem_count(db);
    uint64_t unmeasured = skipjackdb_unmeasured(db, sizeof(struct skipjackdb_problem));
    for (uint64_t i = 0; i < count; i++) {
        int read = use_sjdb_problem(use, db, i, entries);
        if (read != SKIPJACKDB_OK && use->network == NULL) {
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
    if (count == 0 && unmeasured > 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                    "'%s' is a build-only export: none of its %" G_GUINT64_FORMAT
                    " problems was measured, and times are what usage counts",
                    path, unmeasured);
        return false;
    }
    return true;
}

static void origin_free(gpointer data)
{
    struct usage_origin *origin = data;
    g_free((char *)origin->source.target);
    g_free(origin->path);
    g_free(origin);
}

static bool use_file(struct file_use *use, const char *path, GError **error)
{
    enum file_kind kind;
    if (!check_file_kind(path, &kind, NULL) || kind == FILE_FIND_DB) {
        return use_find_db(use, path, error);
    }
    if (kind != FILE_SJDB) {
        return no_times(path, kind, error);
    }
    if (use->network == NULL) {
        struct usage_origin *origin = g_new0(struct usage_origin, 1);
        origin->path = g_strdup(path);
        use->origin = usage_keep_origin(use->usage, origin, origin_free);
    }
    return use_sjdb(use, path, error);
}

bool usage_read_db(Usage *usage, const char *path, bool apart, GError **error)
{
    struct file_use use = {usage, NULL, place_of_file(usage, path, apart), -1};
    return use_file(&use, path, error);
}

bool usage_own_db(Usage *usage, const char *path, bool apart, GError **error)
{
    g_autofree char *name = import_file_name(path);
    struct file_use use = {usage, name, place_of_file(usage, path, apart), -1};
    bool read = use_file(&use, path, error);
    if (read) {
        usage_bind_network(usage, name, use.place);
    }
    return read;
}

/* ---- the database: problems ---- */

void usage_database_clear(struct usage_database *database)
{
    g_clear_pointer(&database->known, g_hash_table_unref);
}

static void know(struct usage_database *database, const struct used_problem *used)
{
    if (database->known == NULL) {
        database->known = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    }
    if (!g_hash_table_contains(database->known, &used->id)) {
        struct used_problem *copy = g_memdup2(used, sizeof *used);
        g_hash_table_insert(database->known, &copy->id, copy);
    }
}

/* Reads the problems of a source, whose rows are then known. network: they also become this network; NULL for none.
 * *count: how many. */
static bool know_problems(Usage *usage, struct usage_database *database,
                          const struct usage_source *source, const char *network, guint *count,
                          GError **error)
{
    g_autoptr(GArray) problems = store_list_used_problems(database->store, source, error);
    for (guint i = 0; problems != NULL && i < problems->len; i++) {
        const struct used_problem *used = &g_array_index(problems, struct used_problem, i);
        know(database, used);
        if (network != NULL) {
            usage_add_problem(usage, network, &used->problem, used->multiplicity);
        }
    }
    *count = problems != NULL ? problems->len : 0;
    return problems != NULL;
}

bool usage_read_network(Usage *usage, struct usage_database *database, const char *name,
                        GError **error)
{
    const struct usage_source source = {.network = name};
    double runs = 0;
    guint count;
    if (!know_problems(usage, database, &source, name, &count, error) ||
        !store_network_runs(database->store, name, &runs, error)) {
        return false;
    }
    if (runs > 0) {
        usage_set_runs(usage, name, runs);
    }
    return true;
}

bool usage_read_tag(Usage *usage, struct usage_database *database, const char *tag, GError **error)
{
    const struct usage_source source = {.tag = tag};
    g_autofree char *name = g_strdup_printf("tag %s", tag);
    guint count = 0;
    if (!know_problems(usage, database, &source, name, &count, error)) {
        return false;
    }
    if (count == 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY,
                    "no problem has the tag '%s'; skipjack import --tag gives one", tag);
    }
    return count > 0;
}

/* ---- the database: times ---- */

/* With more problems than these the server reads a whole source faster than by its problems. */
#define ASKED_MOST 20000

struct time_use {
    Usage *usage;
    const struct usage_database *database;
    int place, origin;
};

static void use_stored(const struct used_time *time, gpointer data)
{
    const struct time_use *use = data;
    const struct used_problem *used = g_hash_table_lookup(use->database->known, &time->problem);
    if (used == NULL) {
        return;
    }
    const struct usage_entry entry = {.solver = time->solver,
                                      .revision = time->revision,
                                      .dynamic = time->dynamic,
                                      .place = use->place,
                                      .origin = use->origin,
                                      .solver_id = time->solver_id,
                                      .problem_id = time->problem,
                                      .time_ms = time->time_ms};
    usage_add_entry(use->usage, &used->problem, &entry);
}

/* The ids of the known problems; NULL if all of a source are to be read. */
static GArray *ids_to_ask(const struct usage_database *database)
{
    guint count = g_hash_table_size(database->known);
    if (count > ASKED_MOST) {
        return NULL;
    }
    GArray *ids = g_array_sized_new(FALSE, FALSE, sizeof(int64_t), count);
    GHashTableIter iter;
    gpointer id;
    g_hash_table_iter_init(&iter, database->known);
    while (g_hash_table_iter_next(&iter, &id, NULL)) {
        g_array_append_vals(ids, id, 1);
    }
    return ids;
}

/* target: the source's; name: what the source is called where sources are kept apart. */
static bool read_times(Usage *usage, struct usage_database *database,
                       const struct usage_source *source, const char *target, const char *name,
                       GError **error)
{
    guint count = 0;
    if ((database->partial || database->known == NULL) &&
        !know_problems(usage, database, source, NULL, &count, error)) {
        return false;
    }
    if (database->known == NULL) { /* the source is empty */
        return true;
    }
    struct usage_origin *origin = g_new0(struct usage_origin, 1);
    origin->source = *source;
    origin->source.target = g_strdup(source->target);
    struct time_use use = {usage, database, usage_place(usage, target, database->apart ? name : ""),
                           usage_keep_origin(usage, origin, origin_free)};
    GArray *ids = ids_to_ask(database);
    bool read = store_each_used_time(database->store, source, ids, use_stored, &use, error);
    if (ids != NULL) {
        g_array_unref(ids);
    }
    return read;
}

/* ---- campaigns ---- */

/* Where times are kept apart, two campaigns of one name must differ. */
static char *campaign_source(int64_t id)
{
    return g_strdup_printf("campaign %" G_GINT64_FORMAT, id);
}

bool usage_own_campaign(Usage *usage, struct usage_database *database, int64_t id, GError **error)
{
    struct used_campaign campaign;
    if (!store_get_used_campaign(database->store, id, &campaign, error)) {
        return false;
    }
    const struct usage_source source = {.campaign = id, .foreign = campaign.foreign};
    g_autofree char *name = campaign_source(id);
    const char *network = campaign.name[0] != '\0' ? campaign.name : name;
    guint count;
    bool read = know_problems(usage, database, &source, network, &count, error);
    if (read && count > 0) {
        usage_bind_network(usage, network,
                           usage_place(usage, campaign.target, database->apart ? name : ""));
    }
    used_campaign_clear(&campaign);
    return read;
}

bool usage_read_campaign(Usage *usage, struct usage_database *database, int64_t id, GError **error)
{
    struct used_campaign campaign;
    if (!store_get_used_campaign(database->store, id, &campaign, error)) {
        return false;
    }
    const struct usage_source source = {.campaign = id, .foreign = campaign.foreign};
    g_autofree char *name = campaign_source(id);
    bool read = read_times(usage, database, &source, campaign.target, name, error);
    used_campaign_clear(&campaign);
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

bool usage_own_golden(Usage *usage, struct usage_database *database, const char *target,
                      int version, GError **error)
{
    if (!find_version(database->store, target, &version, error)) {
        return false;
    }
    const struct usage_source source = {.target = target, .version = version};
    g_autofree char *name = g_strdup_printf("%s version %d", target, version);
    guint count;
    bool read = know_problems(usage, database, &source, name, &count, error);
    if (read && count > 0) {
        usage_bind_network(usage, name, usage_place(usage, target, database->apart ? name : ""));
    }
    return read;
}

bool usage_read_golden(Usage *usage, struct usage_database *database, const char *target,
                       int version, GError **error)
{
    if (!find_version(database->store, target, &version, error)) {
        return false;
    }
    const struct usage_source source = {.target = target, .version = version};
    g_autofree char *name = g_strdup_printf("%s version %d", target, version);
    return read_times(usage, database, &source, target, name, error);
}

/* ---- runs ---- */

struct runs_file {
    Usage *usage;
    const char *path;
    int64_t unknown;    /* networks that `usage` lacks */
    char *unknown_name; /* the first of them */
};

/* where: "line 3" or "member 'x'". */
static bool take_runs(struct runs_file *file, const char *where, const char *network, double runs,
                      GError **error)
{
    if (network == NULL || !isfinite(runs) || !(runs > 0)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "'%s', %s: expected the name of a network and a number of runs over 0",
                    file->path, where);
        return false;
    }
    if (!usage_set_runs(file->usage, network, runs) && file->unknown++ == 0)
        file->unknown_name = g_strdup(network);
    return true;
}

static bool take_runs_object(struct runs_file *file, const json_t *json, GError **error)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)json, name, value) {
        g_autofree char *where = g_strdup_printf("member '%s'", name);
        if (!take_runs(file, where, name, json_is_number(value) ? json_number_value(value) : NAN,
                       error)) {
            return false;
        }
    }
    return true;
}

static bool take_runs_array(struct runs_file *file, const json_t *json, GError **error)
{
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *row = json_array_get(json, i);
        const json_t *runs = json_object_get(row, "runs");
        g_autofree char *where = g_strdup_printf("element %zu", i + 1);
        if (!take_runs(file, where, json_string_value(json_object_get(row, "network")),
                       json_is_number(runs) ? json_number_value(runs) : NAN, error)) {
            return false;
        }
    }
    return true;
}

static bool take_runs_json(struct runs_file *file, const char *text, GError **error)
{
    json_error_t reason;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &reason);
    if (json == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "'%s', line %d: %s", file->path,
                    reason.line, reason.text);
        return false;
    }
    bool taken = json_is_array(json) ? take_runs_array(file, json, error)
                                     : take_runs_object(file, json, error);
    json_decref(json);
    return taken;
}

/* The last comma parts network and runs: a network's name may hold commas. */
static bool take_runs_line(struct runs_file *file, char *line, int64_t number, GError **error)
{
    char *comma = strrchr(line, ',');
    char *end = NULL;
    g_autofree char *where = g_strdup_printf("line %" G_GINT64_FORMAT, number);
    if (comma == NULL) {
        return take_runs(file, where, NULL, NAN, error);
    }
    *comma = '\0';
    g_strstrip(line);
    g_strstrip(comma + 1);
    double runs = g_ascii_strtod(comma + 1, &end);
    return take_runs(file, where, line, end == comma + 1 || *end != '\0' ? NAN : runs, error);
}

static bool take_runs_csv(struct runs_file *file, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    bool headed = false;
    for (int64_t i = 0; lines[i] != NULL; i++) {
        char *line = g_strstrip(lines[i]);
        if (*line == '\0' || *line == '#') {
            continue;
        }
        if (!headed) {
            headed = strcmp(line, "network,runs") == 0;
            if (!headed) {
                g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                            "'%s', line %" G_GINT64_FORMAT
                            ": the first line of a CSV of runs is 'network,runs'",
                            file->path, i + 1);
                return false;
            }
        } else if (!take_runs_line(file, line, i + 1, error)) {
            return false;
        }
    }
    return true;
}

bool usage_read_runs(Usage *usage, const char *path, GError **error)
{
    struct runs_file file = {usage, path, 0, NULL};
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, error)) {
        return false;
    }
    const char *begin = text + strspn(text, " \t\r\n");
    bool taken = *begin == '{' || *begin == '[' ? take_runs_json(&file, begin, error)
                                                : take_runs_csv(&file, text, error);
    if (taken && file.unknown > 0) {
        g_printerr("%s: %" G_GINT64_FORMAT " networks are not among those asked about: '%s'%s\n",
                   path, file.unknown, file.unknown_name, file.unknown > 1 ? ", ..." : "");
    }
    g_free(file.unknown_name);
    return taken;
}
