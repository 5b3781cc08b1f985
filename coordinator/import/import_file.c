#include "coordinator/import/import_reader.h"
#include "coordinator/import/shipped.h"
#include "export/formats/byte_source.h"
#include "export/formats/perf_db.h"
#include "export/formats/sqlite_file.h"

#include <glib/gstdio.h>
#include <string.h>

#define QUOTED_LINES        8 /* most lines over which quoted names of a header may go on */
#define LOOK_AT_LINES       50
/* bytes at a file's beginning that are looked at: a text has no zero byte there */
#define HEAD_BYTES          65536
#define UNPACKED_BYTES_MAX  (UINT64_C(2) << 30)
#define CONVERTED_BYTES_MAX (64 << 20) /* largest text that is converted in memory, in bytes */
#define KINDS_READ                                                                                  \
    "ONNX models, driver command lines, layer tables (CSV), find-dbs and perf-dbs of MIOpen (text " \
    "or SQLite), lists of problem keys; each also compressed with " PACKINGS_READ

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

/* The text formats, in the order in which a line is tried. */
static const struct text_format {
    bool (*is_line)(const char *line);
    bool (*read)(Import *import, const struct import_source *source, GError **error);
} text_formats[] = {
    {import_is_table_header, import_table},
    {import_is_find_db_line, import_find_db},
    {import_is_perf_text_line, import_perf_text},
    {import_is_key_line, import_keys},
};

/* A layer table whose header is a comment: tried only if no line of the file's beginning has one of
 * the formats above. */
static const struct text_format commented_table = {import_is_commented_header,
                                                   import_commented_table};
static const struct text_format headless_table = {import_is_table_row, import_headless_table};
static const struct text_format driver_lines = {NULL, import_driver_lines};

/* Returns `line`, which ends before `at`, with the lines behind it over which its last quoted cell
 * goes on. Free with g_free(). */
static char *quoted_line(const char *line, const char *at, const char *end)
{
    GString *whole = g_string_new(line);
    for (int more = 0; more < QUOTED_LINES && at < end; more++) {
        size_t quotes = 0;
        for (gsize i = 0; i < whole->len; i++) {
            quotes += whole->str[i] == '"';
        }
        if (quotes % 2 == 0) {
            break;
        }
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop != NULL ? stop : end) - at);
        g_string_append_c(whole, ' ');
        g_string_append_len(whole, at, (gssize)length);
        at += length + (stop != NULL);
    }
    return g_strdelimit(g_string_free(whole, FALSE), "\r", ' ');
}

/* Returns the format of a text, recognised by its first lines behind leading comments. A text of no
 * known format is read as driver lines; if every line looks like a table's row, as a table without
 * a header. */
static const struct text_format *find_text_format(const char *head, size_t length)
{
    const struct text_format *commented = NULL;
    bool rows = true;
    int looked_at = 0;
    const char *at = head + byte_order_mark_length(head, length), *end = head + length;
    while (at < end && looked_at < LOOK_AT_LINES) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        g_autofree char *line = g_strndup(at, (size_t)((stop != NULL ? stop : end) - at));
        at = stop != NULL ? stop + 1 : end;
        line[strcspn(line, "\r")] = '\0';
        bool blank = import_line_is_blank(line);
        looked_at += !blank;
        rows = rows && (blank || headless_table.is_line(line));
        commented = commented_table.is_line(line) ? &commented_table : commented;
        g_autofree char *whole = quoted_line(line, at, end);
        for (size_t i = 0; i < G_N_ELEMENTS(text_formats); i++) {
            if (text_formats[i].is_line(text_formats[i].read == import_table ? whole : line)) {
                return &text_formats[i];
            }
        }
    }
    return commented != NULL ? commented : rows && looked_at > 0 ? &headless_table : &driver_lines;
}

static bool is_sqlite(const char *bytes, size_t length)
{
    static const char magic[] = "SQLite format 3";
    return length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* Returns the charset of a text in UTF-16, which begins with a byte order mark, as Excel's "Unicode
 * Text" and PowerShell's redirection write it. NULL for other texts. */
static const char *utf16_charset(const char *bytes, size_t length)
{
    static const char little[] = {'\xff', '\xfe'}, big[] = {'\xfe', '\xff'};
    if (length < sizeof little) {
        return NULL;
    }
    return memcmp(bytes, little, sizeof little) == 0 ? "UTF-16LE"
           : memcmp(bytes, big, sizeof big) == 0     ? "UTF-16BE"
                                                     : NULL;
}

/* Returns true for a text whose lines end in a carriage return alone, as old Macintosh programs
 * write them. */
static bool ends_lines_with_cr(const char *bytes, size_t length)
{
    const char *cr = memchr(bytes, '\r', length);
    return cr != NULL && cr + 1 < bytes + length && memchr(bytes, '\n', length) == NULL;
}

/* Returns true for a file that is named like an ONNX model, or begins as one. */
static bool is_onnx(const char *name, const char *bytes, size_t length)
{
    size_t end = packed_name_length(name), ending = strlen(".onnx");
    return (end > ending && strncmp(name + end - ending, ".onnx", ending) == 0) ||
           onnx_file_is_model(bytes, length);
}

/* Returns true for a file that is no text: it has a zero byte at its beginning. */
static bool is_binary(const char *bytes, size_t length)
{
    return memchr(bytes, '\0', length) != NULL && !is_sqlite(bytes, length) &&
           utf16_charset(bytes, length) == NULL;
}

static bool refuse_binary(const char *name, const char *bytes, size_t length, GError **error)
{
    static const char zip[] = {'P', 'K', '\3', '\4'};
    bool workbook = length >= sizeof zip && memcmp(bytes, zip, sizeof zip) == 0;
    return workbook
               ? fail(name, EXPORT_ERROR_KIND, error,
                      "it is a zip file or a spreadsheet's workbook (.xlsx, .ods): save the table "
                      "as CSV and read that")
               : fail(name, EXPORT_ERROR_KIND, error,
                      "it is no list of problems that this version reads (%s)", KINDS_READ);
}

typedef sqlite3_stmt Statement;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Statement, sqlite3_finalize)

static bool fail_table(const struct import_source *source, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "cannot read '%s' as a perf-db of MIOpen (SQLite with a table 'config'): %s",
                source->name, sqlite3_errmsg(source->database));
    return false;
}

static void read_row(Import *import, const struct import_source *source, Statement *statement)
{
    g_autoptr(GError) error = NULL;
    struct perf_row row;
    struct problem p;
    struct import_layer layer = {
        .name = "", .multiplicity = 1, .problems = &p, .count = 1, .shipped = true};
    int64_t id = sqlite3_column_int64(statement, PERF_ROW_INTS + PERF_TEXTS);
    import->lines++;
    if (perf_row_read(statement, &row, &error) && perf_row_to_problem(&row, &p, &error)) {
        import_add_replaced(import, source, id, &layer);
    } else {
        import_skip(import, source, id, error->message);
    }
}

/* Reads the config rows of a perf-db in SQLite. */
static bool import_config_rows(Import *import, const struct import_source *source, GError **error)
{
    g_autoptr(Statement) statement = NULL;
    g_autofree char *columns = perf_column_list();
    g_autofree char *sql = g_strdup_printf("SELECT %s,id FROM config ORDER BY id", columns);
    if (sqlite3_prepare_v2(source->database, sql, -1, &statement, NULL) != SQLITE_OK) {
        return fail_table(source, error);
    }
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        read_row(import, source, statement);
    }
    return status == SQLITE_DONE || fail_table(source, error);
}

/* Reads a SQLite perf-db. `path` is the file itself, or a copy of the file that the user calls
 * `name`. */
static bool read_database(Import *import, const char *name, const char *path, GError **error)
{
    struct import_source source = {.name = name};
    source.database = strcmp(name, path) == 0 ? sqlite_file_open(path, error)
                                              : sqlite_file_open_copy(path, name, error);
    if (source.database == NULL) {
        return false;
    }
    bool read = import_config_rows(import, &source, error);
    sqlite_file_close(source.database);
    return read;
}

static bool read_lines_of(Import *import, const char *name, ByteSource *bytes, GError **error)
{
    size_t length = 0;
    g_autoptr(LineReader) lines = line_reader_new(bytes);
    const struct import_source source = {.name = name, .lines = lines};
    const char *head = line_reader_head(lines, &length, error);
    if (head == NULL) {
        return false;
    }
    return find_text_format(head, length)->read(import, &source, error);
}

/* Reads the whole source into memory. NULL with an error if it cannot be read, or is longer than
 * CONVERTED_BYTES_MAX. */
static GByteArray *read_all(const char *name, ByteSource *source, GError **error)
{
    g_autoptr(GByteArray) all = g_byte_array_new();
    guint8 buffer[65536];
    size_t length = 0;
    do {
        if (!byte_source_read(source, buffer, sizeof buffer, &length, error)) {
            return NULL;
        }
        g_byte_array_append(all, buffer, (guint)length);
        if (all->len > CONVERTED_BYTES_MAX) {
            fail(
                name, EXPORT_ERROR_KIND, error,
                "a text in UTF-16 or with lines that end in CR alone is read up to %d MiB: save it as "
                "UTF-8 with LF",
                CONVERTED_BYTES_MAX >> 20);
            return NULL;
        }
    } while (length > 0);
    return g_steal_pointer(&all);
}

/* Reads a text that first has to be converted: from `charset` to UTF-8 (if not NULL), and line ends
 * to LF. */
static bool read_converted(Import *import, const char *name, ByteSource *source,
                           const char *charset, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    g_autoptr(GByteArray) all = read_all(name, source, error);
    if (all == NULL) {
        return false;
    }
    gsize length = all->len;
    const char *bytes = (const char *)all->data;
    g_autofree char *text = NULL;
    if (charset == NULL) {
        text = g_memdup2(bytes, length);
    } else if ((text = g_convert(bytes + 2, (gssize)length - 2, "UTF-8", charset, NULL, &length,
                                 &wrong)) == NULL) {
        return fail(name, EXPORT_ERROR_DAMAGED, error,
                    "it begins as a text in UTF-16 and is none to its end (%s): save it as UTF-8",
                    wrong->message);
    }
    if (memchr(text, '\0', length) != NULL) {
        return refuse_binary(name, text, length, error);
    }
    if (ends_lines_with_cr(text, length)) {
        for (gsize i = 0; i < length; i++) {
            text[i] = text[i] == '\r' ? '\n' : text[i];
        }
    }
    ByteSource *converted = byte_source_open_memory(name, text, length, error);
    return converted != NULL && read_lines_of(import, name, converted, error);
}

/* Reads a text file. Takes `bytes` over. */
static bool read_text(Import *import, const char *name, ByteSource *bytes, GError **error)
{
    size_t length = 0;
    const char *head = byte_source_head(bytes, &length);
    const char *charset = utf16_charset(head, length);
    if (charset == NULL && !ends_lines_with_cr(head, length)) {
        return read_lines_of(import, name, bytes, error);
    }
    bool read = read_converted(import, name, bytes, charset, error);
    byte_source_close(bytes);
    return read;
}

static bool read_model(Import *import, const char *name, const char *path, const char *beside,
                       GError **error)
{
    g_autoptr(GError) wrong = NULL;
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, &wrong);
    if (file == NULL) {
        return fail(name, EXPORT_ERROR_IO, error, "%s", wrong->message);
    }
    return import_onnx(import, name, beside, g_mapped_file_get_contents(file),
                       g_mapped_file_get_length(file), error);
}

/* Reads a plain file, which can be opened by its path more than once. `beside`: the file in whose folder a model's
 * tensors may be, NULL for none. */
static bool read_plain(Import *import, const char *name, const char *path, const char *beside,
                       GError **error)
{
    size_t length = 0;
    g_autoptr(ByteSource) source = byte_source_open(path, error);
    if (source == NULL) {
        return false;
    }
    const char *head = byte_source_head(source, &length);
    if (is_onnx(name, head, length)) {
        return read_model(import, name, path, beside, error);
    }
    if (is_binary(head, length)) {
        return refuse_binary(name, head, length, error);
    }
    return is_sqlite(head, length) ? read_database(import, name, path, error)
                                   : read_text(import, name, g_steal_pointer(&source), error);
}

/* Reads a packed file or a pipe: copies it as a whole first, so that nothing is imported from a
 * file that turns out to be damaged. */
static bool read_copy(Import *import, const char *name, ByteSource *source, const char *beside,
                      GError **error)
{
    g_autofree char *copy = byte_source_unpack(source, UNPACKED_BYTES_MAX, error);
    if (copy == NULL) {
        g_prefix_error(error, "cannot read problems from '%s': ", name);
        return false;
    }
    bool read = read_plain(import, name, copy, beside, error);
    g_unlink(copy);
    return read;
}

static bool read_stream(Import *import, const char *name, ByteSource *source, const char *beside,
                        GError **error)
{
    size_t length = 0;
    const char *head = byte_source_head(source, &length);
    if (!byte_source_packed(source) && is_binary(head, length) && !is_onnx(name, head, length)) {
        return refuse_binary(name, head, length, error);
    }
    return read_copy(import, name, source, beside, error);
}

bool import_bytes(Import *import, const char *name, const char *bytes, size_t length,
                  GError **error)
{
    g_autoptr(ByteSource) source = byte_source_open_memory(name, bytes, length, error);
    import->files++;
    if (source == NULL) {
        return false;
    }
    bool text = !byte_source_packed(source) && !is_sqlite(bytes, length) &&
                !is_binary(bytes, MIN(length, HEAD_BYTES)) &&
                !is_onnx(name, bytes, MIN(length, HEAD_BYTES));
    return text ? read_text(import, name, g_steal_pointer(&source), error)
                : read_stream(import, name, source, NULL, error);
}

char *import_file_name(const char *path)
{
    if (strcmp(path, "-") == 0) {
        return g_strdup("standard input");
    }
    g_autofree char *base = g_path_get_basename(path);
    base[packed_name_length(base)] = '\0';
    char *name = g_utf8_make_valid(base, -1);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name) {
        *dot = '\0';
    }
    return name;
}

static bool import_stdin(Import *import, GError **error)
{
    g_autoptr(ByteSource) source = byte_source_open_stdin(error);
    return source != NULL && read_stream(import, "standard input", source, NULL, error);
}

bool import_file(Import *import, const char *path, GError **error)
{
    g_autoptr(GError) reading = NULL;
    import->files++;
    if (strcmp(path, "-") == 0) {
        return import_stdin(import, error);
    }
    if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
        return fail(path, EXPORT_ERROR_IO, error, "it is a folder, name the files in it");
    }
    const struct shipped_table *shipped =
        g_file_test(path, G_FILE_TEST_EXISTS) ? NULL : shipped_find(path);
    if (shipped != NULL) {
        g_autofree char *name = g_strconcat(shipped->name, ".csv", NULL);
        import->files--; /* import_bytes() counts the file */
        return import_bytes(import, name, shipped->text, strlen(shipped->text), error);
    }
    g_autoptr(ByteSource) source = byte_source_open(path, &reading);
    if (source == NULL) {
        return fail(path, EXPORT_ERROR_IO, error,
                    "%s; check the path and its permissions, or name a network that comes with the "
                    "program (skipjack networks --shipped)",
                    reading->message);
    }
    bool again = !byte_source_packed(source) && g_file_test(path, G_FILE_TEST_IS_REGULAR);
    return again ? read_plain(import, path, path, path, error)
                 : read_stream(import, path, source, path, error);
}
