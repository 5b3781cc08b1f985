/*
 * MIOpen's file names (FORMATS.md 6): the target's id, then what the file is.
 */
#ifndef EXPORT_FILE_NAME_H
#define EXPORT_FILE_NAME_H

#include "solvers/target.h"

enum file_kind {
    FILE_FIND_DB,   /* .HIP.fdb.txt */
    FILE_PERF_DB,   /* .db, SQLite */
    FILE_PERF_TEXT, /* .db.txt */
    FILE_KERNEL_DB, /* .kdb, SQLite */
    FILE_SJDB,      /* .sjdb, our own (reader/FORMAT.md) */
};
#define FILE_KIND_COUNT 5

/* "gfx90a68.HIP.fdb.txt". Free with g_free(). */
char *file_name(const struct target *target, enum file_kind kind);
/* What a name claims to be, a ".bz2" at its end aside; MIOpen's names of user databases (.ufdb.txt,
 * .udb, .udb.txt, .ukdb) count too. False for any other name. */
bool file_name_kind(const char *name, enum file_kind *kind);
/* "find-db", "perf-db", "perf-db text", "kernel-db", ".sjdb". */
const char *file_kind_name(enum file_kind kind);

#endif
