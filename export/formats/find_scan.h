/*
 * A find-db's line taken apart where it lies, for files of which most lines
 * are looked at and copied: the text stays as it was, and nothing is copied.
 * It takes the lines that find_line_parse() takes, and says the same of them.
 */
#ifndef EXPORT_FIND_SCAN_H
#define EXPORT_FIND_SCAN_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    const char *at;
    size_t length;
};

bool span_equal(struct span a, struct span b);
/* The order of strcmp(). */
int span_compare(struct span a, struct span b);
/* Nothing but printable ASCII. */
bool span_printable(struct span text);

struct find_part {
    bool older;
    struct span entry; /* all of it */
    struct span solver, time, workspace, algorithm;
    struct span library, cache_key; /* older form only */
    double time_ms;
    uint64_t workspace_bytes;
};

/* The entry at the front of *rest, which moves behind it; *rest is then empty with at NULL behind the
 * last one. NULL, or what is wrong with the entry (static). */
const char *find_part_scan(struct span *rest, struct find_part *part);

/* "miopenConvolution", a direction, "Algo", a family. */
bool find_algorithm_known(struct span algorithm);

#endif
