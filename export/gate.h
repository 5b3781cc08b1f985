/*
 * What every result passes before it may be exported: a job of the campaign
 * with a stored round that verified it, a solver that the registry has at the
 * revision that was measured, a config that is valid for the problem today, a
 * time that is positive and possible, and the kernels of its solution, every
 * one present and unmistakable in a kernel-db. The worker's word is taken for
 * nothing that can be computed here. What does not pass comes with the reason;
 * nothing is repaired.
 */
#ifndef EXPORT_GATE_H
#define EXPORT_GATE_H

#include "export/export.h"
#include "export/formats/find_db.h"
#include "schema/store.h"
#include "solvers/problem_key.h"
#include "solvers/solver.h"

struct gate {
    struct target target;
    struct context context;
    GHashTable *kernels; /* key -> struct kernel_row * without code: what the store knows */
    GHashTable *codes;   /* "name\nargs" -> code_sha256: what candidates have taken so far */
    GHashTable *damaged; /* key -> what is wrong with its code object */
};

/* results: judged ones (schema/store.h). Asks the store once for all kernels that they name. */
bool gate_init(struct gate *gate, Store *store, const char *target, const GPtrArray *results,
               GError **error);
void gate_clear(struct gate *gate);
/* Reads the code object: one that is away, or has other bytes than its hash says, is entered as damaged,
 * and nothing passes that names it. False where the store cannot be asked. */
bool gate_read_code(struct gate *gate, Store *store, const char *key, GError **error);
/* As if nothing had passed yet. */
void gate_begin_anew(struct gate *gate);

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

/* NULL, with *why and *reason (g_free), when the result does not pass. */
struct candidate *gate_pass(struct gate *gate, const struct result *result, enum refusal *why,
                            char **reason);

#endif
