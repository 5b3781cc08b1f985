/*
 * The proof of a config that is to win: many runs, on inputs of each kind (random.h), of which every one is compared.
 * The first run and the last one of a kind are compared in full with the reference. The runs between must give the
 * first one's bytes; results of a solver that says that they vary are compared in full each time.
 *
 * A proof is bounded by time. Where runs are long it has fewer runs, and may leave out kinds: random inputs come
 * first, and each further kind begins only while time is left. struct proof says how many runs were compared.
 */
#ifndef WORKER_EVAL_PROOF_H
#define WORKER_EVAL_PROOF_H

#include "worker/eval/workbench.h"

struct proof_limits {
    int runs;       /* wanted, at least one a kind */
    double seconds; /* of the whole proof, references included */
};

struct proof {
    int runs;       /* that were compared */
    unsigned kinds; /* bits of enum input_kind: the inputs of those runs */
};

/* Proves the config that the invocation runs; workbench_verify() found it right before. The verdict is that of
 * workbench_look(). False with an error for a call that the device refuses. The workbench is left as it was. */
bool proof_run(struct workbench *bench, struct invocation *invocation,
               const struct proof_limits *limits, struct proof *proof, struct verdict *verdict,
               GError **error);

/* The number of kinds of inputs. The kinds come in the order of enum input_kind, so it also says which they are. */
int proof_kinds(const struct proof *proof);
/* "240 runs compared: random, whole numbers, large, small, zeros"; free with g_free(). */
char *proof_text(const struct proof *proof);

#endif
