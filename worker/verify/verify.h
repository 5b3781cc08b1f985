/*
 * Decides whether a result is right: every element that the reference has is within its tolerance, every element was
 * written, and nothing was written outside. Pure functions over host memory; eval/workbench.h runs a config and passes
 * its output here.
 */
#ifndef WORKER_VERIFY_VERIFY_H
#define WORKER_VERIFY_VERIFY_H

#include "schema/store/failure.h"
#include "worker/verify/reference.h"
#include "worker/verify/tensor.h"
#include "worker/verify/tolerance.h"

#define VERDICT_DETAIL_MAX 256

struct verdict {
    enum failure failure; /* FAILURE_NONE, FAILURE_WRONG_RESULT or FAILURE_OUT_OF_BOUNDS */
    /* Largest error of an element, divided by the element's tolerance; for integers the error
     * itself. */
    double error;
    /* Names the worst element, its value and the expected one; "" for a right result. */
    char detail[VERDICT_DETAIL_MAX];
};

/* Compares an output with the reference. data: the output as read back; its memory was filled
 * with `poison` bytes before the run. NaN and infinity are always wrong. An element that the
 * reference did not compute must be written and finite. An integer of one byte may equal the poison by chance: such
 * elements count as not written if more than 1/8 of them do. */
void verify_output(const struct tensor *tensor, const void *data, uint8_t poison,
                   const struct reference *reference, const struct tolerance *tolerance,
                   struct verdict *verdict);

/* Finds writes between the elements of a tensor with gaps: the verdict is FAILURE_OUT_OF_BOUNDS
 * if a gap no longer holds the poison. Padding of blocked layouts may be written. */
void verify_holes(const struct tensor *tensor, const void *data, uint8_t poison,
                  struct verdict *verdict);

#endif
