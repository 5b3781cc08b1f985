/* A small solution, and a .sjdb that holds it. */
#ifndef TESTS_SUPPORT_SJDB_SMALL_H
#define TESTS_SUPPORT_SJDB_SMALL_H

#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_write.h"

#define SJDB_SMALL_KEY "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"

extern const struct sjdb_kernel_name sjdb_small_kernel;

/* A key as both sides read it. */
void sjdb_small_parse(const char *key, struct problem *problem, struct skipjackdb_problem *read);
/* Closes the writer's file and opens it, whole as it must be. Close with skipjackdb_close(). */
skipjackdb *sjdb_small_finish(SjdbWriter *writer, const char *path);
/* One launch of six arguments, none of which is like another. */
void sjdb_small_solution(struct solution *solution);
/* The one that it launches. */
void sjdb_small_add_kernel(SjdbWriter *writer);

#endif
