/*
 * The innermost loop of AMD's code that does most of the arithmetic, and the work of one pass for each unit of a
 * compute unit. It shows what bounds a kernel that was never run (solvers/AMD.md).
 *
 * A loop is the code between a backward branch and its target. Widths follow the names of instructions (AMD's ISA
 * documents; both spellings, "ds_read_b128" and "ds_load_b128"). A matrix instruction's operations are 2 m n k of its name;
 * instructions of several blocks, which our kernels do not use, would count as one.
 */
#ifndef KERNELS_OBJECTS_HOT_LOOP_H
#define KERNELS_OBJECTS_HOT_LOOP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "solvers/framework/target.h"

struct hot_loop {
    bool is_loop;     /* false: the code has no loop, and all of it was counted */
    int instructions; /* of all kinds */
    int matrix, vector,
        scalar;          /* instructions of these units; vector: without matrix and memory ones */
    double matrix_flops; /* operations of the matrix instructions of one wave */
    double vector_flops; /* operations of multiply-adds, of one work-item */
    double local_bytes;  /* loaded from and stored to local memory by one work-item */
    double global_bytes; /* the same of global memory */
};

/* An instruction with its offset in bytes, in LLVM's words. */
struct hot_instruction {
    uint64_t at;
    char *text;
};

/* Finds the loop in instructions in the order of their offsets: the one with the most arithmetic, and inside of it, again
 * and again, the one that has at least half of that: an outer loop holds all that its inner loops hold.
 * wave_size: work-items of a wave, which weigh vector arithmetic against matrix instructions. */
void hot_loop_find(const struct hot_instruction *instructions, int count, int wave_size,
                   struct hot_loop *loop);

/* The same in compiled code. False where not all of it could be read, as by instructions_each(). */
bool hot_loop_of(GBytes *code, const char *entry, const struct target *target,
                 struct hot_loop *loop);

#endif
