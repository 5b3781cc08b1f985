/* This machine's NVRTC, and the error where it is missing. Tests that compile are skipped without
 * it. */
#include <string.h>

#include "tests/support/kernels/toolchain_check.h"

#define TARGET "sm_90_132_80g"

#define KERNEL_TEXT                                                                                \
    "extern \"C\" __global__ void copy(const float *x, float *y)\n"                                \
    "{ y[threadIdx.x * STEP] = x[threadIdx.x]; }\n"

static const struct toolchain *toolchain;

static bool library_or_skip(void)
{
    return toolchain_serves_or_skip(toolchain, TARGET);
}

static void equal_input_gives_equal_bytes(void)
{
    static const struct {
        const char *id, *arch;
    } targets[] = {{"sm_75_68_11g", "sm_75"}, {TARGET, "sm_90"}, {"sm_90a_132_80g", "sm_90"}};
    if (!library_or_skip())
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(targets); i++)
        toolchain_check_equal_bytes(toolchain, KERNEL_TEXT, targets[i].id, targets[i].arch);
}

/* The source has two kernels: registers and memory are reported for the named entry. The log keeps
 * warnings and leaves out the compiler's resource report. */
static void facts_are_of_the_entry(void)
{
    static const char text[] =
        "extern \"C\" __global__ void other(float *y) { __shared__ float l[8]; int wide = 1ll << 40;\n"
        "  l[threadIdx.x] = y[0]; __syncthreads(); y[wide] = l[7 - threadIdx.x]; }\n"
        "extern \"C\" __global__ void copy(const float *x, float *y)\n"
        "{ __shared__ float local[64]; volatile float held[4];\n"
        "  int i = threadIdx.x; held[i & 3] = x[i]; local[i] = x[i + 1];\n"
        "  __syncthreads(); y[i] = local[63 - i] + held[i & 1]; }\n";
    struct code_object object;
    g_autoptr(GError) error = NULL;
    if (!library_or_skip())
        return;
    g_assert_true(toolchain_compile_copy(toolchain, text, TARGET, &object, &error));
    g_assert_no_error(error);
    g_assert_cmpint(object.local_bytes, ==, 256);
    g_assert_cmpint(object.scratch_bytes, >=, 16);
    g_assert_nonnull(strstr(object.log, "warning"));
    g_assert_null(strstr(object.log, "ptxas"));
    code_object_clear(&object);
}

static void spilled_registers_are_counted(void)
{
    static const char text[] =
        "extern \"C\" __global__ void __launch_bounds__(1024, 2) copy(const float *x, float *y)\n"
        "{ float a[64];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 64; i++) a[i] = x[i * 1024 + threadIdx.x];\n"
        "  __syncthreads();\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 64; i++) y[i * 1024 + threadIdx.x] = a[i] * a[63 - i]; }\n";
    struct code_object object;
    if (!library_or_skip())
        return;
    g_assert_true(toolchain_compile_copy(toolchain, text, TARGET, &object, NULL));
    g_assert_cmpint(object.spills, >, 0);
    g_assert_cmpint(object.registers, <=, 32);
    g_assert_cmpint(object.scratch_bytes, >, 0);
    code_object_clear(&object);
}

static void refused_sources_have_reason_and_log(void)
{
    static const struct {
        const char *text, *message, *log;
    } cases[] = {
        {"nowhere here;\n", "refused the kernel 'copy'", "nowhere"},
        {"extern \"C\" __global__ void other(int *y) { *y = 1; }\n", "no kernel 'copy'", ""},
        {"#include <nowhere.h>\n" KERNEL_TEXT, "refused the kernel 'copy'", "nowhere.h"},
        {"", "NVRTC", ""},
    };
    if (!library_or_skip())
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        toolchain_check_refuses_source(toolchain, TARGET, cases[i].text, KERNELS_ERROR_COMPILE,
                                       cases[i].message, cases[i].log);
}

static void other_targets_are_refused(void)
{
    static const struct {
        const char *id, *message;
    } cases[] = {
        {"gfx90a68", "NVIDIA"},
        {"cpu-znver4_2", "NVIDIA"},
        {"sm_30_8_2g", "does not compile for sm_30"},
    };
    if (!library_or_skip())
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct target target;
        g_assert_true(target_parse(cases[i].id, &target, NULL));
        g_assert_false(toolchain->can_compile(&target, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
        g_assert_nonnull(strstr(error->message, cases[i].message));
    }
}

static void version_names_the_release(void)
{
    struct target target;
    if (!library_or_skip())
        return;
    g_assert_true(target_parse(TARGET, &target, NULL));
    const char *version = toolchain->version(&target, NULL);
    g_assert_true(g_str_has_prefix(version, "NVRTC "));
    g_assert_cmpstr(toolchain->version(NULL, NULL), ==, version);
}

static void missing_library_is_named(void)
{
    toolchain_check_missing_library(toolchain, TARGET, "SKIPJACK_NVRTC", "nvrtcVersion");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    toolchain = toolchain_find("nvrtc");
    g_test_add_func("/nvrtc/equal_input_gives_equal_bytes", equal_input_gives_equal_bytes);
    g_test_add_func("/nvrtc/facts_are_of_the_entry", facts_are_of_the_entry);
    g_test_add_func("/nvrtc/spilled_registers_are_counted", spilled_registers_are_counted);
    g_test_add_func("/nvrtc/refused_sources_have_reason_and_log",
                    refused_sources_have_reason_and_log);
    g_test_add_func("/nvrtc/other_targets_are_refused", other_targets_are_refused);
    g_test_add_func("/nvrtc/version_names_the_release", version_names_the_release);
    g_test_add_func("/nvrtc/missing_library_is_named", missing_library_is_named);
    return g_test_run();
}
