/*
 * Writes a .sjdb file: find entries, perf params, solutions and kernels of one target, for
 * libskipjackdb to map and read (export/sjdb/reader/FORMAT.md). The same contents give the same
 * bytes, in whatever order they are added.
 *
 * Problems that MIOpen's keys cannot name, and solutions with other operands than x, w and y, are in
 * sections of their own, which a file without them lacks.
 *
 * Entries, solutions and code objects wait in a spool in the file's folder. Memory holds about 60
 * bytes for each problem with find entries, the same for each problem with solutions or params, 12
 * bytes for each solution or params, and all texts and kernel names; while the file is written, 30
 * bytes more for each solution and 24 for each interval of a time.
 */
#ifndef EXPORT_SJDB_SJDB_WRITE_H
#define EXPORT_SJDB_SJDB_WRITE_H

#include "export/formats/export_error.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

typedef struct sjdb_writer SjdbWriter;
/* Begins a file that sjdb_writer_finish() will put at `path`. */
SjdbWriter *sjdb_writer_new(const char *path);
void sjdb_writer_free(SjdbWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SjdbWriter, sjdb_writer_free)

/* Sets the JSON text that says where the data comes from. */
void sjdb_writer_set_meta(SjdbWriter *writer, const char *json);

/* States a solver's revision, and what it is: bits of enum skipjackdb_flags (sjdb_solver_flags()). The
 * file says nothing about a solver without this call. */
void sjdb_writer_set_solver(SjdbWriter *writer, const char *name, unsigned revision,
                            uint32_t flags);
/* The flags of a solver of this program; of a solver of which no more is known than whether it is
 * dynamic and tunable. */
uint32_t sjdb_solver_flags(const struct solver *solver);
uint32_t sjdb_known_flags(bool dynamic, bool tunable);

struct sjdb_find_entry {
    const char *solver, *algorithm;
    const char *library; /* library of an entry in the older form; NULL or "" for the newer form */
    double time_ms;      /* any double; it is stored without loss */
    uint64_t workspace_bytes;
    /* the interval of the time, of a second measurement: 0 < low_ms <= time_ms <= high_ms; both 0 for none */
    double low_ms, high_ms;
};
/* Adds a problem with its entries, and keeps their order. EXPORT_ERROR_SYNTAX for no entry, or for
 * more than SJDB_LIST_MAX (1024), and for an interval that does not hold its time. If a problem is added
 * twice, sjdb_writer_finish() fails. */
bool sjdb_writer_add_find(SjdbWriter *writer, const struct problem *problem,
                          const struct sjdb_find_entry *entries, gsize count, GError **error);

/* Adds the params of one solver for a perf-db row; rows and solvers may come in any order. Fails
 * with the errors of solvers/ if no problem can have this row; with EXPORT_ERROR_SYNTAX if the
 * problem made from the row gives another row, or if the solver already has params for it. */
bool sjdb_writer_add_perf(SjdbWriter *writer, const struct perf_row *row, const char *solver,
                          const char *params, GError **error);

/* The identity of a launch's kernel, as kernel_db_name() and kernel_db_args() make it. */
struct sjdb_kernel_name {
    const char *name, *args;
};
/* Adds how a solver computes a problem: the config's text ("" for none) and the launches.
 * kernels[i] names the kernel of solution->launches[i]; its code object may be added before or
 * after. A solution's params belong to the problem alone, whatever its perf-db row holds. The file
 * keeps only the entry and identity of the launches' kernels, not their source. Fails with the
 * errors of solution_validate(), and with EXPORT_ERROR_SYNTAX for a second solution of the solver.
 * If a kernel never gets a code object, sjdb_writer_finish() fails. */
bool sjdb_writer_add_solution(SjdbWriter *writer, const struct problem *problem, const char *solver,
                              const char *params, const struct solution *solution,
                              const struct sjdb_kernel_name *kernels, GError **error);

/* Most never-measured solutions of one problem. */
#define SJDB_UNMEASURED_MAX 1024
/* Adds a solution that was built and never measured, with the same errors and promises. A problem's solutions are
 * added one after the other, in the order in which they should be tried; a solver may have one for each config.
 * EXPORT_ERROR_SYNTAX for a second one of the same solver and params, and for more than SJDB_UNMEASURED_MAX of a problem.
 * If a problem's solutions do not follow each other, sjdb_writer_finish() fails. Such solutions are in sections that
 * readers from before 1.5 do not see. */
bool sjdb_writer_add_unmeasured(SjdbWriter *writer, const struct problem *problem,
                                const char *solver, const char *params,
                                const struct solution *solution,
                                const struct sjdb_kernel_name *kernels, GError **error);

/* Adds a kernel's code object, which is spooled. Adding the same again changes nothing;
 * EXPORT_ERROR_SYNTAX if the kernel with this name and args already has a different one. */
bool sjdb_writer_add_kernel(SjdbWriter *writer, const char *name, const char *args, GBytes *code,
                            GError **error);

/* Writes a temporary file and renames it to the path. Afterwards the writer can only be freed. */
bool sjdb_writer_finish(SjdbWriter *writer, GError **error);

#endif
