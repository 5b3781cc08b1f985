/*
 * The MFMA instruction for TYPE, UNIT and UNIT_K: CDNA 1 to 3 (gfx908, gfx90a, gfx942), waves of 64. OPERAND is
 * a lane's part of one operand, UNIT_MULTIPLY the instruction.
 */
typedef _Float16 mfma_halves __attribute__((ext_vector_type(4)));
typedef short mfma_bits_4 __attribute__((ext_vector_type(2)));
typedef short mfma_bits_8 __attribute__((ext_vector_type(4)));
typedef float mfma_floats __attribute__((ext_vector_type(2)));

#define OPERAND_FP32_4 float
#define OPERAND_FP32_8 mfma_floats
#define OPERAND_FP16_8 mfma_halves
#define OPERAND_BF16_4 mfma_bits_4
#define OPERAND_BF16_8 mfma_bits_8
#define OPERAND_INT8_4 int
#define OPERAND_INT8_8 long
#define OPERAND_FP8_8  long
#define OPERAND_BF8_8  long

#define MFMA_FP32_16_4  __builtin_amdgcn_mfma_f32_16x16x4f32
#define MFMA_FP32_32_2  __builtin_amdgcn_mfma_f32_32x32x2f32
/* FP32 with twice the terms: XF32 (gfx942) */
#define MFMA_FP32_16_8  __builtin_amdgcn_mfma_f32_16x16x8_xf32
#define MFMA_FP32_32_4  __builtin_amdgcn_mfma_f32_32x32x4_xf32
#define MFMA_FP16_16_16 __builtin_amdgcn_mfma_f32_16x16x16f16
#define MFMA_FP16_32_8  __builtin_amdgcn_mfma_f32_32x32x8f16
#define MFMA_BF16_16_8  __builtin_amdgcn_mfma_f32_16x16x8bf16
#define MFMA_BF16_32_4  __builtin_amdgcn_mfma_f32_32x32x4bf16
#define MFMA_BF16_16_16 __builtin_amdgcn_mfma_f32_16x16x16bf16_1k
#define MFMA_BF16_32_8  __builtin_amdgcn_mfma_f32_32x32x8bf16_1k
#define MFMA_INT8_16_16 __builtin_amdgcn_mfma_i32_16x16x16i8
#define MFMA_INT8_32_8  __builtin_amdgcn_mfma_i32_32x32x8i8
#define MFMA_INT8_16_32 __builtin_amdgcn_mfma_i32_16x16x32_i8
#define MFMA_INT8_32_16 __builtin_amdgcn_mfma_i32_32x32x16_i8
/* by the types of a and b: FNUZ forms (gfx942) */
#define MFMA_FP8_FP8_16_32 __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8
#define MFMA_FP8_BF8_16_32 __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8
#define MFMA_BF8_FP8_16_32 __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8
#define MFMA_BF8_BF8_16_32 __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8
#define MFMA_FP8_FP8_32_16 __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8
#define MFMA_FP8_BF8_32_16 __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8
#define MFMA_BF8_FP8_32_16 __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8
#define MFMA_BF8_BF8_32_16 __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8

#define MFMA_PASTE_OPERAND(type, bytes)  OPERAND_##type##_##bytes
#define MFMA_JOIN_OPERAND(type, bytes)   MFMA_PASTE_OPERAND(type, bytes)
#define MFMA_PASTE_NAME(type, unit, k)   MFMA_##type##_##unit##_##k
#define MFMA_JOIN_NAME(type, unit, k)    MFMA_PASTE_NAME(type, unit, k)

#if OPERAND_BYTES == 4
#define OPERAND MFMA_JOIN_OPERAND(TYPE, 4)
#else
#define OPERAND MFMA_JOIN_OPERAND(TYPE, 8)
#endif
#if defined(TYPE_B)
#define MFMA_PASTE_TYPES(a, b)    a##_##b
#define MFMA_JOIN_TYPES(a, b)     MFMA_PASTE_TYPES(a, b)
#define MFMA_TYPES                MFMA_JOIN_TYPES(TYPE, TYPE_B)
#else
#define MFMA_TYPES TYPE
#endif
#define UNIT_MULTIPLY(a, b, sums) MFMA_JOIN_NAME(MFMA_TYPES, UNIT, UNIT_K)(a, b, sums, 0, 0, 0)
