/*
 * Whether a result is right: every element the reference knows within its
 * tolerance, every element written, nothing written outside. Pure functions over
 * host memory; workbench.h runs a config and hands its output here.
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
    double error; /* the largest error over its element's tolerance; of exact ones the error */
    char detail[VERDICT_DETAIL_MAX]; /* which element, got, expected; "" when right */
};

/* data holds the output as read back, its memory poisoned with `poison` bytes before the run.
 * NaN and infinity are never right. Elements that the reference left out must be written and
 * finite. */
void verify_output(const struct tensor *tensor, const void *data, uint8_t poison,
                   const struct reference *reference, const struct tolerance *tolerance,
                   struct verdict *verdict);

/* The places between the elements of a tensor that is not packed still hold the poison;
 * otherwise the verdict is OUT_OF_BOUNDS. Padding of blocked layouts may be written. */
void verify_holes(const struct tensor *tensor, const void *data, uint8_t poison,
                  struct verdict *verdict);

#endif
