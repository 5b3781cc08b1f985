/*
 * How the kernels of pools, pointwise operators and the like divide their output. The output's axes are sorted, the
 * innermost last, and neighbouring axes may be merged. A line is all elements along the last axis, a piece is up to
 * VECTOR neighbours of a line (the last piece of a line may be shorter). A work-item computes PIECES pieces.
 *
 *   ITEMS > 1   for GPUs: the work-items of a workgroup take neighbouring pieces; a piece is in registers
 *   ITEMS 1     for CPUs: loops over a piece are left to the compiler's vectoriser; a piece may be long
 *
 *   PIECE_PARAMETERS          the entry's parameters: the number of pieces, the axes' sizes, the strides of y and of the
 *                             epilogue's second tensor
 *   PIECE_TABLES              declares sizes[], y_strides[] and r_strides[] from them
 *   FOR_PIECES(place)         { ... } END_PIECES: for each piece of the work-item; place.at[] is where it begins
 *   FOR_LANES(lane, place)    a loop over the elements of a piece
 *   PIECE_STORE(place, values) does the epilogue to values[VECTOR] and stores them
 *
 * Options: RANK, the number of axes; N_AXIS, C_AXIS, D_AXIS, H_AXIS, W_AXIS, the place of each among the axes, -1 for
 * none; VECTOR, PIECES, ITEMS; INDEX, the type that counts pieces; TYPE_X, TYPE_Y; VALUE (int or float), what a result is
 * before its epilogue; BLOCK_X, BLOCK_Y and BLOCK_R, channels of a block (VECTOR is 1 where a layout has blocks); X_UNIT,
 * Y_UNIT and R_UNIT, the stride along the last axis, -1 where only the arguments say it.
 */
#include "coordinates.h"
#include "epilogue.h"
#include "functions.h"

#define PIECE_PARAMETERS                                                                           \
    INDEX piece_count, int size_0, int size_1, int size_2, int size_3, int size_4, i64 y_0,        \
        i64 y_1, i64 y_2, i64 y_3, i64 y_4, i64 r_0, i64 r_1, i64 r_2, i64 r_3, i64 r_4

#define PIECE_TABLES                                                                               \
    const int sizes[5] = {size_0, size_1, size_2, size_3, size_4};                                 \
    const i64 y_strides[5] = {y_0, y_1, y_2, y_3, y_4};                                            \
    const i64 r_strides[5] = {r_0, r_1, r_2, r_3, r_4}

/* The stride along the last axis, a constant where the options say it. */
#define UNIT_OF(option, strides) ((option) >= 0 ? (i64)(option) : (strides)[RANK - 1])

struct place {
    int at[RANK];
    int count; /* elements of the piece */
};

DEVICE struct place place_of(INDEX piece, const int *sizes)
{
    const int line = (sizes[RANK - 1] + VECTOR - 1) / VECTOR;
    struct place place;
#if RANK == 1
    place.at[0] = (int)piece * VECTOR;
    (void)line;
#else
    place.at[RANK - 1] = (int)(piece % line) * VECTOR;
    piece /= line;
#pragma unroll
    for (int a = RANK - 2; a > 0; a--) {
        place.at[a] = (int)(piece % sizes[a]);
        piece /= sizes[a];
    }
    place.at[0] = (int)piece;
#endif
    place.count = sizes[RANK - 1] - place.at[RANK - 1];
    if (place.count > VECTOR)
        place.count = VECTOR;
    return place;
}

/* The place's coordinate on an axis, 0 where there is no such axis. */
#define COORDINATE(place, axis) ((axis) < 0 ? 0 : (place).at[(axis) < 0 ? 0 : (axis)])

/* Offset in elements of the place in a tensor with these strides, channels in blocks of `block`. */
DEVICE i64 place_offset(const struct place *place, const i64 *strides, int block)
{
    i64 offset = 0;
#pragma unroll
    for (int a = 0; a < RANK; a++)
        offset += a == C_AXIS ? channel_offset(place->at[a], block, strides[a])
                              : place->at[a] * strides[a];
    return offset;
}

#define FOR_PIECES(place)                                                                          \
    for (int piece_turn = 0; piece_turn < PIECES; piece_turn++) {                                  \
        const INDEX piece_index =                                                                  \
            ((INDEX)GROUP_ID(0) * PIECES + piece_turn) * ITEMS + (INDEX)LOCAL_ID(0);               \
        struct place place;                                                                        \
        if (piece_index >= piece_count)                                                            \
            break;                                                                                 \
        place = place_of(piece_index, sizes);
#define END_PIECES }

#if ITEMS == 1
#define FOR_LANES(lane, place) for (int lane = 0; lane < (place).count; lane++)
#else
#define FOR_LANES(lane, place)                                                                     \
    _Pragma("unroll") for (int lane = 0; lane < VECTOR; lane++) if (lane < (place).count)
#endif

/* ---- the end of each result ---- */

/* Integers that are stored without an epilogue keep to their type's range. */
#define store_of_int_FP32(v) to_FP32(v)
#define store_of_int_FP16(v) to_FP16((float)(v))
#define store_of_int_BF16(v) to_BF16((float)(v))
#define store_of_int_INT32(v) (v)
#define store_of_int_INT8(v) ((signed char)((v) < -128 ? -128 : (v) > 127 ? 127 : (v)))
#define store_of_float(type, v) EPILOGUE_ROUND(type, v)
#define store_of_int(type, v) DIALECT_JOIN(store_of_int_, type)(v)

#ifdef EPILOGUE
#define FINISHED(value, channel, r_at)                                                             \
    EPILOGUE_ROUND(TYPE_Y, epilogue_value(value, channel, r_at EPILOGUE_ARGUMENTS))
#else
#define FINISHED(value, channel, r_at) DIALECT_JOIN(store_of_, VALUE)(TYPE_Y, value)
#endif

#if !defined(__OPENCL_VERSION__) && VECTOR > 1
/* Pieces whose address allows it are stored, and loaded, by instructions of up to 16 bytes. */
#define PIECE_BYTES(type) (sizeof(STORAGE(type)) * VECTOR < 16 ? sizeof(STORAGE(type)) * VECTOR : 16)
#define IS_ALIGNED(pointer, type) (((unsigned long long)(pointer) & (PIECE_BYTES(type) - 1)) == 0)

struct ALIGNED(PIECE_BYTES(TYPE_X)) piece_of_x {
    STORAGE(TYPE_X) at[VECTOR];
};
struct ALIGNED(PIECE_BYTES(TYPE_Y)) piece_of_y {
    STORAGE(TYPE_Y) at[VECTOR];
};

DEVICE void piece_store(STORAGE(TYPE_Y) * y, struct piece_of_y piece, int count, i64 unit)
{
    if (unit == 1 && count == VECTOR && IS_ALIGNED(y, TYPE_Y)) {
        *(struct piece_of_y *)y = piece;
        return;
    }
#pragma unroll
    for (int lane = 0; lane < VECTOR; lane++)
        if (lane < count)
            y[lane * unit] = piece.at[lane];
}

DEVICE struct piece_of_x piece_gather(const STORAGE(TYPE_X) * RESTRICT x, int count, i64 unit)
{
    struct piece_of_x piece;
#pragma unroll
    for (int lane = 0; lane < VECTOR; lane++)
        piece.at[lane] = lane < count ? x[lane * unit] : (STORAGE(TYPE_X))0;
    return piece;
}

/* Written as one choice between two values: clang 19 keeps a piece that two branches write in
 * scratch memory. */
DEVICE struct piece_of_x piece_load(const STORAGE(TYPE_X) * RESTRICT x, int count, i64 unit)
{
    return unit == 1 && count == VECTOR && IS_ALIGNED(x, TYPE_X) ? *(const struct piece_of_x *)x
                                                                 : piece_gather(x, count, unit);
}

#define PIECE_STORE(place, values)                                                                 \
    do {                                                                                           \
        struct piece_of_y store_piece;                                                             \
        const i64 store_y = place_offset(&place, y_strides, BLOCK_Y);                              \
        const i64 store_r = place_offset(&place, r_strides, BLOCK_R);                              \
        FOR_LANES(store_lane, place)                                                               \
        store_piece.at[store_lane] =                                                               \
            FINISHED(values[store_lane],                                                           \
                     COORDINATE(place, C_AXIS) + (C_AXIS == RANK - 1 ? store_lane : 0),            \
                     store_r + store_lane * UNIT_OF(R_UNIT, r_strides));                           \
        (void)store_r;                                                                             \
        piece_store(y + store_y, store_piece, place.count, UNIT_OF(Y_UNIT, y_strides));            \
    } while (0)

#else

#define PIECE_STORE(place, values)                                                                 \
    do {                                                                                           \
        const i64 store_y = place_offset(&place, y_strides, BLOCK_Y);                              \
        const i64 store_r = place_offset(&place, r_strides, BLOCK_R);                              \
        FOR_LANES(store_lane, place)                                                               \
        y[store_y + store_lane * UNIT_OF(Y_UNIT, y_strides)] =                                     \
            FINISHED(values[store_lane],                                                           \
                     COORDINATE(place, C_AXIS) + (C_AXIS == RANK - 1 ? store_lane : 0),            \
                     store_r + store_lane * UNIT_OF(R_UNIT, r_strides));                           \
        (void)store_r;                                                                             \
    } while (0)

#endif
