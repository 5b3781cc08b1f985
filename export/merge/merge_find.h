/*
 * Find entries of a merge. Whole find-dbs are in memory as tables; a key's lines are compared while the output is written,
 * and a line with nothing to choose is copied without parsing its entries. Internal to merge and diff.
 */
#ifndef EXPORT_MERGE_MERGE_FIND_H
#define EXPORT_MERGE_MERGE_FIND_H

#include "export/formats/find_table.h"
#include "export/merge/merge_state.h"

extern const struct merge_part merge_find_part;
extern const struct merge_format merge_find_format;

/* Adds a find-db whose text is in memory. Takes `text` over. */
void merge_finds_add(struct merge *merge, guint input, GString *text);

/* An entry, and the input and line that it comes from. */
struct find_choice {
    struct find_part part;
    guint input;
    int64_t number;
    guint rank; /* number of the entry's line in the order of inputs and lines */
    /* the interval of its time, which .sjdb files alone have (struct skipjackdb_entry); both 0 for none */
    double low_ms, high_ms;
};

/* Sets *key to the next key with a valid entry and *choices to all its valid entries (struct find_choice), valid until
 * the next call. False after the last key. */
bool merge_finds_next(struct merge *merge, struct span *key, const GArray **choices);

/* A key with the entries that the policy chose: sorted by time, and equal times by the solver's
 * name. */
struct merged_find {
    struct span key;
    struct find_choice *const *choices;
    guint count;
    /* the whole line of an input if it can be copied unchanged; otherwise of length 0 */
    struct span line;
};
typedef bool merge_find_emit(void *data, const struct merged_find *merged, GError **error);
/* Calls emit for every key in order until it returns false. */
bool merge_finds_run(struct merge *merge, merge_find_emit *emit, void *data, GError **error);

#endif
