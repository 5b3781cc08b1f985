/*
 * The WMMA instruction for TYPE and WMMA: RDNA 3 (11) and RDNA 4 (12), waves of 32, 16 by 16 by 16. OPERAND is
 * a lane's part of one operand, UNIT_MULTIPLY the instruction. INT8 is signed in both operands, and its sums
 * are not clamped.
 */
#if WMMA == 11
typedef _Float16 wmma_FP16 __attribute__((ext_vector_type(16)));
typedef short wmma_BF16 __attribute__((ext_vector_type(16)));
typedef int wmma_INT8 __attribute__((ext_vector_type(4)));
#define WMMA_FP16(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sums)
#define WMMA_BF16(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, sums)
#define WMMA_INT8(a, b, sums)                                                                      \
    __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, sums, false)
#else
typedef _Float16 wmma_FP16 __attribute__((ext_vector_type(8)));
typedef short wmma_BF16 __attribute__((ext_vector_type(8)));
typedef int wmma_INT8 __attribute__((ext_vector_type(2)));
#define WMMA_FP16(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sums)
#define WMMA_BF16(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, sums)
#define WMMA_INT8(a, b, sums)                                                                      \
    __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, sums, false)
/* by the types of a and b: OCP's forms */
typedef int wmma_FP8 __attribute__((ext_vector_type(2)));
typedef int wmma_BF8 __attribute__((ext_vector_type(2)));
#define WMMA_FP8_FP8(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, sums)
#define WMMA_FP8_BF8(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_fp8_bf8_w32_gfx12(a, b, sums)
#define WMMA_BF8_FP8(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_bf8_fp8_w32_gfx12(a, b, sums)
#define WMMA_BF8_BF8(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_bf8_bf8_w32_gfx12(a, b, sums)
#endif

#define OPERAND                   DIALECT_JOIN(wmma_, TYPE)
#if defined(TYPE_B)
#define WMMA_PASTE_NAME(a, b)     WMMA_##a##_##b
#define WMMA_JOIN_NAME(a, b)      WMMA_PASTE_NAME(a, b)
#define UNIT_MULTIPLY(a, b, sums) WMMA_JOIN_NAME(TYPE, TYPE_B)(a, b, sums)
#else
#define UNIT_MULTIPLY(a, b, sums) DIALECT_JOIN(WMMA_, TYPE)(a, b, sums)
#endif
