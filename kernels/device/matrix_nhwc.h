/*
 * Convolutions as matrix products where channels lie innermost (NHWC): blocks of two operands on their
 * way into local memory, and sums on their way out. Eight channels, a chunk, are one load of 16 bytes.
 *
 *   DIRECTION_F  rows: positions of y; columns: k; terms: filter positions, c within
 *   DIRECTION_B  rows: positions of x of one phase; columns: c; terms: filter positions, k within
 *   DIRECTION_W  rows: k; columns: filter positions, c within; terms: positions of y
 *
 * B's phases: positions of x meet a filter position only where both fall on the same position
 * within the stride. Those that stand alike there are a phase, whose filter positions are as far apart as the
 * stride's period, and which is a product of its own that leaves out the others.
 *
 * Before it is included: BLOCK_M, BLOCK_N, BLOCK_K (the block of sums and of terms), ITEMS of a
 * workgroup, a power of 2; WARP_M by WARP_N, a warp's sums, which are TILES_M by TILES_N times 16 by 8;
 * one of DIRECTION_F, DIRECTION_B and DIRECTION_W; TYPE (FP16 or BF16); SPLIT: the terms are split into parts,
 * whose sums stay in FP32 for conv_matrix_sum.cl.
 *
 * An operand lies in local memory as it lies in memory: with the terms innermost, or (BY_TERM) with
 * rows or columns innermost. Lines of up to eight chunks make a panel; chunks of a line change places by the
 * line's number, so that eight lines of one chunk lie in different banks.
 */
#include "matrix_nvidia.h"

#if defined(DIRECTION_F)
#define A_BY_TERM 0
#define B_BY_TERM 0
#elif defined(DIRECTION_B)
#define A_BY_TERM 0
#define B_BY_TERM 1
#else
#define A_BY_TERM 1
#define B_BY_TERM 1
#endif

/* Lines and chunks a line of an operand in local memory. */
#define A_LINES  (A_BY_TERM ? BLOCK_K : BLOCK_M)
#define A_CHUNKS (A_BY_TERM ? BLOCK_M / 8 : BLOCK_K / 8)
#define B_LINES  (B_BY_TERM ? BLOCK_K : BLOCK_N)
#define B_CHUNKS (B_BY_TERM ? BLOCK_N / 8 : BLOCK_K / 8)
/* Chunks that an item loads of each, a block of terms. */
#define A_LOADS  (A_LINES * A_CHUNKS / ITEMS)
#define B_LOADS  (B_LINES * B_CHUNKS / ITEMS)

/* In W the terms' places come first, of two blocks in turns. */
#if defined(DIRECTION_W)
#define PLACE_BYTES  16
#define PLACES_BYTES (2 * BLOCK_K * PLACE_BYTES)
#else
#define PLACES_BYTES 0
#endif
#define A_BYTES     (BLOCK_M * BLOCK_K * 2)
#define STAGE_BYTES ((BLOCK_M + BLOCK_N) * BLOCK_K * 2)

#if SPLIT
#define RESULT float
#else
#define RESULT half_bits
#endif

/* ---- local memory ---- */

/* Where a chunk of a line lies, in bytes; two lines of four chunks are as long as one of eight. */
DEVICE unsigned chunk_at(int line, int chunk, int lines, int chunks)
{
    int place = line * 8 + (chunk / 8 * lines * 8) + ((chunk ^ line) & 7);
    if (chunks == 4)
        place = line * 4 + (chunk ^ (line >> 1 & 3));
    return (unsigned)place * CHUNK_BYTES;
}

/* Which chunk an item's i-th load is: panel by panel, line by line. */
DEVICE int chunk_of(int i, int item, int lines, int chunks)
{
    const int width = chunks < 8 ? chunks : 8, items = lines * width;
    int panel = items >= ITEMS ? i * ITEMS / items : i * (ITEMS / items) + item / items;
    return panel * 8 + item % width;
}

DEVICE int line_of(int i, int item, int lines, int chunks)
{
    const int width = chunks < 8 ? chunks : 8, items = lines * width;
    return (items >= ITEMS ? i * ITEMS % items / width : 0) + item % items / width;
}

/* ---- the shape ---- */

struct sizes {
    int n, c, k, groups; /* c and k of a group */
    int in_h, in_w, out_h, out_w, fil_h, fil_w;
    int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;
    int period_h, period_w;             /* of the stride, in filter positions */
    int plane_h, plane_w;               /* positions of y, or in B of a phase */
    struct divisor by_plane, by_line;   /* plane_h * plane_w, and plane_w */
    struct divisor by_chunks, by_fil_w; /* c / 8, and fil_w */
};

#define SIZE_PARAMETERS                                                                            \
    int n, int c, int k, int groups, int in_h, int in_w, int out_h, int out_w, int fil_h,          \
        int fil_w, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,               \
        int dilation_w, int period_h, int period_w, int plane_h, int plane_w,                      \
        int plane_multiplier, int plane_shift, int line_multiplier, int line_shift,                \
        int chunks_multiplier, int chunks_shift, int fil_w_multiplier, int fil_w_shift
#define SIZES                                                                                      \
    {                                                                                              \
        n, c, k, groups, in_h, in_w, out_h, out_w, fil_h, fil_w, pad_h, pad_w, stride_h, stride_w, \
            dilation_h, dilation_w, period_h, period_w, plane_h, plane_w,                          \
            {(unsigned)plane_multiplier, (unsigned)plane_shift},                                   \
            {(unsigned)line_multiplier, (unsigned)line_shift},                                     \
            {(unsigned)chunks_multiplier, (unsigned)chunks_shift},                                 \
            {(unsigned)fil_w_multiplier, (unsigned)fil_w_shift},                                   \
    }

struct place {
    int image, h, w;
};

DEVICE struct place place_of(int position, const struct sizes *s)
{
    struct place place;
    place.image = quotient(position, s->by_plane);
    position -= place.image * (s->plane_h * s->plane_w);
    place.h = quotient(position, s->by_line);
    place.w = position - place.h * s->plane_w;
    return place;
}

/* A block of terms of F and B: where all terms of F begin, or of which of a phase's filter positions and which
 * channel. */
struct step {
    int h, w, term;
};

#if !defined(DIRECTION_W)

#if defined(DIRECTION_F)
#define SOURCE_H s->in_h
#define SOURCE_W s->in_w
#define CHANNELS s->c
#define COLUMNS  s->k
/* Moved by a filter position it is never inside. */
#define OUTSIDE  (-0x7fffffff - 1)
#else
#define SOURCE_H s->out_h
#define SOURCE_W s->out_w
#define CHANNELS s->k
#define COLUMNS  s->c
#define OUTSIDE  (-1)
#endif

/* The filter positions of an axis that a phase meets, the first one and as many more, `period` apart.
 * A row at place p meets p * stride + shift of the other tensor through the first, and each next one leads `move`
 * further. */
struct taps {
    int first, period, count, stride, shift, move;
};

DEVICE struct taps find_taps(int phase, int fil, int pad, int stride, int dilation, int period)
{
#if defined(DIRECTION_F)
    struct taps taps = {0, 1, 0, 0, 0, 0};
    (void)phase;
    (void)period;
    taps.count = fil;
    taps.stride = stride;
    taps.shift = -pad;
    taps.move = dilation;
#else
    struct taps taps = {0, 0, 0, 1, 0, 0};
    int most = period < fil ? period : fil, at = phase + pad;
    while (taps.first < most && (at - taps.first * dilation) % stride != 0)
        taps.first++;
    taps.period = period;
    if (taps.first < most)
        taps.count = (fil - 1 - taps.first) / period + 1;
    taps.shift = (at - taps.first * dilation) / stride;
    taps.move = -(period * dilation / stride);
#endif
    return taps;
}

/* ---- what is loaded ---- */

/* Where the rows that an item loads of a begin, and as one number of positions. */
struct rows {
    int h[A_LOADS], w[A_LOADS], at[A_LOADS];
};

DEVICE void find_rows(struct rows *rows, const struct sizes *s, const struct taps *h,
                      const struct taps *w, int first, int count, int item)
{
    UNROLL for (int i = 0; i < A_LOADS; i++)
    {
        int row = first + line_of(i, item, A_LINES, A_CHUNKS);
        struct place place = place_of(row, s);
        int at_h = place.h * h->stride + h->shift, at_w = place.w * w->stride + w->shift;
        rows->h[i] = row < count ? at_h : OUTSIDE;
        rows->w[i] = at_w;
        rows->at[i] = (place.image * SOURCE_H + at_h) * SOURCE_W + at_w;
    }
}

DEVICE void load_rows(LOCAL_POINTER unsigned char *memory, unsigned tile,
                      GLOBAL const half_bits *source, const struct rows *rows,
                      const struct sizes *s, const struct taps *taps_h, const struct taps *taps_w,
                      const struct step *step, int item)
{
    int term = step->term + chunk_of(0, item, A_LINES, A_CHUNKS) * 8, h = step->h, w = step->w;
#if defined(DIRECTION_F)
    int tap = quotient(term / 8, s->by_chunks);
    int is_term = tap < s->fil_h * s->fil_w;
    term -= tap * s->c;
    h = quotient(tap, s->by_fil_w);
    w = tap - h * s->fil_w;
#else
    int is_term = term < CHANNELS;
#endif
    const int move_h = h * taps_h->move, move_w = w * taps_w->move;
    const int move = move_h * SOURCE_W + move_w;
    UNROLL for (int i = 0; i < A_LOADS; i++)
    {
        int line = line_of(i, item, A_LINES, A_CHUNKS);
        int chunk = chunk_of(i, item, A_LINES, A_CHUNKS);
        int there = (unsigned)(rows->h[i] + move_h) < (unsigned)SOURCE_H &&
                    (unsigned)(rows->w[i] + move_w) < (unsigned)SOURCE_W && is_term;
        i64 at = (i64)(rows->at[i] + move) * (CHANNELS * s->groups) + term;
        load_chunk(memory, tile + chunk_at(line, chunk, A_LINES, A_CHUNKS),
                   source + (there ? at : 0), there);
    }
}

/* w[k][fil_h][fil_w][c] */
DEVICE void load_filter(LOCAL_POINTER unsigned char *memory, unsigned tile,
                        GLOBAL const half_bits *w, const struct sizes *s, const struct taps *taps_h,
                        const struct taps *taps_w, const struct step *step, int column, int item)
{
    const int line_terms = s->fil_h * s->fil_w * s->c;
#if defined(DIRECTION_F)
    (void)taps_h;
    (void)taps_w;
#else
    const int tap = (taps_h->first + step->h * taps_h->period) * s->fil_w + taps_w->first +
                    step->w * taps_w->period;
#endif
    UNROLL for (int i = 0; i < B_LOADS; i++)
    {
        int line = line_of(i, item, B_LINES, B_CHUNKS);
        int chunk = chunk_of(i, item, B_LINES, B_CHUNKS);
#if defined(DIRECTION_F)
        int k = column + line, term = step->term + chunk * 8;
        int there = k < s->k && term < line_terms;
        i64 at = (i64)k * line_terms + term;
#else
        int k = step->term + line, c = column + chunk * 8;
        int there = k < s->k && c < s->c;
        i64 at = (i64)k * line_terms + (tap * s->c + c);
#endif
        load_chunk(memory, tile + chunk_at(line, chunk, B_LINES, B_CHUNKS), w + (there ? at : 0),
                   there);
    }
}

/* How many blocks of terms there are. */
DEVICE int count_steps(const struct sizes *s, const struct taps *h, const struct taps *w)
{
#if defined(DIRECTION_F)
    return (h->count * w->count * s->c + BLOCK_K - 1) / BLOCK_K;
#else
    return h->count * w->count * ((s->k + BLOCK_K - 1) / BLOCK_K);
#endif
}

/* The block of terms of that number. */
DEVICE struct step step_at(int number, const struct sizes *s, const struct taps *w)
{
    struct step step = {0, 0, number * BLOCK_K};
#if defined(DIRECTION_B)
    int blocks = (s->k + BLOCK_K - 1) / BLOCK_K, tap = number / blocks;
    step.term = (number - tap * blocks) * BLOCK_K;
    step.h = w->count > 0 ? tap / w->count : 0;
    step.w = tap - step.h * w->count;
#else
    (void)s;
    (void)w;
#endif
    return step;
}

DEVICE void advance(struct step *step, const struct sizes *s, const struct taps *w)
{
    step->term += BLOCK_K;
#if defined(DIRECTION_B)
    if (step->term < s->k)
        return;
    step->term = 0;
    if (++step->w == w->count) {
        step->w = 0;
        step->h++;
    }
#else
    (void)s;
    (void)w;
#endif
}

#else

/* Where the filter's first position meets x from a position of y: its place, and as one number. */
struct ALIGNED(CHUNK_BYTES) meeting {
    int h, w, at, unused;
};

/* Those of a block of terms, an item each; seen by the others behind a barrier. */
DEVICE void note_meetings(LOCAL_POINTER unsigned char *memory, const struct sizes *s, int number,
                          int end, int item)
{
    LOCAL_POINTER struct meeting *to = (LOCAL_POINTER struct meeting *)(LOCAL_POINTER void *)memory;
    struct meeting meeting;
    int position = number * BLOCK_K + item;
    struct place place = place_of(position, s);
    int h = place.h * s->stride_h - s->pad_h, w = place.w * s->stride_w - s->pad_w;
    meeting.h = position < end ? h : -0x7fffffff - 1; /* which no filter position brings inside */
    meeting.w = w;
    meeting.at = (place.image * s->in_h + h) * s->in_w + w;
    meeting.unused = 0;
    if (item < BLOCK_K)
        to[number % 2 * BLOCK_K + item] = meeting;
}

DEVICE void load_outputs(LOCAL_POINTER unsigned char *memory, unsigned tile,
                         GLOBAL const half_bits *y, const struct sizes *s, int number, int end,
                         int first, int item)
{
    UNROLL for (int i = 0; i < A_LOADS; i++)
    {
        int line = line_of(i, item, A_LINES, A_CHUNKS);
        int chunk = chunk_of(i, item, A_LINES, A_CHUNKS);
        int position = number * BLOCK_K + line, k = first + chunk * 8;
        int there = position < end && k < s->k;
        i64 at = (i64)position * (s->k * s->groups) + k;
        load_chunk(memory, tile + chunk_at(line, chunk, A_LINES, A_CHUNKS), y + (there ? at : 0),
                   there);
    }
}

/* What a panel's chunk is for an item: how far its filter position leads, and its channel. */
struct column {
    int h, w, at, c; /* c below 0: there is no such column */
};

/* The panels that an item loads, in the order of its loads. */
#define PANEL_CHUNKS    (B_LINES * 8)
#define COLUMN_COUNT    (PANEL_CHUNKS >= ITEMS ? B_CHUNKS / 8 : B_LOADS)
#define COLUMN_OF(i)    (PANEL_CHUNKS >= ITEMS ? (i)*ITEMS / PANEL_CHUNKS : (i))
#define LOAD_OF(column) (PANEL_CHUNKS >= ITEMS ? (column)*PANEL_CHUNKS / ITEMS : (column))

DEVICE void find_columns(struct column *columns, const struct sizes *s, int first, int item)
{
    UNROLL for (int i = 0; i < COLUMN_COUNT; i++)
    {
        int column = first + chunk_of(LOAD_OF(i), item, B_LINES, B_CHUNKS) * 8;
        int tap = column / s->c, h = tap / s->fil_w;
        columns[i].h = h * s->dilation_h;
        columns[i].w = (tap - h * s->fil_w) * s->dilation_w;
        columns[i].at = columns[i].h * s->in_w + columns[i].w;
        columns[i].c = tap < s->fil_h * s->fil_w ? column - tap * s->c : -1;
    }
}

DEVICE void load_inputs(LOCAL_POINTER unsigned char *memory, unsigned tile,
                        GLOBAL const half_bits *x, const struct column *columns,
                        const struct sizes *s, int number, int item)
{
    LOCAL_POINTER const struct meeting *meetings =
        (LOCAL_POINTER const struct meeting *)(LOCAL_POINTER const void *)memory +
        number % 2 * BLOCK_K;
    UNROLL for (int i = 0; i < B_LOADS; i++)
    {
        int line = line_of(i, item, B_LINES, B_CHUNKS);
        int chunk = chunk_of(i, item, B_LINES, B_CHUNKS);
        const struct column *column = &columns[COLUMN_OF(i)];
        struct meeting meeting = meetings[line];
        int there = (unsigned)(meeting.h + column->h) < (unsigned)s->in_h &&
                    (unsigned)(meeting.w + column->w) < (unsigned)s->in_w && column->c >= 0;
        i64 at = (i64)(meeting.at + column->at) * (s->c * s->groups) + column->c;
        load_chunk(memory, tile + chunk_at(line, chunk, B_LINES, B_CHUNKS), x + (there ? at : 0),
                   there);
    }
}

#endif

/* ---- what is stored ---- */

/* Elements of the result from its first one to a row; below 0: there is no such row. */
DEVICE i64 row_at(int row, int rows, const struct sizes *s, int phase_h, int phase_w)
{
#if defined(DIRECTION_B)
    struct place place = place_of(row, s);
    int h = phase_h + place.h * s->stride_h, w = phase_w + place.w * s->stride_w;
    if (row >= rows || h >= s->in_h || w >= s->in_w)
        return -1;
    return (((i64)place.image * s->in_h + h) * s->in_w + w) * (s->c * s->groups);
#else
    (void)phase_h;
    (void)phase_w;
    if (row >= rows)
        return -1;
#if defined(DIRECTION_F)
    return (i64)row * (s->k * s->groups);
#else
    return (i64)row * (s->fil_h * s->fil_w * s->c);
#endif
#endif
}

#if SPLIT

/* An item has rows lane / 4 and 8 behind it, of each eight columns the pair lane % 4. */
DEVICE void store_part(GLOBAL float *to, float sums[TILES_M][TILES_N][4], const struct sizes *s,
                       int first_row, int rows, int first_column, int columns, int phase_h,
                       int phase_w, int warp_m, int warp_n, int lane)
{
    UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int part = 0; part < 2; part++)
    {
        int row = first_row + warp_m * WARP_M + i * 16 + part * 8 + lane / 4;
        i64 at = row_at(row, rows, s, phase_h, phase_w);
        UNROLL for (int j = 0; j < TILES_N; j++)
        {
            int column = first_column + warp_n * WARP_N + j * 8 + lane % 4 * 2;
            if (at >= 0 && column < columns) {
                to[at + column] = sums[i][j][2 * part];
                to[at + column + 1] = sums[i][j][2 * part + 1];
            }
        }
    }
}

#else

/* A warp's sums through local memory, so that 16 bytes are stored at a time. */
DEVICE void stage_sums(LOCAL_POINTER unsigned char *memory, float sums[TILES_M][TILES_N][4],
                       int warp_m, int warp_n, int lane)
{
    UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int j = 0; j < TILES_N; j++)
        UNROLL for (int part = 0; part < 2; part++)
    {
        int row = warp_m * WARP_M + i * 16 + part * 8 + lane / 4;
        int column = warp_n * WARP_N + j * 8;
        unsigned at = chunk_at(row, column / 8, BLOCK_M, BLOCK_N / 8) + lane % 4 * 4;
        *(LOCAL_POINTER unsigned *)(LOCAL_POINTER void *)(memory + at) =
            pair_of(sums[i][j][2 * part], sums[i][j][2 * part + 1]);
    }
}

struct ALIGNED(CHUNK_BYTES) chunk {
    unsigned words[4];
};

DEVICE void store_rows(GLOBAL half_bits *to, LOCAL_POINTER const unsigned char *memory,
                       const struct sizes *s, int first_row, int rows, int first_column,
                       int columns, int phase_h, int phase_w, int item)
{
#pragma unroll 4
    for (int i = item; i < BLOCK_M * BLOCK_N / 8; i += ITEMS) {
        int row = i / (BLOCK_N / 8), chunk = i % (BLOCK_N / 8);
        int column = first_column + chunk * 8;
        i64 at = row_at(first_row + row, rows, s, phase_h, phase_w);
        if (at >= 0 && column < columns)
            *(GLOBAL struct chunk *)(GLOBAL void *)(to + at + column) =
                *(LOCAL_POINTER const struct chunk *)(LOCAL_POINTER const void *)(memory +
                                                                                  chunk_at(
                                                                                      row, chunk,
                                                                                      BLOCK_M,
                                                                                      BLOCK_N / 8));
    }
}

#endif

/* ---- the whole product ---- */

/* What a workgroup computes, and of which terms. */
struct work {
    int first_row, first_column, group, part, phase_h, phase_w;
    int rows, columns; /* of the whole product */
    int first, steps;  /* blocks of terms */
};

/* Blocks of columns run fastest, so that workgroups that read the same rows are under way together; then
 * come blocks of rows, phases, groups and, slowest, parts. */
DEVICE struct work find_work(const struct sizes *s, int column_blocks)
{
    struct work work;
    int block = GROUP_ID(0), layer = GROUP_ID(2);
    int row_block = block / column_blocks;
    work.first_row = row_block * BLOCK_M;
    work.first_column = (block - row_block * column_blocks) * BLOCK_N;
    work.phase_h = work.phase_w = 0;
#if defined(DIRECTION_B)
    work.phase_w = layer % s->stride_w;
    layer /= s->stride_w;
    work.phase_h = layer % s->stride_h;
    layer /= s->stride_h;
#endif
    work.group = layer % s->groups;
    work.part = layer / s->groups;
#if defined(DIRECTION_W)
    work.rows = s->k;
    work.columns = s->fil_h * s->fil_w * s->c;
#else
    work.rows = s->n * s->plane_h * s->plane_w;
    work.columns = COLUMNS;
#endif
    work.first = work.steps = 0;
    return work;
}

/* The part's share of all blocks of terms. */
DEVICE void share_steps(struct work *work, int all, int splits)
{
    int share = (all + splits - 1) / splits, left;
    work->first = work->part * share;
    left = all - work->first;
    work->steps = left < share ? left : share;
}

/*
 * The parts of an entry whose operands are a and b, and that knows its `work`, its `item` and where in local
 * memory the blocks of terms lie. PREPARE(number): what the load of that block needs, seen by it
 * behind a barrier (BARRIER_TO_LOAD() where no other is due). LOAD_BLOCK(stage, number): the block of that number, counted from
 * the part's first, on its way; blocks are loaded in order.
 */
#if defined(DIRECTION_W)
#define OPEN_WORK                                                                                  \
    struct column columns[COLUMN_COUNT];                                                           \
    const int end = s->n * s->out_h * s->out_w;                                                    \
    share_steps(&work, (end + BLOCK_K - 1) / BLOCK_K, splits);                                     \
    find_columns(columns, s, work.first_column, item);                                             \
    a += (i64)work.group * s->k;                                                                   \
    b += (i64)work.group * s->c;
#define PREPARE(number)   note_meetings(local_memory, s, work.first + (number), end, item)
#define BARRIER_TO_LOAD() BARRIER()
#define LOAD_BLOCK(stage, number)                                                                  \
    do {                                                                                           \
        unsigned to = tiles + (stage)*STAGE_BYTES;                                                 \
        load_outputs(local_memory, to, a, s, work.first + (number), end, work.first_row, item);    \
        load_inputs(local_memory, to + A_BYTES, b, columns, s, work.first + (number), item);       \
    } while (0)
#define FIRST_RESULT ((i64)work.group * s->k * work.columns)
#else
#define OPEN_WORK                                                                                  \
    struct rows rows;                                                                              \
    struct step step;                                                                              \
    const struct taps taps_h =                                                                     \
        find_taps(work.phase_h, s->fil_h, s->pad_h, s->stride_h, s->dilation_h, s->period_h);      \
    const struct taps taps_w =                                                                     \
        find_taps(work.phase_w, s->fil_w, s->pad_w, s->stride_w, s->dilation_w, s->period_w);      \
    share_steps(&work, count_steps(s, &taps_h, &taps_w), splits);                                  \
    step = step_at(work.first, s, &taps_w);                                                        \
    find_rows(&rows, s, &taps_h, &taps_w, work.first_row, work.rows, item);                        \
    a += (i64)work.group * CHANNELS;                                                               \
    b += (i64)work.group * s->k * s->fil_h * s->fil_w * s->c;
#define PREPARE(number)
#define BARRIER_TO_LOAD()
#define LOAD_BLOCK(stage, number)                                                                  \
    do {                                                                                           \
        unsigned to = tiles + (stage)*STAGE_BYTES;                                                 \
        load_rows(local_memory, to, a, &rows, s, &taps_h, &taps_w, &step, item);                   \
        load_filter(local_memory, to + A_BYTES, b, s, &taps_h, &taps_w, &step, work.first_column,  \
                    item);                                                                         \
        advance(&step, s, &taps_w);                                                                \
    } while (0)
#define FIRST_RESULT ((i64)work.group * COLUMNS)
#endif

#if SPLIT
#define STORE_WORK                                                                                 \
    store_part(result + work.part * part_elements + FIRST_RESULT, sums, s, work.first_row,         \
               work.rows, work.first_column, work.columns, work.phase_h, work.phase_w, warp_m,     \
               warp_n, lane);
#else
#define STORE_WORK                                                                                 \
    (void)part_elements;                                                                           \
    stage_sums(local_memory, sums, warp_m, warp_n, lane);                                          \
    BARRIER();                                                                                     \
    store_rows(result + FIRST_RESULT, local_memory, s, work.first_row, work.rows,                  \
               work.first_column, work.columns, work.phase_h, work.phase_w, item);
#endif
