/*
 * MIOpen's file names (FORMATS.md 6): the target's name there, then what the file is. Ours (.sjdb) begins
 * with the target's id, which names a partition, too.
 */
#ifndef EXPORT_FILE_NAME_H
#define EXPORT_FILE_NAME_H

#include "solvers/framework/target.h"

enum file_kind {
    FILE_FIND_DB,   /* .HIP.fdb.txt */
    FILE_PERF_DB,   /* .db, SQLite */
    FILE_PERF_TEXT, /* .db.txt */
    FILE_KERNEL_DB, /* .kdb, SQLite */
    FILE_SJDB,      /* .sjdb, our own (export/sjdb/reader/FORMAT.md) */
};
#define FILE_KIND_COUNT 5

/* "gfx90a68.HIP.fdb.txt". Free with g_free(). */
char *file_name(const struct target *target, enum file_kind kind);
/* The same of a target's id. */
char *file_name_of(const char *target_id, enum file_kind kind);
/* Sets *kind to the format that the name's ending says, an ending such as .bz2 behind it left aside.
 * MIOpen's names of user databases (.ufdb.txt, .udb, .udb.txt, .ukdb) count too. False for any other
 * name. */
bool file_name_kind(const char *name, enum file_kind *kind);
/* "find-db", "perf-db", "perf-db text", "kernel-db", ".sjdb". */
const char *file_kind_name(enum file_kind kind);

/* How much is known of the target that a file is for. */
enum target_known {
    TARGET_UNKNOWN,
    TARGET_ARCH, /* the architecture, and what features are named; kernel-dbs often serve all devices
                     of one ("gfx90a.kdb") */
    TARGET_WHOLE, /* the target id */
};
struct file_target {
    enum target_known known;
    bool
        by_miopen; /* TARGET_WHOLE: MIOpen's file name for it, which target_file_name() says; else its id */
    struct target target; /* TARGET_ARCH: its compute_units are 0, its id is arch and features */
};
/* The target that the name begins with, in front of the first '.' with which that is one:
 * "gfx900_56.OpenCL.fdb.txt" is of gfx900_56, "mine.db.txt" of an unknown target. A count in decimal past
 * 64 ("gfx90a_104") is taken for what MIOpen writes in hexadecimal ("gfx90a68"). */
struct file_target file_name_target(const char *name);
/* The architecture of LLVM's name for it, with or without feature settings ("gfx90a:sramecc+:xnack-"). */
struct file_target file_arch_target(const char *arch);
/* For a target's id; unknown where the text is no id. */
struct file_target file_id_target(const char *id);
/* False where what is known of both contradicts: another target, or another architecture or features
 * where one of them tells no more. Where MIOpen's name of one is known, both names of MIOpen's count. */
bool file_targets_fit(const struct file_target *a, const struct file_target *b);
/* "gfx90a68"; "gfx90a" for an architecture; "unknown". */
const char *file_target_text(const struct file_target *target);

#endif
