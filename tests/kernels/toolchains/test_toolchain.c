/* The choice of the toolchain for a target, on machines with and without each toolchain. */
#include <string.h>

#include "kernels/toolchains/toolchain.h"

/* Where no clang serves the target, HIPRTC compiles for AMD's GPUs that it knows. */
static void another_toolchain_serves_where_the_first_is_missing(void)
{
    static const char *const targets[] = {"gfx90a68", "gfx1030_36", "gfx942130", "gfx120164"};
    const struct toolchain *hiprtc = toolchain_find("hiprtc");
    g_autofree char *before = g_strdup(g_getenv("SKIPJACK_CLANG"));

    g_setenv("SKIPJACK_CLANG", "/nowhere/clang", TRUE);
    for (size_t i = 0; i < G_N_ELEMENTS(targets); i++) {
        g_autoptr(GError) error = NULL;
        struct target target;
        g_assert_true(target_parse(targets[i], &target, NULL));
        const struct toolchain *found = toolchain_for_target(&target, NULL, &error);
        if (hiprtc->version(&target, NULL)) {
            g_assert_true(found == hiprtc);
            continue;
        }
        g_assert_null(found);
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, "clang: "));
        g_assert_nonnull(strstr(error->message, "; hiprtc: "));
    }
    if (before)
        g_setenv("SKIPJACK_CLANG", before, TRUE);
    else
        g_unsetenv("SKIPJACK_CLANG");
}

static void only_toolchains_that_are_asked_for_serve(void)
{
    static const char *const clang[] = {"clang", NULL};
    static const char *const none[] = {"nvrtc", NULL};
    g_autoptr(GError) error = NULL;
    struct target target;

    g_assert_true(target_parse("gfx90a68", &target, NULL));
    g_assert_null(toolchain_for_target(&target, none, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
    g_clear_error(&error);
    const struct toolchain *found = toolchain_for_target(&target, clang, &error);
    g_assert_true(found ? strcmp(found->name, "clang") == 0
                        : strstr(error->message, "hiprtc: ") == NULL);
}

static void constraints_name_toolchains(void)
{
    static const struct {
        const char *stack, *target, *names;
    } cases[] = {
        {"", "gfx90a68", NULL},
        {"clang >= 15 < 20; driver >= 535", "gfx90a68", "clang"},
        {"driver >= 535;clang>=15", "gfx90a68", "clang"},
        {"hiprtc HIPRTC 9.0; clang 19", "gfx90a68", "clang hiprtc"},
        {"clang 19.1.7 Debian; nvrtc NVRTC 13.0", "sm_90_132_80g", "nvrtc"},
        {"clangd 3", "gfx90a68", NULL},
        {"Clang >= 15", "gfx90a68", "clang"},
        {"opencl PoCL 3.1 LLVM 15.0.6", "gfx90a68", NULL},
        {"opencl PoCL 3.1 LLVM 15.0.6", "cpu-znver4_2", "opencl"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        g_assert_true(target_parse(cases[i].target, &target, NULL));
        g_auto(GStrv) names = toolchain_names_in(cases[i].stack, &target);
        g_autofree char *joined = names ? g_strjoinv(" ", names) : NULL;
        g_assert_cmpstr(joined, ==, cases[i].names);
    }
}

static void constraints_are_asked_of_the_version_that_compiles(void)
{
    static const struct {
        const char *toolchain, *version, *stack;
        bool met;
    } cases[] = {
        {"clang", "15.0.6 Debian", "clang >= 15 < 16", true},
        {"clang", "19.1.7 Debian (3~deb12u1)", "clang >= 15 < 16", false},
        {"clang", "19.1.7 Debian", "driver >= 535; Clang>=19.1", true},
        {"clang", "19.1.7 Debian", "clang >= 19.1.8", false},
        {"clang", "19.1.7 Debian", "clang > 19", false},
        {"clang", "19.1.7 Debian", "clang <= 19", true},
        {"clang", "19.1.7 Debian", "clang < 19.2", true},
        {"clang", "19.1.7 Debian", "clang 19", true},
        {"clang", "19.1.7 Debian", "clang 15", false},
        {"clang", "19.1.7 Debian", "clang = 19.1.7; clang < 20", true},
        {"clang", "19.1.7 Debian", "clang >= 19; clang < 19", false},
        {"clang", "19", "clang >= 19.0", false},
        {"clang", "19.1.7 Debian", "clang", true},
        {"clang", "19.1.7 Debian", "clang 19.1.7 Debian", true},
        {"clang", "19.1.7 Debian", "hiprtc >= 99", true},
        {"clang", "19.1.7 Debian", "", true},
        {"hiprtc", "HIPRTC 9.0 libamdhip64.so.5", "hiprtc >= 9", true},
        {"opencl", "PoCL 3.1 LLVM 15.0.6", "opencl PoCL 3.1 LLVM 15.0.6", true},
        {"opencl", "PoCL 3.1 LLVM 15.0.6", "opencl >= 4", false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *lacking =
            toolchain_lacks(toolchain_find(cases[i].toolchain), cases[i].version, cases[i].stack);
        g_test_message("%s: %s", cases[i].stack, lacking ? lacking : "");
        g_assert_true((lacking == NULL) == cases[i].met);
    }
}

/* The toolchain named by SKIPJACK_TOOLCHAIN serves its vendor's targets, and no others. */
static void setting_chooses_among_those_of_a_vendor(void)
{
    static const struct {
        const char *setting, *target, *toolchain;
    } cases[] = {
        {"clang", "gfx90a68", "clang"},
        {"hiprtc", "gfx90a68", "hiprtc"},
        {"hiprtc", "sm_90_132_80g", "nvrtc"},
    };
    g_autoptr(GError) error = NULL;
    struct target target;

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) missing = NULL;
        g_setenv("SKIPJACK_TOOLCHAIN", cases[i].setting, TRUE);
        g_assert_true(target_parse(cases[i].target, &target, NULL));
        const struct toolchain *found = toolchain_for_target(&target, NULL, &missing);
        g_autofree char *alone = g_strconcat(cases[i].toolchain, ": ", NULL);
        g_assert_true(found ? strcmp(found->name, cases[i].toolchain) == 0
                            : g_str_has_prefix(missing->message, alone));
    }
    g_setenv("SKIPJACK_TOOLCHAIN", "cobol", TRUE);
    g_assert_null(toolchain_for_target(&target, NULL, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "'cobol'"));
    g_assert_nonnull(strstr(error->message, "clang, hiprtc, nvrtc, opencl"));
    g_unsetenv("SKIPJACK_TOOLCHAIN");
}

static void assembly_needs_more_than_hiprtc(void)
{
    static const struct {
        const char *stack, *setting;
        bool only_compiles;
    } cases[] = {
        {"hiprtc HIPRTC 9.0 libamdhip64.so.5; opencl PoCL 3.1", "", true},
        {"clang 19.1.7; hiprtc HIPRTC 9.0", "", false},
        {"clang 19.1.7; hiprtc HIPRTC 9.0", "hiprtc", true},
        {"clang 19.1.7; hiprtc HIPRTC 9.0", "nvrtc", false},
        {"opencl PoCL 3.1", "", false},
        {"", "", false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_setenv("SKIPJACK_TOOLCHAIN", cases[i].setting, TRUE);
        g_assert_true(toolchain_stack_only_compiles(cases[i].stack) == cases[i].only_compiles);
    }
    g_unsetenv("SKIPJACK_TOOLCHAIN");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_unsetenv("SKIPJACK_TOOLCHAIN");
    g_test_add_func("/toolchain/another_toolchain_serves_where_the_first_is_missing",
                    another_toolchain_serves_where_the_first_is_missing);
    g_test_add_func("/toolchain/only_toolchains_that_are_asked_for_serve",
                    only_toolchains_that_are_asked_for_serve);
    g_test_add_func("/toolchain/constraints_name_toolchains", constraints_name_toolchains);
    g_test_add_func("/toolchain/constraints_are_asked_of_the_version_that_compiles",
                    constraints_are_asked_of_the_version_that_compiles);
    g_test_add_func("/toolchain/setting_chooses_among_those_of_a_vendor",
                    setting_chooses_among_those_of_a_vendor);
    g_test_add_func("/toolchain/assembly_needs_more_than_hiprtc", assembly_needs_more_than_hiprtc);
    return g_test_run();
}
