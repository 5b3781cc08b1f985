/* Counts of kernels whose instructions are known, compiled by this machine's toolchains. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/objects/instructions.h"
#include "kernels/toolchains/toolchain.h"
#include "tests/support/patience.h"

/* The count that the text states for the instruction `name`. */
static int count_of(const char *counts, const char *name)
{
    g_auto(GStrv) items = g_strsplit(counts ? counts : "", ", ", -1);
    for (char **item = items; *item; item++) {
        char *number = strchr(*item, ' ');
        if (number && strlen(name) == (size_t)(number - *item) && g_str_has_prefix(*item, name))
            return atoi(number);
    }
    return 0;
}

/* Compiles a kernel and returns its instruction counts. Returns NULL, after skipping the test, if
 * no compiler here serves the target. */
static char *counts_of(const char *id, const char *text, GBytes **code)
{
    struct target target;
    struct code_object object = {0};
    g_autoptr(GError) error = NULL;
    g_assert_true(target_parse(id, &target, NULL));
    const struct toolchain *toolchain = toolchain_for_target(&target, NULL, &error);
    if (!toolchain) {
        g_test_skip(error->message);
        return NULL;
    }
    g_assert_true(toolchain->compile(text, "", "k", &target, &object, &error));
    g_assert_no_error(error);
    char *counts = instructions_count(object.code, "k", &target);
    if (code)
        *code = g_bytes_ref(object.code);
    code_object_clear(&object);
    return counts;
}

struct wanted {
    const char *name;
    int count;
};

static void expect_counts(const char *id, const char *text, const struct wanted *wanted)
{
    g_autofree char *counts = counts_of(id, text, NULL);
    if (!counts && g_test_failed())
        g_test_message("%s: nothing was counted", id);
    for (; counts && wanted->name; wanted++) {
        if (count_of(counts, wanted->name) != wanted->count)
            g_test_message("%s: %s", id, counts);
        g_assert_cmpint(count_of(counts, wanted->name), ==, wanted->count);
    }
}

/* ---- AMD ---- */

#define AMD_HEAD                                                                                   \
    "typedef float f4 __attribute__((ext_vector_type(4)));\n"                                      \
    "typedef float f8 __attribute__((ext_vector_type(8)));\n"                                      \
    "typedef float f16 __attribute__((ext_vector_type(16)));\n"                                    \
    "typedef int i4 __attribute__((ext_vector_type(4)));\n"                                        \
    "typedef _Float16 h4 __attribute__((ext_vector_type(4)));\n"                                   \
    "typedef _Float16 h8 __attribute__((ext_vector_type(8)));\n"                                   \
    "typedef _Float16 h16 __attribute__((ext_vector_type(16)));\n"                                 \
    "#define KERNEL extern \"C\" __attribute__((global)) void k\n"                                 \
    "#define LANE __builtin_amdgcn_workitem_id_x()\n"

static const char mfma_text[] =
    AMD_HEAD "KERNEL(const h4 *a, const float *b, f4 *c, f16 *d) {\n"
             "  int i = LANE; f4 s = c[i]; f16 t = d[i];\n"
             "  s = __builtin_amdgcn_mfma_f32_16x16x16f16(a[i], a[i + 64], s, 0, 0, 0);\n"
             "  s = __builtin_amdgcn_mfma_f32_16x16x16f16(a[i + 128], a[i + 64], s, 0, 0, 0);\n"
             "  t = __builtin_amdgcn_mfma_f32_32x32x2f32(b[i], b[i + 64], t, 0, 0, 0);\n"
             "  c[i] = s; d[i] = t; }\n";

static const char wmma_text[] =
    AMD_HEAD "KERNEL(const h16 *a, f8 *c) { int i = LANE; f8 s = c[i];\n"
             "  for (int j = 0; j < 3; j++)\n"
             "    s = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[i + j], a[i + 64], s);\n"
             "  c[i] = s; }\n";

static const char dot_text[] =
    AMD_HEAD "KERNEL(const i4 *a, int *c) { int i = LANE; i4 v = a[i]; int s = c[i];\n"
             "  s = __builtin_amdgcn_sdot4(v.x, v.y, s, false);\n"
             "  s = __builtin_amdgcn_sdot4(v.z, v.w, s, false); c[i] = s; }\n";

static const char empty_text[] = "extern \"C\" __attribute__((global)) void k() {}\n";

static void test_amds_matrix_instructions_are_counted_by_type(void)
{
    static const struct wanted mfma_90a[] = {{"v_mfma_f32_16x16x16f16", 2},
                                             {"v_mfma_f32_32x32x2f32", 1},
                                             {"global_load_dwordx2", 3},
                                             {"global_store_dwordx4", 5},
                                             {NULL, 0}};
    static const struct wanted mfma_942[] = {{"v_mfma_f32_16x16x16_f16", 2},
                                             {"v_mfma_f32_32x32x2_f32", 1},
                                             {"global_load_dwordx2", 3},
                                             {NULL, 0}};
    static const struct wanted wmma[] = {{"v_wmma_f32_16x16x16_f16", 3}, {NULL, 0}};
    static const struct wanted dot[] = {
        {"v_dot4_i32_i8", 2}, {"v_wmma_f32_16x16x16_f16", 0}, {NULL, 0}};
    expect_counts("gfx90a68", mfma_text, mfma_90a);
    expect_counts("gfx942130", mfma_text, mfma_942);
    expect_counts("gfx1100_48", wmma_text, wmma);
    expect_counts("gfx906_60", dot_text, dot);
}

static void test_all_instructions_make_the_total(void)
{
    g_autofree char *counts = counts_of("gfx90060", empty_text, NULL);
    if (counts)
        g_assert_cmpstr(counts, ==, "total 1"); /* s_endpgm */
}

#define LLVM_15 "libLLVM-15.so.1"
#define LLVM_19 "libLLVM.so.19.1"

static const struct {
    const char *library, *arch;
    bool is_known;
} known_rows[] = {
    {LLVM_15, "gfx1201", false}, {LLVM_15, "gfx1152", false}, {LLVM_15, "gfx942", false},
    {LLVM_15, "gfx941", false},  {LLVM_15, "gfx940", true},   {LLVM_15, "gfx90a", true},
    {LLVM_15, "gfx700", false},  {LLVM_19, "gfx700", false},  {LLVM_19, "gfx9999", false},
    {LLVM_19, "gfx940", true},   {LLVM_19, "gfx942", true},
};

/* Runs in its own process, which opens the library of SKIPJACK_LLVM only. Code for gfx900 is used
 * for every target, since the target's name alone decides whether code is counted. */
static void look_with_the_library(void)
{
    const char *library = g_getenv("SKIPJACK_LLVM");
    GBytes *code = NULL;
    struct target target;
    g_autofree char *own = counts_of("gfx90060", empty_text, &code);
    g_assert_cmpstr(own, ==, "total 1"); /* s_endpgm */
    g_assert_true(target_parse("gfx90060", &target, NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(known_rows); i++) {
        if (strcmp(known_rows[i].library, library) != 0)
            continue;
        g_strlcpy(target.arch, known_rows[i].arch, sizeof(target.arch));
        g_autofree char *counts = instructions_count(code, "k", &target);
        if (!!counts != known_rows[i].is_known)
            g_test_message("%s: %s: %s", library, target.arch, counts ? counts : "not counted");
        g_assert_true(!!counts == known_rows[i].is_known);
    }
    g_bytes_unref(code);
}

static void expect_rows_of(const char *library)
{
    g_autofree char *before = g_strdup(g_getenv("SKIPJACK_LLVM"));
    g_setenv("SKIPJACK_LLVM", library, TRUE);
    g_test_trap_subprocess(NULL, PATIENCE_SECONDS * (guint64)G_USEC_PER_SEC, 0);
    g_test_trap_assert_passed();
    if (before)
        g_setenv("SKIPJACK_LLVM", before, TRUE);
    else
        g_unsetenv("SKIPJACK_LLVM");
}

static void test_a_target_that_llvm_does_not_know_is_not_counted(void)
{
    if (g_test_subprocess()) {
        /* Skips the test without the library. A process opens one LLVM only, since two may
         * conflict. */
        if (dlopen(g_getenv("SKIPJACK_LLVM"), RTLD_NOW | RTLD_LOCAL))
            look_with_the_library();
        return;
    }
    GBytes *code = NULL;
    g_free(counts_of("gfx90060", empty_text, &code));
    if (!code)
        return;
    g_bytes_unref(code);
    expect_rows_of(LLVM_15);
    expect_rows_of(LLVM_19);
}

/* ---- NVIDIA ---- */

#define MMA(SHAPE, D, A)                                                                           \
    "extern \"C\" __global__ void k(const unsigned *a, " D " *c) {\n"                              \
    "  " D " d[4] = {c[0], c[1], c[2], c[3]};\n"                                                   \
    "#pragma unroll\n"                                                                             \
    "  for (int i = 0; i < 5; i++)\n"                                                              \
    "    asm volatile(\"mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9},"         \
    " {%0,%1,%2,%3};\" : \"+" A "\"(d[0]), \"+" A "\"(d[1]), \"+" A "\"(d[2]), \"+" A "\"(d[3])"   \
    " : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(a[4]), \"r\"(a[5]));\n"          \
    "  c[0] = d[0]; c[1] = d[1]; c[2] = d[2]; c[3] = d[3]; }\n"

#define WGMMA(SHAPE, SCALES)                                                                       \
    "extern \"C\" __global__ void k(float *c, unsigned long long a, unsigned long long b) {\n"     \
    "  float d[4] = {c[0], c[1], c[2], c[3]};\n"                                                   \
    "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"                              \
    "  asm volatile(\"wgmma.mma_async.sync.aligned." SHAPE " {%0,%1,%2,%3}, %4, %5, " SCALES ";\"" \
    " : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(a), \"l\"(b));\n"           \
    "  asm volatile(\"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\""         \
    " ::: \"memory\");\n"                                                                          \
    "  c[0] = d[0]; c[1] = d[1]; c[2] = d[2]; c[3] = d[3]; }\n"

static const char widths_text[] =
    "extern \"C\" __global__ void k(const float4 *a, float4 *b, const float2 *c, float2 *d,"
    " const float *e, float *f, const int *g, int *h) {\n"
    "  __shared__ float4 s4[64]; __shared__ float2 s2[64]; __shared__ float s1[64];\n"
    "  int t = threadIdx.x; s4[t] = a[t]; s2[t] = c[t]; s1[t] = e[t]; __syncthreads();\n"
    "  b[t] = s4[63 - t]; d[t] = s2[63 - t]; f[t] = s1[63 - t] * e[t + 64] + e[t + 99];\n"
    "  h[t] = __dp4a(g[t], g[t + 64], g[t + 99]); }\n";

static const char async_text[] =
    "extern \"C\" __global__ void k(const float4 *a, float *c) { __shared__ float4 s[256];\n"
    "  unsigned p = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);\n"
    "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" :: \"r\"(p), \"l\"(a + threadIdx.x)"
    " : \"memory\");\n"
    "  asm volatile(\"cp.async.wait_all;\" ::: \"memory\"); __syncthreads();\n"
    "  c[threadIdx.x] = s[threadIdx.x ^ 1].x; }\n";

static void test_nvidias_instructions_are_told_by_their_families(void)
{
    static const struct {
        const char *id, *text;
        struct wanted wanted[10];
    } cases[] = {
        {"sm_80_108_40g",
         MMA("m16n8k16.row.col.f32.f16.f16.f32", "float", "f"),
         {{"HMMA.FP16", 5}, {"HMMA.BF16", 0}, {"LDG.32", 10}, {"STG.32", 4}}},
        {"sm_90_132_80g",
         MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "float", "f"),
         {{"HMMA.BF16", 5}, {"HMMA.FP16", 0}}},
        {"sm_90_132_80g",
         MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "float", "f"),
         {{"HMMA.TF32", 5}}},
        {"sm_120_170_32g", MMA("m16n8k32.row.col.s32.s8.s8.s32", "int", "r"), {{"IMMA", 5}}},
        {"sm_89_142_48g",
         MMA("m16n8k32.row.col.f32.e4m3.e5m2.f32", "float", "f"),
         {{"QMMA", 5}, {"HMMA.FP16", 0}}},
        {"sm_120_170_32g",
         MMA("m16n8k32.row.col.f32.e5m2.e4m3.f32", "float", "f"),
         {{"QMMA", 5}, {"HMMA.FP16", 0}}},
        {"sm_90_132_80g", /* which has no such instruction */
         MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", "float", "f"),
         {{"QMMA", 0}}},
        {"sm_90a_132_80g",
         WGMMA("m64n8k16.f32.f16.f16", "1, 1, 1, 0, 0"),
         {{"HGMMA.FP16", 1}, {"HGMMA.BF16", 0}}},
        {"sm_90a_132_80g", WGMMA("m64n8k16.f32.bf16.bf16", "1, 1, 1, 0, 0"), {{"HGMMA.BF16", 1}}},
        {"sm_90a_132_80g",
         WGMMA("m64n8k8.f32.tf32.tf32", "1, 1, 1"),
         {{"HGMMA.TF32", 1}, {"HGMMA.FP16", 0}}},
        {"sm_90_132_80g",
         widths_text,
         {{"LDG.128", 1},
          {"LDG.64", 1},
          {"LDS.128", 1},
          {"LDS.64", 1},
          {"LDS.32", 1},
          {"STS.128", 1},
          {"STG.64", 1},
          {"FFMA", 1},
          {"IDP", 1}}},
        {"sm_86_84_24g", async_text, {{"LDGSTS", 1}, {"LDS.32", 1}, {"LDG.128", 0}}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        expect_counts(cases[i].id, cases[i].text, cases[i].wanted);
}

/* GPUs before sm_70 have instructions of 8 bytes, which are not counted. NVRTC no longer compiles
 * for them, so code for a later GPU is given under their name. */
static void test_nvidias_before_sm_70_are_not_counted(void)
{
    static const struct {
        const char *id;
        bool is_known;
    } cases[] = {{"sm_60_56_16g", false}, {"sm_61_28_11g", false}, {"sm_70_80_16g", true}};
    GBytes *code = NULL;
    g_free(counts_of("sm_80_108_40g", async_text, &code));
    for (size_t i = 0; code && i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        g_assert_true(target_parse(cases[i].id, &target, NULL));
        g_autofree char *counts = instructions_count(code, "k", &target);
        if (!!counts != cases[i].is_known)
            g_test_message("%s: %s", cases[i].id, counts ? counts : "not counted");
        g_assert_true(!!counts == cases[i].is_known);
    }
    if (code)
        g_bytes_unref(code);
}

/* ---- damage ---- */

/* Instructions of damaged objects are counted or not, and no byte behind the end is read. */
static void test_a_damaged_object_is_not_counted(void)
{
    GBytes *code = NULL;
    struct target target;
    gsize length;
    g_autofree char *counts = counts_of("gfx90a68", mfma_text, &code);
    if (!counts)
        return;
    g_assert_true(target_parse("gfx90a68", &target, NULL));
    const guint8 *bytes = g_bytes_get_data(code, &length);
    for (gsize cut = 0; cut < length; cut += 61) {
        g_autoptr(GBytes) part = g_bytes_new(bytes, cut);
        g_autofree char *same = instructions_count(part, "k", &target);
        g_assert_true(!same || strcmp(same, counts) == 0);
    }
    for (gsize at = 0; at < length; at += 37) {
        g_autofree guint8 *changed = g_memdup2(bytes, length);
        changed[at] ^= 0xff;
        g_autoptr(GBytes) other = g_bytes_new(changed, length);
        g_free(instructions_count(other, "k", &target));
    }
    g_autofree char *absent = instructions_count(code, "no", &target);
    g_assert_null(absent);
    g_bytes_unref(code);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/instructions/amds_matrix_instructions_are_counted_by_type",
                    test_amds_matrix_instructions_are_counted_by_type);
    g_test_add_func("/instructions/all_instructions_make_the_total",
                    test_all_instructions_make_the_total);
    g_test_add_func("/instructions/a_target_that_llvm_does_not_know_is_not_counted",
                    test_a_target_that_llvm_does_not_know_is_not_counted);
    g_test_add_func("/instructions/nvidias_families_are_counted",
                    test_nvidias_instructions_are_told_by_their_families);
    g_test_add_func("/instructions/nvidias_before_sm_70_are_not_counted",
                    test_nvidias_before_sm_70_are_not_counted);
    g_test_add_func("/instructions/a_damaged_object_is_not_counted",
                    test_a_damaged_object_is_not_counted);
    return g_test_run();
}
