/*
 * Merges several files into one: every key once, with the entries that a policy chooses
 * (export/merge/MERGE.md). The content of an input says its format, and inputs may differ in
 * format; the output's name says the format that is written. The same inputs in the same order give
 * the same bytes.
 */
#ifndef EXPORT_MERGE_H
#define EXPORT_MERGE_H

#include "export/merge/merge_report.h"

/* The policy that decides between two entries of one key and solver. Where it cannot, the first
 * named input wins. */
enum merge_prefer {
    MERGE_NEWEST,  /* the input that is named last, there the later line */
    MERGE_FASTEST, /* the smaller time; perf-dbs and kernel-dbs hold no times */
    MERGE_TRUST,   /* perf-db params that a solver of ours takes today, before those it refuses */
    MERGE_FIRST,   /* the input that is named first, there the earlier line */
};

struct merge_options {
    enum merge_prefer prefer;
    /* A key comes from one input with all its solvers: the input of the preferred entry. If false, solvers that
     * only other inputs have are added to it. */
    bool replace_others;
    bool keep_zero;     /* keep times of 0.0, behind all others; they never win */
    bool older_form;    /* write find-dbs in their older form */
    bool mixed_targets; /* do not compare targets */
    bool all_conflicts; /* report all conflicts, not the first MERGE_NAMED_MAX */
};

/*
 * Merges the files into `out`, which is replaced as a whole or not changed. Returns the report, to be freed with
 * merge_report_free(). NULL if nothing was written:
 * - EXPORT_ERROR_KIND: an input has no known format; EXPORT_ERROR_IO: it cannot be read;
 * - EXPORT_ERROR_TARGET: inputs, or an input and the output, are of different targets;
 * - EXPORT_ERROR_EMPTY: nothing is left to write;
 * - EXPORT_ERROR_IO, EXPORT_ERROR_CHECK: the output cannot be written or differs when read back.
 */
struct merge_report *merge_files(char *const *paths, const char *out,
                                 const struct merge_options *options, GError **error);

#endif
