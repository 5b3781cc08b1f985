#include "export/formats/import_reader.h"
#include "export/formats/line_reader.h"
#include "export/formats/sqlite_file.h"

#include <bzlib.h>
#include <string.h>

#define LOOK_AT_LINES    50
#define DECOMPRESSED_MAX ((guint)2 << 30)
#define KINDS_READ                                                                                 \
    "driver command lines, layer tables (CSV), find-dbs and perf-dbs of MIOpen (text or SQLite), " \
    "lists of problem keys; each also compressed with bzip2"

G_GNUC_PRINTF(4, 5)
static bool fail(const char *name, enum export_error code, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, EXPORT_ERROR, (gint)code, "cannot read problems from '%s': %s", name, why);
    return false;
}

/* Inflates one stream behind what `out` holds and moves *at past it. Returns bzip2's status. */
static int inflate_stream(const char **at, const char *end, GByteArray *out)
{
    bz_stream stream = {0};
    char buffer[65536];
    int status = BZ2_bzDecompressInit(&stream, 0, 0);
    stream.next_in = (char *)*at;
    while (status == BZ_OK) {
        if (stream.avail_in == 0) {
            stream.avail_in = (unsigned)MIN((size_t)(end - stream.next_in), (size_t)1 << 30);
        }
        bool starved = stream.avail_in == 0;
        stream.next_out = buffer;
        stream.avail_out = sizeof buffer;
        status = BZ2_bzDecompress(&stream);
        g_byte_array_append(out, (guint8 *)buffer, (guint)(sizeof buffer - stream.avail_out));
        if (status == BZ_OK && ((starved && stream.avail_out > 0) || out->len > DECOMPRESSED_MAX)) {
            status = starved ? BZ_UNEXPECTED_EOF : BZ_OUTBUFF_FULL;
        }
    }
    *at = stream.next_in;
    BZ2_bzDecompressEnd(&stream);
    return status;
}

/* A file may be several streams in a row, as bzip2 itself reads it. */
static bool inflate(const char *name, const char *bytes, size_t length, GByteArray *out,
                    GError **error)
{
    const char *at = bytes, *end = bytes + length;
    while (at < end) {
        int status = inflate_stream(&at, end, out);
        if (status != BZ_STREAM_END) {
            return fail(name, EXPORT_ERROR_DAMAGED, error,
                        status == BZ_UNEXPECTED_EOF ? "its bzip2 stream is cut off, fetch it again"
                        : status == BZ_OUTBUFF_FULL
                            ? "it is over 2 GiB when decompressed"
                            : "its bzip2 stream is damaged, fetch it again");
        }
    }
    g_byte_array_append(out, (const guint8 *)"", 1);
    return true;
}

/* Text formats in the order in which a line is tried; the last reads whatever is left. */
static const struct {
    bool (*is_line)(const char *line);
    bool (*read)(Import *import, const struct import_source *source, GError **error);
} text_formats[] = {
    {import_is_table_header, import_table},
    {import_is_find_db_line, import_find_db},
    {import_is_perf_text_line, import_perf_text},
    {import_is_key_line, import_keys},
};

static bool read_text(Import *import, struct import_source *source, GError **error)
{
    size_t mark = byte_order_mark_length(source->bytes, source->length);
    source->bytes += mark;
    source->length -= mark;
    struct import_lines lines;
    bool (*read)(Import *, const struct import_source *, GError **) = import_driver_lines;
    import_lines_init(&lines, source);
    int looked_at = 0;
    for (const char *line; looked_at < LOOK_AT_LINES && read == import_driver_lines &&
                           (line = import_lines_next(&lines)) != NULL;) {
        looked_at += !import_line_is_blank(line); /* a long comment may stand in front */
        for (size_t i = 0; i < G_N_ELEMENTS(text_formats); i++) {
            if (text_formats[i].is_line(line)) {
                read = text_formats[i].read;
                break;
            }
        }
    }
    import_lines_clear(&lines);
    return read(import, source, error);
}

/* Zero bytes stand in no text; ONNX models hold none early only by chance, so their name counts,
 * too. */
static bool is_binary(const struct import_source *source)
{
    return memchr(source->bytes, '\0', MIN(source->length, 65536)) != NULL ||
           g_str_has_suffix(source->name, ".onnx");
}

static bool is_sqlite(const char *bytes, size_t length)
{
    static const char magic[] = "SQLite format 3";
    return length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static bool read_plain(Import *import, struct import_source *source, GError **error)
{
    if (is_sqlite(source->bytes, source->length)) {
        return import_sqlite(import, source, error);
    }
    if (is_binary(source)) {
        return fail(source->name, EXPORT_ERROR_KIND, error,
                    "it is no list of problems that this version reads (%s)", KINDS_READ);
    }
    return read_text(import, source, error);
}

bool import_bytes(Import *import, const char *name, const char *bytes, size_t length,
                  GError **error)
{
    struct import_source source = {name, bytes, length};
    if (length < 4 || memcmp(bytes, "BZh", 3) != 0) {
        return read_plain(import, &source, error);
    }
    g_autoptr(GByteArray) plain = g_byte_array_new();
    if (!inflate(name, bytes, length, plain, error)) {
        return false;
    }
    source.bytes = (const char *)plain->data;
    source.length = plain->len - 1;
    return read_plain(import, &source, error);
}

char *import_file_name(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    char *name = g_utf8_make_valid(base, -1);
    if (g_str_has_suffix(name, ".bz2")) {
        name[strlen(name) - 4] = '\0';
    }
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name) {
        *dot = '\0';
    }
    return name;
}

bool import_file(Import *import, const char *path, GError **error)
{
    g_autoptr(GError) reading = NULL;
    g_autofree char *bytes = NULL;
    gsize length;
    if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
        return fail(path, EXPORT_ERROR_IO, error, "it is a folder, name the files in it");
    }
    if (!g_file_get_contents(path, &bytes, &length, &reading)) {
        return fail(path, EXPORT_ERROR_IO, error, "%s; check the path and its permissions",
                    reading->message);
    }
    if (is_sqlite(bytes, length) && !sqlite_file_is_finished(path, error)) {
        return false;
    }
    return import_bytes(import, path, bytes, length, error);
}
