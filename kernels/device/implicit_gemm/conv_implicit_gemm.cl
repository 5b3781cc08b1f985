/*
 * Convolutions as one matrix product for each group, whose operands are gathered from the tensors themselves
 * (implicit unfolding). One of DIRECTION_F, DIRECTION_B and DIRECTION_W is defined:
 *
 *        rows (m)   columns (n)                terms (k)                  a   b   c
 *   F    k          batch, output positions    c, filter positions        w   x   y
 *   B    c          batch, input positions     k, filter positions        w   y   x
 *   W    k          c, filter positions        batch, output positions    y   x   w
 *
 * B computes the input positions in phases, which are the positions of one remainder modulo the stride. A phase
 * meets only the filter positions that reach it, so that nothing is multiplied by zeros between strides. Grid:
 * column blocks, row blocks, then groups times phases (B) or parts of the terms (W). Each part of W's terms (split-K)
 * writes its own copy of c, c_part elements after the one before, and another kernel adds up the copies.
 *
 * Columns are filter positions and channels while terms are positions and images, or the reverse. Tables in
 * local memory hold the offset in b and the coordinates of each column and each term. The offset of an element of b
 * is the sum of its column's and its term's offsets; the element exists where the sum of their coordinates is inside
 * of b.
 *
 * Options: those of tile.h and conv_shape.h; TYPE_A, TYPE_B, TYPE_C, the stored types; REPEAT_N, blocks of
 * columns of a workgroup, 1 unless THREADS is 1; INNER_CHANNEL, 1 where channels run faster than filter
 * positions; INNER_BATCH, 1 where images run faster than positions; A_BY_TERM and B_BY_TERM, 1 where
 * neighbouring work-items load neighbouring terms; B_RUNS and C_RUNS, 1 to load and store VEC neighbouring
 * columns as vectors (C_RUNS: FP32 only).
 */
#include "dialect.h"
#include "float8.h"
#include "tile.h"
#include "conv_shape.h"
#include "conv_walk.h"

#define COLUMNS (REPEAT_N * BLOCK_N)
#define RUNS (REPEAT_N * BLOCK_RUNS)

/* A barrier for workgroups of several work-items; nothing for a workgroup of one. */
#if THREADS == 1
#define TILE_BARRIER()
#else
#define TILE_BARRIER() BARRIER()
#endif

/* ---- tables of columns and terms ---- */

/* A table in local memory of offsets and coordinates: of columns (all of a workgroup's), or of the BLOCK_K terms of a
 * round. */
struct table {
    /* in_other: offset in the other tensor (c for columns, a for terms), -1 past the last column or term */
    LOCAL_POINTER i64 *in_b, *in_other;
    LOCAL_POINTER int *d, *h, *w;
    /* for columns with B_RUNS: fields of each run of VEC columns, read by OF_RUN() */
    LOCAL_POINTER int *runs;
};

DEVICE void write_spot(struct table table, int index, struct spot spot)
{
    table.in_b[index] = spot.in_b;
    table.in_other[index] = spot.in_other;
    table.h[index] = spot.h;
    table.w[index] = spot.w;
#if SPATIAL == 3
    table.d[index] = spot.d;
#endif
}

/* The coordinate of columns and terms past the end: so far outside that its sum with any other coordinate is outside
 * of b. Columns have it on one axis and terms on another, since the sum of two of them would be 0. */
#define OUTSIDE ((int)0x80000000u)

DEVICE void write_columns(struct walks walks, struct table columns, int first, int count)
{
#pragma unroll 1
    for (int i = ITEM; i < COLUMNS; i += THREADS) {
        struct spot spot = column_spot(walks, tile_split(column_digits(walks), first + i));
        if (first + i >= count) {
            spot.in_other = -1;
            spot.w = OUTSIDE;
        }
        write_spot(columns, i, spot);
    }
}

/* Element `number` of the coordinates of a round's term. They are in local memory instead of registers, because they
 * are used only once in a round. */
#define OF_PLACE(number, term) places[(number)*BLOCK_K + (term)]

DEVICE void write_place(LOCAL_POINTER int *places, int term, struct tile_place place)
{
    for (int i = 0; i < 4; i++)
        OF_PLACE(i, term) = place.at[i];
}

/* Writes the table of a round's terms, of which `left` exist, and moves the coordinates in `places` by `step` to the
 * next round's terms. */
DEVICE void write_terms(struct walks walks, struct table terms, LOCAL_POINTER int *places,
                        struct tile_place step, int left)
{
#pragma unroll 1
    for (int i = ITEM; i < BLOCK_K; i += THREADS) {
        struct tile_place place;
        struct spot spot;
        for (int j = 0; j < 4; j++)
            place.at[j] = OF_PLACE(j, i);
        spot = term_spot(walks, place);
        if (i >= left) {
            spot.in_other = -1;
            spot.h = OUTSIDE;
        }
        write_spot(terms, i, spot);
        write_place(places, i, place_add(term_digits(walks), place, step));
    }
}

/* ---- loading a round's tiles ---- */

DEVICE int is_inside(struct walk walk, int column, int term)
{
    return (unsigned int)column + (unsigned int)term < (unsigned int)walk.limit;
}

/* Copying a tile whose rows have `inner` elements: ACROSS work-items copy one row together, and DOWN rows are copied
 * at a time. */
#define ACROSS(inner) ((inner) < THREADS ? (inner) : THREADS)
#define DOWN(inner) (THREADS / ACROSS(inner))
#define STEPS(inner, outer) (((outer) + DOWN(inner) - 1) / DOWN(inner))
/* Unroll counts of copying loops on a GPU: at most 8, so that several loads are in flight. */
#define UNROLL(steps) (THREADS == 1 ? 1 : (steps) < 8 ? (steps) : 8)
/* Whether a work-item has nothing to copy: its row is past the tile's last row, or its number is beyond the
 * work-items that copy one round of rows. */
#define IS_IDLE(inner, outer, row)                                                                 \
    (((outer) % DOWN(inner) != 0 && (row) >= (outer)) ||                                           \
     (THREADS % ACROSS(inner) != 0 && ITEM >= ACROSS(inner) * DOWN(inner)))

enum {
    A_INNER = A_BY_TERM ? BLOCK_K : BLOCK_M,
    A_OUTER = A_BY_TERM ? BLOCK_M : BLOCK_K,
    A_ACROSS = ACROSS(A_INNER),
    A_DOWN = DOWN(A_INNER),
    A_STEPS = STEPS(A_INNER, A_OUTER),
    A_UNROLL = UNROLL(A_STEPS),
    B_INNER = B_BY_TERM ? BLOCK_K : BLOCK_N,
    B_OUTER = B_BY_TERM ? BLOCK_N : BLOCK_K,
    B_ACROSS = ACROSS(B_INNER),
    B_DOWN = DOWN(B_INNER),
    B_STEPS = STEPS(B_INNER, B_OUTER),
    B_UNROLL = UNROLL(B_STEPS),
};

/* Copies a block of a into local memory. A term past the end counts as zero. A row past the end is read at another
 * row's offset, and its sums are not stored. */
DEVICE void load_a(GLOBAL const STORAGE(TYPE_A) *RESTRICT a, LOCAL_POINTER LANE *tile,
                   LOCAL_POINTER const i64 *rows, struct table terms)
{
#pragma unroll A_UNROLL
    for (int step = 0; step < A_STEPS; step++) {
        int outer = step * A_DOWN + ITEM / A_ACROSS;
        if (IS_IDLE(A_INNER, A_OUTER, outer))
            break;
        for (int inner = ITEM % A_ACROSS; inner < A_INNER; inner += A_ACROSS) {
            int term = A_BY_TERM ? inner : outer, row = A_BY_TERM ? outer : inner;
            i64 at = terms.in_other[term];
            LANE value = LOAD(TYPE_A, a, rows[row] + (at < 0 ? 0 : at));
            tile[term * BLOCK_M + row] = at < 0 ? 0 : value;
        }
    }
}

DEVICE int is_there(struct walks walks, struct table columns, int column, struct table terms,
                    int term)
{
    int inside = is_inside(walks.h, columns.h[column], terms.h[term]) &
                 is_inside(walks.w, columns.w[column], terms.w[term]);
#if SPATIAL == 3
    inside &= is_inside(walks.d, columns.d[column], terms.d[term]);
#endif
    return inside;
}

/* An element of b, or zero outside of b. Outside, b's first element is read and dropped, since loads in branches
 * would wait for each other. */
DEVICE LANE load_one(GLOBAL const STORAGE(TYPE_B) *RESTRICT b, struct walks walks,
                     struct table columns, int column, struct table terms, int term)
{
    int inside = is_there(walks, columns, column, terms, term);
    i64 at = columns.in_b[column] + terms.in_b[term];
    LANE value = LOAD(TYPE_B, b, inside ? at : 0);
    return inside ? value : 0;
}

/* ---- runs of VEC columns ---- */

#if B_RUNS

/* Fields of a run of VEC columns. IS_RUN: whether the columns are neighbours in memory. The others are the range of
 * coordinates that the columns span; FIRST_W is OUTSIDE where a column is past the end. */
enum { IS_RUN, FIRST_D, LAST_D, FIRST_H, LAST_H, FIRST_W, LAST_W, RUN_FIELDS };
#define OF_RUN(field, run) runs[(field)*RUNS + (run)]

DEVICE void write_span(LOCAL_POINTER const int *columns, LOCAL_POINTER int *first,
                       LOCAL_POINTER int *last)
{
    int least = columns[0], most = columns[0];
    for (int lane = 1; lane < VEC; lane++) {
        least = columns[lane] < least ? columns[lane] : least;
        most = columns[lane] > most ? columns[lane] : most;
    }
    *first = least;
    *last = most;
}

DEVICE void write_runs(struct table columns, LOCAL_POINTER int *runs)
{
    for (int run = ITEM; run < RUNS; run += THREADS) {
        int is_run = 1;
        for (int lane = 1; lane < VEC; lane++)
            is_run &= columns.in_b[run * VEC + lane] == columns.in_b[run * VEC] + lane;
        OF_RUN(IS_RUN, run) = is_run;
#if SPATIAL == 3
        write_span(columns.d + run * VEC, &OF_RUN(FIRST_D, run), &OF_RUN(LAST_D, run));
#endif
        write_span(columns.h + run * VEC, &OF_RUN(FIRST_H, run), &OF_RUN(LAST_H, run));
        write_span(columns.w + run * VEC, &OF_RUN(FIRST_W, run), &OF_RUN(LAST_W, run));
    }
}

DEVICE int is_run_inside(struct walks walks, LOCAL_POINTER const int *runs, int run,
                         struct table terms, int term)
{
    int inside = is_inside(walks.h, OF_RUN(FIRST_H, run), terms.h[term]) &
                 is_inside(walks.h, OF_RUN(LAST_H, run), terms.h[term]) &
                 is_inside(walks.w, OF_RUN(FIRST_W, run), terms.w[term]) &
                 is_inside(walks.w, OF_RUN(LAST_W, run), terms.w[term]);
#if SPATIAL == 3
    inside &= is_inside(walks.d, OF_RUN(FIRST_D, run), terms.d[term]) &
              is_inside(walks.d, OF_RUN(LAST_D, run), terms.d[term]);
#endif
    return inside;
}

/* The number of elements of b from a group's first to its last, which a kernel may read. */
DEVICE i64 b_extent(struct walks walks)
{
    return 1 + (walks.images - 1) * walks.b_image + (walks.channels - 1) * walks.b_channel +
           (walks.d.limit - 1) * walks.b_d + (walks.h.limit - 1) * walks.b_h +
           (walks.w.limit - 1) * walks.b_w;
}

DEVICE void load_run(GLOBAL const STORAGE(TYPE_B) *RESTRICT b, LOCAL_POINTER LANE *to,
                     struct walks walks, struct table columns, struct table terms, int run,
                     int term)
{
    LOCAL_POINTER const int *runs = columns.runs;
    i64 at = columns.in_b[run * VEC] + terms.in_b[term];
    if (OF_RUN(IS_RUN, run) && is_run_inside(walks, runs, run, terms, term)) {
        for (int lane = 0; lane < VEC; lane++)
            to[lane] = LOAD(TYPE_B, b, at + lane);
    } else if (OF_RUN(IS_RUN, run) && at >= 0 && at + VEC <= b_extent(walks)) {
        for (int lane = 0; lane < VEC; lane++) {
            LANE value = LOAD(TYPE_B, b, at + lane);
            to[lane] = is_there(walks, columns, run * VEC + lane, terms, term) ? value : 0;
        }
    } else {
        for (int lane = 0; lane < VEC; lane++)
            to[lane] = load_one(b, walks, columns, run * VEC + lane, terms, term);
    }
}

/* Copies the block of b for BLOCK_N columns, from column number `first` on, into local memory. */
DEVICE void load_b(GLOBAL const STORAGE(TYPE_B) *RESTRICT b, LOCAL_POINTER LANE *tile,
                   struct walks walks, struct table columns, struct table terms, int first)
{
    for (int run = ITEM; run < BLOCK_RUNS; run += THREADS) {
        for (int term = 0; term < BLOCK_K; term++)
            load_run(b, tile + term * BLOCK_N + run * VEC, walks, columns, terms,
                     first / VEC + run, term);
    }
}

#else

DEVICE void load_b(GLOBAL const STORAGE(TYPE_B) *RESTRICT b, LOCAL_POINTER LANE *tile,
                   struct walks walks, struct table columns, struct table terms, int first)
{
#pragma unroll B_UNROLL
    for (int step = 0; step < B_STEPS; step++) {
        int outer = step * B_DOWN + ITEM / B_ACROSS;
        if (IS_IDLE(B_INNER, B_OUTER, outer))
            break;
        for (int inner = ITEM % B_ACROSS; inner < B_INNER; inner += B_ACROSS) {
            int term = B_BY_TERM ? inner : outer, column = B_BY_TERM ? outer : inner;
            tile[term * BLOCK_N + column] =
                load_one(b, walks, columns, first + column, terms, term);
        }
    }
}

#endif

/* ---- the product ---- */

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
#define A_GROUP (shape.k * w_k)
#define B_GROUP (shape.k * y_k)
#define C_GROUP (shape.c * x_c)
#define A_FIRST (d.first_filter * w_d + h.first_filter * w_h + w.first_filter * w_w)
#define C_FIRST (phase_d * x_d + phase_h * x_h + phase_w * x_w)
#else
#define STRIDES x_n, x_c, x_d, x_h, x_w, w_c, w_d, w_h, w_w, y_n, y_d, y_h, y_w
#define CHANNELS shape.c
#define ROWS shape.k
#define B_GROUP (shape.c * x_c)
#define A_FIRST 0
#if defined(DIRECTION_F)
#define A_ROW w_k
#define C_ROW y_k
#define C_FIRST 0
#else
#define A_ROW y_k
#define C_ROW w_k
#define C_FIRST (part * c_part)
#endif
#define A_GROUP (shape.k * A_ROW)
#define C_GROUP (shape.k * C_ROW)
#endif

KERNEL(THREADS, 1, 1)
conv_implicit_gemm(GLOBAL const STORAGE(TYPE_A) *RESTRICT a,
                   GLOBAL const STORAGE(TYPE_B) *RESTRICT b, GLOBAL STORAGE(TYPE_C) *RESTRICT c,
                   STRIDE_PARAMETERS, SHAPE_PARAMETERS, int k_part, i64 c_part EPILOGUE_PARAMETERS)
{
    LOCAL_ARRAY LANE a_tile[BLOCK_K * BLOCK_M];
    LOCAL_ARRAY LANE b_tile[BLOCK_K * BLOCK_N];
    LOCAL_ARRAY i64 a_row[BLOCK_M], c_row[BLOCK_M];
    LOCAL_ARRAY i64 column_in_b[COLUMNS], column_in_c[COLUMNS];
    LOCAL_ARRAY i64 term_in_b[BLOCK_K], term_in_a[BLOCK_K];
    LOCAL_ARRAY int places[4 * BLOCK_K];
    LOCAL_ARRAY int column_d[COLUMNS], column_h[COLUMNS], column_w[COLUMNS];
    LOCAL_ARRAY int term_d[BLOCK_K], term_h[BLOCK_K], term_w[BLOCK_K];
#if B_RUNS
    LOCAL_ARRAY int runs[RUN_FIELDS * RUNS];
#else
    LOCAL_POINTER int *runs = column_w;
#endif
    tile_sums sums[REPEAT_N];
    struct table columns = {column_in_b, column_in_c, column_d, column_h, column_w, runs};
    struct table terms = {term_in_b, term_in_a, term_d, term_h, term_w, runs};
    struct conv_shape shape = CONV_SHAPE;
    int first_m = (int)GROUP_ID(1) * BLOCK_M, first_n = (int)GROUP_ID(0) * COLUMNS;
    int group = (int)GROUP_ID(2) % shape.groups, layer = (int)GROUP_ID(2) / shape.groups;
#if defined(DIRECTION_B)
    int phases_h = phases_of(shape.h), phases_w = phases_of(shape.w), part = 0;
    int phase_d = layer / phases_w / phases_h;
    int phase_h = layer / phases_w % phases_h, phase_w = layer % phases_w;
#else
    int phase_d = 0, phase_h = 0, phase_w = 0, part = layer;
#endif
    struct walk d = walk_along(shape.d, phase_d), h = walk_along(shape.h, phase_h);
    struct walk w = walk_along(shape.w, phase_w);
    struct walks walks = {d, h, w, CHANNELS, shape.n, STRIDES};
    int first_k = part * k_part, left = term_count(walks) - first_k;
    struct tile_place step = tile_split(term_digits(walks), BLOCK_K);

    left = left < k_part ? left : k_part;
    if (first_n >= column_count(walks))
        left = 0;
    a += group * A_GROUP + A_FIRST;
    b += group * B_GROUP;
    c += group * C_GROUP + C_FIRST;
    EPILOGUE_ADVANCE(group * C_GROUP + C_FIRST, group * ROWS + first_m);
#pragma unroll 1
    for (int i = ITEM; i < BLOCK_M; i += THREADS) {
        int is_there = first_m + i < ROWS;
        a_row[i] = is_there ? (first_m + i) * A_ROW : 0;
        c_row[i] = is_there ? (first_m + i) * C_ROW : -1;
    }
    write_columns(walks, columns, first_n, column_count(walks));
#pragma unroll 1
    for (int i = ITEM; i < BLOCK_K; i += THREADS)
        write_place(places, i, tile_split(term_digits(walks), first_k + i));
    write_terms(walks, terms, places, step, left);
#if B_RUNS
    TILE_BARRIER();
    write_runs(columns, runs);
#endif
    for (int i = 0; i < REPEAT_N; i++)
        tile_clear(sums[i]);
    TILE_BARRIER();
    for (; left > 0; left -= BLOCK_K) {
        load_a(a, a_tile, a_row, terms);
        for (int i = 0; i < REPEAT_N; i++) {
            load_b(b, b_tile, walks, columns, terms, i * BLOCK_N);
            TILE_BARRIER();
            if (i == REPEAT_N - 1)
                write_terms(walks, terms, places, step, left - BLOCK_K);
            tile_multiply(a_tile, b_tile, sums[i]);
        }
        TILE_BARRIER();
    }
    for (int i = 0; i < REPEAT_N; i++)
        tile_store(c, c_row, column_in_c + i * BLOCK_N, sums[i] EPILOGUE_ARGUMENTS);
}
