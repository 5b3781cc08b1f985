#include "export/formats/kernel_db.h"

#include "export/formats/code_target.h"
#include "export/formats/sqlite_file.h"

#include <bzlib.h>
#include <string.h>

/* MIOpen's own SQL statements, unchanged, so that files match its schema exactly. */
#define KERNEL_SCHEMA                                                                              \
    "CREATE TABLE `kern_db` (`id` INTEGER PRIMARY KEY ASC,`kernel_name` TEXT NOT NULL,"            \
    "`kernel_args` TEXT NOT NULL,`kernel_blob` BLOB NOT NULL,`kernel_hash` TEXT NOT NULL,"         \
    "`uncompressed_size` INT NOT NULL);"                                                           \
    "CREATE UNIQUE INDEX `idx_kern_db` ON kern_db(kernel_name, kernel_args);"

#define KERNEL_ROWS                                                                                \
    "SELECT id, kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size FROM kern_db "

#define PIECE_BYTES 65536

struct kernel_db_writer {
    sqlite3 *db;
    sqlite3_stmt *insert;
};

struct kernel_db {
    sqlite3 *db;
    sqlite3_stmt *rows, *row;
};

char *kernel_db_name(const char *file)
{
    return g_strconcat(file, ".o", NULL);
}

char *kernel_db_args(const char *options, const char *arch)
{
    return g_strconcat(options, " -mcpu=", arch, NULL);
}

struct file_target kernel_args_target(const char *args)
{
    const char *arch = strrchr(args, ' ');
    return arch != NULL && g_str_has_prefix(arch, " -mcpu=")
               ? file_arch_target(arch + strlen(" -mcpu="))
               : (struct file_target){.known = TARGET_UNKNOWN};
}

/* ---- writing ---- */

KernelDbWriter *kernel_db_create(const char *path, GError **error)
{
    g_autoptr(KernelDbWriter) writer = g_new0(KernelDbWriter, 1);
    writer->db = sqlite_file_create(path, KERNEL_SCHEMA, error);
    if (writer->db == NULL) {
        return NULL;
    }
    writer->insert = sqlite_statement(writer->db,
                                      "INSERT INTO kern_db(kernel_name, kernel_args, kernel_blob, "
                                      "kernel_hash, uncompressed_size) VALUES(?,?,?,?,?)",
                                      error);
    return writer->insert == NULL ? NULL : g_steal_pointer(&writer);
}

void kernel_db_writer_free(KernelDbWriter *writer)
{
    if (writer != NULL) {
        sqlite3_finalize(writer->insert);
        sqlite_file_close(writer->db);
        g_free(writer);
    }
}

/* Returns the code as a bzip2 stream, or NULL if that is not smaller than the code itself. */
static char *compress(GBytes *code, unsigned *length)
{
    gsize size = 0;
    const void *bytes = g_bytes_get_data(code, &size);
    if (size < 2 || size > G_MAXUINT32) {
        return NULL;
    }
    *length = (unsigned)size - 1;
    char *packed = g_malloc(*length);
    /* block size 9 means 900 kB, as MIOpen uses. The function takes a char * and only reads from
     * it. */
    if (BZ2_bzBuffToBuffCompress(packed, length, (char *)bytes, (unsigned)size, 9, 0, 0) != BZ_OK) {
        g_clear_pointer(&packed, g_free);
    }
    return packed;
}

bool kernel_db_add(KernelDbWriter *writer, const char *name, const char *args, GBytes *code,
                   GError **error)
{
    unsigned length = 0;
    gsize size = 0;
    const void *bytes = g_bytes_get_data(code, &size);
    g_autofree char *packed = compress(code, &length);
    g_autofree char *md5 = g_compute_checksum_for_bytes(G_CHECKSUM_MD5, code);
    const struct kernel_entry entry = {
        .name = name,
        .args = args,
        .hash = md5,
        .blob = packed != NULL ? packed : bytes,
        .blob_bytes = packed != NULL ? length : size,
        .uncompressed_bytes = packed != NULL ? (int64_t)size : 0,
    };
    return kernel_db_add_entry(writer, &entry, error);
}

bool kernel_db_add_entry(KernelDbWriter *writer, const struct kernel_entry *entry, GError **error)
{
    sqlite3_stmt *insert = writer->insert;
    sqlite3_reset(insert);
    sqlite3_bind_text(insert, 1, entry->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, entry->args, -1, SQLITE_STATIC);
    /* The blob is bound where it is, since sqlite_do() would copy megabytes. An empty blob is bound
     * as "": SQLite would store a NULL pointer as NULL. */
    sqlite3_bind_blob64(insert, 3, entry->blob_bytes > 0 ? entry->blob : "", entry->blob_bytes,
                        SQLITE_STATIC);
    sqlite3_bind_text(insert, 4, entry->hash, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 5, entry->uncompressed_bytes);
    enum read_step step = sqlite_step(insert, error);
    /* After this the statement holds no pointers to the caller's memory. */
    sqlite3_reset(insert);
    sqlite3_clear_bindings(insert);
    return step == READ_END;
}

bool kernel_db_finish(KernelDbWriter *writer, GError **error)
{
    sqlite3_finalize(writer->insert);
    writer->insert = NULL;
    return sqlite_file_finish(&writer->db, error);
}

/* ---- reading ---- */

KernelDb *kernel_db_open(const char *path, GError **error)
{
    g_autoptr(KernelDb) db = g_new0(KernelDb, 1);
    db->db = sqlite_file_open(path, error);
    if (db->db == NULL) {
        return NULL;
    }
    db->rows = sqlite_statement(db->db, KERNEL_ROWS "ORDER BY id", error);
    if (db->rows == NULL) {
        return NULL;
    }
    db->row = sqlite_statement(db->db, KERNEL_ROWS "WHERE id = ?", error);
    return db->row == NULL ? NULL : g_steal_pointer(&db);
}

void kernel_db_close(KernelDb *db)
{
    if (db != NULL) {
        sqlite3_finalize(db->rows);
        sqlite3_finalize(db->row);
        sqlite_file_close(db->db);
        g_free(db);
    }
}

static enum read_step take_entry(sqlite3_stmt *row, struct kernel_entry *entry, GError **error)
{
    enum read_step step = sqlite_step(row, error);
    if (step != READ_ROW) {
        return step;
    }
    entry->id = sqlite3_column_int64(row, 0);
    if ((entry->name = sqlite_column_word(row, 1, error)) == NULL ||
        (entry->args = sqlite_column_word(row, 2, error)) == NULL ||
        (entry->hash = sqlite_column_word(row, 4, error)) == NULL ||
        !sqlite_column_number(row, 5, &entry->uncompressed_bytes, error)) {
        return READ_BAD;
    }
    if (sqlite3_column_type(row, 3) != SQLITE_BLOB) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "kernel_blob is not a blob");
        return READ_BAD;
    }
    entry->blob = sqlite3_column_blob(row, 3);
    entry->blob_bytes = (size_t)sqlite3_column_bytes(row, 3);
    return READ_ROW;
}

enum read_step kernel_db_next(KernelDb *db, struct kernel_entry *entry, GError **error)
{
    return take_entry(db->rows, entry, error);
}

enum read_step kernel_db_at(KernelDb *db, int64_t id, struct kernel_entry *entry, GError **error)
{
    sqlite3_reset(db->row);
    sqlite3_bind_int64(db->row, 1, id);
    return take_entry(db->row, entry, error);
}

struct digests {
    GChecksum *md5, *sha256;
    int64_t bytes;
    GByteArray *code; /* receives the whole code object; NULL if only the digests are wanted */
    GByteArray *head; /* receives the first CODE_HEAD_BYTES of the code object; may be NULL */
};

static void digest_piece(struct digests *digests, const void *piece, size_t length)
{
    digests->bytes += (int64_t)length;
    if (digests->code != NULL) {
        g_byte_array_append(digests->code, piece, (guint)length);
        return;
    }
    if (digests->head != NULL && digests->head->len < CODE_HEAD_BYTES) {
        g_byte_array_append(digests->head, piece,
                            (guint)MIN(length, CODE_HEAD_BYTES - digests->head->len));
    }
    g_checksum_update(digests->md5, piece, (gssize)length);
    g_checksum_update(digests->sha256, piece, (gssize)length);
}

static bool damaged(const char *what, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED, "%s", what);
    return false;
}

static bool decompress(const struct kernel_entry *entry, bz_stream *stream, struct digests *digests,
                       GError **error)
{
    char piece[PIECE_BYTES];
    int status = BZ_OK;
    while (status == BZ_OK) {
        stream->next_out = piece;
        stream->avail_out = sizeof piece;
        status = BZ2_bzDecompress(stream);
        size_t got = sizeof piece - stream->avail_out;
        if (status != BZ_OK && status != BZ_STREAM_END) {
            return damaged("the blob is not whole bzip2 data", error);
        }
        if (status == BZ_OK && got == 0) {
            return damaged("the blob's bzip2 data is cut off", error);
        }
        digest_piece(digests, piece, got);
        if (digests->bytes > entry->uncompressed_bytes) {
            return damaged("the blob unfolds to more than uncompressed_size", error);
        }
    }
    if (digests->bytes != entry->uncompressed_bytes) {
        return damaged("the blob unfolds to less than uncompressed_size", error);
    }
    return stream->avail_in == 0 || damaged("bytes follow the blob's bzip2 data", error);
}

static bool digest_blob(const struct kernel_entry *entry, struct digests *digests, GError **error)
{
    if (entry->uncompressed_bytes == 0) {
        digest_piece(digests, entry->blob, entry->blob_bytes);
        return true;
    }
    bz_stream stream = {.next_in = (char *)entry->blob, .avail_in = (unsigned)entry->blob_bytes};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) {
        return damaged("bzip2 cannot start", error);
    }
    bool whole = decompress(entry, &stream, digests, error);
    BZ2_bzDecompressEnd(&stream);
    return whole;
}

bool kernel_entry_digest_head(const struct kernel_entry *entry, char md5[33], char sha256[65],
                              GByteArray *head, GError **error)
{
    struct digests digests = {.md5 = g_checksum_new(G_CHECKSUM_MD5),
                              .sha256 = g_checksum_new(G_CHECKSUM_SHA256),
                              .head = head};
    if (head != NULL) {
        g_byte_array_set_size(head, 0);
    }
    bool whole = digest_blob(entry, &digests, error);
    if (whole && md5 != NULL) {
        g_strlcpy(md5, g_checksum_get_string(digests.md5), 33);
    }
    if (whole && sha256 != NULL) {
        g_strlcpy(sha256, g_checksum_get_string(digests.sha256), 65);
    }
    g_checksum_free(digests.md5);
    g_checksum_free(digests.sha256);
    return whole;
}

bool kernel_entry_digest(const struct kernel_entry *entry, char md5[33], char sha256[65],
                         GError **error)
{
    return kernel_entry_digest_head(entry, md5, sha256, NULL, error);
}

GBytes *kernel_entry_unpack(const struct kernel_entry *entry, GError **error)
{
    if (entry->uncompressed_bytes > KERNEL_BYTES_MAX) {
        damaged("the code object is larger than any GPU's", error);
        return NULL;
    }
    struct digests digests = {.code = g_byte_array_new()};
    if (!digest_blob(entry, &digests, error)) {
        g_byte_array_unref(digests.code);
        return NULL;
    }
    return g_byte_array_free_to_bytes(digests.code);
}

bool kernel_db_has_index(KernelDb *db)
{
    return sqlite_has_index(db->db, "kern_db", "kernel_name,kernel_args");
}

char *kernel_db_damage(KernelDb *db)
{
    return sqlite_damage(db->db);
}
