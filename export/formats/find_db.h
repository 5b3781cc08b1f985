/*
 * MIOpen's find-db: text, one line a problem (FORMATS.md 3), in the newer form
 * of entries and the older one. Reading keeps the text of times and whatever
 * else has more than one spelling, so a line that was read is written back as
 * it stood; what it says is judged by others (check, gate).
 */
#ifndef EXPORT_FIND_DB_H
#define EXPORT_FIND_DB_H

#include "export/formats/line_reader.h"

#include <stdio.h>

#define FIND_ENTRIES_MAX 4 /* a key, in files that are released */

struct find_entry {
    bool older;            /* algorithm:solver,time,workspace,library,cache key */
    const char *solver;    /* texts belong to the line that was parsed, or to the caller */
    const char *time_text; /* as it stands in the file; see find_time_text() */
    double time_ms;
    uint64_t workspace_bytes;
    const char *algorithm; /* "miopenConvolutionFwdAlgoGEMM" */
    const char *library;   /* older form only: the algorithm again, or "MIOpenGEMM" */
    const char *cache_key; /* older form only, may hold commas */
};

struct find_line {
    const char *key; /* as it stands; problem_key_parse() is the caller's */
    GArray *entries; /* struct find_entry */
};

void find_line_init(struct find_line *line);
void find_line_clear(struct find_line *line);

#define FIND_TIME_MAX 32
/* The text of a time as MIOpen writes it, "%.6g": its readers hold a float, six digits are finer
 * than any timer, and no positive time becomes 0. Returns buffer. */
const char *find_time_text(double time_ms, char buffer[FIND_TIME_MAX]);

/* Takes text (no line end) apart in place: *line points into it afterwards. EXPORT_ERROR_SYNTAX
 * names the entry and what is wrong with it. Times may be zero or negative, but are numbers. */
bool find_line_parse(char *text, struct find_line *line, GError **error);
/* Its inverse, appended to out, without a line end. */
void find_line_format(const struct find_line *line, GString *out);

typedef struct find_db FindDb;
FindDb *find_db_open(const char *path, GError **error);
void find_db_close(FindDb *db);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FindDb, find_db_close)

/* What the next line says into *line (which must be initialised), valid until the next call; *at
 * describes the line itself: at->number in all cases but READ_END. Lines come as they stand in the
 * file. */
enum read_step find_db_next(FindDb *db, struct find_line *line, struct line *at, GError **error);

#endif
