/*
 * What every result passes before it may be exported: a job of the campaign
 * with a stored round that verified it, a solver that the registry has at the
 * revision that was measured, a config that is valid for the problem today, the
 * workspace of its solution, a time that is positive and possible, and the kernels of its solution, every
 * one present. The worker's word is taken for nothing that can be computed
 * here. What does not pass comes with the reason; nothing is repaired. That
 * kernels of different results are unmistakable in a kernel-db is seen to
 * where all of them are known (code_names.h).
 */
#ifndef EXPORT_GATE_H
#define EXPORT_GATE_H

#include "export/formats/find_db.h"
#include "export/release/export.h"
#include "schema/store/store_results.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

struct gate {
    struct target target;
    GHashTable *kernels; /* key -> struct kernel_row * without code: what the store knows */
    GHashTable *damaged; /* key -> what is wrong with its code object */
    bool allow_drift;    /* times of rounds that drifted pass */
    bool built_only; /* results are what was built and not measured: nothing is asked of times */
};

bool gate_init(struct gate *gate, Store *store, const char *target, GError **error);
void gate_clear(struct gate *gate);
/* results: judged ones (schema/store/store_results.h), which may pass next. Asks the store once for all kernels that they
 * name, and forgets those of others. */
bool gate_learn_kernels(struct gate *gate, Store *store, const GPtrArray *results, GError **error);
/* Reads the code object: one that is away, or has other bytes than its hash says, is entered as damaged,
 * and nothing passes that names it. False where the store cannot be asked. */
bool gate_read_code(struct gate *gate, Store *store, const char *key, GError **error);
/* A result on its way out. */
struct candidate {
    const struct result *result;
    const struct solver *solver;
    double time_ms; /* as it reads back from time_text */
    char time_text[FIND_TIME_MAX];
    char **kernels; /* keys, NULL-terminated */
    bool tunable;   /* needs params */
};
void candidate_free(struct candidate *candidate);

/* NULL, with *why and *reason (g_free), when the result does not pass. */
struct candidate *gate_pass(struct gate *gate, const struct result *result, enum refusal *why,
                            char **reason);

#endif
