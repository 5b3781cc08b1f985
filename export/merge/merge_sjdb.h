/*
 * .sjdb files of a merge. They hold all other parts, and solutions, which no other format has. A
 * solution is kept together with its entry, from the same input, because the entry's time was
 * measured with that solution. A solution never runs another input's code object: its arguments may
 * not match. Internal to merge.
 */
#ifndef EXPORT_MERGE_MERGE_SJDB_H
#define EXPORT_MERGE_MERGE_SJDB_H

#include "export/merge/merge_find.h"
#include "export/sjdb/reader/skipjackdb.h"

extern const struct merge_part merge_solution_part, merge_interval_part, merge_unmeasured_part;
extern const struct merge_format merge_sjdb_format;

/* Returns the database of an input that is a .sjdb, NULL for another input. It belongs to the merge. */
const skipjackdb *merge_sjdb_of(const struct merge *merge, guint input);

/* Sets the interval of an entry that was read from this input for this key: 0 and 0 if the input is no .sjdb, or
 * has none for it. */
void merge_interval_of(const struct merge *merge, guint input, struct span key,
                       struct find_choice *choice);

#endif
