/*
 * 1x1 convolutions as matrix products with positions innermost (NCHW), each tensor in place: blocks of two
 * operands on their way into local memory, and sums on their way to memory.
 *
 *   DIRECTION_F  rows: k; columns: positions of all images, one after the other; terms: c
 *   DIRECTION_B  rows: c; columns: positions; terms: k
 *   DIRECTION_W  rows: k; columns: c; terms: positions
 *
 * Defined before it is included: BLOCK_M and BLOCK_N (the block of sums, 64 terms a step), one of DIRECTION_F,
 * DIRECTION_B and DIRECTION_W; TYPE (FP16 or BF16); SPLIT: terms are split into parts, whose sums are stored
 * for conv_matrix_sum.cl; and the shape: SIZE_C and SIZE_K (of a group), GROUPS, STRIDE (in B 1 or 2), IN_H,
 * IN_W, OUT_H and OUT_W (in B IN is STRIDE times OUT). The shape is compiled in, so that a work-item's loads
 * need a few pointers and constants. Positions are y's; each meets one of x.
 *
 * PLANE_VECTOR and FILTER_VECTOR (8, 4, 2 or 1) neighbours are loaded and stored at once: no such group crosses the
 * end of an image or of a filter's line, and groups are aligned to their size. With a stride of 2 over lines of even
 * length, positions of x go in cells of two: CELL_VECTOR are loaded at once and every second element is kept, or in B
 * squares of them are stored. Otherwise single elements are loaded.
 */
#define PLANE   (OUT_H * OUT_W)
#define X_PLANE (IN_H * IN_W)
#define CELLS   (STRIDE == 2 && IN_W == 2 * OUT_W)
#if STRIDE == 1
#define X_VECTOR PLANE_VECTOR
#elif CELLS
#define X_VECTOR CELL_VECTOR
#else
#define X_VECTOR 1
#endif
#define CELL_VECTOR (OUT_W % 4 == 0 ? 4 : OUT_W % 2 == 0 ? 2 : 1)

#define BLOCK_K 64
#define ITEMS   (BLOCK_M * 2)
#define WARPS   (BLOCK_M / 16)
#define TILES_N (BLOCK_N / 8)
#define NEAR    0

#include "epilogue.h"
#include "matrix_nvidia.h"

#if defined(DIRECTION_F)
#define A_BY_TERM 0
#define B_BY_TERM 1
#define ROWS      SIZE_K
#define TERMS     SIZE_C
#elif defined(DIRECTION_B)
#define A_BY_TERM 1
#define B_BY_TERM 1
#define ROWS      SIZE_C
#define TERMS     SIZE_K
#else
#define A_BY_TERM 0
#define B_BY_TERM 0
#define ROWS      SIZE_K
#endif

#define A_BYTES (BLOCK_M * BLOCK_K * 2)
#define B_BYTES (BLOCK_N * BLOCK_K * 2)
#define PANEL                                                                                      \
    64 /* elements of a line in local memory, and lines of a panel whose lines are terms */
#define PANEL_BYTES (PANEL * PANEL * 2)
#define PANELS_M    (BLOCK_M / PANEL)
#define PANELS_N    (BLOCK_N / PANEL)

/* Bytes of local memory in which a warp puts results before it stores them. */
#define STAGED_BYTES (16 * PANEL * 2)

#if SPLIT
#define RESULT float
#else
#define RESULT half_bits
#endif

/* ---- parts of lines ---- */

#if defined(MATRIX_EMULATED)

DEVICE void load_part(LOCAL_POINTER unsigned char *memory, unsigned to,
                      GLOBAL const half_bits *from, int vector, int there)
{
    LOOP for (int i = 0; i < vector; i++) LOCAL_HALF(memory, to + 2 * i) = there ? from[i] : 0;
}

DEVICE void load_cells(LOCAL_POINTER unsigned char *memory, unsigned to,
                       GLOBAL const half_bits *from, int there)
{
    LOOP for (int i = 0; i < CELL_VECTOR; i++) LOCAL_HALF(memory, to + 2 * i) =
        there ? from[2 * i] : 0;
}

/* The emulation has barriers for whole workgroups only, so all work-items must arrive here. */
#define WARP_BARRIER() BARRIER()

#else

#define PART_TEXT(caches, bytes) "cp.async." caches ".shared.global [%0], [%1], " bytes ", %2;"

/* Copies `vector` neighbouring elements to local memory asynchronously, or zeros where `there` is 0. A single element
 * is too short for an asynchronous copy and is copied at once. */
DEVICE void load_part(const unsigned char *memory, unsigned to, const half_bits *from, int vector,
                      int there)
{
    int bytes = there ? vector * 2 : 0;
    (void)memory;
    if (vector == 8)
        asm volatile(PART_TEXT("cg", "16")::"r"(to), "l"(from), "r"(bytes) : "memory");
    else if (vector == 4)
        asm volatile(PART_TEXT("ca", "8")::"r"(to), "l"(from), "r"(bytes) : "memory");
    else if (vector == 2)
        asm volatile(PART_TEXT("ca", "4")::"r"(to), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"(there ? *from : (half_bits)0)
                     : "memory");
}

struct ALIGNED(CELL_VECTOR * 4) cells {
    unsigned cell[CELL_VECTOR];
};

/* Copies the first element of each of several neighbouring cells of two (stride 2). The copy is done on return. */
DEVICE void load_cells(const unsigned char *memory, unsigned to, const half_bits *from, int there)
{
    struct cells cells = {{0}};
    (void)memory;
    if (there)
        cells = *(const struct cells *)(const void *)from;
#if CELL_VECTOR == 4
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to),
                 "r"((cells.cell[0] & 0xffff) | cells.cell[1] << 16),
                 "r"((cells.cell[2] & 0xffff) | cells.cell[3] << 16)
                 : "memory");
#elif CELL_VECTOR == 2
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to),
                 "r"((cells.cell[0] & 0xffff) | cells.cell[1] << 16)
                 : "memory");
#else
    asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"((half_bits)cells.cell[0]) : "memory");
#endif
}

#define WARP_BARRIER() __syncwarp()

#endif

/* Loading a panel: each line has PARTS(vector) parts of `vector` elements; a work-item loads the same part of every
 * LINES(vector)-th line, from line_of() on. */
#define PARTS(vector) (PANEL / (vector))
#define LINES(vector) (ITEMS / PARTS(vector))

DEVICE int element_of(int item, int vector)
{
    return item % PARTS(vector) * vector;
}

DEVICE int line_of(int item, int vector)
{
    return item / PARTS(vector);
}

/* Byte offset of element `element` of a line in local memory; chunks of 16 bytes are permuted as wgmma.h describes.
 * */
DEVICE unsigned element_at(int line, int element)
{
    return (unsigned)(line * 128 + ((element / 8 ^ line) & 7) * CHUNK_BYTES + element % 8 * 2);
}

/* Loads `lines` lines of PANEL elements, `pitch` elements apart, from the work-item's first part on; with stride 2
 * only the elements that y meets. Writes zeros where `there` is 0 and for lines from number `whole` on. */
DEVICE void load_lines(LOCAL_POINTER unsigned char *memory, unsigned to,
                       GLOBAL const half_bits *from, int vector, int in_cells, int lines, i64 pitch,
                       int there, int whole, int item)
{
    const int element = element_of(item, vector), first = line_of(item, vector);
    UNROLL for (int i = 0; i < lines / LINES(vector); i++)
    {
        int line = first + i * LINES(vector);
        GLOBAL const half_bits *part = from + i * LINES(vector) * pitch;
        if (in_cells)
            load_cells(memory, to + element_at(line, element), part, there && line < whole);
        else
            load_part(memory, to + element_at(line, element), part, vector, there && line < whole);
    }
}

/* y_at(): offset of position `position` of y, counted through all images, from the first image's first plane; images
 * have `planes` planes. x_at(): offset of the position of x that it meets. */
DEVICE i64 y_at(int position, i64 planes)
{
    int image = (int)((unsigned)position / PLANE);
    return image * ((planes - 1) * PLANE) + position;
}

DEVICE i64 x_at(int position, i64 planes)
{
#if STRIDE == 1
    return y_at(position, planes);
#else
    int image = (int)((unsigned)position / PLANE), in_plane = position - image * PLANE;
    int h = in_plane / OUT_W, w = in_plane - h * OUT_W;
    return image * (planes * X_PLANE) + (h * STRIDE * IN_W + w * STRIDE);
#endif
}

/* ---- the operands ---- */

/* The addresses from which a work-item loads the next block of terms of both operands. */
struct feed {
    GLOBAL const half_bits *a;
    int row, step;
#if defined(DIRECTION_W)
    GLOBAL const half_bits *b;
    int column, term, parts, end;
#else
    GLOBAL const half_bits *b[PANELS_N];
    int there[PANELS_N];
#endif
};

/* Lines of the block that exist: a constant where the block's size divides their number. */
#define LINES_LEFT(count, first, block) ((count) % (block) == 0 ? (block) : (count) - (first))

#if defined(DIRECTION_W)

/* W: sets the addresses of y's lines (channels k) and x's lines (channels c); terms have the same offset in both.
 * Blocks of terms are dealt to the split-K parts in turn, so that workgroups that run at once read neighbouring data.
 * */
DEVICE void open_feed(struct feed *feed, GLOBAL const half_bits *y, GLOBAL const half_bits *x,
                      int group, int row, int column, int part, int parts, int end, int item)
{
    feed->row = row;
    feed->column = column;
    feed->step = 0;
    feed->term = part * BLOCK_K;
    feed->parts = parts;
    feed->end = end;
    feed->a = y + ((i64)group * SIZE_K + row + line_of(item, PLANE_VECTOR)) * PLANE;
    feed->b = x + ((i64)group * SIZE_C + column + line_of(item, X_VECTOR)) * X_PLANE;
}

DEVICE void load_step(LOCAL_POINTER unsigned char *memory, unsigned to, struct feed *feed, int item)
{
    const int of_y = feed->term + element_of(item, PLANE_VECTOR);
    const int of_x = feed->term + element_of(item, X_VECTOR);
    load_lines(memory, to, feed->a + y_at(of_y, SIZE_K * GROUPS), PLANE_VECTOR, 0, BLOCK_M, PLANE,
               of_y < feed->end, LINES_LEFT(SIZE_K, feed->row, BLOCK_M), item);
    load_lines(memory, to + A_BYTES, feed->b + x_at(of_x, SIZE_C * GROUPS), X_VECTOR, CELLS,
               BLOCK_N, X_PLANE, of_x < feed->end, LINES_LEFT(SIZE_C, feed->column, BLOCK_N), item);
    feed->term += feed->parts * BLOCK_K;
}

#else

#define STEPS ((TERMS + BLOCK_K - 1) / BLOCK_K)

#if defined(DIRECTION_F)
#define COLUMN_VECTOR X_VECTOR
#define COLUMN_CELLS  CELLS
#define COLUMN_PLANE  X_PLANE
#define column_at     x_at
#else
#define COLUMN_VECTOR PLANE_VECTOR
#define COLUMN_CELLS  0
#define COLUMN_PLANE  PLANE
#define column_at     y_at
#endif

/* F and B: sets the addresses of the block's rows, which are rows of the filter, in B its columns. */
DEVICE void open_rows(struct feed *feed, GLOBAL const half_bits *w, int group, int row, int item)
{
    const int line = line_of(item, FILTER_VECTOR), element = element_of(item, FILTER_VECTOR);
    feed->row = row;
    feed->step = 0;
    feed->a = w + (i64)group * SIZE_K * SIZE_C;
#if defined(DIRECTION_F)
    feed->a += (i64)(row + line) * SIZE_C + element;
#else
    feed->a += (i64)line * SIZE_C + row + element;
#endif
}

/* F and B: sets the addresses of the block's columns; all images together have `end` positions. */
DEVICE void open_columns(struct feed *feed, GLOBAL const half_bits *images, int group, int column,
                         int end, int item)
{
    images += ((i64)group * TERMS + line_of(item, COLUMN_VECTOR)) * COLUMN_PLANE;
    UNROLL for (int j = 0; j < PANELS_N; j++)
    {
        int position = column + j * PANEL + element_of(item, COLUMN_VECTOR);
        feed->b[j] = images + column_at(position, TERMS * GROUPS);
        feed->there[j] = position < end;
    }
}

DEVICE void load_a(LOCAL_POINTER unsigned char *memory, unsigned to, const struct feed *feed,
                   int step, int item)
{
    const int element = element_of(item, FILTER_VECTOR);
    const int left = LINES_LEFT(TERMS, step * BLOCK_K, BLOCK_K);
#if defined(DIRECTION_F)
    load_lines(memory, to, feed->a + step * BLOCK_K, FILTER_VECTOR, 0, BLOCK_M, SIZE_C,
               TERMS % BLOCK_K == 0 || element < left, LINES_LEFT(ROWS, feed->row, BLOCK_M), item);
#else
    UNROLL for (int j = 0; j < PANELS_M; j++)
        load_lines(memory, to + j * PANEL_BYTES, feed->a + (i64)step * BLOCK_K * SIZE_C + j * PANEL,
                   FILTER_VECTOR, 0, BLOCK_K, SIZE_C,
                   ROWS % BLOCK_M == 0 || feed->row + j * PANEL + element < ROWS, left, item);
#endif
}

DEVICE void load_b(LOCAL_POINTER unsigned char *memory, unsigned to, struct feed *feed, int step,
                   int item)
{
    UNROLL for (int j = 0; j < PANELS_N; j++)
    {
        load_lines(memory, to + j * PANEL_BYTES, feed->b[j], COLUMN_VECTOR, COLUMN_CELLS, BLOCK_K,
                   COLUMN_PLANE, feed->there[j], LINES_LEFT(TERMS, step * BLOCK_K, BLOCK_K), item);
        feed->b[j] += (i64)BLOCK_K * COLUMN_PLANE;
    }
}

#endif

/* ---- what is stored ---- */

#if SPLIT

/* Stores a warp's sums as a split-K part. A lane has rows lane / 4 and lane / 4 + 8, and of each eight columns the
 * pair lane % 4. */
DEVICE void store_part(GLOBAL float *to, LANE sums[TILES_N][4], int first_row, int first_column,
                       int warp, int lane)
{
    UNROLL for (int part = 0; part < 2; part++)
    {
        int row = first_row + warp * 16 + part * 8 + lane / 4;
        GLOBAL float *line = to + (i64)row * SIZE_C;
        UNROLL for (int j = 0; j < TILES_N; j++) UNROLL for (int e = 0; e < 2; e++)
        {
            int column = first_column + j * 8 + lane % 4 * 2 + e;
            if (row < ROWS && column < SIZE_C)
                line[column] = sums[j][2 * part + e];
        }
    }
}

#else

#if defined(DIRECTION_W)
#define RESULT_VECTOR FILTER_VECTOR
#define RESULT_PITCH  SIZE_C
#elif defined(DIRECTION_B) && STRIDE > 1
#define RESULT_VECTOR CELL_VECTOR
#define RESULT_PITCH  X_PLANE
#define result_at     x_at
#else
#define RESULT_VECTOR PLANE_VECTOR
#define RESULT_PITCH  PLANE
#define result_at     y_at
#endif
/* Rows of the result that a warp stores by one instruction. */
#define RESULT_ROWS  (RESULT_VECTOR > 2 ? 32 / PARTS(RESULT_VECTOR) : 1)
#define RESULT_TURNS (RESULT_VECTOR > 2 ? 1 : PARTS(RESULT_VECTOR) / 32)

struct ALIGNED(RESULT_VECTOR * 2) result_part {
    half_bits element[RESULT_VECTOR];
};

#if defined(DIRECTION_B) && STRIDE > 1

/* B with stride 2: several positions of x in a row, each followed by the zero of a position that no position of y
 * meets. */
struct ALIGNED(RESULT_VECTOR * 4) cell_part {
    half_bits element[RESULT_VECTOR * 2];
};

DEVICE void store_result(GLOBAL half_bits *to, struct result_part part)
{
    struct cell_part met, unmet;
    UNROLL for (int i = 0; i < RESULT_VECTOR * 2; i++)
    {
        met.element[i] = i % 2 ? 0 : part.element[i / 2];
        unmet.element[i] = 0;
    }
    *(GLOBAL struct cell_part *)(GLOBAL void *)to = met;
    *(GLOBAL struct cell_part *)(GLOBAL void *)(to + IN_W) = unmet;
}

#else

DEVICE void store_result(GLOBAL half_bits *to, struct result_part part)
{
    *(GLOBAL struct result_part *)(GLOBAL void *)to = part;
}

#endif

/* The epilogue's result for a sum. `row` is the output's channel, all groups counted, and `column` the position's
 * number in all images. Results of rows and columns past the end are not used. */
#ifdef EPILOGUE
DEVICE float finished(float sum, int row, int column, int end EPILOGUE_PARAMETERS)
{
    const i64 index = result_at(column, ROWS * GROUPS) + (i64)row * RESULT_PITCH;
    if (row >= ROWS * GROUPS || column >= end)
        return 0;
    return epilogue_value(sum, row, index EPILOGUE_ARGUMENTS);
}
#endif

/* Writes 16 rows of PANEL columns of a warp's results to the warp's lines of local memory. `row`: the first row, all
 * groups counted. */
DEVICE void stage_panel(LOCAL_POINTER unsigned char *lines, LANE (*sums)[4], int row, int column,
                        int end, int lane EPILOGUE_PARAMETERS)
{
    (void)row;
    (void)column;
    (void)end;
    UNROLL for (int j = 0; j < 8; j++) UNROLL for (int part = 0; part < 2; part++)
    {
        const int line = part * 8 + lane / 4, element = j * 8 + lane % 4 * 2;
        LANE *pair = sums[j] + 2 * part;
#ifdef EPILOGUE
        UNROLL for (int i = 0; i < 2; i++) pair[i] =
            finished(pair[i], row + line, column + element + i, end EPILOGUE_ARGUMENTS);
#endif
        *(LOCAL_POINTER unsigned *)(LOCAL_POINTER void *)(lines + element_at(line, element)) =
            pair_of(pair[0], pair[1]);
    }
}

/* Copies rows that stage_panel() wrote from local memory to the result; the panel begins at column number `column` of
 * all images' positions. */
DEVICE void store_panel(GLOBAL half_bits *to, LOCAL_POINTER const unsigned char *lines, int row,
                        int column, int end, int lane)
{
    UNROLL for (int turn = 0; turn < RESULT_TURNS; turn++)
    {
        int element = (turn * 32 + lane % PARTS(RESULT_VECTOR)) * RESULT_VECTOR;
        int first = lane / PARTS(RESULT_VECTOR);
#if defined(DIRECTION_W)
        GLOBAL half_bits *line = to + (column + element);
#else
        GLOBAL half_bits *line = to + result_at(column + element, ROWS * GROUPS);
#endif
        UNROLL for (int i = 0; i < 16 / RESULT_ROWS; i++)
        {
            int at = first + i * RESULT_ROWS;
            LOCAL_POINTER const unsigned char *part = lines + element_at(at, element);
            if (column + element < end && (ROWS % BLOCK_M == 0 || row + at < ROWS))
                store_result(
                    line + (i64)(row + at) * RESULT_PITCH,
                    *(LOCAL_POINTER const struct result_part *)(LOCAL_POINTER const void *)part);
        }
    }
}

/* Stores the block's sums through local memory, so that several neighbours are stored at once. Each warp stores its
 * own rows and waits for no other warp. */
DEVICE void store_block(GLOBAL half_bits *to, LOCAL_POINTER unsigned char *memory,
                        LANE sums[TILES_N][4], int group, int row, int column, int end, int warp,
                        int lane EPILOGUE_PARAMETERS)
{
    LOCAL_POINTER unsigned char *lines = memory + warp * STAGED_BYTES;
    UNROLL for (int j = 0; j < PANELS_N; j++)
    {
        stage_panel(lines, sums + j * 8, group * ROWS + row + warp * 16, column + j * PANEL, end,
                    lane EPILOGUE_ARGUMENTS);
        WARP_BARRIER();
        store_panel(to, lines, row + warp * 16, column + j * PANEL, end, lane);
        WARP_BARRIER();
    }
}

#endif
