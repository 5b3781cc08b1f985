/*
 * Several files of this field as one: every key once, with the entries that a
 * policy chooses. Inputs are told apart by their content and may differ in
 * format; what is written is what the output's name says. What is unreadable or
 * impossible is left out and named; what the output's format cannot express is
 * left out and counted; entries that contradict each other are counted and
 * named. The same inputs in the same order give the same bytes.
 */
#ifndef EXPORT_MERGE_H
#define EXPORT_MERGE_H

#include "export/formats/file_name.h"

#include <stdio.h>

/* Which of two entries of one key and solver stays. No format of MIOpen's says when or how often
 * something was measured: where a policy cannot tell two entries apart, the first named stays. */
enum merge_prefer {
    MERGE_NEWEST,  /* of the input that is named last, there the later line */
    MERGE_FASTEST, /* the smaller time; perf-dbs and kernel-dbs know none */
    MERGE_TRUST,   /* of perf-db rows one that a solver of ours takes today before one it refuses */
    MERGE_FIRST,   /* of the input that is named first, there the earlier line */
};

struct merge_options {
    enum merge_prefer prefer;
    /* A key that several inputs have is taken from one of them with all its solvers, the one whose
     * entry the policy prefers. Otherwise solvers that only others have stay beside it. */
    bool replace_others;
    bool keep_zero;     /* times of 0.0 stay, behind all others, and never win */
    bool older_form;    /* find-dbs are written in their older form, else in the newer one */
    bool mixed_targets; /* inputs and output may be of several targets: none are compared */
    bool all_conflicts; /* keep them all for the report, not the first MERGE_NAMED_MAX */
};

#define MERGE_NAMED_MAX  10     /* that are named where no JSON is asked for */
#define MERGE_PLACES_MAX 100000 /* places kept; all are counted */

/* What an output cannot express. */
enum merge_loss {
    LOSS_FIND,
    LOSS_PERF,
    LOSS_KERNELS,
    LOSS_SOLUTIONS,
    LOSS_SOLUTION_ALONE,
    LOSS_EPILOGUE,
    LOSS_CACHE_KEY,
    LOSS_CACHE_KEY_ALONE,
    LOSS_NEWER_FORM,
    LOSS_SEPARATOR,
    LOSS_ROW,
    LOSS_UNUSED_CONFIG,
    LOSS_COUNT,
};
const char *merge_loss_name(enum merge_loss loss);

struct merge_place {
    guint input;
    const char *noun; /* "line", "perf_db", "kern_db"; static */
    int64_t number;
    char *reason;
};

/* One of a key's entries that did not become part of the output since another did. */
struct merge_conflict {
    const char *key, *solver; /* a kernel-db's: kernel_name and kernel_args */
    const char *kept, *dropped;
    guint kept_input, dropped_input;
    int64_t kept_number, dropped_number;
    const char *kept_noun, *dropped_noun;
};

struct merge_input {
    char *path;
    enum file_kind kind;
    int64_t keys, entries;             /* that are good */
    struct file_target named, content; /* what its name says of its target, and what is in it */
    int64_t others;                    /* parts of it that are for another target than that */
    char *other;                       /* the first of them, as a text */
    int64_t doubts;                    /* entries left out that cannot be of the target */
    char *doubt;                       /* the first of them */
};
/* The target that an input is of, by its name or else by its content. */
struct file_target merge_input_target(const struct merge_input *input);

struct merge_report {
    char *out;
    enum file_kind kind;
    int64_t keys, entries;     /* written */
    struct file_target target; /* of the inputs and the output; unknown where they are mixed */
    bool mixed;                /* targets were not compared */
    GArray *inputs;            /* struct merge_input */
    GArray *places;            /* struct merge_place, left out, by input and number */
    int64_t place_count;
    GArray *conflicts; /* struct merge_conflict, by key */
    GStringChunk *texts;
    int64_t conflict_count;
    int64_t losses[LOSS_COUNT];
};

/* Merges the files into out, which is replaced whole or stays as it is. NULL when nothing was
 * written: an input is none of the formats (EXPORT_ERROR_KIND) or unreadable, inputs or the output are of
 * different targets (EXPORT_ERROR_TARGET, unless mixed targets are asked for), nothing is left
 * (EXPORT_ERROR_EMPTY), or the output cannot be written or does not read back.
 * Free it with merge_report_free(). */
struct merge_report *merge_files(char *const *paths, const char *out,
                                 const struct merge_options *options, GError **error);
void merge_report_free(struct merge_report *report);
typedef struct merge_report MergeReport;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MergeReport, merge_report_free)

/* Nothing was left out as unreadable or impossible. */
bool merge_report_clean(const struct merge_report *report);
void merge_report_print(const struct merge_report *report, FILE *out);
/* One JSON object on one line: out, format, target (null where it is unknown), mixed_targets, keys,
 * entries, inputs [{file, format, target, keys, entries}],
 * left_out [{file, where, reason}], left_out_count, conflicts [{key, solver, kept, kept_at, dropped,
 * dropped_at}], conflict_count, not_expressible [{what, count}], clean. */
void merge_report_print_json(const struct merge_report *report, FILE *out);

#endif
