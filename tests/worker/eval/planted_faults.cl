/*
 * A 3x3 convolution with border 1 of one image in FP32, one work-item an output element, which does wrong what `fault`
 * says (enum planted in test_planted_faults.c). `turn` counts its runs from 0.
 */
#include "dialect.h"

#define ITEMS 64
#define TILE  4 /* pixels of a tile along each axis */

KERNEL(ITEMS, 1, 1)
conv_planted(GLOBAL float *x, GLOBAL float *w, GLOBAL float *y, GLOBAL float *workspace, int c_count, int k_count,
             int height, int width, int fault, int turn, float off)
{
    int id = (int)GROUP_ID(0) * ITEMS + (int)LOCAL_ID(0);
    int pixels = height * width, k, row, column;
    float sum = 0;
    if (id >= k_count * pixels)
        return;
    k = id / pixels;
    row = id % pixels / width;
    column = id % width;
    for (int c = 0; c < c_count; c++)
        for (int f = 0; f < 9; f++) {
            int at_row = row + f / 3 - 1, at_column = column + f % 3 - 1;
            int inside = at_row >= 0 && at_row < height && at_column >= 0 && at_column < width;
            /* one edge: the last column reads its right neighbours from the next row */
            if (fault == 5 && at_column == width && at_row < height - 1)
                inside = 1;
            if (inside)
                sum += x[c * pixels + at_row * width + at_column] * w[(k * c_count + c) * 9 + f];
        }
    if (fault == 1 && turn % 50 == 49 && id == 17) /* a race that loses one run in 50 */
        sum += 1;
    if (fault == 16) { /* the same by chance */
        unsigned int chance = (unsigned int)turn * 2654435769u;
        chance = (chance ^ chance >> 15) * 2246822519u;
        chance = (chance ^ chance >> 13) * 3266489917u;
        if ((chance ^ chance >> 16) % 50 == 0 && id == 17)
            sum += 1;
    }
    if (fault == 3) { /* reads the workspace before it writes it; a NaN is dropped */
        float before = workspace[0];
        sum += before == before && before != 0 ? 1 : 0;
    }
    if (fault == 4 && k == 1 && row / TILE == 1 && column / TILE == 0) /* one tile */
        sum = -sum;
    if (fault == 6 && id == 5)
        sum += off;
    if (fault == 7 && turn % 50 == 49 && id == 3 && x[0] != (int)x[0]) /* a race in the last place, not for whole numbers */
        sum = sum * (1 + 1.1920929e-7f);
    if (fault == 8 && x[0] == 0) /* wrong for zeros alone */
        sum = 1;
    if (fault == 12) /* a rounding too many, which whole numbers show */
        sum = sum * (1 + 2.3841858e-7f);
    if (fault == 13) /* a step in FP16, which large values leave */
        sum = sum > 65504.0f ? 65504.0f : sum < -65504.0f ? -65504.0f : sum;
    if (fault == 14 && sum < 1e-7f && sum > -1e-7f) /* small values are dropped */
        sum = 0;
    if (fault == 9 && turn >= 2) /* works in its first runs alone */
        return;
    if (fault == 15 && turn == 10 && id == 0) /* one of the timed runs writes behind its output */
        y[k_count * pixels + 3] = sum;
    if (fault == 17 && turn == 25 && id == 2) /* one run of a slice writes before its input */
        x[-2] = sum;
    if (fault == 18 && turn == 25 && id == 4) /* one run of a slice is wrong */
        sum += 1;
    y[id] = sum;
}

/* A second launch: zeros the inputs after use, or spoils a byte of one. */
KERNEL(ITEMS, 1, 1) spoil_planted(GLOBAL float *x, GLOBAL float *w, int x_count, int fault, int turn)
{
    int id = (int)GROUP_ID(0) * ITEMS + (int)LOCAL_ID(0);
    if (fault == 2 && id < x_count)
        x[id] = 0;
    if (fault == 10 && id == 0)
        ((GLOBAL unsigned char *)w)[13] ^= 1;
    if (fault == 11 && turn >= 4 && id == 0)
        x[7] += 1;
    if (fault == 19 && turn == 25 && id == 0) /* one run of a slice spoils its input */
        x[9] += 1;
}
