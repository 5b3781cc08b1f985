/* Runs a solution for tests of kernels, on this machine's CPU (PoCL) or on its GPU. Each distinct
 * launch is compiled once and kept; tensors are in host memory. Any error ends the program. */
#ifndef TESTS_SUPPORT_KERNELS_SOLUTION_RUN_H
#define TESTS_SUPPORT_KERNELS_SOLUTION_RUN_H

#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"

struct solution_runner;

/* With SKIPJACK_TEST_DEVICE=gpu in the environment the device is the first GPU, and solutions are
 * compiled and run there as a worker does. Returns NULL without such a device, or without PoCL.
 * PoCL caches compiled kernels in cache_dir (opencl_environment()), or in the folder
 * SKIPJACK_TEST_CACHE, which make sets to a folder below build/, so that programs and runs share
 * kernels. */
struct solution_runner *solution_runner_new(const char *cache_dir);
void solution_runner_free(struct solution_runner *runner);

/* With `hurry`, PoCL's first optimization of the source is left out (PoCL still optimizes the
 * workgroup that it makes of it): compiling takes half the time, results are the same, and run
 * times mean nothing. Ignored in the long suite, which compiles as a worker does. */
void solution_runner_hurry(struct solution_runner *runner, bool hurry);

/* The target of the runner's device. */
const struct target *solution_runner_target(const struct solution_runner *runner);

struct run_tensor {
    /* the buffer's content: copied to the device before the launches, and back after them; NULL for
     * an operand that the problem lacks */
    void *data;
    gsize bytes;        /* size of the whole buffer */
    gsize start;        /* offset in bytes at which the tensor begins; a multiple of 512 */
    int64_t strides[5]; /* N C D H W, in elements; passed for ARG_STRIDE arguments */
};

/* Runs the launches `repeats` times, those that pack the filter only before the first time, and
 * copies the tensors back (by role; TENSOR_PACKED's is ignored). The workspace, the packed filter
 * and guard zones around both are filled with NaN before; the running test fails if a launch wrote
 * to a guard zone. Returns the seconds of the fastest run. */
double solution_run(struct solution_runner *runner, const struct solution *solution,
                    const struct run_tensor tensors[OPERAND_COUNT], int repeats);

/* solution_run() that sets seconds[i] to the time of run i, from its first launch to its end. */
void solution_run_times(struct solution_runner *runner, const struct solution *solution,
                        const struct run_tensor tensors[OPERAND_COUNT], int repeats,
                        double *seconds);

/* The sum of the compilations' wall times so far; *count gets their number. */
double solution_runner_compile_seconds(const struct solution_runner *runner, int *count);

#endif
