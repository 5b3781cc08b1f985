/*
 * Collects the code objects of a .sjdb file and compresses them in groups. Internal to the writer.
 */
#ifndef EXPORT_SJDB_SJDB_KERNELS_H
#define EXPORT_SJDB_SJDB_KERNELS_H

#include "export/sjdb/sjdb_file.h"

struct sjdb_kernels {
    GHashTable *by_identity;
    GPtrArray *by_id; /* struct kernel *, owned, by id */
    Spool *spool;     /* the code objects, which together may be gigabytes */
};
/* `path` is where the .sjdb will be; the code objects are spooled in the same folder. */
void sjdb_kernels_init(struct sjdb_kernels *kernels, const char *path);
void sjdb_kernels_clear(struct sjdb_kernels *kernels);
/* Returns the id of a kernel by name and args. Its code object may have been added before, or is
 * added later. */
guint32 sjdb_kernels_id(struct sjdb_kernels *kernels, const char *name, const char *args);
/* Adds a kernel's code object. EXPORT_ERROR_SYNTAX if the kernel with this name and args already
 * has a different one. */
bool sjdb_kernels_add(struct sjdb_kernels *kernels, const char *name, const char *args,
                      GBytes *code, GError **error);
/* Returns the number that each kernel gets in the file (guint32, by id). NULL with
 * EXPORT_ERROR_SYNTAX if a kernel has no code object. */
GArray *sjdb_kernels_ranks(const struct sjdb_kernels *kernels, GError **error);
/* Writes the sections about kernels. All kernels must have code objects. */
bool sjdb_kernels_write(const struct sjdb_kernels *kernels, SjdbFile *file, GError **error);

#endif
