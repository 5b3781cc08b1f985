#include "export/release/perf_row_blob.h"

#include <string.h>

/* The sign bit of each number is inverted, so that memcmp() puts negative numbers first. */
#define SIGN (UINT64_C(1) << 63)

static guint8 *put_text(guint8 *to, const char *text)
{
    size_t bytes = strlen(text) + 1;
    memcpy(to, text, bytes);
    return to + bytes;
}

static const guint8 *take_text(const guint8 *from, char *text, size_t size)
{
    g_strlcpy(text, (const char *)from, size);
    return from + strlen((const char *)from) + 1;
}

size_t perf_row_to_blob(const struct perf_row *row, guint8 blob[PERF_ROW_BLOB_MAX])
{
    guint8 *at = put_text(put_text(put_text(blob, row->layout), row->data_type), row->direction);
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        uint64_t value = GUINT64_TO_BE((uint64_t)row->values[i] ^ SIGN);
        memcpy(at, &value, sizeof value);
        at += sizeof value;
    }
    return (size_t)(at - blob);
}

void perf_row_from_blob(struct perf_row *row, const guint8 *blob)
{
    const guint8 *at = take_text(blob, row->layout, sizeof row->layout);
    at = take_text(at, row->data_type, sizeof row->data_type);
    at = take_text(at, row->direction, sizeof row->direction);
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        uint64_t value;
        memcpy(&value, at, sizeof value);
        row->values[i] = (int64_t)(GUINT64_FROM_BE(value) ^ SIGN);
        at += sizeof value;
    }
}
