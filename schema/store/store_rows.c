/*
 * PostgreSQL's binary form of an array of rows, as array_recv() and
 * record_recv() of its source read it. All numbers are in network byte order.
 *
 *   array: dimensions (0 or 1), flag, element type, [length, lower bound 1],
 *     elements
 *   element: length in bytes (-1 for null), value
 *   row: number of fields; each field: type, length, value
 *
 * A row's length precedes its fields, so rows_begin() leaves a gap that
 * rows_end() fills.
 */
#include "schema/store/store_rows.h"

#include <math.h>
#include <string.h>

static void put_2(GByteArray *out, uint16_t value)
{
    value = GUINT16_TO_BE(value);
    g_byte_array_append(out, (const guint8 *)&value, sizeof value);
}

static void put_4(GByteArray *out, uint32_t value)
{
    value = GUINT32_TO_BE(value);
    g_byte_array_append(out, (const guint8 *)&value, sizeof value);
}

static void put_8(GByteArray *out, uint64_t value)
{
    value = GUINT64_TO_BE(value);
    g_byte_array_append(out, (const guint8 *)&value, sizeof value);
}

/* PostgreSQL's array header: the number of dimensions, a flag for nulls (unused: a null element has length
 * -1), the element type; then length and lower bound of the dimension. */
void rows_array(GByteArray *out, unsigned type, int count)
{
    put_4(out, count > 0);
    put_4(out, 0);
    put_4(out, type);
    if (count == 0)
        return;
    put_4(out, (uint32_t)count);
    put_4(out, 1);
}

/* ---- elements: a length, then the value ---- */

void rows_bool(GByteArray *out, bool value)
{
    guint8 byte = value;
    put_4(out, 1);
    g_byte_array_append(out, &byte, 1);
}

void rows_int2(GByteArray *out, int value)
{
    put_4(out, 2);
    put_2(out, (uint16_t)value);
}

void rows_int4(GByteArray *out, int32_t value)
{
    put_4(out, 4);
    put_4(out, (uint32_t)value);
}

void rows_int8(GByteArray *out, int64_t value)
{
    put_4(out, 8);
    put_8(out, (uint64_t)value);
}

void rows_double(GByteArray *out, double value)
{
    uint64_t bits;
    value = isfinite(value) ? value : 0;
    memcpy(&bits, &value, sizeof bits);
    put_4(out, 8);
    put_8(out, bits);
}

void rows_text(GByteArray *out, const char *text)
{
    g_autofree char *mended = NULL;
    if (text == NULL) {
        put_4(out, UINT32_MAX);
        return;
    }
    gsize length = strlen(text);
    if (!g_utf8_validate(text, (gssize)length, NULL)) {
        mended = g_utf8_make_valid(text, (gssize)length);
        text = mended;
        length = strlen(text);
    }
    put_4(out, (uint32_t)length);
    g_byte_array_append(out, (const guint8 *)text, (guint)length);
}

/* ---- rows: a length, the number of fields, and each field's type before its value ---- */

guint rows_begin(GByteArray *out, int fields)
{
    guint begun = out->len;
    put_4(out, 0);
    put_4(out, (uint32_t)fields);
    return begun;
}

void rows_end(GByteArray *out, guint begun)
{
    uint32_t length = GUINT32_TO_BE((uint32_t)(out->len - begun - sizeof length));
    memcpy(out->data + begun, &length, sizeof length);
}

void rows_field_bool(GByteArray *out, bool value)
{
    put_4(out, ROW_BOOL);
    rows_bool(out, value);
}

void rows_field_int2(GByteArray *out, int value)
{
    put_4(out, ROW_INT2);
    rows_int2(out, value);
}

void rows_field_int4(GByteArray *out, int32_t value)
{
    put_4(out, ROW_INT4);
    rows_int4(out, value);
}

void rows_field_int8(GByteArray *out, int64_t value)
{
    put_4(out, ROW_INT8);
    rows_int8(out, value);
}

void rows_field_double(GByteArray *out, double value)
{
    put_4(out, ROW_DOUBLE);
    rows_double(out, value);
}

void rows_field_null(GByteArray *out, enum row_type type)
{
    put_4(out, type);
    put_4(out, UINT32_MAX); /* the length -1 */
}

void rows_field_text(GByteArray *out, const char *text)
{
    put_4(out, ROW_TEXT);
    rows_text(out, text);
}

guint rows_field_array(GByteArray *out, enum row_type type, enum row_type element_type, int count)
{
    put_4(out, type);
    guint begun = out->len;
    put_4(out, 0);
    rows_array(out, element_type, count);
    return begun;
}
