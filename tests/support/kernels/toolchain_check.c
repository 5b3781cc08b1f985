#include "tests/support/kernels/toolchain_check.h"

#include <string.h>

#include "kernels/objects/amd_object.h"
#include "kernels/objects/cuda_object.h"

bool toolchain_serves_or_skip(const struct toolchain *toolchain, const char *target_id)
{
    g_autoptr(GError) error = NULL;
    struct target target;
    g_assert_true(target_parse(target_id, &target, NULL));
    if (toolchain->can_compile(&target, &error))
        return true;
    g_test_skip(error->message);
    return false;
}

bool toolchain_compile_copy(const struct toolchain *toolchain, const char *text,
                            const char *target_id, struct code_object *object, GError **error)
{
    struct target target;
    g_assert_true(target_parse(target_id, &target, NULL));
    return toolchain->compile(text, "-DSTEP=2", "copy", &target, object, error);
}

static char *object_made_for(const struct toolchain *toolchain, GBytes *code)
{
    struct amd_object amd;
    struct cuda_object cuda;
    if (toolchain->vendor == VENDOR_AMD)
        return amd_object_read(code, "copy", &amd, NULL) ? g_strdup(amd.target) : NULL;
    return cuda_object_read(code, "copy", &cuda, NULL) ? g_strdup_printf("sm_%d", cuda.arch) : NULL;
}

static void check_small(const struct code_object *object)
{
    g_assert_cmpint(object->registers, >, 0);
    g_assert_cmpint(object->registers, <=, 255);
    g_assert_cmpint(object->spills, ==, 0);
    g_assert_cmpint(object->scratch_bytes, ==, 0);
    g_assert_cmpint(object->local_bytes, ==, 0);
    g_assert_cmpfloat(object->seconds, >, 0);
    g_assert_cmpstr(object->log, ==, "");
}

void toolchain_check_equal_bytes(const struct toolchain *toolchain, const char *text,
                                 const char *target_id, const char *made_for)
{
    struct code_object first, second;
    g_autoptr(GError) error = NULL;
    g_assert_true(toolchain_compile_copy(toolchain, text, target_id, &first, &error));
    g_assert_no_error(error);
    g_assert_true(toolchain_compile_copy(toolchain, text, target_id, &second, NULL));
    g_autofree char *found = object_made_for(toolchain, first.code);
    g_assert_cmpstr(found, ==, made_for);
    check_small(&first);
    g_assert_true(g_bytes_equal(first.code, second.code));
    code_object_clear(&first);
    code_object_clear(&second);
}

void toolchain_check_refuses_source(const struct toolchain *toolchain, const char *target_id,
                                    const char *text, enum kernels_error code, const char *message,
                                    const char *log)
{
    struct code_object object;
    g_autoptr(GError) error = NULL;
    g_assert_false(toolchain_compile_copy(toolchain, text, target_id, &object, &error));
    g_assert_error(error, KERNELS_ERROR, (int)code);
    g_assert_nonnull(strstr(error->message, message));
    g_assert_nonnull(strstr(object.log, log));
    g_assert_null(object.code);
    code_object_clear(&object);
}

static void check_unavailable(const struct toolchain *toolchain, const char *target_id,
                              const char *expected)
{
    g_autoptr(GError) error = NULL;
    struct target target;
    g_assert_true(target_parse(target_id, &target, NULL));
    g_assert_false(toolchain->can_compile(&target, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, expected));
    g_clear_error(&error);
    g_assert_null(toolchain->version(NULL, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, expected));
}

void toolchain_check_missing_library(const struct toolchain *toolchain, const char *target_id,
                                     const char *setting, const char *symbol)
{
    if (!g_test_subprocess()) {
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_passed();
        return;
    }
    g_autofree char *lacks = g_strdup_printf("'libc.so.6' lacks %s", symbol);
    g_setenv(setting, "libnowhere.so.1, libc.so.6", TRUE);
    check_unavailable(toolchain, target_id, lacks);
    g_setenv(setting, "libnowhere.so.1", TRUE);
    check_unavailable(toolchain, target_id, setting);
}
