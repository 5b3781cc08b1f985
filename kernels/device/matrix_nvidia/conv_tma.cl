/*
 * Convolutions as matrix products on Hopper's matrix units (wgmma.h) with operands brought by the copy engine
 * (tma.h); tma_work.h defines tiles, boxes and blocks of terms.
 *
 * A workgroup is persistent and takes tile after tile. One lane starts the copies of blocks of terms into STAGES
 * buffers in turn. It runs ahead as far as buffers are free, also into the next tile. Groups of four warps multiply
 * the blocks that have arrived, 64 rows each, and store the tile.
 *
 * Options: DIRECTION_*, TYPE (FP16, BF16, or in F and B TF32), LANE, TURNED, BLOCK_M (64 for each group of four warps),
 * BLOCK_N (64, 128, 192 or 256), STAGES, RESIDENT (workgroups on a unit, which share its registers), TEAM (workgroups of a
 * cluster that share a tile: each sums a part of its terms, tma_team.h), SPLIT.
 */
#include "dialect.h"

#define CONSUMERS (BLOCK_M * 2)
#define ITEMS     (CONSUMERS + 128)
#define TILES_N   (BLOCK_N / 8)
#define NEAR      0

#include "matrix_nvidia.h"
#include "tma.h"

#include "tma_work.h"
#include "wgmma.h"

#include "tma_store.h"
#include "tma_team.h"

/* Layout of local memory: stages, the warps' buffers for storing results, images of tensor maps, then two barriers
 * for each stage, which say that it is full or free. */
#define STAGE_BYTES ((BLOCK_M + BLOCK_N) * LINE_BYTES)
#define STAGED_AT   (STAGES * STAGE_BYTES)
#define MAPS_AT     (STAGED_AT + CONSUMERS / 32 * STAGED_BYTES)
#define BARRIERS_AT (MAPS_AT + 2 * MAP_BYTES)
#define FULL(stage) (tiles + BARRIERS_AT + (stage)*16)
#define FREE(stage) (FULL(stage) + 8)

/* The stage to be used next, and the parity of the barrier phase to wait for. */
struct turn {
    int stage;
    unsigned parity;
};

DEVICE void next_turn(struct turn *turn)
{
    if (++turn->stage == STAGES) {
        turn->stage = 0;
        turn->parity ^= 1;
    }
}

/* Multiplies the block of terms in the stage at `stage` for the work-item's rows. */
DEVICE void multiply_block(LOCAL_POINTER unsigned char *memory, LANE sums[TILES_N][4],
                           unsigned stage, int item)
{
    u64 a = operand_at(stage + item / 128 * PANEL, A_BY_TERM);
    u64 b = operand_at(stage + GROUPS * PANEL, B_BY_TERM);
    UNROLL for (int term = 0; term < BLOCK_K / 16; term++) multiply_group(
        memory, sums, a + (term * A_TERMS_STEP >> 4), b + (term * B_TERMS_STEP >> 4), item);
}

/* W: zeros the terms of all stages that no copy writes, because a box has fewer than 64 positions. */
DEVICE void clear_stages(LOCAL_POINTER unsigned char *memory, const struct shape *s, int item)
{
#if defined(DIRECTION_W)
    const int first = s->box_w * s->box_h * IF_DEPTH(s->box_d *) s->box_n * (LINE_BYTES / 4);
    const int words = PANEL / 4;
    LOCAL_POINTER unsigned *panel = (LOCAL_POINTER unsigned *)(LOCAL_POINTER void *)memory;
    for (int at = 0; at < STAGED_AT; at += PANEL, panel += words)
        for (int i = first + item; i < words; i += ITEMS)
            panel[i] = 0;
#else
    (void)memory;
    (void)s;
    (void)item;
#endif
}

#if defined(MATRIX_EMULATED)

/* Emulation of a workgroup: all work-items copy, then the work-items with rows multiply. A team's first workgroup
 * computes all parts of the team's tile, the others none. */
DEVICE void work(LOCAL_POINTER unsigned char *memory, const struct map *a, const struct map *b,
                 GLOBAL RESULT *result, i64 part_elements, const struct shape *s,
                 int item FINISH_PARAMETERS)
{
    LANE sums[TILES_N][4];
    const struct stored_rows rows = find_stored_rows(s, item);
    const int is_there = item < CONSUMERS, members = MEMBER == 0 ? TEAM : 0;
    struct turn turn = {0, 0};
    LOOP for (int number = FIRST_TILE; number < s->tiles; number += TILES_STEP(s))
    {
        struct tile tile = tile_at(number, 0, s);
        LOOP for (int j = 0; j < TILES_N; j++) LOOP for (int e = 0; e < 4; e++) sums[j][e] = 0;
        LOOP for (int member = 0; member < members; member++)
        {
            struct feed feed;
            tile = tile_at(number, member, s);
            feed = open_feed(s, &tile);
            LOOP for (int step = 0; step < tile.steps; step++)
            {
                BARRIER();
                load_step(memory, turn.stage * STAGE_BYTES, 0, a, b, s, &tile, &feed, item);
                next_step(&feed, s, &tile);
                BARRIER();
                if (is_there)
                    multiply_block(memory, sums, turn.stage * STAGE_BYTES, item);
                next_turn(&turn);
            }
        }
        store_tile(result + tile.part / TEAM * part_elements,
                   memory + STAGED_AT + item / 32 * STAGED_BYTES, sums, &rows, s, &tile,
                   is_there && members > 0, item FINISH_ARGUMENTS);
    }
}

#else

/* Registers of a work-item: in the group of warps that starts copies (producer), and in the groups that multiply
 * (consumers), which get the registers that the producer gives up. */
#define ITEM_REGISTERS     (65536 / RESIDENT / ITEMS / 8 * 8)
#define PRODUCER_REGISTERS (24 + 8 * DEPTH)
#define CONSUMER_REGISTERS                                                                         \
    ((ITEM_REGISTERS + (ITEM_REGISTERS - PRODUCER_REGISTERS) / GROUPS) / 8 * 8)
#define MOVES_REGISTERS (ITEM_REGISTERS <= 168)

DEVICE void produce(unsigned tiles, const struct map *a, const struct map *b, const struct shape *s)
{
    struct turn turn = {0, 1};
    const int bytes = load_bytes(s);
    see_map(a);
    see_map(b);
    for (int number = FIRST_TILE; number < s->tiles; number += TILES_STEP(s)) {
        struct tile tile = tile_at(number, MEMBER, s);
        struct feed feed = open_feed(s, &tile);
        for (int step = 0; step < tile.steps; step++) {
            await_phase(FREE(turn.stage), turn.parity);
            expect_bytes(FULL(turn.stage), bytes);
            load_step(local_memory, tiles + turn.stage * STAGE_BYTES, FULL(turn.stage), a, b, s,
                      &tile, &feed, 0);
            next_step(&feed, s, &tile);
            next_turn(&turn);
        }
    }
}

/* The same number, hidden from the compiler. The compiler then computes values that depend on it again, instead of
 * keeping them in registers, which are scarce while sums are held. */
DEVICE int forgotten(int number)
{
    asm volatile("" : "+r"(number));
    return number;
}

/* The multiplying groups' loop. A block's stage is released while the next block is multiplied, or at the end of the
 * tile. */
DEVICE void consume(unsigned tiles, GLOBAL RESULT *result, i64 part_elements, const struct shape *s,
                    int item FINISH_PARAMETERS)
{
    LANE sums[TILES_N][4];
#if !DEPTH
    const struct stored_rows rows = find_stored_rows(s, item);
#endif
    struct turn turn = {0, 0};
    for (int number = FIRST_TILE; number < s->tiles; number += TILES_STEP(s)) {
        const int steps = tile_at(number, MEMBER, s).steps;
        struct tile tile;
        unsigned before = 0;
        UNROLL for (int j = 0; j < TILES_N; j++) UNROLL for (int e = 0; e < 4; e++) sums[j][e] = 0;
        for (int step = 0; step < steps; step++) {
            await_phase(FULL(turn.stage), turn.parity);
            begin_products();
            multiply_block(local_memory, sums, tiles + turn.stage * STAGE_BYTES, item);
            end_products();
            AWAIT_PRODUCTS(1);
            if (step > 0 && item % 32 == 0)
                arrive(before);
            before = FREE(turn.stage);
            next_turn(&turn);
        }
        AWAIT_PRODUCTS(0);
        settle(sums);
        if (steps > 0 && item % 32 == 0)
            arrive(before);
        tile = tile_at(forgotten(number), MEMBER, s);
#if DEPTH
        /* found for each tile: kept, they would take registers that the sums need */
        const struct stored_rows rows = find_stored_rows(s, forgotten(item));
#endif
#if TEAM > 1
        store_share(result + tile.part / TEAM * part_elements, tiles, sums, &rows, s, &tile,
                    item FINISH_ARGUMENTS);
#else
        store_tile(result + tile.part * part_elements,
                   local_memory + STAGED_AT + item / 32 * STAGED_BYTES, sums, &rows, s, &tile, 1,
                   item FINISH_ARGUMENTS);
#endif
    }
}

/* Makes tensor maps and barriers, each by one warp. All work-items see them after a barrier. */
DEVICE void prepare(unsigned tiles, const struct map *a, const struct map *b, const struct shape *s,
                    int item)
{
    clear_stages(local_memory, s, item);
    if (item / 32 == 0)
        make_map(tiles + MAPS_AT, a, item);
    if (item / 32 == 1)
        make_map(tiles + MAPS_AT + MAP_BYTES, b, item % 32);
    if (item / 32 == 2 && item % 32 < STAGES) {
        open_barrier(FULL(item % 32), 1);
        open_barrier(FREE(item % 32), CONSUMERS / 32);
    }
    show_writes();
    BARRIER();
}

DEVICE void work(const struct map *a, const struct map *b, GLOBAL RESULT *result, i64 part_elements,
                 const struct shape *s, int item FINISH_PARAMETERS)
{
    const unsigned tiles = local_place(local_memory);
    prepare(tiles, a, b, s, item);
    if (item >= CONSUMERS) {
        if (MOVES_REGISTERS)
            LESS_REGISTERS(PRODUCER_REGISTERS);
        if (item == CONSUMERS)
            produce(tiles, a, b, s);
    } else {
        if (MOVES_REGISTERS)
            MORE_REGISTERS(CONSUMER_REGISTERS);
        consume(tiles, result, part_elements, s, item FINISH_ARGUMENTS);
    }
}

#endif

/* maps: slots for tensor maps in the workspace, two for each workgroup. */
ENTRY(ITEMS, RESIDENT, TEAM)
conv_tma(GLOBAL const half_bits *RESTRICT a, GLOBAL const half_bits *RESTRICT b,
         GLOBAL RESULT *RESTRICT result, GLOBAL unsigned char *maps, SHAPE_PARAMETERS,
         i64 part_elements FINISH_PARAMETERS LOCAL_MEMORY_PARAMETER)
{
    const struct shape shape = SHAPE;
    const int item = (int)LOCAL_ID(0);
    struct map map_a = map_of_a(a, &shape), map_b = map_of_b(b, &shape);
    OPEN_LOCAL_MEMORY;
#if defined(MATRIX_EMULATED)
    (void)maps;
    clear_stages(local_memory, &shape, item);
    work(local_memory, &map_a, &map_b, result, part_elements, &shape, item FINISH_ARGUMENTS);
#else
    map_a.slot = (u64)(maps + (i64)GROUP_ID(0) * 2 * MAP_BYTES);
    map_b.slot = map_a.slot + MAP_BYTES;
    work(&map_a, &map_b, result, part_elements, &shape, item FINISH_ARGUMENTS);
#endif
}
