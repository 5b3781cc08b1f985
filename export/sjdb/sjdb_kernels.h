/*
 * The code objects of a .sjdb file in the making. Internal to the writer.
 */
#ifndef EXPORT_SJDB_KERNELS_H
#define EXPORT_SJDB_KERNELS_H

#include "export/sjdb/sjdb_file.h"

struct sjdb_kernels {
    GHashTable *by_identity;
    GPtrArray *by_id; /* owns them */
    Spool *spool;     /* their code objects: there may be gigabytes of them */
};
/* Code objects wait beside the path that is to be written. */
void sjdb_kernels_init(struct sjdb_kernels *kernels, const char *path);
void sjdb_kernels_clear(struct sjdb_kernels *kernels);
/* The id of a name and args, whose code object may still be added. */
guint32 sjdb_kernels_id(struct sjdb_kernels *kernels, const char *name, const char *args);
/* EXPORT_ERROR_SYNTAX for another code object of a name and args that are there. */
bool sjdb_kernels_add(struct sjdb_kernels *kernels, const char *name, const char *args,
                      GBytes *code, GError **error);
/* Where each stands in the file: guint32 by id. EXPORT_ERROR_SYNTAX for one without a code object. */
GArray *sjdb_kernels_ranks(const struct sjdb_kernels *kernels, GError **error);
/* All of them must have code objects. */
bool sjdb_kernels_write(const struct sjdb_kernels *kernels, SjdbFile *file, GError **error);

#endif
