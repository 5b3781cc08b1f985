/*
 * Convolutions as matrix products on NVIDIA's matrix units: m rows by n columns, summed over terms. The
 * channels of all tensors lie innermost (NHWC), so that eight of them are one load of 16 bytes.
 *
 *   DIRECTION_F  rows: positions of y; columns: k; terms: filter positions, c within
 *   DIRECTION_B  rows: positions of x; columns: c; terms: filter positions, k within
 *   DIRECTION_W  rows: k; columns: c of one filter position; terms: positions of y
 *
 * A workgroup computes BLOCK_M by BLOCK_N sums and each of its warps WARP_M by WARP_N of them, in
 * registers, by products of 16 by 8 by 16 (mma.sync). Blocks of BLOCK_K terms of both operands come into
 * local memory without passing through registers (cp.async), STAGES of them under way; what lies outside
 * of a tensor arrives as zeros. An operand lies there as it lies in memory: with the terms
 * innermost, or (BY_TERM) with rows or columns innermost, and is then turned around by the load into
 * registers (ldmatrix, .trans). 16 bytes are a chunk; chunks of a line change places by the line's number, so
 * that eight lines of one chunk lie in different banks.
 *
 * W's terms may be split into parts (SPLIT): each leaves its sums in FP32 for conv_sum_splits.cl.
 *
 * Options: DIRECTION_*, TYPE (FP16 or BF16), the sizes above, SPLIT.
 */
#include "dialect.h"

#define WARPS_M (BLOCK_M / WARP_M)
#define WARPS_N (BLOCK_N / WARP_N)
#define ITEMS   (32 * WARPS_M * WARPS_N)
#define TILES_M (WARP_M / 16)
#define TILES_N (WARP_N / 8)

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
#define A_LOADS (A_LINES * A_CHUNKS / ITEMS)
#define B_LOADS (B_LINES * B_CHUNKS / ITEMS)

#define CHUNK_BYTES 16
#define A_BYTES     (BLOCK_M * BLOCK_K * 2)
#define STAGE_BYTES ((BLOCK_M + BLOCK_N) * BLOCK_K * 2)

typedef unsigned short half_bits;
#if SPLIT
#define RESULT float
#else
#define RESULT half_bits
#endif

/* ---- the machine's instructions ---- */

DEVICE unsigned local_address(const void *pointer)
{
    unsigned address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
        : "=r"(address)
        : "l"(pointer));
    return address;
}

/* 16 bytes on their way; zeros where they are not `there`. */
DEVICE void load_chunk(unsigned to, const half_bits *from, int there)
{
    int bytes = there ? CHUNK_BYTES : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

DEVICE void end_stage(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until no more than that many stages are under way. */
#define AWAIT_STAGES(count) asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory")

DEVICE void load_matrices(unsigned *to, unsigned from, int turn)
{
    if (turn)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
}

#define MULTIPLY_TEXT(type)                                                                        \
    "mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                                 \
    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#define PAIR_TEXT(type) "cvt.rn." type "x2.f32 %0, %2, %1;"
#define TEXT_FP16(text) text("f16")
#define TEXT_BF16(text) text("bf16")
#define TYPE_TEXT(text) DIALECT_JOIN(TEXT_, TYPE)(text)

DEVICE void multiply(float *sums, const unsigned *a, const unsigned *b)
{
    asm volatile(TYPE_TEXT(MULTIPLY_TEXT)
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Two sums as they are stored, the first one low. */
DEVICE unsigned pair_of(float first, float second)
{
    unsigned pair;
    asm(TYPE_TEXT(PAIR_TEXT) : "=r"(pair) : "f"(first), "f"(second));
    return pair;
}

/* ---- local memory ---- */

/* Where a chunk of a line lies, in bytes: lines of four chunks are two to 128 bytes. */
DEVICE int chunk_at(int line, int chunk, int chunks)
{
    int place = chunks == 4 ? chunk ^ ((line >> 1) & 3) : chunk ^ (line & 7);
    return (line * chunks + place) * CHUNK_BYTES;
}

/* The four matrices of 8 by 8 that 16 rows by 16 terms are, in the order of the products' operand a: rows
 * first. Each lane names a line of one of them. */
DEVICE void load_a(unsigned *to, unsigned tile, int row, int term, int lane)
{
    int line, chunk;
    if (A_BY_TERM) {
        line = term + (lane >> 4) * 8 + (lane & 7);
        chunk = row / 8 + (lane >> 3 & 1);
    } else {
        line = row + (lane & 15);
        chunk = term / 8 + (lane >> 4);
    }
    load_matrices(to, tile + chunk_at(line, chunk, A_CHUNKS), A_BY_TERM);
}

/* The same of 16 columns: two operands b, terms first. */
DEVICE void load_b(unsigned *to, unsigned tile, int column, int term, int lane)
{
    int line, chunk;
    if (B_BY_TERM) {
        line = term + (lane >> 3 & 1) * 8 + (lane & 7);
        chunk = column / 8 + (lane >> 4);
    } else {
        line = column + (lane >> 4) * 8 + (lane & 7);
        chunk = term / 8 + (lane >> 3 & 1);
    }
    load_matrices(to, tile + chunk_at(line, chunk, B_CHUNKS), B_BY_TERM);
}

/* ---- what is loaded ---- */

struct sizes {
    int n, c, k, groups; /* c and k of a group */
    int in_h, in_w, out_h, out_w, fil_h, fil_w;
    int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;
};

/* A position of an image: of rows in F and B, of terms in W. */
struct place {
    int image, h, w;
};

DEVICE struct place place_of(int position, int h, int w)
{
    struct place place;
    place.image = position / (h * w);
    position -= place.image * h * w;
    place.h = position / w;
    place.w = position - place.h * w;
    return place;
}

/* Which block of terms is loaded next. */
struct step {
    int fil_h, fil_w, term; /* term: the first channel (F, B) or position (W) of the block */
};

#if !defined(DIRECTION_W)

#if defined(DIRECTION_F)
#define ROW_H    s->out_h
#define ROW_W    s->out_w
#define SOURCE_H s->in_h
#define SOURCE_W s->in_w
#define TERMS    s->c
#define COLUMNS  s->k
#else
#define ROW_H    s->in_h
#define ROW_W    s->in_w
#define SOURCE_H s->out_h
#define SOURCE_W s->out_w
#define TERMS    s->k
#define COLUMNS  s->c
#endif

/* What an item loads of a: the same rows for each block of terms. In F a row's place is where its filter
 * begins in x; in B the place in x that the filter leads to y from. */
struct rows {
    int image[A_LOADS]; /* below 0: there is no such row */
    int h[A_LOADS], w[A_LOADS];
};

DEVICE void find_rows(struct rows *rows, const struct sizes *s, int first, int count, int item)
{
#pragma unroll
    for (int i = 0; i < A_LOADS; i++) {
        int row = first + (item + i * ITEMS) / A_CHUNKS;
        struct place place = place_of(row, ROW_H, ROW_W);
        rows->image[i] = row < count ? place.image : -1;
#if defined(DIRECTION_F)
        rows->h[i] = place.h * s->stride_h - s->pad_h;
        rows->w[i] = place.w * s->stride_w - s->pad_w;
#else
        rows->h[i] = place.h + s->pad_h;
        rows->w[i] = place.w + s->pad_w;
#endif
    }
}

/* The position along an axis that a filter position leads to; below 0 for none. */
DEVICE int source_at(int from, int filter, int stride, int dilation, int size)
{
#if defined(DIRECTION_F)
    int at = from + filter * dilation;
    (void)stride;
    return at < size ? at : -1;
#else
    int at = from - filter * dilation;
    if (stride > 1) {
        if (at % stride != 0)
            return -1;
        at /= stride;
    }
    return at < size ? at : -1;
#endif
}

DEVICE void load_rows(unsigned tile, const half_bits *source, const struct rows *rows,
                      const struct sizes *s, const struct step *step, int item)
{
#pragma unroll
    for (int i = 0; i < A_LOADS; i++) {
        int line = (item + i * ITEMS) / A_CHUNKS, chunk = (item + i * ITEMS) % A_CHUNKS;
        int term = step->term + chunk * 8;
        int h = source_at(rows->h[i], step->fil_h, s->stride_h, s->dilation_h, SOURCE_H);
        int w = source_at(rows->w[i], step->fil_w, s->stride_w, s->dilation_w, SOURCE_W);
        int there = rows->image[i] >= 0 && h >= 0 && w >= 0 && term < TERMS;
        i64 at = ((i64)rows->image[i] * SOURCE_H + h) * SOURCE_W + w;
        load_chunk(tile + chunk_at(line, chunk, A_CHUNKS),
                   source + (there ? at * (TERMS * s->groups) + term : 0), there);
    }
}

/* w[k][fil_h][fil_w][c] */
DEVICE void load_filter(unsigned tile, const half_bits *w, const struct sizes *s,
                        const struct step *step, int column, int item)
{
    int tap = step->fil_h * s->fil_w + step->fil_w;
#pragma unroll
    for (int i = 0; i < B_LOADS; i++) {
        int line = (item + i * ITEMS) / B_CHUNKS, chunk = (item + i * ITEMS) % B_CHUNKS;
#if defined(DIRECTION_F)
        int k = column + line, c = step->term + chunk * 8;
#else
        int k = step->term + line, c = column + chunk * 8;
#endif
        int there = k < s->k && c < s->c;
        i64 at = ((i64)k * s->fil_h * s->fil_w + tap) * s->c + c;
        load_chunk(tile + chunk_at(line, chunk, B_CHUNKS), w + (there ? at : 0), there);
    }
}

DEVICE void advance(struct step *step, const struct sizes *s)
{
    step->term += BLOCK_K;
    if (step->term < TERMS)
        return;
    step->term = 0;
    if (++step->fil_w == s->fil_w) {
        step->fil_w = 0;
        step->fil_h++;
    }
}

#else

/* Positions of y, their k (a) or what a filter position meets of x, their c (b). */
DEVICE void load_positions(unsigned tile, const half_bits *source, const struct sizes *s,
                           const struct step *step, int end, int first, int is_b, int item)
{
    const int chunks = is_b ? B_CHUNKS : A_CHUNKS, loads = is_b ? B_LOADS : A_LOADS;
#pragma unroll
    for (int i = 0; i < loads; i++) {
        int line = (item + i * ITEMS) / chunks, chunk = (item + i * ITEMS) % chunks;
        int position = step->term + line, channel = first + chunk * 8;
        int there = position < end && channel < (is_b ? s->c : s->k);
        i64 at = position;
        if (is_b) {
            struct place place = place_of(position, s->out_h, s->out_w);
            int h = place.h * s->stride_h - s->pad_h + step->fil_h * s->dilation_h;
            int w = place.w * s->stride_w - s->pad_w + step->fil_w * s->dilation_w;
            there = there && h >= 0 && h < s->in_h && w >= 0 && w < s->in_w;
            at = ((i64)place.image * s->in_h + h) * s->in_w + w;
        }
        at = at * ((is_b ? s->c : s->k) * s->groups) + channel;
        load_chunk(tile + chunk_at(line, chunk, chunks), source + (there ? at : 0), there);
    }
}

#endif

/* ---- what is stored ---- */

/* Through local memory, so that 16 bytes are stored at a time. */
DEVICE void stage_sums(unsigned char *local, float sums[TILES_M][TILES_N][4], int warp_m,
                       int warp_n, int lane)
{
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int part = 0; part < 2; part++) {
                int row = warp_m * WARP_M + i * 16 + part * 8 + lane / 4;
                int column = warp_n * WARP_N + j * 8;
                int at = chunk_at(row, column / 8, BLOCK_N / 8) + lane % 4 * 4;
                *(unsigned *)(void *)(local + at) =
                    pair_of(sums[i][j][2 * part], sums[i][j][2 * part + 1]);
            }
}

struct chunk {
    unsigned words[4];
};

DEVICE void store_rows(half_bits *to, const unsigned char *local, int first_row, int rows,
                       int first_column, int columns, i64 line, int item)
{
#pragma unroll 4
    for (int i = item; i < BLOCK_M * BLOCK_N / 8; i += ITEMS) {
        int row = i / (BLOCK_N / 8), chunk = i % (BLOCK_N / 8);
        int at_row = first_row + row, column = first_column + chunk * 8;
        if (at_row < rows && column < columns)
            *(struct chunk *)(void *)(to + at_row * line + column) =
                *(const struct chunk *)(const void *)(local + chunk_at(row, chunk, BLOCK_N / 8));
    }
}

#if defined(DIRECTION_W) && SPLIT
/* parts[k][c][fil_h][fil_w] of all groups' k */
DEVICE void store_part(float *parts, float sums[TILES_M][TILES_N][4], const struct sizes *s,
                       int first_k, int first_c, int tap, int warp_m, int warp_n, int lane)
{
    int taps = s->fil_h * s->fil_w;
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int k = first_k + warp_m * WARP_M + i * 16 + e / 2 * 8 + lane / 4;
                int c = first_c + warp_n * WARP_N + j * 8 + lane % 4 * 2 + e % 2;
                if (k < s->k && c < s->c)
                    parts[((i64)k * s->c + c) * taps + tap] = sums[i][j][e];
            }
}
#endif

/* ---- the product ---- */

DEVICE void multiply_stage(unsigned a, unsigned b, float sums[TILES_M][TILES_N][4], int warp_m,
                           int warp_n, int lane)
{
#pragma unroll
    for (int term = 0; term < BLOCK_K; term += 16) {
        unsigned rows[TILES_M][4], columns[TILES_N / 2][4];
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
            load_a(rows[i], a, warp_m * WARP_M + i * 16, term, lane);
#pragma unroll
        for (int j = 0; j < TILES_N / 2; j++)
            load_b(columns[j], b, warp_n * WARP_N + j * 16, term, lane);
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
#pragma unroll
            for (int j = 0; j < TILES_N; j++)
                multiply(sums[i][j], rows[i], &columns[j / 2][j % 2 * 2]);
    }
}

extern __shared__ __align__(128) unsigned char local_memory[];

KERNEL(ITEMS, 1, 1)
conv_matrix(GLOBAL const half_bits *RESTRICT a, GLOBAL const half_bits *RESTRICT b,
            GLOBAL RESULT *RESTRICT result, int n, int c, int k, int groups, int in_h, int in_w, int out_h, int out_w, int fil_h, int fil_w, int pad_h,
            int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w, int splits,
            int part_terms)
{
    const struct sizes sizes = {n,     c,     k,     groups, in_h,     in_w,     out_h,      out_w,
                                fil_h, fil_w, pad_h, pad_w,  stride_h, stride_w, dilation_h, dilation_w};
    const struct sizes *s = &sizes;
    struct step step = {0, 0, 0};
    float sums[TILES_M][TILES_N][4];
    const int item = LOCAL_ID(0), lane = item % 32, warp = item / 32;
    const int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
    const int first_row = GROUP_ID(0) * BLOCK_M, first_column = GROUP_ID(1) * BLOCK_N;
    const unsigned local = local_address(local_memory);
    int group, steps;

#if !defined(DIRECTION_W)
    struct rows rows;
    const int row_count = n * ROW_H * ROW_W;
    group = GROUP_ID(2);
    steps = fil_h * fil_w * ((TERMS + BLOCK_K - 1) / BLOCK_K);
    find_rows(&rows, s, first_row, row_count, item);
    a += (i64)group * TERMS;
    b += (i64)group * k * fil_h * fil_w * c;
#define LOAD_STAGE(stage)                                                                          \
    do {                                                                                           \
        unsigned to = local + (stage) * STAGE_BYTES;                                               \
        load_rows(to, a, &rows, s, &step, item);                                                   \
        load_filter(to + A_BYTES, b, s, &step, first_column, item);                                \
        advance(&step, s);                                                                         \
    } while (0)
#else
    int rest = GROUP_ID(2), tap = rest % (fil_h * fil_w), part, end;
    rest /= fil_h * fil_w;
    part = rest % splits;
    group = rest / splits;
    step.fil_h = tap / fil_w;
    step.fil_w = tap % fil_w;
    step.term = part * part_terms;
    end = n * out_h * out_w;
    end = step.term + part_terms < end ? step.term + part_terms : end;
    steps = end > step.term ? (end - step.term + BLOCK_K - 1) / BLOCK_K : 0;
    a += (i64)group * k;
    b += (i64)group * c;
#define LOAD_STAGE(stage)                                                                          \
    do {                                                                                           \
        unsigned to = local + (stage) * STAGE_BYTES;                                               \
        load_positions(to, a, s, &step, end, first_row, 0, item);                                  \
        load_positions(to + A_BYTES, b, s, &step, end, first_column, 1, item);                     \
        step.term += BLOCK_K;                                                                      \
    } while (0)
#endif

#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sums[i][j][e] = 0;

#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        if (stage < steps)
            LOAD_STAGE(stage);
        end_stage();
    }
    for (int at = 0; at < steps; at++) {
        unsigned tile = local + at % STAGES * STAGE_BYTES;
        AWAIT_STAGES(STAGES - 2);
        BARRIER();
        if (at + STAGES - 1 < steps)
            LOAD_STAGE((at + STAGES - 1) % STAGES);
        end_stage();
        multiply_stage(tile, tile + A_BYTES, sums, warp_m, warp_n, lane);
    }
    AWAIT_STAGES(0);
    BARRIER();

#if defined(DIRECTION_W) && SPLIT
    result += ((i64)part * groups + group) * k * c * fil_h * fil_w;
    store_part(result, sums, s, first_row, first_column, tap, warp_m, warp_n, lane);
#else
    stage_sums(local_memory, sums, warp_m, warp_n, lane);
    BARRIER();
#if defined(DIRECTION_W)
    result += ((i64)group * k * fil_h * fil_w + tap) * c;
    store_rows(result, local_memory, first_row, k, first_column, c, (i64)fil_h * fil_w * c, item);
#else
    store_rows(result + (i64)group * COLUMNS, local_memory, first_row, row_count, first_column, COLUMNS,
               (i64)groups * COLUMNS, item);
#endif
#endif
}
