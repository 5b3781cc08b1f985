/*
 * Writes a .sjdb file: find entries, perf params, solutions and kernels of one target, for
 * libskipjackdb to map and read (export/sjdb/reader/FORMAT.md). Equal contents give equal bytes, in
 * whatever order they are added.
 *
 * Entries, solutions and code objects are spooled beside the file. In memory are about 60 bytes for
 * each problem with find entries and for each one with solutions or params, 12 bytes for each of
 * these, texts and kernel names; while writing, 30 bytes more for each solution.
 */
#ifndef EXPORT_SJDB_WRITE_H
#define EXPORT_SJDB_WRITE_H

#include "export/formats/export_error.h"
#include "solvers/framework/solution.h"
#include "solvers/problem/problem_key.h"

typedef struct sjdb_writer SjdbWriter;
/* `path` is where the file will be. */
SjdbWriter *sjdb_writer_new(const char *path);
void sjdb_writer_free(SjdbWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SjdbWriter, sjdb_writer_free)

/* Sets the JSON text that says where the data comes from. */
void sjdb_writer_set_meta(SjdbWriter *writer, const char *json);

/* Says what is known of a solver beside its name. Without this call nothing is known. */
void sjdb_writer_set_solver(SjdbWriter *writer, const char *name, unsigned revision, bool dynamic,
                            bool tunable);

struct sjdb_find_entry {
    const char *solver, *algorithm;
    const char *library; /* of the older form; NULL or "" for the newer one */
    double time_ms;      /* any double; stored without loss */
    uint64_t workspace_bytes;
};
/* Adds a problem with its entries, whose order is kept. EXPORT_ERROR_SYNTAX for none, or more than
 * a thousand. A problem that is added twice is an error of sjdb_writer_finish(). */
bool sjdb_writer_add_find(SjdbWriter *writer, const struct problem *problem,
                          const struct sjdb_find_entry *entries, gsize count, GError **error);

/* Adds a solver's params for a perf-db row, in any order. Errors of solvers for a row that no
 * problem has; EXPORT_ERROR_SYNTAX for a row that its problem does not give back, or if the solver
 * already has params in the row. */
bool sjdb_writer_add_perf(SjdbWriter *writer, const struct perf_row *row, const char *solver,
                          const char *params, GError **error);

/* Identity of a launch's kernel: kernel_db_name() and kernel_db_args(). */
struct sjdb_kernel_name {
    const char *name, *args;
};
/* Adds how a solver computes a problem: the config's text ("" for none) and its launches.
 * kernels[i] is the kernel of solution->launches[i], to be added before or after. The problem keeps
 * these params even if it has an epilogue or shares a perf-db row. Errors of solution_validate();
 * EXPORT_ERROR_SYNTAX for a second solution of the solver. A kernel without a code object is an
 * error of sjdb_writer_finish(). */
bool sjdb_writer_add_solution(SjdbWriter *writer, const struct problem *problem, const char *solver,
                              const char *params, const struct solution *solution,
                              const struct sjdb_kernel_name *kernels, GError **error);

/* Adds a code object, which is spooled. EXPORT_ERROR_SYNTAX if name and args have another one;
 * adding the same again changes nothing. */
bool sjdb_writer_add_kernel(SjdbWriter *writer, const char *name, const char *args, GBytes *code,
                            GError **error);

/* Writes a temporary file and renames it. The writer can only be freed afterwards. */
bool sjdb_writer_finish(SjdbWriter *writer, GError **error);

#endif
