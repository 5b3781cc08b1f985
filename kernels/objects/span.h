/*
 * A range of bytes of a code object. All reads from such files go through these functions, which check every
 * offset and length; nothing need be aligned.
 */
#ifndef KERNELS_OBJECTS_SPAN_H
#define KERNELS_OBJECTS_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const uint8_t *start;
    size_t length;
};

/* Sets *part to `length` bytes at `offset` of the range. False where they pass its end. */
static inline bool span_part(const struct span *whole, uint64_t offset, uint64_t length,
                             struct span *part)
{
    if (offset > whole->length || length > whole->length - offset)
        return false;
    *part = (struct span){whole->start + offset, (size_t)length};
    return true;
}

static inline bool span_copy(const struct span *whole, uint64_t offset, void *to, size_t bytes)
{
    struct span part;

    if (!span_part(whole, offset, bytes, &part))
        return false;
    memcpy(to, part.start, bytes);
    return true;
}

/* The string at an offset, NULL where no NUL ends it within the range. */
static inline const char *span_text(const struct span *whole, uint64_t offset)
{
    if (offset >= whole->length ||
        !memchr(whole->start + offset, '\0', whole->length - (size_t)offset))
        return NULL;
    return (const char *)whole->start + offset;
}

#endif
