/*
 * Convolutions of groups of few channels, NHWC: a patch of the source with its halo in local memory, from which
 * all filter positions read. All but the number of images is compiled in.
 *
 *   DIRECTION_F, _W  the source is x; a position is one of y's
 *   DIRECTION_B      the source is y; a position is STRIDE_H by STRIDE_W neighbours of x, its phases
 *
 * A workgroup's tile is TILE_H rows of TILE_W positions by GROUPS groups. Columns are counted through all
 * images; an image contributes the columns that it reads, padding included, so that a tile may reach into the
 * next image. A filter row (column) multiplies the source element whose distance from a position's first element is
 * the row's (column's) SHIFT.
 *
 * Defined before it is included: the shape (GROUP_C and GROUP_K of a group, ALL_GROUPS, IN_, FIL_, OUT_, PAD_,
 * STRIDE_ and DILATION_, each with H and W; PERIOD_W, the distance of filter columns that meet one phase),
 * TYPE, LANE (float), TILE_H, TILE_W, GROUPS; WARP_TILES, result channels of a warp in eights.
 */
#include "dialect.h"

#if defined(DIRECTION_B)
#define SOURCE_GROUP      GROUP_K
#define RESULT_GROUP      GROUP_C
#define SOURCE_H          OUT_H
#define SOURCE_W          OUT_W
#define RESULT_H          IN_H
#define RESULT_W          IN_W
#define PLANE_H           ((IN_H + STRIDE_H - 1) / STRIDE_H)
#define PLANE_W           ((IN_W + STRIDE_W - 1) / STRIDE_W)
#define STEP_H            1
#define STEP_W            1
#define PHASES_H          STRIDE_H
#define PHASES_W          STRIDE_W
/* a / b rounded up, for either sign of a. */
#define QUOTIENT_UP(a, b) ((a) > 0 ? ((a) + (b)-1) / (b) : -(-(a) / (b)))
#define MEETS_H(r)        QUOTIENT_UP(PAD_H - (r)*DILATION_H, STRIDE_H)
#define MEETS_W(s)        QUOTIENT_UP(PAD_W - (s)*DILATION_W, STRIDE_W)
#define ORIGIN_H          MEETS_H(FIL_H - 1)
#define ORIGIN_W          MEETS_W(FIL_W - 1)
#define SHIFT_H(r)        (MEETS_H(r) - ORIGIN_H)
#define SHIFT_W(s)        (MEETS_W(s) - ORIGIN_W)
#define PHASE_H(r)        (MEETS_H(r) * STRIDE_H - PAD_H + (r)*DILATION_H)
#define PHASE_W(s)        (MEETS_W(s) * STRIDE_W - PAD_W + (s)*DILATION_W)
#define SPAN_H            (SHIFT_H(0) + 1)
#define SPAN_W            (SHIFT_W(0) + 1)
#else
#define SOURCE_GROUP GROUP_C
#define RESULT_GROUP GROUP_K
#define SOURCE_H     IN_H
#define SOURCE_W     IN_W
#define RESULT_H     OUT_H
#define RESULT_W     OUT_W
#define PLANE_H      OUT_H
#define PLANE_W      OUT_W
#define STEP_H       STRIDE_H
#define STEP_W       STRIDE_W
#define PHASES_H     1
#define PHASES_W     1
#define ORIGIN_H     (-PAD_H)
#define ORIGIN_W     (-PAD_W)
#define SHIFT_H(r)   ((r)*DILATION_H)
#define SHIFT_W(s)   ((s)*DILATION_W)
#define PHASE_H(r)   0
#define PHASE_W(s)   0
#define SPAN_H       (SHIFT_H(FIL_H - 1) + 1)
#define SPAN_W       (SHIFT_W(FIL_W - 1) + 1)
#endif

#define WARPS_M       (TILE_W / 16)
#define WARPS_N       (GROUPS * RESULT_GROUP / (8 * WARP_TILES))
#define ITEMS         (32 * WARPS_M * WARPS_N)
#define NEAR          0
#define BUNDLES       (ALL_GROUPS / GROUPS)
#define ROW_TILES     ((PLANE_H + TILE_H - 1) / TILE_H)
#define ROUNDED(a, b) (((a) + (b)-1) / (b) * (b))

/* LINE_W: columns of the source that one image contributes. PATCH_W: columns of the source that a tile reads, the
 * most over all columns where a tile may begin. */
#define LINE_W       ROUNDED((PLANE_W - 1) * STEP_W + SPAN_W, STEP_W)
#define LINE_ENDS    ((TILE_W + PLANE_W - 2) / PLANE_W)
#define PATCH_W      ((TILE_W - 1) * STEP_W + LINE_ENDS * (LINE_W - PLANE_W * STEP_W) + SPAN_W)
#define PATCH_H      ((TILE_H - 1) * STEP_H + SPAN_H)
/* Order of the patch's columns in local memory: columns of equal remainder modulo the step are stored together, so
 * that a read spreads over the banks. For the same reason a column has an odd number of chunks. */
#define SECTION      ((PATCH_W + STEP_W - 1) / STEP_W)
#define CHUNKS       (GROUPS * SOURCE_GROUP / 8)
#define PLACE_CHUNKS (CHUNKS | 1)
#define ROW_BYTES    (SECTION * STEP_W * PLACE_CHUNKS * CHUNK_BYTES)
#define PATCH_BYTES  (PATCH_H * ROW_BYTES)
#define COLUMN_AT(d) (((d) % STEP_W * SECTION + (d) / STEP_W) * PLACE_CHUNKS * CHUNK_BYTES)

#include "matrix_nvidia.h"

/* ---- instructions beside matrix_nvidia.h's ---- */

/* IF_COMPILED(condition): a condition known at compile time that leaves out a step. In the emulation steps have
 * barriers, which may not be in a branch, so the step is always done and gets a flag that says whether it counts. */
#if defined(MATRIX_EMULATED)
#define IF_COMPILED(condition)
#define WARP_BARRIER() BARRIER()
#define ROLLED         LOOP
#else
#define IF_COMPILED(condition) if (condition)
#define WARP_BARRIER()         __syncwarp()
#define ROLLED                 _Pragma("unroll 1")
#endif

#if defined(MATRIX_EMULATED)

/* ldmatrix for two matrices: loads four and keeps the first two. */
DEVICE void load_two_matrices(LOCAL_POINTER unsigned char *memory, unsigned *to, unsigned from,
                              int turn, int item)
{
    unsigned all[4];
    load_matrices(memory, all, from, turn, item);
    to[0] = all[0];
    to[1] = all[1];
}

/* Multiplies `chunks` chunks of eight terms: 16 terms, or 8 with zeros for the rest. */
DEVICE void multiply_chunks(LOCAL_POINTER unsigned char *memory, LANE *sums, const unsigned *a,
                            const unsigned *b, int chunks, int item)
{
    const unsigned all_a[4] = {a[0], a[1], chunks > 1 ? a[2] : 0, chunks > 1 ? a[3] : 0};
    const unsigned all_b[2] = {b[0], chunks > 1 ? b[1] : 0};
    multiply(memory, sums, all_a, all_b, item);
}

#else

DEVICE void load_two_matrices(const unsigned char *memory, unsigned *to, unsigned from, int turn,
                              int item)
{
    (void)memory;
    (void)item;
    if (turn)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(to[0]), "=r"(to[1])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(to[0]), "=r"(to[1])
                     : "r"(from)
                     : "memory");
}

#define EIGHT_TERMS_TEXT(type)                                                                     \
    "mma.sync.aligned.m16n8k8.row.col.f32." type "." type ".f32 "                                  \
    "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"

DEVICE void multiply_chunks(const unsigned char *memory, LANE *sums, const unsigned *a,
                            const unsigned *b, int chunks, int item)
{
    if (chunks > 1)
        multiply(memory, sums, a, b, item);
    else
        asm volatile(TYPE_TEXT(EIGHT_TERMS_TEXT)
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

#endif

/* ---- the tile ---- */

struct tile {
    /* the bundle of GROUPS groups; the first row and column of the tile's positions, columns counted through all
     * images */
    int bundle, row, first;
    /* source column of the tile's first position, counted through all images' columns (LINE_W for each) */
    int line;
};

struct place {
    int image, w;
};

DEVICE struct place place_of(int position)
{
    struct place place;
    place.image = position / PLANE_W;
    place.w = position - place.image * PLANE_W;
    return place;
}

DEVICE int line_of(int position)
{
    struct place place = place_of(position);
    return place.image * LINE_W + place.w * STEP_W;
}

/* A tile's coordinates by its number. Bundles of groups run fastest, so that workgroups that run at once read
 * neighbouring channels; then rows. */
DEVICE struct tile tile_of(int number)
{
    struct tile tile;
    tile.bundle = number % BUNDLES;
    number /= BUNDLES;
    tile.row = number % ROW_TILES * TILE_H;
    tile.first = number / ROW_TILES * TILE_W;
    tile.line = line_of(tile.first);
    return tile;
}

/* ---- what is loaded ---- */

/* For each chunk of a patch's row that a work-item loads: its offset in the source without the row, negative where
 * the chunk is outside of the source. */
#define ROW_CHUNKS (PATCH_W * CHUNKS)
#define ROW_LOADS  ((ROW_CHUNKS + ITEMS - 1) / ITEMS)

struct columns {
    i64 at[ROW_LOADS];
};

DEVICE void find_columns(struct columns *columns, const struct tile *tile, int images, int item)
{
    UNROLL for (int i = 0; i < ROW_LOADS; i++)
    {
        int number = i * ITEMS + item, chunk = number % CHUNKS;
        int line = tile->line + number / CHUNKS, image = line / LINE_W;
        int w = line - image * LINE_W + ORIGIN_W;
        int there = image < images && (unsigned)w < (unsigned)(SOURCE_W);
        i64 at = ((i64)image * SOURCE_H * SOURCE_W + w) * (ALL_GROUPS * SOURCE_GROUP);
        columns->at[i] = there ? at + (tile->bundle * CHUNKS + chunk) * 8 : -1;
    }
}

/* Loads rows of the patch asynchronously, with zeros outside of the source. */
DEVICE void load_patch(LOCAL_POINTER unsigned char *memory, unsigned to,
                       GLOBAL const half_bits *source, const struct columns *columns,
                       const struct tile *tile, int first, int rows, int item)
{
    const int origin = tile->row * STEP_H + ORIGIN_H;
    UNROLL for (int i = 0; i < ROW_LOADS; i++)
    {
        const int number = i * ITEMS + item;
        const unsigned place = to + COLUMN_AT(number / CHUNKS) + number % CHUNKS * CHUNK_BYTES;
        if (number < ROW_CHUNKS) {
#pragma unroll 4
            for (int row = first; row < first + rows; row++) {
                int h = origin + row;
                int there = columns->at[i] >= 0 && (unsigned)h < (unsigned)(SOURCE_H);
                i64 line = (i64)h * ((i64)SOURCE_W * (ALL_GROUPS * SOURCE_GROUP));
                load_chunk(memory, place + row * ROW_BYTES,
                           source + (there ? columns->at[i] + line : 0), there);
            }
        }
    }
}

/* ---- a filter's row ---- */

/* The filter columns that a phase meets, with their channels, eight to a chunk: chunk j is column first + j /
 * SOURCE_CHUNKS * PERIOD_W. Two chunks are a step of 16 terms. */
#define SOURCE_CHUNKS (SOURCE_GROUP / 8)
#define STEPS_MOST    (((FIL_W + PERIOD_W - 1) / PERIOD_W * SOURCE_CHUNKS + 1) / 2)

struct taps {
    int first, chunks;
};

DEVICE struct taps find_taps(int phase)
{
    struct taps taps = {FIL_W, 0};
    UNROLL for (int s = FIL_W - 1; s >= 0; s--) taps.first = PHASE_W(s) == phase ? s : taps.first;
    if (taps.first < FIL_W)
        taps.chunks = ((FIL_W - 1 - taps.first) / PERIOD_W + 1) * SOURCE_CHUNKS;
    return taps;
}

DEVICE int column_of(const struct taps *taps, int chunk)
{
    return taps->first + chunk / SOURCE_CHUNKS * PERIOD_W;
}

/* The chunks (1 or 2) of a step of 16 terms. A step without a second chunk repeats the first one's address. */
DEVICE int chunks_of(const struct taps *taps, int step)
{
    return taps->chunks - 2 * step > 1 ? 2 : 1;
}

DEVICE int second_of(const struct taps *taps, int step)
{
    return 2 * step + chunks_of(taps, step) - 1;
}

/* Bytes in the patch from a position's first element to the source chunk that the filter row's chunk `chunk`
 * multiplies. */
DEVICE int source_at(const struct taps *taps, int chunk)
{
    int d = SHIFT_W(column_of(taps, chunk));
    return COLUMN_AT(d) + chunk % SOURCE_CHUNKS * CHUNK_BYTES;
}

/* ---- a warp's place ---- */

struct warp {
    int item, lane, m, n; /* m and n: number of the warp along the columns and along the channels */
    int group;            /* the warp's first group, counted within the bundle */
};

DEVICE struct warp find_warp(int item)
{
    struct warp warp;
    warp.item = item;
    warp.lane = item % 32;
    warp.m = item / 32 % WARPS_M;
    warp.n = item / 32 / WARPS_M;
    warp.group = warp.n * WARP_TILES * 8 / RESULT_GROUP;
    return warp;
}

/* Number of the group to which a warp's tile of 8 channels belongs, counted from the warp's first group. */
#define GROUP_OF(tile) ((tile)*8 / RESULT_GROUP)
/* The number of groups that a warp's channels belong to, and of its tiles of 8 channels in each group. */
#define WARP_GROUPS    (GROUP_OF(WARP_TILES - 1) + 1)
#define GROUP_TILES    (WARP_TILES / WARP_GROUPS)
