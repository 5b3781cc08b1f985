/*
 * Verifying on the device itself, by kernels/device/judge.cl: it makes the random inputs, computes the reference of any
 * operator in FP64, the epilogue included, and compares outputs, all in the device's memory. No tensor crosses the bus,
 * and the host's cores stay free to compile.
 *
 * A device that computes wrong could call its own wrong results right, so it must prove itself for each problem:
 *   - The host computes a sample of the reference's elements; all must agree.
 *   - The comparison must find an output full of poison wrong, before any config's output.
 *   - Each comparison must report that it looked at every element.
 * A failed proof is WORKER_ERROR_DOUBT. The judge can only accept: an output that it calls wrong is compared again
 * by the host (verify.h), so no config fails by a device's word.
 */
#ifndef WORKER_VERIFY_JUDGE_H
#define WORKER_VERIFY_JUDGE_H

#include "worker/device/device.h"
#include "worker/verify/reference.h"
#include "worker/verify/tensor.h"
#include "worker/verify/tolerance.h"

#define JUDGE_FILE  "judge.cl"
/* An entry of the code object, which contains all of judge.cl's entries. */
#define JUDGE_ENTRY "judge_reference"

struct judge;

/*
 * Writes the inputs of the seed (random.h), computes the reference and has the device prove itself. tensors[],
 * memory[]: the problem's operands by role, the output full of poison; NULL memory for operands that the problem lacks.
 * program: the loaded JUDGE_FILE; it must outlive the judge. WORKER_ERROR_INVALID for a problem that judge.cl does not
 * compute: an epilogue, a softmax or an LRN in FP64. WORKER_ERROR_DOUBT if a proof fails; DEVICE_ERROR_MEMORY if the
 * reference needs more than a quarter of the device's memory; other DEVICE_ERROR_* from the device.
 */
struct judge *judge_new(struct device *device, struct device_program *program,
                        const struct problem *p, const struct tensor *tensors, uint64_t seed,
                        struct device_memory *const memory[OPERAND_COUNT], GError **error);
void judge_free(struct judge *judge);

/* Writes the seed's values of an input, those of random_dense(). Gaps stay unchanged, padding of blocked layouts
 * becomes zero. */
bool judge_write_input(struct judge *judge, enum tensor_role role, struct device_memory *memory,
                       GError **error);

/* Uses the judge with other memory of the same tensors: writes the inputs there and proves the
 * comparison again. The reference is kept. */
bool judge_resume(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                  GError **error);
/* Writes the inputs and computes the reference again: a kernel may have written into either. */
bool judge_refresh(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                   GError **error);

struct judged {
    int64_t wrong; /* elements outside of their tolerance */
    /* Largest error of an element, divided by the element's tolerance; for integers the error
     * itself. */
    double error;
};
/* Compares all elements of an output by the rules of verify_output(). WORKER_ERROR_DOUBT if the device reports that
 * it looked at fewer elements. */
bool judge_compare(struct judge *judge, struct device_memory *output,
                   const struct tolerance *tolerance, struct judged *judged, GError **error);
/* Sets *whole to whether the gaps between the output's elements still hold the poison. It counts the places without
 * poison once among the elements and once in all of the output's memory: the counts are equal if no gap was written.
 * *whole is false, too, for blocked layouts with gaps, where only the host can tell. WORKER_ERROR_DOUBT as in
 * judge_compare(). */
bool judge_finds_gaps_whole(struct judge *judge, struct device_memory *output, uint8_t poison,
                            bool *whole, GError **error);
double judge_length(const struct judge *judge); /* The number of products in the longest sum. */

/* Equal pieces of memory: `count` of `bytes` bytes each, `step` bytes apart, the first at `offset`. The step is a
 * multiple of 8; pieces whose offset is one, too, are read faster. */
struct judge_pieces {
    struct device_memory *memory;
    int64_t offset, step, bytes;
    int count; /* at most JUDGE_PIECES_MAX */
};
#define JUDGE_PIECES_MAX 1024
/* Computes the fingerprint (fingerprint.h) of each piece. WORKER_ERROR_DOUBT if the device reports that it looked at
 * fewer bytes. */
bool judge_fingerprints(struct judge *judge, const struct judge_pieces *pieces, uint64_t *prints,
                        GError **error);

/* Copies the reference to the host. The caller owns one use of it. */
struct reference *judge_fetch(struct judge *judge, GError **error);

#endif
