/*
 * Convolutions in NHWC (with DEPTH in NDHWC) as matrix products with operands in boxes of positions (tma.h): the
 * tiles of the product, and the boxes of each block of 64 elements of terms. matrix_nhwc.h defines rows, columns, terms,
 * elements, a filter that is TURNED, and B's phases.
 *
 * 64 rows of F and B, or the 64 terms of a block of W, are a box of box_w by box_h by (with depth) box_d by box_n
 * positions of y, or in B of a phase; fewer where no such box fits. For each filter position the box in the other
 * tensor has the same shape and begins elsewhere. W's columns come in panels of 64 channels of one filter position.
 * TEAM neighbouring workgroups (a team) share a tile, each with a part of its terms.
 *
 * Defined before it is included: BLOCK_M, BLOCK_N, TEAM, one of DIRECTION_F, DIRECTION_B and DIRECTION_W,
 * tma.h.
 */
#define GROUPS  (BLOCK_M / 64) /* of four warps */
#define PANELS  (BLOCK_N / 64)
#define BLOCK_K 64
#define PANEL   (64 * LINE_BYTES)

#if defined(DIRECTION_F)
#define A_BY_TERM 0
#define B_BY_TERM 0
#elif defined(DIRECTION_B)
#define A_BY_TERM 0
#if defined(TURNED)
#define B_BY_TERM 0
#else
#define B_BY_TERM 1
#endif
#else
#define A_BY_TERM 1
#define B_BY_TERM 1
#endif

struct shape {
    int n, c, k, groups; /* of a group: c in elements of 16 bits, k in numbers */
    int pitch;           /* in F and B: numbers from one position of the result to the next */
    int in_w, in_h, out_w, out_h, fil_w, fil_h;
    int pad_w, pad_h, stride_w, stride_h, dilation_w, dilation_h;
    /* period of the stride: filter positions this far apart meet the same phase */
    int period_w, period_h;
    int box_w, box_h, box_n;     /* size of a box in positions */
    int boxes_w, boxes_h, boxes; /* number of boxes along a line, in a plane, in all */
    int column_blocks, row_blocks;
    int tiles, splits, workgroups; /* tiles: number in all groups, phases and split-K parts */
    /* divisors by blocks of columns, blocks of rows, boxes of a plane, boxes of a line */
    struct divisor by_columns, by_rows, by_plane, by_line;
    /* the same of depth, and a divisor by boxes_d */
    IF_DEPTH(int in_d, out_d, fil_d, pad_d, stride_d, dilation_d, period_d, box_d, boxes_d;)
    IF_DEPTH(struct divisor by_depth;)
};

#define DEPTH_PARAMETERS                                                                           \
    IF_DEPTH(, int in_d, int out_d, int fil_d, int pad_d, int stride_d, int dilation_d,            \
             int period_d, int box_d, int boxes_d, int depth_multiplier, int depth_shift)
#define DEPTH_SIZES                                                                                \
    IF_DEPTH(in_d, out_d, fil_d, pad_d, stride_d, dilation_d, period_d, box_d, boxes_d,            \
             {(unsigned)depth_multiplier, (unsigned)depth_shift}, )

#define SHAPE_PARAMETERS                                                                           \
    int n, int c, int k, int groups, int pitch, int in_w, int in_h, int out_w, int out_h,          \
        int fil_w, int fil_h, int pad_w, int pad_h, int stride_w, int stride_h, int dilation_w,               \
        int dilation_h, int period_w, int period_h, int box_w, int box_h, int box_n, int boxes_w,  \
        int boxes_h, int boxes, int column_blocks, int row_blocks, int tiles, int splits,          \
        int workgroups, int columns_multiplier, int columns_shift, int rows_multiplier,            \
        int rows_shift, int plane_multiplier, int plane_shift, int line_multiplier,                \
        int line_shift DEPTH_PARAMETERS
#define SHAPE                                                                                      \
    {                                                                                              \
        n, c, k, groups, pitch, in_w, in_h, out_w, out_h, fil_w, fil_h, pad_w, pad_h, stride_w,    \
            stride_h, dilation_w, dilation_h, period_w, period_h, box_w, box_h, box_n, boxes_w, boxes_h,     \
            boxes, column_blocks, row_blocks, tiles, splits, workgroups,                           \
            {(unsigned)columns_multiplier, (unsigned)columns_shift},                               \
            {(unsigned)rows_multiplier, (unsigned)rows_shift},                                     \
            {(unsigned)plane_multiplier, (unsigned)plane_shift},                                   \
            {(unsigned)line_multiplier, (unsigned)line_shift}, DEPTH_SIZES                         \
    }

/* ---- tiles ---- */

/* The filter positions of an axis that a phase meets: the first and every period-th after it. Through the first of
 * them position p of a box reads position p * stride + start of the other tensor, through each next one `move`
 * positions further. */
struct taps {
    int first, period, count, start, move;
};

struct tile {
    int row_block, column_block, group, part, phase_w, phase_h IF_DEPTH(, phase_d);
    int first, steps; /* blocks of terms */
    struct taps w, h IF_DEPTH(, d);
};

#if defined(DIRECTION_B)
#define PLACE_STRIDE_W 1
#define PLACE_STRIDE_H 1
#define PLACE_STRIDE_D 1
#else
#define PLACE_STRIDE_W s->stride_w
#define PLACE_STRIDE_H s->stride_h
#define PLACE_STRIDE_D s->stride_d
#endif

DEVICE struct taps find_taps(int phase, int fil, int pad, int stride, int dilation, int period)
{
#if defined(DIRECTION_B)
    struct taps taps = {0, 0, 0, 0, 0};
    int most = period < fil ? period : fil, at = phase + pad;
    while (taps.first < most && (at - taps.first * dilation) % stride != 0)
        taps.first++;
    if (taps.first < most)
        taps.count = (fil - 1 - taps.first) / period + 1;
    taps.period = period;
    taps.start = (at - taps.first * dilation) / stride;
    taps.move = -(period * dilation / stride);
#else
    struct taps taps = {0, 1, 0, 0, 0};
    (void)phase;
    (void)stride;
    (void)period;
    taps.count = fil;
    taps.start = -pad;
    taps.move = dilation;
#endif
    return taps;
}

/* The number of blocks of terms that the tile sums, for all parts together. */
DEVICE int count_steps(const struct shape *s, const struct tile *tile)
{
#if defined(DIRECTION_F)
    return tile->w.count * tile->h.count * IF_DEPTH(tile->d.count *)
           ((s->c + BLOCK_K - 1) / BLOCK_K);
#elif defined(DIRECTION_B)
    return tile->w.count * tile->h.count * IF_DEPTH(tile->d.count *)
           ((ELEMENTS_K(s) + BLOCK_K - 1) / BLOCK_K);
#else
    (void)tile;
    return s->boxes;
#endif
}

/* A workgroup's first tile, and the distance to its next one; the workgroups of a team have the same tiles. */
#define FIRST_TILE    (GROUP_ID(0) / TEAM)
#define TILES_STEP(s) ((s)->workgroups / TEAM)
#define MEMBER        (GROUP_ID(0) % TEAM)

/* Finds a tile by its number; `member` is the workgroup's number in its team. Blocks of columns run fastest, so that
 * workgroups that read the same rows run at once; then blocks of rows, phases, groups and, slowest, split-K parts, of
 * which a team computes TEAM. */
DEVICE struct tile tile_at(int number, int member, const struct shape *s)
{
    struct tile tile;
    int rest = quotient(number, s->by_columns), layer = quotient(rest, s->by_rows), all, share;
    tile.column_block = number - rest * s->column_blocks;
    tile.row_block = rest - layer * s->row_blocks;
    tile.phase_w = tile.phase_h = tile.group = tile.part = 0;
    IF_DEPTH(tile.phase_d = 0;)
    if (layer > 0) {
#if defined(DIRECTION_B)
        tile.phase_w = layer % s->stride_w;
        layer /= s->stride_w;
        tile.phase_h = layer % s->stride_h;
        layer /= s->stride_h;
        IF_DEPTH(tile.phase_d = layer % s->stride_d; layer /= s->stride_d;)
#endif
        tile.group = layer % s->groups;
        tile.part = layer / s->groups;
    }
    tile.part = tile.part * TEAM + member;
    tile.w = find_taps(tile.phase_w, s->fil_w, s->pad_w, s->stride_w, s->dilation_w, s->period_w);
    tile.h = find_taps(tile.phase_h, s->fil_h, s->pad_h, s->stride_h, s->dilation_h, s->period_h);
    IF_DEPTH(tile.d = find_taps(tile.phase_d, s->fil_d, s->pad_d, s->stride_d, s->dilation_d,
                                s->period_d);)
    all = count_steps(s, &tile);
    share = all;
    if (s->splits > 1)
        share = (all + s->splits - 1) / s->splits;
    tile.first = tile.part * share;
    all -= tile.first;
    tile.steps = all < share ? all : share;
    return tile;
}

/* Coordinates at which a box begins. */
struct place {
    int w, h, IF_DEPTH(d, ) image;
};

DEVICE struct place box_at(int number, const struct shape *s)
{
    struct place place;
    int image = quotient(number, s->by_plane), line;
    number -= image * (s->boxes_w * s->boxes_h);
    line = quotient(number, s->by_line);
    place.w = (number - line * s->boxes_w) * s->box_w;
    place.h = line * s->box_h;
#if DEPTH
    place.d = image;
    image = quotient(place.d, s->by_depth);
    place.d = (place.d - image * s->boxes_d) * s->box_d;
#endif
    place.image = image * s->box_n;
    return place;
}

/* ---- maps ---- */

DEVICE struct map map_of_a(GLOBAL const half_bits *a, const struct shape *s)
{
#if defined(DIRECTION_F)
    struct map map = open_map(a, s->c * s->groups, s->in_w, s->in_h, IF_DEPTH(s->in_d, ) s->n);
    map.stride[1] = s->stride_w;
    map.stride[2] = s->stride_h;
    IF_DEPTH(map.stride[3] = s->stride_d;)
#else
    struct map map = open_map(a, ELEMENTS_K(s) * s->groups, s->out_w, s->out_h, IF_DEPTH(s->out_d, ) s->n);
#endif
    map.box[1] = s->box_w;
    map.box[2] = s->box_h;
    IF_DEPTH(map.box[3] = s->box_d;)
    map.box[MAP_IMAGES] = s->box_n;
    return map;
}

/* The tensor map of operand b. In F and B it is the filter, whose positions are one axis of the map and whose k (of the
 * one that is TURNED: c) are the next. */
DEVICE struct map map_of_b(GLOBAL const half_bits *b, const struct shape *s)
{
#if defined(DIRECTION_W)
    struct map map = open_map(b, s->c * s->groups, s->in_w, s->in_h, IF_DEPTH(s->in_d, ) s->n);
    map.stride[1] = s->stride_w;
    map.stride[2] = s->stride_h;
    IF_DEPTH(map.stride[3] = s->stride_d;)
    map.box[1] = s->box_w;
    map.box[2] = s->box_h;
    IF_DEPTH(map.box[3] = s->box_d;)
    map.box[MAP_IMAGES] = s->box_n;
#else
#if defined(TURNED)
    struct map map = open_map(b, ELEMENTS_K(s), s->fil_w * s->fil_h IF_DEPTH(* s->fil_d),
                              NUMBERS_C(s) * s->groups, IF_DEPTH(1, ) 1);
#else
    struct map map = open_map(b, s->c, s->fil_w * s->fil_h IF_DEPTH(* s->fil_d),
                              s->k * s->groups, IF_DEPTH(1, ) 1);
#endif
    map.box[2] = B_BY_TERM ? BLOCK_K : BLOCK_N;
#endif
    return map;
}

/* ---- what is loaded ---- */

/* The coordinates of the next block of terms of a tile. */
#if defined(DIRECTION_W)
/* the slowest axis of the filter's positions */
#if DEPTH
#define LAST_AXIS(h, d) (d)
#else
#define LAST_AXIS(h, d) (h)
#endif

struct feed {
    /* channel and coordinates of x for each panel of columns */
    int channel[PANELS], w[PANELS], h[PANELS] IF_DEPTH(, d[PANELS]);
    int k, box;
};

DEVICE struct feed open_feed(const struct shape *s, const struct tile *tile)
{
    struct feed feed;
    int channel_panels = (s->c + 63) / 64;
    UNROLL for (int i = 0; i < PANELS; i++)
    {
        int panel = tile->column_block * PANELS + i, tap = panel / channel_panels;
        int h = tap / s->fil_w, w = tap - h * s->fil_w;
        IF_DEPTH(int d = h / s->fil_h; h -= d * s->fil_h;)
        /* For a panel past the last filter position the box is placed outside of x's channels, so that the engine
         * writes zeros. */
        feed.channel[i] = LAST_AXIS(h, d) < LAST_AXIS(s->fil_h, s->fil_d)
                              ? tile->group * s->c + (panel - tap * channel_panels) * 64
                              : s->c * s->groups;
        feed.w[i] = tile->w.start + w * tile->w.move;
        feed.h[i] = tile->h.start + h * tile->h.move;
        IF_DEPTH(feed.d[i] = tile->d.start + d * tile->d.move;)
    }
    feed.k = tile->group * s->k + tile->row_block * BLOCK_M;
    feed.box = tile->first;
    return feed;
}

DEVICE int load_bytes(const struct shape *s)
{
    return s->box_w * s->box_h * IF_DEPTH(s->box_d *) s->box_n * LINE_BYTES * (GROUPS + PANELS);
}

DEVICE void load_step(LOCAL_POINTER unsigned char *memory, unsigned to, unsigned barrier,
                      const struct map *a, const struct map *b, const struct shape *s,
                      const struct tile *tile, const struct feed *feed, int item)
{
    struct place place = box_at(feed->box, s);
    (void)tile;
    UNROLL for (int i = 0; i < GROUPS; i++)
        copy_box(memory, to + i * PANEL, barrier, a, feed->k + i * 64, place.w, place.h,
                 IF_DEPTH(place.d, ) place.image, item);
    UNROLL for (int i = 0; i < PANELS; i++)
        copy_box(memory, to + (GROUPS + i) * PANEL, barrier, b, feed->channel[i],
                 place.w * s->stride_w + feed->w[i], place.h * s->stride_h + feed->h[i],
                 IF_DEPTH(place.d * s->stride_d + feed->d[i], ) place.image, item);
}

DEVICE void next_step(struct feed *feed, const struct shape *s, const struct tile *tile)
{
    (void)s;
    (void)tile;
    feed->box++;
}
#else
struct feed {
    /* coordinates in the other tensor of each group's box for the first filter position */
    int w[GROUPS], h[GROUPS], IF_DEPTH(d[GROUPS], ) image[GROUPS];
    int tap_w, tap_h, IF_DEPTH(tap_d, ) term;
};

/* of the tensor that is gathered, in elements */
#if defined(DIRECTION_F)
#define CHANNELS s->c
#else
#define CHANNELS ELEMENTS_K(s)
#endif

DEVICE struct feed open_feed(const struct shape *s, const struct tile *tile)
{
    struct feed feed;
    int blocks = (CHANNELS + BLOCK_K - 1) / BLOCK_K, tap = tile->first / blocks;
    UNROLL for (int i = 0; i < GROUPS; i++)
    {
        struct place place = box_at(tile->row_block * GROUPS + i, s);
        feed.w[i] = place.w * PLACE_STRIDE_W + tile->w.start;
        feed.h[i] = place.h * PLACE_STRIDE_H + tile->h.start;
        IF_DEPTH(feed.d[i] = place.d * PLACE_STRIDE_D + tile->d.start;)
        feed.image[i] = place.image;
    }
    feed.term = (tile->first - tap * blocks) * BLOCK_K;
    feed.tap_h = tile->w.count > 0 ? tap / tile->w.count : 0;
    feed.tap_w = tap - feed.tap_h * tile->w.count;
#if DEPTH
    feed.tap_d = tile->h.count > 0 ? feed.tap_h / tile->h.count : 0;
    feed.tap_h -= feed.tap_d * tile->h.count;
#endif
    return feed;
}

DEVICE int load_bytes(const struct shape *s)
{
    return s->box_w * s->box_h * IF_DEPTH(s->box_d *) s->box_n * LINE_BYTES * GROUPS +
           BLOCK_N * LINE_BYTES;
}

DEVICE void load_step(LOCAL_POINTER unsigned char *memory, unsigned to, unsigned barrier,
                      const struct map *a, const struct map *b, const struct shape *s,
                      const struct tile *tile, const struct feed *feed, int item)
{
    int move_w = feed->tap_w * tile->w.move, move_h = feed->tap_h * tile->h.move;
    IF_DEPTH(int move_d = feed->tap_d * tile->d.move;)
    int tap = (IF_DEPTH((tile->d.first + feed->tap_d * tile->d.period) * s->fil_h +)
               tile->h.first + feed->tap_h * tile->h.period) * s->fil_w + tile->w.first +
              feed->tap_w * tile->w.period;
    UNROLL for (int i = 0; i < GROUPS; i++)
        copy_box(memory, to + i * PANEL, barrier, a, tile->group * CHANNELS + feed->term,
                 feed->w[i] + move_w, feed->h[i] + move_h, IF_DEPTH(feed->d[i] + move_d, )
                 feed->image[i], item);
    to += GROUPS * PANEL;
#if defined(DIRECTION_F)
    copy_box(memory, to, barrier, b, feed->term, tap,
             tile->group * s->k + tile->column_block * BLOCK_N, IF_DEPTH(0, ) 0, item);
#elif defined(TURNED)
    copy_box(memory, to, barrier, b, feed->term, tap,
             tile->group * NUMBERS_C(s) + tile->column_block * BLOCK_N, IF_DEPTH(0, ) 0, item);
#else
    UNROLL for (int i = 0; i < PANELS; i++)
        copy_box(memory, to + i * PANEL, barrier, b, tile->column_block * BLOCK_N + i * 64, tap,
                 tile->group * s->k + feed->term, IF_DEPTH(0, ) 0, item);
#endif
}

DEVICE void next_step(struct feed *feed, const struct shape *s, const struct tile *tile)
{
    feed->term += BLOCK_K;
    if (feed->term < CHANNELS)
        return;
    feed->term = 0;
    if (++feed->tap_w == tile->w.count) {
        feed->tap_w = 0;
        feed->tap_h++;
    }
#if DEPTH
    if (feed->tap_h == tile->h.count) {
        feed->tap_h = 0;
        feed->tap_d++;
    }
#endif
}
#endif
