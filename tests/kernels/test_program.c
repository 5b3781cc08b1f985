/* The three forms of a program are built and run: source in all other tests, assembly and ready
 * objects here. The fault tests' sources are built in, since they have assembly. */
#include "kernels/program.h"

#include <string.h>

#include "kernels/objects/amd_object.h"
#include "tests/support/kernels/conv_trial.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/temp_folder.h"

static TempFolder *folder;
static struct solution_runner *runner; /* NULL without PoCL */

static void set_problem(struct problem *p)
{
    problem_init(p);
    p->c = 5;
    p->k = 7;
    p->in[AXIS_H] = p->in[AXIS_W] = 9;
    p->fil[AXIS_H] = p->fil[AXIS_W] = 3;
    problem_set_output(p);
}

/* Makes ConvDirectNaive's solution for the problem. */
static void solve(const struct problem *p, struct solution *solution)
{
    const struct perf_config none = {0};
    struct context context;

    context_init(&context, solution_runner_target(runner));
    g_assert_true(solver_solve(solver_find("ConvDirectNaive"), p, &context, &none, solution, NULL));
}

/* Stores bytes where the object `file` for the architecture is looked up. */
static void store_object(const char *arch, const char *file, GBytes *bytes)
{
    g_autofree char *path = g_build_filename(temp_folder_path(folder, "objects"), arch, NULL);
    g_autofree char *name = g_build_filename(path, file, NULL);
    gsize size;
    const char *data = g_bytes_get_data(bytes, &size);

    g_assert_cmpint(g_mkdir_with_parents(path, 0700), ==, 0);
    g_assert_true(g_file_set_contents(name, data, (gssize)size, NULL));
}

/* A solution whose kernel is a ready object runs; it replaces ConvDirectNaive's source and
 * options. */
static void a_ready_object_runs(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autoptr(GError) error = NULL;
    struct code_object object;
    struct solution solution;
    struct conv_trial trial;
    struct problem p;

    if (!runner) {
        g_test_skip("no PoCL on this machine");
        return;
    }
    set_problem(&p);
    solve(&p, &solution);
    const struct program source = {solution.launches[0].file, solution.launches[0].options,
                                   solution.launches[0].entry, NULL};
    g_assert_true(program_build(toolchain_find("opencl"), &source, solution_runner_target(runner),
                                &object, &error));
    g_assert_no_error(error);
    store_object(solution_runner_target(runner)->arch, "ready.co", object.code);
    code_object_clear(&object);
    solution.launches[0].file = "ready.co";
    solution.launches[0].program_kind = program_kind_of("ready.co");
    solution.launches[0].options[0] = '\0';
    g_assert_cmpint(solution.launches[0].program_kind, ==, PROGRAM_OBJECT);
    conv_trial_init(&trial, &p, TRIAL_PADDED, random);
    conv_trial_run(&trial, runner, &solution);
    g_assert_cmpint(conv_trial_wrong(&trial, NULL, NULL), ==, 0);
    g_assert_cmpint(conv_trial_stray(&trial), ==, 0);
    conv_trial_clear(&trial);
}

static void an_objects_bytes_are_its_identity(void)
{
    char first[PROGRAM_HASH_LENGTH + 1], second[PROGRAM_HASH_LENGTH + 1];
    g_autoptr(GBytes) one = g_bytes_new_static("one", 3);
    g_autoptr(GBytes) two = g_bytes_new_static("two", 3);
    struct target target;

    g_assert_true(target_parse("cpu-znver4_16", &target, NULL));
    store_object("znver4", "changing.co", one);
    g_assert_true(program_hash("changing.co", &target, first, NULL));
    store_object("znver4", "changing.co", two);
    g_assert_true(program_hash("changing.co", &target, second, NULL));
    g_assert_cmpstr(first, !=, second);
    g_assert_true(program_hash("conv_direct_naive.cl", &target, first, NULL));
}

/* The file may be replaced between hashing and reading: the object is refused if its hash differs
 * then. */
static void an_object_that_was_replaced_is_not_taken(void)
{
    g_autoptr(GBytes) one = g_bytes_new_static("one", 3);
    g_autoptr(GBytes) two = g_bytes_new_static("two", 3);
    g_autoptr(GError) error = NULL;
    char hash[PROGRAM_HASH_LENGTH + 1];
    const struct program program = {"replaced.co", "", "copy", hash};
    struct code_object object;
    struct target target;

    g_assert_true(target_parse("cpu-znver4_16", &target, NULL));
    store_object("znver4", "replaced.co", one);
    g_assert_true(program_hash("replaced.co", &target, hash, NULL));
    g_assert_true(program_build(toolchain_find("opencl"), &program, &target, &object, &error));
    g_assert_no_error(error);
    code_object_clear(&object);
    store_object("znver4", "replaced.co", two);
    g_assert_false(program_build(toolchain_find("opencl"), &program, &target, &object, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_SOURCE);
    g_assert_nonnull(strstr(error->message, "not the object that was asked for"));
    code_object_clear(&object);
}

static void check_refused(const char *toolchain, const char *file, const char *id,
                          enum kernels_error code, const char *words)
{
    const struct program program = {file, "", "copy", NULL};
    g_autoptr(GError) error = NULL;
    struct code_object object;
    struct target target;

    g_assert_true(target_parse(id, &target, NULL));
    g_assert_false(program_build(toolchain_find(toolchain), &program, &target, &object, &error));
    g_assert_error(error, KERNELS_ERROR, (int)code);
    if (error && !strstr(error->message, words))
        g_test_message("no '%s' in: %s", words, error->message);
    g_assert_true(error && strstr(error->message, words));
    code_object_clear(&object);
}

static void missing_and_damaged_objects_are_named(void)
{
    g_autoptr(GBytes) nothing = g_bytes_new_static("", 0);
    g_autoptr(GBytes) text = g_bytes_new_static("no object at all", 16);

    check_refused("opencl", "absent.co", "cpu-znver4_16", KERNELS_ERROR_SOURCE, "absent.co");
    check_refused("opencl", "copy.s", "cpu-znver4_16", KERNELS_ERROR_COMPILE, "assembles nothing");
    check_refused("opencl", "absent.s", "cpu-znver4_16", KERNELS_ERROR_SOURCE, "absent.s");
    store_object("znver4", "empty.co", nothing);
    check_refused("opencl", "empty.co", "cpu-znver4_16", KERNELS_ERROR_OBJECT, "empty");
    store_object("gfx90a", "damaged.co", text);
    check_refused("clang", "damaged.co", "gfx90a68", KERNELS_ERROR_OBJECT, "damaged.co");
    g_unsetenv("SKIPJACK_OBJECTS");
    check_refused("opencl", "absent.co", "cpu-znver4_16", KERNELS_ERROR_SOURCE, "SKIPJACK_OBJECTS");
    g_setenv("SKIPJACK_OBJECTS", temp_folder_path(folder, "objects"), TRUE);
}

/* ---- assembly ---- */

/* copy.s writes y[i * STEP] = x[i] for one wave; STEP is a symbol that the options define. */
static bool assemble(const char *options, struct code_object *object, GError **error)
{
    const struct program program = {"copy.s", options, "copy", NULL};
    struct target target;

    g_assert_true(target_parse("gfx900_56", &target, NULL));
    return program_build(toolchain_find("clang"), &program, &target, object, error);
}

static bool clang_or_skip(void)
{
    g_autoptr(GError) error = NULL;
    struct target target;

    g_assert_true(target_parse("gfx900_56", &target, NULL));
    if (toolchain_find("clang")->can_compile(&target, &error))
        return true;
    g_test_skip(error->message);
    return false;
}

static void assembly_is_configured_by_symbols(void)
{
    g_autoptr(GError) error = NULL;
    struct code_object two, three, none;
    struct amd_object read;

    if (!clang_or_skip())
        return;
    g_assert_true(assemble("-DSTEP=2", &two, &error));
    g_assert_no_error(error);
    g_assert_true(assemble("-DSTEP=3", &three, &error));
    g_assert_cmpint(two.registers, ==, 4);
    g_assert_true(amd_object_read(two.code, "copy", &read, NULL));
    g_assert_cmpstr(read.target, ==, "gfx900");
    g_assert_false(g_bytes_equal(two.code, three.code));
    g_assert_false(assemble("", &none, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE);
    g_assert_nonnull(strstr(none.log, "STEP"));
    code_object_clear(&two);
    code_object_clear(&three);
    code_object_clear(&none);
}

/* An assembled kernel is accepted as a ready object for its architecture, and refused for other
 * ones. */
static void an_object_for_another_gpu_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    struct code_object object, ready;
    struct target target;

    if (!clang_or_skip())
        return;
    g_assert_true(assemble("-DSTEP=1", &object, &error));
    store_object("gfx900", "copy.co", object.code);
    store_object("gfx90a", "copy.co", object.code);
    g_assert_true(target_parse("gfx900_56", &target, NULL));
    const struct program program = {"copy.co", "", "copy", NULL};
    g_assert_true(program_build(toolchain_find("clang"), &program, &target, &ready, &error));
    g_assert_no_error(error);
    g_assert_cmpint(ready.registers, ==, 4);
    check_refused("clang", "copy.co", "gfx90a68", KERNELS_ERROR_OBJECT, "gfx900");
    code_object_clear(&object);
    code_object_clear(&ready);
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) made = temp_folder_new();
    int status;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    folder = made;
    g_setenv("SKIPJACK_OBJECTS", temp_folder_path(folder, "objects"), TRUE);
    runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    g_test_add_func("/program/a_ready_object_runs", a_ready_object_runs);
    g_test_add_func("/program/an_objects_bytes_are_its_identity",
                    an_objects_bytes_are_its_identity);
    g_test_add_func("/program/an_object_that_was_replaced_is_not_taken",
                    an_object_that_was_replaced_is_not_taken);
    g_test_add_func("/program/missing_and_damaged_objects_are_named",
                    missing_and_damaged_objects_are_named);
    g_test_add_func("/program/assembly_is_configured_by_symbols",
                    assembly_is_configured_by_symbols);
    g_test_add_func("/program/an_object_for_another_gpu_is_refused",
                    an_object_for_another_gpu_is_refused);
    status = g_test_run();
    if (runner)
        solution_runner_free(runner);
    return status;
}
