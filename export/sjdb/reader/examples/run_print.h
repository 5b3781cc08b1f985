/*
 * Says what a solution launches, without any device. Part of the example run_convolution.
 */
#ifndef RUN_PRINT_H
#define RUN_PRINT_H

#include "run_check.h"

/* Prints a text as a JSON string. */
void print_text(const char *text);
/* Prints every launch of a solution: its kernel with the code object's size and target, grid, workgroup, dynamic
 * local memory, and each argument with its value; of a pointer, how many bytes it points to. */
void print_launches(const skipjackdb *db, const struct skipjackdb_problem *problem,
                    const struct skipjackdb_solution *solution);
/* The same as a JSON array: kernel, options, target, entry, code_bytes, grid (work-items), block, local_bytes, packs,
 * args [{kind, tensor?, axis?, factor?, value?, bytes?}]. */
void print_launches_json(const skipjackdb *db, const struct skipjackdb_problem *problem,
                         const struct skipjackdb_solution *solution);

#endif
