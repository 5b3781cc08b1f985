#include "coordinator/import/import_foreign.h"
#include "schema/store/store_foreign.h"

#include "coordinator/cli/cli.h"
#include "coordinator/import/import_foreign_rows.h"
#include "coordinator/import/import_reader.h"
#include "coordinator/process/machine.h"
#include "export/formats/byte_source.h"
#include "export/formats/file_name.h"
#include "export/formats/line_reader.h"
#include "schema/store/store_campaigns.h"

#include <string.h>

#define LOOK_AT_LINES 50

static void skip_free(gpointer data)
{
    struct foreign_skip *skip = data;
    g_free(skip->reason);
    g_free(skip);
}

/* ---- what the files are ---- */

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

/* ---- identity ---- */

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

/* The identity is a hash of the files' content, independent of their order, and of the target
 * that the user named. */
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

/* ---- the whole ---- */

/* SQLite does not say of which file it speaks. */
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

/* Within the transaction. */
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

/* Also what was just committed: a connection that is lost before takes all of it along, and a new one has
 * nothing to commit. */
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
        /* Its own failure would only hide the first one. */
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
