/*
 * The arithmetic of the host interpreter's larger operators, on arrays of doubles in row-major order. Sums are in double
 * precision. Nothing is rounded.
 */
#ifndef COORDINATOR_NETWORK_HOST_HOST_MATH_H
#define COORDINATOR_NETWORK_HOST_HOST_MATH_H

#include "coordinator/network/host/host_array.h"
#include "solvers/problem/epilogue.h"

/* A window that moves over up to three axes in space, D H W; axes that are not there have size 1. */
struct host_window {
    int64_t n, c, k, groups; /* c and k: channels of input and output */
    int64_t in[3], out[3], fil[3];
    int64_t before[3], stride[3], dilation[3]; /* before: padding in front */
    int64_t after[3]; /* padding behind the input, for pools that count it */
};

/* y[n,k,out] = sum of x[n,c,in] * w[k,c/groups,fil]; `border` is what padding holds. */
void host_convolve(const struct host_window *window, const double *x, const double *w,
                   double border, double *y, int threads);
/* The transposed convolution: w is [c, k/groups, fil]. */
void host_convolve_transposed(const struct host_window *window, const double *x, const double *w,
                              double *y, int threads);
/* c[M,N] = a[M,K] * b[N,K] transposed. */
void host_multiply(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c,
                   int threads);

enum host_pool { HOST_POOL_MAX, HOST_POOL_AVERAGE, HOST_POOL_AVERAGE_ALL };
/* The largest, the mean without padding, or the mean with padding as zeros. AVERAGE_ALL divides by the elements of the
 * window that are inside the padded input, if `clips` is set, otherwise by all of the window. */
void host_pool(const struct host_window *window, enum host_pool kind, bool clips, const double *x,
               double *y, int threads);

/* The softmax, or with is_log its logarithm, over the middle axis of [outer, axis, inner]. */
void host_softmax(int64_t outer, int64_t axis, int64_t inner, bool is_log, const double *x,
                  double *y, int threads);
/* ONNX's LRN over the channels of [n, c, space]. */
void host_lrn(int64_t n, int64_t c, int64_t space, int64_t size, double alpha, double beta,
              double bias, const double *x, double *y, int threads);

/* ONNX's Resize along each axis: `scale` output elements for one of the input. linear: interpolates, else takes the
 * nearest element by `rounding`. `coordinates` and `rounding` are ONNX's words. */
void host_resize(const struct shape *in, const struct shape *out, const double *scale, bool linear,
                 const char *coordinates, const char *rounding, const double *x, double *y);

/* Does an epilogue's steps to y, [n, k, space] in place. Lists that it does not read are NULL. residual has y's elements;
 * residual_is_integer says that it is multiplied by the last scale. */
void host_epilogue(const struct epilogue *epilogue, int64_t n, int64_t k, int64_t space,
                   const double *bias, const double *residual, bool residual_is_integer,
                   const double *scales, int64_t scale_count, double *y, int threads);

#endif
