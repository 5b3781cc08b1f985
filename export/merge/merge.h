/*
 * Merges several files into one: every key once, with the entries that a policy chooses
 * (export/merge/MERGE.md). The content of an input says its format, and inputs may differ in
 * format; the output's name says the format that is written. The same inputs in the same order give
 * the same bytes.
 */
#ifndef EXPORT_MERGE_MERGE_H
#define EXPORT_MERGE_MERGE_H

#include "export/merge/merge_report.h"

/* The rule that says which of two entries with the same key and solver is kept. MIOpen's formats do
 * not say when or how often an entry was measured, so a rule may not decide: the entry of the input
 * that was named first is then kept. */
enum merge_prefer {
    MERGE_NEWEST, /* the entry of the input named last; within one input, of the later line */
    /* the entry with the smaller time; perf-dbs and kernel-dbs have no times, so the first entry */
    MERGE_FASTEST,
    /* params that a solver of ours accepts today, before params that it refuses; in other
     * formats the first entry */
    MERGE_TRUST,
    MERGE_FIRST, /* the entry of the input named first; within one input, of the earlier line */
};

struct merge_options {
    enum merge_prefer prefer;
    /* true: all entries of a key come from one input (of find-dbs: from one line), the one with the
     * preferred entry. false: solvers that only other inputs have for the key are added. */
    bool replace_others;
    /* keep entries with a time of 0.0 and sort them behind all others; they never win */
    bool keep_zero;
    bool older_form;    /* write find-dbs in their older form */
    bool mixed_targets; /* merge files of different targets, too */
    bool all_conflicts; /* report all conflicts instead of the first MERGE_NAMED_MAX */
};

/*
 * Merges the files into `out`, which is replaced as a whole or not changed. Returns the report, to be freed with
 * merge_report_free(). NULL if nothing was written:
 * - EXPORT_ERROR_KIND: an input has no known format, or the output's name states none;
 *   EXPORT_ERROR_IO: an input cannot be read;
 * - EXPORT_ERROR_TARGET: inputs, or an input and the output, are of different targets;
 * - EXPORT_ERROR_EMPTY: nothing is left to write;
 * - EXPORT_ERROR_IO, EXPORT_ERROR_CHECK: the output cannot be written or differs when read back.
 */
struct merge_report *merge_files(char *const *paths, const char *out,
                                 const struct merge_options *options, GError **error);

#endif
