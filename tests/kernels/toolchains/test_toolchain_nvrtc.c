/* The real NVRTC of this machine, where there is one; and what is said where there is none. */
#include <string.h>

#include "kernels/objects/cuda_object.h"
#include "kernels/toolchains/toolchain.h"

#define KERNEL_TEXT                                                                                \
    "extern \"C\" __global__ void copy(const float *x, float *y)\n"                                \
    "{ y[threadIdx.x * STEP] = x[threadIdx.x]; }\n"

static const struct toolchain *toolchain;

static void set_target(struct target *target, const char *id)
{
    g_assert_true(target_parse(id, target, NULL));
}

/* True when there is a library, and says so otherwise. */
static bool library_or_skip(void)
{
    g_autoptr(GError) error = NULL;
    struct target target;
    set_target(&target, "sm_90_132_80g");
    if (toolchain->can_compile(&target, &error))
        return true;
    g_test_skip(error->message);
    return false;
}

static bool compile(const char *text, const char *id, struct code_object *object, GError **error)
{
    struct target target;
    set_target(&target, id);
    return toolchain->compile(text, "-DSTEP=2", "copy", &target, object, error);
}

static void check_object(const struct code_object *object, int arch)
{
    struct cuda_object read;
    g_assert_true(cuda_object_read(object->code, "copy", &read, NULL));
    g_assert_cmpint(read.arch, ==, arch);
    g_assert_cmpint(object->registers, >, 0);
    g_assert_cmpint(object->registers, <=, 255);
    g_assert_cmpint(object->spills, ==, 0);
    g_assert_cmpint(object->scratch_bytes, ==, 0);
    g_assert_cmpint(object->local_bytes, ==, 0);
    g_assert_cmpfloat(object->seconds, >, 0);
    g_assert_cmpstr(object->log, ==, "");
}

static void test_compiles_the_same_bytes_again(void)
{
    static const struct {
        const char *id;
        int arch;
    } targets[] = {{"sm_75_68_11g", 75}, {"sm_90_132_80g", 90}, {"sm_90a_132_80g", 90}};
    if (!library_or_skip())
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(targets); i++) {
        struct code_object first, second;
        g_autoptr(GError) error = NULL;
        g_assert_true(compile(KERNEL_TEXT, targets[i].id, &first, &error));
        g_assert_no_error(error);
        g_assert_true(compile(KERNEL_TEXT, targets[i].id, &second, NULL));
        check_object(&first, targets[i].arch);
        g_assert_true(g_bytes_equal(first.code, second.code));
        code_object_clear(&first);
        code_object_clear(&second);
    }
}

/* Of two kernels of a source each has its own; the warning stays in the log, the report does not. */
static void test_needs_are_told_of_the_entry(void)
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
    g_assert_true(compile(text, "sm_90_132_80g", &object, &error));
    g_assert_no_error(error);
    g_assert_cmpint(object.local_bytes, ==, 256);
    g_assert_cmpint(object.scratch_bytes, >=, 16);
    g_assert_nonnull(strstr(object.log, "warning"));
    g_assert_null(strstr(object.log, "ptxas"));
    code_object_clear(&object);
}

static void test_spilled_registers_are_counted(void)
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
    g_assert_true(compile(text, "sm_90_132_80g", &object, NULL));
    g_assert_cmpint(object.spills, >, 0);
    g_assert_cmpint(object.registers, <=, 32);
    g_assert_cmpint(object.scratch_bytes, >, 0);
    code_object_clear(&object);
}

static void test_bad_sources_are_told_apart(void)
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
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct code_object object;
        g_autoptr(GError) error = NULL;
        g_assert_false(compile(cases[i].text, "sm_90_132_80g", &object, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE);
        g_assert_nonnull(strstr(error->message, cases[i].message));
        g_assert_nonnull(strstr(object.log, cases[i].log));
        g_assert_null(object.code);
        code_object_clear(&object);
    }
}

static void test_other_targets_are_refused(void)
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
        set_target(&target, cases[i].id);
        g_assert_false(toolchain->can_compile(&target, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
        g_assert_nonnull(strstr(error->message, cases[i].message));
    }
}

static void test_the_version_names_the_release(void)
{
    struct target target;
    if (!library_or_skip())
        return;
    set_target(&target, "sm_90_132_80g");
    const char *version = toolchain->version(&target, NULL);
    g_assert_true(g_str_has_prefix(version, "NVRTC "));
    g_assert_cmpstr(toolchain->version(NULL, NULL), ==, version);
}

/* In a process of its own: a library that is open stays so. */
static void test_a_library_that_is_away_is_said(void)
{
    if (g_test_subprocess()) {
        g_autoptr(GError) error = NULL;
        struct target target;
        g_setenv("SKIPJACK_NVRTC", "libnowhere.so.1, libc.so.6", TRUE);
        set_target(&target, "sm_90_132_80g");
        g_assert_false(toolchain->can_compile(&target, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, "'libc.so.6' lacks nvrtcVersion"));
        g_clear_error(&error);
        g_setenv("SKIPJACK_NVRTC", "libnowhere.so.1", TRUE);
        g_assert_null(toolchain->version(&target, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, "SKIPJACK_NVRTC"));
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    toolchain = toolchain_find("nvrtc");
    g_test_add_func("/nvrtc/equal_input_gives_equal_bytes", test_compiles_the_same_bytes_again);
    g_test_add_func("/nvrtc/needs_are_told_of_the_entry", test_needs_are_told_of_the_entry);
    g_test_add_func("/nvrtc/spilled_registers_are_counted", test_spilled_registers_are_counted);
    g_test_add_func("/nvrtc/bad_sources_are_told_apart", test_bad_sources_are_told_apart);
    g_test_add_func("/nvrtc/other_targets_are_refused", test_other_targets_are_refused);
    g_test_add_func("/nvrtc/version_names_the_release", test_the_version_names_the_release);
    g_test_add_func("/nvrtc/a_library_that_is_away_is_said", test_a_library_that_is_away_is_said);
    return g_test_run();
}
