/*
 * What the readers of the single formats share: the content of one file, and
 * what they hand to the import. Internal to the importers.
 */
#ifndef EXPORT_IMPORT_READER_H
#define EXPORT_IMPORT_READER_H

#include "export/formats/import.h"

struct import_source {
    const char *name;  /* for messages */
    const char *bytes; /* followed by a NUL, which is not counted */
    size_t length;
};

/* A walk over the lines of a text. */
struct import_lines {
    const char *at, *end;
    int64_t number; /* of the line last returned, from 1 */
    int64_t joined; /* lines that it goes on in: each but the last ends in a backslash */
    GString *line;
};

void import_lines_init(struct import_lines *lines, const struct import_source *source);
void import_lines_clear(struct import_lines *lines);
/* The next line without its line end; valid until the next call. NULL at the end. NUL bytes become
 * spaces. A command that a backslash and flags in the next line continue is one line. */
const char *import_lines_next(struct import_lines *lines);
/* Nothing but white space, or a comment ('#'). */
bool import_line_is_blank(const char *line);

/* A layer that a line gave: its problems, one a direction. */
struct import_layer {
    const char *network; /* NULL: none, or the one that the options name */
    const char *name;    /* "" where it has none */
    int64_t multiplicity;
    const struct problem *problems;
    int count;
};

/* Counts the line as a convolution and adds its problems, under the options' batch size and
 * directions. With reason set (skipping the line instead) when the batch size makes a problem
 * invalid. */
void import_add(Import *import, const struct import_source *source, int64_t line,
                const struct import_layer *layer);
void import_skip(Import *import, const struct import_source *source, int64_t line,
                 const char *reason);

/* Readers. Each reads the whole source; false with EXPORT_ERROR_KIND. */
bool import_driver_lines(Import *import, const struct import_source *source, GError **error);
bool import_find_db(Import *import, const struct import_source *source, GError **error);
bool import_perf_text(Import *import, const struct import_source *source, GError **error);
bool import_keys(Import *import, const struct import_source *source, GError **error);
bool import_table(Import *import, const struct import_source *source, GError **error);
bool import_sqlite(Import *import, const struct import_source *source, GError **error);

/* What a line of such a file looks like, to tell formats apart. */
bool import_is_find_db_line(const char *line);
bool import_is_perf_text_line(const char *line);
bool import_is_key_line(const char *line);
bool import_is_table_header(const char *line);

#endif
