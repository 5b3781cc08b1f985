/*
 * MIOpen's kernel-db (FORMATS.md 5): code objects by kernel_name (source file
 * and ".o") and kernel_args (compile options, ending in " -mcpu=<arch>"), each
 * compressed by bzip2, or raw with uncompressed_size 0 where that is not
 * smaller, with the MD5 of the code object.
 */
#ifndef EXPORT_KERNEL_DB_H
#define EXPORT_KERNEL_DB_H

#include "export/formats/export_error.h"
#include "export/formats/file_name.h"

/* What MIOpen asks for. Free with g_free(). */
char *kernel_db_name(const char *file);
char *kernel_db_args(const char *options, const char *arch);
/* The architecture that arguments name at their end. */
struct file_target kernel_args_target(const char *args);

typedef struct kernel_db_writer KernelDbWriter;
/* Makes a new file; rows get ids in the order they are added. */
KernelDbWriter *kernel_db_create(const char *path, GError **error);
bool kernel_db_add(KernelDbWriter *writer, const char *name, const char *args, GBytes *code,
                   GError **error);
/* Ends the file; without it what was written is worth nothing. */
bool kernel_db_finish(KernelDbWriter *writer, GError **error);
void kernel_db_writer_free(KernelDbWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KernelDbWriter, kernel_db_writer_free)

struct kernel_entry {
    int64_t id;
    const char *name, *args, *hash; /* valid until the next call, as is the blob */
    const void *blob;
    size_t blob_bytes;
    int64_t uncompressed_bytes; /* 0: the blob is the code object */
};

/* Adds what another file holds, its blob as it stands. */
bool kernel_db_add_entry(KernelDbWriter *writer, const struct kernel_entry *entry, GError **error);

typedef struct kernel_db KernelDb;
KernelDb *kernel_db_open(const char *path, GError **error);
void kernel_db_close(KernelDb *db);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KernelDb, kernel_db_close)

/* The next row in the order of ids; entry->id is set for READ_BAD too. */
enum read_step kernel_db_next(KernelDb *db, struct kernel_entry *entry, GError **error);
/* The row of that id, likewise; READ_END when there is none. Not while rows are gone through. */
enum read_step kernel_db_at(KernelDb *db, int64_t id, struct kernel_entry *entry, GError **error);

/* The code object's MD5, SHA-256 (hex, either may be NULL) and true size, found by decompressing in
 * pieces: uncompressed_bytes is compared, not believed. EXPORT_ERROR_DAMAGED when the blob is no
 * whole bzip2 stream or unfolds to another size. */
bool kernel_entry_digest(const struct kernel_entry *entry, char md5[33], char sha256[65],
                         GError **error);
/* Likewise; head, where it is not NULL, becomes the code object's first CODE_HEAD_BYTES. */
bool kernel_entry_digest_head(const struct kernel_entry *entry, char md5[33], char sha256[65],
                              GByteArray *head, GError **error);

/* The code object itself, verified likewise but for the hash. EXPORT_ERROR_DAMAGED for one of more than
 * KERNEL_BYTES_MAX too. */
#define KERNEL_BYTES_MAX ((int64_t)1 << 30)
GBytes *kernel_entry_unpack(const struct kernel_entry *entry, GError **error);

/* The unique index of MIOpen's files is there. */
bool kernel_db_has_index(KernelDb *db);
/* What SQLite's own integrity check says, NULL when that is nothing. Free with g_free(). */
char *kernel_db_damage(KernelDb *db);

#endif
