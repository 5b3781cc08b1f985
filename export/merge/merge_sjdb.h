/*
 * .sjdb files of a merge. They hold all other parts, and solutions, which no other format has. A
 * solution is kept together with its entry, from the same input, because the entry's time was
 * measured with that solution. A solution never runs another input's code object: its arguments may
 * not match. Internal to merge.
 */
#ifndef EXPORT_MERGE_MERGE_SJDB_H
#define EXPORT_MERGE_MERGE_SJDB_H

#include "export/merge/merge_state.h"

extern const struct merge_part merge_solution_part;
extern const struct merge_format merge_sjdb_format;

#endif
