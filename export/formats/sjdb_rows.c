#include "export/formats/sjdb_rows.h"

#include "export/reader/layout.h"

#include <string.h>

/* The number of fields stands in front of them, so that hashing knows it. */
static guint row_hash(gconstpointer key)
{
    const uint64_t *row = key;
    return (guint)sjdb_fields_hash(row + 1, (int)row[0]);
}

static gboolean row_equal(gconstpointer a, gconstpointer b)
{
    const uint64_t *one = a, *other = b;
    return memcmp(one, other, (one[0] + 1) * sizeof *one) == 0;
}

void sjdb_rows_init(struct sjdb_rows *rows, int fields)
{
    g_assert(fields <= SJDB_FIELDS_MAX);
    rows->fields = fields;
    rows->ids = g_hash_table_new(row_hash, row_equal);
    rows->rows = g_ptr_array_new_with_free_func(g_free);
}

void sjdb_rows_clear(struct sjdb_rows *rows)
{
    g_clear_pointer(&rows->ids, g_hash_table_unref);
    g_clear_pointer(&rows->rows, g_ptr_array_unref);
}

guint32 sjdb_rows_add(struct sjdb_rows *rows, const uint64_t *fields)
{
    uint64_t row[SJDB_FIELDS_MAX + 1];
    gpointer id = NULL;
    gsize bytes = (gsize)rows->fields * sizeof *fields;
    row[0] = (uint64_t)rows->fields;
    memcpy(row + 1, fields, bytes);
    if (g_hash_table_lookup_extended(rows->ids, row, NULL, &id)) {
        return GPOINTER_TO_UINT(id);
    }
    g_ptr_array_add(rows->rows, g_memdup2(row, bytes + sizeof *row));
    g_hash_table_insert(rows->ids, rows->rows->pdata[rows->rows->len - 1],
                        GUINT_TO_POINTER(rows->rows->len - 1));
    return rows->rows->len - 1;
}

const uint64_t *sjdb_rows_get(const struct sjdb_rows *rows, guint32 id)
{
    return (const uint64_t *)rows->rows->pdata[id] + 1;
}

struct ordering {
    const struct sjdb_rows *rows;
    bool by_hash;
};

static gint compare_ids(gconstpointer a, gconstpointer b, gpointer data)
{
    const struct ordering *ordering = data;
    const uint64_t *one = sjdb_rows_get(ordering->rows, *(const guint32 *)a);
    const uint64_t *other = sjdb_rows_get(ordering->rows, *(const guint32 *)b);
    if (ordering->by_hash) {
        uint64_t hash = sjdb_fields_hash(one, ordering->rows->fields);
        uint64_t other_hash = sjdb_fields_hash(other, ordering->rows->fields);
        if (hash != other_hash) {
            return hash < other_hash ? -1 : 1;
        }
    }
    for (int i = 0; i < ordering->rows->fields; i++) {
        if (one[i] != other[i]) {
            return one[i] < other[i] ? -1 : 1;
        }
    }
    return 0;
}

GArray *sjdb_rows_order(const struct sjdb_rows *rows, bool by_hash)
{
    GArray *order = g_array_sized_new(FALSE, FALSE, sizeof(guint32), rows->rows->len);
    struct ordering ordering = {rows, by_hash};
    for (guint32 i = 0; i < rows->rows->len; i++) {
        g_array_append_val(order, i);
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

uint64_t sjdb_index_of(const GArray *distinct, uint64_t number)
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

/* One column on its way into a table. */
struct column {
    GArray *distinct; /* its dictionary; NULL: numbers stand as they are */
    unsigned width;
};

static void choose_column(const uint64_t *cells, gsize count, int columns, int which,
                          struct column *column)
{
    GArray *distinct = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (gsize i = 0; i < count; i++) {
        g_array_append_val(distinct, cells[i * (gsize)columns + (gsize)which]);
    }
    sjdb_make_distinct(distinct);
    uint64_t largest = distinct->len > 0 ? g_array_index(distinct, uint64_t, distinct->len - 1) : 0;
    unsigned plain = sjdb_bits_for(largest);
    unsigned packed = sjdb_bits_for(distinct->len > 0 ? distinct->len - 1 : 0);
    double packed_bits = (double)packed * (double)count + (double)plain * distinct->len;
    if (packed_bits < (double)plain * (double)count) {
        *column = (struct column){distinct, packed};
    } else {
        *column = (struct column){NULL, plain};
        g_array_unref(distinct);
    }
}

static void write_cells(const uint64_t *cells, gsize count, int columns,
                        const struct column *chosen, uint32_t kind, SjdbFile *file)
{
    struct sjdb_bits bits;
    unsigned row_width = 0;
    sjdb_bits_init(&bits, file);
    for (int c = 0; c < columns; c++) {
        row_width += chosen[c].width;
    }
    for (gsize i = 0; i < count; i++) {
        for (int c = 0; c < columns; c++) {
            uint64_t cell = cells[i * (gsize)columns + (gsize)c];
            sjdb_bits_append(
                &bits, chosen[c].distinct != NULL ? sjdb_index_of(chosen[c].distinct, cell) : cell,
                chosen[c].width);
        }
    }
    sjdb_file_add_bits(file, kind, &bits, row_width, count);
    sjdb_bits_clear(&bits);
}

void sjdb_table_write(const uint64_t *cells, gsize count, int columns,
                      const struct sjdb_table_kinds *kinds, SjdbFile *file)
{
    struct column chosen[SJDB_FIELDS_MAX];
    g_autoptr(GArray) widths = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_assert(columns <= SJDB_FIELDS_MAX);
    for (int c = 0; c <= columns; c++) {
        uint64_t start = values->len;
        g_array_append_val(starts, start);
        if (c < columns) {
            choose_column(cells, count, columns, c, &chosen[c]);
            uint64_t width = chosen[c].width;
            g_array_append_val(widths, width);
            if (chosen[c].distinct != NULL) {
                g_array_append_vals(values, chosen[c].distinct->data, chosen[c].distinct->len);
            }
        }
    }
    write_cells(cells, count, columns, chosen, kinds->rows, file);
    for (int c = 0; c < columns; c++) {
        g_clear_pointer(&chosen[c].distinct, g_array_unref);
    }
    sjdb_file_add_array(file, kinds->widths, widths);
    sjdb_file_add_array(file, kinds->starts, starts);
    sjdb_file_add_array(file, kinds->values, values);
}

void sjdb_lists_init(struct sjdb_lists *lists)
{
    uint64_t start = 0;
    lists->ids =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    lists->starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    lists->items = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_array_append_val(lists->starts, start);
}

void sjdb_lists_clear(struct sjdb_lists *lists)
{
    g_clear_pointer(&lists->ids, g_hash_table_unref);
    g_clear_pointer(&lists->starts, g_array_unref);
    g_clear_pointer(&lists->items, g_array_unref);
}

guint32 sjdb_lists_add(struct sjdb_lists *lists, const uint64_t *items, gsize count)
{
    g_autoptr(GBytes) content = g_bytes_new(items, count * sizeof *items);
    gpointer known = NULL;
    if (g_hash_table_lookup_extended(lists->ids, content, NULL, &known)) {
        return GPOINTER_TO_UINT(known);
    }
    guint32 id = lists->starts->len - 1;
    g_array_append_vals(lists->items, items, (guint)count);
    uint64_t start = lists->items->len;
    g_array_append_val(lists->starts, start);
    g_hash_table_insert(lists->ids, g_steal_pointer(&content), GUINT_TO_POINTER(id));
    return id;
}
