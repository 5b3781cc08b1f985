/*
 * Keeps results that passed the gate in a scratch database instead of memory: first all candidates
 * with their code objects, then which of them were chosen. They are read again in the order in
 * which each file needs them. Configs that were built and not measured have the time 0. Internal to the folder.
 */
#ifndef EXPORT_RELEASE_EXPORT_SPOOL_H
#define EXPORT_RELEASE_EXPORT_SPOOL_H

#include "export/formats/perf_db.h"
#include "export/release/code_names.h"
#include "export/release/export_entries.h"

#include <jansson.h>

/* Bits: which files a candidate goes into. A problem whose perf-db row holds another problem's
 * params has two candidates: one with those params for MIOpen's files, and one as measured for the
 * .sjdb. */
#define SPOOL_MIOPEN 1
#define SPOOL_OWN    2

struct export_spool {
    sqlite3 *db;
    struct code_names names;
    sqlite3_stmt *add, *move, *remove, *unnamed, *record, *loser;
};

/* Makes the scratch database. Close the spool also after failure. */
bool export_spool_open(struct export_spool *spool, const char *path, GError **error);
void export_spool_close(struct export_spool *spool);

/* Adds a candidate, whose kernels the gate knows (gate_learn_kernels()), and sets *id to its
 * number. files: SPOOL_ bits. weight: milliseconds that tuning saves, times the problem's
 * multiplicity. EXPORT_ERROR_CHECK if the problem's key does not parse back to the same problem. */
struct spool_item {
    const struct candidate *candidate;
    int files;
    double weight;
};
bool export_spool_add(struct export_spool *spool, const struct gate *gate,
                      const struct spool_item *item, int64_t *id, GError **error);
/* Sets the SPOOL_ bits of a candidate; 0 removes the candidate. */
bool export_spool_set_files(struct export_spool *spool, int64_t id, int files, GError **error);
/* Counts a problem that MIOpen's keys cannot name. A problem that is added again is not counted
 * again. */
bool export_spool_add_unnamed(struct export_spool *spool, const struct problem *problem,
                              GError **error);
/* Called once all candidates are added: makes the indices by which they are read in order. */
bool export_spool_sort(struct export_spool *spool, GError **error);

/* Leaves `most` candidates of each problem in the .sjdb. Solvers take turns, each with its next candidate in the order of
 * export_lines_next(), so none loses all of its candidates to those of another one. Returns a JSON object, for the
 * caller to free: how many candidates of each solver were taken out, by the solvers' names; NULL on failure. */
json_t *export_spool_limit_own(struct export_spool *spool, int most, GError **error);

/* Makes one perf record for each row and solver, with the params of the candidate of the largest
 * weight. The other candidates of this row and solver become losers. */
bool export_spool_choose_params(struct export_spool *spool, GError **error);
/* Returns losers, at most `most`, of jobs with ids above `after_job`, ordered by job (struct
 * spool_loser *). A loser is a candidate whose perf-db row holds another problem's params. */
struct spool_loser {
    int64_t job, id;
    /* the params that the candidate was measured with, and those that its row holds */
    char *own_params, *params;
};
GPtrArray *export_spool_list_losers(struct export_spool *spool, int64_t after_job, int most,
                                    GError **error);

/* Settles conflicts of kernel names: of the candidates that have different code objects of one
 * name, the first one keeps the name. The others are passed to `refuse` and removed. `unnamed`:
 * true for problems that MIOpen's keys cannot name, false for the others. */
bool export_spool_settle_names(struct export_spool *spool, bool unnamed,
                               bool (*refuse)(void *data, const struct export_refusal *refusal,
                                              GError **error),
                               void *data, GError **error);
/* Reserves the names of all kernels that MIOpen's files need. */
bool export_spool_bind_names(struct export_spool *spool, GError **error);

/* Sets *count to the number that a query returns. `value` is bound to the query's parameter if it
 * has one. */
bool export_spool_count(struct export_spool *spool, const char *sql, int value, int *count,
                        GError **error);

/* Returns the SHA-256, in hexadecimal, over all that was chosen. Equal results give an equal sum,
 * in whatever order they were added. NULL on failure; free with g_free(). */
char *export_spool_sum(struct export_spool *spool, GError **error);

/* ---- reading what was chosen, in the order of each file ---- */

struct planned_line {
    struct problem problem;
    GString *key;
    GArray *entries; /* struct planned_entry: all entries of the problem: the winner of its
                      * second measurement if there was one, then the fastest first; of a build-only campaign
                      * by the solvers' estimates, the highest first, then in the order of proposing */
    GString *text;   /* the find-db line with the taken entries, without its line end */
};
typedef struct export_lines ExportLines;
/* Walks the problems, ordered by key, whose candidates have one of the bits `files`; marks up to
 * `top` entries of each as taken. */
ExportLines *export_lines_open(struct export_spool *spool, int files, int top, GError **error);
void export_lines_close(ExportLines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportLines, export_lines_close)
/* Reads the next problem: READ_ROW with *line, valid until the next call; READ_END or
 * READ_FAILED. */
enum read_step export_lines_next(ExportLines *lines, const struct planned_line **line,
                                 GError **error);

typedef struct export_records ExportRecords;
ExportRecords *export_records_open(struct export_spool *spool, GError **error);
void export_records_close(ExportRecords *records);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportRecords, export_records_close)
/* Reads the next perf record; has the signature of `next` in struct perf_source. */
enum read_step export_records_next(void *records, const struct perf_record **record,
                                   GError **error);

/* The winner of a problem's second measurement (schema/QUEUE.md), with the interval of its time. Texts are valid until
 * the next one is read. */
struct planned_final {
    char problem[PROBLEM_KEY_MAX + 1]; /* its key */
    const char *solver, *config;       /* config: its text, "" for a solver without configs */
    double time_ms, low_ms, high_ms;
};
typedef struct export_finals ExportFinals;
/* Walks the chosen winners of second measurements, by problem. */
ExportFinals *export_finals_open(struct export_spool *spool, GError **error);
void export_finals_close(ExportFinals *finals);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportFinals, export_finals_close)
enum read_step export_finals_next(ExportFinals *finals, struct planned_final *final,
                                  GError **error);

/* A kernel that a chosen entry needs. Kernels are read in the order of name and args, each once. */
struct planned_kernel {
    const char *name, *args; /* kernel_name and kernel_args in the kernel-db */
    const char *key;         /* its key in the store */
    const char *sha256;      /* SHA-256 of the code object, in hexadecimal */
};
typedef struct export_kernels ExportKernels;
ExportKernels *export_kernels_open(struct export_spool *spool, int files, GError **error);
void export_kernels_close(ExportKernels *kernels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportKernels, export_kernels_close)
enum read_step export_kernels_next(ExportKernels *kernels, struct planned_kernel *kernel,
                                   GError **error);

#endif
