/*
 * Reads a text file, plain or packed (byte_source.h), line by line; memory does not grow with the
 * file. A line longer than LINE_BYTES_MAX is skipped and reported as bad: MIOpen's longest have
 * about 3,000 bytes. A line longer than LINE_BYTES_SKIPPED ends reading: such a file (a device, a
 * disk image) has no lines and may never end. A byte order mark in front of the first line is
 * removed.
 */
#ifndef EXPORT_FORMATS_LINE_READER_H
#define EXPORT_FORMATS_LINE_READER_H

#include "export/formats/export_error.h"

#include <stddef.h>

struct byte_source;

#define LINE_BYTES_MAX     (1 << 20)
#define LINE_BYTES_SKIPPED (64 << 20)

struct line {
    /* the line, NUL-terminated, without its line end; the caller may overwrite it until the next
     * call */
    char *text;
    size_t length;
    int64_t number; /* from 1 */
    bool ended;     /* true if the line had a line end; false only for a last line without one */
    /* true if a byte order mark was removed from its front: only possible for the first line */
    bool marked;
};

/* Returns the length of the byte order mark at the beginning of the text, 0 without one. */
size_t byte_order_mark_length(const char *text, size_t length);

typedef struct line_reader LineReader;

LineReader *line_reader_open(const char *path, GError **error);
/* Reads the lines of a source, which the reader closes. */
LineReader *line_reader_new(struct byte_source *source);
void line_reader_close(LineReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LineReader, line_reader_close)

/* READ_BAD with EXPORT_ERROR_SYNTAX: the line is too long or holds a NUL byte; line->number is set.
 * READ_FAILED with EXPORT_ERROR_IO, EXPORT_ERROR_DAMAGED, or EXPORT_ERROR_KIND for a line longer
 * than LINE_BYTES_SKIPPED. */
enum read_step line_reader_next(LineReader *reader, struct line *line, GError **error);

/* Begins again at the file's first line. Works where byte_source_rewind() does: for plain files and
 * bytes in memory. */
bool line_reader_rewind(LineReader *reader, GError **error);

/* Returns the next bytes without consuming them: as many as the longest line may have, or fewer at
 * the end of the file. Valid until the next call. NULL with an error if they cannot be read. */
const char *line_reader_head(LineReader *reader, size_t *length, GError **error);

#endif
