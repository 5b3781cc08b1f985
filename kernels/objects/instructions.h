/*
 * Counts the instructions of a kernel that show what limits it: matrix instructions, dot products,
 * multiply-adds, loads and stores by width.
 *
 * AMD's code is disassembled by LLVM's library, opened at run time. SKIPJACK_LLVM names libraries, separated by
 * commas (unset: the newest of LLVM_NAMES on this machine). The library is asked first whether it knows the
 * target: its disassembler ends the process for an unknown target and for GPUs older than gfx8. NVIDIA's
 * instructions have 16 bytes each since sm_70, and their lowest bits name the family (instructions_cuda.c);
 * earlier ones are not counted.
 */
#ifndef KERNELS_OBJECTS_INSTRUCTIONS_H
#define KERNELS_OBJECTS_INSTRUCTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "solvers/framework/target.h"

/* Counts by name, sorted, with the kernel's total: "ds_read_b128 8, total 412, v_mfma_f32_16x16x16f16 32". NULL
 * where nothing was counted: CPUs, targets that the library does not know, no library, or an object without
 * readable code of that name. Free with g_free(). Any thread. */
char *instructions_count(GBytes *code, const char *entry, const struct target *target);

/* Calls `seen` for each instruction of AMD's code in order, with its offset in the kernel's code and LLVM's
 * text. False where not all code could be read. */
typedef void (*instruction_seen)(gpointer data, uint64_t at, const char *text);
bool instructions_each(GBytes *code, const char *entry, const struct target *target,
                       instruction_seen seen, gpointer data);

#endif
