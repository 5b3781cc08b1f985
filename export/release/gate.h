/*
 * Judges every result before it may be exported (export/release/GATE.md): its job, its verified
 * round, its solver's revision, its config, its workspace, its time, and its kernels. The gate
 * computes again whatever it can, instead of trusting the worker. A result that does not pass comes
 * with the reason; it is never repaired. Conflicts between the kernels of different results are
 * settled later, when all are known (code_names.h).
 */
#ifndef EXPORT_GATE_H
#define EXPORT_GATE_H

#include "export/formats/find_db.h"
#include "export/release/export.h"
#include "schema/results/store_results.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

struct gate {
    struct target target;
    GHashTable
        *kernels; /* key -> struct kernel_row * (without code): the kernels that the store knows */
    GHashTable *damaged; /* key -> description of the damage of its code object */
    bool allow_drift;    /* results of rounds that drifted pass */
    bool built_only;     /* results were built and not measured: times are not judged */
};

bool gate_init(struct gate *gate, Store *store, const char *target, GError **error);
void gate_clear(struct gate *gate);
/* Reads the kernels that the results of the next part name (schema/results/store_results.h), in one
 * query, and forgets all others. */
bool gate_learn_kernels(struct gate *gate, Store *store, const GPtrArray *results, GError **error);
/* Reads a code object and compares it with its hash. If it is missing or differs, no result that
 * names it passes. False if the store cannot be asked. */
bool gate_read_code(struct gate *gate, Store *store, const char *key, GError **error);
/* A result that passed. */
struct candidate {
    const struct result *result;
    const struct solver *solver;
    double time_ms; /* the value that time_text reads back as */
    char time_text[FIND_TIME_MAX];
    char **kernels; /* keys, NULL-terminated */
    bool tunable;   /* has params */
};
void candidate_free(struct candidate *candidate);

/* Returns the candidate, or NULL with *why and *reason (g_free()) if the result does not pass. */
struct candidate *gate_pass(struct gate *gate, const struct result *result, enum refusal *why,
                            char **reason);

#endif
