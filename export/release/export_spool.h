/*
 * Keeps what passed the gate in a scratch database rather than in memory: candidates with their
 * code objects, and what is chosen of them, read again in the order of each file. Internal to the
 * folder.
 */
#ifndef EXPORT_EXPORT_SPOOL_H
#define EXPORT_EXPORT_SPOOL_H

#include "export/formats/perf_db.h"
#include "export/release/code_names.h"
#include "export/release/export_entries.h"

/* Bits: the files a candidate goes into. Where a problem got the params of the perf-db row that it
 * shares, one candidate with these params is for MIOpen's files, and another one, as measured, for
 * the .sjdb. */
#define SPOOL_MIOPEN 1
#define SPOOL_OWN    2

struct export_spool {
    sqlite3 *db;
    struct code_names names;
    sqlite3_stmt *add, *move, *remove, *epilogue, *record, *loser;
};

/* Makes the database. To be closed also after failure. */
bool export_spool_open(struct export_spool *spool, const char *path, GError **error);
void export_spool_close(struct export_spool *spool);

/* Adds a candidate and sets *id to its number. weight: milliseconds that tuning saves over the
 * planned problems. EXPORT_ERROR_CHECK if the problem's key does not parse back to the problem. */
struct spool_item {
    const struct candidate *candidate;
    int files;
    double weight;
};
bool export_spool_add(struct export_spool *spool, const struct gate *gate,
                      const struct spool_item *item, int64_t *id, GError **error);
/* Changes the files of a candidate; 0 removes it. */
bool export_spool_set_files(struct export_spool *spool, int64_t id, int files, GError **error);
/* Counts a problem without a key of MIOpen's, once. */
bool export_spool_add_epilogue(struct export_spool *spool, const struct problem *problem,
                               GError **error);
/* To be called when all candidates are added; makes the indices that reading in order needs. */
bool export_spool_sort(struct export_spool *spool, GError **error);

/* Makes one perf record for each row and solver, from the candidate of the largest weight, and
 * notes the other candidates as losers. */
bool export_spool_choose_params(struct export_spool *spool, GError **error);
/* Returns up to `most` losers of jobs above `after_job`, by job (struct spool_loser *): candidates
 * whose row has another problem's params. */
struct spool_loser {
    int64_t job, id;
    char *own_params, *params; /* params it was measured with, and params of the row */
};
GPtrArray *export_spool_list_losers(struct export_spool *spool, int64_t after_job, int most,
                                    GError **error);

/* Lets, of all candidates whose code objects share a name, the first one keep it. Each other one is
 * handed to `refuse` and removed. `epilogues` selects problems with an epilogue, or those without.
 * */
bool export_spool_settle_names(struct export_spool *spool, bool epilogues,
                               bool (*refuse)(void *data, const struct export_refusal *refusal,
                                              GError **error),
                               void *data, GError **error);
/* Reserves the names of all code objects of MIOpen's files. */
bool export_spool_bind_names(struct export_spool *spool, GError **error);

/* Runs a query that returns one number; `value` is bound to its parameter, if it has one. */
bool export_spool_count(struct export_spool *spool, const char *sql, int value, int *count,
                        GError **error);

/* Returns the SHA-256, in hexadecimal, of all that was chosen: equal results give an equal sum,
 * whatever their order. NULL on failure; free with g_free(). */
char *export_spool_sum(struct export_spool *spool, GError **error);

/* ---- what goes into files, in their order ---- */

struct planned_line {
    struct problem problem;
    GString *key;
    GArray *entries; /* struct planned_entry, by time */
    GString *text;   /* find-db line of the taken entries, without its line end */
};
typedef struct export_lines ExportLines;
/* Goes through the problems of candidates with the bit `files`, by key; up to `top` entries of each
 * are taken. */
ExportLines *export_lines_open(struct export_spool *spool, int files, int top, GError **error);
void export_lines_close(ExportLines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportLines, export_lines_close)
/* READ_ROW with *line (valid until the next call), READ_END or READ_FAILED. */
enum read_step export_lines_next(ExportLines *lines, const struct planned_line **line,
                                 GError **error);

typedef struct export_records ExportRecords;
ExportRecords *export_records_open(struct export_spool *spool, GError **error);
void export_records_close(ExportRecords *records);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportRecords, export_records_close)
/* The `next` of a struct perf_source. */
enum read_step export_records_next(void *records, const struct perf_record **record,
                                   GError **error);

/* A kernel of the plan; they come by name and args, without duplicates. */
struct planned_kernel {
    const char *name, *args; /* its identity in a kernel-db */
    const char *key;         /* its key in the store */
    const char *sha256;      /* of the code object */
};
typedef struct export_kernels ExportKernels;
ExportKernels *export_kernels_open(struct export_spool *spool, int files, GError **error);
void export_kernels_close(ExportKernels *kernels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportKernels, export_kernels_close)
enum read_step export_kernels_next(ExportKernels *kernels, struct planned_kernel *kernel,
                                   GError **error);

#endif
