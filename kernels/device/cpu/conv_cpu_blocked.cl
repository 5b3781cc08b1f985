/*
 * Convolution over a padded copy of the input, or over the input itself where nothing is padded, for a CPU's
 * vector units. A vector holds output channels; a tile of sums is TILE_W neighbouring positions of an output
 * row by TILE_V vectors of channels. Each step multiplies a term's weights for all these channels by TILE_W
 * numbers of the input.
 *
 * One work-item computes up to TILES tiles of TILE_V * VEC channels. It takes the terms (input channels times
 * filter positions) CRS_BLOCK at a time, so that all tiles use their weights from the cache. Partial sums are
 * private. conv_cpu_pack_w packs the weights once for each filter: [group][block of TILE_K output channels][term]
 * [channel of the block].
 *
 * Forward, or backward data: then the input is y, the output x, and the filter is mirrored. The shape, all
 * strides and the layouts' channel blocks are arguments. Options: PACK for the entry that packs; TYPE_W and TYPE_OUT
 * are stored types; PLAIN_W and PLAIN_OUT are 1 where vectors of LANE are loaded and stored.
 */
#include "coordinates.h"
#include "epilogue.h"

#define TILE_K (TILE_V * VEC)
#define UNROLL _Pragma("unroll")

/* ---- the terms of a sum, and their weights ---- */

/* An axis of the filter: its positions, and the distances in elements between neighbouring positions in the input and
 * in the filter. */
struct filter_axis {
    int count, phases, stride, dilation;
    i64 phase_step, in_step, w_step;
};

struct filter {
    struct filter_axis d, h, w;
    i64 in_c, w_out, w_in;
    /* channel blocks of the filter's layout (1: not blocked), of output and of input channels */
    int out_block, in_block;
    int positions, c_count, is_turned;
    /* 1: an output channel's weights are neighbours in memory in the order of terms */
    int contiguous;
    /* 1: terms are ordered by filter position, then input channel; 0: by input channel first */
    int channels_last;
};

DEVICE struct filter_axis make_axis(int count, int phases, int stride, int dilation,
                                    i64 phase_step, i64 in_step, i64 w_step)
{
    struct filter_axis axis;
    axis.count = count;
    axis.phases = phases;
    axis.stride = stride;
    axis.dilation = dilation;
    axis.phase_step = phase_step;
    axis.in_step = in_step;
    axis.w_step = w_step;
    return axis;
}

/* Chooses the order of terms in which weights are contiguous, if either is, so that they can be loaded as vectors. */
DEVICE void choose_order(struct filter *filter)
{
    i64 row = filter->w.count, plane = row * filter->h.count, c_count = filter->c_count;
    int is_plain = filter->in_block == 1 && (filter->positions == 1 || !filter->is_turned);
    filter->channels_last = is_plain && filter->positions > 1 && filter->w_in == 1 &&
                            filter->w.w_step == c_count && filter->h.w_step == row * c_count &&
                            filter->d.w_step == plane * c_count;
    filter->contiguous =
        filter->channels_last ||
        (is_plain && filter->w_in == filter->positions && (row == 1 || filter->w.w_step == 1) &&
         (filter->h.count == 1 || filter->h.w_step == row) &&
         (filter->d.count == 1 || filter->d.w_step == plane));
}

DEVICE i64 in_offset(const struct filter_axis *axis, int f)
{
    return f % axis->phases * axis->phase_step +
           (i64)(f * axis->dilation / axis->stride) * axis->in_step;
}

/* Finds a term's offsets in the input, and among an output channel's weights. */
DEVICE void find_term(const struct filter *filter, int term, i64 *in, i64 *weight)
{
    int c = filter->channels_last ? term % filter->c_count : term / filter->positions;
    int f = filter->channels_last ? term / filter->c_count : term % filter->positions;
    int row = filter->w.count, rows = filter->h.count;
    *in = c * filter->in_c + in_offset(&filter->d, f / row / rows) +
          in_offset(&filter->h, f / row % rows) + in_offset(&filter->w, f % row);
    if (filter->is_turned)
        f = filter->positions - 1 - f;
    *weight = channel_offset(c, filter->in_block, filter->w_in) + f / row / rows * filter->d.w_step +
              f / row % rows * filter->h.w_step + f % row * filter->w.w_step;
}

/* find_term() for `length` terms from `first` on. Divisions are slow, so a term's offsets are computed from the term
 * one channel earlier, where the block holds that term. */
DEVICE void find_terms(const struct filter *filter, int first, int length, i64 *in, i64 *weight)
{
    int back = filter->in_block > 1 ? length : filter->channels_last ? 1 : filter->positions;
    int c = filter->channels_last ? first % filter->c_count : 1;
    for (int i = 0; i < length; i++) {
        if (i < back || c == 0) {
            find_term(filter, first + i, in + i, weight + i);
        } else {
            in[i] = in[i - back] + filter->in_c;
            weight[i] = weight[i - back] + filter->w_in;
        }
        if (filter->channels_last && ++c == filter->c_count)
            c = 0;
    }
}

/* Transposes a square of vectors: lane i of vector j becomes lane j of vector i. */
DEVICE void transpose(vec square[VEC])
{
    vec zipped[VEC];
    UNROLL
    for (int step = 1; step < VEC; step *= 2) {
        UNROLL
        for (int i = 0; i < VEC / 2; i++) {
            zipped[2 * i] = vec_zip_low(square[i], square[i + VEC / 2]);
            zipped[2 * i + 1] = vec_zip_high(square[i], square[i + VEC / 2]);
        }
        UNROLL
        for (int i = 0; i < VEC; i++)
            square[i] = zipped[i];
    }
}

#ifdef PACK

/* Copies the weights of VEC output channels from k on for `length` terms from `first` on; terms are TILE_K apart in
 * the copy. Channels past k_left repeat the last channel, and their results are not stored. */
DEVICE void lay_out_weights(const struct filter *filter, GLOBAL const STORAGE(TYPE_W) * w, int k,
                            int k_left, int first, int length, const i64 *terms,
                            GLOBAL LANE *block)
{
    i64 row[VEC];
    int j = 0, side_by_side = filter->out_block == 1 && filter->w_out == 1;
    for (int i = 0; i < VEC; i++)
        row[i] = channel_offset(k + (i < k_left ? i : k_left - 1), filter->out_block,
                                filter->w_out);
#if PLAIN_W
    for (; filter->contiguous && j + VEC <= length; j += VEC, block += VEC * TILE_K) {
        vec square[VEC];
        UNROLL
        for (int i = 0; i < VEC; i++)
            square[i] = vec_load(w + row[i] + first + j);
        transpose(square);
        UNROLL
        for (int i = 0; i < VEC; i++)
            vec_store(block + i * TILE_K, square[i]);
    }
    for (; side_by_side && k_left >= VEC && j < length; j++, block += TILE_K)
        vec_store(block, vec_load(w + row[0] + terms[j]));
#endif
    for (; j < length; j++, block += TILE_K) {
        for (int i = 0; i < VEC; i++)
            block[i] = (LANE)LOAD(TYPE_W, w, row[i] + terms[j]);
    }
}

/* Grid: pieces of CRS_BLOCK terms, blocks of TILE_K output channels of a group, groups. */
KERNEL(1, 1, 1) conv_cpu_pack_w(GLOBAL const STORAGE(TYPE_W) * RESTRICT w,
                                GLOBAL LANE *RESTRICT packed, i64 w_out, i64 w_in, i64 w_group,
                                i64 w_d, i64 w_h, i64 w_w, int c_count, int k_count,
                                int w_out_block, int w_in_block, int is_turned, int fil_d,
                                int fil_h, int fil_w)
{
    i64 terms[CRS_BLOCK], unused[CRS_BLOCK];
    int first = (int)GROUP_ID(0) * CRS_BLOCK, group = (int)GROUP_ID(2);
    int first_k = (int)GROUP_ID(1) * TILE_K, k_left = k_count - first_k;
    int blocks = (k_count + TILE_K - 1) / TILE_K, length;
    struct filter filter;
    filter.d = make_axis(fil_d, 1, 1, 1, 0, 0, w_d);
    filter.h = make_axis(fil_h, 1, 1, 1, 0, 0, w_h);
    filter.w = make_axis(fil_w, 1, 1, 1, 0, 0, w_w);
    filter.in_c = 0;
    filter.w_out = w_out;
    filter.w_in = w_in;
    filter.positions = fil_d * fil_h * fil_w;
    filter.c_count = c_count;
    filter.out_block = w_out_block;
    filter.in_block = w_in_block;
    filter.is_turned = is_turned;
    choose_order(&filter);
    length = c_count * filter.positions - first;
    length = length < CRS_BLOCK ? length : CRS_BLOCK;
    w += group * w_group;
    packed += ((i64)(group * blocks + (int)GROUP_ID(1)) * c_count * filter.positions + first) * TILE_K;
    find_terms(&filter, first, length, unused, terms);
    for (int v = 0; v < TILE_V; v++) {
        int k = v * VEC < k_left ? v * VEC : 0;
        lay_out_weights(&filter, w, first_k + k, k_left - k, first, length, terms,
                        packed + v * VEC);
    }
}

#else

/* ---- tiles ---- */

/* The division of the output's rows into tiles, and the tiles that one work-item computes. */
struct tiles {
    int width, height; /* size of an output plane in positions */
    int a_row;         /* tiles of a row */
    /* in rows narrower than a tile: the first row whose tile is moved back so that it ends with the row */
    int back_row;
    int first, end;
};

/* The start of a tile in its row. A tile that would pass the row's end ends there instead. In rows narrower
 * than a tile it also reads numbers of the next rows, which are not used, or of the rows before where no rows
 * follow. */
DEVICE int tile_start(const struct tiles *tiles, int tile)
{
    int last = tiles->width - TILE_W, start = tile % tiles->a_row * TILE_W;
    if (last < 0)
        return tile / tiles->a_row % tiles->height < tiles->back_row ? 0 : last;
    return start < last ? start : last;
}

/* The offset of a tile's first element in a channel of a tensor whose strides are d, h and w. */
DEVICE i64 tile_offset(const struct tiles *tiles, int tile, i64 d, i64 h, i64 w)
{
    int row = tile / tiles->a_row;
    return row / tiles->height * d + row % tiles->height * h + tile_start(tiles, tile) * w;
}

/* Defines a function that adds `length` terms to a tile's sums. STEP is the distance of neighbouring positions in the
 * input: with a constant step of 1 the compiler needs no register for each neighbour's address. */
#define ADD_TILE(name, STEP)                                                                       \
    DEVICE void name(GLOBAL const LANE *in, i64 step, const i64 *terms,                            \
                     GLOBAL const LANE *weights, int length, LANE *sums, int is_first)             \
    {                                                                                              \
        vec sum[TILE_W][TILE_V];                                                                   \
        UNROLL                                                                                     \
        for (int i = 0; i < TILE_W; i++) {                                                         \
            UNROLL                                                                                 \
            for (int v = 0; v < TILE_V; v++)                                                       \
                sum[i][v] = is_first ? vec_splat((LANE)0) : vec_load(sums + i * TILE_K + v * VEC); \
        }                                                                                          \
        for (int j = 0; j < length; j++, weights += TILE_K) {                                      \
            GLOBAL const LANE *at = in + terms[j];                                                 \
            vec weight[TILE_V];                                                                    \
            UNROLL                                                                                 \
            for (int v = 0; v < TILE_V; v++)                                                       \
                weight[v] = vec_load(weights + v * VEC);                                           \
            UNROLL                                                                                 \
            for (int i = 0; i < TILE_W; i++) {                                                     \
                vec value = vec_splat(at[i * (STEP)]);                                             \
                UNROLL                                                                             \
                for (int v = 0; v < TILE_V; v++)                                                   \
                    sum[i][v] = vec_madd(sum[i][v], value, weight[v]);                             \
            }                                                                                      \
        }                                                                                          \
        UNROLL                                                                                     \
        for (int i = 0; i < TILE_W; i++) {                                                         \
            UNROLL                                                                                 \
            for (int v = 0; v < TILE_V; v++)                                                       \
                vec_store(sums + i * TILE_K + v * VEC, sum[i][v]);                                 \
        }                                                                                          \
    }
ADD_TILE(add_tile, 1)
ADD_TILE(add_spread_tile, step)

/* Where results go: sizes and strides of the output tensor. */
struct output {
    i64 c, w;
    int block; /* of channels */
};

/* Stores VEC channels from k on of `count` positions of a row. */
DEVICE void store_run(GLOBAL STORAGE(TYPE_OUT) * out, const struct output *to, int k, int k_left,
                      const LANE *sums, int count EPILOGUE_PARAMETERS)
{
#if PLAIN_OUT
    int side_by_side = to->block == 1 ? to->c == 1 : to->block % VEC == 0 && k % VEC == 0;
    if (k_left >= VEC && side_by_side) {
        i64 at = channel_offset(k, to->block, to->c);
        for (int i = 0; i < count; i++) {
            vec value = vec_load(sums + i * TILE_K);
#ifdef EPILOGUE
            value = epilogue_vec(value, k, 1, at + i * to->w, 1 EPILOGUE_ARGUMENTS);
#endif
            vec_store(out + at + i * to->w, value);
        }
        return;
    }
    if (k_left >= VEC && to->block == 1 && to->w == 1 && count >= VEC) {
        for (int next = 0; next < count; next += VEC) {
            /* The last square of VEC positions is moved back to end with the row, so it overlaps the square before.
             * */
            int start = next < count - VEC ? next : count - VEC;
            vec square[VEC];
            UNROLL
            for (int i = 0; i < VEC; i++)
                square[i] = vec_load(sums + (start + i) * TILE_K);
            transpose(square);
#ifdef EPILOGUE
            /* The loop is not unrolled: an epilogue is much code. */
            for (int i = 0; i < VEC; i++)
                vec_store(out + (k + i) * to->c + start,
                          epilogue_vec(square[i], k + i, 0, (k + i) * to->c + start,
                                       1 EPILOGUE_ARGUMENTS));
#else
            UNROLL
            for (int i = 0; i < VEC; i++)
                vec_store(out + (k + i) * to->c + start, square[i]);
#endif
        }
        return;
    }
#endif
    for (int lane = 0; lane < VEC && lane < k_left; lane++) {
        i64 at = channel_offset(k + lane, to->block, to->c);
        for (int i = 0; i < count; i++)
            EPILOGUE_STORE(TYPE_OUT, out, at + i * to->w, sums[i * TILE_K + lane], k + lane);
    }
}

/* The number of tiles from `tile` on whose outputs are contiguous in memory: within a row, or beyond where rows have
 * no gaps. */
DEVICE int run_length(const struct tiles *tiles, int tile, int has_gaps)
{
    int whole = tiles->width / TILE_W, left = tiles->end - tile;
    if (whole == tiles->a_row && !has_gaps)
        return left;
    whole -= tile % tiles->a_row;
    return whole < 1 ? 1 : whole < left ? whole : left;
}

/* Grid: `items` work-items that share an output plane's tiles, blocks of TILE_K channels of a group, images times
 * groups. in_* are strides of the tensor that is read (the padded copy, or the input itself), phase_* the distances
 * of the copy's phases. has_slack: memory behind that tensor may be read. k_count and size_* are the output's. */
KERNEL(1, 1, 1) conv_cpu_blocked(GLOBAL const LANE *RESTRICT in,
                                 GLOBAL const LANE *RESTRICT packed,
                                 GLOBAL STORAGE(TYPE_OUT) * RESTRICT out, i64 in_n, i64 in_c,
                                 i64 in_d, i64 in_h, i64 in_w, i64 phase_d, i64 phase_h,
                                 i64 phase_w, i64 w_in, i64 w_d, i64 w_h, i64 w_w, i64 out_n, i64 out_k, i64 out_d, i64 out_h, i64 out_w,
                                 int groups, int c_count, int k_count, int items, int has_slack,
                                 int w_in_block, int out_block, int is_turned,
                                 int fil_d, int fil_h, int fil_w, int size_d, int size_h,
                                 int size_w, int phases_d, int phases_h, int phases_w, int stride_d,
                                 int stride_h, int stride_w, int dilation_d, int dilation_h,
                                 int dilation_w EPILOGUE_PARAMETERS)
{
    LANE sums[TILES * TILE_W * TILE_K];
    i64 in_terms[CRS_BLOCK], unused[CRS_BLOCK];
    int n = (int)GROUP_ID(2) / groups, group = (int)GROUP_ID(2) % groups;
    int first_k = (int)GROUP_ID(1) * TILE_K, k_left = k_count - first_k;
    int item = (int)GROUP_ID(0), term_count, is_flat;
    i64 tile_count;
    struct filter filter;
    struct tiles tiles;
    struct output to;
    filter.d = make_axis(fil_d, phases_d, stride_d, dilation_d, phase_d, in_d, w_d);
    filter.h = make_axis(fil_h, phases_h, stride_h, dilation_h, phase_h, in_h, w_h);
    filter.w = make_axis(fil_w, phases_w, stride_w, dilation_w, phase_w, in_w, w_w);
    filter.in_c = in_c;
    filter.w_out = 0;
    filter.w_in = w_in;
    filter.positions = fil_d * fil_h * fil_w;
    filter.c_count = c_count;
    filter.out_block = 1;
    filter.in_block = w_in_block;
    filter.is_turned = is_turned;
    choose_order(&filter);
    term_count = c_count * filter.positions;
    /* With one filter position and no gaps between rows, a whole plane counts as one long row. */
    is_flat = filter.positions == 1 && in_h == size_w * in_w && out_h == size_w * out_w;
    tiles.width = is_flat ? size_w * size_h : size_w;
    tiles.height = is_flat ? 1 : size_h;
    tiles.a_row = (tiles.width + TILE_W - 1) / TILE_W;
    tiles.back_row = tiles.height;
    if (tiles.width < TILE_W && !has_slack)
        tiles.back_row -= (int)(((TILE_W - tiles.width) * in_w + in_h - 1) / in_h);
    tile_count = (i64)tiles.a_row * tiles.height * size_d;
    tiles.first = (int)(tile_count * item / items);
    tiles.end = (int)(tile_count * (item + 1) / items);
    in += n * in_n + (i64)group * c_count * in_c;
    packed += (i64)(group * ((k_count + TILE_K - 1) / TILE_K) + (int)GROUP_ID(1)) * term_count * TILE_K;
    out += n * out_n;
    EPILOGUE_ADVANCE(n * out_n, 0);
    for (int first = 0; first < term_count; first += CRS_BLOCK) {
        int length = term_count - first < CRS_BLOCK ? term_count - first : CRS_BLOCK;
        GLOBAL const LANE *weights = packed + (i64)first * TILE_K;
        find_terms(&filter, first, length, in_terms, unused);
        for (int tile = tiles.first; tile < tiles.end; tile++) {
            GLOBAL const LANE *at = in + tile_offset(&tiles, tile, in_d, in_h, in_w);
            LANE *tile_sums = sums + (tile - tiles.first) * (TILE_W * TILE_K);
            if (in_w == 1)
                add_tile(at, 1, in_terms, weights, length, tile_sums, first == 0);
            else
                add_spread_tile(at, in_w, in_terms, weights, length, tile_sums, first == 0);
        }
    }
    to.c = out_k;
    to.w = out_w;
    to.block = out_block;
    is_flat = out_h == size_w * out_w && out_d == size_h * out_h;
    for (int tile = tiles.first, run; tile < tiles.end; tile += run) {
        /* A tile that was moved back to end with its row overlaps the tile before; only the positions that no other
         * tile has are stored. */
        int start = tile_start(&tiles, tile), from = tile % tiles.a_row * TILE_W - start;
        int end = tiles.width - start;
        run = run_length(&tiles, tile, !is_flat);
        if (run > 1 || end > TILE_W)
            end = run * TILE_W;
        for (int v = 0; v < TILE_V && v * VEC < k_left; v++)
            store_run(out + tile_offset(&tiles, tile, out_d, out_h, out_w) + from * out_w, &to,
                      group * k_count + first_k + v * VEC, k_left - v * VEC,
                      sums + ((tile - tiles.first) * TILE_W + from) * TILE_K + v * VEC,
                      end - from EPILOGUE_ARGUMENTS_AT(
                          tile_offset(&tiles, tile, out_d, out_h, out_w) + from * out_w, 0));
    }
}

#endif
