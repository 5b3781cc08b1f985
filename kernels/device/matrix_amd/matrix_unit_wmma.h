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
#endif

#define OPERAND                   DIALECT_JOIN(wmma_, TYPE)
#define UNIT_MULTIPLY(a, b, sums) DIALECT_JOIN(WMMA_, TYPE)(a, b, sums)
