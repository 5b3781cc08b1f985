/* The real PoCL: sources that it compiles or refuses, and binaries that another process loads. */
#include <ftw.h>
#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/toolchains/opencl.h"
#include "solvers/framework/solver.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/temp_folder.h"

static const struct toolchain *toolchain;
static struct target host;

static void compile_fails_with_a_log(void)
{
    g_autoptr(GError) error = NULL;
    struct code_object object;

    g_assert_false(toolchain->compile("__kernel void broken(__global int *x) { x[0] = nowhere; }",
                                      "-DA=1", "broken", &host, &object, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE);
    g_assert_nonnull(object.log);
    g_assert_nonnull(strstr(object.log, "nowhere"));
    g_assert_null(object.code);
    code_object_clear(&object);
}

/* The toolchain adds declarations before the source and passes options: line numbers in the log are
 * still those of the source. */
static void lines_of_a_log_are_the_sources(void)
{
    static const char source[] = "\n\n__kernel void broken(__global int *x) { x[0] = nowhere; }";
    static const char options[] = "-DTYPE=FP16 -DVECTOR=1 -DN=3 -DLOAD=2";
    struct code_object object;

    g_assert_false(toolchain->compile(source, options, "broken", &host, &object, NULL));
    g_test_message("%s", object.log);
    g_assert_nonnull(strstr(object.log, ".cl:3:48"));
    g_assert_null(strstr(object.log, "warning"));
    code_object_clear(&object);
}

static void compile_refuses_an_entry_that_is_not_there(void)
{
    g_autoptr(GError) error = NULL;
    struct code_object object;

    g_assert_false(toolchain->compile("__kernel void here(__global int *x) { x[0] = 1; }", "",
                                      "there", &host, &object, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE);
    code_object_clear(&object);
}

static void compile_launches(const struct solution *solution)
{
    for (int i = 0; i < solution->launch_count; i++) {
        const struct launch *launch = &solution->launches[i];
        g_autoptr(GError) error = NULL;
        const struct kernel_source *source = kernel_source_find(launch->file, &error);
        struct code_object object;

        g_assert_no_error(error);
        g_assert_true(toolchain->compile(source->text, launch->options, launch->entry, &host,
                                         &object, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(g_bytes_get_size(object.code), >, 0);
        g_assert_cmpstr(object.log, ==, "");
        g_assert_cmpfloat(object.seconds, >, 0);
        g_test_message("%s: %.2f s, %" G_GSIZE_FORMAT " bytes", launch->entry, object.seconds,
                       g_bytes_get_size(object.code));
        code_object_clear(&object);
    }
}

static const char *cache; /* PoCL's folder */

static int halve_objects(const char *path, const struct stat *status, int type, struct FTW *place)
{
    g_autofree char *bytes = NULL;
    gsize size;
    (void)status;
    (void)place;
    if (type != FTW_F || !g_str_has_suffix(path, ".so"))
        return 0;
    g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
    g_assert_true(g_file_set_contents(path, bytes, (gssize)(size / 2), NULL));
    return 0;
}

/* A full disk cuts off files of PoCL's cache, which PoCL takes for complete: compiling fails
 * instead of returning a binary that is cut off. */
static void compile_gives_no_half_of_a_binary(void)
{
    static const char source[] = "__kernel __attribute__((reqd_work_group_size(16, 1, 1)))"
                                 "  void hollow(__global int *x) { x[get_global_id(0)] = 16; }";
    g_autoptr(GError) error = NULL;
    struct code_object object;

    g_assert_true(toolchain->compile(source, "", "hollow", &host, &object, &error));
    code_object_clear(&object);
    g_assert_cmpint(nftw(cache, halve_objects, 16, FTW_PHYS), ==, 0);
    g_assert_false(toolchain->compile(source, "", "hollow", &host, &object, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_CRASH);
    g_assert_nonnull(strstr(error->message, "cut off"));
    g_assert_null(object.code);
    code_object_clear(&object);
}

/* Compiles each solver's default for the problem, except solvers and directions that `seen` has
 * from an earlier problem. */
static void compile_defaults(struct problem *p, const struct context *context,
                             bool (*seen)[DIRECTION_COUNT])
{
    problem_set_output(p);
    for (int i = 0; i < solver_table_count; i++) {
        for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
            struct perf_config config;
            struct solution solution;
            p->direction = (enum direction)direction;
            if (seen[i][direction] || !solver_applicable(solver_table[i], p, context, NULL))
                continue;
            seen[i][direction] = true;
            solver_table[i]->default_config(p, context, &config);
            g_assert_true(solver_solve(solver_table[i], p, context, &config, &solution, NULL));
            compile_launches(&solution);
        }
    }
}

/* A plain, a depthwise, a pointwise and a large-filter problem, which together reach every
 * solver. */
static void every_default_compiles_without_a_warning(void)
{
    static const struct {
        int filter, groups;
    } cases[] = {{3, 1}, {3, 32}, {1, 1}, {7, 1}};
    g_autofree bool(*seen)[DIRECTION_COUNT] = g_malloc0_n((gsize)solver_table_count, sizeof *seen);

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct context context;
        struct problem p;

        context_init(&context, &host);
        problem_init(&p);
        p.c = p.k = 32;
        p.groups = cases[i].groups;
        p.in[AXIS_H] = p.in[AXIS_W] = 14;
        p.fil[AXIS_H] = p.fil[AXIS_W] = cases[i].filter;
        p.pad[AXIS_H] = p.pad[AXIS_W] = cases[i].filter / 2;
        compile_defaults(&p, &context, seen);
    }
}

static void other_targets_are_refused_with_the_reason(void)
{
    static const struct {
        const char *id, *word;
    } cases[] = {{"gfx90a68", "CPUs"}, {"sm_90_132_80g", "CPUs"}, {"cpu-pentium4_2", "pentium4"}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct target target;
        g_assert_true(target_parse(cases[i].id, &target, NULL));
        g_assert_false(toolchain->can_compile(&target, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
        g_assert_nonnull(strstr(error->message, cases[i].word));
    }
    g_assert_true(toolchain->can_compile(&host, NULL));
}

static void version_names_pocl_and_llvm(void)
{
    const char *version = toolchain->version(&host, NULL);

    g_assert_true(g_str_has_prefix(version, "PoCL "));
    g_assert_nonnull(strstr(version, " LLVM "));
    g_assert_true(g_str_has_prefix(host.id, "cpu-"));
    g_assert_cmpint(host.compute_units, >, 0);
    g_assert_cmpint(host.vector_bytes, >=, 16);
}

static void table_is_found_by_name_and_target(void)
{
    for (int i = 0; i < toolchain_table_count; i++)
        g_assert_true(toolchain_find(toolchain_table[i]->name) == toolchain_table[i]);
    g_assert_null(toolchain_find("cobol"));
    g_assert_true(toolchain_for_target(&host, NULL, NULL) == toolchain);
}

static void unknown_source_is_an_error(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(kernel_source_find("none.cl", &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_SOURCE);
    for (size_t i = 0; i < kernel_sources_count; i++)
        g_assert_true(kernel_source_find(kernel_sources[i].file, NULL) == &kernel_sources[i]);
}

static void key_changes_with_each_ingredient(void)
{
    struct launch launch = {.entry = "a", .options = "-DA=1"};
    struct toolchain other = *toolchain;
    struct target target = host;
    char keys[13][KERNEL_KEY_LENGTH + 1];

    kernel_key("aa", &launch, &target, toolchain, "1", keys[0]);
    kernel_key("ab", &launch, &target, toolchain, "1", keys[1]);
    kernel_key("aa", &launch, &target, toolchain, "2", keys[2]);
    other.name = "other";
    kernel_key("aa", &launch, &target, &other, "1", keys[3]);
    other = *toolchain;
    other.flags = "-O0";
    kernel_key("aa", &launch, &target, &other, "1", keys[4]);
    launch.entry = "b";
    kernel_key("aa", &launch, &target, toolchain, "1", keys[5]);
    launch.entry = "a";
    g_strlcpy(launch.options, "-DA=2", sizeof(launch.options));
    kernel_key("aa", &launch, &target, toolchain, "1", keys[6]);
    g_strlcpy(launch.options, "-DA=1", sizeof(launch.options));
    g_strlcpy(target.arch, "other", sizeof(target.arch));
    kernel_key("aa", &launch, &target, toolchain, "1", keys[7]);
    target = host;
    g_strlcpy(target.features, "_xnack", sizeof(target.features));
    kernel_key("aa", &launch, &target, toolchain, "1", keys[8]);
    target = host;
    launch.program_kind = PROGRAM_ASSEMBLY;
    kernel_key("aa", &launch, &target, toolchain, "1", keys[9]);
    launch.program_kind = PROGRAM_SOURCE;
    other = *toolchain;
    other.prelude = "int f(void);\n";
    kernel_key("aa", &launch, &target, &other, "1", keys[10]);
    other.prelude = NULL;
    kernel_key("aa", &launch, &target, &other, "1", keys[11]);
    /* File and entry have the same letters together, divided at another place: the key must
     * differ. */
    launch.entry = "1a";
    g_strlcpy(launch.options, "-DA=", sizeof(launch.options));
    kernel_key("aa", &launch, &target, toolchain, "1", keys[12]);
    for (int i = 0; i < 13; i++) {
        g_assert_cmpuint(strlen(keys[i]), ==, KERNEL_KEY_LENGTH);
        for (int j = 0; j < i; j++)
            g_assert_cmpstr(keys[i], !=, keys[j]);
    }
}

/* A kernel's key does not contain the target's number of compute units: the kernel serves all
 * targets of an architecture. */
static void key_is_the_same_for_more_units(void)
{
    struct launch launch = {.entry = "a"};
    struct target target = host;
    char a[KERNEL_KEY_LENGTH + 1], b[KERNEL_KEY_LENGTH + 1];

    kernel_key("aa", &launch, &target, toolchain, "1", a);
    target.compute_units += 2;
    target_set_id(&target);
    kernel_key("aa", &launch, &target, toolchain, "1", b);
    g_assert_cmpstr(a, ==, b);
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    cl_device_id device;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    cache = temp_folder_path(folder, "pocl");
    opencl_environment(cache, NULL);
    if (!opencl_host_device(&device, &host, &error)) {
        g_print("1..0 # SKIP %s\n", error->message);
        return 0;
    }
    toolchain = toolchain_find("opencl");
    g_test_add_func("/toolchain/opencl/version_names_pocl_and_llvm", version_names_pocl_and_llvm);
    g_test_add_func("/toolchain/opencl/compile_fails_with_a_log", compile_fails_with_a_log);
    g_test_add_func("/toolchain/opencl/lines_of_a_log_are_the_sources",
                    lines_of_a_log_are_the_sources);
    g_test_add_func("/toolchain/opencl/compile_refuses_an_entry_that_is_not_there",
                    compile_refuses_an_entry_that_is_not_there);
    g_test_add_func("/toolchain/opencl/compile_gives_no_half_of_a_binary",
                    compile_gives_no_half_of_a_binary);
    g_test_add_func("/toolchain/opencl/every_default_compiles_without_a_warning",
                    every_default_compiles_without_a_warning);
    g_test_add_func("/toolchain/opencl/other_targets_are_refused_with_the_reason",
                    other_targets_are_refused_with_the_reason);
    g_test_add_func("/toolchain/table_is_found_by_name_and_target",
                    table_is_found_by_name_and_target);
    g_test_add_func("/toolchain/unknown_source_is_an_error", unknown_source_is_an_error);
    g_test_add_func("/toolchain/key/changes_with_each_ingredient",
                    key_changes_with_each_ingredient);
    g_test_add_func("/toolchain/key/is_the_same_for_more_units", key_is_the_same_for_more_units);
    return g_test_run();
}
