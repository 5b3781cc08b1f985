/*
 * Everything a problem needs on a device to have its configs evaluated: random
 * inputs in several copies, outputs, the workspace, all between guard zones, and
 * the reference. Made once a problem, used by all its configs. Copy 0 serves
 * verification; timed runs rotate through all of them. Inputs and reference are
 * the device's own where it has a judge (judge.h) that can be believed, else the
 * host makes them.
 */
#ifndef WORKER_WORKBENCH_H
#define WORKER_WORKBENCH_H

#include "worker/eval/invocation.h"
#include "worker/verify/guarded.h"
#include "worker/verify/judge.h"
#include "worker/verify/reference.h"
#include "worker/verify/verify.h"

/* What a child has to verify with; each may be NULL. */
struct workbench_means {
    struct device_program *judge; /* the device's loaded JUDGE_FILE; NULL: the host verifies */
    struct judge_cache *judges;
    struct reference_cache *references; /* the host's */
};

struct workbench {
    struct device *device;
    struct problem problem;
    enum tensor_role out;
    uint64_t seed;
    struct tensor tensors[TENSOR_COUNT];
    struct judge *judge;        /* NULL where the host verifies */
    struct judge_cache *judges; /* where it goes at the end, or NULL */
    GError *refusal; /* why it does, from the start or by now, although a judge was given */
    void *images[TENSOR_COUNT]; /* the inputs' bytes as the device holds them; the host's way */
    struct guarded memory[TENSOR_COUNT];
    struct guarded workspace; /* empty, or as large as the largest asked for */
    int copies;
    bool cold_caches; /* rotating through the copies exceeds the last-level cache twice */
    struct reference *reference; /* NULL while the device's alone is needed */
};

/*
 * tensors: NULL for packed ones. The reference is taken from means' caches or computed and put there.
 * WORKER_ERROR_INVALID where none can be computed, DEVICE_ERROR_* otherwise. On failure the workbench is
 * closed.
 */
bool workbench_open(struct workbench *bench, struct device *device, const struct problem *p,
                    const struct tensor *tensors, uint64_t seed,
                    const struct workbench_means *means, GError **error);
void workbench_close(struct workbench *bench);

/* A workspace of at least that many bytes, valid until the next call; *memory is NULL for 0
 * bytes. Where there is no memory for both, the judge is given up. */
bool workbench_workspace(struct workbench *bench, uint64_t bytes, struct device_memory **memory,
                         GError **error);

/* Writes the inputs, poisons output and workspace, runs once and judges. False for what the device
 * refuses. Whatever this run did, nothing of it is left to the next one that is verified. algorithm: the
 * solver's, for the tolerance. */
bool workbench_verify(struct workbench *bench, struct invocation *invocation, const char *algorithm,
                      struct verdict *verdict, GError **error);

/* Whether runs since then wrote outside of the tensors' first copies or of the workspace: FAILURE_OUT_OF_BOUNDS,
 * and references, which they may have reached, are made anew. Else FAILURE_NONE. */
bool workbench_strayed(struct workbench *bench, struct verdict *verdict, GError **error);

/* A measure_job's run: data is a struct workbench_run. */
struct workbench_run {
    struct workbench *bench;
    struct invocation *invocation;
};
bool workbench_run(void *data, int64_t run, GError **error);

#endif
