/*
 * Kernels of a merge, identified by name and arguments and compared by hash. Code objects stay in their files until they
 * are written: an architecture's file has hundreds of megabytes. Internal to merge and diff.
 */
#ifndef EXPORT_MERGE_KERNEL_H
#define EXPORT_MERGE_KERNEL_H

#include "export/formats/kernel_db.h"
#include "export/merge/merge_state.h"
#include "export/sjdb/reader/skipjackdb.h"

struct kernel_item {
    char *name, *args, *hash;
    bool from_sjdb;
    guint source; /* index of its file among the merge's kernel-dbs, or .sjdb files */
    guint input;
    int64_t id;     /* in a .sjdb: the kernel's number */
    bool gives_way; /* another input's code object takes its name: see merge_kernels_settle() */
};

struct merge_kernels *merge_kernels_new(void);
void merge_kernels_free(struct merge_kernels *kernels);
bool merge_kernels_read(struct merge *merge, guint input, GError **error);
/* Adds the kernels of a .sjdb, which it takes over, also on failure. Returns enum skipjackdb_code. */
int merge_kernels_add(struct merge *merge, guint input, skipjackdb *db);
int64_t merge_kernels_count(const struct merge *merge);
/* All kernels (struct kernel_item *, owned by the merge) by name and arguments; equal ones in the order of reading. */
GPtrArray *merge_kernels_sorted(const struct merge *merge);
/* Sets gives_way of all kernels. To be called when all inputs are read. */
void merge_kernels_settle(const struct merge *merge);
/* The kernels that the policy chose, by name and arguments. */
GPtrArray *merge_kernels_choose(struct merge *merge);
/* Reads a code object. NULL with an error if its file changed since. */
GBytes *merge_kernel_code(const struct merge *merge, const struct kernel_item *item,
                          GError **error);
int kernel_item_compare(const struct kernel_item *a, const struct kernel_item *b);
bool merge_kernels_write(struct merge *merge, const char *path, GError **error);

#endif
