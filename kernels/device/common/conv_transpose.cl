/*
 * Copies a tensor between layouts with channels last and other layouts, and pads the channels of a group with zeros.
 * The tensor is copied as planes of rows by columns, one for each group of each batch; the strides within and between
 * planes are arguments.
 *
 *   TILED 1: to[column][row] = from[row][column]. Columns are neighbours in `from`, rows in `to`. A block of 64 by 64
 *            goes through local memory, so that both sides are accessed in order. Rows from `rows` to `fill` are zeros.
 *   TILED 0: to[row][column] = from[row][column], one element for each work-item. Columns are neighbours in `to` only.
 *            Columns from `columns` to `fill` are zeros.
 *
 * Batches from `batches` on are zeros. Grid: `blocks` workgroups for each plane.
 *
 * Options: TENSOR (x, w or y: the entry's name), BYTES (1, 2 or 4: of an element), TILED.
 */
#include "dialect.h"

#if BYTES == 1
typedef unsigned char element;
#elif BYTES == 2
typedef unsigned short element;
#else
typedef unsigned int element;
#endif

#define ITEMS 256
#define TILE  64
/* Length of a tile's line in local memory: the extra elements put a column's elements of 32 lines into 32 different
 * banks. */
#define PITCH (TILE + 4 / BYTES)
#define STEP  (ITEMS / TILE)

#define PLANE_PARAMETERS                                                                           \
    GLOBAL const element *RESTRICT from, GLOBAL element *RESTRICT to, int blocks, int groups,      \
        int batches, int rows, int columns, int fill, i64 from_batch, i64 from_group,              \
        i64 from_row, i64 from_column, i64 to_batch, i64 to_group, i64 to_row

KERNEL(ITEMS, 1, 1)
DIALECT_JOIN(conv_transpose_, TENSOR)(PLANE_PARAMETERS)
{
    const int item = (int)LOCAL_ID(0), id = (int)GROUP_ID(0);
    const int plane = id / blocks, block = id - plane * blocks;
    const int batch = plane / groups, group = plane - batch * groups;
    const int is_there = batch < batches;
#if TILED
    LOCAL_ARRAY element tile[TILE * PITCH];
    const int row_blocks = (fill + TILE - 1) / TILE;
    const int first_row = block % row_blocks * TILE, first_column = block / row_blocks * TILE;
    const int lane = item % TILE, line = item / TILE;
#else
    const int at = block * ITEMS + item, row = at / fill, column = at - row * fill;
#endif
    from += batch * from_batch + group * from_group;
    to += batch * to_batch + group * to_group;
#if TILED
    (void)from_column;
    for (int i = line; i < TILE; i += STEP) {
        int row = first_row + i, column = first_column + lane;
        element value = 0;
        if (is_there && row < rows && column < columns)
            value = from[row * from_row + column];
        tile[i * PITCH + lane] = value;
    }
    BARRIER();
    for (int i = line; i < TILE; i += STEP) {
        int column = first_column + i, row = first_row + lane;
        if (column < columns && row < fill)
            to[column * to_row + row] = tile[lane * PITCH + i];
    }
#else
    if (row < rows) {
        element value = 0;
        if (is_there && column < columns)
            value = from[row * from_row + column * from_column];
        to[row * to_row + column] = value;
    }
#endif
}
