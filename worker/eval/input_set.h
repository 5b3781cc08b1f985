/*
 * A set of inputs of a problem, and the right result for it: the device makes and compares them if it has a judge
 * (verify/judge.h) that proved itself, else the host does. A set has no tensors of its own. It writes its inputs into
 * memory that it is given, tells whether they are still there, and judges outputs.
 */
#ifndef WORKER_EVAL_INPUT_SET_H
#define WORKER_EVAL_INPUT_SET_H

#include "worker/verify/guarded.h"
#include "worker/verify/judge.h"
#include "worker/verify/reference.h"
#include "worker/verify/verify.h"

/* The parts that all sets of a workbench share. */
struct input_means {
    struct device *device;
    const struct problem *problem;
    const struct tensor *tensors;  /* by role */
    struct device_program *judge;  /* the device's loaded JUDGE_FILE; NULL: the host verifies */
    struct judge_cache *judges;    /* may be NULL */
    struct reference_cache *cache; /* references that the host computed; may be NULL */
};

struct input_set {
    uint64_t seed;       /* names the kind of inputs, too (random.h) */
    struct judge *judge; /* NULL: the host verifies */
    void *images
        [OPERAND_COUNT]; /* the inputs in their stored form, if the host writes them; else NULL */
    struct reference *reference;    /* the host's reference; NULL while the judge alone compares */
    uint64_t prints[OPERAND_COUNT]; /* fingerprints of the inputs */
};

/* Makes a set by the means' judge. memory: by role, the output full of poison; the inputs are written there.
 * WORKER_ERROR_DOUBT, WORKER_ERROR_INVALID or DEVICE_ERROR_*: see judge_new(). */
bool input_set_by_device(struct input_set *set, const struct input_means *means, uint64_t seed,
                         struct device_memory *const memory[OPERAND_COUNT], GError **error);
/* Makes a set by the host, and writes its inputs. work_limit: of reference_compute(). */
bool input_set_by_host(struct input_set *set, const struct input_means *means, uint64_t seed,
                       double work_limit, struct device_memory *const memory[OPERAND_COUNT],
                       GError **error);
/* Frees the set; its judge goes to the means' cache. */
void input_set_clear(struct input_set *set, const struct input_means *means);
/* Frees the judge; the host has its reference from now on, and writes the inputs. */
bool input_set_leave_device(struct input_set *set, const struct input_means *means,
                            struct device_memory *const memory[OPERAND_COUNT], GError **error);

bool input_set_write(struct input_set *set, const struct input_means *means,
                     struct device_memory *const memory[OPERAND_COUNT], GError **error);
/* Computes inputs and reference of the device's judge again, since a kernel may have written into them. */
bool input_set_refresh(struct input_set *set, struct device_memory *const memory[OPERAND_COUNT],
                       GError **error);

/* Fingerprints of some copies of a tensor, computed where the set verifies. prints[count]. */
bool input_set_fingerprints(struct input_set *set, const struct guarded *guarded, int first,
                            int count, int step, uint64_t *prints, GError **error);
/* Finds damaged guard zones behind `count` copies of a tensor from `first` on, where the set verifies:
 * damaged[count]. */
bool input_set_find_damaged(struct input_set *set, const struct guarded *guarded, int first,
                            int count, bool *damaged, GError **error);
/* Names the first byte of an input that is not as the set wrote it: *offset, -1 if all bytes are right. */
bool input_set_find_change(struct input_set *set, const struct input_means *means, int role,
                           const struct guarded *guarded, int copy, int64_t *offset,
                           GError **error);

/* Compares an output with the right result. memory[] as the run had it. */
bool input_set_judge(struct input_set *set, const struct input_means *means,
                     struct device_memory *const memory[OPERAND_COUNT],
                     const struct solution_rounding *rounding, struct verdict *verdict,
                     GError **error);

#endif
