/*
 * The text forms of a convolution problem (FORMATS.md 3 and 4): the canonical
 * key, which is MIOpen's find-db key plus the epilogue as a suffix, and the
 * perf-db key in its SQLite and text forms. Each is written by one function
 * and parsed by its inverse; parsing what was written gives the same problem.
 */
#ifndef SOLVERS_PROBLEM_PROBLEM_KEY_H
#define SOLVERS_PROBLEM_PROBLEM_KEY_H

#include "solvers/problem/problem.h"

#define PROBLEM_KEY_MAX 512

/* The canonical key into buffer (PROBLEM_KEY_MAX bytes are always enough for a valid problem).
 * Returns buffer. */
const char *problem_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX]);

/* Strict inverse of problem_key(); SOLVERS_ERROR_SYNTAX names the part of the key that is wrong.
 * The output size is taken from the key as it stands: call problem_validate() to learn whether it
 * follows the formula. Epilogue suffixes are accepted and kept. */
bool problem_key_parse(const char *key, struct problem *p, GError **error);

/* The find-db key alone: the canonical key without an epilogue. False when MIOpen's keys cannot
 * express the problem (it has an epilogue). */
bool problem_find_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX]);

/* A shape is the problem with its direction taken away: the forward key less "-F". */
const char *problem_shape_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX]);

/* perf-db's config row, in the order of the text key (FORMATS.md 4): 21 integers, then three texts.
 * Its "in" side is y for B and W. 2D rows carry in_d = fil_d = 1, pad_d = conv_stride_d =
 * dilation_d = 0. */
#define PERF_ROW_INTS 21
struct perf_row {
    int64_t values[PERF_ROW_INTS];
    char layout[16], data_type[32], direction[4];
};
extern const char *const perf_row_columns[PERF_ROW_INTS]; /* "spatial_dim", "in_channels", ... */

void perf_row_from_problem(const struct problem *p, struct perf_row *row);
/* The row says nothing of the output size or of the other tensors' layouts: the problem returned
 * has them as the formula and the one layout give them; for B and W with a stride over 1 the
 * smallest forward input that yields the row. False with SOLVERS_ERROR_SYNTAX where a text is
 * unknown. */
bool perf_row_to_problem(const struct perf_row *row, struct problem *p, GError **error);

/* perf-db text key, integers and texts joined by 'x'. */
const char *perf_row_key(const struct perf_row *row, char buffer[PROBLEM_KEY_MAX]);
bool perf_row_key_parse(const char *key, struct perf_row *row, GError **error);

#endif
