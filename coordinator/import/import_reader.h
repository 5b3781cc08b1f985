/*
 * Shared by the readers of the formats: the content of one file, and the functions that hand
 * problems to the import. Internal to the importers.
 */
#ifndef COORDINATOR_IMPORT_IMPORT_READER_H
#define COORDINATOR_IMPORT_IMPORT_READER_H

#include "coordinator/import/import.h"
#include "export/formats/line_reader.h"

#include <sqlite3.h>

struct import_source {
    const char *name;  /* for messages */
    LineReader *lines; /* of a text, else NULL */
    sqlite3 *database; /* of a SQLite file, else NULL */
};

/* A walk over the lines of a text, from the first one. */
struct import_lines {
    Import *import; /* counts the lines and keeps the bad ones; NULL for a walk that looks only */
    const struct import_options *options; /* may end the walk (goes_on); NULL: it cannot be ended */
    const struct import_source *source;
    int64_t number; /* of the line last returned, from 1 */
    int64_t joined; /* lines that it goes on in: each but the last ends in a backslash */
    bool plain;     /* no line goes on in the next one */
    GString *line;
    GString *ahead;       /* the line behind it, already read */
    int64_t ahead_number; /* 0 where none is read ahead */
    GError *failure;      /* why the source could not be read to its end */
};

void import_lines_init(struct import_lines *lines, Import *import,
                       const struct import_source *source);
/* The next line without its line end; valid until the next call. NULL at the end, or where the source
 * cannot be read any further. A command that a backslash and flags in the next line continue is one
 * line. A line that is too long or holds a NUL byte becomes one of the import's skipped lines. */
const char *import_lines_next(struct import_lines *lines);
/* Ends the walk. False with the reason where the source could not be read to its end. */
bool import_lines_end(struct import_lines *lines, GError **error);
/* Returns true for lines of white space alone and for comments ('#'). */
bool import_line_is_blank(const char *line);

/* A layer that a line gave: its problems, one a direction and choice of the options. */
struct import_layer {
    const char *network; /* NULL: none, or the one that the options name */
    const char *name;    /* "" where it has none */
    int64_t multiplicity;
    const struct problem *problems;
    int count;
    bool directed; /* its problems are of the directions that the options ask for */
    bool shipped;  /* from a database, where a filter may be larger than its padded input */
};

/* Counts the line as a convolution and adds those of its problems that have the options' directions;
 * or skips it, with the reason, when a filter is larger than its padded input and the options do not
 * allow that. */
void import_add(Import *import, const struct import_source *source, int64_t line,
                const struct import_layer *layer);
/* The same for a line that says its batch size, type and layout, which the options replace; with reason
 * set (skipping the line instead) where that makes a problem invalid. */
void import_add_replaced(Import *import, const struct import_source *source, int64_t line,
                         const struct import_layer *layer);
void import_skip(Import *import, const struct import_source *source, int64_t line,
                 const char *reason);

/* Readers. Each reads the whole source; false with EXPORT_ERROR_KIND, _IO or _DAMAGED. The problems that
 * were read before stay in the import. */
bool import_driver_lines(Import *import, const struct import_source *source, GError **error);
bool import_find_db(Import *import, const struct import_source *source, GError **error);
bool import_perf_text(Import *import, const struct import_source *source, GError **error);
bool import_keys(Import *import, const struct import_source *source, GError **error);
bool import_table(Import *import, const struct import_source *source, GError **error);
bool import_commented_table(Import *import, const struct import_source *source, GError **error);
/* Always fails: the error names what the table's first line lacks to be a header. */
bool import_headless_table(Import *import, const struct import_source *source, GError **error);

/* Returns true for lines that look like a find-db's: recognizes the format of a file. */
bool import_is_find_db_line(const char *line);
bool import_is_perf_text_line(const char *line);
bool import_is_key_line(const char *line);
bool import_is_table_header(const char *line);
bool import_is_commented_header(const char *line);
bool import_is_table_row(const char *line);

#endif
