/*
 * A stretch of a code object's bytes. What lies in a file of others is taken out of it by these
 * functions alone: no offset and no length in it is believed, and nothing in it need be aligned.
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

/* The part of a span, where it holds all of it. */
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

/* The text at an offset, NULL where no NUL ends it within the span. */
static inline const char *span_text(const struct span *whole, uint64_t offset)
{
    if (offset >= whole->length ||
        !memchr(whole->start + offset, '\0', whole->length - (size_t)offset))
        return NULL;
    return (const char *)whole->start + offset;
}

#endif
