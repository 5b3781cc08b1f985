#include "export/formats/find_table.h"

#include "export/formats/byte_source.h"
#include "export/formats/line_reader.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

struct span find_row_key(const struct find_row *row)
{
    return (struct span){row->text.at, row->key_length};
}

struct span find_row_entries(const struct find_row *row)
{
    return (struct span){row->text.at + row->key_length + 1,
                         row->text.length - row->key_length - 1};
}

void find_table_free(struct find_table *table)
{
    if (table != NULL) {
        g_free(table->bytes);
        g_clear_pointer(&table->rows, g_array_unref);
        g_free(table);
    }
}

/* Returns the buffer's first size: a plain file's size and one byte. The extra byte lets the read
 * that meets the file's end succeed without growing the buffer. */
static size_t first_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size > 0 &&
                   (uint64_t)status.st_size < FIND_TABLE_BYTES_MAX
               ? (size_t)status.st_size + 1
               : 1 << 16;
}

/* Grows the buffer and asks for huge pages: with pages of 4 kB, touching each for the first time
 * takes a quarter of a merge's time. */
static char *grow(char *bytes, size_t room)
{
    char *grown = g_realloc(bytes, room);
    char *end = grown + room;
    char *first = grown + (HUGE_PAGE_BYTES - (uintptr_t)grown % HUGE_PAGE_BYTES);
    if (room >= 2 * HUGE_PAGE_BYTES) {
        /* A failure is ignored: without huge pages the merge is only slower. */
        (void)madvise(first, (size_t)(end - first) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES,
                      MADV_HUGEPAGE);
    }
    return grown;
}

/* Checks the limits on a line's length and on the file's size after `length` bytes were added, so
 * that an endless file, or a few packed bytes, cannot fill the memory. *line_start, the offset of
 * the last line's beginning, is updated. */
static bool check_limits(const struct find_table *table, const char *path, size_t length,
                         size_t *line_start, GError **error)
{
    const char *last = memrchr(table->bytes + table->size - length, '\n', length);
    *line_start = last != NULL ? (size_t)(last + 1 - table->bytes) : *line_start;
    if (table->size - *line_start > LINE_BYTES_SKIPPED) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                    "'%s' has a line longer than %d MiB: this is no find-db", path,
                    LINE_BYTES_SKIPPED >> 20);
        return false;
    }
    if (table->size > FIND_TABLE_BYTES_MAX) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED,
                    "'%s' holds more than %" G_GUINT64_FORMAT " bytes", path, FIND_TABLE_BYTES_MAX);
        return false;
    }
    return true;
}

static bool read_bytes(struct find_table *table, const char *path, GError **error)
{
    size_t length = 0, line_start = 0, room = first_size(path);
    g_autoptr(ByteSource) source = byte_source_open(path, error);
    if (source == NULL) {
        return false;
    }
    table->bytes = grow(NULL, room);
    do {
        if (table->size == room) {
            room *= 2;
            table->bytes = grow(table->bytes, room);
        }
        if (!byte_source_read(source, table->bytes + table->size, room - table->size, &length,
                              error)) {
            table->size = (size_t)byte_source_verified(source);
            return false;
        }
        table->size += length;
        if (!check_limits(table, path, length, &line_start, error)) {
            return false;
        }
    } while (length > 0);
    return true;
}

static const char *take_row(struct span text, struct find_row *row)
{
    if (text.length > 0 && text.at[text.length - 1] == '\r') {
        text.length--;
    }
    if (text.length > LINE_BYTES_MAX) {
        return "the line is longer than 1 MiB";
    }
    if (!span_printable(text)) {
        return "the line holds a byte that is not printable ASCII";
    }
    struct span key, entries = text;
    const char *wrong = find_key_scan(&entries, &key);
    if (wrong == NULL) {
        row->text = text;
        row->key_length = (uint32_t)key.length;
    }
    return wrong;
}

static int compare_rows(const void *a, const void *b)
{
    const struct find_row *left = a, *right = b;
    int order = span_compare(find_row_key(left), find_row_key(right));
    return order != 0 ? order : (left->number > right->number) - (left->number < right->number);
}

/* Splits the bytes into lines, and stops one line above FIND_TABLE_ROWS_MAX, so that the caller
 * sees the excess. *number becomes the number of the first line not split. */
static void cut_lines(struct find_table *table, int64_t *number, find_bad_line *bad, void *data)
{
    const char *at = table->bytes, *end = table->bytes + table->size;
    bool sorted = true;
    struct find_row last = {0};
    for (*number = 1; at < end && table->rows->len <= FIND_TABLE_ROWS_MAX; (*number)++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop != NULL ? stop : end) - at);
        size_t mark = *number == 1 ? byte_order_mark_length(at, length) : 0;
        struct span text = {at + mark, length - mark};
        struct find_row row = {.number = *number};
        const char *wrong = take_row(text, &row);
        at = stop != NULL ? stop + 1 : end;
        if (wrong != NULL) {
            bad(data, *number, wrong);
            continue;
        }
        sorted = sorted && (last.text.at == NULL || compare_rows(&last, &row) < 0);
        g_array_append_val(table->rows, row);
        last = row;
    }
    if (!sorted) {
        g_array_sort(table->rows, compare_rows);
    }
}

/* Drops the last line if damage cut it off. */
static void drop_torn_line(struct find_table *table)
{
    while (table->size > 0 && table->bytes[table->size - 1] != '\n') {
        table->size--;
    }
}

struct find_table *find_table_read(const char *path, find_bad_line *bad, void *data, GError **error)
{
    int64_t number = 0;
    g_autoptr(GError) damage = NULL;
    g_autoptr(FindTable) table = g_new0(struct find_table, 1);
    table->rows = g_array_new(FALSE, FALSE, sizeof(struct find_row));
    bool whole = read_bytes(table, path, &damage);
    if (!whole && table->size == 0) {
        g_propagate_error(error, g_steal_pointer(&damage));
        return NULL;
    }
    if (!whole) {
        drop_torn_line(table);
    }
    cut_lines(table, &number, bad, data);
    if (table->rows->len > FIND_TABLE_ROWS_MAX) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND, "'%s' holds more than %d keys", path,
                    FIND_TABLE_ROWS_MAX);
        return NULL;
    }
    if (!whole) {
        bad(data, number, damage->message);
    }
    return g_steal_pointer(&table);
}

struct find_table *find_table_cut(GString *text, find_bad_line *bad, void *data)
{
    int64_t number = 0;
    FindTable *table = g_new0(struct find_table, 1);
    table->rows = g_array_new(FALSE, FALSE, sizeof(struct find_row));
    table->size = text->len;
    table->bytes = g_string_free(text, FALSE);
    cut_lines(table, &number, bad, data);
    return table;
}
