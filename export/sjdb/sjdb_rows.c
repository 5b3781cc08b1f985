#include "export/sjdb/sjdb_rows.h"

#include "export/sjdb/reader/layout.h"

#include <string.h>

void sjdb_rows_init(struct sjdb_rows *rows, int fields)
{
    g_assert(fields <= SJDB_FIELDS_MAX);
    rows->fields = fields;
    sjdb_dictionary_init(&rows->packed);
}

void sjdb_rows_clear(struct sjdb_rows *rows)
{
    sjdb_dictionary_clear(&rows->packed);
}

guint32 sjdb_rows_add(struct sjdb_rows *rows, const uint64_t *fields)
{
    guint8 packed[SJDB_FIELDS_MAX * SJDB_NUMBER_BYTES], *end = packed;
    for (int i = 0; i < rows->fields; i++) {
        end = sjdb_number_put(end, fields[i]);
    }
    return sjdb_dictionary_add(&rows->packed, packed, (gsize)(end - packed));
}

guint32 sjdb_rows_count(const struct sjdb_rows *rows)
{
    return sjdb_dictionary_count(&rows->packed);
}

void sjdb_rows_get(const struct sjdb_rows *rows, guint32 id, uint64_t *fields)
{
    gsize bytes = 0;
    const guint8 *at = sjdb_dictionary_get(&rows->packed, id, &bytes);
    for (int i = 0; i < rows->fields; i++) {
        fields[i] = sjdb_number_take(&at);
    }
}

void sjdb_rows_rename(struct sjdb_rows *rows, int field, const GArray *ranks, bool none_is_0)
{
    struct sjdb_rows renamed;
    guint32 count = sjdb_rows_count(rows);
    sjdb_rows_init(&renamed, rows->fields);
    for (guint32 id = 0; id < count; id++) {
        uint64_t fields[SJDB_FIELDS_MAX];
        sjdb_rows_get(rows, id, fields);
        if (!none_is_0) {
            fields[field] = g_array_index(ranks, guint32, fields[field]);
        } else if (fields[field] > 0) {
            fields[field] = 1 + (uint64_t)g_array_index(ranks, guint32, fields[field] - 1);
        }
        /* Different ids have different ranks, so rows that differed still differ. */
        sjdb_rows_add(&renamed, fields);
    }
    sjdb_rows_clear(rows);
    *rows = renamed;
}

struct ordering {
    const struct sjdb_rows *rows;
    uint64_t *hashes; /* each row's hash, by id; NULL to sort by the row's fields only */
};

static gint compare_ids(gconstpointer a, gconstpointer b, gpointer data)
{
    const struct ordering *ordering = data;
    guint32 one = *(const guint32 *)a, other = *(const guint32 *)b;
    uint64_t fields[SJDB_FIELDS_MAX], other_fields[SJDB_FIELDS_MAX];
    if (ordering->hashes != NULL && ordering->hashes[one] != ordering->hashes[other]) {
        return ordering->hashes[one] < ordering->hashes[other] ? -1 : 1;
    }
    sjdb_rows_get(ordering->rows, one, fields);
    sjdb_rows_get(ordering->rows, other, other_fields);
    for (int i = 0; i < ordering->rows->fields; i++) {
        if (fields[i] != other_fields[i]) {
            return fields[i] < other_fields[i] ? -1 : 1;
        }
    }
    return 0;
}

GArray *sjdb_rows_order(const struct sjdb_rows *rows, bool by_hash)
{
    guint32 count = sjdb_rows_count(rows);
    g_autofree uint64_t *hashes = by_hash ? g_new(uint64_t, count + 1) : NULL;
    GArray *order = g_array_sized_new(FALSE, FALSE, sizeof(guint32), count);
    struct ordering ordering = {rows, hashes};
    for (guint32 i = 0; i < count; i++) {
        g_array_append_val(order, i);
        if (by_hash) {
            uint64_t fields[SJDB_FIELDS_MAX];
            sjdb_rows_get(rows, i, fields);
            hashes[i] = sjdb_fields_hash(fields, rows->fields);
        }
    }
    g_array_sort_with_data(order, compare_ids, &ordering);
    return order;
}

GArray *sjdb_rank_of(const GArray *order)
{
    GArray *rank = g_array_sized_new(FALSE, TRUE, sizeof(guint32), order->len);
    g_array_set_size(rank, order->len);
    for (guint32 i = 0; i < order->len; i++) {
        g_array_index(rank, guint32, g_array_index(order, guint32, i)) = i;
    }
    return rank;
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

void sjdb_make_distinct(GArray *numbers)
{
    guint kept = 0;
    g_array_sort(numbers, compare_numbers);
    for (guint i = 0; i < numbers->len; i++) {
        uint64_t number = g_array_index(numbers, uint64_t, i);
        if (i == 0 || number != g_array_index(numbers, uint64_t, kept - 1)) {
            g_array_index(numbers, uint64_t, kept++) = number;
        }
    }
    g_array_set_size(numbers, kept);
}

/* Returns the index of a number in a sorted list, which must contain it. */
static uint64_t index_of(const GArray *distinct, uint64_t number)
{
    guint low = 0, high = distinct->len;
    while (high - low > 1) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(distinct, uint64_t, middle) <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A column removes duplicates when it holds this many numbers, and again whenever it holds twice as
 * many as were left. Columns have few distinct numbers, so little memory is needed. */
#define WAIT_LEAST 1024

void sjdb_column_init(struct sjdb_column *column)
{
    *column = (struct sjdb_column){.limit = WAIT_LEAST};
    column->distinct = g_array_new(FALSE, FALSE, sizeof(uint64_t));
}

void sjdb_column_clear(struct sjdb_column *column)
{
    g_clear_pointer(&column->distinct, g_array_unref);
}

void sjdb_column_add(struct sjdb_column *column, uint64_t number)
{
    column->count++;
    g_array_append_val(column->distinct, number);
    if (column->distinct->len >= column->limit) {
        sjdb_make_distinct(column->distinct);
        column->limit = MAX(WAIT_LEAST, 2 * column->distinct->len);
    }
}

void sjdb_column_choose(struct sjdb_column *column)
{
    sjdb_make_distinct(column->distinct);
    guint distinct = column->distinct->len;
    unsigned plain =
        sjdb_bits_for(distinct > 0 ? g_array_index(column->distinct, uint64_t, distinct - 1) : 0);
    column->width = sjdb_bits_for(distinct > 0 ? distinct - 1 : 0);
    if ((double)plain * (double)column->count <=
        (double)column->width * (double)column->count + (double)plain * distinct) {
        column->width = plain;
        sjdb_column_clear(column);
    }
}

uint64_t sjdb_column_code(const struct sjdb_column *column, uint64_t number)
{
    return column->distinct != NULL ? index_of(column->distinct, number) : number;
}

static void choose_columns(const struct sjdb_table *table, struct sjdb_column *chosen)
{
    uint64_t cells[SJDB_FIELDS_MAX];
    for (int c = 0; c < table->columns; c++) {
        sjdb_column_init(&chosen[c]);
    }
    for (gsize i = 0; i < table->count; i++) {
        table->get(table->data, i, cells);
        for (int c = 0; c < table->columns; c++) {
            sjdb_column_add(&chosen[c], cells[c]);
        }
    }
    for (int c = 0; c < table->columns; c++) {
        sjdb_column_choose(&chosen[c]);
    }
}

static void write_cells(const struct sjdb_table *table, const struct sjdb_column *chosen,
                        uint32_t kind, SjdbFile *file)
{
    struct sjdb_bits bits;
    uint64_t cells[SJDB_FIELDS_MAX];
    unsigned row_width = 0;
    sjdb_bits_init(&bits, file);
    for (int c = 0; c < table->columns; c++) {
        row_width += chosen[c].width;
    }
    for (gsize i = 0; i < table->count; i++) {
        table->get(table->data, i, cells);
        for (int c = 0; c < table->columns; c++) {
            sjdb_bits_append(&bits, sjdb_column_code(&chosen[c], cells[c]), chosen[c].width);
        }
    }
    sjdb_file_add_bits(file, kind, &bits, row_width, table->count);
    sjdb_bits_clear(&bits);
}

void sjdb_table_write(const struct sjdb_table *table, const struct sjdb_table_kinds *kinds,
                      SjdbFile *file)
{
    struct sjdb_column chosen[SJDB_FIELDS_MAX];
    g_autoptr(GArray) widths = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_assert(table->columns <= SJDB_FIELDS_MAX);
    choose_columns(table, chosen);
    write_cells(table, chosen, kinds->rows, file);
    for (int c = 0; c <= table->columns; c++) {
        uint64_t start = values->len;
        g_array_append_val(starts, start);
        if (c < table->columns) {
            uint64_t width = chosen[c].width;
            g_array_append_val(widths, width);
            if (chosen[c].distinct != NULL) {
                g_array_append_vals(values, chosen[c].distinct->data, chosen[c].distinct->len);
            }
            sjdb_column_clear(&chosen[c]);
        }
    }
    sjdb_file_add_array(file, kinds->widths, widths);
    sjdb_file_add_array(file, kinds->starts, starts);
    sjdb_file_add_array(file, kinds->values, values);
}

void sjdb_lists_init(struct sjdb_lists *lists)
{
    uint64_t start = 0;
    sjdb_dictionary_init(&lists->ids);
    lists->starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    lists->items = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_array_append_val(lists->starts, start);
}

void sjdb_lists_clear(struct sjdb_lists *lists)
{
    sjdb_dictionary_clear(&lists->ids);
    g_clear_pointer(&lists->starts, g_array_unref);
    g_clear_pointer(&lists->items, g_array_unref);
}

guint32 sjdb_lists_add(struct sjdb_lists *lists, const uint64_t *items, gsize count)
{
    guint32 known = sjdb_dictionary_count(&lists->ids);
    guint32 id = sjdb_dictionary_add(&lists->ids, items, count * sizeof *items);
    if (id == known) {
        g_array_append_vals(lists->items, items, (guint)count);
        uint64_t start = lists->items->len;
        g_array_append_val(lists->starts, start);
    }
    return id;
}
