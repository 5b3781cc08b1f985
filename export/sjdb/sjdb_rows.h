/*
 * Interns rows of numbers, each distinct one with an id in the order of adding, and packs them into
 * columns with dictionaries. Internal to the writer of .sjdb.
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
/* Returns the row's id, adding it if it is new. */
guint32 sjdb_rows_add(struct sjdb_rows *rows, const uint64_t *fields);
guint32 sjdb_rows_count(const struct sjdb_rows *rows);
void sjdb_rows_get(const struct sjdb_rows *rows, guint32 id, uint64_t *fields);
/* Replaces each id in one field by its rank. If none_is_0, 0 stays 0 and others are stored + 1. Row
 * ids stay. */
void sjdb_rows_rename(struct sjdb_rows *rows, int field, const GArray *ranks, bool none_is_0);

/* Returns the ids (guint32) in an order that depends on the fields alone: by hash if by_hash, and
 * by field. */
GArray *sjdb_rows_order(const struct sjdb_rows *rows, bool by_hash);
/* The inverse: each id's position in the order. */
GArray *sjdb_rank_of(const GArray *order);

/* A column of numbers, stored as they are or through a dictionary, whichever is smaller. */
struct sjdb_column {
    GArray *distinct; /* uint64_t: the dictionary; NULL if numbers are stored as they are */
    guint limit;      /* numbers collected before duplicates are removed */
    uint64_t count;
    unsigned width; /* valid after sjdb_column_choose() */
};
void sjdb_column_init(struct sjdb_column *column);
void sjdb_column_clear(struct sjdb_column *column);
void sjdb_column_add(struct sjdb_column *column, uint64_t number);
/* Chooses the form; to be called when all numbers are added. */
void sjdb_column_choose(struct sjdb_column *column);
/* Returns the stored form of a number, in the column's width. */
uint64_t sjdb_column_code(const struct sjdb_column *column, uint64_t number);

/* The section kinds of a table: its rows, the widths of its columns, where each column's dictionary
 * begins, and the dictionaries. */
struct sjdb_table_kinds {
    uint32_t rows, widths, starts, values;
};
struct sjdb_table {
    void (*get)(const void *data, gsize row, uint64_t *cells); /* called twice for each row */
    const void *data;
    gsize count;
    int columns;
};
void sjdb_table_write(const struct sjdb_table *table, const struct sjdb_table_kinds *kinds,
                      SjdbFile *file);

/* Interns lists of numbers, each distinct one with an id in the order of adding. */
struct sjdb_lists {
    struct sjdb_dictionary ids;
    GArray *starts, *items; /* uint64_t, as written to the file; starts has one more */
};
void sjdb_lists_init(struct sjdb_lists *lists);
void sjdb_lists_clear(struct sjdb_lists *lists);
guint32 sjdb_lists_add(struct sjdb_lists *lists, const uint64_t *items, gsize count);

/* Sorts numbers and removes duplicates. */
void sjdb_make_distinct(GArray *numbers);

#endif
