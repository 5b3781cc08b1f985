#include "worker/verify/half.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

uint16_t half_from_float(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t size = bits & 0x7fffffffu;

    if (size > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (size >= 0x477ff000u) /* 65520 */
        return (uint16_t)(sign | 0x7c00u);
    /* Below 2^-14 a half is a multiple of 2^-24, the last place of 0.5: adding it rounds. */
    if (size < 0x38800000u)
        return (uint16_t)(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | ((size - (112u << 23) + 0xfffu + ((size >> 13) & 1u)) >> 13));
}

float half_to_float(uint16_t stored)
{
    uint32_t sign = (uint32_t)(stored & 0x8000u) << 16;
    uint32_t rest = stored & 0x7fffu;

    if (rest >= 0x7c00u)
        return float_of(sign | 0x7f800000u | (rest << 13));
    if (rest >= 0x0400u)
        return float_of(sign | ((rest << 13) + (112u << 23)));
    return float_of(sign | bits_of((float)rest * 0x1p-24f));
}

uint16_t bfloat16_from_float(float value)
{
    uint32_t bits = bits_of(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float bfloat16_to_float(uint16_t stored)
{
    return float_of((uint32_t)stored << 16);
}
