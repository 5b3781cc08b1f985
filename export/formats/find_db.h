/*
 * MIOpen's find-db, line by line, in both forms (export/formats/FORMATS.md). Fields with more than one spelling,
 * such as times, keep their text, so a line is written back with the same bytes. The values are not judged
 * here: zero times and unknown solvers pass, and check and the gate refuse them.
 */
#ifndef EXPORT_FORMATS_FIND_DB_H
#define EXPORT_FORMATS_FIND_DB_H

#include "export/formats/line_reader.h"

#include <stdio.h>

#define FIND_ENTRIES_MAX 4 /* most entries that a released find-db has for one key */

struct find_entry {
    /* true for the older form, "algorithm:solver,time,workspace,library,cache key" */
    bool older;
    /* this text and those below belong to the parsed line, or to the caller who set them */
    const char *solver;
    /* the time as the file spells it; find_time_text() makes the text of a new time */
    const char *time_text;
    double time_ms;
    uint64_t workspace_bytes;
    const char *algorithm; /* "miopenConvolutionFwdAlgoGEMM" */
    const char *library;   /* only in the older form: the algorithm again, or "MIOpenGEMM" */
    const char *cache_key; /* only in the older form; may contain commas */
};

struct find_line {
    /* as the file spells it and not checked: callers parse it with problem_key_parse() */
    const char *key;
    GArray *entries; /* struct find_entry */
};

void find_line_init(struct find_line *line);
void find_line_clear(struct find_line *line);

#define FIND_TIME_MAX 32
/* Writes a time as MIOpen does ("%.6g") and returns buffer. Six digits are finer than any timer and than the float
 * in which MIOpen keeps a time; no positive time becomes 0. */
const char *find_time_text(double time_ms, char buffer[FIND_TIME_MAX]);

/* Parses `text`, which has no line end, in place: *line points into it afterwards, and separators in it become
 * NUL bytes. On EXPORT_ERROR_SYNTAX the message names the entry; `text` is then partly overwritten. */
bool find_line_parse(char *text, struct find_line *line, GError **error);
/* Appends the line to `out`, without a line end: the inverse of find_line_parse(). */
void find_line_format(const struct find_line *line, GString *out);

typedef struct find_db FindDb;
FindDb *find_db_open(const char *path, GError **error);
void find_db_close(FindDb *db);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FindDb, find_db_close)

/* Reads the next line of the file into *line, which find_line_init() has prepared; its texts are valid until the
 * next call. at->number is set unless the result is READ_END. READ_BAD: the line is no find-db line and the
 * next call goes on behind it. */
enum read_step find_db_next(FindDb *db, struct find_line *line, struct line *at, GError **error);

#endif
