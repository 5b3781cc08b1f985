/*
 * Functions that compilers have in libraries, each with a library of its own. These need none, and give the same result on
 * every device.
 */
#include "dialect.h"

/* Minus infinity: below or equal to every number. */
DEVICE float lowest_float(void)
{
    union float_bits u;
    u.bits = 0xff800000u;
    return u.value;
}

/* exp(v) = 2^n * exp(f) with |f| <= log(2) / 2; the Taylor series of exp(f) to f^7. 2^n is multiplied in two factors,
 * which covers all results from 2^-126 to infinity. */
DEVICE float function_exp(float v)
{
    union float_bits u, power, rest;
    float n, f, series;
    int whole, first;
    v = v > 89.0f ? 89.0f : v;
    v = v < -104.0f ? -104.0f : v;
    u.value = v * 1.44269504f + 12582912.0f;
    n = u.value - 12582912.0f;
    whole = (int)(u.bits - 0x4b400000u);
    f = v - n * 0.693359375f;
    f = f - n * -2.12194440e-4f;
    series = 1.98412698e-4f;
    series = series * f + 1.38888889e-3f;
    series = series * f + 8.33333333e-3f;
    series = series * f + 4.16666667e-2f;
    series = series * f + 1.66666667e-1f;
    series = series * f + 0.5f;
    series = series * f * f + f + 1.0f;
    first = whole >> 1;
    power.bits = (unsigned int)(first + 127) << 23;
    rest.bits = (unsigned int)(whole - first + 127) << 23;
    return series * power.value * rest.value;
}

/* log(v) = e * log(2) + log(m) for v = 2^e * m > 0 with m between sqrt(1/2) and sqrt(2); log(m) = 2 atanh(s) with
 * s = (m - 1) / (m + 1), a series to s^11. A number that is not normal counts as the least normal one. */
DEVICE float function_log(float v)
{
    union float_bits u;
    float e, s, square, series;
    u.value = v < 1.17549435e-38f ? 1.17549435e-38f : v;
    /* 0x3f3504f3 is sqrt(1/2): from there on the exponent's step counts for the next power. */
    u.bits += 0x3f800000u - 0x3f3504f3u;
    e = (float)((int)(u.bits >> 23) - 127);
    u.bits = (u.bits & 0x007fffffu) + 0x3f3504f3u;
    s = (u.value - 1.0f) / (u.value + 1.0f);
    square = s * s;
    series = 1.0f / 11;
    series = series * square + 1.0f / 9;
    series = series * square + 1.0f / 7;
    series = series * square + 1.0f / 5;
    series = series * square + 1.0f / 3;
    series = 2.0f * (series * square * s + s);
    return e * 0.693359375f + (e * -2.12194440e-4f + series);
}
