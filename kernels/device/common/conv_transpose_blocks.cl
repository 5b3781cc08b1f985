/*
 * Copies a tensor between planes of positions (NCHW) and channels last (NHWC, the channels of a group padded
 * with zeros to whole chunks). The channels' side is accessed in chunks of 16 bytes, or of 8 for single bytes,
 * whose 16 by 16 squares would take too many registers.
 *
 *   SLAB 0: a work-item copies a square: the channels of one chunk by as many positions. It loads and stores chunks
 *           on both sides (parts of VECTOR elements where planes are not aligned to chunks) and transposes in
 *           registers.
 *   SLAB 1: for small planes of any length. CHANNEL_BLOCKS chunks of channels of all positions, contiguous in memory,
 *           go through local memory unchanged; a work-item copies a position's chunk.
 *
 * Batches from `batches` on are zeros. Grid: `blocks` workgroups for each plane, `groups` planes for each
 * batch.
 *
 * Options: TENSOR (x, w or y: the entry's name), BYTES (1, 2 or 4: of an element), IN (1: to channels last, 0: from
 * channels last), SLAB, VECTOR, CHANNEL_BLOCKS (a power of 2: the chunks of channels of a workgroup).
 */
#include "dialect.h"

#if BYTES == 1
typedef unsigned char element;
#elif BYTES == 2
typedef unsigned short element;
#else
typedef unsigned int element;
#endif

#define ITEMS      128
#define CHUNK      (BYTES == 4 ? 4 : 8) /* elements */
#define PARTS      (CHUNK / VECTOR)
#define SLAB_BYTES 8192

struct ALIGNED(CHUNK *BYTES) chunk {
    element at[CHUNK];
};

struct ALIGNED(VECTOR *BYTES) part {
    element at[VECTOR];
};

#define CHUNK_AT(pointer) (*(GLOBAL struct chunk *)(GLOBAL void *)(pointer))
#define CHUNK_IN(pointer) (*(GLOBAL const struct chunk *)(GLOBAL const void *)(pointer))
#define PART_AT(pointer)  (*(GLOBAL struct part *)(GLOBAL void *)(pointer))
#define PART_IN(pointer)  (*(GLOBAL const struct part *)(GLOBAL const void *)(pointer))

/* A plane of a tensor: `channels` by `positions`. The side with channels last pads channels to `fill`, and its
 * positions are `pitch` elements apart. */
struct plane {
    int channels, fill, positions, pitch, is_there;
};

#define PLANE_PARAMETERS                                                                           \
    GLOBAL const element *RESTRICT from, GLOBAL element *RESTRICT to, int blocks, int groups,      \
        int batches, int channels, int positions, int fill, int pitch, i64 from_batch,             \
        i64 from_group, i64 to_batch, i64 to_group

#if !SLAB

DEVICE void zero(struct chunk *chunk)
{
    for (int i = 0; i < CHUNK; i++)
        chunk->at[i] = 0;
}

/* Positions from one load of VECTOR positions by a work-item to its next load. Work-items with neighbouring numbers
 * load neighbouring positions. */
#define PART_STEP (ITEMS / CHANNEL_BLOCKS * VECTOR)

/* Loads one channel's values at the block's positions, from position `first` on. */
DEVICE void load_line(struct chunk *to, GLOBAL const element *line, int first, int positions)
{
    for (int i = 0; i < PARTS; i++) {
        if (first + i * PART_STEP < positions) {
            struct part part = PART_IN(line + i * PART_STEP);
            for (int j = 0; j < VECTOR; j++)
                to->at[i * VECTOR + j] = part.at[j];
        }
    }
}

DEVICE void store_line(GLOBAL element *line, const struct chunk *from, int first, int positions)
{
    for (int i = 0; i < PARTS; i++) {
        struct part part;
        for (int j = 0; j < VECTOR; j++)
            part.at[j] = from->at[i * VECTOR + j];
        if (first + i * PART_STEP < positions)
            PART_AT(line + i * PART_STEP) = part;
    }
}

DEVICE void exchange(struct chunk to[CHUNK], const struct chunk from[CHUNK])
{
    for (int i = 0; i < CHUNK; i++)
        for (int j = 0; j < CHUNK; j++)
            to[i].at[j] = from[j].at[i];
}

DEVICE void move_block(GLOBAL const element *from, GLOBAL element *to, const struct plane *plane,
                       int block, int item)
{
    const int across = (plane->fill + CHANNEL_BLOCKS * CHUNK - 1) / (CHANNEL_BLOCKS * CHUNK);
    const int channel = (block % across * CHANNEL_BLOCKS + item % CHANNEL_BLOCKS) * CHUNK;
    const int position = block / across * (PART_STEP * PARTS) + item / CHANNEL_BLOCKS * VECTOR;
    struct chunk before[CHUNK], after[CHUNK];
    if (channel >= plane->fill || position >= plane->positions)
        return;
    for (int i = 0; i < CHUNK; i++) {
        zero(&before[i]);
#if IN
        if (plane->is_there && channel + i < plane->channels)
            load_line(&before[i], from + ((i64)(channel + i) * plane->positions + position),
                      position, plane->positions);
#else
        int at = position + i / VECTOR * PART_STEP + i % VECTOR;
        if (at < plane->positions)
            before[i] = CHUNK_IN(from + ((i64)at * plane->pitch + channel));
#endif
    }
    exchange(after, before);
    for (int i = 0; i < CHUNK; i++) {
#if IN
        int at = position + i / VECTOR * PART_STEP + i % VECTOR;
        if (at < plane->positions)
            CHUNK_AT(to + ((i64)at * plane->pitch + channel)) = after[i];
#else
        if (channel + i < plane->channels)
            store_line(to + ((i64)(channel + i) * plane->positions + position), &after[i], position,
                       plane->positions);
#endif
    }
}

#else

#define CHUNK_LOCAL(pointer) (*(LOCAL_POINTER struct chunk *)(LOCAL_POINTER void *)(pointer))

/* Copies chunks of channels of the block's positions between memory and the slab in local memory. */
DEVICE void move_chunks(LOCAL_POINTER element *slab, GLOBAL const element *from, GLOBAL element *to,
                        const struct plane *plane, int first, int item)
{
    for (int i = item; i < plane->positions * CHANNEL_BLOCKS; i += ITEMS) {
        int position = i / CHANNEL_BLOCKS, channel = i % CHANNEL_BLOCKS * CHUNK;
        i64 at = (i64)position * plane->pitch + first + channel;
        LOCAL_POINTER element *line = slab + (channel * plane->positions + position);
        struct chunk chunk;
        if (first + channel >= plane->fill)
            continue;
#if IN
        for (int j = 0; j < CHUNK; j++)
            chunk.at[j] = plane->is_there && first + channel + j < plane->channels
                              ? line[j * plane->positions]
                              : 0;
        (void)from;
        CHUNK_AT(to + at) = chunk;
#else
        chunk = CHUNK_IN(from + at);
        for (int j = 0; j < CHUNK; j++)
            line[j * plane->positions] = chunk.at[j];
        (void)to;
#endif
    }
}

DEVICE void move_slab(LOCAL_POINTER element *slab, GLOBAL const element *from, GLOBAL element *to,
                      const struct plane *plane, int block, int item)
{
    const int first = block * CHANNEL_BLOCKS * CHUNK;
    const int left = plane->channels - first;
    const int channels = left < CHANNEL_BLOCKS * CHUNK ? left : CHANNEL_BLOCKS * CHUNK;
#if IN
    from += (i64)first * plane->positions;
    if (plane->is_there)
        for (int i = item * CHUNK; i < channels * plane->positions; i += ITEMS * CHUNK)
            CHUNK_LOCAL(slab + i) = CHUNK_IN(from + i);
    BARRIER();
    move_chunks(slab, from, to, plane, first, item);
#else
    move_chunks(slab, from, to, plane, first, item);
    BARRIER();
    to += (i64)first * plane->positions;
    for (int i = item * CHUNK; i < channels * plane->positions; i += ITEMS * CHUNK)
        CHUNK_AT(to + i) = CHUNK_LOCAL(slab + i);
#endif
}

#endif

KERNEL(ITEMS, 1, 1)
DIALECT_JOIN(conv_transpose_blocks_, TENSOR)(PLANE_PARAMETERS)
{
    const int item = (int)LOCAL_ID(0), id = (int)GROUP_ID(0);
    const int number = id / blocks, block = id - number * blocks;
    const int batch = number / groups, group = number - batch * groups;
    const struct plane plane = {channels, fill, positions, pitch, batch < batches};
#if SLAB
    LOCAL_ARRAY struct chunk slab[SLAB_BYTES / (CHUNK * BYTES)];
#endif
    from += batch * from_batch + group * from_group;
    to += batch * to_batch + group * to_group;
#if SLAB
    move_slab((LOCAL_POINTER element *)(LOCAL_POINTER void *)slab, from, to, &plane, block, item);
#else
    move_block(from, to, &plane, block, item);
#endif
}
