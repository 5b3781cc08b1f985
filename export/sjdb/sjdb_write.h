/*
 * Writes a .sjdb file: find entries, perf params, solutions and kernels of one target in a file that
 * libskipjackdb maps and reads (export/sjdb/reader/FORMAT.md). Until it is written, entries, solutions and code
 * objects wait in temporary files beside it. In memory are about 60 bytes a problem with find entries, as
 * many for one with solutions or params and 12 for each of these, texts, and names of kernels; while it is
 * written, 30 bytes a solution more.
 * Equal contents give equal bytes, in whatever order they came.
 */
#ifndef EXPORT_SJDB_WRITE_H
#define EXPORT_SJDB_WRITE_H

#include "export/formats/export_error.h"
#include "solvers/framework/solution.h"
#include "solvers/problem/problem_key.h"

typedef struct sjdb_writer SjdbWriter;
/* Of the file that is to be at the path. */
SjdbWriter *sjdb_writer_new(const char *path);
void sjdb_writer_free(SjdbWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SjdbWriter, sjdb_writer_free)

/* JSON text on where the data comes from. */
void sjdb_writer_set_meta(SjdbWriter *writer, const char *json);

/* What is known of a solver beside its name; without it nothing is. */
void sjdb_writer_set_solver(SjdbWriter *writer, const char *name, unsigned revision, bool dynamic,
                            bool tunable);

struct sjdb_find_entry {
    const char *solver, *algorithm;
    const char *library; /* the older form's; NULL or "" for the newer one */
    double time_ms;      /* any double, kept as it is */
    uint64_t workspace_bytes;
};
/* A problem and its entries in their order. EXPORT_ERROR_SYNTAX for none and for more than
 * a thousand of them. A problem may be added once; adding it again is an error of
 * sjdb_writer_finish(). */
bool sjdb_writer_add_find(SjdbWriter *writer, const struct problem *problem,
                          const struct sjdb_find_entry *entries, gsize count, GError **error);

/* A solver's params for a row of a perf-db, in any order. Solvers' errors for a row that is no
 * problem's; EXPORT_ERROR_SYNTAX for a row that its problem does not give back, and for a solver that
 * has params in that row already. */
bool sjdb_writer_add_perf(SjdbWriter *writer, const struct perf_row *row, const char *solver,
                          const char *params, GError **error);

/* Kernel-db's identity of the kernel of one launch (kernel_db_name(), kernel_db_args()). */
struct sjdb_kernel_name {
    const char *name, *args;
};
/* How one solver computes one problem: the config's text ("" for none), and its launches; kernels[i] is
 * that of solution->launches[i], to be added before or after. The problem keeps its own params, also
 * where it has an epilogue or shares a perf-db row. Of the launches' programs, nothing but the entry
 * is kept. The errors of solution_validate(); EXPORT_ERROR_SYNTAX for a second solution of a solver. A
 * kernel without a code object is an error of sjdb_writer_finish(). */
bool sjdb_writer_add_solution(SjdbWriter *writer, const struct problem *problem, const char *solver,
                              const char *params, const struct solution *solution,
                              const struct sjdb_kernel_name *kernels, GError **error);

/* A code object by name and args, into the temporary file. EXPORT_ERROR_SYNTAX for another one of the
 * same name and args; the same again is nothing new. */
bool sjdb_writer_add_kernel(SjdbWriter *writer, const char *name, const char *args, GBytes *code,
                            GError **error);

/* Writes the file beside its place and renames it. The writer can only be freed afterwards. */
bool sjdb_writer_finish(SjdbWriter *writer, GError **error);

#endif
