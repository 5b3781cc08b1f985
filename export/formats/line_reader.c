#include "export/formats/line_reader.h"

#include "export/formats/byte_source.h"

#include <string.h>

struct line_reader {
    ByteSource *source;
    size_t start, end; /* bytes that were read and not yet returned: buffer[start .. end) */
    bool at_end;
    int64_t number;
    /* one byte more than a line may have, for its line end or a NUL */
    char buffer[LINE_BYTES_MAX + 1];
};

size_t byte_order_mark_length(const char *text, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t mark_length = sizeof mark - 1;
    return length >= mark_length && memcmp(text, mark, mark_length) == 0 ? mark_length : 0;
}

LineReader *line_reader_open(const char *path, GError **error)
{
    ByteSource *source = byte_source_open(path, error);
    return source != NULL ? line_reader_new(source) : NULL;
}

LineReader *line_reader_new(ByteSource *source)
{
    LineReader *reader = g_new0(LineReader, 1);
    reader->source = source;
    return reader;
}

void line_reader_close(LineReader *reader)
{
    if (reader != NULL) {
        byte_source_close(reader->source);
        g_free(reader);
    }
}

/* Moves the bytes that were not returned yet to the front of the buffer, and reads more behind
 * them. */
static bool fill(LineReader *reader, GError **error)
{
    size_t length = 0;
    memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
    reader->end -= reader->start;
    reader->start = 0;
    if (!byte_source_read(reader->source, reader->buffer + reader->end,
                          sizeof reader->buffer - reader->end, &length, error)) {
        return false;
    }
    reader->end += length;
    reader->at_end = length == 0;
    return true;
}

/* Skips everything up to the next line end. */
static bool skip_line(LineReader *reader, GError **error)
{
    size_t skipped = 0;
    for (;;) {
        char *at = reader->buffer + reader->start;
        char *found = memchr(at, '\n', reader->end - reader->start);
        if (found != NULL) {
            reader->start = (size_t)(found + 1 - reader->buffer);
            return true;
        }
        skipped += reader->end - reader->start;
        reader->start = reader->end = 0;
        if (reader->at_end) {
            return true;
        }
        if (skipped > LINE_BYTES_SKIPPED) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                        "line %" G_GINT64_FORMAT " is longer than %d MiB: this is no text",
                        reader->number, LINE_BYTES_SKIPPED >> 20);
            return false;
        }
        if (!fill(reader, error)) {
            return false;
        }
    }
}

static enum read_step too_long(LineReader *reader, GError **error)
{
    if (!skip_line(reader, error)) {
        return READ_FAILED;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "the line is longer than %d bytes",
                LINE_BYTES_MAX);
    return READ_BAD;
}

static enum read_step give(LineReader *reader, struct line *line, size_t length, GError **error)
{
    char *text = reader->buffer + reader->start;
    size_t mark = line->number == 1 ? byte_order_mark_length(text, length) : 0;
    text[length] = '\0';
    line->text = text + mark;
    line->length = length - mark;
    line->marked = mark > 0;
    reader->start += length + (line->ended ? 1 : 0);
    if (memchr(line->text, '\0', line->length) != NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "the line holds a NUL byte");
        return READ_BAD;
    }
    return READ_ROW;
}

enum read_step line_reader_next(LineReader *reader, struct line *line, GError **error)
{
    size_t searched = 0;
    line->number = ++reader->number;
    for (;;) {
        size_t held = reader->end - reader->start;
        char *from = reader->buffer + reader->start + searched;
        char *found = memchr(from, '\n', held - searched);
        line->ended = found != NULL;
        if (found != NULL) {
            return give(reader, line, searched + (size_t)(found - from), error);
        }
        if (held > LINE_BYTES_MAX) {
            return too_long(reader, error);
        }
        if (reader->at_end) {
            return held == 0 ? READ_END : give(reader, line, held, error);
        }
        searched = held;
        if (!fill(reader, error)) {
            return READ_FAILED;
        }
    }
}

const char *line_reader_head(LineReader *reader, size_t *length, GError **error)
{
    while (!reader->at_end && reader->end - reader->start < LINE_BYTES_MAX) {
        if (!fill(reader, error)) {
            return NULL;
        }
    }
    *length = reader->end - reader->start;
    return reader->buffer + reader->start;
}

bool line_reader_rewind(LineReader *reader, GError **error)
{
    reader->start = reader->end = 0;
    reader->number = 0;
    reader->at_end = false;
    return byte_source_rewind(reader->source, error);
}
