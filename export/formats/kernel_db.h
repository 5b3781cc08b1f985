/*
 * MIOpen's kernel-db (export/formats/FORMATS.md): code objects by kernel_name (source file and
 * ".o") and kernel_args (compile options, ending in " -mcpu=<arch>"). A blob is compressed by bzip2
 * where that makes it smaller; otherwise uncompressed_size is 0. The hash is the MD5 of the code
 * object.
 */
#ifndef EXPORT_FORMATS_KERNEL_DB_H
#define EXPORT_FORMATS_KERNEL_DB_H

#include "export/formats/export_error.h"
#include "export/formats/file_name.h"

/* Make a kernel's name and arguments in the form by which MIOpen looks them up. Free with
 * g_free(). */
char *kernel_db_name(const char *file);
char *kernel_db_args(const char *options, const char *arch);
/* Reads the architecture at the end of kernel_args. */
struct file_target kernel_args_target(const char *args);

typedef struct kernel_db_writer KernelDbWriter;
/* Makes a new file. Rows get ids in the order in which they are added. */
KernelDbWriter *kernel_db_create(const char *path, GError **error);
bool kernel_db_add(KernelDbWriter *writer, const char *name, const char *args, GBytes *code,
                   GError **error);
/* Ends the file. A file without this call is not usable. */
bool kernel_db_finish(KernelDbWriter *writer, GError **error);
void kernel_db_writer_free(KernelDbWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KernelDbWriter, kernel_db_writer_free)

struct kernel_entry {
    int64_t id;
    const char *name, *args, *hash; /* these texts and the blob are valid until the next call */
    const void *blob;
    size_t blob_bytes;
    int64_t uncompressed_bytes; /* size of the code object; 0 if the blob is not compressed */
};

/* Adds a row of another file with its blob unchanged. */
bool kernel_db_add_entry(KernelDbWriter *writer, const struct kernel_entry *entry, GError **error);

typedef struct kernel_db KernelDb;
KernelDb *kernel_db_open(const char *path, GError **error);
void kernel_db_close(KernelDb *db);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KernelDb, kernel_db_close)

/* Reads the next row in the order of ids; entry->id is also set for READ_BAD. */
enum read_step kernel_db_next(KernelDb *db, struct kernel_entry *entry, GError **error);
/* Reads the row with this id; READ_END if no row has it. Not to be mixed with kernel_db_next(). */
enum read_step kernel_db_at(KernelDb *db, int64_t id, struct kernel_entry *entry, GError **error);

/* Computes MD5 and SHA-256 (hexadecimal, either may be NULL) by decompressing the blob in pieces.
 * EXPORT_ERROR_DAMAGED if the blob is no whole bzip2 stream or its size is not uncompressed_size.
 * */
bool kernel_entry_digest(const struct kernel_entry *entry, char md5[33], char sha256[65],
                         GError **error);
/* Computes the same digests. `head`, if not NULL, also receives the first CODE_HEAD_BYTES of the
 * code object. */
bool kernel_entry_digest_head(const struct kernel_entry *entry, char md5[33], char sha256[65],
                              GByteArray *head, GError **error);

/* Returns the code object after checking its size, but not its hash. EXPORT_ERROR_DAMAGED if the
 * size is wrong or above KERNEL_BYTES_MAX. */
#define KERNEL_BYTES_MAX ((int64_t)1 << 30)
GBytes *kernel_entry_unpack(const struct kernel_entry *entry, GError **error);

/* Returns true if the file has an index over kernel_name and kernel_args, as MIOpen's own files
 * have; whether it is unique is not checked. */
bool kernel_db_has_index(KernelDb *db);
/* Returns the first finding of SQLite's integrity check, NULL for a sound file. Free with g_free().
 * */
char *kernel_db_damage(KernelDb *db);

#endif
