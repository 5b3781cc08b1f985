/*
 * Real two-dimensional Fourier transforms of planes of SIZE by SIZE elements, LANES planes side by side in
 * local memory. A work-item has VEC planes: one on a GPU, all LANES of them on a CPU (where VEC is an option).
 * JOBS work-items share the rows and columns of a plane. Transforms are not scaled; transform_rows() and
 * transform_column() give twice the spectrum.
 *
 * Planes are real, so two rows are transformed as one complex row, and the spectrum's columns 0 and SIZE/2,
 * which are then real, as one complex column. FREQUENCIES numbers of a spectrum are kept: SIZE/2 + 1 of column
 * 0, as many of column SIZE/2, and SIZE of each column between. The others are their conjugates.
 *
 * Options: SIZE (16, 32, 64), LANES, JOBS (1 or SIZE/2), BLOCK (planes that are neighbours in the workspace),
 * VEC (absent: 1; more only in OpenCL, whose vectors have operators).
 */
#include "dialect.h"

#ifndef VEC
#define VEC 1
typedef float vec;
#define vec_load(pointer) (*(pointer))
#define vec_store(pointer, value) (*(pointer) = (value))
#endif

/* Unroll count of loops over a row's elements. A GPU holds a row in registers, so all indices must be constants; a
 * CPU has the row in its cache. (An enum, as NVIDIA's compiler takes no macro in a pragma.) */
enum { UNROLL_ROW = VEC > 1 ? 1 : SIZE };

#define HALF (SIZE / 2)
#define FREQUENCIES (SIZE * HALF + 2)
#define LANE_ITEMS (LANES / VEC)
#define ITEMS (LANE_ITEMS * JOBS)
#define ITEM ((int)LOCAL_ID(0))
#define ITEM_LANE (ITEM % LANE_ITEMS * VEC)
#define ITEM_JOB (ITEM / LANE_ITEMS)

/* Planes are filled and emptied in runs of neighbouring elements of one plane, for contiguous accesses to memory. */
#if JOBS > 1
#define RUN 8
#define RUN_LANES LANES
#else
#define RUN 1
#define RUN_LANES 1
#endif
/* Planes to which one work-item writes when local memory is filled. */
#define FILLED (LANES / RUN_LANES)
#define RUN_ROWS (ITEMS / (RUN * RUN_LANES))
#define RUN_COLUMN (ITEM % RUN)
#define RUN_LANE (ITEM / RUN % RUN_LANES)
#define RUN_ROW (ITEM / (RUN * RUN_LANES))

/* Rows are in two halves, even and odd rows, and one column longer than needed, so that neighbouring work-items
 * use different banks. A row is complex, HALF columns in two parts, or real, with its second half in the second
 * part. */
#define PITCH (HALF + 1)
#define PLANES_FLOATS (2 * SIZE * PITCH * LANES)
#define COMPLEX_AT(part, row, column)                                                              \
    ((((part) * SIZE + (row) % 2 * HALF + (row) / 2) * PITCH + (column)) * LANES)
#define REAL_AT(row, column) COMPLEX_AT((column) / HALF, row, (column) % HALF)

/* Index in a transformed row of frequency i: fft_forward() leaves frequencies, and fft_inverse() expects them, in
 * this order. */
#define PLACE(i)                                                                                   \
    (((i) % 2 * 32 + (i) / 2 % 2 * 16 + (i) / 4 % 2 * 8 + (i) / 8 % 2 * 4 + (i) / 16 % 2 * 2 +      \
      (i) / 32 % 2) /                                                                              \
     (64 / SIZE))
#define MIRRORED(i) ((SIZE - (i)) % SIZE)

#define EIGHTH_ROOT 0.70710678118654752f

/* The cosine of i / 64 of a full turn, for i from 0 to 16. */
DEVICE float quarter_cosine(int i)
{
    switch (i) {
    case 0: return 1.0f;
    case 1: return 0.99518472667219688f;
    case 2: return 0.98078528040323045f;
    case 3: return 0.95694033573220886f;
    case 4: return 0.92387953251128676f;
    case 5: return 0.88192126434835503f;
    case 6: return 0.83146961230254524f;
    case 7: return 0.77301045336273696f;
    case 8: return EIGHTH_ROOT;
    case 9: return 0.63439328416364550f;
    case 10: return 0.55557023301960222f;
    case 11: return 0.47139673682599764f;
    case 12: return 0.38268343236508977f;
    case 13: return 0.29028467725446236f;
    case 14: return 0.19509032201612827f;
    case 15: return 0.09801714032956060f;
    default: return 0.0f;
    }
}

/* The cosine of i / 64 of a full turn, for i from 0 to 32. */
DEVICE float cosine(int i)
{
    float value = quarter_cosine(i <= 16 ? i : 32 - i);
    return i <= 16 ? value : -value;
}

DEVICE float sine(int i)
{
    return quarter_cosine(i <= 16 ? 16 - i : i - 16);
}

/* One stage of the forward transform of pairs of elements `span` apart: their sums, and their differences rotated
 * back by the stage's angle. After unrolling everything but the elements is constant. */
DEVICE void forward_stage(vec *re, vec *im, int span)
{
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        int a = i / span * 2 * span + i % span, b = a + span;
        int angle = i % span * (32 / span);
        vec r = re[a] - re[b], s = im[a] - im[b];
        re[a] = re[a] + re[b];
        im[a] = im[a] + im[b];
        if (angle == 0) {
            re[b] = r;
            im[b] = s;
        } else if (angle == 8) {
            re[b] = (r + s) * EIGHTH_ROOT;
            im[b] = (s - r) * EIGHTH_ROOT;
        } else if (angle == 16) {
            re[b] = s;
            im[b] = -r;
        } else if (angle == 24) {
            re[b] = (s - r) * EIGHTH_ROOT;
            im[b] = (r + s) * -EIGHTH_ROOT;
        } else {
            float c = cosine(angle), d = sine(angle);
            re[b] = r * c + s * d;
            im[b] = s * c - r * d;
        }
    }
}

/* One stage of the inverse transform of pairs of elements `span` apart: the second elements are rotated forward by
 * the stage's angle, then sums and differences are taken. */
DEVICE void inverse_stage(vec *re, vec *im, int span)
{
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        int a = i / span * 2 * span + i % span, b = a + span;
        int angle = i % span * (32 / span);
        vec r = re[b], s = im[b];
        if (angle == 8) {
            vec sum = r + s;
            r = (r - s) * EIGHTH_ROOT;
            s = sum * EIGHTH_ROOT;
        } else if (angle == 16) {
            vec turned = r;
            r = -s;
            s = turned;
        } else if (angle == 24) {
            vec difference = r - s;
            r = (r + s) * -EIGHTH_ROOT;
            s = difference * EIGHTH_ROOT;
        } else if (angle != 0) {
            float c = cosine(angle), d = sine(angle);
            vec turned = r * c - s * d;
            s = s * c + r * d;
            r = turned;
        }
        re[b] = re[a] - r;
        im[b] = im[a] - s;
        re[a] = re[a] + r;
        im[a] = im[a] + s;
    }
}

/* The forward transform of one row: elements in their order become frequencies in the order of PLACE(). */
DEVICE void fft_forward(vec *re, vec *im)
{
    if (SIZE >= 64)
        forward_stage(re, im, 32);
    if (SIZE >= 32)
        forward_stage(re, im, 16);
    forward_stage(re, im, 8);
    forward_stage(re, im, 4);
    forward_stage(re, im, 2);
    forward_stage(re, im, 1);
}

/* The inverse of fft_forward(), times SIZE. */
DEVICE void fft_inverse(vec *re, vec *im)
{
    inverse_stage(re, im, 1);
    inverse_stage(re, im, 2);
    inverse_stage(re, im, 4);
    inverse_stage(re, im, 8);
    if (SIZE >= 32)
        inverse_stage(re, im, 16);
    if (SIZE >= 64)
        inverse_stage(re, im, 32);
}

/* Transforms two real rows in place to columns 0 .. HALF - 1 of twice their spectra. Column 0 holds the values of
 * frequencies 0 (real part) and HALF (imaginary part), which are real and not doubled. */
DEVICE void transform_rows(LOCAL_POINTER float *planes, int lane, int pair)
{
    vec re[SIZE], im[SIZE];
    LOCAL_POINTER float *rows = planes + COMPLEX_AT(0, 2 * pair, 0) + lane;
#pragma unroll UNROLL_ROW
    for (int i = 0; i < SIZE; i++) {
        re[i] = vec_load(rows + REAL_AT(0, i));
        im[i] = vec_load(rows + REAL_AT(1, i));
    }
    fft_forward(re, im);
    vec_store(rows + COMPLEX_AT(0, 0, 0), re[PLACE(0)]);
    vec_store(rows + COMPLEX_AT(1, 0, 0), re[PLACE(HALF)]);
    vec_store(rows + COMPLEX_AT(0, 1, 0), im[PLACE(0)]);
    vec_store(rows + COMPLEX_AT(1, 1, 0), im[PLACE(HALF)]);
#pragma unroll UNROLL_ROW
    for (int i = 1; i < HALF; i++) {
        int a = PLACE(i), b = PLACE(MIRRORED(i));
        vec_store(rows + COMPLEX_AT(0, 0, i), re[a] + re[b]);
        vec_store(rows + COMPLEX_AT(1, 0, i), im[a] - im[b]);
        vec_store(rows + COMPLEX_AT(0, 1, i), im[a] + im[b]);
        vec_store(rows + COMPLEX_AT(1, 1, i), re[b] - re[a]);
    }
}

/* Stores a frequency's real part, and BLOCK elements further its imaginary part; frequencies are `step`
 * elements apart. */
#define STORE_FREQUENCY(spectrum, re, im)                                                          \
    do {                                                                                           \
        vec_store(spectrum, re);                                                                   \
        vec_store((spectrum) + BLOCK, im);                                                         \
    } while (0)

/* Transforms one column of a plane and stores it in the spectrum; `spectrum` points to this work-item's lane. */
DEVICE void transform_column(LOCAL_POINTER const float *planes, int lane, int column,
                             GLOBAL float *spectrum, i64 step)
{
    vec re[SIZE], im[SIZE];
    planes += column * LANES + lane;
#pragma unroll UNROLL_ROW
    for (int i = 0; i < SIZE; i++) {
        re[i] = vec_load(planes + COMPLEX_AT(0, i, 0));
        im[i] = vec_load(planes + COMPLEX_AT(1, i, 0));
    }
    fft_forward(re, im);
    if (column == 0) {
#pragma unroll UNROLL_ROW
        for (int i = 0; i <= HALF; i++) {
            int a = PLACE(i), b = PLACE(MIRRORED(i));
            GLOBAL float *other = spectrum + (HALF + 1) * step;
            STORE_FREQUENCY(spectrum, re[a] + re[b], im[a] - im[b]);
            STORE_FREQUENCY(other, im[a] + im[b], re[b] - re[a]);
            spectrum += step;
        }
        return;
    }
    spectrum += (2 + column * SIZE) * step;
#pragma unroll UNROLL_ROW
    for (int i = 0; i < SIZE; i++) {
        STORE_FREQUENCY(spectrum, re[PLACE(i)], im[PLACE(i)]);
        spectrum += step;
    }
}

/* The inverse of transform_column(), without the factor that makes up for the transforms' scale. */
DEVICE void restore_column(LOCAL_POINTER float *planes, int lane, int column,
                           GLOBAL const float *spectrum, i64 step)
{
    vec re[SIZE], im[SIZE];
    if (column == 0) {
#pragma unroll UNROLL_ROW
        for (int i = 0; i <= HALF; i++) {
            int a = PLACE(i), b = PLACE(MIRRORED(i));
            GLOBAL const float *other = spectrum + (HALF + 1) * step;
            vec r = vec_load(spectrum), s = vec_load(spectrum + BLOCK);
            vec other_r = vec_load(other), other_s = vec_load(other + BLOCK);
            re[b] = r + other_s;
            im[b] = other_r - s;
            re[a] = r - other_s;
            im[a] = other_r + s;
            spectrum += step;
        }
    } else {
        spectrum += (2 + column * SIZE) * step;
#pragma unroll UNROLL_ROW
        for (int i = 0; i < SIZE; i++) {
            re[PLACE(i)] = vec_load(spectrum);
            im[PLACE(i)] = vec_load(spectrum + BLOCK);
            spectrum += step;
        }
    }
    fft_inverse(re, im);
    planes += column * LANES + lane;
#pragma unroll UNROLL_ROW
    for (int i = 0; i < SIZE; i++) {
        vec_store(planes + COMPLEX_AT(0, i, 0), re[i]);
        vec_store(planes + COMPLEX_AT(1, i, 0), im[i]);
    }
}

/* The inverse of transform_rows(), without the factor that makes up for the transforms' scale. */
DEVICE void restore_rows(LOCAL_POINTER float *planes, int lane, int pair)
{
    vec re[SIZE], im[SIZE];
    LOCAL_POINTER float *rows = planes + COMPLEX_AT(0, 2 * pair, 0) + lane;
    re[PLACE(0)] = vec_load(rows + COMPLEX_AT(0, 0, 0));
    re[PLACE(HALF)] = vec_load(rows + COMPLEX_AT(1, 0, 0));
    im[PLACE(0)] = vec_load(rows + COMPLEX_AT(0, 1, 0));
    im[PLACE(HALF)] = vec_load(rows + COMPLEX_AT(1, 1, 0));
#pragma unroll UNROLL_ROW
    for (int i = 1; i < HALF; i++) {
        int a = PLACE(i), b = PLACE(MIRRORED(i));
        vec r = vec_load(rows + COMPLEX_AT(0, 0, i)), s = vec_load(rows + COMPLEX_AT(1, 0, i));
        vec other_r = vec_load(rows + COMPLEX_AT(0, 1, i));
        vec other_s = vec_load(rows + COMPLEX_AT(1, 1, i));
        re[a] = r - other_s;
        im[a] = other_r + s;
        re[b] = r + other_s;
        im[b] = other_r - s;
    }
    fft_inverse(re, im);
#pragma unroll UNROLL_ROW
    for (int i = 0; i < SIZE; i++) {
        vec_store(rows + REAL_AT(0, i), re[i]);
        vec_store(rows + REAL_AT(1, i), im[i]);
    }
}
