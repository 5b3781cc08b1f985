/*
 * Parts of what lookup says of a solver in a .sjdb, as JSON and as text: the launches by which it computes a problem, and
 * the interval of its time.
 */
#ifndef EXPORT_LOOKUP_LOOKUP_SOLUTION_H
#define EXPORT_LOOKUP_LOOKUP_SOLUTION_H

#include "export/sjdb/reader/skipjackdb.h"

#include <jansson.h>

/* Returns the launches of a solver's solution: kernel, options, entry, grid, block, local_bytes,
 * packs (true for a launch that packs the filter, once for each filter), args (kind, and value,
 * tensor, axis or factor; strides are those of the problem). `held`: the problem whose solution it is,
 * the problem itself or its packed twin. JSON's null if the file holds no solution. NULL with an enum skipjackdb_code in *code if the file is damaged.
 * */
json_t *lookup_launches(const skipjackdb *db, const struct skipjackdb_problem *problem,
                        const struct skipjackdb_problem *held, const char *solver, int *code);
/* The same of a solution at hand, measured or not. */
json_t *lookup_solution_launches(const skipjackdb *db, const struct skipjackdb_problem *problem,
                                 const struct skipjackdb_solution *solution, int *code);
/* Prints one line for each launch; prints nothing for JSON's null. */
void lookup_launches_print(const json_t *launches);

/* Adds the members low_ms and high_ms to an answer: the interval of its time (struct skipjackdb_entry); null for none. */
void lookup_interval_add(json_t *answer, double low_ms, double high_ms);
/* Prints a line with the interval of an answer behind `label`; prints nothing if it has none. */
void lookup_interval_print(const json_t *answer, const char *label);

#endif
