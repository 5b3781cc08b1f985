/*
 * .sjdb files of a merge. They hold all other parts, and solutions, which no other format has. A
 * solution is kept together with its entry, from the same input, because the entry's time was
 * measured with that solution. A solution never runs another input's code object: its arguments may
 * not match. Internal to merge.
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
