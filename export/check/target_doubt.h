/*
 * Find-dbs and perf-dbs do not state their target; only their name does. This file finds content
 * that contradicts a target: times that no device of it reaches, and solvers that cannot run on it.
 */
#ifndef EXPORT_CHECK_TARGET_DOUBT_H
#define EXPORT_CHECK_TARGET_DOUBT_H

#include "solvers/framework/solver.h"

/* bytes; no solver has a name this long, so a longer name is not looked up */
#define TARGET_NAME_MAX   128
#define TARGET_NAMES_SEEN 64

struct target_bounds {
    const struct target *target; /* NULL if unknown: no time and no solver is then doubted */
    double operations_a_ms
        [DATA_TYPE_COUNT]; /* operations per millisecond that no device of the target exceeds, by data type; 0 if unknown */
    bool has_no_matrix_units;
    /* Cache of solver names that were looked up: a file of 300,000 entries has a few dozen distinct
     * names. */
    struct {
        char name[TARGET_NAME_MAX];
        size_t length;
        const struct solver *ours;
    } seen[TARGET_NAMES_SEEN];
};
/* `target` may be NULL and must outlive the bounds. */
void target_bounds_init(struct target_bounds *bounds, const struct target *target);

/* Returns the least milliseconds that the problem's multiply-adds, without those on padding, take
 * on a device somewhat faster than the target id implies. 0 if unknown. */
double target_least_problem_ms(const struct target_bounds *bounds, const struct problem *problem);
/* Returns true if the algorithm does all multiply-adds, so that target_least_problem_ms() bounds
 * its time: Direct, GEMM and ImplicitGEMM do, Winograd and FFT do fewer. */
bool algorithm_does_all(const char *algorithm, size_t length);

/* Returns NULL, or the reason why the solver cannot run on the target (g_free()): a solver of ours
 * refuses the problem here and takes it on another architecture; a solver of MIOpen's with "Xdlops"
 * in its name needs matrix units that the target lacks; or the solver is for AMD's GPUs alone. */
char *target_other_solver(struct target_bounds *bounds, const struct problem *problem,
                          const char *solver, size_t solver_length);

#endif
