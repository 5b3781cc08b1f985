/*
 * The steps of a problem's epilogue (solvers/problem/epilogue.h), which a kernel does to a result before it stores it.
 * Compile options fold them into the kernel. A kernel that stores by these words does every epilogue, and without an
 * epilogue it is the same code as with STORE:
 *
 *   KERNEL(64, 1, 1) name(GLOBAL float *y, int n EPILOGUE_PARAMETERS)   last in an entry and in functions of the device
 *   helper(y, n EPILOGUE_ARGUMENTS)                                     passes them on
 *   helper(y + 100, n EPILOGUE_ARGUMENTS_AT(100, 8))                    passes them on to where indices and channels
 *                                                                       count from element 100 and channel 8
 *   EPILOGUE_STORE(TYPE, y, index, value, channel)                      does all steps, then stores y[index]
 *   EPILOGUE_ADVANCE(elements, channels)                                where an entry has moved y that far: from there
 *                                                                       on indices and channels count from the new
 *                                                                       place
 *   epilogue_value(value, channel, index EPILOGUE_ARGUMENTS)            the steps alone: a float that is not rounded;
 *   epilogue_vec(value, channel, channel_step, index, index_step EPILOGUE_ARGUMENTS)
 *                                                                       the same for the VEC lanes of a vec of floats;
 *   epilogue_with(value, channel, residual EPILOGUE_ARGUMENTS)          epilogue_value() with the residual's element,
 *                                                                       as a float, already loaded;
 *                                                                       all three only within #ifdef EPILOGUE
 *   EPILOGUE_ROUND(TYPE, value)                                         the stored form of a float: rounded to nearest,
 *                                                                       ties to even; integers keep to their range
 *
 * `channel` is the output's channel, all groups counted. `index` is the element's place in the output, and the
 * residual's element is at the same place. A value is the finished sum: int where x is INT8, else float. Partial sums
 * get no epilogue.
 *
 * Options, which conv_add_epilogue_options() adds: EPILOGUE, the number of steps; EP<i>, the number of a step (EP_OP_...),
 * with EP<i>_A and EP<i>_B where they are not 0; EP_INT where values are int; EP_BIAS and EP_RESIDUAL, stored types;
 * EP_SCALES, 1 for one scale or 2 for one each channel; EP_RESIDUAL_SCALE where the residual is multiplied by the last
 * of the scales. exp, tanh and the like are those of functions.h. A step's error against the exact result is at most
 * 2 ulp for exp (results below 2^-126 may be 0), 5 ulp for gelu and mish and 4 ulp for the others.
 */
#include "dialect.h"
#include "functions.h"

/* The numbers of enum epilogue_op. */
#define EP_OP_NONE        0
#define EP_OP_BIAS        1
#define EP_OP_SCALE       2
#define EP_OP_REQUANT     3
#define EP_OP_ADD         4
#define EP_OP_SUB         5
#define EP_OP_MUL         6
#define EP_OP_DIV         7
#define EP_OP_GREATER     8
#define EP_OP_SMALLER     9
#define EP_OP_RELU        10
#define EP_OP_CLIP        11
#define EP_OP_LEAKY       12
#define EP_OP_PRELU       13
#define EP_OP_ELU         14
#define EP_OP_AFFINE      15
#define EP_OP_HARDSIGMOID 16
#define EP_OP_SIGMOID     17
#define EP_OP_TANH        18
#define EP_OP_EXP         19
#define EP_OP_SQRT        20
#define EP_OP_ABS         21
#define EP_OP_ERF         22
#define EP_OP_SILU        23
#define EP_OP_HARDSWISH   24
#define EP_OP_SOFTPLUS    25
#define EP_OP_MISH        26
#define EP_OP_GELU        27

/* The unroll count for a loop that stores `count` results by EPILOGUE_STORE: PoCL takes long to compile an epilogue's
 * functions many times over. Name it by an enum, since NVIDIA's compiler takes no macro in a pragma. */
#if defined(EPILOGUE) && defined(__OPENCL_VERSION__)
#define EPILOGUE_UNROLLED(count) 1
#else
#define EPILOGUE_UNROLLED(count) (count)
#endif

/* To the nearest integer, ties to even, for |v| below 2^22: at 1.5 * 2^23 a float's last place is 1. */
DEVICE float epilogue_nearest(float v)
{
    float shifted = v + 12582912.0f;
    return shifted - 12582912.0f;
}

#ifndef EPILOGUE

#define EPILOGUE_PARAMETERS
#define EPILOGUE_ARGUMENTS
#define EPILOGUE_ARGUMENTS_AT(elements, channels)
#define EPILOGUE_STORE(type, pointer, index, value, channel) STORE(type, pointer, index, value)
#define EPILOGUE_ADVANCE(elements, channels)

#else

/* ---- the operands that the steps read ---- */

#ifdef EP_BIAS
#define EP_BIAS_PARAMETER , GLOBAL const STORAGE(EP_BIAS) *ep_bias
#define EP_BIAS_ARGUMENT  , ep_bias
#define EP_BIAS_AT(channels)      , ep_bias + (channels)
#define EP_BIAS_ADVANCE(channels) ep_bias += (channels)
#else
#define EP_BIAS_AT(channels)
#define EP_BIAS_PARAMETER
#define EP_BIAS_ARGUMENT
#define EP_BIAS_ADVANCE(channels) (void)0
#endif

#ifdef EP_RESIDUAL
#define EP_RESIDUAL_PARAMETER , GLOBAL const STORAGE(EP_RESIDUAL) *ep_residual
#define EP_RESIDUAL_ARGUMENT  , ep_residual
#define EP_RESIDUAL_AT(elements)      , ep_residual + (elements)
#define EP_RESIDUAL_ADVANCE(elements) ep_residual += (elements)
#else
#define EP_RESIDUAL_AT(elements)
#define EP_RESIDUAL_PARAMETER
#define EP_RESIDUAL_ARGUMENT
#define EP_RESIDUAL_ADVANCE(elements) (void)0
#endif

#ifdef EP_SCALES
#define EP_SCALES_PARAMETER , GLOBAL const float *ep_scales
#define EP_SCALES_ARGUMENT  , ep_scales
#else
#define EP_SCALES_PARAMETER
#define EP_SCALES_ARGUMENT
#define EP_SCALES 0
#endif

/* The place of the residual's scale is an argument where the number of channels says it. */
#if defined(EP_RESIDUAL_SCALE) && EP_SCALES == 2
#define EP_LAST_PARAMETER , int ep_last_scale
#define EP_LAST_ARGUMENT  , ep_last_scale
#define EP_SCALES_AT(channels) , ep_scales + (channels), ep_last_scale - (channels)
#define EP_SCALES_ADVANCE(channels) (ep_scales += (channels), ep_last_scale -= (channels))
#else
#define EP_LAST_PARAMETER
#define EP_LAST_ARGUMENT
#if EP_SCALES == 2
#define EP_SCALES_AT(channels)      , ep_scales + (channels)
#define EP_SCALES_ADVANCE(channels) ep_scales += (channels)
#else
#define EP_SCALES_AT(channels)      EP_SCALES_ARGUMENT
#define EP_SCALES_ADVANCE(channels) (void)0
#endif
#endif

#define EPILOGUE_PARAMETERS                                                                        \
    EP_BIAS_PARAMETER EP_RESIDUAL_PARAMETER EP_SCALES_PARAMETER EP_LAST_PARAMETER
#define EPILOGUE_ARGUMENTS                                                                         \
    EP_BIAS_ARGUMENT EP_RESIDUAL_ARGUMENT EP_SCALES_ARGUMENT EP_LAST_ARGUMENT
#define EPILOGUE_ARGUMENTS_AT(elements, channels)                                                  \
    EP_BIAS_AT(channels) EP_RESIDUAL_AT(elements) EP_SCALES_AT(channels)
#define EPILOGUE_ADVANCE(elements, channels)                                                       \
    do {                                                                                           \
        EP_BIAS_ADVANCE(channels);                                                                 \
        EP_RESIDUAL_ADVANCE(elements);                                                             \
        EP_SCALES_ADVANCE(channels);                                                               \
    } while (0)

/* ---- functions that compilers have in libraries ---- */

DEVICE float epilogue_abs(float v)
{
    union float_bits u;
    u.value = v;
    u.bits &= 0x7fffffffu;
    return u.value;
}

/* The magnitude with the sign of another number. */
DEVICE float epilogue_signed(float magnitude, float sign)
{
    union float_bits u, s;
    u.value = magnitude;
    s.value = sign;
    u.bits |= s.bits & 0x80000000u;
    return u.value;
}

/* The reciprocal of the root by Newton's method, from a guess that halves the exponent, then one step for the root
 * itself. */
DEVICE float epilogue_sqrt(float v)
{
    union float_bits u;
    float r, root;
    u.value = v;
    u.bits = 0x5f3759dfu - (u.bits >> 1);
    r = u.value;
    r = r * (1.5f - 0.5f * v * r * r);
    r = r * (1.5f - 0.5f * v * r * r);
    r = r * (1.5f - 0.5f * v * r * r);
    root = v * r;
    root = root + 0.5f * r * (v - root * root);
    u.bits = 0x7fc00000u;
    return v < 0.0f ? u.value : v + v == v ? v : root; /* v + v is v for 0 and infinity */
}

/* exp(v) - 1 for v <= 0: near 0 its Taylor series, to v^9 */
DEVICE float epilogue_expm1(float v)
{
    float series = 2.75573192e-6f;
    series = series * v + 2.48015873e-5f;
    series = series * v + 1.98412698e-4f;
    series = series * v + 1.38888889e-3f;
    series = series * v + 8.33333333e-3f;
    series = series * v + 4.16666667e-2f;
    series = series * v + 1.66666667e-1f;
    series = series * v + 0.5f;
    series = series * v * v + v;
    return v > -0.75f ? series : function_exp(v) - 1.0f;
}

/* log(1 + v) for 0 <= v <= 1: 2 atanh(s) with s = v / (2 + v) <= 1/3, a series to s^15 */
DEVICE float epilogue_log1p(float v)
{
    float s = v / (2.0f + v), square = s * s;
    float series = 1.0f / 15;
    series = series * square + 1.0f / 13;
    series = series * square + 1.0f / 11;
    series = series * square + 1.0f / 9;
    series = series * square + 1.0f / 7;
    series = series * square + 1.0f / 5;
    series = series * square + 1.0f / 3;
    return 2.0f * (series * square * s + s);
}

DEVICE float epilogue_sigmoid(float v)
{
    return 1.0f / (1.0f + function_exp(-v));
}

/* With e = exp(-2|v|) - 1, tanh(|v|) = -e / (2 + e). */
DEVICE float epilogue_tanh(float v)
{
    float e = epilogue_expm1(-2.0f * epilogue_abs(v));
    return epilogue_signed(-e / (2.0f + e), v);
}

DEVICE float epilogue_softplus(float v)
{
    return (v > 0.0f ? v : 0.0f) + epilogue_log1p(function_exp(-epilogue_abs(v)));
}

/* Polynomials fitted to erf(v) / v below 0.93, and above to log(1 - erf(v)). */
DEVICE float epilogue_erf(float v)
{
    float a = epilogue_abs(v), square = v * v, near, far;
    near = -5.96761703e-4f;
    near = near * square + 4.99119423e-3f;
    near = near * square - 2.67681349e-2f;
    near = near * square + 1.12819925e-1f;
    near = near * square - 3.76125336e-1f;
    near = near * square + 1.28379166e-1f;
    near = near * v + v;
    a = a > 4.0f ? 4.0f : a;
    far = (-1.72853470e-5f * a + 3.83197126e-4f) * (a * a) + (-3.88396438e-3f * a + 2.42546219e-2f);
    far = far * a - 1.06777877e-1f;
    far = far * a - 6.34846687e-1f;
    far = far * a - 1.28717512e-1f;
    far = far * a - a;
    far = epilogue_signed(1.0f - function_exp(far), v);
    return a > 0.927734375f ? far : near;
}

/* The share of the normal distribution below -a, for a >= 0: exp(-a * a / 2) times a polynomial fitted to the rest. `high`
 * has the leading 12 bits of a, so that its square is exact; what is left is at most 0.08, and its exp a short series. */
DEVICE float epilogue_normal_tail(float a)
{
    union float_bits high;
    float place, share, rest, exp_rest;
    a = a > 15.0f ? 15.0f : a;
    share = 3.0f / (3.0f + a);
    place = 1.0f - 2.0f * share;
    rest = 1.817100929e-5f;
    rest = rest * place - 6.646369002e-5f;
    rest = rest * place - 3.157408501e-4f;
    rest = rest * place + 3.378366237e-4f;
    rest = rest * place + 2.312285127e-3f;
    rest = rest * place - 3.487172769e-3f;
    rest = rest * place - 1.575267315e-2f;
    rest = rest * place + 7.667254657e-2f;
    rest = rest * place - 1.697773933e-1f;
    rest = rest * place + 2.430278957e-1f;
    high.value = a;
    high.bits &= 0xfffff000u;
    a = (high.value - a) * (high.value + a) * 0.5f;
    exp_rest = 4.16666667e-2f;
    exp_rest = exp_rest * a + 1.66666667e-1f;
    exp_rest = exp_rest * a + 0.5f;
    exp_rest = exp_rest * a * a + a + 1.0f;
    return rest * share * exp_rest * function_exp(-0.5f * high.value * high.value);
}

/* v times the share of the normal distribution below v */
DEVICE float epilogue_gelu(float v)
{
    float tail = epilogue_normal_tail(epilogue_abs(v));
    return v * (v < 0.0f ? tail : 1.0f - tail);
}

DEVICE float epilogue_clamp(float v, float low, float high)
{
    return v < low ? low : v > high ? high : v;
}

/* ---- the steps ---- */

/* v becomes the step's result. The words `v`, `bias`, `residual` and `scale` are the caller's variables. A kernel's op is a
 * constant, so that even a compiler that optimizes nothing keeps one case: as a function's parameter, each step would
 * bring the code of all (PoCL then takes seconds for a kernel). */
#define EPILOGUE_STEP(op, a, b)                                                                    \
    switch (op) {                                                                                  \
    case EP_OP_BIAS: v = v + bias; break;                                                          \
    case EP_OP_SCALE:                                                                              \
    case EP_OP_REQUANT: v = v * scale; break;                                                      \
    case EP_OP_ADD: v = v + residual; break;                                                       \
    case EP_OP_SUB: v = v - residual; break;                                                       \
    case EP_OP_MUL: v = v * residual; break;                                                       \
    case EP_OP_DIV: v = v / residual; break;                                                       \
    case EP_OP_GREATER: v = v > residual ? v : residual; break;                                    \
    case EP_OP_SMALLER: v = v < residual ? v : residual; break;                                    \
    case EP_OP_RELU: v = v < 0.0f ? 0.0f : v; break;                                               \
    case EP_OP_CLIP: v = epilogue_clamp(v, a, b); break;                                           \
    case EP_OP_LEAKY: v = v < 0.0f ? (a) * v : v; break;                                           \
    case EP_OP_PRELU: v = v < 0.0f ? scale * v : v; break;                                         \
    case EP_OP_ELU: v = v < 0.0f ? (a) * epilogue_expm1(v) : v; break;                             \
    case EP_OP_AFFINE: v = (a) * v + (b); break;                                                   \
    case EP_OP_HARDSIGMOID: v = epilogue_clamp((a) * v + (b), 0.0f, 1.0f); break;                  \
    case EP_OP_SIGMOID: v = epilogue_sigmoid(v); break;                                            \
    case EP_OP_TANH: v = epilogue_tanh(v); break;                                                  \
    case EP_OP_EXP: v = function_exp(v); break;                                                    \
    case EP_OP_SQRT: v = epilogue_sqrt(v); break;                                                  \
    case EP_OP_ABS: v = epilogue_abs(v); break;                                                    \
    case EP_OP_ERF: v = epilogue_erf(v); break;                                                    \
    case EP_OP_SILU: v = v * epilogue_sigmoid(v); break;                                           \
    case EP_OP_HARDSWISH: v = v * epilogue_clamp(v + 3.0f, 0.0f, 6.0f) / 6.0f; break;              \
    case EP_OP_SOFTPLUS: v = epilogue_softplus(v); break;                                          \
    case EP_OP_MISH: v = v * epilogue_tanh(epilogue_softplus(v)); break;                           \
    case EP_OP_GELU: v = epilogue_gelu(v); break;                                                  \
    default: break;                                                                                \
    }

#ifdef EP_INT
typedef int epilogue_sum;
#else
typedef float epilogue_sum;
#endif

/* Only the steps below EPILOGUE have options. */
#ifndef EP0_A
#define EP0_A 0.0f
#endif
#ifndef EP0_B
#define EP0_B 0.0f
#endif
#ifndef EP1
#define EP1 0
#endif
#ifndef EP1_A
#define EP1_A 0.0f
#endif
#ifndef EP1_B
#define EP1_B 0.0f
#endif
#ifndef EP2
#define EP2 0
#endif
#ifndef EP2_A
#define EP2_A 0.0f
#endif
#ifndef EP2_B
#define EP2_B 0.0f
#endif
#ifndef EP3
#define EP3 0
#endif
#ifndef EP3_A
#define EP3_A 0.0f
#endif
#ifndef EP3_B
#define EP3_B 0.0f
#endif
#ifndef EP4
#define EP4 0
#endif
#ifndef EP4_A
#define EP4_A 0.0f
#endif
#ifndef EP4_B
#define EP4_B 0.0f
#endif
#ifndef EP5
#define EP5 0
#endif
#ifndef EP5_A
#define EP5_A 0.0f
#endif
#ifndef EP5_B
#define EP5_B 0.0f
#endif
#ifndef EP6
#define EP6 0
#endif
#ifndef EP6_A
#define EP6_A 0.0f
#endif
#ifndef EP6_B
#define EP6_B 0.0f
#endif
#ifndef EP7
#define EP7 0
#endif
#ifndef EP7_A
#define EP7_A 0.0f
#endif
#ifndef EP7_B
#define EP7_B 0.0f
#endif

/* epilogue_value() for a residual's element that is already loaded. */
DEVICE float epilogue_with(epilogue_sum value, int channel, float residual EPILOGUE_PARAMETERS)
{
    float v, bias = 0.0f, scale = 0.0f;
    (void)channel;
#ifdef EP_RESIDUAL
#ifdef EP_RESIDUAL_SCALE
#if EP_SCALES == 2
    residual *= ep_scales[ep_last_scale];
#else
    residual *= ep_scales[1];
#endif
#endif
#endif
#if EP_SCALES == 2
    scale = ep_scales[channel];
#elif EP_SCALES == 1
    scale = ep_scales[0];
#endif
#ifdef EP_BIAS
#ifdef EP_INT
    /* An INT8 problem's bias is the first step, and is added in integers. */
    value = (int)((unsigned int)value + (unsigned int)ep_bias[channel]);
#else
    bias = (float)ep_bias[channel];
#endif
#endif
    v = (float)value;
    EPILOGUE_STEP(EP0, EP0_A, EP0_B)
    EPILOGUE_STEP(EP1, EP1_A, EP1_B)
    EPILOGUE_STEP(EP2, EP2_A, EP2_B)
    EPILOGUE_STEP(EP3, EP3_A, EP3_B)
    EPILOGUE_STEP(EP4, EP4_A, EP4_B)
    EPILOGUE_STEP(EP5, EP5_A, EP5_B)
    EPILOGUE_STEP(EP6, EP6_A, EP6_B)
    EPILOGUE_STEP(EP7, EP7_A, EP7_B)
    return v;
}

DEVICE float epilogue_value(epilogue_sum value, int channel, i64 index EPILOGUE_PARAMETERS)
{
    float residual = 0.0f;
    (void)index;
#ifdef EP_RESIDUAL
    residual = (float)LOAD(EP_RESIDUAL, ep_residual, index);
#endif
    return epilogue_with(value, channel, residual EPILOGUE_ARGUMENTS);
}

#if defined(VEC) && defined(LANE) && !defined(EP_INT)
/* Lane i has the channel `channel + i * channel_step` and the place `index + i * index_step`. */
DEVICE vec epilogue_vec(vec value, int channel, int channel_step, i64 index,
                        i64 index_step EPILOGUE_PARAMETERS)
{
    LANE lanes[VEC];
    vec_store(lanes, value);
    for (int i = 0; i < VEC; i++)
        lanes[i] = epilogue_value(lanes[i], channel + i * channel_step,
                                  index + i * index_step EPILOGUE_ARGUMENTS);
    return vec_load(lanes);
}
#endif

#define EPILOGUE_STORE(type, pointer, index, value, channel)                                       \
    ((pointer)[index] = EPILOGUE_ROUND(                                                            \
         type, epilogue_value(value, channel, index EPILOGUE_ARGUMENTS)))

#endif

/* ---- rounding ---- */

#define EPILOGUE_ROUND(type, value) DIALECT_JOIN(epilogue_round_, type)(value)
#define epilogue_round_FP32(value)  (value)
#define epilogue_round_FP16(value)  to_FP16(value)
#define epilogue_round_BF16(value)  to_BF16(value)

/* A NaN becomes 0. */
DEVICE signed char epilogue_round_INT8(float v)
{
    v = v != v ? 0.0f : v < -128.0f ? -128.0f : v > 127.0f ? 127.0f : v;
    return (signed char)(int)epilogue_nearest(v);
}

/* From 2^22 on a float has at most the fraction 1/2, from 2^23 on none. */
DEVICE int epilogue_round_INT32(float v)
{
    float rest;
    v = v != v ? 0.0f : v;
    if (v >= 2147483648.0f)
        return 2147483647;
    if (v < -2147483648.0f)
        return -2147483647 - 1;
    rest = v - (float)(int)v;
    if (rest > 0.5f || (rest == 0.5f && ((int)v & 1)))
        return (int)v + 1;
    if (rest < -0.5f || (rest == -0.5f && ((int)v & 1)))
        return (int)v - 1;
    return (int)v;
}
