/*
 * Many rows as one parameter of a statement: an array of a table's row type in
 * PostgreSQL's binary form (network byte order; array_recv() and record_recv()
 * of its source). The server reads it several times faster than JSON. A row's
 * fields follow in the order of the table's columns, each of exactly the
 * column's type. Internal to the store.
 */
#ifndef SCHEMA_STORE_STORE_ROWS_H
#define SCHEMA_STORE_STORE_ROWS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* PostgreSQL's type numbers, which never change (pg_type.dat). */
enum row_type {
    ROW_BOOL = 16,
    ROW_INT8 = 20,
    ROW_INT2 = 21,
    ROW_INT4 = 23,
    ROW_TEXT = 25,
    ROW_DOUBLE = 701,
    ROW_INT2S = 1005,
    ROW_INT4S = 1007,
    ROW_TEXTS = 1009,
    ROW_INT8S = 1016,
    ROW_DOUBLES = 1022,
};

/* Begins an array of `count` elements of the type. Exactly `count` elements must follow. */
void rows_array(GByteArray *out, unsigned type, int count);
/* Elements of an array. A number that is not finite becomes 0. In a text, bytes that are not UTF-8 are
 * replaced; NULL becomes null. */
void rows_bool(GByteArray *out, bool value);
void rows_int2(GByteArray *out, int value);
void rows_int4(GByteArray *out, int32_t value);
void rows_int8(GByteArray *out, int64_t value);
void rows_double(GByteArray *out, double value);
void rows_text(GByteArray *out, const char *text);

/* Begins a row with `fields` fields, as an element of an array of rows. Pass the returned value to
 * rows_end() after the last field. */
guint rows_begin(GByteArray *out, int fields);
void rows_end(GByteArray *out, guint begun);

/* Fields of a row, each preceded by its type. */
void rows_field_bool(GByteArray *out, bool value);
void rows_field_int2(GByteArray *out, int value);
void rows_field_int4(GByteArray *out, int32_t value);
void rows_field_int8(GByteArray *out, int64_t value);
void rows_field_double(GByteArray *out, double value);
void rows_field_text(GByteArray *out, const char *text);
void rows_field_null(GByteArray *out, enum row_type type);
/* Begins a field that is an array of `count` elements. Pass the returned value to rows_end() after the last
 * element. */
guint rows_field_array(GByteArray *out, enum row_type type, enum row_type element_type, int count);

#endif
