/*
 * The grammar of a find-db's line (export/formats/FORMATS.md), the only parser of it. A scan changes and copies
 * nothing: each piece is a span of the caller's text. Merges look at most lines only to copy them, and
 * find_line_parse() makes strings of the pieces for everybody else.
 */
#ifndef EXPORT_FORMATS_FIND_SCAN_H
#define EXPORT_FORMATS_FIND_SCAN_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    const char *at;
    size_t length;
};

bool span_equal(struct span a, struct span b);
/* Compares two texts byte by byte, as strcmp() does. */
int span_compare(struct span a, struct span b);
/* Returns true if all bytes are printable ASCII; also for an empty text. */
bool span_printable(struct span text);

struct find_part {
    bool older;
    struct span entry; /* the whole entry's text, without the ';' that ends it */
    struct span solver, time, workspace, algorithm;
    struct span library, cache_key; /* older form only */
    double time_ms;
    uint64_t workspace_bytes;
};

/* Takes the key in front of the first '=' and moves *rest behind it. Returns NULL, or a static text that says what
 * is wrong; *rest is then undefined. */
const char *find_key_scan(struct span *rest, struct span *key);
/* Takes the first entry of *rest and moves *rest to the next entry; rest->at is NULL after the last one. Returns
 * NULL, or a static text that says what is wrong with the entry. Times may be zero or negative. */
const char *find_part_scan(struct span *rest, struct find_part *part);

/* Returns true for an algorithm's name as MIOpen writes it: "miopenConvolution", a direction,
 * "Algo", and a family, as "miopenConvolutionFwdAlgoGEMM". */
bool find_algorithm_known(struct span algorithm);
/* Returns true for the name of a family alone, "GEMM": other operators than convolutions have that. */
bool find_family_known(struct span family);

#endif
