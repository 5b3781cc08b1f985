/* y[i * STEP] = x[i] for one wave; the options define STEP. */
.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
.text
.globl copy
.p2align 8
.type copy,@function
copy:
  s_load_dwordx4 s[0:3], s[4:5], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mul_u32_u24_e32 v2, STEP, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v3, v1, s[0:1]
  s_waitcnt vmcnt(0)
  global_store_dword v2, v3, s[2:3]
  s_endpgm
.size copy, .-copy
.rodata
.p2align 6
.amdhsa_kernel copy
  .amdhsa_user_sgpr_private_segment_buffer 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 6
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.target: amdgcn-amd-amdhsa--gfx900
amdhsa.kernels:
  - .name: copy
    .symbol: copy.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 6
    .vgpr_count: 4
    .max_flat_workgroup_size: 64
...
.end_amdgpu_metadata
