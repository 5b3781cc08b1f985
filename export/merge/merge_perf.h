/* Perf rows of a merge. All records are in memory. Internal to merge and diff. */
#ifndef EXPORT_MERGE_MERGE_PERF_H
#define EXPORT_MERGE_MERGE_PERF_H

#include "export/formats/perf_db.h"
#include "export/merge/merge_state.h"

struct perf_item {
    struct perf_record *record;
    guint input;
    const char *noun;
    int64_t number;
    bool trusted; /* false if a solver of ours refuses its params today */
};

extern const struct merge_part merge_perf_part;
extern const struct merge_format merge_perf_format, merge_perf_text_format;

/* Returns all records (struct perf_item *, owned by the merge), sorted by row and solver. Records
 * that share both are in the order of reading. */
GPtrArray *merge_perfs_sorted(const struct merge *merge);
/* Adds a record. The caller has set the item's input, noun and number. A record that cannot be used
 * is left out and reported. */
void merge_perfs_add(struct merge *merge, struct perf_item *item, const struct perf_row *row,
                     const char *solver, const char *params);
/* Returns the records that the policy chose (struct perf_record *, owned by the merge), in the
 * order of written files. */
GPtrArray *merge_perfs_choose(struct merge *merge);

#endif
