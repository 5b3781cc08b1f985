/*
 * An epilogue done in double precision on one element of the reference, with how far a kernel's result may be from it.
 *
 * A kernel's sum is off by some E (tolerance.h), and its steps round in turn: in FP32 (u = 2^-24), or in FP64 where x
 * is FP64. Both errors are followed through the steps: a step f turns the error e of its input into at most
 * |f'| e + r, where r is what the step itself may be off. At the end the error is gain * E + slack.
 *
 *   step                             |f'| at most      r in units of u
 *   bias, add, sub                   1                 2 |result|, and 2 |residual| where it is scaled
 *   max, min                         1                 2 |residual| where it is scaled, else 0
 *   relu, abs                        1                 0
 *   clip                             1                 2 |result|
 *   scale, requant, mul, div         |factor|          4 |result|
 *   leaky, prelu, affine, hardsigmoid |factor|, for leaky and prelu 1 if that is larger
 *                                                      4 (|factor * v| + |offset|)
 *   sigmoid                          1/4, tail(v)      power(v) |result| + 2 tiny
 *   tanh, erf                        1, 1.13           16 |result|
 *   elu                              1, |ALPHA|        16 |result|
 *   softplus                         1, tail(v)        power(v) |result| + 2 tiny
 *   silu, mish                       1.13, 1.1, tail(v) power(v) |result| + 2 |v| tiny
 *   gelu                             1.13, tail(v)     power(v) |result| + 2 |v| tiny
 *   hardswish                        1.5               16 |result|
 *   exp                              1.25 exp(v)       (16 + 4 |v|) |result|
 *   sqrt                             1 / (2 sqrt(v)), see below   4 |result|
 *
 * The right column allows the functions of OpenCL, CUDA and HIP with their documented errors of up to 16 units in the
 * last place of the result. An exponential may come from 2^(v log2 e), which is off by |v| units more: power(v) is 16 +
 * 4 |v| for a v below zero, and 16 above. Cancelling is not allowed: 1 - erfc(v) for a small v, or v / 2 (1 + erf(v /
 * sqrt(2))), v (1 - sigmoid(-v)) and log(1 + exp(v)) for a v far below zero are off by some units of 1, which can be
 * all that the result has. A kernel may take numbers below tiny = 2^-126 as zero.
 *
 * tail(v): functions that fall to zero for negative v are flat there, and so is the error of their input. Let t be v +
 * the sum's error, which any solution's tolerance keeps to at most 2^-12 of the element's magnitude, grown by the steps
 * before. Where t is below -1 the slopes are at most:
 *
 *   sigmoid, softplus   exp(t)
 *   silu, mish          (1 + |t|) exp(t)                       sigmoid(t) and tanh(softplus(t)) are below exp(t)
 *   gelu                (1/2 + 0.4 |t|) exp(-t * t / 2)        the normal share below t is below exp(-t * t / 2) / 2
 *
 * max, min, clip and the like pass on the larger of two errors, so that |f'| = 1 holds at their corners, too.
 *
 * sqrt: for v below zero the right result is NaN, and 0 where the output is of an integer type. Where rounding alone
 * may decide the sign of v, any result that was written is right: slack is infinite.
 */
#ifndef WORKER_VERIFY_EPILOGUE_BOUND_H
#define WORKER_VERIFY_EPILOGUE_BOUND_H

#include "solvers/problem/epilogue.h"

/* A problem's epilogue, and what is needed to do it. */
struct epilogue_bound {
    struct epilogue epilogue;
    double unit;             /* u */
    bool integers;           /* sums are INT32, and so is the bias */
    bool residual_is_scaled; /* the residual is of an integer type, and there are scales */
    enum data_type output;   /* the type of the result */
    bool output_is_integer;
    int64_t channels, inner; /* channels of the output, and positions of one channel */
    int64_t scales;          /* the length of the scales */
};
void epilogue_bound_init(struct epilogue_bound *bound, const struct problem *p);

/* The elements that an epilogue reads for one element of the output. */
struct epilogue_inputs {
    double bias, scale;
    double residual;       /* as it is stored */
    double residual_scale; /* the last of the scales */
};
/* Indexes of an output element's inputs in bias and scales. */
int64_t epilogue_bound_channel(const struct epilogue_bound *bound, int64_t index);

struct bounded {
    double value; /* not rounded; integer types: within their range */
    double gain, slack;
};
/* sum, magnitude: the operator's result and the sum of its products' absolute values. */
void epilogue_bound_at(const struct epilogue_bound *bound, double sum, double magnitude,
                       const struct epilogue_inputs *inputs, struct bounded *result);

#endif
