/*
 * The code objects of a .sjdb file in the making. Internal to the writer.
 */
#ifndef EXPORT_SJDB_KERNELS_H
#define EXPORT_SJDB_KERNELS_H

#include "export/formats/sjdb_file.h"

struct sjdb_kernels {
    GHashTable *by_identity; /* owns them */
};
void sjdb_kernels_init(struct sjdb_kernels *kernels);
void sjdb_kernels_clear(struct sjdb_kernels *kernels);
/* EXPORT_ERROR_SYNTAX for another code object of a name and args that are there. */
bool sjdb_kernels_add(struct sjdb_kernels *kernels, const char *name, const char *args,
                      GBytes *code, GError **error);
void sjdb_kernels_write(const struct sjdb_kernels *kernels, SjdbFile *file);

#endif
