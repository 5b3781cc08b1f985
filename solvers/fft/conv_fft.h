/*
 * ConvFft's perf config, shared between its row (conv_fft.c) and its space
 * (conv_fft_space.c).
 */
#ifndef SOLVERS_FFT_CONV_FFT_H
#define SOLVERS_FFT_CONV_FFT_H

#include "solvers/fft/fft_plan.h"
#include "solvers/framework/space.h"

/* The parameters, in order: the transforms' (elements a side, planes a workgroup), then the product's
 * (channels and columns of a block, of an item's tile, and terms staged in local memory). */
enum {
    FFT_SIZE,
    FFT_LANES,
    FFT_BLOCK_K,
    FFT_BLOCK_N,
    FFT_TILE_K,
    FFT_TILE_N,
    FFT_STAGE,
    FFT_PARAM_COUNT
};

extern const struct space fft_space;

void fft_default_config(const struct problem *p, const struct context *context,
                        struct perf_config *config);

/* Bytes of all spectra in the blocks that the default takes. */
double fft_default_bytes(const struct fft_plan *plan);
/* The most of them over all useful sizes, which no config of the space exceeds. */
double fft_most_bytes(const struct problem *p);

/* Lanes of the product's vectors. */
int fft_vector_lanes(const struct context *context);
/* Items that share a plane's rows and columns. */
int fft_plane_items(const struct context *context, int size);
/* Items of a workgroup of the product. */
int fft_product_items(const struct context *context, const int32_t *values);

#endif
