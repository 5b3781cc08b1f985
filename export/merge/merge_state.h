/*
 * A merge at work. Each input adds the parts that it holds: find entries, perf rows, kernels,
 * solutions. The output is written from the parts that its format can express; tables in merge.c
 * list the parts and the formats. diff compares two files part by part with the same functions.
 * Internal to merge and diff.
 */
#ifndef EXPORT_MERGE_MERGE_STATE_H
#define EXPORT_MERGE_MERGE_STATE_H

#include "export/check/target_doubt.h"
#include "export/formats/find_scan.h"
#include "export/merge/merge.h"

struct merge {
    const struct merge_options *options;
    struct merge_report *report;
    struct merge_finds *finds;         /* merge_find.h */
    struct merge_perfs *perfs;         /* merge_perf.h */
    struct merge_kernels *kernels;     /* merge_kernel.h */
    struct merge_solutions *solutions; /* merge_sjdb.h */
    GHashTable *solvers;               /* solver's name -> what .sjdb files say about the solver */
    struct file_target judged_by;      /* the target that every entry must be possible on */
    struct target_bounds bounds;       /* of that target */
};

/* A part of the inputs: how its member of struct merge is made and freed, and how many items were read, valid or not. */
struct merge_part {
    enum merge_loss loss; /* reports the items if the output's format lacks the part */
    void (*init)(struct merge *merge);
    void (*clear)(struct merge *merge);
    int64_t (*count)(const struct merge *merge);
};

/* A format: the parts that it holds, how a file adds to them, and how they are written to a new file. */
struct merge_format {
    enum file_kind kind;
    unsigned parts; /* bits: 1 << loss of a part */
    bool (*read)(struct merge *merge, guint input, GError **error);
    bool (*write)(struct merge *merge, const char *path, GError **error);
};

/* `options` must outlive the merge. */
void merge_init(struct merge *merge, const struct merge_options *options, const char *out);
/* Frees all parts, and the report unless the caller has taken it. */
void merge_clear(struct merge *merge);
/* Adds an input and reads it. Fails with the errors of merge_files(). */
bool merge_read(struct merge *merge, const char *path, GError **error);
struct merge_input *merge_input(const struct merge *merge, guint input);

/* Reports a line or row that is left out. The format gives the reason. */
G_GNUC_PRINTF(5, 6)
void merge_left_out(struct merge *merge, guint input, const char *noun, int64_t number,
                    const char *format, ...);

/* One of the two entries of a conflict: where it was read, and its value as text. */
struct merge_side {
    guint input;
    const char *noun;
    int64_t number;
    struct span value;
};
void merge_conflict(struct merge *merge, struct span key, struct span solver,
                    const struct merge_side *kept, const struct merge_side *dropped);

/* Notes the target that a row or kernel of an input states. If it contradicts the input's name or
 * an earlier row, the row is noted in `others` and the result is false. */
bool merge_content_target(struct merge *merge, guint input, const struct file_target *said,
                          const char *noun, int64_t number);
/* Notes that a row or kernel of an input is made for another target, which `what` names. */
void merge_other_target(struct merge *merge, guint input, const char *noun, int64_t number,
                        const char *what);
/* Reports an entry that is left out because it is impossible on the target; `reason` says why. */
void merge_doubt(struct merge *merge, guint input, const char *noun, int64_t number,
                 const char *reason);

#endif
