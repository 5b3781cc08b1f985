/*
 * What every result passes before it may be exported: a solver that the
 * registry has at the revision that was measured, a config that is valid for
 * the problem today, a time that is positive and possible, and every kernel
 * present and unmistakable in a kernel-db. What does not pass comes with the
 * reason; nothing is repaired.
 */
#ifndef EXPORT_GATE_H
#define EXPORT_GATE_H

#include "export/find_db.h"
#include "schema/store.h"
#include "solvers/problem_key.h"
#include "solvers/solver.h"

struct gate {
    struct target target;
    struct context context;
    GHashTable *kernels; /* key -> struct kernel_row * without code: what the store knows */
    GHashTable *codes;   /* "name\nargs" -> code_sha256: what candidates have taken so far */
};

/* Asks the store once for all kernels that the results name. */
bool gate_init(struct gate *gate, Store *store, const char *target, const GPtrArray *results,
               GError **error);
void gate_clear(struct gate *gate);

/* A result on its way out. */
struct candidate {
    const struct result *result;
    const struct solver *solver;
    double time_ms; /* as it reads back from time_text */
    char time_text[FIND_TIME_MAX];
    char **kernels; /* keys, NULL-terminated */
    bool tunable;   /* needs a perf record */
    struct perf_row row;
    double weight; /* milliseconds that tuning saves in what was planned; set by the plan */
};
void candidate_free(struct candidate *candidate);

/* NULL and *reason (g_free) when the result does not pass. */
struct candidate *gate_pass(struct gate *gate, const struct result *result, char **reason);

/* The least time in milliseconds that the operations can take at the target's peak, 0 when that is
 * not known. Peaks are those of FP32: narrower types count as that much faster, on GPUs 8 times
 * more for their matrix units. */
double gate_least_ms(const struct target *target, const struct problem *p, double flops);

#endif
