/*
 * Shared by kernels of few input channels: loops over registers, elements as they are stored, groups of four
 * floats in local memory.
 *
 * Defined before it is included: TYPE, of all three tensors; NHWC, 1 where channels are innermost, 0 for NCHW.
 */
#include "dialect.h"

/* Loop pragmas: UNROLL for loops over values in registers, the other for loops whose loads should be in flight
 * together. CPUs' compilers would take long over unrolled loops, so both forbid unrolling there. */
#if defined(__OPENCL_VERSION__)
#define UNROLL        _Pragma("nounroll")
#define UNROLL_STAGES _Pragma("nounroll")
#else
#define UNROLL        _Pragma("unroll")
#define UNROLL_STAGES _Pragma("unroll 4")
#endif

/* RESIDENT: workgroups of ITEMS work-items that fit the 65536 registers of an NVIDIA multiprocessor if each work-item
 * needs about REGISTERS. FEW_KERNEL declares an entry with this bound. */
#define RESIDENT_MOST 16
#define RESIDENT_FIT  (65536 / (ITEMS * REGISTERS))
#define RESIDENT                                                                                   \
    (RESIDENT_FIT > RESIDENT_MOST ? RESIDENT_MOST : RESIDENT_FIT > 0 ? RESIDENT_FIT : 1)
#if defined(__OPENCL_VERSION__) || defined(__HIP__)
#define FEW_KERNEL KERNEL(ITEMS, 1, 1)
#else
#define FEW_KERNEL extern "C" __global__ void __launch_bounds__(ITEMS, RESIDENT)
#endif

#define UP_TO_FOURS(count) (((count) + 3) / 4 * 4)

struct ALIGNED(16) quad {
    float lane[4];
};

#define QUAD_AT(pointer) (*(LOCAL_POINTER struct quad *)(LOCAL_POINTER void *)(pointer))

/* ---- elements ---- */

#define IS_WIDE_FP32 1
#define IS_WIDE_FP16 0
#define IS_WIDE_BF16 0
#define IS_WIDE      DIALECT_JOIN(IS_WIDE_, TYPE)
/* Elements in a chunk of 16 bytes. */
#define CHUNK        (IS_WIDE ? 4 : 8)
#define ELEMENT      STORAGE(TYPE)

/* NVIDIA's GPUs convert FP16 by one instruction each way, with the rounding that dialect.h promises. */
#if !defined(__OPENCL_VERSION__) && !defined(__HIP__)
DEVICE float few_from_FP16(unsigned short stored)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored));
    return value;
}

DEVICE unsigned short few_to_FP16(float value)
{
    unsigned short stored;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored) : "f"(value));
    return stored;
}
#else
#define few_from_FP16 from_FP16
#define few_to_FP16   to_FP16
#endif
#define few_from_FP32 from_FP32
#define few_to_FP32   to_FP32
#define few_from_BF16 from_BF16
#define few_to_BF16   to_BF16

DEVICE float value_at(GLOBAL const ELEMENT *from)
{
    return DIALECT_JOIN(few_from_, TYPE)(*from);
}

DEVICE void put_value(GLOBAL ELEMENT *to, float value)
{
    *to = DIALECT_JOIN(few_to_, TYPE)(value);
}

struct ALIGNED(16) chunk {
    unsigned int word[4];
};

/* Loads a chunk of 16 bytes; without reading memory returns zeros where `there` is 0. */
DEVICE struct chunk load_chunk(GLOBAL const ELEMENT *from, int there)
{
    struct chunk chunk = {{0, 0, 0, 0}};
    if (there)
        chunk = *(GLOBAL const struct chunk *)(GLOBAL const void *)from;
    return chunk;
}

DEVICE float chunk_value(struct chunk chunk, int number)
{
#if IS_WIDE
    union float_bits u;
    u.bits = chunk.word[number];
    return u.value;
#else
    return DIALECT_JOIN(few_from_,
                        TYPE)((unsigned short)(chunk.word[number / 2] >> number % 2 * 16));
#endif
}
