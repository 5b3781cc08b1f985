/*
 * NVIDIA's instructions, as far as instructions.h counts them. NVIDIA does not document them:
 * test_instructions.c checks the table by compiling kernels whose instructions are known.
 */
#ifndef KERNELS_OBJECTS_INSTRUCTIONS_CUDA_H
#define KERNELS_OBJECTS_INSTRUCTIONS_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_INSTRUCTION_BYTES 16
/* instructions have 16 bytes from this architecture on; earlier ones have 8 bytes, every fourth a control word */
#define CUDA_ARCH_LEAST        70

/* The name under which an instruction is counted, NULL for an instruction that is not counted. */
const char *cuda_instruction_name(const uint8_t bytes[CUDA_INSTRUCTION_BYTES]);

#endif
