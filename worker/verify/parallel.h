/*
 * Work on many elements, divided among threads. Parts are taken in order, each by whichever thread is free, so their
 * results must not depend on which one that is.
 */
#ifndef WORKER_VERIFY_PARALLEL_H
#define WORKER_VERIFY_PARALLEL_H

#include <stdint.h>

/* Threads for the host's work on a device's results: half of the processors, since build children use the others, at
 * least 1 and at most 16. */
int parallel_threads(void);

/* Calls part(data, i) for each i from 0 to parts - 1, on at most `threads` threads, the caller's among them: on fewer
 * where the system refuses more threads. Returns when all are done. */
void parallel_parts(int threads, int64_t parts, void (*part)(void *data, int64_t part), void *data);

/* Elements in one part of a loop over an array: so many that the cost of starting the part does not matter. */
#define PARALLEL_PIECE 65536

static inline int64_t parallel_pieces(int64_t count)
{
    return (count + PARALLEL_PIECE - 1) / PARALLEL_PIECE;
}

/* The end of a piece of `count` elements; it begins at piece * PARALLEL_PIECE. */
static inline int64_t parallel_piece_end(int64_t piece, int64_t count)
{
    int64_t end = (piece + 1) * PARALLEL_PIECE;

    return end < count ? end : count;
}

#endif
