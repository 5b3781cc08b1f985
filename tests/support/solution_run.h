/*
 * Runs a solution for tests of kernels: on this machine's CPU (PoCL), or on its GPU.
 * Compiles each distinct launch once and keeps it; tensors lie in host memory.
 * It aborts on anything unexpected: a test that gets here wants it to work.
 */
#ifndef TESTS_SUPPORT_SOLUTION_RUN_H
#define TESTS_SUPPORT_SOLUTION_RUN_H

#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"

struct solution_runner;

/* With SKIPJACK_TEST_DEVICE=gpu in the environment the device is the first GPU, and each solution is
 * compiled and run there as a worker does it. NULL when there is no such device, or no PoCL, here.
 * PoCL keeps what it compiles in cache_dir (opencl_environment()), or in SKIPJACK_TEST_CACHE, which make sets to a
 * folder below build/ for all programs: a kernel that another program or another run has compiled is loaded. */
struct solution_runner *solution_runner_new(const char *cache_dir);
void solution_runner_free(struct solution_runner *runner);

/* From here on the source is not optimized before PoCL makes a workgroup of it and optimizes that: half
 * the time a kernel, for results that do not depend on it. The long suite goes on compiling as a worker
 * does. No times are to be taken of such kernels. */
void solution_runner_hurry(struct solution_runner *runner, bool hurry);

/* This machine's target. */
const struct target *solution_runner_target(const struct solution_runner *runner);

struct run_tensor {
    void *data;         /* read before the launches, written back after them */
    gsize bytes;        /* of the whole buffer */
    gsize start;        /* where in it the tensor begins, a multiple of 512 */
    int64_t strides[5]; /* N C D H W, elements; what ARG_STRIDE passes */
};

/* Runs the launches `repeats` times and copies the tensors back. The workspace is filled with NaN bit
 * patterns first; so is a guard zone before and behind it, and the test under way fails where a launch
 * wrote there. Returns the seconds that the fastest run took. */
double solution_run(struct solution_runner *runner, const struct solution *solution,
                    const struct run_tensor tensors[TENSOR_COUNT], int repeats);

/* The same; seconds[i] becomes what run i took, from its first launch to its end. */
void solution_run_times(struct solution_runner *runner, const struct solution *solution,
                        const struct run_tensor tensors[TENSOR_COUNT], int repeats,
                        double *seconds);

/* Wall time of all compilations so far, and how many there were. */
double solution_runner_compile_seconds(const struct solution_runner *runner, int *count);

#endif
