/*
 * One dialect for HIP, CUDA and OpenCL C 1.2. A kernel file that includes this, or headers that do, is the
 * same text for all three:
 *
 *   KERNEL(64, 1, 1) name(GLOBAL const float *x, int n)   an entry, its workgroup size an attribute
 *   DEVICE float helper(float a)                          a function of the device
 *   LOCAL_ARRAY float tile[64];                           a declaration in local memory
 *   LOCAL_POINTER float *p                                a pointer to local memory
 *   GROUP_ID(axis), LOCAL_ID(axis), BARRIER()             axis is 0, 1 or 2
 *   struct ALIGNED(16) name { ... };                      loaded and stored in one piece
 *   i64                                                   a 64-bit integer everywhere
 *   LOAD(T, p, i), STORE(T, p, i, v), STORAGE(T)          T is a data type's name: FP32, BF16, ...
 *   vec, vec_*                                            vectors of VEC lanes, VEC an option
 *   LANE                                                  what a lane is: float, or an option: int
 *
 * Local arrays are declared at the top of an entry, outside all blocks.
 * Half and bfloat16 are stored as 16-bit integers, since not every platform
 * can compute with them.
 */
#ifndef DIALECT_H
#define DIALECT_H

#if defined(__OPENCL_VERSION__)

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT ON
#define KERNEL(x, y, z) __kernel __attribute__((reqd_work_group_size(x, y, z))) void
/* Functions are always inlined: in PoCL a function that is not inlined sees another address for a local array than
 * the kernel does. */
#define DEVICE static inline __attribute__((always_inline))
#define GLOBAL __global
#define LOCAL_ARRAY __local
#define LOCAL_POINTER __local
#define RESTRICT restrict
#define GROUP_ID(axis) get_group_id(axis)
#define LOCAL_ID(axis) get_local_id(axis)
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
typedef long i64;

#else

#define GLOBAL
#define LOCAL_POINTER
#define RESTRICT __restrict__
#define GROUP_ID(axis) GROUP_ID_##axis
#define LOCAL_ID(axis) LOCAL_ID_##axis
typedef long long i64;

#if defined(__HIP__)
/* Words for AMD's compiler itself: kernels compile without HIP's headers. */
#define KERNEL(x, y, z)                                                                            \
    extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(                 \
        (x) * (y) * (z), (x) * (y) * (z)))) void
#define DEVICE static inline __attribute__((device)) __attribute__((always_inline))
#define LOCAL_ARRAY static __attribute__((shared))
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define GROUP_ID_0 __builtin_amdgcn_workgroup_id_x()
#define GROUP_ID_1 __builtin_amdgcn_workgroup_id_y()
#define GROUP_ID_2 __builtin_amdgcn_workgroup_id_z()
#define LOCAL_ID_0 __builtin_amdgcn_workitem_id_x()
#define LOCAL_ID_1 __builtin_amdgcn_workitem_id_y()
#define LOCAL_ID_2 __builtin_amdgcn_workitem_id_z()
#define BARRIER()                                                                                  \
    do {                                                                                           \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                     \
        __builtin_amdgcn_s_barrier();                                                              \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                     \
    } while (0)
#else
#define KERNEL(x, y, z) extern "C" __global__ void __launch_bounds__((x) * (y) * (z))
#define DEVICE static __device__ __forceinline__
#define LOCAL_ARRAY __shared__
#define ALIGNED(bytes) __align__(bytes)
#define GROUP_ID_0 blockIdx.x
#define GROUP_ID_1 blockIdx.y
#define GROUP_ID_2 blockIdx.z
#define LOCAL_ID_0 threadIdx.x
#define LOCAL_ID_1 threadIdx.y
#define LOCAL_ID_2 threadIdx.z
#define BARRIER() __syncthreads()
#endif
#endif

/* ---- data types: how an element is stored, and what it is computed as ---- */

#define DIALECT_PASTE(a, b) a##b
#define DIALECT_JOIN(a, b) DIALECT_PASTE(a, b)
#define STORAGE(type) DIALECT_JOIN(storage_, type)
#define LOAD(type, pointer, index) DIALECT_JOIN(from_, type)((pointer)[index])
#define STORE(type, pointer, index, value) ((pointer)[index] = DIALECT_JOIN(to_, type)(value))

typedef float storage_FP32;
typedef unsigned short storage_FP16;
typedef unsigned short storage_BF16;
typedef signed char storage_INT8;
typedef int storage_INT32;
#define from_FP32(value) (value)
#define to_FP32(value) ((float)(value))
#define from_INT8(value) ((int)(value))
#define from_INT32(value) (value)
#define to_INT32(value) ((int)(value))
#if !defined(__OPENCL_VERSION__) || defined(cl_khr_fp64)
typedef double storage_FP64;
#define from_FP64(value) (value)
#define to_FP64(value) ((double)(value))
#endif

union float_bits {
    float value;
    unsigned int bits;
};

DEVICE float from_BF16(unsigned short stored)
{
    union float_bits u;
    u.bits = (unsigned int)stored << 16;
    return u.value;
}

/* FP32 to BF16: rounds to nearest, ties to even; a NaN stays a NaN. */
DEVICE unsigned short to_BF16(float value)
{
    union float_bits u;
    u.value = value;
    if ((u.bits & 0x7fffffffu) > 0x7f800000u)
        return (unsigned short)((u.bits >> 16) | 0x40u);
    return (unsigned short)((u.bits + 0x7fffu + ((u.bits >> 16) & 1u)) >> 16);
}

#if defined(__HIP__)

/* FP16 conversions on AMD's GPUs: one instruction each way, which rounds as the portable functions below do. */
DEVICE float from_FP16(unsigned short stored)
{
    return (float)__builtin_bit_cast(_Float16, stored);
}

DEVICE unsigned short to_FP16(float value)
{
    return __builtin_bit_cast(unsigned short, (_Float16)value);
}

#else

DEVICE float from_FP16(unsigned short stored)
{
    union float_bits u;
    unsigned int sign = (unsigned int)(stored & 0x8000u) << 16;
    unsigned int rest = stored & 0x7fffu;
    if (rest >= 0x7c00u) {
        u.bits = (rest << 13) | 0x7f800000u;
    } else if (rest >= 0x0400u) {
        u.bits = (rest << 13) + (112u << 23);
    } else {
        u.value = (float)rest * 5.9604644775390625e-8f; /* 2^-24 */
    }
    u.bits |= sign;
    return u.value;
}

/* FP32 to FP16: rounds to nearest, ties to even; from 65520 on the result is infinite. */
DEVICE unsigned short to_FP16(float value)
{
    union float_bits u;
    unsigned int sign, result;
    u.value = value;
    sign = (u.bits >> 16) & 0x8000u;
    u.bits &= 0x7fffffffu;
    if (u.bits > 0x7f800000u) {
        result = 0x7e00u;
    } else if (u.bits >= 0x477ff000u) {
        result = 0x7c00u;
    } else if (u.bits < 0x38800000u) {
        /* Results below 2^-14 are multiples of 2^-24, the last binary place of a float between 0.5 and 1. Adding 0.5
         * therefore rounds to such a multiple. */
        u.value += 0.5f;
        result = u.bits - 0x3f000000u;
    } else {
        result = (u.bits - (112u << 23) + 0xfffu + ((u.bits >> 13) & 1u)) >> 13;
    }
    return (unsigned short)(sign | result);
}

#endif

/* ---- vectors of VEC lanes (1, 4, 8 or 16), loaded from and stored to any address ---- */

#ifdef VEC
#ifndef LANE
#define LANE float
#endif
#if VEC == 1

typedef LANE vec;
#define vec_load(pointer)         (*(pointer))
#define vec_store(pointer, value) (*(pointer) = (value))
#define vec_splat(value)          ((LANE)(value))
#define vec_madd(sum, a, b)       ((a) * (b) + (sum))
#define vec_keep(value, keep)     ((keep) != 0 ? (value) : (LANE)0)

#elif defined(__OPENCL_VERSION__)

typedef DIALECT_JOIN(LANE, VEC) vec;
/* OpenCL's vector types are aligned to their size, so loads use vload and vstore, which take any alignment. */
#define vec_load(pointer) DIALECT_JOIN(vload, VEC)(0, pointer)
#define vec_store(pointer, value) DIALECT_JOIN(vstore, VEC)(value, 0, pointer)
#define vec_splat(value) ((vec)(value))
/* sum + a * b, with one rounding where the device has it */
#define vec_madd(sum, a, b) ((a) * (b) + (sum))
/* value where keep is not 0, else 0 (also where value is a NaN) */
#define vec_keep(value, keep) select((vec)(0), value, (keep) != (vec)(0))

/* lanes of a and b alternating, from their lower halves: a0 b0 a1 b1 ... */
DEVICE vec vec_zip_low(vec a, vec b)
{
    vec result;
    result.even = a.lo;
    result.odd = b.lo;
    return result;
}

/* lanes of a and b alternating, from their upper halves */
DEVICE vec vec_zip_high(vec a, vec b)
{
    vec result;
    result.even = a.hi;
    result.odd = b.hi;
    return result;
}

#else

struct vec_of_lanes {
    LANE lane[VEC];
};
typedef struct vec_of_lanes vec;

DEVICE vec vec_load(const LANE *pointer)
{
    vec result;
    for (int i = 0; i < VEC; i++)
        result.lane[i] = pointer[i];
    return result;
}

DEVICE void vec_store(LANE *pointer, vec value)
{
    for (int i = 0; i < VEC; i++)
        pointer[i] = value.lane[i];
}

DEVICE vec vec_splat(LANE value)
{
    vec result;
    for (int i = 0; i < VEC; i++)
        result.lane[i] = value;
    return result;
}

DEVICE vec vec_madd(vec sum, vec a, vec b)
{
    for (int i = 0; i < VEC; i++)
        sum.lane[i] += a.lane[i] * b.lane[i];
    return sum;
}

DEVICE vec vec_keep(vec value, vec keep)
{
    for (int i = 0; i < VEC; i++)
        value.lane[i] = keep.lane[i] != 0 ? value.lane[i] : 0;
    return value;
}

DEVICE vec vec_zip_low(vec a, vec b)
{
    vec result;
    for (int i = 0; i < VEC; i++)
        result.lane[i] = i % 2 ? b.lane[i / 2] : a.lane[i / 2];
    return result;
}

DEVICE vec vec_zip_high(vec a, vec b)
{
    vec result;
    for (int i = 0; i < VEC; i++)
        result.lane[i] = i % 2 ? b.lane[(VEC + i) / 2] : a.lane[(VEC + i) / 2];
    return result;
}

#endif
#endif

#endif
