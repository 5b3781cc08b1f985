/*
 * How often a kernel's code has which instruction, of those that tell what it lives on: matrix
 * units, dot products, multiply-adds, loads and stores by their width. AMD's code is
 * disassembled by LLVM's library, opened at run time: SKIPJACK_LLVM names it, joined by commas
 * (unset: the newest of LLVM_NAMES that is here). It is asked first whether it knows the target, since its
 * disassembler ends the process where it does not, and with what is older than gfx8. NVIDIA's instructions
 * have 16 bytes each since sm_70, the lowest bits of which name the family (instructions_cuda.c); earlier ones
 * are not known.
 */
#ifndef KERNELS_OBJECTS_INSTRUCTIONS_H
#define KERNELS_OBJECTS_INSTRUCTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "solvers/framework/target.h"

/* "ds_read_b128 8, total 412, v_mfma_f32_16x16x16f16 32": by name, total being all of the kernel's
 * instructions. NULL where the code was not looked at: a CPU's, of a target that the library does not
 * know, without the library, or where the object has no code of that name that can be read to its
 * end. Free with g_free(). Called from any thread. */
char *instructions_count(GBytes *code, const char *entry, const struct target *target);

/* Calls seen for each instruction of AMD's code, in order, with its place in the kernel's code and its
 * text as LLVM writes it. False where not all of it could be read, as above. */
typedef void (*instruction_seen)(gpointer data, uint64_t at, const char *text);
bool instructions_each(GBytes *code, const char *entry, const struct target *target,
                       instruction_seen seen, gpointer data);

#endif
