/* The real HIPRTC of this machine, where there is one; and what is said where there is none. */
#include <string.h>

#include "kernels/objects/amd_object.h"
#include "kernels/toolchains/toolchain.h"
#include "tests/support/temp_folder.h"

#define KERNEL_TEXT                                                                                \
    "extern \"C\" __attribute__((global)) void copy(const float *x, float *y)\n"                   \
    "{ int i = __builtin_amdgcn_workitem_id_x(); y[i * STEP] = x[i]; }\n"

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
    set_target(&target, "gfx90a68");
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

static void check_object(const struct code_object *object, const char *target)
{
    struct amd_object read;
    g_assert_true(amd_object_read(object->code, "copy", &read, NULL));
    g_assert_cmpstr(read.target, ==, target);
    g_assert_cmpint(object->registers, >, 0);
    g_assert_cmpint(object->registers, <=, 256);
    g_assert_cmpint(object->spills, ==, 0);
    g_assert_cmpint(object->scratch_bytes, ==, 0);
    g_assert_cmpint(object->local_bytes, ==, 0);
    g_assert_cmpfloat(object->seconds, >, 0);
    g_assert_cmpstr(object->log, ==, "");
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
    for (size_t i = 0; i < G_N_ELEMENTS(targets); i++) {
        struct code_object first, second;
        g_autoptr(GError) error = NULL;
        g_assert_true(compile(KERNEL_TEXT, targets[i].id, &first, &error));
        g_assert_no_error(error);
        g_assert_true(compile(KERNEL_TEXT, targets[i].id, &second, NULL));
        check_object(&first, targets[i].target);
        g_assert_true(g_bytes_equal(first.code, second.code));
        code_object_clear(&first);
        code_object_clear(&second);
    }
}

static void needs_are_told_of_the_entry(void)
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
    g_assert_true(compile(text, "gfx90a68", &object, &error));
    g_assert_no_error(error);
    g_assert_cmpint(object.local_bytes, ==, 256);
    g_assert_cmpint(object.scratch_bytes, >=, 16);
    code_object_clear(&object);
}

/* The log names the source as clang does, whatever folder the library compiles in. */
static void bad_sources_are_told_apart(void)
{
    static const struct {
        const char *text, *message, *log;
    } cases[] = {
        {"nowhere here;\n", "refused the kernel 'copy'", "kernel.cl:1:1: error: unknown type"},
        {"extern \"C\" __attribute__((global)) void other(int *y) { *y = 1; }\n",
         "no kernel 'copy'", ""},
        {"#include <nowhere.h>\n" KERNEL_TEXT, "refused the kernel 'copy'", "nowhere.h"},
    };
    if (!library_or_skip())
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct code_object object;
        g_autoptr(GError) error = NULL;
        g_assert_false(compile(cases[i].text, "gfx90a68", &object, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE);
        g_assert_nonnull(strstr(error->message, cases[i].message));
        g_assert_nonnull(strstr(object.log, cases[i].log));
        g_assert_null(strstr(object.log, "comgr"));
        g_assert_null(object.code);
        code_object_clear(&object);
    }
}

/* Folders that the library makes to compile in. */
static guint leavings(void)
{
    g_autoptr(GDir) folder = g_dir_open(g_get_tmp_dir(), 0, NULL);
    const char *name;
    guint count = 0;
    while (folder && (name = g_dir_read_name(folder)))
        count += g_str_has_prefix(name, "comgr-");
    return count;
}

/* HIP 5.2 ends its process for the last three: who only asks lives on, and is told. A newer library
 * serves the first two of them. */
static void targets_that_it_does_not_know_are_refused(void)
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
        set_target(&target, cases[i].id);
        if (toolchain->can_compile(&target, &error) && cases[i].may_serve)
            continue;
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
        g_assert_nonnull(strstr(error->message, cases[i].message));
        g_clear_error(&error);
        g_assert_false(compile(KERNEL_TEXT, cases[i].id, &object, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
        code_object_clear(&object);
    }
    g_assert_cmpuint(leavings(), ==, before);
}

/* Without a target nothing is tried, and with one the compiler's release is known. */
static void version_names_the_library(void)
{
    struct target target;
    const char *all, *version;
    if (!library_or_skip())
        return;
    set_target(&target, "gfx90a68");
    all = toolchain->version(NULL, NULL);
    version = toolchain->version(&target, NULL);
    g_assert_true(g_str_has_prefix(all, "HIPRTC "));
    g_assert_nonnull(strstr(all, ".so."));
    g_assert_true(g_str_has_prefix(version, all));
    g_assert_nonnull(strstr(version, " LLVM 1"));
    set_target(&target, "gfx1030_36");
    g_assert_true(toolchain->version(&target, NULL) == version);
}

static void set_many(const char *stem)
{
    for (int i = 0; i < 200; i++) {
        g_autofree char *name = g_strdup_printf("%s_%d", stem, i);
        g_setenv(name, "x", TRUE);
    }
}

/* The library's own C library looked for the environment where it was when the library was opened. */
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
        g_assert_true(compile(KERNEL_TEXT, "gfx90a68", &object, NULL));
        code_object_clear(&object);
        return;
    }
    if (!library_or_skip())
        return;
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
}

/* In a process of its own: a library that is open stays so. */
static void a_library_that_is_away_is_said(void)
{
    if (g_test_subprocess()) {
        g_autoptr(GError) error = NULL;
        struct target target;
        g_setenv("SKIPJACK_HIPRTC", "libnowhere.so.1, libc.so.6", TRUE);
        set_target(&target, "gfx90a68");
        g_assert_false(toolchain->can_compile(&target, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, "'libc.so.6' lacks hiprtcVersion"));
        g_clear_error(&error);
        g_setenv("SKIPJACK_HIPRTC", "libnowhere.so.1", TRUE);
        g_assert_null(toolchain->version(NULL, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, "SKIPJACK_HIPRTC"));
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) made = temp_folder_new();
    g_setenv("TMPDIR", temp_folder_path(made, ""), TRUE);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    toolchain = toolchain_find("hiprtc");
    g_test_add_func("/hiprtc/equal_input_gives_equal_bytes", equal_input_gives_equal_bytes);
    g_test_add_func("/hiprtc/needs_are_told_of_the_entry", needs_are_told_of_the_entry);
    g_test_add_func("/hiprtc/bad_sources_are_told_apart", bad_sources_are_told_apart);
    g_test_add_func("/hiprtc/targets_that_it_does_not_know_are_refused",
                    targets_that_it_does_not_know_are_refused);
    g_test_add_func("/hiprtc/version_names_the_library", version_names_the_library);
    g_test_add_func("/hiprtc/a_library_that_is_away_is_said", a_library_that_is_away_is_said);
    g_test_add_func("/hiprtc/an_environment_that_changed_is_read",
                    an_environment_that_changed_is_read);
    return g_test_run();
}
