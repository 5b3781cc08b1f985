/*
 * Stores rows of numbers, each distinct row once, with ids 0, 1, 2... in the order in which they
 * are added; and packs rows into columns with dictionaries. Internal to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_SJDB_ROWS_H
#define EXPORT_SJDB_SJDB_ROWS_H

#include "export/sjdb/sjdb_dictionary.h"
#include "export/sjdb/sjdb_file.h"

#define SJDB_FIELDS_MAX 24

struct sjdb_rows {
    int fields;
    struct sjdb_dictionary packed;
};
void sjdb_rows_init(struct sjdb_rows *rows, int fields);
void sjdb_rows_clear(struct sjdb_rows *rows);
/* Returns the row's id. A row that is new gets the next id. */
guint32 sjdb_rows_add(struct sjdb_rows *rows, const uint64_t *fields);
guint32 sjdb_rows_count(const struct sjdb_rows *rows);
void sjdb_rows_get(const struct sjdb_rows *rows, guint32 id, uint64_t *fields);
/* Replaces the ids in one field of all rows by their ranks, their numbers in the file. If
 * none_is_0, the field holds id + 1, or 0 for none, and gets rank + 1 or 0. The rows keep their own
 * ids. */
void sjdb_rows_rename(struct sjdb_rows *rows, int field, const GArray *ranks, bool none_is_0);

/* Returns the ids of all rows (guint32) in an order that does not depend on the order of adding: if
 * by_hash, sorted by hash and then by fields, else by fields. */
GArray *sjdb_rows_order(const struct sjdb_rows *rows, bool by_hash);
/* Returns the inverse of an order: the position of each id in it. */
GArray *sjdb_rank_of(const GArray *order);

/* A column of numbers in the file: the numbers themselves, or indices into a dictionary of the
 * distinct ones, whichever takes fewer bits. */
struct sjdb_column {
    GArray *distinct; /* uint64_t: the dictionary; NULL if the numbers themselves are stored */
    guint limit;      /* how many numbers to collect before duplicates are removed again */
    uint64_t count;
    unsigned width; /* bits of a stored number; valid after sjdb_column_choose() */
};
void sjdb_column_init(struct sjdb_column *column);
void sjdb_column_clear(struct sjdb_column *column);
void sjdb_column_add(struct sjdb_column *column, uint64_t number);
/* Decides whether the column gets a dictionary. Called once all numbers are added. */
void sjdb_column_choose(struct sjdb_column *column);
/* Returns what the file stores for a number: the number, or its index in the dictionary. */
uint64_t sjdb_column_code(const struct sjdb_column *column, uint64_t number);

/* The kinds of a table's four sections: its rows, the bit widths of its columns, where each
 * column's dictionary begins, and the dictionaries. */
struct sjdb_table_kinds {
    uint32_t rows, widths, starts, values;
};
struct sjdb_table {
    /* sets the cells of a row; called twice for each row, to choose the columns and to write it */
    void (*get)(const void *data, gsize row, uint64_t *cells);
    const void *data;
    gsize count;
    int columns;
};
void sjdb_table_write(const struct sjdb_table *table, const struct sjdb_table_kinds *kinds,
                      SjdbFile *file);

/* Stores lists of numbers, each distinct list once, with ids 0, 1, 2... in the order in which they
 * are added. */
struct sjdb_lists {
    struct sjdb_dictionary ids;
    /* uint64_t: offset of each list in `items`, and the end of the last one; the lists' numbers */
    GArray *starts, *items;
};
void sjdb_lists_init(struct sjdb_lists *lists);
void sjdb_lists_clear(struct sjdb_lists *lists);
guint32 sjdb_lists_add(struct sjdb_lists *lists, const uint64_t *items, gsize count);

/* Sorts numbers and removes duplicates. */
void sjdb_make_distinct(GArray *numbers);

#endif
