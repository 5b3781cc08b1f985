/*
 * Convolutions as matrix products with channels innermost (NHWC, and NDHWC with DEPTH): blocks of two operands on
 * their way into local memory, and sums on their way to memory. A chunk is eight channels, one load of 16 bytes; in
 * TF32, whose channels count twice, it is four.
 *
 *   DIRECTION_F  rows: positions of y; columns: k; terms: filter positions, c within
 *   DIRECTION_B  rows: positions of x of one phase; columns: c; terms: filter positions, k within
 *   DIRECTION_W  rows: k; columns: filter positions, c within; terms: positions of y
 *
 * B's phases: a position of x meets a filter position only where both have the same remainder modulo the
 * stride. Positions of one remainder are a phase, whose filter positions are the stride's period apart. Each
 * phase is a product of its own, without the other filter positions.
 *
 * Depth is an axis like height and width, but what is about it is there with the option DEPTH only (IF_DEPTH): the text
 * for two dimensions is as if there was no depth, so that its code stays what was measured.
 *
 * Defined before it is included: BLOCK_M, BLOCK_N, BLOCK_K (the block of sums and of terms), ITEMS of a
 * workgroup, a power of 2; WARP_M by WARP_N, a warp's sums, which are TILES_M by TILES_N times 16 by 8; one of
 * DIRECTION_F, DIRECTION_B and DIRECTION_W; TYPE (FP16, BF16, TF32, or in F INT8, FP8 and BF8, with TYPE_Y) and LANE;
 * SPLIT: terms are split into parts, whose sums are stored for conv_matrix_sum.cl. TURNED: in B the filter is a copy with k
 * innermost, w[c][fil_d][fil_h][fil_w][k], for units that need terms innermost.
 *
 * Operands are counted in "elements" of 16 bits (matrix_nvidia.h), rows and columns of the result in numbers. So c is
 * half the number of channels in types of 8 bits and twice that number in TF32, and a number of TF32 has WIDTH elements.
 * BLOCK_K counts elements, whichever operand they are of: in TF32 half as many terms.
 *
 * In local memory an operand has its order in memory: terms innermost, or (BY_TERM) rows or columns innermost.
 * Lines of up to eight chunks make a panel; the chunks of a line are permuted by the line's number, so that
 * eight lines' chunks of one number are in different banks.
 */
#include "depth.h"

#include "matrix_epilogue.h"
#include "matrix_nvidia.h"

#if defined(DIRECTION_F)
#define A_BY_TERM 0
#define B_BY_TERM 0
#elif defined(DIRECTION_B)
#define A_BY_TERM 0
#if defined(TURNED)
#define B_BY_TERM 0
#else
#define B_BY_TERM 1
#endif
#else
#define A_BY_TERM 1
#define B_BY_TERM 1
#endif

/* The terms of a block. */
#define TERMS    (BLOCK_K / WIDTH)
/* An operand's block in local memory: number of lines, and chunks of a line. */
#define A_LINES  (A_BY_TERM ? TERMS : BLOCK_M)
#define A_CHUNKS (A_BY_TERM ? BLOCK_M * WIDTH / 8 : BLOCK_K / 8)
#define B_LINES  (B_BY_TERM ? TERMS : BLOCK_N)
#define B_CHUNKS (B_BY_TERM ? BLOCK_N * WIDTH / 8 : BLOCK_K / 8)
/* Chunks of each operand that a work-item loads for a block of terms. */
#define A_LOADS  (A_LINES * A_CHUNKS / ITEMS)
#define B_LOADS  (B_LINES * B_CHUNKS / ITEMS)

/* In W local memory begins with two tables (for two blocks of terms in turn) of where each position of y meets x. */
#if defined(DIRECTION_W)
#define PLACE_BYTES  16
#define PLACES_BYTES (2 * TERMS * PLACE_BYTES)
#else
#define PLACES_BYTES 0
#endif
#define A_BYTES     (BLOCK_M * BLOCK_K * 2)
#define STAGE_BYTES ((BLOCK_M + BLOCK_N) * BLOCK_K * 2)

/* The result's type: that of the tensors (FP32 for TF32), for INT8 tensors INT32 or what the epilogue gives (TYPE_Y), and
 * TYPE_Y for FP8 and BF8. */
#if LONG_NUMBERS
#define RESULT_TYPE FP32
#elif BYTE_FLOATS
#define RESULT_TYPE TYPE_Y
#elif !WHOLE_NUMBERS
#define RESULT_TYPE TYPE
#elif defined(EPILOGUE)
#define RESULT_TYPE TYPE_Y
#else
#define RESULT_TYPE INT32
#endif
#define BYTES_INT8   1
#define BYTES_FP8    1
#define BYTES_BF8    1
#define BYTES_FP16   2
#define BYTES_BF16   2
#define BYTES_FP32   4
#define BYTES_INT32  4
#define RESULT_BYTES DIALECT_JOIN(BYTES_, RESULT_TYPE)

/* STORES_SUMS: results of four bytes are stored from registers: split-K parts, INT32 and FP32. Shorter ones go through
 * local memory and are stored in chunks of RESULT_CHUNK. */
#define STORES_SUMS  (SPLIT || RESULT_BYTES == 4)
#define RESULT_CHUNK (CHUNK_BYTES / RESULT_BYTES)
#if SPLIT
#define RESULT LANE
#else
#define RESULT STORAGE(RESULT_TYPE)
#endif

/* ---- local memory ---- */

/* The number by which the chunks of a line are permuted. In TF32 a warp loads two neighbouring chunks of four lines at
 * once where rows or columns are innermost: those eight chunks must be in different banks, too. */
#if LONG_NUMBERS && (A_BY_TERM || B_BY_TERM)
#define PERMUTED_BY(line) ((line) << 1 | ((line) >> 2 & 1))
#else
#define PERMUTED_BY(line) (line)
#endif

/* The offset in bytes, within an operand's block in local memory, of a chunk of a line. Two lines of four chunks take
 * the place of one line of eight. */
DEVICE unsigned chunk_at(int line, int chunk, int lines, int chunks)
{
    int place = line * 8 + (chunk / 8 * lines * 8) + ((chunk ^ PERMUTED_BY(line)) & 7);
    if (chunks == 4)
        place = line * 4 + (chunk ^ (line >> 1 & 3));
    return (unsigned)place * CHUNK_BYTES;
}

/* The number of the chunk in a work-item's i-th load of an operand; chunks are counted panel by panel, then line by
 * line. */
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
    int n, c, k, groups; /* of a group: c in elements of 16 bits, k in numbers */
    int pitch;           /* in F and B: numbers from one position of the result to the next */
    int in_h, in_w, out_h, out_w, fil_h, fil_w;
    int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;
    /* period of the stride: filter positions this far apart meet the same phase */
    int period_h, period_w;
    /* rows and columns of positions: of y, or in B of one phase of x */
    int plane_h, plane_w;
    /* divisors for dividing by plane_h * plane_w and by plane_w */
    struct divisor by_plane, by_line;
    struct divisor by_chunks, by_fil_w; /* divisors for dividing by c / 8 and by fil_w */
    /* the same of depth, and divisors for dividing by plane_d and by fil_h */
    IF_DEPTH(int in_d, out_d, fil_d, pad_d, stride_d, dilation_d, period_d, plane_d;)
    IF_DEPTH(struct divisor by_depth, by_fil_h;)
};

#define DEPTH_PARAMETERS                                                                           \
    IF_DEPTH(, int in_d, int out_d, int fil_d, int pad_d, int stride_d, int dilation_d,            \
             int period_d, int plane_d, int depth_multiplier, int depth_shift,                     \
             int fil_h_multiplier, int fil_h_shift)
#define DEPTH_SIZES                                                                                \
    IF_DEPTH(in_d, out_d, fil_d, pad_d, stride_d, dilation_d, period_d, plane_d,                   \
             {(unsigned)depth_multiplier, (unsigned)depth_shift},                                  \
             {(unsigned)fil_h_multiplier, (unsigned)fil_h_shift}, )

#define SIZE_PARAMETERS                                                                            \
    int n, int c, int k, int groups, int pitch, int in_h, int in_w, int out_h, int out_w,          \
        int fil_h, int fil_w, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,               \
        int dilation_w, int period_h, int period_w, int plane_h, int plane_w,                      \
        int plane_multiplier, int plane_shift, int line_multiplier, int line_shift,                \
        int chunks_multiplier, int chunks_shift, int fil_w_multiplier,                             \
        int fil_w_shift DEPTH_PARAMETERS
#define SIZES                                                                                      \
    {                                                                                              \
        n, c, k, groups, pitch, in_h, in_w, out_h, out_w, fil_h, fil_w, pad_h, pad_w, stride_h,    \
            stride_w, dilation_h, dilation_w, period_h, period_w, plane_h, plane_w,                          \
            {(unsigned)plane_multiplier, (unsigned)plane_shift},                                   \
            {(unsigned)line_multiplier, (unsigned)line_shift},                                     \
            {(unsigned)chunks_multiplier, (unsigned)chunks_shift},                                 \
            {(unsigned)fil_w_multiplier, (unsigned)fil_w_shift}, DEPTH_SIZES                       \
    }

struct place {
    int image, IF_DEPTH(d, ) h, w;
};

DEVICE struct place place_of(int position, const struct sizes *s)
{
    struct place place;
    place.image = quotient(position, s->by_plane);
    position -= place.image * (s->plane_h * s->plane_w);
    place.h = quotient(position, s->by_line);
    place.w = position - place.h * s->plane_w;
#if DEPTH
    place.d = place.image;
    place.image = quotient(place.d, s->by_depth);
    place.d -= place.image * s->plane_d;
#endif
    return place;
}

/* A block of terms of F and B. In F `term` is its first term. In B d, h and w are a filter position of the phase, and
 * `term` a channel. */
struct step {
    int IF_DEPTH(d, ) h, w, term;
};

#if !defined(DIRECTION_W)

/* CHANNELS: of the tensor that is gathered, in elements; COLUMNS: in numbers. */
#if defined(DIRECTION_F)
#define SOURCE_D s->in_d
#define SOURCE_H s->in_h
#define SOURCE_W s->in_w
#define CHANNELS s->c
#define COLUMNS  s->k
/* A coordinate so far outside of the tensor that no filter position leads back inside. */
#define OUTSIDE  (-0x7fffffff - 1)
#else
#define SOURCE_D s->out_d
#define SOURCE_H s->out_h
#define SOURCE_W s->out_w
#define CHANNELS ELEMENTS_K(s)
#define COLUMNS  NUMBERS_C(s)
#define OUTSIDE  (-1)
#endif

/* The filter positions of an axis that a phase meets: the first and every period-th after it. Through the first of
 * them a row of the product at position p reads position p * stride + shift of the other tensor, through each next
 * one `move` positions further. */
struct axis_taps {
    int first, period, count, stride, shift, move;
};

struct taps {
    struct axis_taps IF_DEPTH(d, ) h, w;
};

DEVICE struct axis_taps find_axis_taps(int phase, int fil, int pad, int stride, int dilation,
                                       int period)
{
#if defined(DIRECTION_F)
    struct axis_taps taps = {0, 1, 0, 0, 0, 0};
    (void)phase;
    (void)period;
    taps.count = fil;
    taps.stride = stride;
    taps.shift = -pad;
    taps.move = dilation;
#else
    struct axis_taps taps = {0, 0, 0, 1, 0, 0};
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

/* Where the rows of a that a work-item loads begin in the source tensor: as coordinates, and as one position number.
 * Rows past the end begin OUTSIDE. */
struct rows {
    int IF_DEPTH(d[A_LOADS], ) h[A_LOADS], w[A_LOADS], at[A_LOADS];
};

DEVICE void find_rows(struct rows *rows, const struct sizes *s, const struct taps *taps, int first,
                      int count, int item)
{
    UNROLL for (int i = 0; i < A_LOADS; i++)
    {
        int row = first + line_of(i, item, A_LINES, A_CHUNKS);
        struct place place = place_of(row, s);
        int at_h = place.h * taps->h.stride + taps->h.shift;
        int at_w = place.w * taps->w.stride + taps->w.shift;
        rows->h[i] = row < count ? at_h : OUTSIDE;
        rows->w[i] = at_w;
        IF_DEPTH(rows->d[i] = place.d * taps->d.stride + taps->d.shift;)
        rows->at[i] =
            ((place.image IF_DEPTH(* SOURCE_D + rows->d[i])) * SOURCE_H + at_h) * SOURCE_W + at_w;
    }
}

DEVICE void load_rows(LOCAL_POINTER unsigned char *memory, unsigned tile,
                      GLOBAL const half_bits *source, const struct rows *rows,
                      const struct sizes *s, const struct taps *taps, const struct step *step,
                      int item)
{
    int term = step->term + chunk_of(0, item, A_LINES, A_CHUNKS) * 8;
    int IF_DEPTH(d = step->d, ) h = step->h, w = step->w;
#if defined(DIRECTION_F)
    int tap = quotient(term / 8, s->by_chunks);
    int is_term = tap < IF_DEPTH(s->fil_d *) s->fil_h * s->fil_w;
    term -= tap * s->c;
    h = quotient(tap, s->by_fil_w);
    w = tap - h * s->fil_w;
#if DEPTH
    d = quotient(h, s->by_fil_h);
    h -= d * s->fil_h;
#endif
#else
    int is_term = term < CHANNELS;
#endif
    const int move_h = h * taps->h.move, move_w = w * taps->w.move;
    IF_DEPTH(const int move_d = d * taps->d.move;)
    const int move = (IF_DEPTH(move_d * SOURCE_H +) move_h) * SOURCE_W + move_w;
    UNROLL for (int i = 0; i < A_LOADS; i++)
    {
        int line = line_of(i, item, A_LINES, A_CHUNKS);
        int chunk = chunk_of(i, item, A_LINES, A_CHUNKS);
        int there = (unsigned)(rows->h[i] + move_h) < (unsigned)SOURCE_H &&
                    (unsigned)(rows->w[i] + move_w) < (unsigned)SOURCE_W &&
                    IF_DEPTH((unsigned)(rows->d[i] + move_d) < (unsigned)SOURCE_D &&) is_term;
        i64 at = (i64)(rows->at[i] + move) * (CHANNELS * s->groups) + term;
        load_shared_chunk(memory, tile + chunk_at(line, chunk, A_LINES, A_CHUNKS),
                          source + (there ? at : 0), there);
    }
}

/* Loads chunks of the filter w[k][fil_d][fil_h][fil_w][c], or of the one that is TURNED. */
DEVICE void load_filter(LOCAL_POINTER unsigned char *memory, unsigned tile,
                        GLOBAL const half_bits *w, const struct sizes *s, const struct taps *taps,
                        const struct step *step, int column, int item)
{
#if defined(TURNED)
    const int line_terms = IF_DEPTH(s->fil_d *) s->fil_h * s->fil_w * ELEMENTS_K(s);
#else
    const int line_terms = IF_DEPTH(s->fil_d *) s->fil_h * s->fil_w * s->c;
#endif
#if defined(DIRECTION_F)
    (void)taps;
#else
    const int tap = (IF_DEPTH((taps->d.first + step->d * taps->d.period) * s->fil_h +)
                     taps->h.first + step->h * taps->h.period) * s->fil_w + taps->w.first +
                    step->w * taps->w.period;
#endif
    UNROLL for (int i = 0; i < B_LOADS; i++)
    {
        int line = line_of(i, item, B_LINES, B_CHUNKS);
        int chunk = chunk_of(i, item, B_LINES, B_CHUNKS);
#if defined(DIRECTION_F)
        int k = column + line, term = step->term + chunk * 8;
        int there = k < s->k && term < line_terms;
        i64 at = (i64)k * line_terms + term;
#elif defined(TURNED)
        int c = column + line, term = step->term + chunk * 8;
        int there = c < NUMBERS_C(s) && term < ELEMENTS_K(s);
        i64 at = (i64)c * line_terms + (tap * ELEMENTS_K(s) + term);
#else
        int k = step->term / WIDTH + line, c = column * WIDTH + chunk * 8;
        int there = k < s->k && c < s->c;
        i64 at = (i64)k * line_terms + (tap * s->c + c);
#endif
        load_chunk(memory, tile + chunk_at(line, chunk, B_LINES, B_CHUNKS), w + (there ? at : 0),
                   there);
    }
}

/* The number of blocks of terms of a tile. */
DEVICE int count_steps(const struct sizes *s, const struct taps *taps)
{
    const int count = IF_DEPTH(taps->d.count *) taps->h.count * taps->w.count;
#if defined(DIRECTION_F)
    return (count * s->c + BLOCK_K - 1) / BLOCK_K;
#else
    return count * ((ELEMENTS_K(s) + BLOCK_K - 1) / BLOCK_K);
#endif
}

/* The block of terms with the given number. */
DEVICE struct step step_at(int number, const struct sizes *s, const struct taps *taps)
{
    struct step step = {IF_DEPTH(0, ) 0, 0, number * BLOCK_K};
#if defined(DIRECTION_B)
    int blocks = (ELEMENTS_K(s) + BLOCK_K - 1) / BLOCK_K, tap = number / blocks;
    step.term = (number - tap * blocks) * BLOCK_K;
    step.h = taps->w.count > 0 ? tap / taps->w.count : 0;
    step.w = tap - step.h * taps->w.count;
#if DEPTH
    step.d = taps->h.count > 0 ? step.h / taps->h.count : 0;
    step.h -= step.d * taps->h.count;
#endif
#else
    (void)s;
    (void)taps;
#endif
    return step;
}

DEVICE void advance(struct step *step, const struct sizes *s, const struct taps *taps)
{
    step->term += BLOCK_K;
#if defined(DIRECTION_B)
    if (step->term < ELEMENTS_K(s))
        return;
    step->term = 0;
    if (++step->w == taps->w.count) {
        step->w = 0;
        step->h++;
    }
#if DEPTH
    if (step->h == taps->h.count) {
        step->h = 0;
        step->d++;
    }
#endif
#else
    (void)s;
    (void)taps;
#endif
}

#else
#include "matrix_nhwc_w.h"
#endif

/* ---- what is stored ---- */

/* A workgroup's share of the product: its block of rows and columns, and its range of blocks of terms. */
struct work {
    int first_row, first_column, group, part, IF_DEPTH(phase_d, ) phase_h, phase_w;
    int rows, columns; /* sizes of the whole product */
    int first, steps;  /* blocks of terms */
};

#define PHASES(work) (work)->phase_h, (work)->phase_w IF_DEPTH(, (work)->phase_d)

/* The rows of the result are positions of the output (in B of one phase), in W channels. Returns the number of a row's
 * position; negative for a row past the end. */
DEVICE int row_number(int row, int rows, const struct sizes *s, int phase_h,
                      int phase_w IF_DEPTH(, int phase_d))
{
#if defined(DIRECTION_B)
    struct place place = place_of(row, s);
    int h = phase_h + place.h * s->stride_h, w = phase_w + place.w * s->stride_w;
    IF_DEPTH(int d = phase_d + place.d * s->stride_d;)
    if (row >= rows || h >= s->in_h || w >= s->in_w IF_DEPTH(|| d >= s->in_d))
        return -1;
    return ((place.image IF_DEPTH(* s->in_d + d)) * s->in_h + h) * s->in_w + w;
#else
    (void)s;
    (void)phase_h;
    (void)phase_w;
    IF_DEPTH((void)phase_d;)
    return row < rows ? row : -1;
#endif
}

/* Offset in elements of a row of the result; negative for a row past the end. */
DEVICE i64 row_at(int number, const struct sizes *s)
{
#if defined(DIRECTION_W)
    return (i64)number * (IF_DEPTH(s->fil_d *) s->fil_h * s->fil_w * NUMBERS_C(s));
#else
    return (i64)number * s->pitch;
#endif
}

/* Opens the results of two neighbouring columns of a row, and names what is stored of them: the sums themselves, or
 * what the epilogue makes of them. */
#ifdef EPILOGUE
#define FINISH_PAIR(sums, number, column)                                                          \
    const struct results results =                                                                 \
        finished_pair(sums, number, work->group, s->groups, column FINISH_ARGUMENTS)
#define FIRST(sums)   results.value[0]
#define SECOND(sums)  results.value[1]
#define STORED(value) EPILOGUE_ROUND(RESULT_TYPE, value)
#else
#define FINISH_PAIR(sums, number, column)
#define FIRST(sums)   (sums)[0]
#define SECOND(sums)  (sums)[1]
#define STORED(value) (value)
#endif

#if STORES_SUMS

/* Stores the results of two neighbouring columns. Those of TF32 are stored at once: `to` is a multiple of 8 bytes, since
 * channels of a group are filled up to chunks. */
#if LONG_NUMBERS
struct ALIGNED(8) result_pair {
    float value[2];
};
#define STORE_PAIR(to, first, second)                                                              \
    do {                                                                                           \
        const struct result_pair stored = {{(first), (second)}};                                   \
        *(GLOBAL struct result_pair *)(GLOBAL void *)(to) = stored;                                \
    } while (0)
#else
#define STORE_PAIR(to, first, second)                                                              \
    do {                                                                                           \
        (to)[0] = (first);                                                                         \
        (to)[1] = (second);                                                                        \
    } while (0)
#endif

/* Stores a warp's sums from registers. A lane has rows lane / 4 and lane / 4 + 8, and of each eight columns the pair
 * lane % 4. */
DEVICE void store_part(GLOBAL RESULT *to, LANE sums[TILES_M][TILES_N][4], const struct sizes *s,
                       const struct work *work, int warp_m, int warp_n, int lane FINISH_PARAMETERS)
{
    UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int part = 0; part < 2; part++)
    {
        int row = work->first_row + warp_m * WARP_M + i * 16 + part * 8 + lane / 4;
        int number = row_number(row, work->rows, s, PHASES(work));
        i64 at = row_at(number, s);
        UNROLL for (int j = 0; j < TILES_N; j++)
        {
            int column = work->first_column + warp_n * WARP_N + j * 8 + lane % 4 * 2;
            const LANE *pair = sums[i][j] + 2 * part;
            if (number >= 0 && column < work->columns) {
                FINISH_PAIR(pair, number, column);
                STORE_PAIR(to + (at + column), STORED(FIRST(pair)), STORED(SECOND(pair)));
            }
        }
    }
}

#else

/* Writes two neighbouring results to local memory. */
DEVICE void stage_pair(LOCAL_POINTER unsigned char *to, float first, float second)
{
#if RESULT_BYTES == 1
    *(LOCAL_POINTER half_bits *)(LOCAL_POINTER void *)to =
        (half_bits)((unsigned char)EPILOGUE_ROUND(RESULT_TYPE, first) |
                    (unsigned char)EPILOGUE_ROUND(RESULT_TYPE, second) << 8);
#else
    *(LOCAL_POINTER unsigned *)(LOCAL_POINTER void *)to =
        DIALECT_JOIN(pair_of_, RESULT_TYPE)(first, second);
#endif
}

/* Writes a warp's results to local memory, from where store_rows() stores 16 bytes at a time. */
DEVICE void stage_sums(LOCAL_POINTER unsigned char *memory, LANE sums[TILES_M][TILES_N][4],
                       const struct sizes *s, const struct work *work, int warp_m, int warp_n,
                       int lane FINISH_PARAMETERS)
{
    UNROLL for (int i = 0; i < TILES_M; i++) UNROLL for (int part = 0; part < 2; part++)
    {
        int row = warp_m * WARP_M + i * 16 + part * 8 + lane / 4;
#ifdef EPILOGUE
        int number = row_number(work->first_row + row, work->rows, s, PHASES(work));
#endif
        UNROLL for (int j = 0; j < TILES_N; j++)
        {
            int column = warp_n * WARP_N + j * 8, in_eight = lane % 4 * 2;
            unsigned at = chunk_at(row, column / RESULT_CHUNK, BLOCK_M, BLOCK_N / RESULT_CHUNK) +
                          (column % RESULT_CHUNK + in_eight) * RESULT_BYTES;
            const LANE *pair = sums[i][j] + 2 * part;
            FINISH_PAIR(pair, number, work->first_column + column + in_eight);
            stage_pair(memory + at, FIRST(pair), SECOND(pair));
        }
    }
    (void)s;
    (void)work;
}

struct ALIGNED(CHUNK_BYTES) chunk {
    unsigned words[4];
};

DEVICE void store_rows(GLOBAL RESULT *to, LOCAL_POINTER const unsigned char *memory,
                       const struct sizes *s, const struct work *work, int item)
{
    const int chunks = BLOCK_N / RESULT_CHUNK;
#pragma unroll 4
    for (int i = item; i < BLOCK_M * chunks; i += ITEMS) {
        int row = i / chunks, chunk = i % chunks;
        int column = work->first_column + chunk * RESULT_CHUNK;
        int number = row_number(work->first_row + row, work->rows, s, PHASES(work));
        if (number >= 0 && column < work->columns)
            *(GLOBAL struct chunk *)(GLOBAL void *)(to + row_at(number, s) + column) =
                *(LOCAL_POINTER const struct chunk *)(LOCAL_POINTER const void *)(memory +
                                                                                  chunk_at(
                                                                                      row, chunk,
                                                                                      BLOCK_M,
                                                                                      chunks));
    }
}

#endif
