/*
 * Kernels a second that one core builds, by each toolchain that is here and by
 * hipcc as a process: the default kernels of all solvers for a 3x3 in FP32,
 * channels first, and a 1x1 in FP16, channels last. AMD's are of gfx90a, which
 * all of its compilers serve. hipcc compiles the same text, once as it is and
 * once behind HIP's header, as kernels written for hipcc begin. The assembly
 * form is what clang makes of the kernel, written out before the clock starts.
 * The result counts processor time, including that of child processes, so other
 * work on the machine does not matter; wall time is printed beside it. Targets are
 * tried and libraries opened before the clock starts. All toolchains of a target
 * build the same kernels.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "kernels/kernel_source.h"
#include "kernels/toolchains/compiler_run.h"
#include "kernels/toolchains/opencl.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/temp_folder.h"

#define KERNELS    32 /* most kernels of a target */
#define GOAL_RATIO 5.0
#define AMD_TARGET "gfx90a68"
#define ARGUMENTS  64

static const char *const problem_keys[] = {
    "64-28-28-3x3-64-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F",
    "256-14-14-1x1-64-14-14-16-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
};

struct kernel {
    struct launch launch;
    const char *text;
    char *assembly; /* the kernel's assembly; NULL: it has none */
};

struct build {
    const char *what;
    const struct target *target;
    bool (*one)(const struct build *build, const struct kernel *kernel);
    const struct toolchain *toolchain;
    const char *compiler;     /* hipcc's path */
    const char *const *extra; /* additional arguments of the compiler, NULL-terminated */
};

/* ---- the kernels ---- */

static bool is_there(const GArray *kernels, const struct launch *launch)
{
    for (guint i = 0; i < kernels->len; i++) {
        const struct launch *other = &g_array_index(kernels, struct kernel, i).launch;
        if (strcmp(other->file, launch->file) == 0 && strcmp(other->entry, launch->entry) == 0 &&
            strcmp(other->options, launch->options) == 0)
            return true;
    }
    return false;
}

static void add_kernels(GArray *kernels, const struct solver *solver, const struct problem *problem,
                        const struct context *context)
{
    struct perf_config config = {0};
    struct solution solution;
    if (!solver_applicable(solver, problem, context, NULL))
        return;
    if (solver->default_config)
        solver->default_config(problem, context, &config);
    if (!solver_solve(solver, problem, context, &config, &solution, NULL))
        return;
    for (int i = 0; i < solution.launch_count && kernels->len < KERNELS; i++) {
        struct kernel kernel = {.launch = solution.launches[i]};
        if (kernel.launch.program_kind != PROGRAM_SOURCE || is_there(kernels, &kernel.launch))
            continue;
        kernel.text = kernel_source_find(kernel.launch.file, NULL)->text;
        g_array_append_val(kernels, kernel);
    }
}

static void kernel_clear(gpointer data)
{
    g_free(((struct kernel *)data)->assembly);
}

static GArray *kernels_of(const struct target *target)
{
    GArray *kernels = g_array_new(FALSE, TRUE, sizeof(struct kernel));
    struct context context;
    g_array_set_clear_func(kernels, kernel_clear);
    context_init(&context, target);
    for (size_t i = 0; i < G_N_ELEMENTS(problem_keys); i++) {
        struct problem problem;
        bool parsed = problem_key_parse(problem_keys[i], &problem, NULL);
        g_assert_true(parsed);
        for (int s = 0; s < solver_table_count; s++)
            add_kernels(kernels, solver_table[s], &problem, &context);
    }
    return kernels;
}

/* ---- building one kernel ---- */

static bool by_toolchain(const struct build *build, const struct kernel *kernel)
{
    struct code_object object = {0};
    g_autoptr(GError) error = NULL;
    bool done = build->toolchain->compile(kernel->text, kernel->launch.options,
                                          kernel->launch.entry, build->target, &object, &error);
    if (!done)
        fprintf(stderr, "%s: %s\n", build->what, error->message);
    code_object_clear(&object);
    return done;
}

static bool by_assembler(const struct build *build, const struct kernel *kernel)
{
    struct code_object object = {0};
    g_autoptr(GError) error = NULL;
    bool done =
        kernel->assembly && build->toolchain->assemble(kernel->assembly, "", kernel->launch.entry,
                                                       build->target, &object, &error);
    if (!done)
        fprintf(stderr, "%s: %s\n", build->what, error ? error->message : "clang wrote none");
    code_object_clear(&object);
    return done;
}

/* Runs a compiler with a kernel's options and additional arguments; its output is in the run's
 * folder. */
static bool run_compiler(struct compiler_run *run, const char *compiler,
                         const struct kernel *kernel, const char *const *more)
{
    g_autofree char *path = g_find_program_in_path(compiler);
    g_auto(GStrv) options = g_strsplit(kernel->launch.options, " ", -1);
    const char *argv[ARGUMENTS + 1] = {path};
    int argc = 1;
    g_autoptr(GError) error = NULL;
    for (char **option = options; *option; option++)
        if (**option)
            argv[argc++] = *option;
    for (; *more; more++)
        argv[argc++] = *more;
    g_assert(argc <= ARGUMENTS);
    if (!path || !compiler_run_open(run, &error) ||
        !compiler_run_write(run, "kernel.hip", kernel->text, &error) ||
        !compiler_run_program(run, argv, &error) || run->status != 0) {
        fprintf(stderr, "%s: %s\n", compiler,
                error         ? error->message
                : run->output ? run->output
                              : "not here");
        return false;
    }
    return true;
}

static bool by_hipcc(const struct build *build, const struct kernel *kernel)
{
    g_auto(CompilerRun) run = {0};
    return run_compiler(&run, build->compiler, kernel, build->extra);
}

static void write_assembly(GArray *kernels, const char *clang, const char *flags)
{
    g_autofree char *line = g_strdup_printf(
        "%s -x hip --offload-arch=gfx90a --cuda-device-only -S kernel.hip -o kernel.s", flags);
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    for (guint i = 0; i < kernels->len; i++) {
        struct kernel *kernel = &g_array_index(kernels, struct kernel, i);
        g_auto(CompilerRun) run = {0};
        if (!run_compiler(&run, clang, kernel, (const char *const *)(void *)words))
            return;
        g_autoptr(GBytes) text = compiler_run_read(&run, "kernel.s");
        if (text)
            kernel->assembly = g_strndup(g_bytes_get_data(text, NULL), g_bytes_get_size(text));
    }
}

/* ---- timing ---- */

static double processor_seconds(void)
{
    const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    double seconds = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(whose); i++) {
        struct rusage use;
        getrusage(whose[i], &use);
        seconds += (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                   (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
    }
    return seconds;
}

/* Returns how many kernels a core builds in a second, and prints a row; 0 if it cannot build them.
 * base: hipcc's figure, 0 where hipcc is missing. */
static double measure(const struct build *build, const GArray *kernels, double base)
{
    guint count = kernels->len;
    const struct kernel *list = &g_array_index(kernels, struct kernel, 0);
    double start = processor_seconds(), wall = (double)g_get_monotonic_time();
    for (guint i = 0; i < count; i++)
        if (!build->one(build, &list[i]))
            return 0;
    double seconds = processor_seconds() - start;
    wall = ((double)g_get_monotonic_time() - wall) / G_USEC_PER_SEC;
    double rate = count / seconds;
    printf("%-38s %-14s %7u %8.3f %8.3f %9.2f", build->what, build->target->arch, count,
           seconds / count, wall / count, rate);
    if (base > 0)
        printf(" %8.1f", rate / base);
    printf("\n");
    fflush(stdout);
    return rate;
}

static bool is_here(const struct toolchain *toolchain, const struct target *target)
{
    g_autoptr(GError) error = NULL;
    if (toolchain->can_compile(target, &error))
        return true;
    printf("%-38s skipped: %s\n", toolchain->name, error->message);
    return false;
}

/* ---- the rows ---- */

static double measure_hipcc(const struct target *target, const GArray *kernels)
{
    static const char *const plain[] = {
        "--genco", "--offload-arch=gfx90a", "-O3", "-std=c++17", "-o", "kernel.co", "kernel.hip",
        NULL};
    static const char *const behind[] = {"--genco",    "--offload-arch=gfx90a",
                                         "-O3",        "-std=c++17",
                                         "-include",   "hip/hip_runtime.h",
                                         "-o",         "kernel.co",
                                         "kernel.hip", NULL};
    g_autofree char *path = g_find_program_in_path("hipcc");
    struct build build = {"hipcc, the text alone", target, by_hipcc, NULL, "hipcc", plain};
    if (!path) {
        printf("%-38s skipped: it is not here (deploy/install-deps bench)\n", "hipcc");
        return 0;
    }
    double rate = measure(&build, kernels, 0);
    build.what = "hipcc, behind HIP's header";
    build.extra = behind;
    measure(&build, kernels, rate);
    return rate;
}

/* Measures clang and its assembler. Two clangs serve gfx90a: `name` chooses the one that serves the
 * target and writes the assembly that it then assembles. */
static double measure_clang(const char *name, const struct target *target, GArray *kernels,
                            double base)
{
    const struct toolchain *clang = toolchain_find("clang");
    g_autofree char *what = g_strdup_printf("%s, HIP form", name);
    g_autofree char *assembled = g_strdup_printf("%s, assembly form", name);
    g_setenv("SKIPJACK_CLANG", name, TRUE);
    if (!is_here(clang, target))
        return 0;
    double rate =
        measure(&(struct build){what, target, by_toolchain, clang, NULL, NULL}, kernels, base);
    write_assembly(kernels, name, clang->flags);
    double assembly_rate =
        measure(&(struct build){assembled, target, by_assembler, clang, NULL, NULL}, kernels, base);
    return MAX(rate, assembly_rate);
}

static double measure_amd(double *base)
{
    static const char *const clangs[] = {"clang-15", "clang-19"};
    const struct toolchain *hiprtc = toolchain_find("hiprtc");
    struct target target;
    double best = 0;
    bool parsed = target_parse(AMD_TARGET, &target, NULL);
    g_assert_true(parsed);
    g_autoptr(GArray) kernels = kernels_of(&target);
    *base = measure_hipcc(&target, kernels);
    for (size_t i = 0; i < G_N_ELEMENTS(clangs); i++) {
        double rate = measure_clang(clangs[i], &target, kernels, *base);
        best = MAX(best, rate);
    }
    if (is_here(hiprtc, &target)) {
        double rate = measure(&(struct build){"hiprtc", &target, by_toolchain, hiprtc, NULL, NULL},
                              kernels, *base);
        best = MAX(best, rate);
    }
    return best;
}

static void measure_other(const char *name, const struct target *target, double base)
{
    const struct toolchain *toolchain = toolchain_find(name);
    g_autoptr(GArray) kernels = NULL;
    if (!is_here(toolchain, target))
        return;
    kernels = kernels_of(target);
    measure(&(struct build){name, target, by_toolchain, toolchain, NULL, NULL}, kernels, base);
}

int main(void)
{
    g_autoptr(TempFolder) made = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct target target;
    cl_device_id device;
    double base, best;
    opencl_environment(temp_folder_path(made, "pocl"), NULL);
    printf("%-38s %-14s %7s %8s %8s %9s %8s\n", "", "target", "kernels", "core s", "wall s",
           "a core s", "to hipcc");
    best = measure_amd(&base);
    if (target_parse("sm_90_132_80g", &target, NULL))
        measure_other("nvrtc", &target, base);
    if (opencl_host_device(&device, &target, &error))
        measure_other("opencl", &target, base);
    if (base > 0)
        printf("\nThe best of gfx90a builds %.1f times as many as hipcc (%.1f aimed at).\n",
               best / base, GOAL_RATIO);
    return 0;
}
