/*
 * A table that a command shows: described once by its columns, filled cell by
 * cell, then printed aligned for people or as a JSON array of objects.
 */
#ifndef COORDINATOR_CLI_TABLE_H
#define COORDINATOR_CLI_TABLE_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Columns of a table on a terminal that does not state its width. */
#define TABLE_WIDTH 120
/* Returns how many columns a table may have: the variable COLUMNS if it is set, else the
 * terminal's width. Output that is no terminal has no limit, since a program may read it. */
int table_width(void);

enum table_kind {
    TABLE_TEXT, /* left-aligned */
    TABLE_INT,  /* right-aligned */
    /* a number, right-aligned, with .decimals digits behind the point; -4 prints four
     * significant digits instead */
    TABLE_NUMBER,
    TABLE_YES, /* "yes" or "no"; true or false in JSON */
};

struct table_column {
    /* the column's title for people, such as "time ms"; NULL for a column that only JSON has */
    const char *title;
    const char *key; /* "time_ms" */
    enum table_kind kind;
    int decimals;
};

typedef struct table Table;

/* `columns` must outlive the table. */
Table *table_new(const struct table_column *columns, int count);
void table_free(Table *table);

/* Cells are added from left to right; after the last column the next row begins. The kind must
 * be the column's own. NULL text, and a number that is not finite, are "-" and JSON's null; control characters
 * are blank for people. */
void table_text(Table *table, const char *text);
/* Adds a cell to a column of the kind TABLE_TEXT. People see `text`, JSON has `value`, whose
 * reference is taken over. */
void table_text_as(Table *table, const char *text, json_t *value);
void table_int(Table *table, int64_t value);
/* Adds a cell to a column of the kind TABLE_INT. A value below 0 is unknown: "-" for people, null
 * in JSON. */
void table_count(Table *table, int64_t value);
void table_number(Table *table, double value);
void table_yes(Table *table, bool value);

/* Returns the number with this many significant digits: 12.35, 0.6530, 0.006021; "-" for NaN
 * and infinity. Free with g_free(). */
char *table_significant(double value, int digits);

int table_rows(const Table *table);

/* Prints the titles, then one line per row. A last column that exceeds table_width() fills
 * up to four lines and is then cut with "...". An empty table prints its titles alone. */
void table_print(const Table *table, FILE *out);
/* Returns an array with one object for each row, which has all columns. A new reference. */
json_t *table_json(const Table *table);
/* Prints the table, or its JSON, to standard output. */
void table_show(const Table *table, bool as_json);
/* The last step of a listing command: prints and frees the table; for NULL reports and frees the
 * error. Returns the exit status. */
int table_finish(const char *command, Table *table, bool as_json, GError *error);
/* Prints "title:" and the table below it to standard output; nothing if the table has no rows. */
void table_section(const char *title, const Table *table);
/* Prints json with a line end and releases it. */
void table_show_json(json_t *json);

#endif
