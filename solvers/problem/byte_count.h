/*
 * Reads and writes numbers of bytes as people write them: "64MiB", "1.5 GB", "4096".
 */
#ifndef SOLVERS_PROBLEM_BYTE_COUNT_H
#define SOLVERS_PROBLEM_BYTE_COUNT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Parses a number and a unit: none or B for bytes; k, M, G, T, KiB, MiB, GiB, TiB are powers of 1024; kB, MB,
 * GB, TB powers of 1000. Case does not matter. A number of a larger unit may have a fraction; the result is
 * rounded down to bytes. At most INT64_MAX. SOLVERS_ERROR_SYNTAX names the fault. */
bool byte_count_parse(const char *text, uint64_t *bytes, GError **error);
/* Writes a number of bytes: "64 MiB" for a whole number of units, else "1000000 bytes". Free with g_free(). */
char *byte_count_text(uint64_t bytes);

#endif
