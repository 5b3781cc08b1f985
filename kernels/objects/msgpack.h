/*
 * Reads MessagePack, as far as the metadata of code objects needs it: values one after another, from untrusted
 * bytes. Values that are cut off, of another kind or nested too deeply are refused. Nothing is allocated.
 * Format: github.com/msgpack/msgpack/blob/master/spec.md
 */
#ifndef KERNELS_OBJECTS_MSGPACK_H
#define KERNELS_OBJECTS_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msgpack {
    const uint8_t *at, *end;
};

/* A string as it is in the read bytes: `length` bytes, without a NUL. */
struct msgpack_text {
    const char *start;
    size_t length;
};
bool msgpack_text_is(const struct msgpack_text *text, const char *other);

/* Each function takes the next value if it is of the function's kind. Otherwise, or at the end, it returns false and
 * leaves the cursor. A map's count is of pairs, which follow; an array's elements follow likewise. */
bool msgpack_take_map(struct msgpack *cursor, uint32_t *count);
bool msgpack_take_array(struct msgpack *cursor, uint32_t *count);
bool msgpack_take_text(struct msgpack *cursor, struct msgpack_text *text);
bool msgpack_take_int(struct msgpack *cursor, int64_t *value);
/* Skips one value of any kind with all that it contains. */
bool msgpack_skip(struct msgpack *cursor);

#endif
