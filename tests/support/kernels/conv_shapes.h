/* Convolutions given by a row of numbers in a test's table, and the contexts (target and limits)
 * that they are tested in. */
#ifndef TESTS_SUPPORT_KERNELS_CONV_SHAPES_H
#define TESTS_SUPPORT_KERNELS_CONV_SHAPES_H

#include "tests/support/kernels/conv_trial.h"
#include "tests/support/temp_folder.h"

/* The sizes of a 2D convolution. */
struct conv_shape {
    int n, c, k, groups, in_h, in_w, fil_h, fil_w, pad, stride, dilation;
};

/* Makes the shape's problem with all tensors in FP32 and in one layout. */
void conv_shape_problem(const struct conv_shape *shape, enum direction direction,
                        enum layout layout, struct problem *p);

/* This machine's device, and two GPUs whose kernels the test runs on that device as well. */
enum { CONTEXT_HOST, CONTEXT_AMD, CONTEXT_NVIDIA, CONTEXT_COUNT };

/* Returns the runner for the device under test, with fast compilation (solution_runner_hurry());
 * NULL without a device. The contexts refer to `targets`, which must outlive them. */
struct solution_runner *conv_contexts_init(TempFolder *folder, struct target targets[CONTEXT_COUNT],
                                           struct context contexts[CONTEXT_COUNT]);

/* The main() of a test program: opens the contexts, adds the tests, runs them and frees the
 * contexts. Without a device all tests are skipped. */
int conv_contexts_main(int argc, char **argv,
                       void (*add_tests)(struct solution_runner *runner,
                                         const struct context *contexts));

#endif
