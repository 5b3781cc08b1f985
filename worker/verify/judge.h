/*
 * Verifying on the device itself: random inputs made where they are used, the reference computed
 * there in FP64, outputs compared where they lie (kernels/device/judge.cl). It is believed on
 * conditions alone: elements all over the reference are computed on the host besides and must agree,
 * and an output that nobody wrote must be found wrong. Whatever it finds wrong the host looks at
 * itself, so no config fails by a device's word.
 */
#ifndef WORKER_JUDGE_H
#define WORKER_JUDGE_H

#include "worker/device/device.h"
#include "worker/verify/reference.h"
#include "worker/verify/tensor.h"
#include "worker/verify/tolerance.h"

#define JUDGE_FILE  "judge.cl"
#define JUDGE_ENTRY "judge_reference" /* one of its entries; all are in the object */

struct judge;

/*
 * memory[] are the problem's tensors on the device, the output's full of poison; the inputs are
 * written, and the reference is computed. The program outlives the judge.
 * WORKER_ERROR_DOUBT where the device is wrong; DEVICE_ERROR_MEMORY where a quarter of its memory is
 * too little; other DEVICE_ERROR_* as the device says.
 */
struct judge *judge_new(struct device *device, struct device_program *program,
                        const struct problem *p, const struct tensor *tensors, uint64_t seed,
                        struct device_memory *const memory[TENSOR_COUNT], GError **error);
void judge_free(struct judge *judge);

/* The seed's values for an input, as random_dense() has them. Holes are left as they are, padding of
 * blocked layouts is zero. */
bool judge_write_input(struct judge *judge, enum tensor_role role, struct device_memory *memory,
                       GError **error);

/* The same for a judge that is there, with other memory of the same tensors: its reference stays. */
bool judge_resume(struct judge *judge, struct device_memory *const memory[TENSOR_COUNT],
                  GError **error);
/* Writes the inputs and computes the reference anew, in case a kernel wrote where it should not. */
bool judge_refresh(struct judge *judge, struct device_memory *const memory[TENSOR_COUNT],
                   GError **error);

struct judged {
    int64_t wrong; /* elements out of their tolerance */
    double error;  /* the largest error over its element's tolerance; of exact ones the error */
};
/* All elements of an output, as verify_output() counts them. WORKER_ERROR_DOUBT where the device did not look
 * at all of them. */
bool judge_compare(struct judge *judge, struct device_memory *output,
                   const struct tolerance *tolerance, struct judged *judged, GError **error);
double judge_length(const struct judge *judge); /* products in the longest sum */

/* The reference read back, a use of it for the caller. */
struct reference *judge_fetch(struct judge *judge, GError **error);

/* Judges kept while they take a small part of their device's memory, the ones used last. A judge that
 * is taken is the caller's; a cache is freed before its judges' programs. */
struct judge_cache;
struct judge_cache *judge_cache_new(const struct device *device);
void judge_cache_free(struct judge_cache *cache);
/* NULL when there is none of this program for these tensors and this seed. */
struct judge *judge_cache_take(struct judge_cache *cache, const struct device_program *program,
                               const struct problem *p, const struct tensor *tensors,
                               uint64_t seed);
void judge_cache_give(struct judge_cache *cache, struct judge *judge);
/* Frees those that nobody has used for that long. */
void judge_cache_drop_unused(struct judge_cache *cache, int64_t seconds);
/* Frees what is kept; false where nothing was. */
bool judge_cache_clear(struct judge_cache *cache);

#endif
