#include "kernels/objects/msgpack.h"

#include <string.h>

#define DEPTH_MAX 32

bool msgpack_text_is(const struct msgpack_text *text, const char *other)
{
    return strlen(other) == text->length && memcmp(text->start, other, text->length) == 0;
}

static size_t bytes_left(const struct msgpack *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* Reads the big-endian number of `bytes` bytes behind the first byte. */
static bool number_behind(const struct msgpack *cursor, int bytes, uint64_t *number)
{
    if (bytes_left(cursor) < 1 + (size_t)bytes)
        return false;
    *number = 0;
    for (int i = 1; i <= bytes; i++)
        *number = *number << 8 | cursor->at[i];
    return true;
}

/* The kind of a value, as its first byte says. */
enum kind { KIND_OTHER, KIND_INT, KIND_TEXT, KIND_MAP, KIND_ARRAY };

/* A value's first bytes, decoded: its kind, the length of these bytes, its number or count of elements, and the
 * `payload` bytes that follow them. */
struct head {
    enum kind kind;
    size_t bytes;
    uint64_t number;
    uint64_t payload;
};

/* Reads the head of a value whose count or number is in its first byte. */
static bool head_in_one(uint8_t first, struct head *head)
{
    static const struct {
        uint8_t mask, is, bits;
        enum kind kind;
    } forms[] = {
        {0x80, 0x00, 0x7f, KIND_INT},  {0xf0, 0x80, 0x0f, KIND_MAP}, {0xf0, 0x90, 0x0f, KIND_ARRAY},
        {0xe0, 0xa0, 0x1f, KIND_TEXT}, {0xe0, 0xe0, 0xff, KIND_INT},
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if ((first & forms[i].mask) != forms[i].is)
            continue;
        *head = (struct head){.kind = forms[i].kind, .bytes = 1, .number = first & forms[i].bits};
        if (first >= 0xe0)
            head->number = (uint64_t)(int64_t)(int8_t)first;
        return true;
    }
    return false;
}

/* Extends the sign of a number; `row` is the first byte less 0xc0, and rows 0x10 to 0x13 hold signed numbers. */
static uint64_t number_of_row(uint64_t number, int row)
{
    switch (row) {
    case 0x10: return (uint64_t)(int8_t)number;
    case 0x11: return (uint64_t)(int16_t)number;
    case 0x12: return (uint64_t)(int32_t)number;
    default: return number;
    }
}

/* How to read values with first bytes 0xc0 to 0xdf: the count of bytes of the number that follows, -1 for a byte that
 * the format never uses. */
static const struct {
    int bytes;
    uint8_t fixed; /* payload bytes besides those that the number counts */
    bool counts;   /* the number counts the payload's bytes */
    enum kind kind;
} forms_behind[32] = {
    [0x00] = {0, 0, false, KIND_OTHER},  /* nil */
    [0x01] = {-1, 0, false, KIND_OTHER}, /* never used */
    [0x02] = {0, 0, false, KIND_OTHER},  /* false */
    [0x03] = {0, 0, false, KIND_OTHER},  /* true */
    [0x04] = {1, 0, true, KIND_OTHER},   [0x05] = {2, 0, true, KIND_OTHER},
    [0x06] = {4, 0, true, KIND_OTHER}, /* binary */
    [0x07] = {1, 1, true, KIND_OTHER},   [0x08] = {2, 1, true, KIND_OTHER},
    [0x09] = {4, 1, true, KIND_OTHER}, /* an extension: one more byte gives its type */
    [0x0a] = {4, 0, false, KIND_OTHER},  [0x0b] = {8, 0, false, KIND_OTHER}, /* floats */
    [0x0c] = {1, 0, false, KIND_INT},    [0x0d] = {2, 0, false, KIND_INT},
    [0x0e] = {4, 0, false, KIND_INT},    [0x0f] = {8, 0, false, KIND_INT}, /* unsigned */
    [0x10] = {1, 0, false, KIND_INT},    [0x11] = {2, 0, false, KIND_INT},
    [0x12] = {4, 0, false, KIND_INT},    [0x13] = {8, 0, false, KIND_INT}, /* signed */
    [0x14] = {0, 2, false, KIND_OTHER},  [0x15] = {0, 3, false, KIND_OTHER},
    [0x16] = {0, 5, false, KIND_OTHER},  [0x17] = {0, 9, false, KIND_OTHER},
    [0x18] = {0, 17, false, KIND_OTHER}, /* extensions of fixed length */
    [0x19] = {1, 0, true, KIND_TEXT},    [0x1a] = {2, 0, true, KIND_TEXT},
    [0x1b] = {4, 0, true, KIND_TEXT},    [0x1c] = {2, 0, false, KIND_ARRAY},
    [0x1d] = {4, 0, false, KIND_ARRAY},  [0x1e] = {2, 0, false, KIND_MAP},
    [0x1f] = {4, 0, false, KIND_MAP},
};

static bool head_behind(const struct msgpack *cursor, struct head *head)
{
    int row = *cursor->at & 0x1f, bytes = forms_behind[row].bytes;
    uint64_t number = 0;

    if (bytes < 0 || !number_behind(cursor, bytes, &number))
        return false;
    *head = (struct head){.kind = forms_behind[row].kind, .bytes = 1 + (size_t)bytes};
    head->payload = forms_behind[row].fixed + (forms_behind[row].counts ? number : 0);
    head->number = number_of_row(number, row);
    return true;
}

/* Reads the next value's head and checks that its whole payload is there. */
static bool head_read(const struct msgpack *cursor, struct head *head)
{
    if (bytes_left(cursor) == 0)
        return false;
    if (head_in_one(*cursor->at, head))
        head->payload = head->kind == KIND_TEXT ? head->number : 0;
    else if (!head_behind(cursor, head))
        return false;
    return head->payload <= bytes_left(cursor) - head->bytes;
}

static bool take_counted(struct msgpack *cursor, enum kind kind, uint32_t *count)
{
    struct head head;

    if (!head_read(cursor, &head) || head.kind != kind)
        return false;
    *count = (uint32_t)head.number;
    cursor->at += head.bytes;
    return true;
}

bool msgpack_take_map(struct msgpack *cursor, uint32_t *count)
{
    return take_counted(cursor, KIND_MAP, count);
}

bool msgpack_take_array(struct msgpack *cursor, uint32_t *count)
{
    return take_counted(cursor, KIND_ARRAY, count);
}

bool msgpack_take_text(struct msgpack *cursor, struct msgpack_text *text)
{
    struct head head;

    if (!head_read(cursor, &head) || head.kind != KIND_TEXT)
        return false;
    text->start = (const char *)cursor->at + head.bytes;
    text->length = (size_t)head.payload;
    cursor->at += head.bytes + (size_t)head.payload;
    return true;
}

bool msgpack_take_int(struct msgpack *cursor, int64_t *value)
{
    struct head head;

    if (!head_read(cursor, &head) || head.kind != KIND_INT)
        return false;
    *value = (int64_t)head.number;
    cursor->at += head.bytes;
    return true;
}

static uint64_t values_within(const struct head *head)
{
    switch (head->kind) {
    case KIND_MAP: return 2 * head->number;
    case KIND_ARRAY: return head->number;
    default: return 0;
    }
}

/* Iterative: left[] holds, for each map or array that is open, the number of values still to be skipped. */
bool msgpack_skip(struct msgpack *cursor)
{
    uint64_t left[DEPTH_MAX] = {1};
    struct msgpack passed = *cursor;
    int depth = 0;

    while (depth >= 0) {
        struct head head;
        if (left[depth] == 0) {
            depth--;
            continue;
        }
        if (!head_read(&passed, &head))
            return false;
        left[depth]--;
        passed.at += head.bytes + (size_t)head.payload;
        if (values_within(&head) == 0)
            continue;
        if (++depth == DEPTH_MAX)
            return false;
        left[depth] = values_within(&head);
    }
    *cursor = passed;
    return true;
}
