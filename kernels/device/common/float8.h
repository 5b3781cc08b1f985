/*
 * The two floating types of 8 bits as kernels store them, for LOAD, STORE and EPILOGUE_ROUND: FP8 (E4M3: 4 exponent bits, 3
 * fraction bits) and BF8 (E5M2). Kernels that serve these types include it, before epilogue.h.
 *
 * Each type has two forms, and the target has one of them (FLOAT8_FNUZ):
 *
 *   form  on                 bias of FP8, BF8   largest FP8, BF8   special codes
 *   OCP   all but the below  7, 15              448, 57344         FP8: 0x7f and 0xff are NaN, no infinity
 *                                                                  BF8: infinities and NaNs as IEEE 754's types
 *   FNUZ  gfx940 to gfx942   8, 16              240, 57344         0x80 is NaN; no infinity, no -0
 *
 * Sources: OCP 8-bit Floating Point Specification (OFP8) 1.0, sections 4 and 5; the same numbers in worker/verify/float8.h.
 *
 * Numbers are rounded to nearest, ties to even, and saturate (OFP8's saturating conversion, CUDA's satfinite): what is
 * larger than the largest number becomes the largest number, infinities too; a NaN stays a NaN, of code 0x7f in OCP's
 * forms. AMD's own libraries turn an infinite FP32 into a NaN; it saturates here, so that both forms have one rule.
 */
#ifndef FLOAT8_H
#define FLOAT8_H

#include "dialect.h"

/* An option where a test wants the FNUZ form of another device. */
#ifndef FLOAT8_FNUZ
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
#define FLOAT8_FNUZ 1
#else
#define FLOAT8_FNUZ 0
#endif
#endif

#define FLOAT8_FP8 3 /* fraction bits */
#define FLOAT8_BF8 2

typedef unsigned char storage_FP8;
typedef unsigned char storage_BF8;

/* `fraction`: FLOAT8_FP8 or FLOAT8_BF8; a constant, as `fnuz`. */
DEVICE float float8_value(unsigned int code, int fraction, int fnuz)
{
    union float_bits u;
    unsigned int rest = code & 0x7fu, bias = (fraction == 3 ? 7u : 15u) + (fnuz ? 1u : 0u);
    union float_bits step; /* of the numbers below the normal ones: 2^(1 - bias - fraction) */
    step.bits = (127u + 1u - bias - (unsigned int)fraction) << 23;
    if (rest >> fraction)
        u.bits = (rest << (23 - fraction)) + ((127u - bias) << 23);
    else
        u.value = (float)(int)rest * step.value;
    if (fnuz ? code == 0x80u : fraction == 3 ? rest == 0x7fu : rest > 0x7cu)
        u.bits = 0x7fc00000u;
    else if (!fnuz && fraction == 2 && rest == 0x7cu)
        u.bits = 0x7f800000u;
    u.bits |= (code & 0x80u) << 24;
    return u.value;
}

DEVICE unsigned int float8_code(float value, int fraction, int fnuz)
{
    union float_bits u, shift;
    unsigned int sign, result, bias = (fraction == 3 ? 7u : 15u) + (fnuz ? 1u : 0u);
    unsigned int largest = fnuz ? 0x7fu : fraction == 3 ? 0x7eu : 0x7bu;
    int lost = 23 - fraction; /* fraction bits that are rounded away */
    u.value = value;
    sign = (u.bits >> 24) & 0x80u;
    u.bits &= 0x7fffffffu;
    if (u.bits > 0x7f800000u)
        return fnuz ? 0x80u : 0x7fu;
    if (u.bits >= (largest << lost) + ((127u - bias) << 23)) {
        result = largest;
    } else if (u.bits < (128u - bias) << 23) {
        /* Below 2^(1 - bias) results are multiples of 2^(1 - bias - fraction), the last binary place of a float whose
         * exponent is 23 more. Adding such a power of two therefore rounds to such a multiple. */
        shift.bits = (128u - bias + (unsigned int)lost) << 23;
        u.value += shift.value;
        result = u.bits - shift.bits;
    } else {
        result = (u.bits - ((127u - bias) << 23) + ((1u << (lost - 1)) - 1u) +
                  ((u.bits >> lost) & 1u)) >>
                 lost;
    }
    return fnuz && result == 0 ? 0 : sign | result;
}

#if defined(__HIP__) &&                                                                            \
    (FLOAT8_FNUZ || defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__))

/* One instruction each way, in the target's form. The one for storing does not saturate by itself. */
#define from_FP8(stored) __builtin_amdgcn_cvt_f32_fp8((int)(stored), 0)
#define from_BF8(stored) __builtin_amdgcn_cvt_f32_bf8((int)(stored), 0)

DEVICE float float8_saturated(float value, float largest)
{
    return value > largest ? largest : value < -largest ? -largest : value;
}

DEVICE unsigned char to_FP8(float value)
{
    value = float8_saturated(value, FLOAT8_FNUZ ? 240.0f : 448.0f);
    return (unsigned char)__builtin_amdgcn_cvt_pk_fp8_f32(value, value, 0, false);
}

DEVICE unsigned char to_BF8(float value)
{
    value = float8_saturated(value, 57344.0f);
    return (unsigned char)__builtin_amdgcn_cvt_pk_bf8_f32(value, value, 0, false);
}

#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890 && !FLOAT8_FNUZ

/* The instructions convert two numbers at once, the lower one into the lower byte; FP16 holds every number of both types. */
#define FLOAT8_CONVERT(name, type)                                                                 \
    DEVICE float from_##name(unsigned char stored)                                                 \
    {                                                                                              \
        unsigned int halves;                                                                       \
        asm("cvt.rn.f16x2." type " %0, %1;" : "=r"(halves) : "h"((unsigned short)stored));         \
        return from_FP16((unsigned short)halves);                                                  \
    }                                                                                              \
    DEVICE unsigned char to_##name(float value)                                                    \
    {                                                                                              \
        unsigned short codes;                                                                      \
        asm("cvt.rn.satfinite." type ".f32 %0, %1, %2;" : "=h"(codes) : "f"(0.0f), "f"(value));    \
        return (unsigned char)codes;                                                               \
    }
FLOAT8_CONVERT(FP8, "e4m3x2")
FLOAT8_CONVERT(BF8, "e5m2x2")

#else

#define from_FP8(stored) float8_value(stored, FLOAT8_FP8, FLOAT8_FNUZ)
#define from_BF8(stored) float8_value(stored, FLOAT8_BF8, FLOAT8_FNUZ)
#define to_FP8(value) ((unsigned char)float8_code(value, FLOAT8_FP8, FLOAT8_FNUZ))
#define to_BF8(value) ((unsigned char)float8_code(value, FLOAT8_BF8, FLOAT8_FNUZ))

#endif

#define epilogue_round_FP8(value) to_FP8(value)
#define epilogue_round_BF8(value) to_BF8(value)

#endif
