/*
 * MessagePack, as far as a code object's metadata needs it: values are taken
 * one after another from bytes that nobody vouches for. Whatever is cut off,
 * of another kind or nested too deeply is refused, and nothing is allocated.
 * The format: github.com/msgpack/msgpack/blob/master/spec.md
 */
#ifndef KERNELS_OBJECTS_MSGPACK_H
#define KERNELS_OBJECTS_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msgpack {
    const uint8_t *at, *end;
};

/* A text within the bytes, not terminated. */
struct msgpack_text {
    const char *start;
    size_t length;
};
bool msgpack_text_is(const struct msgpack_text *text, const char *other);

/* Each takes the next value when it is of that kind, and else, or where the bytes end, returns false
 * and leaves the cursor where it is. A map's count is of pairs, which follow; an array's elements
 * likewise. */
bool msgpack_take_map(struct msgpack *cursor, uint32_t *count);
bool msgpack_take_array(struct msgpack *cursor, uint32_t *count);
bool msgpack_take_text(struct msgpack *cursor, struct msgpack_text *text);
bool msgpack_take_int(struct msgpack *cursor, int64_t *value);
/* Passes over any value with all that is in it. */
bool msgpack_skip(struct msgpack *cursor);

#endif
