/*
 * Kernels of a merge, identified by name and arguments and compared by hash. Code objects stay in their files until they
 * are written: an architecture's file has hundreds of megabytes. Internal to merge and diff.
 */
#ifndef EXPORT_MERGE_MERGE_KERNEL_H
#define EXPORT_MERGE_MERGE_KERNEL_H

#include "export/formats/kernel_db.h"
#include "export/merge/merge_state.h"
#include "export/sjdb/reader/skipjackdb.h"

struct kernel_item {
    char *name, *args, *hash;
    bool from_sjdb;
    /* which of the merge's kernel-dbs, or if from_sjdb of its .sjdb files, the kernel is in:
     * index from 0 */
    guint source;
    guint input;
    int64_t id; /* row id in its kernel-db, or number in its .sjdb */
    /* true if another input's code object of the same name and arguments is kept instead; set by
     * merge_kernels_settle() */
    bool gives_way;
    /* true for a kernel of a .sjdb that only solutions launch which were never measured: its name goes to any other
     * kernel before */
    bool unmeasured;
};

extern const struct merge_part merge_kernel_part;
extern const struct merge_format merge_kernel_format;

/* Adds the kernels of a .sjdb. unmeasured[number]: kernel_item.unmeasured of each kernel; NULL if it is false of all.
 * Takes `db` over, also on failure. Returns enum skipjackdb_code. */
int merge_kernels_add(struct merge *merge, guint input, skipjackdb *db, const bool *unmeasured);
/* Returns all kernels (struct kernel_item *, owned by the merge), sorted by name and arguments.
 * Kernels that share both are in the order of reading. */
GPtrArray *merge_kernels_sorted(const struct merge *merge);
/* Decides which code object keeps each name, and sets gives_way of all kernels. Called once all
 * inputs are read. */
void merge_kernels_settle(const struct merge *merge);
/* Returns the kernels that the policy chose (struct kernel_item *, owned by the merge), sorted by
 * name and arguments. */
GPtrArray *merge_kernels_choose(struct merge *merge);
/* Reads a kernel's code object from its file. NULL with an error if the file has changed since the
 * merge read it. */
GBytes *merge_kernel_code(const struct merge *merge, const struct kernel_item *item,
                          GError **error);
int kernel_item_compare(const struct kernel_item *a, const struct kernel_item *b);

#endif
