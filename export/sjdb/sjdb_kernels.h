/*
 * Collects the code objects of a .sjdb file. Internal to the writer.
 */
#ifndef EXPORT_SJDB_KERNELS_H
#define EXPORT_SJDB_KERNELS_H

#include "export/sjdb/sjdb_file.h"

struct sjdb_kernels {
    GHashTable *by_identity;
    GPtrArray *by_id; /* owns the kernels */
    Spool *spool;     /* code objects, which may be gigabytes */
};
/* `path` is where the .sjdb will be; code objects are spooled beside it. */
void sjdb_kernels_init(struct sjdb_kernels *kernels, const char *path);
void sjdb_kernels_clear(struct sjdb_kernels *kernels);
/* Returns the id of a name and args. Its code object may be added before or after. */
guint32 sjdb_kernels_id(struct sjdb_kernels *kernels, const char *name, const char *args);
/* Adds a code object. EXPORT_ERROR_SYNTAX if the name and args have another one. */
bool sjdb_kernels_add(struct sjdb_kernels *kernels, const char *name, const char *args,
                      GBytes *code, GError **error);
/* Returns each kernel's number in the file (guint32, by id). NULL with EXPORT_ERROR_SYNTAX if one
 * has no code object. */
GArray *sjdb_kernels_ranks(const struct sjdb_kernels *kernels, GError **error);
/* Writes the kernels, which must all have code objects. */
bool sjdb_kernels_write(const struct sjdb_kernels *kernels, SjdbFile *file, GError **error);

#endif
