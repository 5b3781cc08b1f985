/*
 * What kernels of matrix units share where channels lie innermost (NHWC): blocks of two operands on their
 * way into local memory, and sums on their way out. NVIDIA's GPUs from sm_80 on.
 *
 * Before it is included: BLOCK_M, BLOCK_N, BLOCK_K (the block of sums and of terms), ITEMS of a
 * workgroup; WARP_M by WARP_N, a warp's sums, which are TILES_M by TILES_N times 16 by 8; one of
 * DIRECTION_F, DIRECTION_B and DIRECTION_W; TYPE (FP16 or BF16); SPLIT.
 *
 * An operand lies in local memory as it lies in memory: with the terms innermost, or (BY_TERM) with
 * rows or columns innermost. 16 bytes are a chunk; chunks of a line change places by the line's number,
 * so that eight lines of one chunk lie in different banks.
 */
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

#define TEXT_FP16(text) text("f16")
#define TEXT_BF16(text) text("bf16")
#define TYPE_TEXT(text) DIALECT_JOIN(TEXT_, TYPE)(text)
#define PAIR_TEXT(type) "cvt.rn." type "x2.f32 %0, %2, %1;"

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

/* A warp's sums through local memory, so that 16 bytes are stored at a time. An item has rows lane / 4 and
 * 8 behind it, of each eight columns the pair lane % 4. */
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

extern __shared__ __align__(1024) unsigned char local_memory[];
