/*
 * What a kernel may need before it is worth a device, by what its compiler says
 * of it. A work-item that keeps registers or arrays in memory loses to any tile
 * that does not, and what needs more local memory than there is never starts.
 */
#ifndef KERNELS_OBJECTS_LIMITS_H
#define KERNELS_OBJECTS_LIMITS_H

#include "kernels/objects/code_object.h"
#include "solvers/framework/target.h"

/* Scratch memory of a work-item on NVIDIA's: a 64-bit division is a call there, over which some registers
 * are kept in memory, of the longest Fourier transform a few more. On AMD's there is none. */
#define LIMITS_CUDA_SCRATCH_BYTES 96

/* What of it exceeds the target, NULL for nothing; -1 is what the compiler does not say and exceeds
 * nothing. local_bytes: as declared and as asked for at the launch. Of CPUs nothing is said. Free with
 * g_free(). */
char *limits_excess(const struct target *target, int64_t scratch_bytes, int64_t local_bytes);

#endif
