/*
 * Convolutions by the numbers that a table of cases has, and the contexts that
 * they are tried in.
 */
#ifndef TESTS_SUPPORT_CONV_SHAPES_H
#define TESTS_SUPPORT_CONV_SHAPES_H

#include "tests/support/conv_trial.h"
#include "tests/support/temp_folder.h"

/* A 2D convolution. */
struct conv_shape {
    int n, c, k, groups, in_h, in_w, fil_h, fil_w, pad, stride, dilation;
};

/* All tensors FP32 and of one layout. */
void conv_shape_problem(const struct conv_shape *shape, enum direction direction,
                        enum layout layout, struct problem *p);

/* This machine's device, and GPUs whose kernels it runs as well. */
enum { CONTEXT_HOST, CONTEXT_AMD, CONTEXT_NVIDIA, CONTEXT_COUNT };

/* The runner for the device under test, in a hurry (solution_run.h); NULL without a device. A context
 * refers to its target. */
struct solution_runner *conv_contexts_init(TempFolder *folder, struct target targets[CONTEXT_COUNT],
                                           struct context contexts[CONTEXT_COUNT]);

/* A test program's main(): opens the contexts, adds the tests, runs them and frees the contexts. Without a device all
 * tests are skipped. */
int conv_contexts_main(int argc, char **argv,
                       void (*add_tests)(struct solution_runner *runner,
                                         const struct context *contexts));

#endif
