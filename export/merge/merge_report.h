/*
 * The result of a merge: the inputs with their targets, what was left out, which entries
 * contradicted each other, and what the output's format cannot express. diff reports unreadable
 * lines with it, too.
 */
#ifndef EXPORT_MERGE_MERGE_REPORT_H
#define EXPORT_MERGE_MERGE_REPORT_H

#include "export/formats/export_error.h"
#include "export/formats/file_name.h"

#include <stdio.h>

#define MERGE_NAMED_MAX  10     /* conflicts named in text output */
#define MERGE_PLACES_MAX 100000 /* places kept with their reason; further places are only counted */

/* Parts of the inputs that the output's format cannot express. */
enum merge_loss {
    LOSS_FIND,
    LOSS_INTERVALS,
    LOSS_PERF,
    LOSS_KERNELS,
    LOSS_SOLUTIONS,
    LOSS_SOLUTION_ALONE,
    LOSS_UNMEASURED,
    LOSS_OPERATOR,
    LOSS_STRIDES,
    LOSS_EPILOGUE,
    LOSS_CACHE_KEY,
    LOSS_CACHE_KEY_ALONE,
    LOSS_NEWER_FORM,
    LOSS_SEPARATOR,
    LOSS_ROW,
    LOSS_UNUSED_CONFIG,
    LOSS_COUNT,
};
/* "keys of find-dbs". Static. */
const char *merge_loss_name(enum merge_loss loss);

/* A line or row that was left out. */
struct merge_place {
    guint input;
    /* what `number` counts: "line"; rows of an SQLite table, "config", "perf_db" or "kern_db"; or
     * parts of a .sjdb, "row", "solved problem", "solution" or "kernel"; static */
    const char *noun;
    int64_t number;
    char *reason;
};

/* Two entries with one key and solver but different values: one is kept, the other one is
 * dropped. */
struct merge_conflict {
    const char *key, *solver; /* for a kernel: its kernel_name and kernel_args */
    const char *kept, *dropped;
    guint kept_input, dropped_input;
    int64_t kept_number, dropped_number;
    const char *kept_noun, *dropped_noun;
};

struct merge_input {
    char *path;
    enum file_kind kind;
    int64_t keys, entries;             /* valid ones */
    struct file_target named, content; /* the targets that its name and its content state */
    /* number of rows or kernels that are made for another target */
    int64_t others;
    char *other; /* the first of these, as a text for messages */
    /* number of entries left out because they are impossible on the target */
    int64_t doubts;
    char *doubt; /* the first of these entries, as a text for messages */
};

/* Returns the target of an input: the one that its name states if this is a whole target or the
 * content states none, otherwise the one of its content. */
struct file_target merge_input_target(const struct merge_input *input);

struct merge_report {
    char *out;
    enum file_kind kind;
    int64_t keys, entries; /* written */
    /* the one target of inputs and output; unknown if targets were mixed */
    struct file_target target;
    bool mixed;     /* true if targets were not compared (--mixed-targets) */
    GArray *inputs; /* struct merge_input */
    GArray *places; /* struct merge_place, sorted by input and line number */
    int64_t place_count;
    GArray *conflicts; /* struct merge_conflict, sorted by key */
    GStringChunk *texts;
    int64_t conflict_count;
    int64_t losses[LOSS_COUNT];
    /* never-measured solutions of the output, and those left out since an input measured their solver for the
     * problem */
    int64_t unmeasured, gave_way;
};

struct merge_report *merge_report_new(const char *out);
void merge_report_free(struct merge_report *report);
typedef struct merge_report MergeReport;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MergeReport, merge_report_free)

/* Sorts the places. Called once, at the end of the merge. */
void merge_report_finish(struct merge_report *report);
/* Returns true if nothing was left out as unreadable or impossible. */
bool merge_report_clean(const struct merge_report *report);
void merge_report_print(const struct merge_report *report, FILE *out);
/* Prints one JSON object on one line: out, format, target (null if unknown), mixed_targets, keys, entries,
 * inputs [{file, format, target, keys, entries}], left_out [{file, where, reason}], left_out_count,
 * conflicts [{key, solver, kept, kept_at, dropped, dropped_at}], conflict_count, not_expressible [{what, count}],
 * unmeasured, unmeasured_gave_way, clean. */
void merge_report_print_json(const struct merge_report *report, FILE *out);

#endif
