/*
 * Limits on what a kernel may need, by its compiler's report, before it is sent to a device. A kernel whose
 * work-items hold registers or arrays in scratch memory is slower than any that does not, and one that needs
 * more local memory than the target has cannot start.
 */
#ifndef KERNELS_OBJECTS_LIMITS_H
#define KERNELS_OBJECTS_LIMITS_H

#include "kernels/objects/code_object.h"
#include "solvers/framework/target.h"

/* The most scratch memory of a work-item on NVIDIA. A 64-bit division is a function call there, which saves
 * some registers; the longest Fourier transform needs a little more. AMD's limit is 0. */
#define LIMITS_CUDA_SCRATCH_BYTES 96

/* Describes in words which needs exceed the target; NULL where all fit. A need of -1 was not reported and counts as
 * fitting. local_bytes: declared and dynamically requested local memory together. CPUs have no limits. Free with
 * g_free(). */
char *limits_excess(const struct target *target, int64_t scratch_bytes, int64_t local_bytes);

#endif
