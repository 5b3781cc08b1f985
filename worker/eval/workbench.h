/*
 * Everything that the configs of a problem need on a device: random operands in several copies, a workspace, all
 * between guard zones, and the reference. It is made once for a problem and used by all its configs. The operands are
 * those of problem.h, with the problem's strides; the packed filter has the size that the config under way asks for.
 *
 * Copy 0 serves verification. Timed runs rotate through all copies, so that a run finds its tensors in memory and
 * not in the last-level cache. The device makes inputs and reference if it has a judge (verify/judge.h) that proved
 * itself, else the host does.
 */
#ifndef WORKER_EVAL_WORKBENCH_H
#define WORKER_EVAL_WORKBENCH_H

#include "worker/eval/invocation.h"
#include "worker/verify/guarded.h"
#include "worker/verify/judge.h"
#include "worker/verify/reference.h"
#include "worker/verify/verify.h"

/* Caches and judge that all workbenches of a process share; each member may be NULL. */
struct workbench_means {
    struct device_program *judge; /* the device's loaded JUDGE_FILE; NULL: the host verifies */
    struct judge_cache *judges;
    struct reference_cache *references; /* references that the host computed */
};

struct workbench {
    struct device *device;
    struct problem problem;
    enum tensor_role out;
    uint64_t seed;
    struct tensor
        tensors[OPERAND_COUNT]; /* by role; without elements where the problem lacks one */
    struct judge *judge;        /* NULL: the host verifies */
    /* Takes the judge over when the workbench is closed; may be NULL. */
    struct judge_cache *judges;
    GError *refusal; /* why the host verifies although a judge was given */
    /* The inputs in their stored form, if the host writes them; else NULL. */
    void *images[OPERAND_COUNT];
    /* Empty for operands that the problem lacks, and for TENSOR_PACKED until workbench_packed(). The packed filter may
     * have fewer copies than the others. */
    struct guarded memory[OPERAND_COUNT];
    struct guarded workspace; /* empty, or large enough for the largest workspace used so far */
    int copies;
    /* Whether a copy is out of the cache when it is used again: the other copies fill the
     * last-level cache twice. */
    bool cold_caches;
    struct reference *reference; /* the host's reference; NULL while the judge alone compares */
};

/*
 * Allocates the tensors and makes inputs and reference. The reference comes from the caches of `means`, or is computed and put
 * there. WORKER_ERROR_INVALID if the problem has no reference
 * (reference_supports()), DEVICE_ERROR_* from the device. On failure the workbench
 * is closed.
 */
bool workbench_open(struct workbench *bench, struct device *device, const struct problem *p,
                    uint64_t seed, const struct workbench_means *means, GError **error);
void workbench_close(struct workbench *bench);

/* Sets *memory to a workspace of exactly that many bytes, valid until the next call; NULL for 0
 * bytes. If the device's memory cannot hold judge and workspace, the judge is freed and the host
 * verifies from then on. */
bool workbench_workspace(struct workbench *bench, uint64_t bytes, struct device_memory **memory,
                         GError **error);

/* Makes memory for a packed filter of exactly that many bytes, in as many copies as the tensors have, or fewer where
 * they would take too much memory; frees it for 0 bytes. The judge is freed for it as for a workspace. */
bool workbench_packed(struct workbench *bench, uint64_t bytes, GError **error);
/* Whether each timed run finds its operands out of the caches, the packed filter included. */
bool workbench_is_cold(const struct workbench *bench);

/* Verifies one run: writes the inputs, packs the filter if the solution does, poisons output and workspace, runs, and
 * compares the output. A solution that packs runs twice after packing once. Returns false with an error for a call that the device refuses. Damage that the run
 * does to guard zones, inputs or references is repaired before the next verified run. */
bool workbench_verify(struct workbench *bench, struct invocation *invocation,
                      struct verdict *verdict, GError **error);

/* Looks whether runs since the last look wrote outside of the operands' copy 0 or the workspace.
 * If so, the verdict is FAILURE_OUT_OF_BOUNDS, and references are computed again, since the
 * write may have reached one; else FAILURE_NONE. */
bool workbench_strayed(struct workbench *bench, struct verdict *verdict, GError **error);

/* The run function of a struct measure_job; data is a struct workbench_run. Run i uses the
 * tensors' copy i modulo the number of copies, so that caches are cold. */
struct workbench_run {
    struct workbench *bench;
    struct invocation *invocation;
};
bool workbench_run(void *data, int64_t run, GError **error);
/* The same for packing alone: packs the filter of the run's copy. */
bool workbench_pack(void *data, int64_t run, GError **error);
/* Packs the filter into every copy, before timed runs. */
bool workbench_pack_all(struct workbench_run *run, GError **error);

#endif
