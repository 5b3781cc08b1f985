/*
 * How a solver computes a problem of a .sjdb, for people and for JSON.
 */
#ifndef EXPORT_LOOKUP_SOLUTION_H
#define EXPORT_LOOKUP_SOLUTION_H

#include "export/sjdb/reader/skipjackdb.h"

#include <jansson.h>

/* The launches of a solver's solution: kernel, options, entry, grid, block, local_bytes, args (kind, and
 * value, tensor, axis, factor where it has them; values of strides are those of packed tensors).
 * JSON's null where the file holds no solution; where it is damaged, NULL and *code says so. */
json_t *lookup_launches(const skipjackdb *db, const struct skipjackdb_problem *problem,
                        const char *solver, int *code);
/* A line a launch; nothing for null. */
void lookup_launches_print(const json_t *launches);

#endif
