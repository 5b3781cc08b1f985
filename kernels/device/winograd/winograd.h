/*
 * Winograd's minimal filtering in one dimension: m outputs of a filter of r taps take m + r - 1
 * multiplications. The interpolation points are 0, 1, -1, infinity (4 values) and 0, 1, -1, 2, -2, infinity (6
 * values). F(2,3) and F(4,3) are those of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"
 * (2015); F(3,2) and F(3,4) follow from the same construction. Each function transforms one line of a patch, or
 * transforms it back; a patch is transformed along columns and then along rows.
 *
 * TRANSFORM chooses: X4 and X6 transform inputs; W3_4 and W3_6 transform a filter of three taps to 4 and 6
 * values, W2_4 and W4_6 one of two and of four taps; Y2_4, Y3_4, Y3_6 and Y4_6 give 2 to 4 outputs from 4 or 6
 * values.
 */
#include "dialect.h"

#define TRANSFORM_X4   1
#define TRANSFORM_X6   2
#define TRANSFORM_W2_4 3
#define TRANSFORM_W3_4 4
#define TRANSFORM_W3_6 5
#define TRANSFORM_W4_6 6
#define TRANSFORM_Y2_4 7
#define TRANSFORM_Y3_4 8
#define TRANSFORM_Y3_6 9
#define TRANSFORM_Y4_6 10

#define TAKE(name)    (DIALECT_JOIN(TRANSFORM_, TRANSFORM) == TRANSFORM_##name)
/* value * factor + sum */
#define ADD(sum, factor, value) vec_madd(sum, vec_splat(factor), value)
#define SCALE(factor, value)    vec_madd(vec_splat(0), vec_splat(factor), value)

#if TAKE(X4)
enum { FROM = 4, TO = 4 };
DEVICE void transform_line(const vec *d, vec *t)
{
    t[0] = ADD(d[0], -1.0f, d[2]);
    t[1] = ADD(d[1], 1.0f, d[2]);
    t[2] = ADD(d[2], -1.0f, d[1]);
    t[3] = ADD(d[1], -1.0f, d[3]);
}
#elif TAKE(X6)
enum { FROM = 6, TO = 6 };
DEVICE void transform_line(const vec *d, vec *t)
{
    vec even = ADD(d[4], -4.0f, d[2]), odd = ADD(d[3], -4.0f, d[1]);
    vec even_2 = ADD(d[4], -1.0f, d[2]), odd_2 = ADD(d[3], -1.0f, d[1]);
    t[0] = ADD(ADD(d[4], -5.0f, d[2]), 4.0f, d[0]);
    t[1] = ADD(even, 1.0f, odd);
    t[2] = ADD(even, -1.0f, odd);
    t[3] = ADD(even_2, 2.0f, odd_2);
    t[4] = ADD(even_2, -2.0f, odd_2);
    t[5] = ADD(ADD(d[5], -5.0f, d[3]), 4.0f, d[1]);
}
#elif TAKE(W2_4)
enum { FROM = 2, TO = 4 };
DEVICE void transform_line(const vec *g, vec *t)
{
    t[0] = g[0];
    t[1] = SCALE(0.5f, ADD(g[0], 1.0f, g[1]));
    t[2] = SCALE(0.5f, ADD(g[0], -1.0f, g[1]));
    t[3] = g[1];
}
#elif TAKE(W3_4)
enum { FROM = 3, TO = 4 };
DEVICE void transform_line(const vec *g, vec *t)
{
    vec ends = ADD(g[0], 1.0f, g[2]);
    t[0] = g[0];
    t[1] = SCALE(0.5f, ADD(ends, 1.0f, g[1]));
    t[2] = SCALE(0.5f, ADD(ends, -1.0f, g[1]));
    t[3] = g[2];
}
#elif TAKE(W3_6)
enum { FROM = 3, TO = 6 };
DEVICE void transform_line(const vec *g, vec *t)
{
    vec ends = ADD(g[0], 1.0f, g[2]), ends_2 = ADD(g[0], 4.0f, g[2]);
    t[0] = SCALE(0.25f, g[0]);
    t[1] = SCALE(-1.0f / 6, ADD(ends, 1.0f, g[1]));
    t[2] = SCALE(-1.0f / 6, ADD(ends, -1.0f, g[1]));
    t[3] = SCALE(1.0f / 24, ADD(ends_2, 2.0f, g[1]));
    t[4] = SCALE(1.0f / 24, ADD(ends_2, -2.0f, g[1]));
    t[5] = g[2];
}
#elif TAKE(W4_6)
enum { FROM = 4, TO = 6 };
DEVICE void transform_line(const vec *g, vec *t)
{
    vec even = ADD(g[0], 1.0f, g[2]), odd = ADD(g[1], 1.0f, g[3]);
    vec even_2 = ADD(g[0], 4.0f, g[2]), odd_2 = ADD(g[1], 4.0f, g[3]);
    t[0] = SCALE(0.25f, g[0]);
    t[1] = SCALE(-1.0f / 6, ADD(even, 1.0f, odd));
    t[2] = SCALE(-1.0f / 6, ADD(even, -1.0f, odd));
    t[3] = SCALE(1.0f / 24, ADD(even_2, 2.0f, odd_2));
    t[4] = SCALE(1.0f / 24, ADD(even_2, -2.0f, odd_2));
    t[5] = g[3];
}
#elif TAKE(Y2_4)
enum { FROM = 4, TO = 2 };
DEVICE void transform_line(const vec *m, vec *t)
{
    t[0] = ADD(ADD(m[0], 1.0f, m[1]), 1.0f, m[2]);
    t[1] = ADD(ADD(m[1], -1.0f, m[2]), -1.0f, m[3]);
}
#elif TAKE(Y3_4)
enum { FROM = 4, TO = 3 };
DEVICE void transform_line(const vec *m, vec *t)
{
    vec sum = ADD(m[1], 1.0f, m[2]);
    t[0] = ADD(m[0], 1.0f, sum);
    t[1] = ADD(m[1], -1.0f, m[2]);
    t[2] = ADD(sum, -1.0f, m[3]);
}
#elif TAKE(Y3_6)
enum { FROM = 6, TO = 3 };
DEVICE void transform_line(const vec *m, vec *t)
{
    vec sum = ADD(m[1], 1.0f, m[2]), sum_2 = ADD(m[3], 1.0f, m[4]);
    t[0] = ADD(ADD(m[0], 1.0f, sum), 1.0f, sum_2);
    t[1] = ADD(ADD(m[1], -1.0f, m[2]), 2.0f, ADD(m[3], -1.0f, m[4]));
    t[2] = ADD(ADD(m[5], 1.0f, sum), 4.0f, sum_2);
}
#elif TAKE(Y4_6)
enum { FROM = 6, TO = 4 };
DEVICE void transform_line(const vec *m, vec *t)
{
    vec sum = ADD(m[1], 1.0f, m[2]), difference = ADD(m[1], -1.0f, m[2]);
    vec sum_2 = ADD(m[3], 1.0f, m[4]), difference_2 = ADD(m[3], -1.0f, m[4]);
    t[0] = ADD(ADD(m[0], 1.0f, sum), 1.0f, sum_2);
    t[1] = ADD(difference, 2.0f, difference_2);
    t[2] = ADD(sum, 4.0f, sum_2);
    t[3] = ADD(ADD(m[5], 1.0f, difference), 8.0f, difference_2);
}
#endif

/* Transforms a patch of FROM by FROM values into TO by TO values; both are stored row by row. */
DEVICE void transform_patch(const vec *patch, vec *result)
{
    vec partly[TO * FROM];
#pragma unroll
    for (int j = 0; j < FROM; j++) {
        vec line[FROM], moved[TO];
#pragma unroll
        for (int i = 0; i < FROM; i++)
            line[i] = patch[i * FROM + j];
        transform_line(line, moved);
#pragma unroll
        for (int i = 0; i < TO; i++)
            partly[i * FROM + j] = moved[i];
    }
#pragma unroll
    for (int i = 0; i < TO; i++)
        transform_line(partly + i * FROM, result + i * TO);
}

/* Unroll counts of loops over a vector's lanes and over patches: full where values are in registers, else 1. */
enum {
    UNROLL_FROM = VEC == 1 ? FROM : 1,
    UNROLL_TO = VEC == 1 ? TO : 1,
};

/* The layout of transformed values: a plane for each place in the patch. A plane has a row of `pitch` values for each
 * channel, over images and tiles (BY_CHANNEL 0), or a row for each image and tile, over channels (1). A work-item
 * transforms VEC neighbouring values of a row. struct place is the tensor position of a value. */
struct place {
    int image, channel, tile_h, tile_w;
};

DEVICE struct place find_place(int row, int at, int tiles_h, int tiles_w)
{
    struct place place;
    int tile = BY_CHANNEL ? row : at;
    place.channel = BY_CHANNEL ? at : row;
    place.tile_w = tile % tiles_w;
    place.tile_h = tile / tiles_w % tiles_h;
    place.image = tile / tiles_w / tiles_h;
    return place;
}

/* TAKES_PIECES: 4 or 2 neighbours of a line are loaded at once. This is possible where a work-item has one column,
 * because a patch's lines are then pieces of the tensor's lines, with the same alignment for all lines. */
#define WORD_FP32 4
#define WORD_FP16 2
#define WORD_BF16 2
#define TAKES_PIECES (VEC == 1 && !BY_CHANNEL && DIALECT_JOIN(WORD_, TYPE) == 4)

struct ALIGNED(16) quad {
    float lane[4];
};
struct ALIGNED(8) pair {
    float lane[2];
};

/* Neighbours of a line that may be loaded at once: 4 or 2 where they are neighbours in the tensor and all lines are
 * aligned to this many elements; else 1. */
DEVICE int piece_of(i64 address, i64 image_stride, i64 channel_stride, i64 h_stride, i64 w_stride)
{
    i64 together = address / 4 | image_stride | channel_stride | h_stride;
    if (w_stride != 1)
        return 1;
    return together % 4 == 0 ? 4 : together % 2 == 0 ? 2 : 1;
}
