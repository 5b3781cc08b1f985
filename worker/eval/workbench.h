/*
 * Everything that the configs of a problem need on a device: operands in several copies, a workspace, all between
 * guard zones, and two sets of inputs with their right results. It is made once for a problem and used by all its
 * configs. The operands are those of problem.h, with the problem's strides; the packed filter has the size that the
 * config under way asks for.
 *
 * Copies of even number hold the first set, the others the second; where there is room for one copy alone, the second
 * set is written into it for its look. Timed runs rotate through all copies, so that a run finds its tensors in memory
 * and not in the last-level cache.
 */
#ifndef WORKER_EVAL_WORKBENCH_H
#define WORKER_EVAL_WORKBENCH_H

#include "worker/eval/input_set.h"
#include "worker/eval/invocation.h"

/* Caches and judge that all workbenches of a process share; each member may be NULL. */
struct workbench_means {
    struct device_program *judge; /* the device's loaded JUDGE_FILE; NULL: the host verifies */
    struct judge_cache *judges;
    struct reference_cache *references; /* references that the host computed */
};

#define WORKBENCH_SETS 2

struct workbench {
    struct device *device;
    struct problem problem;
    enum tensor_role out;
    uint64_t seed;
    struct tensor
        tensors[OPERAND_COUNT]; /* by role; without elements where the problem lacks one */
    struct input_means means;
    struct input_set sets[WORKBENCH_SETS];
    int set_count;   /* 1 where the device's memory has no room for the second set's reference */
    GError *refusal; /* why the host verifies although a judge was given */
    /* Empty for operands that the problem lacks, and for TENSOR_PACKED until workbench_packed(). The packed filter may
     * have fewer copies than the others. */
    struct guarded memory[OPERAND_COUNT];
    struct guarded workspace; /* empty, or large enough for the largest workspace used so far */
    int copies;
    /* Whether a copy is out of the cache when it is used again: the other copies fill the
     * last-level cache twice. */
    bool cold_caches;
    /* The solver says that results may differ from run to run; set it after workbench_open(). */
    bool varies;
    uint64_t results[WORKBENCH_SETS]; /* fingerprints of the outputs that were found right last */
    uint64_t *packed; /* fingerprints of the packed filter's copies before timed runs */
    bool unchecked;   /* runs since the inputs were last found unchanged */
    /* Copies that runs used since workbench_before_timing() or workbench_before_slice(): `used` copies from first_copy
     * on, where the first copy of all follows the last one. 0: none. */
    int first_copy, used;
    int last_copy; /* of the last run */
    bool untidy;   /* runs since workbench_after_slice() */
};

/*
 * Allocates the tensors and makes the sets. References come from the caches of `means`, or are computed and put
 * there. WORKER_ERROR_INVALID if the problem has no reference
 * (reference_supports()), DEVICE_ERROR_* from the device. On failure the workbench
 * is closed.
 */
bool workbench_open(struct workbench *bench, struct device *device, const struct problem *p,
                    uint64_t seed, const struct workbench_means *means, GError **error);
void workbench_close(struct workbench *bench);
/* Whether the device verifies. */
bool workbench_judges(const struct workbench *bench);

/* Sets *memory to a workspace of exactly that many bytes, valid until the next call; NULL for 0
 * bytes. If the device's memory cannot hold references and workspace, the second set is freed, then the judge; the
 * host verifies from then on. */
bool workbench_workspace(struct workbench *bench, uint64_t bytes, struct device_memory **memory,
                         GError **error);

/* Makes memory for a packed filter of exactly that many bytes, in as many copies as the tensors have, or fewer where
 * they would take too much memory; frees it for 0 bytes. References are freed for it as for a workspace. */
bool workbench_packed(struct workbench *bench, uint64_t bytes, GError **error);
/* Whether each timed run finds its operands out of the caches, the packed filter included. */
bool workbench_is_cold(const struct workbench *bench);

/* Bytes that fill the workspace before a look: a NaN in all floating types, and a number that is positive and far from
 * a right result. */
#define LOOK_POISON  0xff
#define LOOK_NUMBERS 0x4b

/* One verified run of a set on a copy. */
struct look {
    struct input_set *set;
    int copy;
    uint8_t fill;    /* byte that fills the workspace before the run */
    uint64_t result; /* gets the output's fingerprint */
};
/*
 * Writes the set's inputs, packs the filter if the solution does, poisons output and workspace, runs, looks for writes
 * outside of the output, and compares the output. A solution that packs runs twice after packing once.
 *   FAILURE_OUT_OF_BOUNDS  a byte beside a tensor, or of an input, changed; the detail says of which and where
 *   FAILURE_WRONG_RESULT   the detail names the worst element, and says if results differ from run to run
 * False with an error for a call that the device refuses. Damage that the run does to guard zones, inputs or
 * references is repaired before the next look.
 */
bool workbench_look(struct workbench *bench, struct look *look, struct invocation *invocation,
                    struct verdict *verdict, GError **error);
/* Runs once more what was looked at, without packing or comparing, and sets look->result. */
bool workbench_look_again(struct workbench *bench, struct look *look, struct invocation *invocation,
                          GError **error);
/* Looks whether the runs on the look's copy changed guard zones or inputs, and repairs them. */
bool workbench_unharmed(struct workbench *bench, const struct look *look, struct verdict *verdict,
                        GError **error);
/* Makes the verdict say that results differ from run to run. */
void verdict_name_race(struct verdict *verdict);

/* Two looks: at the first set with a workspace of NaN, and at the second, on another copy, with a workspace of large
 * numbers. */
bool workbench_verify(struct workbench *bench, struct invocation *invocation,
                      struct verdict *verdict, GError **error);

/* The share of the output's elements that verifying compares: 1, or less where the host's reference is partial. */
double workbench_verified_share(const struct workbench *bench);

/* Call before timed runs, after packing: outputs get poison, so that a run that does nothing is found. */
bool workbench_before_timing(struct workbench *bench, GError **error);
/* Call after timed runs. Looks at the guard zones of all copies that were used, at the inputs of all copies, and at the
 * outputs: the last run's is compared in full, those of the other copies with the bytes that were found right in
 * workbench_verify(). A verdict as of workbench_look(). */
bool workbench_after_timing(struct workbench *bench, const struct invocation *invocation,
                            struct verdict *verdict, GError **error);

/*
 * Around a slice: some timed runs of a config that was verified before and takes turns with others. Damage that the
 * slice does to the copies that it used, or beside them, is found before the next config's slice. Unlike the two
 * functions above, these leave caches as the runs left them: they touch the copies that the slice used, in its order,
 * and outputs get their poison after the runs. So a write far outside, into a copy that the slice did not use, is found
 * only when that copy is used.
 *
 * results: the fingerprints that bench->results had after the config was verified. An output with other bytes is
 * compared in full, and is a race. A verdict as of workbench_look(). If the slice failed with an error, the next
 * workbench_before_slice() repairs what its runs may have spoiled.
 */
bool workbench_before_slice(struct workbench *bench, GError **error);
bool workbench_after_slice(struct workbench *bench, const struct invocation *invocation,
                           const uint64_t results[WORKBENCH_SETS], struct verdict *verdict,
                           GError **error);

/* The operands' memory for a run. */
void workbench_parts(const struct workbench *bench, int64_t run,
                     struct device_memory *memory[OPERAND_COUNT]);
/* Writes the inputs of a copy again, those of its own set. */
bool workbench_restore(struct workbench *bench, int copy, GError **error);

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
