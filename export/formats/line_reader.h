/*
 * A text file (plain or bzip2) line by line, in memory that does not grow with
 * the file. A line longer than LINE_BYTES_MAX is skipped and told as bad: the
 * longest of MIOpen's own have about 3,000 bytes. The byte order mark that
 * editors put in front of a text is no part of its first line.
 */
#ifndef EXPORT_LINE_READER_H
#define EXPORT_LINE_READER_H

#include "export/formats/export_error.h"

#include <stddef.h>

#define LINE_BYTES_MAX (1 << 20)

struct line {
    char *text; /* NUL-terminated, without its line end; may be changed until the next call */
    size_t length;
    int64_t number; /* from 1 */
    bool ended;     /* a line end follows: false only for a last line without one */
    bool marked;    /* the first one, behind a byte order mark */
};

/* Of the mark that a text begins with; 0 without one. */
size_t byte_order_mark_length(const char *text, size_t length);

typedef struct line_reader LineReader;

LineReader *line_reader_open(const char *path, GError **error);
void line_reader_close(LineReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LineReader, line_reader_close)

/* READ_BAD (EXPORT_ERROR_SYNTAX) for a line that is too long or holds a NUL; line->number is set
 * then too. */
enum read_step line_reader_next(LineReader *reader, struct line *line, GError **error);

#endif
