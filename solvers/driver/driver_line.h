/*
 * MIOpenDriver's command lines (FORMATS.md 2), and rocMLIR's words for the
 * same: the grammar of one line, with the dirt that real logs carry. What
 * concerns a whole file (line numbers, duplicates, counting) belongs to the
 * importer.
 */
#ifndef SOLVERS_DRIVER_DRIVER_LINE_H
#define SOLVERS_DRIVER_DRIVER_LINE_H

#include "solvers/problem/problem.h"

enum driver_line_kind {
    DRIVER_LINE_BLANK,  /* nothing but white space or a comment */
    DRIVER_LINE_CONV,   /* a usable convolution: problems[] is set */
    DRIVER_LINE_OTHER,  /* another primitive (bnorm, pool, ...); reason names it */
    DRIVER_LINE_BROKEN, /* a convolution that cannot be used; reason says why */
};

struct driver_line {
    enum driver_line_kind kind;
    int problem_count;                        /* 1 to 3: one a direction of -F */
    struct problem problems[DIRECTION_COUNT]; /* ordered by the problems' direction: F, B, W */
    char reason[256];                         /* set for OTHER and BROKEN */
};

/* Parses one line (with or without its line end). Never fails: what is wrong is in kind and
 * reason. */
void driver_line_parse(const char *line, struct driver_line *out);

/* The command line that means exactly this problem, its fields spelled out with long flags, without
 * an epilogue: "./bin/MIOpenDriver conv --spatial_dim 2 --batchsize 1 ... -F 1". Free with
 * g_free(). Its inverse is driver_line_parse(). NULL where the driver has no words for the problem:
 * types that no command word means, or blocked layouts beside others. */
char *driver_line_format(const struct problem *p);

#endif
