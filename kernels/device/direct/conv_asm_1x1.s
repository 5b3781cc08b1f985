/*
 * A 1x1 convolution of FP32, packed NCHW, stride 1, no padding, in assembly for gfx900, gfx906, gfx908,
 * gfx90a and gfx942: y[n][k][p] = sum over c of w[k][c] * x[n][c][p], where n and p are one index of
 * POSITIONS = images x IMAGE. Backwards it is the same with TRANSPOSED: x and y change places, and w
 * lies as [c][k]. All numbers are symbols:
 *
 *   INPUTS, OUTPUTS   channels summed over and computed      IMAGE, POSITIONS   positions, as above
 *   MAGIC, SHIFT      a number of positions under 2^31 divided by IMAGE is the upper half of its product
 *                     with MAGIC, shifted by SHIFT (not used where IMAGE is 1)
 *   READ_SIZE         positions a lane reads and writes at once: 1, 2 or 4; IMAGE is a multiple
 *   CHUNKS            how many such reads a lane has, 64 lanes apart
 *   K_MULT            output channels a wave computes: 1, 2, 4, 8 or 16; OUTPUTS is a multiple
 *   C_MULT            input channels a step takes: 1, 2, 4 or 8; INPUTS is a multiple of C_MULT * WAVES_C
 *   WAVES_C           waves of a workgroup; each sums its part of the inputs, the first one all parts
 *
 * A workgroup is 64 * WAVES_C items; workgroups go by positions, then by output channels. The filter
 * comes through scalar loads, since all lanes of a wave use the same of it. A step's operands are
 * loaded while the step before it computes, into the other of two sets of registers.
 */
.text

.set CHUNK_POSITIONS, 64 * READ_SIZE
.set WAVE_INPUTS, INPUTS / WAVES_C
.set STEPS, WAVE_INPUTS / C_MULT
.set PLANE_BYTES, IMAGE * 4
.set FILTERS, K_MULT * C_MULT
.if TRANSPOSED
  .set FILTER_ROWS, C_MULT          /* rows that a step loads, and how long they are */
  .set FILTER_ROW, K_MULT
  .set INPUT_BYTES, OUTPUTS * 4     /* from an input channel to the next, in the filter */
  .set OUTPUT_BYTES, 4
  .set ROW_BYTES, INPUT_BYTES
.else
  .set FILTER_ROWS, K_MULT
  .set FILTER_ROW, C_MULT
  .set INPUT_BYTES, 4
  .set OUTPUT_BYTES, INPUTS * 4
  .set ROW_BYTES, OUTPUT_BYTES
.endif

.set IS_GFX900, .amdgcn.gfx_generation_minor == 0 && .amdgcn.gfx_generation_stepping == 0
.set IS_GFX90A, .amdgcn.gfx_generation_minor == 0 && .amdgcn.gfx_generation_stepping == 10
.set IS_GFX94, .amdgcn.gfx_generation_minor == 4

/* ---- registers ---- */

.set S_ARGS, 0        /* 2, from the launch */
.set S_GROUP, 2       /* of positions, from the launch */
.set S_OUTPUTS, 3     /* which K_MULT of them, from the launch */
.set S_X, 4           /* 2 */
.set S_W, 6           /* 2 */
.set S_Y, 8           /* 2 */
.set S_WAVE, 10
.set S_LEFT, 11       /* pairs of steps */
.set S_TEMP, 12       /* 2 */
.set S_PLANE, 14      /* 2 */
.set S_FILTER, 16     /* two sets of FILTERS, from multiples of 4 */
.set FILTER_SET, (FILTERS + 3) / 4 * 4
.set SGPRS, S_FILTER + 2 * FILTER_SET

.set V_LANE, 0
.set V_FIRST, 1       /* the lane's first position */
.set V_TEMP, 2        /* 2 */
.set V_IN, 4          /* CHUNKS: bytes from x to where the lane reads */
.set V_OUT, V_IN + CHUNKS
.set V_X, (V_OUT + CHUNKS + 3) / 4 * 4
.set X_SET, C_MULT * CHUNKS * READ_SIZE
.set V_SUM, V_X + (2 * X_SET + 3) / 4 * 4
.set SUMS, K_MULT * CHUNKS * READ_SIZE
.set VGPRS, V_SUM + SUMS

.set LOCAL_BYTES, (WAVES_C - 1) * SUMS * 256

/* ---- steps ---- */

.macro SCALAR_LOAD to, count, offset
  .if \count == 1
    s_load_dword s[\to], s[S_W:S_W+1], \offset
  .elseif \count == 2
    s_load_dwordx2 s[\to:\to+1], s[S_W:S_W+1], \offset
  .elseif \count == 4
    s_load_dwordx4 s[\to:\to+3], s[S_W:S_W+1], \offset
  .elseif \count == 8
    s_load_dwordx8 s[\to:\to+7], s[S_W:S_W+1], \offset
  .elseif \count == 16
    s_load_dwordx16 s[\to:\to+15], s[S_W:S_W+1], \offset
  .else
    .error "a scalar load of no width that there is"
  .endif
.endm

.macro READ to, offset, base
  .if READ_SIZE == 1
    global_load_dword v[\to], v[\offset], s[\base:\base+1]
  .elseif READ_SIZE == 2
    global_load_dwordx2 v[\to:\to+1], v[\offset], s[\base:\base+1]
  .elseif READ_SIZE == 4
    global_load_dwordx4 v[\to:\to+3], v[\offset], s[\base:\base+1]
  .else
    .error "READ_SIZE is 1, 2 or 4"
  .endif
.endm

.macro WRITE from, offset, base
  .if READ_SIZE == 1
    global_store_dword v[\offset], v[\from], s[\base:\base+1]
  .elseif READ_SIZE == 2
    global_store_dwordx2 v[\offset], v[\from:\from+1], s[\base:\base+1]
  .else
    global_store_dwordx4 v[\offset], v[\from:\from+3], s[\base:\base+1]
  .endif
.endm

/* s[at:at+1] += bytes, a constant. */
.macro ADVANCE at, bytes
  s_add_u32 s[\at], s[\at], \bytes
  s_addc_u32 s[\at+1], s[\at+1], 0
.endm

/* s[at:at+1] += s[factor] * bytes; tensors have less than 2^31 bytes. */
.macro ADVANCE_BY at, factor, bytes
  s_mul_i32 s[S_TEMP], s[\factor], \bytes
  s_add_u32 s[\at], s[\at], s[S_TEMP]
  s_addc_u32 s[\at+1], s[\at+1], 0
.endm

/* Begins to load a step's operands into a set, and goes to the next step. */
.macro LOADS set
  .set row, 0
  .rept FILTER_ROWS
    SCALAR_LOAD (S_FILTER+\set*FILTER_SET+row*FILTER_ROW), FILTER_ROW, (row*ROW_BYTES)
    .set row, row + 1
  .endr
  .set to, V_X + \set * X_SET
  .rept C_MULT
    .set chunk, 0
    .rept CHUNKS
      READ to, (V_IN+chunk), S_X
      .set to, to + READ_SIZE
      .set chunk, chunk + 1
    .endr
    ADVANCE S_X, PLANE_BYTES
  .endr
  ADVANCE S_W, (C_MULT*INPUT_BYTES)
.endm

.macro MULTIPLY_ADD sum, filter, x
  .if IS_GFX900
    v_mac_f32 v[\sum], s[\filter], v[\x]
  .else
    v_fmac_f32 v[\sum], s[\filter], v[\x]
  .endif
.endm

.macro COMPUTE set
  .set input, 0
  .rept C_MULT
    .set output, 0
    .rept K_MULT
      .if TRANSPOSED
        .set filter, S_FILTER + \set * FILTER_SET + input * K_MULT + output
      .else
        .set filter, S_FILTER + \set * FILTER_SET + output * C_MULT + input
      .endif
      .set item, 0
      .rept CHUNKS * READ_SIZE
        MULTIPLY_ADD (V_SUM+output*CHUNKS*READ_SIZE+item), filter, (V_X+\set*X_SET+input*CHUNKS*READ_SIZE+item)
        .set item, item + 1
      .endr
      .set output, output + 1
    .endr
    .set input, input + 1
  .endr
.endm

/* Computes the step of a set while the next one's operands come into the other. Scalar loads end in any
 * order, so the set's must have ended before others begin; vector loads end in the order they began. */
.macro STEP set, other
  s_waitcnt lgkmcnt(0)
  LOADS \other
  s_waitcnt vmcnt(C_MULT*CHUNKS)
  COMPUTE \set
.endm

/* ---- the kernel ---- */

.globl conv_asm_1x1
.p2align 8
.type conv_asm_1x1,@function
conv_asm_1x1:
  s_load_dwordx4 s[S_X:S_X+3], s[S_ARGS:S_ARGS+1], 0
  s_load_dwordx2 s[S_Y:S_Y+1], s[S_ARGS:S_ARGS+1], 16
  v_lshrrev_b32 v[V_TEMP], 6, v[V_LANE]
  s_nop 3
  v_readfirstlane_b32 s[S_WAVE], v[V_TEMP]
  v_and_b32 v[V_LANE], 63, v[V_LANE]
  s_mul_i32 s[S_TEMP], s[S_GROUP], (CHUNKS*CHUNK_POSITIONS)
  v_mul_u32_u24 v[V_FIRST], READ_SIZE, v[V_LANE]
  v_add_u32 v[V_FIRST], s[S_TEMP], v[V_FIRST]

  /* Where a chunk reads and writes. Lanes past the end read what the first one of all reads. */
  .set chunk, 0
  .rept CHUNKS
    v_add_u32 v[V_TEMP], (chunk*CHUNK_POSITIONS), v[V_FIRST]
    v_cmp_gt_u32 vcc, POSITIONS, v[V_TEMP]
    s_nop 1
    v_cndmask_b32 v[V_TEMP], 0, v[V_TEMP], vcc
    .if IMAGE == 1
      v_mov_b32 v[V_TEMP+1], v[V_TEMP]
    .else
      s_mov_b32 s[S_TEMP], MAGIC
      v_mul_hi_u32 v[V_TEMP+1], v[V_TEMP], s[S_TEMP]
      v_lshrrev_b32 v[V_TEMP+1], SHIFT, v[V_TEMP+1]
    .endif
    s_mov_b32 s[S_TEMP], IMAGE
    v_mul_lo_u32 v[V_IN+chunk], v[V_TEMP+1], s[S_TEMP]
    v_sub_u32 v[V_TEMP], v[V_TEMP], v[V_IN+chunk]
    v_lshlrev_b32 v[V_TEMP], 2, v[V_TEMP]
    s_mov_b32 s[S_TEMP], (INPUTS*PLANE_BYTES)
    v_mul_lo_u32 v[V_IN+chunk], v[V_TEMP+1], s[S_TEMP]
    v_add_u32 v[V_IN+chunk], v[V_IN+chunk], v[V_TEMP]
    s_mov_b32 s[S_TEMP], (OUTPUTS*PLANE_BYTES)
    v_mul_lo_u32 v[V_OUT+chunk], v[V_TEMP+1], s[S_TEMP]
    v_add_u32 v[V_OUT+chunk], v[V_OUT+chunk], v[V_TEMP]
    .set chunk, chunk + 1
  .endr

  s_waitcnt lgkmcnt(0)
  ADVANCE_BY S_X, S_WAVE, (WAVE_INPUTS*PLANE_BYTES)
  ADVANCE_BY S_W, S_WAVE, (WAVE_INPUTS*INPUT_BYTES)
  ADVANCE_BY S_W, S_OUTPUTS, (K_MULT*OUTPUT_BYTES)
  ADVANCE_BY S_Y, S_OUTPUTS, (K_MULT*PLANE_BYTES)

  LOADS 0
  .set item, 0
  .rept SUMS
    v_mov_b32 v[V_SUM+item], 0
    .set item, item + 1
  .endr

  /* Two steps a turn, but for the last one or two. */
  .if STEPS > 2
    s_mov_b32 s[S_LEFT], ((STEPS-1)/2)
.Lturn:
    STEP 0, 1
    STEP 1, 0
    s_sub_u32 s[S_LEFT], s[S_LEFT], 1
    s_cmp_lg_u32 s[S_LEFT], 0
    s_cbranch_scc1 .Lturn
  .endif
  .if STEPS % 2 == 0
    STEP 0, 1
    s_waitcnt vmcnt(0) lgkmcnt(0)
    COMPUTE 1
  .else
    s_waitcnt vmcnt(0) lgkmcnt(0)
    COMPUTE 0
  .endif

  /* All waves but the first leave their sums in local memory, an item's 256 bytes apart. */
  .if WAVES_C > 1
    v_lshlrev_b32 v[V_LANE], 2, v[V_LANE]
    s_cmp_eq_u32 s[S_WAVE], 0
    s_cbranch_scc1 .Lgather
    s_sub_u32 s[S_TEMP], s[S_WAVE], 1
    s_mul_i32 s[S_TEMP], s[S_TEMP], (SUMS*256)
    v_add_u32 v[V_TEMP], s[S_TEMP], v[V_LANE]
    .set item, 0
    .rept SUMS
      ds_write_b32 v[V_TEMP], v[V_SUM+item] offset:(item*256)
      .set item, item + 1
    .endr
    s_waitcnt lgkmcnt(0)
    s_barrier
    s_endpgm
.Lgather:
    s_barrier
    .set wave, 0
    .rept WAVES_C - 1
      v_add_u32 v[V_TEMP], (wave*SUMS*256), v[V_LANE]
      .set item, 0
      .rept SUMS
        ds_read_b32 v[V_X], v[V_TEMP] offset:(item*256)
        s_waitcnt lgkmcnt(0)
        v_add_f32 v[V_SUM+item], v[V_SUM+item], v[V_X]
        .set item, item + 1
      .endr
      .set wave, wave + 1
    .endr
  .endif

  /* Lanes past the end write nothing. */
  .set chunk, 0
  .rept CHUNKS
    v_add_u32 v[V_TEMP], (chunk*CHUNK_POSITIONS), v[V_FIRST]
    v_cmp_gt_u32 vcc, POSITIONS, v[V_TEMP]
    s_mov_b64 exec, vcc
    s_mov_b64 s[S_PLANE:S_PLANE+1], s[S_Y:S_Y+1]
    .set output, 0
    .rept K_MULT
      WRITE (V_SUM+(output*CHUNKS+chunk)*READ_SIZE), (V_OUT+chunk), S_PLANE
      ADVANCE S_PLANE, PLANE_BYTES
      .set output, output + 1
    .endr
    s_mov_b64 exec, -1
    .set chunk, chunk + 1
  .endr
  s_endpgm
.size conv_asm_1x1, .-conv_asm_1x1

/* ---- what the loader and the runtime are told ---- */

.rodata
.p2align 6
.macro DESCRIPTOR more:vararg
.amdhsa_kernel conv_asm_1x1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 0
  .amdhsa_group_segment_fixed_size LOCAL_BYTES
  .amdhsa_kernarg_size 24
  .amdhsa_float_denorm_mode_32 3 /* kept, as compilers do */
  .amdhsa_next_free_vgpr VGPRS
  .amdhsa_next_free_sgpr SGPRS
  \more
.end_amdhsa_kernel
.endm
.if IS_GFX90A || IS_GFX94
  DESCRIPTOR .amdhsa_accum_offset (VGPRS+3)/4*4
.else
  DESCRIPTOR
.endif

.macro METADATA arch, vgprs, sgprs, local, items
.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.target: amdgcn-amd-amdhsa--\arch
amdhsa.kernels:
  - .name: conv_asm_1x1
    .symbol: conv_asm_1x1.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: \local
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: \sgprs
    .sgpr_spill_count: 0
    .vgpr_count: \vgprs
    .vgpr_spill_count: 0
    .agpr_count: 0
    .max_flat_workgroup_size: \items
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
      - {.size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
.endm

/* VCC's registers, and those that hold a fault's address, are counted too. */
.altmacro
.macro METADATA_OF arch
  METADATA arch, %VGPRS, %(SGPRS+6), %LOCAL_BYTES, %(64*WAVES_C)
.endm
.if IS_GFX900
  METADATA_OF gfx900
.elseif IS_GFX90A
  METADATA_OF gfx90a
.elseif IS_GFX94
  METADATA_OF gfx942
.elseif .amdgcn.gfx_generation_stepping == 6
  METADATA_OF gfx906
.elseif .amdgcn.gfx_generation_stepping == 8
  METADATA_OF gfx908
.else
  .error "this kernel is for gfx900, gfx906, gfx908, gfx90a and gfx942"
.endif
