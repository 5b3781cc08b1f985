/* Tests the comparison of a measurement's software with that of today's workers. */
#include "coordinator/nights/plan/night_stacks.h"

#include "kernels/toolchains/toolchain.h"

#include <locale.h>
#include <string.h>

struct row {
    enum vendor vendor;
    const char *stack, *builders, *devices; /* several joined by "|" */
    const char *toolchain, *runtime, *driver;
};

static void take(GPtrArray *all, char **texts)
{
    for (char **text = texts; *text; text++)
        g_ptr_array_add(all, *text);
}

static void only_what_matters_for_the_target_is_compared(void)
{
    static const struct row rows[] = {
        /* nothing changed */
        {VENDOR_NVIDIA, "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1",
         "clang 15.0.6; nvrtc NVRTC 12.4", "cuda 12.4; driver 535.1", NULL, NULL, NULL},
        /* each part alone */
        {VENDOR_NVIDIA, "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1", "nvrtc NVRTC 13.0",
         "cuda 12.4; driver 535.1", "nvrtc NVRTC 12.4 -> NVRTC 13.0", NULL, NULL},
        {VENDOR_NVIDIA, "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1", "nvrtc NVRTC 12.4",
         "cuda 13.0; driver 535.1", NULL, "cuda 12.4 -> 13.0", NULL},
        {VENDOR_NVIDIA, "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1", "nvrtc NVRTC 12.4",
         "cuda 12.4; driver 550.2", NULL, NULL, "driver 535.1 -> 550.2"},
        /* software of other targets */
        {VENDOR_NVIDIA, "clang 15.0.6; nvrtc NVRTC 12.4; opencl PoCL 3.1; cuda 12.4",
         "clang 19.1.7; nvrtc NVRTC 12.4; opencl PoCL 5.0", "cuda 12.4", NULL, NULL, NULL},
        {VENDOR_AMD, "clang 15.0.6 Debian; hip 6.2; driver 6.10.5",
         "clang 15.0.6 Debian; nvrtc NVRTC 13.0", "hip 6.2; driver 6.10.5", NULL, NULL, NULL},
        {VENDOR_AMD, "clang 15.0.6 Debian; hip 6.2; driver 6.10.5", "clang 19.1.7 Debian",
         "hip 6.2; driver 6.10.5", "clang 15.0.6 Debian -> 19.1.7 Debian", NULL, NULL},
        /* a node with several compilers of one name */
        {VENDOR_AMD, "clang 15.0.6 Debian; hip 6.2",
         "clang 19.1.7 Debian (3~deb12u1), 15.0.6 Debian", "hip 6.2", NULL, NULL, NULL},
        {VENDOR_AMD, "clang 14.0.6 Debian; hip 6.2", "clang 19.1.7 Debian, 15.0.6 Debian",
         "hip 6.2", "clang 14.0.6 Debian -> 19.1.7 Debian, 15.0.6 Debian", NULL, NULL},
        /* a CPU's OpenCL is its compiler */
        {VENDOR_CPU, "opencl PoCL 3.1 LLVM 15.0.6", "clang 15; opencl PoCL 5.0 LLVM 15.0.6",
         "opencl PoCL 5.0 LLVM 15.0.6", "opencl PoCL 3.1 LLVM 15.0.6 -> PoCL 5.0 LLVM 15.0.6", NULL,
         NULL},
        /* several nodes: one that has the software is enough */
        {VENDOR_NVIDIA, "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1",
         "nvrtc NVRTC 13.0|nvrtc NVRTC 12.4", "cuda 12.4; driver 550.2|cuda 12.4; driver 535.1",
         NULL, NULL, NULL},
        /* runtime and driver of one device: another node's driver does not help */
        {VENDOR_NVIDIA, "cuda 12.4; driver 535.1", "",
         "cuda 12.4; driver 550.2|cuda 13.0; driver 535.1", NULL, NULL, "driver 535.1 -> 550.2"},
        /* several at once */
        {VENDOR_NVIDIA, "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1", "nvrtc NVRTC 13.0",
         "cuda 13.0; driver 550.2", "nvrtc NVRTC 12.4 -> NVRTC 13.0", "cuda 12.4 -> 13.0",
         "driver 535.1 -> 550.2"},
        /* of two compilers one went */
        {VENDOR_AMD, "clang 15.0.6; hiprtc HIPRTC 9.0", "clang 15.0.6", "hip 6.2", NULL, NULL,
         NULL},
        {VENDOR_AMD, "hiprtc HIPRTC 9.0", "clang 15.0.6", "hip 6.2", "hiprtc HIPRTC 9.0 -> none",
         NULL, NULL},
        /* unknown: nothing can be compared */
        {VENDOR_NVIDIA, "", "nvrtc NVRTC 13.0", "cuda 13.0; driver 550.2", NULL, NULL, NULL},
        {VENDOR_NVIDIA, "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1", "", "", NULL, NULL, NULL},
        /* capitals and blanks do not matter */
        {VENDOR_NVIDIA, "NVRTC nvrtc 12.4 ;cuda 12.4", "nvrtc NVRTC 12.4", " CUDA 12.4", NULL, NULL,
         NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct row *row = &rows[i];
        g_auto(GStrv) builders = g_strsplit(row->builders, "|", -1);
        g_auto(GStrv) devices = g_strsplit(row->devices, "|", -1);
        struct stacks_today today = {g_ptr_array_new(), g_ptr_array_new()};
        struct stack_changes changes;
        take(today.builders, builders);
        take(today.devices, devices);
        stack_changes_find(row->stack, row->vendor, &today, &changes);
        g_test_message("row %zu", i);
        g_assert_cmpstr(changes.texts[STACK_TOOLCHAIN], ==, row->toolchain);
        g_assert_cmpstr(changes.texts[STACK_RUNTIME], ==, row->runtime);
        g_assert_cmpstr(changes.texts[STACK_DRIVER], ==, row->driver);
        stack_changes_clear(&changes);
        g_ptr_array_unref(today.builders);
        g_ptr_array_unref(today.devices);
    }
}

/* The coordinator does not know kernels/, so it has the names once more. */
static void toolchains_are_those_that_compile_for_the_vendor(void)
{
    for (int i = 0; i < toolchain_table_count; i++)
        g_assert_true(g_strv_contains(stack_toolchains(toolchain_table[i]->vendor),
                                      toolchain_table[i]->name));
    for (enum vendor vendor = VENDOR_AMD; vendor <= VENDOR_CPU; vendor++)
        for (const char *const *name = stack_toolchains(vendor); *name; name++)
            g_assert_nonnull(toolchain_find(*name));
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/night_stacks/only_what_matters_for_the_target_is_compared",
                    only_what_matters_for_the_target_is_compared);
    g_test_add_func("/night_stacks/toolchains_are_those_that_compile_for_the_vendor",
                    toolchains_are_those_that_compile_for_the_vendor);
    return g_test_run();
}
