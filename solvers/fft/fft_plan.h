/*
 * How a forward 2D convolution is cut up for transforms of size by size
 * elements, and what that costs. kernels/device/fft/conv_fft.cl says what phases,
 * terms and columns are. Numbers are doubles, so that none overflows before it
 * is looked at; below 2^53 they are exact.
 */
#ifndef SOLVERS_FFT_FFT_PLAN_H
#define SOLVERS_FFT_FFT_PLAN_H

#include "solvers/problem/problem.h"

/* The sizes that fft.h can transform, powers of two from the first to the last. */
#define FFT_SIZE_MIN 16
#define FFT_SIZE_MAX 64

/* One axis. */
struct fft_cut {
    int64_t phases; /* parts of stride 1 that a strided axis is the sum of */
    int64_t step;   /* between their first positions */
    int64_t taps;   /* indices of a phase that filter positions take at most */
    int64_t tile;   /* outputs a transform yields; below 1 where the filter is too long for it */
    int64_t tiles;  /* that cover the output; 0 where tile is below 1 */
};

struct fft_plan {
    struct fft_cut h, w;
    int size;
    double groups;
    double frequencies; /* complex numbers that a real plane's spectrum is kept as */
    double terms;       /* planes that one output plane of a group is the sum of */
    double channels;    /* outputs of a group */
    double columns;     /* tiles of all images */
};

/* The problem's strides, dilations, sizes and reach fit 31 bits. */
void fft_plan_init(const struct problem *p, int size, struct fft_plan *plan);

/* False where a transform would yield few outputs beside its size though more are wanted. */
bool fft_plan_is_useful(const struct problem *p, const struct fft_plan *plan);

/* Bytes of the spectra of x, w and y by role, each rounded up to what slices of a workspace are
 * aligned to, where channels and columns lie in blocks. */
void fft_plan_slices(const struct fft_plan *plan, int block_k, int block_n,
                     double bytes[TENSOR_COUNT]);

/* Planes of x, w and y that are transformed, and operations of all transforms together. */
double fft_plan_planes(const struct fft_plan *plan, enum tensor_role role);
double fft_plan_transform_flops(const struct fft_plan *plan);
double fft_plan_product_flops(const struct fft_plan *plan);

/* Operations, those of transforms counted four times: they are that much slower than the product. */
double fft_plan_cost(const struct fft_plan *plan);
/* The useful plan of the least cost; that of the largest size is useful. */
void fft_plan_choose(const struct problem *p, struct fft_plan *plan);

#endif
