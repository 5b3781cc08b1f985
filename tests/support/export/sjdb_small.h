/* A small solution, and a .sjdb that contains it. */
#ifndef TESTS_SUPPORT_EXPORT_SJDB_SMALL_H
#define TESTS_SUPPORT_EXPORT_SJDB_SMALL_H

#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_write.h"

#define SJDB_SMALL_KEY "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"

extern const struct sjdb_kernel_name sjdb_small_kernel;

/* Parses a key with the program and with the library. */
void sjdb_small_parse(const char *key, struct problem *problem, struct skipjackdb_problem *read);
/* Finishes the file and opens it; asserts that it is valid. Close with skipjackdb_close(). */
skipjackdb *sjdb_small_finish(SjdbWriter *writer, const char *path);
/* A solution of one launch with six arguments, all of different kinds or values. */
void sjdb_small_solution(struct solution *solution);
/* Adds the kernel that this solution launches. */
void sjdb_small_add_kernel(SjdbWriter *writer);

#endif
