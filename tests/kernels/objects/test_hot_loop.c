/* The hot loop of code whose instructions are known. */
#include "kernels/objects/hot_loop.h"

/* Instructions of four bytes each. */
static void find(const char *const *texts, int wave_size, struct hot_loop *loop)
{
    g_autofree struct hot_instruction *all =
        g_new(struct hot_instruction, g_strv_length((char **)texts));
    int count = 0;
    for (; texts[count]; count++)
        all[count] = (struct hot_instruction){(uint64_t)count * 4, (char *)texts[count]};
    hot_loop_find(all, count, wave_size, loop);
}

static void test_matrix_loop(void)
{
    static const char *const texts[] = {"s_mov_b32 s0, 0",
                                        "v_fma_f32 v0, v1, v2, v3", /* in front of the loop */
                                        "ds_read_b128 v[0:3], v8",
                                        "ds_read2_b32 v[4:5], v8 offset0:1",
                                        "global_load_dwordx4 v[4:7], v9, s[2:3]",
                                        "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]",
                                        "v_add_u32_e32 v8, 16, v8",
                                        "s_cbranch_scc1 65530", /* 6 words back from the next one */
                                        "global_store_short v9, v0, s[0:1]",
                                        "s_endpgm",
                                        NULL};
    struct hot_loop loop;
    find(texts, 64, &loop);
    g_assert_true(loop.is_loop);
    g_assert_cmpint(loop.instructions, ==, 6);
    g_assert_cmpint(loop.matrix, ==, 1);
    g_assert_cmpint(loop.vector, ==, 1);
    g_assert_cmpint(loop.scalar, ==, 1);
    g_assert_cmpfloat(loop.matrix_flops, ==, 2.0 * 32 * 32 * 8);
    g_assert_cmpfloat(loop.vector_flops, ==, 0);
    g_assert_cmpfloat(loop.local_bytes, ==, 16 + 8);
    g_assert_cmpfloat(loop.global_bytes, ==, 16);
}

/* Both halves of an instruction that does two things count, and newer spellings are known. */
static void test_vector_loop(void)
{
    static const char *const texts[] = {"ds_load_b64 v[0:1], v8",
                                        "ds_load_2addr_b64 v[0:3], v8 offset1:4",
                                        "buffer_load_u16 v4, v9, s[0:3], 0 offen",
                                        "v_dual_fmac_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5",
                                        "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]",
                                        "v_dot2_f32_f16 v0, v1, v2, v0",
                                        "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]",
                                        "s_branch 65528",
                                        NULL};
    struct hot_loop loop;
    find(texts, 32, &loop);
    g_assert_true(loop.is_loop);
    g_assert_cmpint(loop.instructions, ==, 8);
    g_assert_cmpfloat(loop.vector_flops, ==, 4 + 4 + 4);
    g_assert_cmpfloat(loop.matrix_flops, ==, 8192);
    g_assert_cmpfloat(loop.local_bytes, ==, 8 + 16);
    g_assert_cmpfloat(loop.global_bytes, ==, 2);
}

/* The outer loop holds what the inner one does; a small loop inside of unrolled code is not the hot one. */
static void test_nested_loops(void)
{
    static const char *const inner_is_hot[] = {"v_fma_f32 v0, v1, v2, v3",
                                               "v_fma_f32 v0, v1, v2, v3",
                                               "v_fma_f32 v0, v1, v2, v3",
                                               "s_cbranch_vccnz 65532",
                                               "v_fma_f32 v0, v1, v2, v3",
                                               "s_cbranch_scc0 65530",
                                               NULL};
    static const char *const outer_is_hot[] = {"v_fma_f32 v0, v1, v2, v3",
                                               "v_fma_f32 v0, v1, v2, v3",
                                               "v_fma_f32 v0, v1, v2, v3",
                                               "v_fma_f32 v0, v1, v2, v3",
                                               "s_cbranch_vccnz 65534",
                                               "s_cbranch_scc0 65530",
                                               NULL};
    struct hot_loop loop;
    find(inner_is_hot, 64, &loop);
    g_assert_cmpint(loop.instructions, ==, 4);
    g_assert_cmpfloat(loop.vector_flops, ==, 6);
    find(outer_is_hot, 64, &loop);
    g_assert_cmpint(loop.instructions, ==, 6);
    g_assert_cmpfloat(loop.vector_flops, ==, 8);
}

static void test_no_loop(void)
{
    static const char *const texts[] = {"v_fma_f32 v0, v1, v2, v3", "s_cbranch_execz 1", "s_nop 0",
                                        "s_endpgm", NULL};
    struct hot_loop loop;
    find(texts, 64, &loop);
    g_assert_false(loop.is_loop);
    g_assert_cmpint(loop.instructions, ==, 4);
    g_assert_cmpfloat(loop.vector_flops, ==, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hot_loop/matrix_instructions_and_bytes_are_counted", test_matrix_loop);
    g_test_add_func("/hot_loop/both_spellings_and_double_instructions_count", test_vector_loop);
    g_test_add_func("/hot_loop/of_nested_loops_the_one_with_most_of_the_work", test_nested_loops);
    g_test_add_func("/hot_loop/code_without_a_loop_counts_as_a_whole", test_no_loop);
    return g_test_run();
}
