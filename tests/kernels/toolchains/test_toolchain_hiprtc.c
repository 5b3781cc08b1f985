/* This machine's HIPRTC, and the error where it is missing. Tests that compile are skipped without
 * it. */
#include <string.h>

#include "tests/support/kernels/toolchain_check.h"
#include "tests/support/temp_folder.h"

#define TARGET "gfx90a68"

#define KERNEL_TEXT                                                                                \
    "extern \"C\" __attribute__((global)) void copy(const float *x, float *y)\n"                   \
    "{ int i = __builtin_amdgcn_workitem_id_x(); y[i * STEP] = x[i]; }\n"

static const struct toolchain *toolchain;

static bool library_or_skip(void)
{
    return toolchain_serves_or_skip(toolchain, TARGET);
}

static void equal_input_gives_equal_bytes(void)
{
    static const struct {
        const char *id, *target;
    } targets[] = {{"gfx900_64", "gfx900"},
                   {"gfx90a68", "gfx90a"},
                   {"gfx90a_xnack68", "gfx90a:xnack+"},
                   {"gfx1030_36", "gfx1030"}};
    if (!library_or_skip())
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(targets); i++)
        toolchain_check_equal_bytes(toolchain, KERNEL_TEXT, targets[i].id, targets[i].target);
}

/* The source has two kernels: registers and memory are reported for the named entry. */
static void facts_are_of_the_entry(void)
{
    static const char text[] =
        "extern \"C\" __attribute__((global)) void other(float *y) { *y = 1; }\n"
        "extern \"C\" __attribute__((global)) void copy(const float *x, float *y)\n"
        "{ static __attribute__((shared)) float local[64]; volatile float held[4];\n"
        "  int i = __builtin_amdgcn_workitem_id_x(); held[i & 3] = x[i]; local[i] = x[i + 1];\n"
        "  __builtin_amdgcn_s_barrier(); y[i] = local[63 - i] + held[i & 1]; }\n";
    struct code_object object;
    g_autoptr(GError) error = NULL;
    if (!library_or_skip())
        return;
    g_assert_true(toolchain_compile_copy(toolchain, text, TARGET, &object, &error));
    g_assert_no_error(error);
    g_assert_cmpint(object.local_bytes, ==, 256);
    g_assert_cmpint(object.scratch_bytes, >=, 16);
    code_object_clear(&object);
}

/* The log names the source "kernel.cl", without the library's temporary folder. */
static void refused_sources_have_reason_and_log(void)
{
    static const struct {
        const char *text, *message, *log;
    } cases[] = {
        {"nowhere here;\n", "refused the kernel 'copy'", "kernel.cl:1:1: error: unknown type"},
        {"extern \"C\" __attribute__((global)) void other(int *y) { *y = 1; }\n",
         "no kernel 'copy'", ""},
        {"#include <nowhere.h>\n" KERNEL_TEXT, "refused the kernel 'copy'",
         "kernel.cl:1:10: fatal error: 'nowhere.h'"},
    };
    if (!library_or_skip())
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        toolchain_check_refuses_source(toolchain, TARGET, cases[i].text, KERNELS_ERROR_COMPILE,
                                       cases[i].message, cases[i].log);
}

/* The number of folders that the library has left behind in the temporary folder. */
static guint leavings(void)
{
    g_autoptr(GDir) folder = g_dir_open(g_get_tmp_dir(), 0, NULL);
    const char *name;
    guint count = 0;
    while (folder && (name = g_dir_read_name(folder)))
        count += g_str_has_prefix(name, "comgr-");
    return count;
}

/* HIP 5.2 ends its process over the last three targets. The process that asks survives and gets the reason. A newer
 * library serves gfx942 and gfx1100. */
static void unknown_targets_are_refused(void)
{
    static const struct {
        const char *id, *message;
        bool may_serve;
    } cases[] = {
        {"cpu-znver3_16", "compiles for AMD's GPUs", false},
        {"sm_90_132_80g", "compiles for AMD's GPUs", false},
        {"gfx942130", "does not compile for gfx942", true},
        {"gfx1100_48", "does not compile for gfx1100", true},
        {"gfx99fade_48", "does not compile for gfx99fade", false},
    };
    if (!library_or_skip())
        return;
    guint before = leavings();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct target target;
        struct code_object object;
        g_assert_true(target_parse(cases[i].id, &target, NULL));
        if (toolchain->can_compile(&target, &error) && cases[i].may_serve)
            continue;
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
        g_assert_nonnull(strstr(error->message, cases[i].message));
        g_clear_error(&error);
        g_assert_false(
            toolchain_compile_copy(toolchain, KERNEL_TEXT, cases[i].id, &object, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
        code_object_clear(&object);
    }
    g_assert_cmpuint(leavings(), ==, before);
}

/* The library's version needs no trial; the version for a target has the compiler's release from its trial. */
static void version_names_the_library(void)
{
    struct target target;
    const char *all, *version;
    if (!library_or_skip())
        return;
    g_assert_true(target_parse(TARGET, &target, NULL));
    all = toolchain->version(NULL, NULL);
    version = toolchain->version(&target, NULL);
    g_assert_true(g_str_has_prefix(all, "HIPRTC "));
    g_assert_nonnull(strstr(all, ".so."));
    g_assert_true(g_str_has_prefix(version, all));
    g_assert_nonnull(strstr(version, " LLVM 1"));
    g_assert_true(target_parse("gfx1030_36", &target, NULL));
    g_assert_true(toolchain->version(&target, NULL) == version);
}

static void set_many(const char *stem)
{
    for (int i = 0; i < 200; i++) {
        g_autofree char *name = g_strdup_printf("%s_%d", stem, i);
        g_setenv(name, "x", TRUE);
    }
}

/* setenv() may move the environment's array. The library has a C library of its own, which must
 * read the array at its new address, since the old one is freed. */
static void an_environment_that_changed_is_read(void)
{
    if (g_test_subprocess()) {
        struct code_object object;
        g_autoptr(GPtrArray) spoiled = g_ptr_array_new_with_free_func(g_free);
        set_many("BEFORE");
        g_assert_nonnull(toolchain->version(NULL, NULL));
        set_many("AFTER");
        for (gsize size = 64; size < 8192; size += 64)
            g_ptr_array_add(spoiled, memset(g_malloc(size), 0x55, size));
        g_assert_true(toolchain_compile_copy(toolchain, KERNEL_TEXT, TARGET, &object, NULL));
        code_object_clear(&object);
        return;
    }
    if (!library_or_skip())
        return;
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
}

static void missing_library_is_named(void)
{
    toolchain_check_missing_library(toolchain, TARGET, "SKIPJACK_HIPRTC", "hiprtcVersion");
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) made = temp_folder_new();
    g_setenv("TMPDIR", temp_folder_path(made, ""), TRUE);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    toolchain = toolchain_find("hiprtc");
    g_test_add_func("/hiprtc/equal_input_gives_equal_bytes", equal_input_gives_equal_bytes);
    g_test_add_func("/hiprtc/facts_are_of_the_entry", facts_are_of_the_entry);
    g_test_add_func("/hiprtc/refused_sources_have_reason_and_log",
                    refused_sources_have_reason_and_log);
    g_test_add_func("/hiprtc/unknown_targets_are_refused", unknown_targets_are_refused);
    g_test_add_func("/hiprtc/version_names_the_library", version_names_the_library);
    g_test_add_func("/hiprtc/missing_library_is_named", missing_library_is_named);
    g_test_add_func("/hiprtc/an_environment_that_changed_is_read",
                    an_environment_that_changed_is_read);
    return g_test_run();
}
