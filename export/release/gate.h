/*
 * Judges every result before it may be exported (export/release/GATE.md): its job, the round that
 * verified it, its solver's revision, its config, workspace, time and kernels. The gate computes
 * all it can again instead of trusting the worker. A result that does not pass is left out with a
 * reason and never repaired. Conflicts of kernel names between results are settled later, when all
 * results are known (code_names.h).
 */
#ifndef EXPORT_RELEASE_GATE_H
#define EXPORT_RELEASE_GATE_H

#include "export/formats/find_db.h"
#include "export/release/export.h"
#include "schema/results/store_results.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

struct gate {
    struct target target;
    /* key -> struct kernel_row * (without code): kernels of the part being read, as far as the
     * store knows them */
    GHashTable *kernels;
    GHashTable *damaged; /* kernel's key -> text about the damage of its code object */
    bool
        allow_drift; /* true: results of rounds during which the device drifted or was throttled pass, too */
    bool built_only; /* true: results were built and not measured, so times are not judged */
};

bool gate_init(struct gate *gate, Store *store, const char *target, GError **error);
void gate_clear(struct gate *gate);
/* Reads the kernels that the results of the next part name (schema/results/store_results.h) with
 * one query. The kernels of earlier parts are forgotten. */
bool gate_learn_kernels(struct gate *gate, Store *store, const GPtrArray *results, GError **error);
/* Reads a code object and compares it with its hash. If it is missing or differs, the gate then
 * refuses every result that names it. Returns false only if the store cannot be asked. */
bool gate_read_code(struct gate *gate, Store *store, const char *key, GError **error);
/* A result that passed. */
struct candidate {
    const struct result *result;
    const struct solver *solver;
    /* the time that is read from time_text again, so that all files state the same */
    double time_ms;
    char time_text[FIND_TIME_MAX];
    /* the interval of its second measurement, rounded as time_ms is; both 0 if it had none */
    double low_ms, high_ms;
    uint64_t workspace_bytes; /* of its solution; a measured result states the same */
    /* what the solver's own estimate gives the problem, higher is better; 0 for a measured result, which has a time */
    double estimate;
    char **kernels; /* keys of its kernels, NULL-terminated */
    bool tunable;   /* has params */
};
void candidate_free(struct candidate *candidate);

/* Judges a result. Returns the candidate if it passes, otherwise NULL with *why and *reason
 * (g_free()). */
struct candidate *gate_pass(struct gate *gate, const struct result *result, enum refusal *why,
                            char **reason);

#endif
