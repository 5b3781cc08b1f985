/*
 * Whether a result is right: every element that the reference knows is within its tolerance, every element was
 * written, nothing was written outside. Pure functions over host memory; eval/workbench.h runs a config and passes
 * its output here.
 */
#ifndef WORKER_VERIFY_H
#define WORKER_VERIFY_H

#include "schema/store/failure.h"
#include "worker/verify/reference.h"
#include "worker/verify/tensor.h"
#include "worker/verify/tolerance.h"

#define VERDICT_DETAIL_MAX 256

struct verdict {
    enum failure failure; /* NONE, WRONG_RESULT or OUT_OF_BOUNDS */
    double
        error; /* the largest error over its element's tolerance; for integers the largest error */
    char detail
        [VERDICT_DETAIL_MAX]; /* the worst element, its value and the expected one; "" for a right result */
};

/* data: the output as read back; its memory was filled with `poison` bytes before the run. NaN and infinity are
 * always wrong. An element that the reference did not compute must be written and finite. */
void verify_output(const struct tensor *tensor, const void *data, uint8_t poison,
                   const struct reference *reference, const struct tolerance *tolerance,
                   struct verdict *verdict);

/* The verdict is OUT_OF_BOUNDS if a place between the elements of a tensor with gaps no longer holds the poison.
 * Padding of blocked layouts may be written. */
void verify_holes(const struct tensor *tensor, const void *data, uint8_t poison,
                  struct verdict *verdict);

#endif
