/*
 * The text forms of a convolution problem (FORMATS.md): the canonical key, which is MIOpen's find-db key
 * followed by the strides and the epilogue, and the perf-db key in its SQLite and text forms. Each form has one writing
 * function and its inverse; parsing a written text gives the same problem.
 */
#ifndef SOLVERS_PROBLEM_PROBLEM_KEY_H
#define SOLVERS_PROBLEM_PROBLEM_KEY_H

#include "solvers/problem/problem.h"

#define PROBLEM_KEY_MAX 1024

/* Writes the canonical key into buffer (PROBLEM_KEY_MAX bytes suffice for any valid problem). Returns buffer. */
const char *problem_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX]);

/* The strict inverse of problem_key(), strides and epilogues included. SOLVERS_ERROR_SYNTAX names the wrong part. The
 * output size is the key's own: problem_validate() says whether it follows the formula. */
bool problem_key_parse(const char *key, struct problem *p, GError **error);

/* Writes the find-db key, which is the canonical key of a problem that MIOpen's keys can name. False for any other
 * (problem_has_find_key()). */
bool problem_find_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX]);

/* Writes the shape's key: the forward key without "-F". A shape is a problem without its direction. */
const char *problem_shape_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX]);

/* The config row of a perf-db, in the order of the text key (FORMATS.md): 21 integers, then three texts. For B
 * and W its "in" side is y. 2D rows have in_d = fil_d = 1 and pad_d = conv_stride_d = dilation_d = 0. */
#define PERF_ROW_INTS 21
struct perf_row {
    int64_t values[PERF_ROW_INTS];
    char layout[16], data_type[32], direction[4];
};
/* names of the integer columns of a perf-db: "spatial_dim", "in_channels", ... */
extern const char *const perf_row_columns[PERF_ROW_INTS];

void perf_row_from_problem(const struct problem *p, struct perf_row *row);
/* The problem of a row. A row has neither the output size nor the layouts of w and of the "out" side: they are
 * taken from the formula and from the row's one layout. For B and W with a stride over 1 the result is the
 * smallest forward input that gives the row. SOLVERS_ERROR_SYNTAX for an unknown text. */
bool perf_row_to_problem(const struct perf_row *row, struct problem *p, GError **error);

/* Writes the perf-db text key: integers and texts joined by 'x'. */
const char *perf_row_key(const struct perf_row *row, char buffer[PROBLEM_KEY_MAX]);
bool perf_row_key_parse(const char *key, struct perf_row *row, GError **error);

#endif
