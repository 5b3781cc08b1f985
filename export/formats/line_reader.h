/*
 * A text file (plain or packed, see byte_source.h) line by line, in memory that
 * does not grow with the file. A line longer than LINE_BYTES_MAX is skipped and
 * told as bad: the longest of MIOpen's own have about 3,000 bytes. Reading fails
 * at a line longer than LINE_BYTES_SKIPPED: such a file (a device, a disk's
 * image) holds no lines, and may never end. The byte order mark that editors put
 * in front of a text is no part of its first line.
 */
#ifndef EXPORT_LINE_READER_H
#define EXPORT_LINE_READER_H

#include "export/formats/export_error.h"

#include <stddef.h>

struct byte_source;

#define LINE_BYTES_MAX     (1 << 20)
#define LINE_BYTES_SKIPPED (64 << 20)

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
/* Reads the lines of a source, which it takes over. */
LineReader *line_reader_new(struct byte_source *source);
void line_reader_close(LineReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LineReader, line_reader_close)

/* READ_BAD (EXPORT_ERROR_SYNTAX) for a line that is too long or holds a NUL; line->number is set
 * then too. READ_FAILED with EXPORT_ERROR_IO, _DAMAGED, or _KIND for a line that is far too long. */
enum read_step line_reader_next(LineReader *reader, struct line *line, GError **error);

/* Begins again at the first line, as byte_source_rewind() allows. */
bool line_reader_rewind(LineReader *reader, GError **error);

/* The bytes that follow, as many as one line may have or up to the end; they stay to be read. Valid
 * until the next call. NULL with an error where they cannot be read. */
const char *line_reader_head(LineReader *reader, size_t *length, GError **error);

#endif
