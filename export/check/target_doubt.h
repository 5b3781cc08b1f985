/*
 * Find-dbs and perf-dbs hold no target: their name alone says it. Their content may still
 * contradict that name: times that no device of the target reaches, and solvers that cannot run on it.
 */
#ifndef EXPORT_TARGET_DOUBT_H
#define EXPORT_TARGET_DOUBT_H

#include "solvers/framework/solver.h"

#define TARGET_NAME_MAX   128 /* longer ones are no solver's */
#define TARGET_NAMES_SEEN 64

struct target_bounds {
    const struct target *target; /* NULL where it is unknown: everything is possible then */
    double operations_a_ms[DATA_TYPE_COUNT]; /* that no device of the target exceeds; 0 unknown */
    bool has_no_matrix_units;
    /* Names that were looked for lately: files of 300,000 entries have some dozens. */
    struct {
        char name[TARGET_NAME_MAX];
        size_t length;
        const struct solver *ours;
    } seen[TARGET_NAMES_SEEN];
};
/* target must outlive the bounds. */
void target_bounds_init(struct target_bounds *bounds, const struct target *target);

/* Milliseconds that the target needs at the least for the multiply-adds of the problem, those with padding
 * left out, on a device that is somewhat faster than the target's id tells; 0 where that is not known. */
double target_least_problem_ms(const struct target_bounds *bounds, const struct problem *problem);
/* Whether an algorithm does all of them, so that no time below that is possible: Direct, GEMM and
 * ImplicitGEMM do; Winograd and FFT do fewer. */
bool algorithm_does_all(const char *algorithm, size_t length);

/* NULL, or why the solver is of another target (to be freed with g_free()): a solver of ours that
 * refuses the problem on this target and takes it on one of another architecture; MIOpen's "Xdlops"
 * solvers, which need matrix units, on a GPU of AMD's that has none. */
char *target_other_solver(struct target_bounds *bounds, const struct problem *problem,
                          const char *solver, size_t solver_length);

#endif
