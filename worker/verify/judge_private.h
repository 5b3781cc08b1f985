/* What a judge consists of, for the files that make one up: judge.c, and judge_sample.c for the host's part. */
#ifndef WORKER_JUDGE_PRIVATE_H
#define WORKER_JUDGE_PRIVATE_H

#include "worker/verify/judge.h"

#define JUDGE_ENTRIES 4 /* of its file */

struct judge {
    struct device *device;
    const struct device_program *program;
    struct problem problem;
    struct tensor tensors[TENSOR_COUNT];
    enum tensor_role out;
    uint64_t seed, seed_of[TENSOR_COUNT];
    struct device_kernel *kernels[JUDGE_ENTRIES];
    int64_t count; /* elements of the output */
    int parts;
    struct device_memory *value,
        *magnitude;              /* doubles and floats, [parts][count]: the first is it */
    struct device_memory *found; /* what groups tell: three 8-byte numbers each */
    struct device_memory *found_parts[3];
    double largest; /* of all magnitudes */
};

/* Computes elements all over the reference on the host, while the device may not have finished its own.
 * WORKER_ERROR_DOUBT where one of them is another. */
bool judge_check_sample(struct judge *judge, GError **error);

#endif
