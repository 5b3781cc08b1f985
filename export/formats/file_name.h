/*
 * File names: MIOpen's (export/formats/FORMATS.md) begin with the target as MIOpen spells it, our
 * .sjdb with the target's id, which also names a partition. An ending says the format.
 */
#ifndef EXPORT_FORMATS_FILE_NAME_H
#define EXPORT_FORMATS_FILE_NAME_H

#include "solvers/framework/target.h"

enum file_kind {
    FILE_FIND_DB,   /* .HIP.fdb.txt */
    FILE_PERF_DB,   /* .db, SQLite */
    FILE_PERF_TEXT, /* .db.txt */
    FILE_KERNEL_DB, /* .kdb, SQLite */
    FILE_SJDB,      /* .sjdb, our own (export/sjdb/reader/FORMAT.md) */
};
#define FILE_KIND_COUNT 5

/* Returns the file's name, such as "gfx90a68.HIP.fdb.txt". Free with g_free(). */
char *file_name(const struct target *target, enum file_kind kind);
/* The same from the text of a target's id. A text that is no valid id becomes the beginning of the
 * name unchanged. */
char *file_name_of(const char *target_id, enum file_kind kind);
/* Sets *kind to the format that the name's ending states. An ending of packed files behind it
 * (.bz2) is ignored, and MIOpen's endings of user databases (.ufdb.txt, .udb, .udb.txt, .ukdb)
 * count too. False for any other name. */
bool file_name_kind(const char *name, enum file_kind *kind);
/* The format's name in messages: "find-db", "perf-db", "perf-db text", "kernel-db", ".sjdb".
 * Static. */
const char *file_kind_name(enum file_kind kind);

/* How precisely a file's name or content states its target. */
enum target_known {
    TARGET_UNKNOWN,
    /* only the architecture, perhaps with features: kernel-dbs ("gfx90a.kdb") often serve all
     * devices of one */
    TARGET_ARCH,
    TARGET_WHOLE, /* one target */
};
struct file_target {
    enum target_known known;
    /* only for TARGET_WHOLE: the target was read from MIOpen's spelling, which several target
     * ids may share */
    bool by_miopen;
    /* if `known` is TARGET_ARCH: compute_units is 0, and the id is the architecture with its
     * features */
    struct target target;
};
/* Reads the target at the beginning of a file name, up to the last '.' that leaves a valid one:
 * "gfx900_56.OpenCL.fdb.txt" gives gfx900_56, "mine.db.txt" gives TARGET_UNKNOWN. A decimal count
 * above 64 ("gfx90a_104") is read as MIOpen's hexadecimal "gfx90a68". */
struct file_target file_name_target(const char *name);
/* Reads LLVM's name of an architecture, with or without feature settings
 * ("gfx90a:sramecc+:xnack-"). */
struct file_target file_arch_target(const char *arch);
/* Reads a target's id; TARGET_UNKNOWN for any other text. */
struct file_target file_id_target(const char *id);
/* Returns false if the two targets contradict each other: they differ, or, if one is only an
 * architecture, their architectures or features differ. An unknown target contradicts nothing. A
 * target that was read from MIOpen's spelling fits every target with this spelling. */
bool file_targets_fit(const struct file_target *a, const struct file_target *b);
/* Returns the target's text for messages: "gfx90a68", "gfx90a" for an architecture, "unknown". The
 * text belongs to *target. */
const char *file_target_text(const struct file_target *target);

#endif
