/*
 * How a forward 2D convolution is cut into transforms of size by size elements (overlap-save), and the cost.
 *
 * A strided axis is the sum of `stride` convolutions of stride 1, its phases: phase i convolves every stride-th
 * input element with every stride-th filter element, both from i. Each phase's plane is cut into overlapping
 * pieces of `size` elements; a piece of a filter with `taps` elements yields size - taps + 1 outputs, its tile.
 * The spectra of input pieces and filter are multiplied, summed over channels and phases, and transformed back.
 * See conv_fft.cl, and Vasilache et al., "Fast Convolutional Nets With fbfft" (2014). Numbers are doubles,
 * which cannot overflow here; below 2^53 they are exact.
 */
#ifndef SOLVERS_FFT_FFT_PLAN_H
#define SOLVERS_FFT_FFT_PLAN_H

#include "solvers/problem/problem.h"

/* The transforms of fft.h: powers of two from FFT_SIZE_MIN to FFT_SIZE_MAX. */
#define FFT_SIZE_MIN 16
#define FFT_SIZE_MAX 64

/* The cut of one axis. */
struct fft_cut {
    int64_t phases; /* convolutions of stride 1 that the axis is the sum of */
    int64_t step;   /* distance of the first positions of two phases */
    int64_t taps;   /* the most filter elements of a phase */
    int64_t tile;   /* outputs of a transform; below 1 where the filter is too long for it */
    int64_t tiles;  /* transforms that cover the output; 0 where tile is below 1 */
};

struct fft_plan {
    struct fft_cut h, w;
    int size;
    double groups;
    double frequencies; /* complex numbers kept of a real plane's spectrum */
    double terms;       /* products summed for one output plane of a group */
    double channels;    /* output channels of a group */
    double columns;     /* tiles of all images */
};

/* Makes the plan. The problem's strides, dilations, sizes and reach must fit 31 bits. */
void fft_plan_init(const struct problem *p, int size, struct fft_plan *plan);

/* False where a transform yields few outputs for its size although the output has more. */
bool fft_plan_is_useful(const struct problem *p, const struct fft_plan *plan);

/* Bytes of the spectra of x, w and y by role, each aligned as a slice of the workspace, with channels and
 * columns rounded up to blocks. */
void fft_plan_slices(const struct fft_plan *plan, int block_k, int block_n,
                     double bytes[TENSOR_COUNT]);

/* Planes of x, w or y that are transformed; operations of all transforms. */
double fft_plan_planes(const struct fft_plan *plan, enum tensor_role role);
double fft_plan_transform_flops(const struct fft_plan *plan);
double fft_plan_product_flops(const struct fft_plan *plan);

/* Operations, with those of transforms counted four times because they run that much slower than the product. */
double fft_plan_cost(const struct fft_plan *plan);
/* The useful plan of the least cost. The largest size is always useful. */
void fft_plan_choose(const struct problem *p, struct fft_plan *plan);

#endif
