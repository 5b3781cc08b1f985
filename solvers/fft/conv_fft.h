/*
 * ConvFft's perf config, shared by conv_fft.c (the row) and conv_fft_space.c (the space).
 */
#ifndef SOLVERS_FFT_CONV_FFT_H
#define SOLVERS_FFT_CONV_FFT_H

#include "solvers/fft/fft_plan.h"
#include "solvers/framework/space.h"

/* Parameters: of the transforms (side of a transform in elements, planes in a workgroup), then of the product
 * (channels and columns of a block and of a work-item's tile, terms staged in local memory). */
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

/* Bytes of all spectra in the default's blocks. */
double fft_default_bytes(const struct fft_plan *plan);
/* The largest such size over all useful transforms; no config exceeds it. */
double fft_most_bytes(const struct problem *p);

/* Lanes of the product's vectors. */
int fft_vector_lanes(const struct context *context);
/* Work-items that share a plane's rows and columns. */
int fft_plane_items(const struct context *context, int size);
/* Work-items of a workgroup of the product. */
int fft_product_items(const struct context *context, const int32_t *values);

#endif
