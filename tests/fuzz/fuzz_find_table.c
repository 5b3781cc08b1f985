/* Any bytes as a find-db: every line becomes a row or is reported as bad, and rows are in order. */
#include "export/formats/find_table.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_bad(void *data, int64_t number, const char *reason)
{
    g_assert(number > 0 && reason != NULL);
    (*(int64_t *)data)++;
}

static int64_t count_lines(const uint8_t *data, size_t size)
{
    int64_t lines = size > 0 && data[size - 1] != '\n';
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t bad = 0;
    GString *text = g_string_new_len((const char *)data, (gssize)size);
    g_autoptr(FindTable) table = find_table_cut(text, count_bad, &bad);
    g_assert_cmpint(bad + table->rows->len, ==, count_lines(data, size));
    for (guint i = 0; i < table->rows->len; i++) {
        const struct find_row *row = &g_array_index(table->rows, struct find_row, i);
        g_assert(span_printable(row->text));
        g_assert(row->text.at[row->key_length] == '=');
        g_assert(find_row_entries(row).length + row->key_length + 1 == row->text.length);
        g_assert(
            i == 0 || span_compare(find_row_key(row - 1), find_row_key(row)) < 0 ||
            (span_equal(find_row_key(row - 1), find_row_key(row)) && row[-1].number < row->number));
    }
    return 0;
}
