/*
 * Distinct rows of numbers, each with an id in the order of their coming, and the columns that hold
 * them packed. Internal to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_ROWS_H
#define EXPORT_SJDB_ROWS_H

#include "export/sjdb/sjdb_dictionary.h"
#include "export/sjdb/sjdb_file.h"

#define SJDB_FIELDS_MAX 24

struct sjdb_rows {
    int fields;
    struct sjdb_dictionary packed;
};
void sjdb_rows_init(struct sjdb_rows *rows, int fields);
void sjdb_rows_clear(struct sjdb_rows *rows);
/* The id of the row with these fields, which is added unless it is there. */
guint32 sjdb_rows_add(struct sjdb_rows *rows, const uint64_t *fields);
guint32 sjdb_rows_count(const struct sjdb_rows *rows);
void sjdb_rows_get(const struct sjdb_rows *rows, guint32 id, uint64_t *fields);
/* Each number of one field becomes its rank; where none_is_0, 0 stays and others are 1 and theirs. Ids
 * stay. */
void sjdb_rows_rename(struct sjdb_rows *rows, int field, const GArray *ranks, bool none_is_0);

/* Ids in an order that depends on the fields alone: by hash where by_hash, ties and else by field.
 * guint32, as many as there are rows. */
GArray *sjdb_rows_order(const struct sjdb_rows *rows, bool by_hash);
/* Where each id stands in such an order. */
GArray *sjdb_rank_of(const GArray *order);

/* Numbers that may get a dictionary, where that takes less room. */
struct sjdb_column {
    GArray *distinct; /* uint64_t: the dictionary once it is chosen; NULL: they stand as they are */
    guint limit;      /* of the numbers that wait to be made distinct */
    uint64_t count;
    unsigned width; /* once it is chosen */
};
void sjdb_column_init(struct sjdb_column *column);
void sjdb_column_clear(struct sjdb_column *column);
void sjdb_column_add(struct sjdb_column *column, uint64_t number);
/* When all were added. */
void sjdb_column_choose(struct sjdb_column *column);
/* What stands for one of them, in the column's width. */
uint64_t sjdb_column_code(const struct sjdb_column *column, uint64_t number);

/* Writes a table of `count` rows of `columns` numbers each as sections: the rows, the columns' widths,
 * where their dictionaries begin, and those. */
struct sjdb_table_kinds {
    uint32_t rows, widths, starts, values;
};
struct sjdb_table {
    void (*get)(const void *data, gsize row, uint64_t *cells); /* asked twice for each */
    const void *data;
    gsize count;
    int columns;
};
void sjdb_table_write(const struct sjdb_table *table, const struct sjdb_table_kinds *kinds,
                      SjdbFile *file);

/* Lists of numbers, each once, with an id in the order of their coming. */
struct sjdb_lists {
    struct sjdb_dictionary ids;
    GArray *starts, *items; /* uint64_t, as they are written; starts has one more */
};
void sjdb_lists_init(struct sjdb_lists *lists);
void sjdb_lists_clear(struct sjdb_lists *lists);
guint32 sjdb_lists_add(struct sjdb_lists *lists, const uint64_t *items, gsize count);

/* Sorts numbers and leaves each once. */
void sjdb_make_distinct(GArray *numbers);

#endif
