/*
 * The parameters of ConvFft's perf config.
 */
#ifndef SOLVERS_FFT_CONV_FFT_H
#define SOLVERS_FFT_CONV_FFT_H

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

#endif
