/*
 * Stores the sums of tma_work.h's tiles. A warp has 16 rows of a tile with all columns and stores them on
 * its own: rounded sums go through local memory, 64 columns at a time, and are stored 16 bytes at once.
 * Split-K parts, and sums that a team (workgroups that share a tile) has added up, are stored from registers
 * in pairs.
 *
 * Defined before it is included: tma_work.h, SPLIT, TILES_N, LANE.
 */
#include "matrix_epilogue.h"

#if SPLIT || LONG_NUMBERS
#define RESULT LANE
#else
#define RESULT half_bits
#endif
/* Sums are stored as pairs of neighbouring columns, the form in which lanes hold them: also those of TF32, of which four
 * lanes store a whole sector. */
#define BY_PAIRS     (SPLIT || TEAM > 1 || LONG_NUMBERS)
/* Bytes of local memory in which a warp puts results before it stores them. */
#define STAGED_BYTES (BY_PAIRS ? 0 : 16 * LINE_BYTES)

#if defined(MATRIX_EMULATED)
#define WARP_BARRIER() BARRIER()
#else
#define WARP_BARRIER() __syncwarp()
#endif

/* Rows of 64 that a work-item handles. Its sums are of two rows. If sums are stored in pairs (BY_PAIRS), it stores
 * these; else it stores every fourth row of its warp, and of each row an eighth of the 64 columns, chosen by its
 * lane. */
#define STORED_ROWS (BY_PAIRS ? 2 : 4)

DEVICE int row_of_sums(int i, int item)
{
    return item % 128 / 32 * 16 + i * 8 + item % 32 / 4;
}

DEVICE int stored_row(int i, int item)
{
    return BY_PAIRS ? row_of_sums(i, item) : item % 128 / 32 * 16 + i * 4 + item % 32 / 8;
}

/* For each row that a work-item stores: its position in the box, as w, h, with depth d, and image in 8 bits each. */
struct stored_rows {
    int inside[STORED_ROWS];
};

DEVICE int inside_box(int row, const struct shape *s)
{
    int line = row / s->box_w;
#if DEPTH
    int plane = line / s->box_h;
    return (row - line * s->box_w) | line % s->box_h << 8 | plane % s->box_d << 16 |
           plane / s->box_d << 24;
#else
    return (row - line * s->box_w) | line % s->box_h << 8 | line / s->box_h << 16;
#endif
}

DEVICE struct stored_rows find_stored_rows(const struct shape *s, int item)
{
    struct stored_rows rows;
    UNROLL for (int i = 0; i < STORED_ROWS; i++) rows.inside[i] =
        inside_box(stored_row(i, item), s);
    return rows;
}

#if defined(DIRECTION_F)
#define COLUMNS s->k
#elif defined(DIRECTION_B)
#define COLUMNS NUMBERS_C(s)
#endif

/* Finds the numbers of `count` rows in the result; -1 for a row past the end. In F and B `inside` says where the rows
 * are in the box; in W rows are channels, those that the work-item stores. */
DEVICE void find_rows(int *numbers, const int *inside, int count, const struct shape *s,
                      const struct tile *tile, int item)
{
#if defined(DIRECTION_W)
    (void)inside;
    UNROLL for (int i = 0; i < count; i++)
    {
        int row = tile->row_block * BLOCK_M + item / 128 * 64 + stored_row(i, item);
        numbers[i] = row < s->k ? tile->group * s->k + row : -1;
    }
#else
    struct place place = box_at(tile->row_block * GROUPS + item / 128, s);
    UNROLL for (int i = 0; i < count; i++)
    {
        int w = place.w + (inside[i] & 255), h = place.h + (inside[i] >> 8 & 255);
        int box_image = inside[i] >> (16 + 8 * DEPTH), image = place.image + box_image;
        IF_DEPTH(int d = place.d + (inside[i] >> 16 & 255);)
#if defined(DIRECTION_F)
        const int size_w = s->out_w, size_h = s->out_h IF_DEPTH(, size_d = s->out_d);
#else
        const int size_w = s->in_w, size_h = s->in_h IF_DEPTH(, size_d = s->in_d);
        w = tile->phase_w + w * s->stride_w;
        h = tile->phase_h + h * s->stride_h;
        IF_DEPTH(d = tile->phase_d + d * s->stride_d;)
#endif
        int there = box_image < s->box_n && image < s->n && IF_DEPTH(d < size_d &&) h < size_h &&
                    w < size_w;
        numbers[i] =
            there ? ((image IF_DEPTH(* size_d + d)) * size_h + h) * size_w + w : -1;
    }
#endif
}

DEVICE i64 row_elements(const struct shape *s)
{
#if defined(DIRECTION_W)
    return (i64)(s->fil_w * s->fil_h IF_DEPTH(* s->fil_d)) * s->c;
#else
    return s->pitch;
#endif
}

/* 64 neighbouring columns of the result: offset of the first in a row, and the number that exist. */
struct panel {
    int at, count;
#ifdef EPILOGUE
    int first; /* the first column's number in the group */
#endif
};

DEVICE struct panel panel_at(int i, const struct shape *s, const struct tile *tile)
{
    struct panel panel;
    int number = tile->column_block * PANELS + i;
#if defined(DIRECTION_W)
    int channel_panels = (s->c + 63) / 64, tap = number / channel_panels;
    int channel = (number - tap * channel_panels) * 64;
    panel.at = tap * s->c + channel;
    panel.count = tap < s->fil_w * s->fil_h IF_DEPTH(* s->fil_d) ? s->c - channel : 0;
#else
    panel.at = tile->group * COLUMNS + number * 64;
    panel.count = COLUMNS - number * 64;
#endif
#ifdef EPILOGUE
    panel.first = number * 64;
#endif
    return panel;
}

/* Replaces sums of one row and two neighbouring columns, from column `column` of the panel on, by the epilogue's
 * results. `number` is the row's number in the result. */
#ifdef EPILOGUE
DEVICE void finish_pair(LANE *sums, int number, int column, const struct panel *panel,
                        const struct shape *s, const struct tile *tile FINISH_PARAMETERS)
{
    const struct results results = finished_pair(sums, number, tile->group, s->groups,
                                                 panel->first + column FINISH_ARGUMENTS);
    sums[0] = results.value[0];
    sums[1] = results.value[1];
}
#define FINISH_PAIR(sums, number, column)                                                          \
    finish_pair(sums, number, column, panel, s, tile FINISH_ARGUMENTS)
#else
#define FINISH_PAIR(sums, number, column)
#endif

#if BY_PAIRS

#if LONG_NUMBERS
/* of 8 bytes, of which a place is a multiple, since channels of a group are filled up to chunks */
struct ALIGNED(8) result_pair {
    float value[2];
};
#define STORE_PAIR(place, sums, at)                                                                \
    do {                                                                                           \
        const struct result_pair stored = {{(sums)[at], (sums)[(at) + 1]}};                        \
        *(GLOBAL struct result_pair *)(GLOBAL void *)(place) = stored;                             \
    } while (0)
#elif SPLIT
#define STORE_PAIR(place, sums, at)                                                                \
    do {                                                                                           \
        (place)[0] = (sums)[at];                                                                   \
        (place)[1] = (sums)[(at) + 1];                                                             \
    } while (0)
#else
#define STORE_PAIR(place, sums, at)                                                                \
    *(GLOBAL unsigned *)(GLOBAL void *)(place) = pair_of((sums)[at], (sums)[(at) + 1])
#endif

/* Stores eight columns of sums, number `number` among the panel's groups of eight. */
DEVICE void store_columns(GLOBAL RESULT *to, LANE *sums, int number, const int *rows,
                          const struct panel *panel, const struct shape *s, const struct tile *tile,
                          int item FINISH_PARAMETERS)
{
    const int column = number % 8 * 8 + item % 4 * 2;
    UNROLL for (int row = 0; row < 2; row++)
    {
        if (rows[row] >= 0 && column < panel->count) {
            GLOBAL RESULT *place = to + rows[row] * row_elements(s) + panel->at + column;
            FINISH_PAIR(sums + row * 2, rows[row], column);
            STORE_PAIR(place, sums, row * 2);
        }
    }
    (void)tile;
}

/* Stores `count` groups of eight columns, from group `first` on. */
DEVICE void store_sums(GLOBAL RESULT *to, LANE (*sums)[4], int first, int count,
                       const struct stored_rows *rows, const struct shape *s,
                       const struct tile *tile, int item FINISH_PARAMETERS)
{
    int numbers[STORED_ROWS];
    struct panel panel;
    find_rows(numbers, rows->inside, STORED_ROWS, s, tile, item);
    UNROLL for (int j = 0; j < count; j++)
    {
        if (j == 0 || (first + j) % 8 == 0)
            panel = panel_at((first + j) / 8, s, tile);
        store_columns(to, sums[j], first + j, numbers, &panel, s, tile, item FINISH_ARGUMENTS);
    }
}

/* Stores a tile from registers. All work-items call it; `is_there` is 0 for a work-item without sums. */
DEVICE void store_tile(GLOBAL RESULT *to, LOCAL_POINTER unsigned char *staged,
                       LANE sums[TILES_N][4], const struct stored_rows *rows, const struct shape *s,
                       const struct tile *tile, int is_there, int item FINISH_PARAMETERS)
{
    (void)staged;
    if (is_there)
        store_sums(to, sums, 0, TILES_N, rows, s, tile, item FINISH_ARGUMENTS);
}

#else

struct ALIGNED(CHUNK_BYTES) chunk {
    unsigned words[4];
};

/* Writes 64 columns of a warp's sums, rounded, to its buffer in local memory; chunks are permuted as in operands.
 * `numbers`: of the rows of the work-item's sums. */
DEVICE void stage_panel(LOCAL_POINTER unsigned char *staged, LANE sums[TILES_N][4], int i,
                        const int *numbers, const struct panel *panel, const struct shape *s,
                        const struct tile *tile, int item FINISH_PARAMETERS)
{
    (void)numbers;
    (void)panel;
    (void)s;
    (void)tile;
    UNROLL for (int j = 0; j < 8; j++) UNROLL for (int part = 0; part < 2; part++)
    {
        FINISH_PAIR(sums[i * 8 + j] + 2 * part, numbers[part], j * 8 + item % 4 * 2);
        int row = part * 8 + item % 32 / 4;
        unsigned at = row * LINE_BYTES + ((j ^ row) & 7) * CHUNK_BYTES + item % 4 * 4;
        *(LOCAL_POINTER unsigned *)(LOCAL_POINTER void *)(staged + at) =
            pair_of(sums[i * 8 + j][2 * part], sums[i * 8 + j][2 * part + 1]);
    }
}

DEVICE void store_panel(GLOBAL RESULT *to, LOCAL_POINTER const unsigned char *staged,
                        const int *rows, const struct panel *panel, const struct shape *s, int item)
{
    UNROLL for (int i = 0; i < STORED_ROWS; i++)
    {
        int row = i * 4 + item % 32 / 8, chunk = item % 8;
        if (rows[i] >= 0 && chunk * 8 < panel->count)
            *(GLOBAL struct chunk *)(GLOBAL void *)(to + rows[i] * row_elements(s) + panel->at +
                                                    chunk * 8) =
                *(LOCAL_POINTER const struct chunk *)(LOCAL_POINTER const void *)(staged +
                                                                                  row * LINE_BYTES +
                                                                                  ((chunk ^ row) &
                                                                                   7) *
                                                                                      CHUNK_BYTES);
    }
}

/* Stores a tile through local memory. All work-items of a warp call it; `is_there` is 0 for a work-item without sums.
 * */
DEVICE void store_tile(GLOBAL RESULT *to, LOCAL_POINTER unsigned char *staged,
                       LANE sums[TILES_N][4], const struct stored_rows *rows, const struct shape *s,
                       const struct tile *tile, int is_there, int item FINISH_PARAMETERS)
{
    int numbers[STORED_ROWS], of_sums[2] = {0, 0};
    find_rows(numbers, rows->inside, STORED_ROWS, s, tile, item);
#ifdef EPILOGUE
    /* These places are found for each tile, since registers are scarce between tiles. */
    UNROLL for (int i = 0; i < 2; i++) of_sums[i] = inside_box(row_of_sums(i, item), s);
    find_rows(of_sums, of_sums, 2, s, tile, item);
#endif
    UNROLL for (int i = 0; i < PANELS; i++)
    {
        struct panel panel = panel_at(i, s, tile);
        if (is_there)
            stage_panel(staged, sums, i, of_sums, &panel, s, tile, item FINISH_ARGUMENTS);
        WARP_BARRIER();
        if (is_there)
            store_panel(to, staged, numbers, &panel, s, item);
        WARP_BARRIER();
    }
}

#endif
