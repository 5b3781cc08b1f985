/*
 * MIOpenDriver's command lines and rocMLIR's spelling of them (FORMATS.md, "Driver lines"): the grammar of one
 * line, tolerant of the damage in real logs. Line numbers, duplicates and counts are the importer's.
 */
#ifndef SOLVERS_DRIVER_DRIVER_LINE_H
#define SOLVERS_DRIVER_DRIVER_LINE_H

#include "solvers/problem/problem.h"

enum driver_line_kind {
    DRIVER_LINE_BLANK, /* only white space or a comment */
    DRIVER_LINE_CONV, /* a convolution, with an epilogue where the line is a fusion; problems[] is set */
    DRIVER_LINE_OTHER,  /* another primitive (bnorm, pool, ...), named in reason */
    DRIVER_LINE_BROKEN, /* an unusable convolution; reason says why */
};

struct driver_line {
    enum driver_line_kind kind;
    /* number of problems, 1 to 3: one for each direction that -F names */
    int problem_count;
    struct problem problems[DIRECTION_COUNT]; /* ordered by the problems' direction: F, B, W */
    char reason[256];                         /* set for kinds OTHER and BROKEN */
};

/* Parses one line, with or without its line end. Never fails: kind and reason say what is wrong. */
void driver_line_parse(const char *line, struct driver_line *out);

/* The command line of exactly this problem without its epilogue, with long flags: "./bin/MIOpenDriver conv
 * --spatial_dim 2 --batchsize 1 ... -F 1". Free with g_free(). The inverse of driver_line_parse(). NULL where
 * the driver has no words for the problem: types without a command word, or a blocked layout beside others. */
char *driver_line_format(const struct problem *p);

#endif
