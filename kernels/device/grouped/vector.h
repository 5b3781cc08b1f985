/*
 * Vectors of VECTOR elements (1, 2, 4 or 8) that lie side by side in memory and are loaded and stored in
 * pieces of up to 16 bytes, to which they are aligned. They stay packed in registers until their
 * elements are asked for. T is a data type's name.
 *
 *   struct packed v;                          elements as they are stored
 *   PACKED_LOAD(T, v, p, first, step, inside) from p[first + step] on, step a constant; zero, and nothing is
 *                                             read there, where not inside
 *   PACKED_AT(T, v, i)                        element i as a LANE; i is a constant once loops are unrolled
 *   ELEMENT_AT(T, p, at)                      the one element p[at] as a LANE
 *   DEFINE_PACKED_STORE(name, T)              defines name(p, lanes), which stores VECTOR lanes from *p on
 *
 * Options: VECTOR, LANE.
 */
#include "dialect.h"

struct packed {
    unsigned int word[VECTOR];
};

struct ALIGNED(16) words_16 {
    unsigned int at[4];
};

struct ALIGNED(8) words_8 {
    unsigned int at[2];
};

/* ---- pieces ---- */

#if !defined(__OPENCL_VERSION__) && !defined(__HIP__)

/* Where the predicate is 0 the instruction reads nothing, so that the address may be invalid. */
DEVICE void load_16(const void *from, int inside, unsigned int *to)
{
    asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; "
        "mov.b32 %3, 0; @p ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4]; }"
        : "=&r"(to[0]), "=&r"(to[1]), "=&r"(to[2]), "=&r"(to[3])
        : "l"(from), "r"(inside));
}

DEVICE void load_8(const void *from, int inside, unsigned int *to)
{
    asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; mov.b32 %0, 0; mov.b32 %1, 0; "
        "@p ld.global.nc.v2.b32 {%0, %1}, [%2]; }"
        : "=&r"(to[0]), "=&r"(to[1])
        : "l"(from), "r"(inside));
}

DEVICE void load_4(const void *from, int inside, unsigned int *to)
{
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; mov.b32 %0, 0; @p ld.global.nc.b32 %0, [%1]; }"
        : "=&r"(to[0])
        : "l"(from), "r"(inside));
}

/* Asm keeps the store in one piece; compilers would split what they store last. */
DEVICE void store_16(void *to, const unsigned int *words)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words[0]), "r"(words[1]),
                 "r"(words[2]), "r"(words[3])
                 : "memory");
}

DEVICE void store_8(void *to, const unsigned int *words)
{
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(words[0]), "r"(words[1])
                 : "memory");
}

/* The distance `step` is a constant, so that it becomes part of the load instruction. */
#define PLACE_OF(pointer, first, step, inside) ((pointer) + (first) + (step))

#else

/* Loads 16 bytes without a branch: outside of the tensor it reads the tensor's start instead, and sets zeros. */
DEVICE void load_16(GLOBAL const void *from, int inside, unsigned int *to)
{
    struct words_16 words = *(GLOBAL const struct words_16 *)from;
#pragma unroll
    for (int i = 0; i < 4; i++)
        to[i] = inside ? words.at[i] : 0;
}

DEVICE void load_8(GLOBAL const void *from, int inside, unsigned int *to)
{
    struct words_8 words = *(GLOBAL const struct words_8 *)from;
    to[0] = inside ? words.at[0] : 0;
    to[1] = inside ? words.at[1] : 0;
}

DEVICE void load_4(GLOBAL const void *from, int inside, unsigned int *to)
{
    unsigned int word = *(GLOBAL const unsigned int *)from;
    to[0] = inside ? word : 0;
}

DEVICE void store_16(GLOBAL void *to, const unsigned int *words)
{
    struct words_16 piece = {{words[0], words[1], words[2], words[3]}};
    *(GLOBAL struct words_16 *)to = piece;
}

DEVICE void store_8(GLOBAL void *to, const unsigned int *words)
{
    struct words_8 piece = {{words[0], words[1]}};
    *(GLOBAL struct words_8 *)to = piece;
}

#define PLACE_OF(pointer, first, step, inside) ((pointer) + ((inside) ? (first) + (step) : 0))

#endif

DEVICE struct packed load_packed(GLOBAL const void *from, int bytes, int inside)
{
    GLOBAL const char *piece = (GLOBAL const char *)from;
    struct packed packed;
    if (bytes >= 16) {
#pragma unroll
        for (int i = 0; i < bytes / 16; i++)
            load_16(piece + i * 16, inside, packed.word + i * 4);
    } else if (bytes == 8) {
        load_8(piece, inside, packed.word);
    } else if (bytes == 4) {
        load_4(piece, inside, packed.word);
    } else if (bytes == 2) {
        packed.word[0] = inside ? *(GLOBAL const unsigned short *)from : 0;
    } else {
        packed.word[0] = inside ? *(GLOBAL const unsigned char *)from : 0;
    }
    return packed;
}

#define PACKED_BYTES(type) ((int)sizeof(STORAGE(type)) * VECTOR)
#define PACKED_LOAD(type, packed, pointer, first, step, inside)                                    \
    ((packed) = load_packed(PLACE_OF(pointer, first, step, inside), PACKED_BYTES(type), inside))

/* ---- elements ---- */

DEVICE float float_of_bits(unsigned int bits)
{
    union float_bits u;
    u.bits = bits;
    return u.value;
}

DEVICE unsigned int bits_of_float(float value)
{
    union float_bits u;
    u.value = value;
    return u.bits;
}

#if !defined(__OPENCL_VERSION__) && !defined(__HIP__)

/* NVIDIA's GPUs convert by one instruction each way, from sm_80 on two at once. */
DEVICE float float_of_half(unsigned short stored)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored));
    return value;
}

#if __CUDA_ARCH__ >= 800

DEVICE unsigned int pair_FP16(float low, float high)
{
    unsigned int pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

DEVICE unsigned int pair_BF16(float low, float high)
{
    unsigned int pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

#define HAS_PAIRS
#endif

#else

DEVICE float float_of_half(unsigned short stored)
{
    return from_FP16(stored);
}

#endif

#ifndef HAS_PAIRS

DEVICE unsigned int pair_FP16(float low, float high)
{
    return (unsigned int)to_FP16(low) | (unsigned int)to_FP16(high) << 16;
}

DEVICE unsigned int pair_BF16(float low, float high)
{
    return (unsigned int)to_BF16(low) | (unsigned int)to_BF16(high) << 16;
}

#endif

#define PACKED_AT_FP32(word, i) float_of_bits((word)[i])
#define PACKED_AT_FP16(word, i) float_of_half((unsigned short)((word)[(i) / 2] >> (i) % 2 * 16))
#define PACKED_AT_BF16(word, i)                                                                    \
    float_of_bits((i) % 2 ? (word)[(i) / 2] & 0xffff0000u : (word)[(i) / 2] << 16)
#define PACKED_AT_INT8(word, i)    ((int)(signed char)((word)[(i) / 4] >> (i) % 4 * 8))
#define PACKED_AT(type, packed, i) DIALECT_JOIN(PACKED_AT_, type)((packed).word, i)

#define ELEMENT_FP32(stored)          (stored)
#define ELEMENT_FP16(stored)          float_of_half(stored)
#define ELEMENT_BF16(stored)          from_BF16(stored)
#define ELEMENT_INT8(stored)          from_INT8(stored)
#define ELEMENT_AT(type, pointer, at) DIALECT_JOIN(ELEMENT_, type)((pointer)[at])

/* 32-bit word i of the VECTOR lanes as they are stored. */
#define WORD_FP32(lanes, i)  bits_of_float((lanes)[i])
#define WORD_INT32(lanes, i) ((unsigned int)(lanes)[i])
#define WORD_FP16(lanes, i)  pair_FP16((lanes)[2 * (i)], (lanes)[2 * (i) + 1])
#define WORD_BF16(lanes, i)  pair_BF16((lanes)[2 * (i)], (lanes)[2 * (i) + 1])

DEVICE void store_words(GLOBAL void *to, int bytes, const unsigned int *words)
{
    GLOBAL char *piece = (GLOBAL char *)to;
    if (bytes >= 16) {
#pragma unroll
        for (int i = 0; i < bytes / 16; i++)
            store_16(piece + i * 16, words + i * 4);
    } else if (bytes == 8) {
        store_8(piece, words);
    } else {
        *(GLOBAL unsigned int *)to = words[0];
    }
}

#if VECTOR == 1
#define DEFINE_PACKED_STORE(name, type)                                                            \
    DEVICE void name(GLOBAL STORAGE(type) * to, const LANE *lanes)                                 \
    {                                                                                              \
        STORE(type, to, 0, lanes[0]);                                                              \
    }
#else
#define DEFINE_PACKED_STORE(name, type)                                                            \
    DEVICE void name(GLOBAL STORAGE(type) * to, const LANE *lanes)                                 \
    {                                                                                              \
        unsigned int words[VECTOR];                                                                \
        for (int i = 0; i < PACKED_BYTES(type) / 4; i++)                                           \
            words[i] = DIALECT_JOIN(WORD_, type)(lanes, i);                                        \
        store_words(to, PACKED_BYTES(type), words);                                                \
    }
#endif
