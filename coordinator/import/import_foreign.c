#include "coordinator/import/import_foreign.h"

#include "coordinator/cli/cli.h"
#include "coordinator/import/import_reader.h"
#include "coordinator/process/machine.h"
#include "export/formats/byte_source.h"
#include "export/formats/file_name.h"
#include "export/formats/find_db.h"
#include "export/formats/line_reader.h"
#include "export/formats/perf_db.h"
#include "schema/results/store_foreign.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_problems.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

/* ---- rows that wait until thousands are stored by one statement ---- */

struct foreign_rows {
    Store *store; /* NULL for a dry run: rows are counted and dropped */
    int64_t campaign;
    struct foreign_file *file;
    void (*progress)(const char *path, int64_t entries);
    GArray *problems; /* struct problem */
    /* struct foreign_time; until it is stored, its problem is an index into `problems` */
    GArray *times;
    /* struct foreign_params; until it is stored, its problem is an index into `problems`; params of a SQLite
     * perf-db name a stored problem's id from the beginning */
    GArray *params;
    GStringChunk *names;
};

/* ---- what all readers of formats share ---- */

struct foreign_reading {
    struct foreign_import *import;
    struct foreign_file *file;
    struct foreign_rows rows;
};

/* rows stored by one statement: takes about 100 ms, and a few MB here and in the server */
#define ROWS_AT_ONCE 5000

static void foreign_rows_init(struct foreign_rows *rows, Store *store, int64_t campaign)
{
    *rows = (struct foreign_rows){.store = store, .campaign = campaign};
    rows->problems = g_array_new(FALSE, FALSE, sizeof(struct problem));
    rows->times = g_array_new(FALSE, FALSE, sizeof(struct foreign_time));
    rows->params = g_array_new(FALSE, FALSE, sizeof(struct foreign_params));
    rows->names = g_string_chunk_new(1 << 16);
}

static void foreign_rows_clear(struct foreign_rows *rows)
{
    g_array_unref(rows->problems);
    g_array_unref(rows->times);
    g_array_unref(rows->params);
    g_string_chunk_free(rows->names);
}

/* Adds a problem to the waiting rows and returns its index. */
static int64_t foreign_rows_problem(struct foreign_rows *rows, const struct problem *problem)
{
    g_array_append_val(rows->problems, *problem);
    return rows->problems->len - 1;
}

/* Adds a time to the waiting rows. Its texts are copied. */
static void foreign_rows_time(struct foreign_rows *rows, const struct foreign_time *time)
{
    struct foreign_time kept = *time;
    kept.solver = g_string_chunk_insert_const(rows->names, time->solver);
    kept.algorithm = g_string_chunk_insert_const(rows->names, time->algorithm);
    g_array_append_val(rows->times, kept);
    rows->file->entries++;
}

static void foreign_rows_params(struct foreign_rows *rows, const struct foreign_params *params)
{
    struct foreign_params kept = *params;
    kept.solver = g_string_chunk_insert_const(rows->names, params->solver);
    kept.params = g_string_chunk_insert_const(rows->names, params->params);
    g_array_append_val(rows->params, kept);
    rows->file->entries++;
}

/* Stores the waiting problems and appends their ids to `ids`, all 0 in a dry run. */
static bool foreign_rows_store_problems(struct foreign_rows *rows, GArray *ids, GError **error)
{
    guint count = rows->problems->len, before = ids->len;
    g_array_set_size(ids, before + count); /* in a dry run the ids stay 0 */
    if (rows->store != NULL && count > 0 &&
        !store_put_problems(rows->store, (const struct problem *)(const void *)rows->problems->data,
                            (int)count, NULL, &g_array_index(ids, int64_t, before), error)) {
        return false;
    }
    g_array_set_size(rows->problems, 0);
    return true;
}

/* Replaces indices of waiting problems by the problems' ids. If no problem waited, params already
 * name ids. */
static void places_to_ids(struct foreign_rows *rows, const GArray *ids)
{
    for (guint i = 0; i < rows->times->len; i++) {
        struct foreign_time *time = &g_array_index(rows->times, struct foreign_time, i);
        time->problem = g_array_index(ids, int64_t, time->problem);
        time->row_problem = g_array_index(ids, int64_t, time->row_problem);
    }
    for (guint i = 0; i < rows->params->len && ids->len > 0; i++) {
        struct foreign_params *params = &g_array_index(rows->params, struct foreign_params, i);
        params->problem = g_array_index(ids, int64_t, params->problem);
    }
}

static bool store_rows(struct foreign_rows *rows, GError **error)
{
    int times = (int)rows->times->len, params = (int)rows->params->len, added = 0, more = 0;
    const void *time = rows->times->data, *config = rows->params->data;
    if ((times > 0 &&
         !store_add_foreign_times(rows->store, rows->campaign, time, times, &added, error)) ||
        (params > 0 &&
         !store_add_foreign_params(rows->store, rows->campaign, config, params, &more, error))) {
        return false;
    }
    rows->file->repeated += times + params - added - more;
    return true;
}

/* Stores the waiting rows if `all` is true, or if ROWS_AT_ONCE or more rows wait. Indices of waiting
 * problems then begin at 0 again. */
static bool foreign_rows_store(struct foreign_rows *rows, bool all, GError **error)
{
    if (!all && rows->problems->len + rows->times->len + rows->params->len < ROWS_AT_ONCE) {
        return true;
    }
    g_autoptr(GArray) ids = g_array_new(FALSE, TRUE, sizeof(int64_t));
    if (!foreign_rows_store_problems(rows, ids, error)) {
        return false;
    }
    places_to_ids(rows, ids);
    if (rows->store != NULL && !store_rows(rows, error)) {
        return false;
    }
    g_array_set_size(rows->times, 0);
    g_array_set_size(rows->params, 0);
    g_string_chunk_clear(rows->names);
    if (rows->progress != NULL) {
        rows->progress(rows->file->path, rows->file->entries);
    }
    return true;
}

#define CONFIGS_AT_ONCE 5000
#define TIME_MAX_MS     1e12 /* largest time in ms, some decades; the database has the same limit */

/* ---- reporting rows that are left out ---- */

G_GNUC_PRINTF(3, 4)
static void leave_out(struct foreign_reading *reading, int64_t line, const char *format, ...)
{
    reading->file->left_out++;
    if (reading->import->left_out++ >= FOREIGN_SKIPS_KEPT) {
        return;
    }
    struct foreign_skip *skip = g_new0(struct foreign_skip, 1);
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *reason = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    skip->file = reading->file->path;
    skip->line = line;
    skip->reason = g_utf8_make_valid(reason, -1);
    g_ptr_array_add(reading->import->skips, skip);
}

/* ---- find-dbs ---- */

/* Returns the index of the problem that represents this problem's perf-db row. A perf-db stores one
 * row for all problems that differ in output size alone. */
static int64_t row_place(struct foreign_rows *rows, const struct problem *problem, int64_t place)
{
    struct perf_row row;
    struct problem stands;
    if (!problem_has_perf_row(problem)) {
        return place;
    }
    perf_row_from_problem(problem, &row);
    if (!perf_row_to_problem(&row, &stands, NULL) || problem_equal(&stands, problem)) {
        return place;
    }
    return foreign_rows_problem(rows, &stands);
}

static void add_time(struct foreign_reading *reading, int64_t line, const struct find_entry *entry,
                     int64_t place, int64_t stands)
{
    if (!(entry->time_ms > 0 && entry->time_ms < TIME_MAX_MS)) {
        leave_out(reading, line, "%s: a time of %s ms was never measured", entry->solver,
                  entry->time_text);
    } else if (entry->workspace_bytes > INT64_MAX) {
        leave_out(reading, line, "%s: no memory has a workspace of %" G_GUINT64_FORMAT " bytes",
                  entry->solver, entry->workspace_bytes);
    } else {
        const struct foreign_time time = {place,          stands,
                                          entry->time_ms, (int64_t)entry->workspace_bytes,
                                          entry->solver,  entry->algorithm};
        foreign_rows_time(&reading->rows, &time);
    }
}

static void add_find_line(struct foreign_reading *reading, int64_t number,
                          const struct find_line *line)
{
    struct problem problem;
    g_autoptr(GError) error = NULL;
    if (!problem_key_parse(line->key, &problem, &error) || !problem_validate(&problem, &error)) {
        leave_out(reading, number, "%s", error->message);
        return;
    }
    int64_t place = foreign_rows_problem(&reading->rows, &problem);
    int64_t stands = row_place(&reading->rows, &problem, place);
    reading->file->problems++;
    for (guint i = 0; i < line->entries->len; i++) {
        add_time(reading, number, &g_array_index(line->entries, struct find_entry, i), place,
                 stands);
    }
}

/* Each foreign_read_*() reads the whole file at reading->file, in one format. It fails with EXPORT_ERROR, or with
 * errors of the store. */
static bool foreign_read_find_db(struct foreign_reading *reading, GError **error)
{
    g_autoptr(FindDb) db = find_db_open(reading->file->path, error);
    struct find_line line;
    struct line at;
    enum read_step step = READ_ROW;
    bool stored = db != NULL;
    find_line_init(&line);
    while (stored && (step == READ_ROW || step == READ_BAD)) {
        g_autoptr(GError) reason = NULL;
        step = find_db_next(db, &line, &at, &reason);
        if (step == READ_ROW) {
            add_find_line(reading, at.number, &line);
        } else if (step == READ_BAD) {
            leave_out(reading, at.number, "%s", reason->message);
        } else if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
        }
        stored = step != READ_FAILED && foreign_rows_store(&reading->rows, step == READ_END, error);
    }
    find_line_clear(&line);
    return stored;
}

/* ---- perf-dbs as text ---- */

static void add_params(struct foreign_reading *reading, int64_t line, int64_t problem,
                       const char *solver, const char *params)
{
    if (solver[0] == '\0' || params[0] == '\0') {
        leave_out(reading, line, "%s has no params", solver[0] != '\0' ? solver : "a solver");
        return;
    }
    const struct foreign_params row = {problem, solver, params};
    foreign_rows_params(&reading->rows, &row);
}

static void add_perf_line(struct foreign_reading *reading, const struct line *at,
                          struct perf_text_line *line)
{
    struct problem problem;
    g_autoptr(GError) error = NULL;
    if (!perf_text_line_parse(at->text, line, &error) ||
        !perf_row_to_problem(&line->row, &problem, &error)) {
        leave_out(reading, at->number, "%s", error->message);
        return;
    }
    int64_t place = foreign_rows_problem(&reading->rows, &problem);
    reading->file->problems++;
    for (guint i = 0; i < line->solvers->len; i++) {
        add_params(reading, at->number, place, line->solvers->pdata[i], line->params->pdata[i]);
    }
}

static bool foreign_read_perf_text(struct foreign_reading *reading, GError **error)
{
    g_autoptr(LineReader) lines = line_reader_open(reading->file->path, error);
    struct perf_text_line line;
    struct line at;
    enum read_step step = READ_ROW;
    bool stored = lines != NULL;
    perf_text_line_init(&line);
    while (stored && (step == READ_ROW || step == READ_BAD)) {
        g_autoptr(GError) reason = NULL;
        step = line_reader_next(lines, &at, &reason);
        if (step == READ_ROW) {
            add_perf_line(reading, &at, &line);
        } else if (step == READ_BAD) {
            leave_out(reading, at.number, "%s", reason->message);
        } else if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
        }
        stored = step != READ_FAILED && foreign_rows_store(&reading->rows, step == READ_END, error);
    }
    perf_text_line_clear(&line);
    return stored;
}

/* ---- perf-dbs as SQLite ---- */

/* The ids of the table config, and the stored problem for each. Rows are read in the order of their
 * ids, so the array is sorted and can be searched. Keeps 16 bytes for each row. */
struct config_rows {
    GArray *ids, *problems; /* int64_t: of config, of problems */
};

static bool store_configs(struct foreign_reading *reading, struct config_rows *configs,
                          GError **error)
{
    return foreign_rows_store_problems(&reading->rows, configs->problems, error);
}

static bool read_configs(struct foreign_reading *reading, PerfDb *db, struct config_rows *configs,
                         GError **error)
{
    for (;;) {
        g_autoptr(GError) reason = NULL;
        struct perf_row row;
        struct problem problem;
        int64_t id = 0;
        enum read_step step = perf_db_next_config(db, &id, &row, &reason);
        if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
            return false;
        }
        if (step == READ_END) {
            return store_configs(reading, configs, error);
        }
        if (step == READ_BAD || !perf_row_to_problem(&row, &problem, &reason)) {
            leave_out(reading, id, "config: %s", reason->message);
            continue;
        }
        foreign_rows_problem(&reading->rows, &problem);
        g_array_append_val(configs->ids, id);
        reading->file->problems++;
        if (reading->rows.problems->len >= CONFIGS_AT_ONCE &&
            !store_configs(reading, configs, error)) {
            return false;
        }
    }
}

static int compare_ids(gconstpointer a, gconstpointer b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

static void add_perf_entry(struct foreign_reading *reading, const struct config_rows *configs,
                           const struct perf_entry *entry)
{
    guint place;
    if (!g_array_binary_search(configs->ids, &entry->config, compare_ids, &place)) {
        leave_out(reading, entry->id,
                  "perf_db: %s has params for config %" G_GINT64_FORMAT
                  ", which is not there or cannot be used",
                  entry->solver, entry->config);
        return;
    }
    add_params(reading, entry->id, g_array_index(configs->problems, int64_t, place), entry->solver,
               entry->params);
}

static bool read_entries(struct foreign_reading *reading, PerfDb *db,
                         const struct config_rows *configs, GError **error)
{
    enum read_step step;
    do {
        g_autoptr(GError) reason = NULL;
        struct perf_entry entry = {0};
        step = perf_db_next_entry(db, &entry, &reason);
        if (step == READ_ROW) {
            add_perf_entry(reading, configs, &entry);
        } else if (step == READ_BAD) {
            leave_out(reading, entry.id, "perf_db: %s", reason->message);
        } else if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
            return false;
        }
        if (!foreign_rows_store(&reading->rows, step == READ_END, error)) {
            return false;
        }
    } while (step != READ_END);
    return true;
}

static bool foreign_read_perf_db(struct foreign_reading *reading, GError **error)
{
    g_autoptr(PerfDb) db = perf_db_open(reading->file->path, error);
    if (db == NULL) {
        return false;
    }
    struct config_rows configs = {g_array_new(FALSE, FALSE, sizeof(int64_t)),
                                  g_array_new(FALSE, TRUE, sizeof(int64_t))};
    bool read =
        read_configs(reading, db, &configs, error) && read_entries(reading, db, &configs, error);
    g_array_unref(configs.ids);
    g_array_unref(configs.problems);
    return read;
}

#define LOOK_AT_LINES 50

static void skip_free(gpointer data)
{
    struct foreign_skip *skip = data;
    g_free(skip->reason);
    g_free(skip);
}

/* ---- recognising each file's format and target ---- */

static const struct {
    enum file_kind kind;
    bool (*read)(struct foreign_reading *reading, GError **error);
} readers[] = {
    {FILE_FIND_DB, foreign_read_find_db},
    {FILE_PERF_TEXT, foreign_read_perf_text},
    {FILE_PERF_DB, foreign_read_perf_db},
};

static bool text_kind(const char *path, enum file_kind *kind, GError **error)
{
    g_autoptr(LineReader) lines = line_reader_open(path, error);
    enum read_step step = lines != NULL ? READ_ROW : READ_FAILED;
    for (int i = 0; i < LOOK_AT_LINES && (step == READ_ROW || step == READ_BAD); i++) {
        g_autoptr(GError) reason = NULL;
        struct line line;
        step = line_reader_next(lines, &line, &reason);
        if (step == READ_ROW &&
            (import_is_find_db_line(line.text) || import_is_perf_text_line(line.text))) {
            *kind = import_is_find_db_line(line.text) ? FILE_FIND_DB : FILE_PERF_TEXT;
            return true;
        }
        if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
        }
    }
    if (step != READ_FAILED) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                    "'%s' is neither a find-db nor a perf-db of MIOpen", path);
    }
    return false;
}

static bool find_kind(const char *path, enum file_kind *kind, GError **error)
{
    char head[16];
    size_t length = 0, more = 1;
    g_autoptr(ByteSource) source = byte_source_open(path, error);
    while (source != NULL && length < sizeof head && more > 0) {
        if (!byte_source_read(source, head + length, sizeof head - length, &more, error)) {
            return false;
        }
        length += more;
    }
    *kind = FILE_PERF_DB;
    return source != NULL &&
           ((length == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0) ||
            text_kind(path, kind, error));
}

static bool no_target(const char *path, const char *why, GError **error)
{
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "%s '%s'; name the target of the files: --target ID", why, path);
    return false;
}

static bool find_target(const struct foreign_request *request, struct target *target,
                        GError **error)
{
    if (request->target != NULL) {
        return machine_parse_target(request->target, target, error);
    }
    for (int i = 0; request->paths[i] != NULL; i++) {
        struct target other;
        g_autofree char *name = g_path_get_basename(request->paths[i]);
        name[strcspn(name, ".")] = '\0';
        if (!target_parse(name, &other, NULL)) {
            return no_target(request->paths[i], "no target is to be seen in the name", error);
        }
        if (i > 0 && strcmp(other.id, target->id) != 0) {
            return no_target(request->paths[i], "another target than the first file's has", error);
        }
        *target = other;
    }
    return true;
}

/* ---- the campaign's identity ---- */

static char *content_hash(const char *path, GError **error)
{
    g_autoptr(ByteSource) source = byte_source_open(path, error);
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    char piece[65536];
    size_t length = source != NULL;
    while (length > 0) {
        if (!byte_source_read(source, piece, sizeof piece, &length, error)) {
            return NULL;
        }
        g_checksum_update(checksum, (const guchar *)piece, (gssize)length);
    }
    return source != NULL ? g_strdup(g_checksum_get_string(checksum)) : NULL;
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns a hash over the content of all files, in whatever order they are named, and over the
 * target. Files with the same identity are imported once. */
static char *find_identity(const struct foreign_request *request, const struct target *target,
                           GError **error)
{
    g_autoptr(GPtrArray) hashes = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; request->paths[i] != NULL; i++) {
        char *hash = content_hash(request->paths[i], error);
        if (hash == NULL) {
            return NULL;
        }
        g_ptr_array_add(hashes, hash);
    }
    g_ptr_array_sort(hashes, compare_texts);
    g_ptr_array_add(hashes, NULL);
    g_autofree char *joined = g_strjoinv("\n", (char **)hashes->pdata);
    g_autofree char *text = g_strdup_printf("foreign\n%s\n%s", target->id, joined);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

/* ---- the whole import ---- */

/* Adds the file's name to an error, since SQLite's messages do not state it. */
static void name_file(const char *path, GError *failure, GError **error)
{
    if (failure->domain == EXPORT_ERROR && strstr(failure->message, path) == NULL) {
        g_prefix_error(&failure, "cannot read '%s': ", path);
    }
    g_propagate_error(error, failure);
}

static bool read_file(Store *store, const struct foreign_request *request, const char *path,
                      struct foreign_import *import, GError **error)
{
    enum file_kind kind;
    bool read = find_kind(path, &kind, error);
    if (!read) {
        return false;
    }
    struct foreign_file file = {.path = path, .format = file_kind_name(kind)};
    struct foreign_reading reading = {.import = import, .file = &file};
    foreign_rows_init(&reading.rows, store, import->campaign);
    reading.rows.file = &file;
    reading.rows.progress = request->progress;
    GError *failure = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(readers); i++) {
        read = readers[i].kind == kind ? readers[i].read(&reading, &failure) : read;
    }
    if (!read) {
        name_file(path, failure, error);
    }
    foreign_rows_clear(&reading.rows);
    g_array_append_val(import->files, file);
    return read;
}

static bool read_files(Store *store, const struct foreign_request *request,
                       struct foreign_import *import, GError **error)
{
    for (int i = 0; request->paths[i] != NULL; i++) {
        if (!read_file(store, request, request->paths[i], import, error)) {
            return false;
        }
    }
    return true;
}

/* Fills the campaign with the files' rows, within the transaction that store_begin_foreign()
 * began. */
static bool fill_campaign(Store *store, const struct foreign_request *request, const char *identity,
                          struct foreign_import *import, GError **error)
{
    g_autofree char *base = g_path_get_basename(request->paths[0]);
    base[strcspn(base, ".")] = '\0';
    const struct campaign campaign = {
        .name = request->name != NULL ? (char *)request->name : base,
        .identity = (char *)identity,
        .target = import->target.id,
    };
    if (!store_begin_foreign(store, &campaign, &import->campaign, error)) {
        return false;
    }
    import->is_new = import->campaign != 0;
    return !import->is_new || read_files(store, request, import, error);
}

/* Reads the campaign back even though it was just committed. If the connection was lost before the
 * commit, the server has dropped the transaction, and a new connection committed nothing. */
static bool find_stored(Store *store, const char *identity, struct foreign_import *import,
                        GError **error)
{
    g_autoptr(GError) away = NULL;
    struct campaign *campaign = store_find_campaign(store, identity, &away);
    if (campaign == NULL) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "what was imported is not in the database (%s); import it again",
                    away != NULL ? away->message : "it was lost or dropped meanwhile");
        return false;
    }
    import->campaign = campaign->id;
    campaign_free(campaign);
    return true;
}

bool import_foreign(Store *store, const struct foreign_request *request,
                    struct foreign_import *import, GError **error)
{
    *import = (struct foreign_import){0};
    import->files = g_array_new(FALSE, FALSE, sizeof(struct foreign_file));
    import->skips = g_ptr_array_new_with_free_func(skip_free);
    if (!find_target(request, &import->target, error)) {
        return false;
    }
    if (store == NULL) {
        return read_files(NULL, request, import, error);
    }
    g_autofree char *identity = find_identity(request, &import->target, error);
    if (identity == NULL) {
        return false;
    }
    if (!fill_campaign(store, request, identity, import, error)) {
        /* An error of the rollback is dropped, since it would only hide the first one. */
        store_end_foreign(store, false, NULL);
        return false;
    }
    return store_end_foreign(store, true, error) && find_stored(store, identity, import, error);
}

void foreign_import_clear(struct foreign_import *import)
{
    g_clear_pointer(&import->files, g_array_unref);
    g_clear_pointer(&import->skips, g_ptr_array_unref);
}
