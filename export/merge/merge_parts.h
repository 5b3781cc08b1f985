/*
 * What merging is made of, internal to the room. An input's file holds one or
 * more parts (find entries, perf rows, kernels); a format's read function adds
 * its parts to the merge, and its write function takes the merged parts that it
 * can express. A format that holds several parts is one more row of the table
 * in merge.c.
 */
#ifndef EXPORT_MERGE_PARTS_H
#define EXPORT_MERGE_PARTS_H

#include "export/check/target_doubt.h"
#include "export/formats/find_table.h"
#include "export/formats/kernel_db.h"
#include "export/formats/perf_db.h"
#include "export/merge/merge.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_write.h"

struct merge {
    const struct merge_options *options;
    struct merge_report *report;
    struct merge_finds *finds;
    struct merge_perfs *perfs;
    struct merge_kernels *kernels;
    struct merge_solutions *solutions;
    GHashTable *solvers;          /* by name, what .sjdb files know of them */
    struct file_target judged_by; /* the target that entries have to be possible on */
    struct target_bounds bounds;  /* of that */
};

/* options must outlive the merge. */
void merge_init(struct merge *merge, const struct merge_options *options, const char *out);
/* The report too, unless it was taken. */
void merge_clear(struct merge *merge);
/* Adds an input and reads it. The errors of merge_files(). */
bool merge_read(struct merge *merge, const char *path, GError **error);
struct merge_input *merge_input(const struct merge *merge, guint input);

struct merge_report *merge_report_new(const char *out);
/* Puts places in order once all are known. */
void merge_report_finish(struct merge_report *report);

/* What is left out, with its place. */
G_GNUC_PRINTF(5, 6)
void merge_left_out(struct merge *merge, guint input, const char *noun, int64_t number,
                    const char *format, ...);

/* One side of a conflict. */
struct merge_side {
    guint input;
    const char *noun;
    int64_t number;
    struct span value;
};
void merge_conflict(struct merge *merge, struct span key, struct span solver,
                    const struct merge_side *kept, const struct merge_side *dropped);

/* ---- targets ---- */

/* Compares what the names of inputs and output say. EXPORT_ERROR_TARGET where they contradict. */
bool merge_targets_begin(struct merge *merge, char *const *paths, GError **error);
/* The same once all inputs are read, with what their content says. */
bool merge_targets_settle(struct merge *merge, GError **error);
/* Once all entries were looked at: none of the inputs is another target's by what was left out of it. */
bool merge_targets_judge(const struct merge *merge, GError **error);
/* Takes up the target that a part of an input names. False where that contradicts its name or what was said before:
 * that is noted. */
bool merge_content_target(struct merge *merge, guint input, const struct file_target *said,
                          const char *noun, int64_t number);
/* A part of an input is made for something else: `what`. */
void merge_other_target(struct merge *merge, guint input, const char *noun, int64_t number,
                        const char *what);
/* Leaves out an entry that cannot be of it. */
void merge_doubt(struct merge *merge, guint input, const char *noun, int64_t number,
                 const char *reason);

/* ---- find entries ---- */

struct merge_finds *merge_finds_new(void);
void merge_finds_free(struct merge_finds *finds);
bool merge_finds_read(struct merge *merge, guint input, GError **error);
/* Adds the lines of a find-db; takes text over. */
void merge_finds_add(struct merge *merge, guint input, GString *text);
/* Lines that were read; nothing says yet that they are good. */
int64_t merge_finds_count(const struct merge *merge);

/* An entry and where it comes from. */
struct find_choice {
    struct find_part part;
    guint input;
    int64_t number;
    guint rank; /* in the order of inputs and lines */
};

/* The next key with an entry that is good, and all of these (struct find_choice), valid until the next
 * call. False behind the last. */
bool merge_finds_next(struct merge *merge, struct span *key, const GArray **choices);

/* A key with what the policy chose of it, by time, ties by name. */
struct merged_find {
    struct span key;
    struct find_choice *const *choices;
    guint count;
    struct span line; /* the whole line where it is one input's as it stands, else length 0 */
};
typedef bool merge_find_emit(void *data, const struct merged_find *merged, GError **error);
/* Calls emit for every key in its order. */
bool merge_finds_run(struct merge *merge, merge_find_emit *emit, void *data, GError **error);
bool merge_finds_write(struct merge *merge, const char *path, GError **error);

/* ---- perf rows ---- */

struct perf_item {
    struct perf_record *record;
    guint input;
    const char *noun;
    int64_t number;
    bool trusted; /* no solver of ours refuses its params today */
};

struct merge_perfs *merge_perfs_new(void);
void merge_perfs_free(struct merge_perfs *perfs);
bool merge_perfs_read(struct merge *merge, guint input, GError **error);
bool merge_perfs_read_text(struct merge *merge, guint input, GError **error);
int64_t merge_perfs_count(const struct merge *merge);
/* struct perf_item *, the merge's own, by row and solver, equal ones in the order they were read. */
GPtrArray *merge_perfs_sorted(const struct merge *merge);
/* Adds an entry, whose input, noun and number are set, unless it is unfit. */
void merge_perfs_add(struct merge *merge, struct perf_item *item, const struct perf_row *row,
                     const char *solver, const char *params);
/* What the policy chose (struct perf_record *, the merge's own), in the order of files. */
GPtrArray *merge_perfs_choose(struct merge *merge);
bool merge_perfs_write(struct merge *merge, const char *path, GError **error);
bool merge_perfs_write_text(struct merge *merge, const char *path, GError **error);

/* ---- kernels ---- */

struct kernel_item {
    char *name, *args, *hash;
    bool from_sjdb;
    guint source; /* of the merge's databases of that sort */
    guint input;
    int64_t id;     /* a .sjdb file's number */
    bool gives_way; /* its name goes to another code object: see merge_kernels_settle() */
};

struct merge_kernels *merge_kernels_new(void);
void merge_kernels_free(struct merge_kernels *kernels);
bool merge_kernels_read(struct merge *merge, guint input, GError **error);
/* Adds the kernels of a .sjdb file, which it takes over, also on failure. What went wrong, of enum
 * skipjackdb_code. */
int merge_kernels_add(struct merge *merge, guint input, skipjackdb *db);
int64_t merge_kernels_count(const struct merge *merge);
/* struct kernel_item *, the merge's own, by name and arguments, equal ones as they were read. */
GPtrArray *merge_kernels_sorted(const struct merge *merge);
/* Once all are read: finds out whose name goes to another code object. */
void merge_kernels_settle(const struct merge *merge);
/* Those that the policy chose, by name and arguments. */
GPtrArray *merge_kernels_choose(struct merge *merge);
/* A code object. NULL where it is no longer what it was. */
GBytes *merge_kernel_code(const struct merge *merge, const struct kernel_item *item,
                          GError **error);
int kernel_item_compare(const struct kernel_item *a, const struct kernel_item *b);
bool merge_kernels_write(struct merge *merge, const char *path, GError **error);

/* ---- solutions, which .sjdb files alone have ---- */

struct merge_solutions *merge_solutions_new(void);
void merge_solutions_free(struct merge_solutions *solutions);
/* Adds those of a .sjdb file, before its kernels: the kernels' part owns it. What went wrong, of enum
 * skipjackdb_code. */
int merge_solutions_add(struct merge *merge, guint input, const skipjackdb *db);
int64_t merge_solutions_count(const struct merge *merge);
/* Gives the writer the solutions of a key's kept entries, each of the entry's own input; returns how
 * many. */
int64_t merge_solutions_keep(struct merge *merge, SjdbWriter *writer,
                             const struct merged_find *merged, const struct problem *problem);
/* Those of solvers that have no entry, of the input that the policy prefers; after all keys. */
int64_t merge_solutions_keep_rest(struct merge *merge, SjdbWriter *writer);
/* The text on where the data comes from, NULL unless all inputs have one, the same; inputs of other formats
 * have none. */
const char *merge_solutions_meta(const struct merge *merge);

/* ---- .sjdb: all of them ---- */

bool merge_sjdb_read(struct merge *merge, guint input, GError **error);
bool merge_sjdb_write(struct merge *merge, const char *path, GError **error);

#endif
