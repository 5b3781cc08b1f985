/*
 * The parameters of ConvFft's perf config, and the sizes of its transforms.
 */
#ifndef SOLVERS_FFT_CONV_FFT_H
#define SOLVERS_FFT_CONV_FFT_H

/* Elements along a side of a transform (fft.h): a power of two from FFT_SIZE_MIN to FFT_SIZE_MAX. */
#define FFT_SIZE_MIN 16
#define FFT_SIZE_MAX 64

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
