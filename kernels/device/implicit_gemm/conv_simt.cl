/*
 * Convolutions as one matrix product for each group, in FP32, on a GPU's vector units. One of DIRECTION_F,
 * DIRECTION_B and DIRECTION_W is defined:
 *
 *        rows (m)   columns (n)                terms (k)                  a   b   c
 *   F    k          batch, output positions    c, filter positions        w   x   y
 *   B    c          batch, input positions     k, filter positions        w   y   x
 *   W    k          c, filter positions        batch, output positions    y   x   w
 *
 * B computes the input positions in phases, which are the positions of one remainder modulo the stride; a phase
 * meets only the filter positions that reach it. With a 1x1 filter of stride 2 only the first phase has
 * products. It may store the zeros of the other phases with its sums (c_quads, simt.h).
 *
 * Grid, first axis: row blocks within column blocks, so that neighbouring workgroups gather the same part of b.
 * Second axis: one. Third axis: groups within places within phases (B) within parts of the terms. Each part of the
 * terms (split-K) writes its own copy of c, c_part elements after the one before, and another kernel adds up the
 * copies. Places are products of a batch, such as Winograd's planes: F with 1x1 filters and any strides of rows,
 * columns and terms.
 *
 * A work-item loads the same rows and columns for each block of terms. Tables in local memory, made ahead, hold
 * offsets and coordinates of rows, columns and terms, as in conv_implicit_gemm.cl.
 *
 * With SPATIAL 3 depth is an axis like height and width (depth.h); with SPATIAL 2 nothing of it is compiled.
 *
 * Options: those of simt.h, conv_shape.h and conv_walk.h; LOAD_A and LOAD_B, 4 to load four neighbours at once,
 * all of which exist or none, else 1; A_BY_TERM and B_BY_TERM, 1 where terms are neighbours in memory;
 * C_BY_ROW, 1 where rows of c are. All tensors have fewer than 2^31 elements.
 */
#define DEPTH       (SPATIAL == 3)
#define WALK_OFFSET int
#include "depth.h"
#include "simt.h"
#include "conv_shape.h"
#include "conv_walk.h"

/* ---- how items share what is loaded ---- */

/* ACROSS: work-items that load neighbours in memory. For neighbouring terms they cover eight terms, or more where
 * there are more work-items than lines; for neighbouring lines they cover the block's rows or columns. Other
 * work-items load other lines or terms. LINE_STEP and TERM_STEP: distance between a work-item's loads. */
#define LEAST(x, y) ((x) < (y) ? (x) : (y))
#define MOST(x, y) ((x) > (y) ? (x) : (y))
#define ACROSS(by_term, load, block)                                                               \
    ((by_term) ? MOST(8 / (load), THREADS / (block)) : LEAST((block) / (load), THREADS))
#define LINE_STEP(by_term, load, across) ((by_term) ? THREADS / (across) : (across) * (load))
#define TERM_STEP(by_term, load, across) ((by_term) ? (across) * (load) : THREADS / (across))

enum {
    A_ACROSS = ACROSS(A_BY_TERM, LOAD_A, BLOCK_M),
    A_LINE_STEP = LINE_STEP(A_BY_TERM, LOAD_A, A_ACROSS),
    A_TERM_STEP = TERM_STEP(A_BY_TERM, LOAD_A, A_ACROSS),
    A_LINES = BLOCK_M / A_LINE_STEP,
    A_TERMS = BLOCK_K / A_TERM_STEP,
    B_ACROSS = ACROSS(B_BY_TERM, LOAD_B, BLOCK_N),
    B_LINE_STEP = LINE_STEP(B_BY_TERM, LOAD_B, B_ACROSS),
    B_TERM_STEP = TERM_STEP(B_BY_TERM, LOAD_B, B_ACROSS),
    B_LINES = BLOCK_N / B_LINE_STEP,
    B_TERMS = BLOCK_K / B_TERM_STEP,
    UNROLL_A_LINES = UNROLLED(A_LINES),
    UNROLL_A_TERMS = UNROLLED(A_TERMS),
    UNROLL_B_LINES = UNROLLED(B_LINES),
    UNROLL_B_TERMS = UNROLLED(B_TERMS),
    UNROLL_TABLE = 1,
};

#define A_LINE ((A_BY_TERM ? ITEM / A_ACROSS : ITEM % A_ACROSS * LOAD_A))
#define A_TERM ((A_BY_TERM ? ITEM % A_ACROSS * LOAD_A : ITEM / A_ACROSS))
#define B_LINE ((B_BY_TERM ? ITEM / B_ACROSS : ITEM % B_ACROSS * LOAD_B))
#define B_TERM ((B_BY_TERM ? ITEM % B_ACROSS * LOAD_B : ITEM / B_ACROSS))

/* Whether a is copied into local memory without registers (asynchronously). Four terms of a line, loaded at once, are
 * stored one by one, so they pass through registers. */
#define A_COPIES (ASYNC && !(A_BY_TERM && LOAD_A == 4))
#define B_COPIES (ASYNC && !(B_BY_TERM && LOAD_B == 4))

/* ---- the table of terms ---- */

/* A term has 16 bytes, which are loaded at once. With depth they hold d in the place of in_a, and the terms' in_a are
 * in a table of their own. PLANE_OR_DEEP: the first where there is no depth, else the second. */
#if DEPTH
#define PLANE_OR_DEEP(plane, deep) deep
#else
#define PLANE_OR_DEEP(plane, deep) plane
#endif

#if defined(__OPENCL_VERSION__)
struct term {
#else
struct __attribute__((aligned(16))) term {
#endif
    int in_b, PLANE_OR_DEEP(in_a, d), h, w;
};

/* Where load_a() finds a term's in_a: the term's offset in a, -1 for a term past the end. */
#if DEPTH
#define IN_A_ENTRY     int
#define IN_A_OF(entry) (entry)
#else
#define IN_A_ENTRY     struct term
#define IN_A_OF(entry) ((entry).in_a)
#endif

/* The coordinate of columns and terms past the end: so far outside that its sum with any other coordinate is outside
 * of b. Columns have it on one axis and terms on another, since the sum of two of them would be 0. */
#define OUTSIDE ((int)0x80000000u)

/* Terms in each of the table's two parts, as many as a wave has work-items. While blocks are loaded by one part, a
 * wave writes the other part. */
#define TABLE_PART 32
#define PART_BLOCKS (TABLE_PART / BLOCK_K)

/* Writes one part of the table, of whose terms `left` exist, and moves the coordinates in `places` to the next part's
 * terms. Coordinates and step are in local memory instead of registers, because only few work-items use them. */
DEVICE void write_terms(struct walks walks, LOCAL_POINTER struct term *terms,
                        IF_DEPTH(LOCAL_POINTER int *terms_in_a, )
                            LOCAL_POINTER struct tile_place *places,
                        int left)
{
#pragma unroll UNROLL_TABLE
    for (int i = ITEM; i < TABLE_PART; i += THREADS) {
        struct tile_place place = places[i];
        struct spot spot = term_spot(walks, place);
        struct term term = {spot.in_b, PLANE_OR_DEEP(spot.in_other, spot.d), spot.h, spot.w};
        if (i >= left) {
            PLANE_OR_DEEP(term.in_a, spot.in_other) = -1;
            term.h = OUTSIDE;
        }
        terms[i] = term;
        IF_DEPTH(terms_in_a[i] = spot.in_other;)
        places[i] = place_add(term_digits(walks), place, places[TABLE_PART]);
    }
}

/* ---- loading ---- */

/* The loads of a work-item for each block of terms: offset of its first row in a, offset and coordinates of its first
 * column in b, and the elements that are on their way through registers. */
struct loads {
    int row;
    struct term column;
    int IF_DEPTH(limit_d, ) limit_h, limit_w;
#if !A_COPIES
    struct quad a[LOAD_A == 4 ? A_TERMS * A_LINES : (A_TERMS * A_LINES + 3) / 4];
    unsigned int a_there; /* bit i: element i of a exists (otherwise it counts as zero) */
#endif
#if !B_COPIES
    struct quad b[LOAD_B == 4 ? B_TERMS * B_LINES : (B_TERMS * B_LINES + 3) / 4];
    unsigned int b_there;
#endif
};

/* Loads elements into registers, which settle() writes to local memory later. On NVIDIA a load of a missing element
 * is skipped and leaves zeros. Elsewhere loads in branches would wait for each other, so the operand's first element
 * is read instead and dropped on arrival. */
#if defined(__OPENCL_VERSION__) || defined(__HIP__)
#define PUT_AWAY 1
#define LOAD_AT(from, at, there, none) ((from)[(there) ? (at) : 0])
#define QUAD_AT(from, at, there, none)                                                             \
    (*(GLOBAL const struct quad *)((from) + ((there) ? (at) : 0)))
#else
#define PUT_AWAY 0
#define LOAD_AT(from, at, there, none) ((there) ? (from)[at] : (none))
#define QUAD_AT(from, at, there, none)                                                             \
    ((there) ? *(GLOBAL const struct quad *)((from) + (at)) : (none))
#endif

/* Whether element `number` is kept: its bit in `there`. Without PUT_AWAY, loads already gave zeros for missing
 * elements, and all are kept. */
DEVICE int is_kept(unsigned int there, int number)
{
    return !PUT_AWAY || (there >> number & 1u) != 0;
}

DEVICE void load_a(struct loads *loads, GLOBAL const float *a, LOCAL_POINTER float *tile,
                   LOCAL_POINTER const IN_A_ENTRY *terms, LOCAL_POINTER const int *rows)
{
#if !A_COPIES
    const struct quad none = {{0, 0, 0, 0}};
    loads->a_there = 0;
#endif
#pragma unroll UNROLL_A_TERMS
    for (int j = 0; j < A_TERMS; j++) {
        int term = A_TERM + j * A_TERM_STEP, in_a = IN_A_OF(terms[term]), there = in_a >= 0;
#pragma unroll UNROLL_A_LINES
        for (int i = 0; i < A_LINES; i++) {
            int at = (A_LINES > 1 ? rows[A_LINE + i * A_LINE_STEP] : loads->row) + in_a;
#if A_COPIES
            LOCAL_POINTER float *to = tile + term * PITCH(BLOCK_M) + A_LINE + i * A_LINE_STEP;
            if (LOAD_A == 4)
                copy_quad(to, a + (there ? at : 0), there);
            else
                copy_one(to, a + (there ? at : 0), there);
#else
            int number = j * A_LINES + i;
            loads->a_there |= (unsigned int)there << number;
            if (LOAD_A == 4)
                loads->a[number] = QUAD_AT(a, at, there, none);
            else
                loads->a[number / 4].lane[number % 4] = LOAD_AT(a, at, there, 0.0f);
#endif
        }
    }
}

DEVICE void load_b(struct loads *loads, GLOBAL const float *b, LOCAL_POINTER float *tile,
                   LOCAL_POINTER const struct term *terms,
                   LOCAL_POINTER const struct term *columns)
{
#if !B_COPIES
    const struct quad none = {{0, 0, 0, 0}};
    loads->b_there = 0;
#endif
#pragma unroll UNROLL_B_TERMS
    for (int j = 0; j < B_TERMS; j++) {
        int number_of_term = B_TERM + j * B_TERM_STEP;
        struct term term = terms[number_of_term];
#pragma unroll UNROLL_B_LINES
        for (int i = 0; i < B_LINES; i++) {
            struct term column = B_LINES > 1 ? columns[B_LINE + i * B_LINE_STEP] : loads->column;
            int there =
                IF_DEPTH(((unsigned int)column.d + (unsigned int)term.d <
                          (unsigned int)loads->limit_d) &)
                ((unsigned int)column.h + (unsigned int)term.h < (unsigned int)loads->limit_h) &
                ((unsigned int)column.w + (unsigned int)term.w < (unsigned int)loads->limit_w);
            int at = column.in_b + term.in_b;
#if B_COPIES
            LOCAL_POINTER float *to =
                tile + number_of_term * PITCH(BLOCK_N) + B_LINE + i * B_LINE_STEP;
            if (LOAD_B == 4)
                copy_quad(to, b + (there ? at : 0), there);
            else
                copy_one(to, b + (there ? at : 0), there);
#else
            int number = j * B_LINES + i;
            loads->b_there |= (unsigned int)there << number;
            if (LOAD_B == 4)
                loads->b[number] = QUAD_AT(b, at, there, none);
            else
                loads->b[number / 4].lane[number % 4] = LOAD_AT(b, at, there, 0.0f);
#endif
        }
    }
}

DEVICE void settle_quad(LOCAL_POINTER float *tile, int by_term, int pitch, int term, int line,
                        struct quad quad, int kept)
{
#pragma unroll UNROLL_QUAD
    for (int i = 0; i < 4; i++)
        quad.lane[i] = kept ? quad.lane[i] : 0;
    if (by_term) {
#pragma unroll UNROLL_QUAD
        for (int i = 0; i < 4; i++)
            tile[(term + i) * pitch + line] = quad.lane[i];
    } else {
        *(LOCAL_POINTER struct quad *)(tile + term * pitch + line) = quad;
    }
}

/* Writes the elements that loads left in registers to local memory, with zeros for missing elements. */
DEVICE void settle(const struct loads *loads, LOCAL_POINTER float *a_tile,
                   LOCAL_POINTER float *b_tile)
{
#if !A_COPIES
#pragma unroll UNROLL_A_TERMS
    for (int j = 0; j < A_TERMS; j++) {
#pragma unroll UNROLL_A_LINES
        for (int i = 0; i < A_LINES; i++) {
            int number = j * A_LINES + i;
            int term = A_TERM + j * A_TERM_STEP, line = A_LINE + i * A_LINE_STEP;
            if (LOAD_A == 4)
                settle_quad(a_tile, A_BY_TERM, PITCH(BLOCK_M), term, line,
                            loads->a[number], is_kept(loads->a_there, number));
            else
                a_tile[term * PITCH(BLOCK_M) + line] = is_kept(loads->a_there, number)
                                                                     ? loads->a[number / 4].lane[number % 4]
                                                                     : 0;
        }
    }
#endif
#if !B_COPIES
#pragma unroll UNROLL_B_TERMS
    for (int j = 0; j < B_TERMS; j++) {
#pragma unroll UNROLL_B_LINES
        for (int i = 0; i < B_LINES; i++) {
            int number = j * B_LINES + i;
            int term = B_TERM + j * B_TERM_STEP, line = B_LINE + i * B_LINE_STEP;
            if (LOAD_B == 4)
                settle_quad(b_tile, B_BY_TERM, PITCH(BLOCK_N), term, line,
                            loads->b[number], is_kept(loads->b_there, number));
            else
                b_tile[term * PITCH(BLOCK_N) + line] = is_kept(loads->b_there, number)
                                                                     ? loads->b[number / 4].lane[number % 4]
                                                                     : 0;
        }
    }
#endif
}

/* ---- the product ---- */

#if !DEPTH
/* An axis of one position has no strides and one phase. */
enum { x_d = 0, w_d = 0, y_d = 0, phase_d = 0 };
#endif

/* Kernel arguments that differ by direction. STRIDES: strides of b, of the filter and of the tensor with the other
 * positions, in the order of struct walks. The others are steps and starts in a, b and c. */
#if defined(DIRECTION_B)
#define STRIDES                                                                                    \
    y_n, y_k, y_d, y_h, y_w, w_k, d.filter_step *w_d, h.filter_step *w_h, w.filter_step *w_w, x_n, \
        shape.d.stride *x_d, shape.h.stride *x_h, shape.w.stride *x_w
#define CHANNELS shape.k
#define ROWS shape.c
#define A_ROW w_c
#define C_ROW x_c
#define A_FIRST (d.first_filter * w_d + h.first_filter * w_h + w.first_filter * w_w)
#define C_FIRST (phase_d * x_d + phase_h * x_h + phase_w * x_w + part * c_part)
#else
#define STRIDES x_n, x_c, x_d, x_h, x_w, w_c, w_d, w_h, w_w, y_n, y_d, y_h, y_w
#define CHANNELS shape.c
#define ROWS shape.k
#define A_FIRST 0
#define C_FIRST (part * c_part)
#if defined(DIRECTION_F)
#define A_ROW w_k
#define C_ROW y_k
#else
#define A_ROW y_k
#define C_ROW w_k
#endif
#endif

/* The phase that a workgroup computes; `turn` is the workgroup's number among phases. Phases that meet more filter
 * positions come first, so that the last workgroups are short. */
DEVICE int phase_at(int turn, int phases, int pad)
{
    return (turn + phases - pad % phases) % phases;
}

SIMT_KERNEL
conv_simt(GLOBAL const float *RESTRICT a, GLOBAL const float *RESTRICT b, GLOBAL float *RESTRICT c,
          int x_n, int x_c, IF_DEPTH(int x_d, ) int x_h, int x_w, int w_k, int w_c,
          IF_DEPTH(int w_d, ) int w_h, int w_w, int y_n, int y_k, IF_DEPTH(int y_d, ) int y_h,
          int y_w, SHAPE_PARAMETERS, i64 a_group, i64 b_group, i64 c_group, i64 a_place,
          i64 b_place, i64 c_place, int places, int row_blocks, int k_part, i64 c_part,
          int c_quads EPILOGUE_PARAMETERS)
{
    LOCAL_ARRAY struct quad a_tiles[STAGES * BLOCK_K * PITCH_QUADS(BLOCK_M)];
    LOCAL_ARRAY struct quad b_tiles[STAGES * BLOCK_K * PITCH_QUADS(BLOCK_N)];
    LOCAL_ARRAY struct term terms[2 * TABLE_PART];
    IF_DEPTH(LOCAL_ARRAY int terms_in_a[2 * TABLE_PART];)
    LOCAL_ARRAY struct tile_place term_places[TABLE_PART + 1];
    LOCAL_ARRAY struct term spots[BLOCK_N];
    LOCAL_ARRAY int a_row[BLOCK_M], c_row[BLOCK_M], c_column[BLOCK_N];
    float sums[TILE_M][TILE_N];
    struct loads loads;
    struct conv_shape shape = CONV_SHAPE;
    int first_m = (int)GROUP_ID(0) % row_blocks * BLOCK_M;
    int first_n = (int)GROUP_ID(0) / row_blocks * BLOCK_N;
    int group = (int)GROUP_ID(2) % shape.groups, place = (int)GROUP_ID(2) / shape.groups % places;
    int layer = (int)GROUP_ID(2) / shape.groups / places;
#if defined(DIRECTION_B)
    int phases_h = phases_of(shape.h), phases_w = phases_of(shape.w);
    int phases_in_plane = phases_h * phases_w;
    int phases = c_quads >= PAIRS_SPREAD ? 1 : phases_in_plane IF_DEPTH(*phases_of(shape.d));
    int part = layer / phases, phase = layer % phases;
    IF_DEPTH(int phase_d = phase_at(phase / phases_in_plane, phases_of(shape.d), shape.d.pad);)
    int phase_h = phase_at(phase IF_DEPTH(% phases_in_plane) / phases_w, phases_h, shape.h.pad);
    int phase_w = phase_at(phase % phases_w, phases_w, shape.w.pad);
#else
    int IF_DEPTH(phase_d = 0, ) phase_h = 0, phase_w = 0, part = layer;
#endif
    struct walk d = walk_along(shape.d, phase_d), h = walk_along(shape.h, phase_h);
    struct walk w = walk_along(shape.w, phase_w);
    struct walks walks = {d, h, w, CHANNELS, shape.n, STRIDES};
    int first_k = part * k_part, left = term_count(walks) - first_k, columns = column_count(walks);

    if (first_n >= columns)
        left = 0;
    left = left < k_part ? left : k_part;
    a += group * a_group + place * a_place + A_FIRST;
    b += group * b_group + place * b_place;

#pragma unroll UNROLL_TABLE
    for (int i = ITEM; i < BLOCK_M; i += THREADS) {
        int is_there = first_m + i < ROWS;
        a_row[i] = is_there ? (first_m + i) * A_ROW : 0;
        c_row[i] = is_there ? (first_m + i) * C_ROW : -1;
    }
#pragma unroll UNROLL_TABLE
    for (int i = ITEM; i < BLOCK_N; i += THREADS) {
        struct spot spot = column_spot(walks, tile_split(column_digits(walks), first_n + i));
        struct term column = {spot.in_b, PLANE_OR_DEEP(0, spot.d), spot.h,
                              first_n + i < columns ? spot.w : OUTSIDE};
        spots[i] = column;
        c_column[i] = first_n + i < columns ? spot.in_other : -1;
    }
#pragma unroll UNROLL_TABLE
    for (int i = ITEM; i <= TABLE_PART; i += THREADS)
        term_places[i] =
            tile_split(term_digits(walks), i < TABLE_PART ? first_k + i : TABLE_PART);
    BARRIER();
    IF_DEPTH(loads.limit_d = walks.d.limit;)
    loads.limit_h = walks.h.limit;
    loads.limit_w = walks.w.limit;
    loads.row = a_row[A_LINE];
    loads.column = spots[B_LINE];
    simt_clear(sums);

#define A_TILE(stage) (a_tiles + (stage) * (BLOCK_K * PITCH_QUADS(BLOCK_M)))
#define B_TILE(stage) (b_tiles + (stage) * (BLOCK_K * PITCH_QUADS(BLOCK_N)))
#define FLOATS(tile) ((LOCAL_POINTER float *)(tile))
#define IN_TABLE(block)   ((block) * BLOCK_K % (2 * TABLE_PART))
#define TERMS(block)      (terms + IN_TABLE(block))
#define TERMS_IN_A(block) (PLANE_OR_DEEP(terms, terms_in_a) + IN_TABLE(block))
    /* In its first round the loop only writes the table of terms. In the next rounds it loads the blocks that must be
     * in flight before the first multiplication. */
#pragma unroll UNROLL_TABLE
    for (int ahead = -1; (ahead - (STAGES - 1)) * BLOCK_K < left; ahead++) {
        int stage = (ahead + 1) % STAGES, next = (ahead + STAGES) % STAGES;
        COPIES_AWAIT(STAGES - 2);
        BARRIER();
        if (ahead >= 0) {
            load_a(&loads, a, FLOATS(A_TILE(next)), TERMS_IN_A(ahead), a_row);
            load_b(&loads, b, FLOATS(B_TILE(next)), TERMS(ahead), spots);
        }
        COPIES_END();
        if ((ahead + 1) % PART_BLOCKS == 0)
            write_terms(walks, TERMS(ahead + 1), IF_DEPTH(TERMS_IN_A(ahead + 1), ) term_places,
                        left - (ahead + 1) * BLOCK_K);
        if (ahead >= STAGES - 1)
            simt_multiply(A_TILE(stage), B_TILE(stage), sums);
        if (ahead >= 0)
            settle(&loads, FLOATS(A_TILE(next)), FLOATS(B_TILE(next)));
    }
    COPIES_AWAIT(0);
    c += group * c_group + place * c_place + C_FIRST;
    EPILOGUE_ADVANCE(group * c_group + C_FIRST, group * ROWS + first_m);
#if defined(DIRECTION_B) && !C_BY_ROW
    if (c_quads >= PAIRS_SPREAD) {
        simt_store_spread(c, c_row, c_column, c_quads, x_h, sums);
        return;
    }
#endif
    simt_store(c, c_row, c_column, c_quads, sums EPILOGUE_ARGUMENTS);
}
