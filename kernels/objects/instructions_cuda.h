/*
 * The instructions of NVIDIA's GPUs that instructions.h counts. NVIDIA does not document them; that the rows
 * of the table are what they say is seen by compiling kernels of known instructions (test_instructions.c).
 */
#ifndef KERNELS_OBJECTS_INSTRUCTIONS_CUDA_H
#define KERNELS_OBJECTS_INSTRUCTIONS_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_INSTRUCTION_BYTES 16
#define CUDA_ARCH_LEAST        70 /* earlier ones have 8 bytes each, a fourth of them control words */

/* What the instruction is called in the table, NULL for one that is not counted. */
const char *cuda_instruction_name(const uint8_t bytes[CUDA_INSTRUCTION_BYTES]);

#endif
