/*
 * .sjdb files of a merge: they hold all other parts, and solutions, which no other format has. A solution goes with the
 * entry that is kept, from the same input, because that solution was measured. It never goes with another input's code
 * object, which would be launched with the wrong arguments. Internal to merge.
 */
#ifndef EXPORT_MERGE_SJDB_H
#define EXPORT_MERGE_SJDB_H

#include "export/merge/merge_state.h"

struct merge_solutions *merge_solutions_new(void);
void merge_solutions_free(struct merge_solutions *solutions);
int64_t merge_solutions_count(const struct merge *merge);

bool merge_sjdb_read(struct merge *merge, guint input, GError **error);
bool merge_sjdb_write(struct merge *merge, const char *path, GError **error);

#endif
