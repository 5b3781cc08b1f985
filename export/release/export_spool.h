/*
 * What passed the gate, in a scratch database rather than in memory: candidates with their code objects, and
 * what is chosen of them, read again in the order of each file. Internal to the room.
 */
#ifndef EXPORT_EXPORT_SPOOL_H
#define EXPORT_EXPORT_SPOOL_H

#include "export/formats/perf_db.h"
#include "export/release/code_names.h"
#include "export/release/export_entries.h"

/* Which files a candidate goes into. One that has the params of a row it shares stands in MIOpen's files in
 * that form alone, and as it was measured in the others. */
#define SPOOL_MIOPEN 1
#define SPOOL_OWN    2

struct export_spool {
    sqlite3 *db;
    struct code_names names;
    sqlite3_stmt *add, *move, *remove, *epilogue, *record, *loser;
};

/* Makes the file anew. To be closed also where it fails. */
bool export_spool_open(struct export_spool *spool, const char *path, GError **error);
void export_spool_close(struct export_spool *spool);

/* weight: milliseconds that tuning saves in what was planned. Its kernels are those that the gate knows.
 * EXPORT_ERROR_CHECK where the problem does not come back from its key. */
struct spool_item {
    const struct candidate *candidate;
    int files;
    double weight;
};
bool export_spool_add(struct export_spool *spool, const struct gate *gate,
                      const struct spool_item *item, int64_t *id, GError **error);
/* 0 takes it away. */
bool export_spool_set_files(struct export_spool *spool, int64_t id, int files, GError **error);
/* A problem that has no key of MIOpen's; told again it is nothing new. */
bool export_spool_add_epilogue(struct export_spool *spool, const struct problem *problem,
                               GError **error);
/* When all are added: what follows reads them in order. */
bool export_spool_sort(struct export_spool *spool, GError **error);

/* Sets one record a row and solver, with the params of the candidate of the largest weight, and notes the
 * others as losers. */
bool export_spool_choose_params(struct export_spool *spool, GError **error);
/* One that must give way to the params of its row. The list (struct spool_loser *) has up to `most` of jobs
 * after that one, in order. */
struct spool_loser {
    int64_t job, id;
    char *own_params, *params; /* those it was measured with, and the row's */
};
GPtrArray *export_spool_list_losers(struct export_spool *spool, int64_t after_job, int most,
                                    GError **error);

/* Goes through the candidates whose code objects have a name that others have too, and lets the first ones
 * keep it; calls back for each of the others, which is removed then. epilogues: of problems with one, else
 * of the others. */
bool export_spool_settle_names(struct export_spool *spool, bool epilogues,
                               bool (*refuse)(void *data, const struct export_refusal *refusal,
                                              GError **error),
                               void *data, GError **error);
/* All names are bound that candidates of MIOpen's files have. */
bool export_spool_bind_names(struct export_spool *spool, GError **error);

/* A number that a query of one row gives, with the value for its parameter where it has one. */
bool export_spool_count(struct export_spool *spool, const char *sql, int value, int *count,
                        GError **error);

/* The SHA-256 of all that was chosen, as hexadecimal digits: the same results give the same one, in whatever order
 * they came. NULL on failure; free with g_free(). */
char *export_spool_sum(struct export_spool *spool, GError **error);

/* ---- what goes into files, in their order ---- */

struct planned_line {
    struct problem problem;
    GString *key;
    GArray *entries; /* struct planned_entry, by time */
    GString *text;   /* a find-db line of those that were taken, without its line end */
};
typedef struct export_lines ExportLines;
/* Of the candidates of one of SPOOL_...; up to `top` entries are taken. */
ExportLines *export_lines_open(struct export_spool *spool, int files, int top, GError **error);
void export_lines_close(ExportLines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportLines, export_lines_close)
/* READ_ROW with *line, valid until the next call; READ_END; READ_FAILED. */
enum read_step export_lines_next(ExportLines *lines, const struct planned_line **line,
                                 GError **error);

typedef struct export_records ExportRecords;
ExportRecords *export_records_open(struct export_spool *spool, GError **error);
void export_records_close(ExportRecords *records);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportRecords, export_records_close)
/* For struct perf_source. */
enum read_step export_records_next(void *records, const struct perf_record **record,
                                   GError **error);

/* By name and args, one each. */
struct planned_kernel {
    const char *name, *args; /* as in the kernel-db */
    const char *key;         /* in the store */
    const char *sha256;      /* of the code object */
};
typedef struct export_kernels ExportKernels;
ExportKernels *export_kernels_open(struct export_spool *spool, int files, GError **error);
void export_kernels_close(ExportKernels *kernels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportKernels, export_kernels_close)
enum read_step export_kernels_next(ExportKernels *kernels, struct planned_kernel *kernel,
                                   GError **error);

#endif
