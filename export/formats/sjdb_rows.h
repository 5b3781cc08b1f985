/*
 * Distinct rows of numbers, each with an id in the order of its coming, and the columns that hold
 * them packed. Internal to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_ROWS_H
#define EXPORT_SJDB_ROWS_H

#include "export/formats/sjdb_file.h"

#define SJDB_FIELDS_MAX 24

struct sjdb_rows {
    int fields;
    GHashTable *ids; /* uint64_t[fields + 1], owned: the fields, then the id */
    GPtrArray *rows; /* the same, by id */
};
void sjdb_rows_init(struct sjdb_rows *rows, int fields);
void sjdb_rows_clear(struct sjdb_rows *rows);
/* The id of the row with these fields, which is added unless it is there. */
guint32 sjdb_rows_add(struct sjdb_rows *rows, const uint64_t *fields);
const uint64_t *sjdb_rows_get(const struct sjdb_rows *rows, guint32 id);

/* Ids in an order that depends on the fields alone: by hash where by_hash, ties and else by field.
 * guint32, rows->rows->len of them. */
GArray *sjdb_rows_order(const struct sjdb_rows *rows, bool by_hash);
/* Where each id stands in such an order. */
GArray *sjdb_rank_of(const GArray *order);

/* Writes a table of `count` rows of `columns` numbers each as sections: the rows, the columns' widths,
 * where their dictionaries begin, and those. A column has a dictionary where that takes less room. */
struct sjdb_table_kinds {
    uint32_t rows, widths, starts, values;
};
void sjdb_table_write(const uint64_t *cells, gsize count, int columns,
                      const struct sjdb_table_kinds *kinds, SjdbFile *file);

/* Lists of numbers, each once, with an id in the order of their coming. */
struct sjdb_lists {
    GHashTable *ids;        /* GBytes of uint64_t to id */
    GArray *starts, *items; /* uint64_t, as they are written; starts has one more */
};
void sjdb_lists_init(struct sjdb_lists *lists);
void sjdb_lists_clear(struct sjdb_lists *lists);
guint32 sjdb_lists_add(struct sjdb_lists *lists, const uint64_t *items, gsize count);

/* Sorts numbers and leaves each once. */
void sjdb_make_distinct(GArray *numbers);
/* Where a number stands among such numbers, which hold it. */
uint64_t sjdb_index_of(const GArray *distinct, uint64_t number);

#endif
