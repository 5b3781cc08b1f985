/* Binaries that the real PoCL makes, complete and cut off. */
#include "kernels/toolchains/opencl_binary.h"

#include <string.h>

#include "kernels/toolchains/opencl.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/temp_folder.h"

static const char source[] =
    "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void twice(__global float *x)"
    "{ x[get_global_id(0)] *= 2; }"
    "__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void thrice(__global float *x)"
    "{ x[get_global_id(0)] *= 3; }";

static struct target host;

static GBytes *compile(const char *text, const char *entry)
{
    g_autoptr(GError) error = NULL;
    struct code_object object;
    g_assert_true(toolchain_find("opencl")->compile(text, "", entry, &host, &object, &error));
    g_assert_no_error(error);
    GBytes *code = g_bytes_ref(object.code);
    code_object_clear(&object);
    return code;
}

static void assert_refused(GBytes *code)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(opencl_binary_check(code, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT);
}

static gsize place_of(GBytes *code, const char *words, gsize length, gsize from)
{
    gsize size;
    const guint8 *bytes = g_bytes_get_data(code, &size);
    const guint8 *found = memmem(bytes + from, size - from, words, length);
    g_assert_nonnull(found);
    return (gsize)(found - bytes);
}

/* The binary ends with the second file's code, so cutting it off cuts that code off. */
static void cut_off_code_is_refused(void)
{
    g_autoptr(GBytes) code = compile(source, "twice");
    gsize size = g_bytes_get_size(code);
    gsize first = place_of(code, "\177ELF", 4, 0);
    gsize second = place_of(code, "\177ELF", 4, first + 4);
    g_assert_true(opencl_binary_check(code, NULL));
    for (gsize kept = sizeof "poclbin"; kept < size; kept += kept < size - 100 ? 97 : 1) {
        g_autoptr(GBytes) cut = g_bytes_new_from_bytes(code, 0, kept);
        if (kept <= first || kept >= second + 4)
            assert_refused(cut);
    }
}

/* A file that a full disk cut off in PoCL's cache is packed into the binary with its short length:
 * the binary is refused. */
static void a_short_file_within_is_refused(void)
{
    g_autoptr(GBytes) code = compile(source, "twice");
    gsize size;
    g_autofree guint8 *bytes = g_bytes_unref_to_data(g_bytes_ref(code), &size);
    guint8 *elf = memmem(bytes, size, "\177ELF", 4);
    guint32 length;
    g_assert_nonnull(elf);
    memcpy(&length, elf - 4, 4);
    guint32 shorter = GUINT32_TO_LE(GUINT32_FROM_LE(length) / 2);
    memcpy(elf - 4, &shorter, 4);
    g_autoptr(GBytes) damaged = g_bytes_new(bytes, size);
    assert_refused(damaged);
}

static void empty_is_refused_and_strange_is_not_ours(void)
{
    g_autoptr(GBytes) empty = g_bytes_new("", 0);
    g_autoptr(GBytes) strange = g_bytes_new("strange", 7);
    assert_refused(empty);
    g_assert_true(opencl_binary_check(strange, NULL));
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    cl_device_id device;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    opencl_environment(temp_folder_path(folder, "pocl"), NULL);
    if (!opencl_host_device(&device, &host, &error)) {
        g_print("1..0 # SKIP %s\n", error->message);
        return 0;
    }
    g_test_add_func("/opencl_binary/cut_off_code_is_refused", cut_off_code_is_refused);
    g_test_add_func("/opencl_binary/a_short_file_within_is_refused",
                    a_short_file_within_is_refused);
    g_test_add_func("/opencl_binary/empty_is_refused_and_strange_is_not_ours",
                    empty_is_refused_and_strange_is_not_ours);
    return g_test_run();
}
