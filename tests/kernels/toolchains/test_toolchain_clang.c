/* This machine's clangs, and scripts that stand in for a clang that misbehaves. */
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/kernels/toolchain_check.h"
#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"

#define KERNEL_TEXT                                                                                \
    "extern \"C\" __attribute__((global)) void copy(const float *x, float *y)\n"                   \
    "{ int i = __builtin_amdgcn_workitem_id_x(); y[i * STEP] = x[i]; }\n"

static const struct toolchain *toolchain;
static char *temporary; /* the process's temporary folder */

static void set_target(struct target *target, const char *id)
{
    g_assert_true(target_parse(id, target, NULL));
}

static guint entries_in(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    guint count = 0;
    while (folder && g_dir_read_name(folder))
        count++;
    return count;
}

/* Makes the toolchain use the clang of this name. Skips the test if it is not installed. */
static bool clang_or_skip(const char *name)
{
    g_setenv("SKIPJACK_CLANG", name, TRUE);
    return toolchain_serves_or_skip(toolchain, "gfx90a68");
}

static bool compile(struct code_object *object, GError **error)
{
    return toolchain_compile_copy(toolchain, KERNEL_TEXT, "gfx90a68", object, error);
}

/* ---- installed clangs ---- */

static void compiles_the_same_bytes_again(gconstpointer name)
{
    static const struct {
        const char *id, *name;
    } targets[] = {{"gfx90a68", "gfx90a"},
                   {"gfx1030_36", "gfx1030"},
                   {"gfx90a_sramecc_noxnack68", "gfx90a:sramecc+:xnack-"}};
    if (!clang_or_skip(name))
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(targets); i++)
        toolchain_check_equal_bytes(toolchain, KERNEL_TEXT, targets[i].id, targets[i].name);
}

static void facts_are_reported(void)
{
    static const char text[] =
        "extern \"C\" __attribute__((global)) void copy(const float *x, float *y)\n"
        "{ static __attribute__((shared)) float local[64]; volatile float held[4];\n"
        "  int i = __builtin_amdgcn_workitem_id_x(); held[i & 3] = x[i]; local[i] = x[i + 1];\n"
        "  __builtin_amdgcn_s_barrier(); y[i] = local[63 - i] + held[i & 1]; }\n";
    struct code_object object;
    g_autoptr(GError) error = NULL;
    if (!clang_or_skip("clang-15"))
        return;
    g_assert_true(toolchain_compile_copy(toolchain, text, "gfx90a68", &object, &error));
    g_assert_no_error(error);
    g_assert_cmpint(object.local_bytes, ==, 256);
    g_assert_cmpint(object.scratch_bytes, >=, 16);
    code_object_clear(&object);
}

static void refused_sources_have_reason_and_log(void)
{
    static const struct {
        const char *text;
        enum kernels_error code;
        const char *message, *log;
    } cases[] = {
        {"nowhere here;\n", KERNELS_ERROR_COMPILE, "refused copy", "unknown type name 'nowhere'"},
        {"int missing(int);\n" KERNEL_TEXT "__attribute__((device)) int missing(int);\n"
         "extern \"C\" __attribute__((global)) void more(int *y) { *y = missing(1); }\n",
         KERNELS_ERROR_COMPILE, "refused copy", "missing"},
        {"extern \"C\" __attribute__((global)) void other() {}\n", KERNELS_ERROR_COMPILE,
         "no kernel 'copy'", ""},
        {"#include <stdio.h>\n" KERNEL_TEXT, KERNELS_ERROR_COMPILE, "refused copy", "stdio.h"},
        {"#pragma clang __debug crash\n", KERNELS_ERROR_CRASH, "Illegal instruction", "Stack dump"},
        {"#pragma clang __debug llvm_fatal_error\n", KERNELS_ERROR_CRASH, "an internal error",
         "fatal error"},
    };
    if (!clang_or_skip("clang-15"))
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        toolchain_check_refuses_source(toolchain, "gfx90a68", cases[i].text, cases[i].code,
                                       cases[i].message, cases[i].log);
        g_assert_cmpuint(entries_in(temporary), ==, 0);
    }
}

static void unknown_targets_are_refused(void)
{
    static const struct {
        const char *id, *word;
    } cases[] = {{"cpu-znver3_16", "AMD's GPUs"},
                 {"sm_90_132_80g", "AMD's GPUs"},
                 {"gfx1201_64", "invalid target ID 'gfx1201'"},
                 {"gfx1030_xnack_36", "invalid target ID 'gfx1030:xnack+'"}};
    if (!clang_or_skip("clang-15"))
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct target target;
        set_target(&target, cases[i].id);
        g_assert_false(toolchain->can_compile(&target, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET);
        g_assert_nonnull(strstr(error->message, cases[i].word));
        g_assert_null(toolchain->version(&target, NULL));
    }
}

/* The first clang of the list that knows a target compiles for it; the version names that clang. */
static void each_target_has_the_first_that_knows_it(void)
{
    struct target old, new;
    const char *all;
    if (!clang_or_skip("clang-19") || !clang_or_skip("clang-15,clang-19"))
        return;
    set_target(&old, "gfx900_64");
    set_target(&new, "gfx1201_64");
    g_assert_true(g_str_has_prefix(toolchain->version(&old, NULL), "15."));
    g_assert_true(g_str_has_prefix(toolchain->version(&new, NULL), "19."));
    all = toolchain->version(NULL, NULL);
    g_assert_true(g_str_has_prefix(all, "15."));
    g_assert_nonnull(strstr(all, ", 19."));
    g_assert_true(toolchain->version(NULL, NULL) == all);
    g_unsetenv("SKIPJACK_CLANG");
    g_assert_true(g_str_has_prefix(toolchain->version(&old, NULL), "19."));
}

/* ---- no clang, and broken ones ---- */

static void a_missing_one_is_named_with_the_remedy(void)
{
    g_autoptr(GError) error = NULL;
    struct code_object object;
    g_setenv("SKIPJACK_CLANG", "clang-of-nobody", TRUE);
    g_assert_null(toolchain->version(NULL, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_false(compile(&object, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "clang-of-nobody: it is not on this machine"));
    g_assert_nonnull(strstr(error->message, "install Debian's clang-19 and lld-19"));
    code_object_clear(&object);
}

/* Writes a script as a clang: it answers --version, and runs `then` when it is to compile. */
static void script_clang(TempFolder *folder, const char *then, bool with_linker)
{
    g_autofree char *text =
        g_strdup_printf("#!/bin/sh\n[ $1 = --version ] && echo 'Odd clang version 9.9 (build 7)' "
                        "&& exit\n%s\n",
                        then);
    const char *path = temp_folder_write(folder, "clang", text, -1);
    g_chmod(path, 0700);
    g_setenv("SKIPJACK_CLANG", path, TRUE);
    if (with_linker)
        g_chmod(temp_folder_write(folder, "ld.lld", "", 0), 0700);
}

static void one_without_a_linker_is_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    script_clang(folder, "exit 0", false);
    struct target target;
    set_target(&target, "gfx90a68");
    g_assert_false(toolchain->can_compile(&target, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "no linker ld.lld lies beside"));
}

/* A compiler cache (ccache) earlier in PATH has every compiler's name: it is skipped, with or
 * without a linker beside it. */
static void a_compiler_cache_in_path_is_skipped(gconstpointer with_linker)
{
    g_autoptr(TempFolder) cache = temp_folder_new();
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *name = with_linker ? "clang-by-a-linker" : "clang-without";
    g_autofree char *usual = g_strdup(g_getenv("PATH")), *path = NULL;
    g_autoptr(GError) error = NULL;
    g_chmod(temp_folder_write(cache, name, "#!/bin/sh\necho cache version 4\n", -1), 0700);
    if (with_linker)
        g_chmod(temp_folder_write(cache, "ld.lld", "", 0), 0700);
    script_clang(folder, "exit 0", true);
    g_assert_cmpint(symlink("clang", temp_folder_path(folder, name)), ==, 0);
    path =
        g_strjoin(":", temp_folder_path(cache, NULL), temp_folder_path(folder, NULL), usual, NULL);
    g_setenv("PATH", path, TRUE);
    g_setenv("SKIPJACK_CLANG", name, TRUE);
    g_assert_cmpstr(toolchain->version(NULL, &error), ==, "9.9 Odd (build 7)");
    g_assert_no_error(error);
    g_setenv("PATH", usual, TRUE);
}

static void a_version_tells_whose_build_it_is(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    script_clang(folder, "exit 0", true);
    g_assert_cmpstr(toolchain->version(NULL, NULL), ==, "9.9 Odd (build 7)");
}

/* The clang compiles its trial for the target, and is killed by a signal over the kernel: the error
 * names the signal. */
static void a_signal_is_named(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct code_object object;
    script_clang(folder,
                 "mkdir left; echo x >left/file; grep -q nothing kernel.cl || kill -SEGV $$", true);
    g_assert_false(compile(&object, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_CRASH);
    g_assert_nonnull(strstr(error->message, "clang 9.9 Odd (build 7) crashed over copy: "
                                            "Segmentation fault"));
    code_object_clear(&object);
}

/* A full disk or a killed compiler is reported as a failure of the machine, not of the kernel. */
static void failures_of_the_machine_are_not_the_kernels(void)
{
    static const struct {
        const char *then, *words;
    } cases[] = {
        {"echo 'LLVM ERROR: IO failure on output stream: No space left on device' >&2; exit 1",
         "No space left on device"},
        {"echo 'LLVM ERROR: IO failure on output stream: File too large' >&2; exit 1",
         "File too large"},
        {"echo \"error: unable to open output file '/tmp/a.o': 'Input/output error'\"; exit 1",
         "unable to open output file"},
        {"echo 'clang: error: unable to execute command: Killed' >&2; exit 254", "Killed"},
        {"kill -KILL $$", "Killed"},
        {"kill -TERM $$", "Terminated"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        struct code_object object;
        g_autofree char *then =
            g_strconcat("grep -q nothing kernel.cl && exit\n", cases[i].then, NULL);
        script_clang(folder, then, true);
        g_assert_false(compile(&object, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, cases[i].words));
        code_object_clear(&object);
    }
}

/* The trial fails once for a reason of the machine: the failure is not remembered, and no other
 * clang is used instead. */
static void a_trial_that_the_machine_ends_is_made_again(void)
{
    static const char *const ends[] = {
        "echo 'clang: error: amdgcn-link command failed with exit code 1'; exit 1",
        "echo \"lld: error: failed to open kernel-gfx90a.o: No space left on device\"; exit 1",
        "kill -KILL $$"};
    struct target target;
    set_target(&target, "gfx90a68");
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        g_autofree char *then =
            g_strdup_printf("[ -e %s ] && exit\n%s", temp_folder_path(folder, "mended"), ends[i]);
        script_clang(folder, then, true);
        g_autofree char *both = g_strconcat(g_getenv("SKIPJACK_CLANG"), ",clang-15", NULL);
        g_setenv("SKIPJACK_CLANG", both, TRUE);
        g_assert_null(toolchain->version(&target, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE);
        temp_folder_write(folder, "mended", "", 0);
        g_assert_cmpstr(toolchain->version(&target, NULL), ==, "9.9 Odd (build 7)");
    }
}

static bool is_gone(const char *pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%.*s/stat", (int)strcspn(pid, "\n"), pid);
    g_autofree char *stat = NULL;
    /* a zombie counts as dead, too */
    return !g_file_get_contents(path, &stat, NULL, NULL) || strstr(stat, ") Z ");
}

/* The clang hangs over the kernel, and the process that waits for it is killed: the clang dies,
 * too. */
static void a_clang_dies_with_its_caller(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *then =
        g_strdup_printf("grep -q nothing kernel.cl && exit\n"
                        "rm -r \"$PWD\"; echo $$ >%s.new; mv %s.new %s; exec sleep 900",
                        temp_folder_path(folder, "pid"), temp_folder_path(folder, "pid"),
                        temp_folder_path(folder, "pid"));
    g_autofree char *pid = NULL;
    gint64 limit = patience_end();
    pid_t caller;
    script_clang(folder, then, true);
    caller = fork();
    if (caller == 0) {
        struct code_object object;
        _exit(compile(&object, NULL));
    }
    while (!g_file_get_contents(temp_folder_path(folder, "pid"), &pid, NULL, NULL) &&
           g_get_monotonic_time() < limit)
        g_usleep(10000);
    g_assert_true(pid && !is_gone(pid));
    kill(caller, SIGKILL);
    waitpid(caller, NULL, 0);
    while (pid && !is_gone(pid) && g_get_monotonic_time() < limit)
        g_usleep(10000);
    g_assert_true(pid && is_gone(pid));
}

static void success_without_an_object_is_a_failure(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct code_object object;
    script_clang(folder, "exit 0", true);
    g_assert_false(compile(&object, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE);
    g_assert_null(object.code);
    code_object_clear(&object);
}

/* Runs after all other tests: no temporary file is left. */
static void nothing_is_left_behind(void)
{
    g_assert_cmpuint(entries_in(temporary), ==, 0);
}

int main(int argc, char **argv)
{
    /* Sets a temporary folder of this process's own before GLib reads TMPDIR, so that files left in
     * it are found. */
    const char *parent = g_getenv("TMPDIR");
    g_autofree char *pattern =
        g_build_filename(parent ? parent : "/tmp", "skipjack-test-XXXXXX", NULL);
    int status;
    temporary = g_mkdtemp(pattern);
    g_setenv("TMPDIR", temporary, TRUE);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    toolchain = toolchain_find("clang");
    g_test_add_data_func("/toolchain/clang/15_compiles_the_same_bytes_again", "clang-15",
                         compiles_the_same_bytes_again);
    g_test_add_data_func("/toolchain/clang/19_compiles_the_same_bytes_again", "clang-19",
                         compiles_the_same_bytes_again);
    g_test_add_func("/toolchain/clang/facts_are_reported", facts_are_reported);
    g_test_add_func("/toolchain/clang/refused_sources_have_reason_and_log",
                    refused_sources_have_reason_and_log);
    g_test_add_func("/toolchain/clang/unknown_targets_are_refused", unknown_targets_are_refused);
    g_test_add_func("/toolchain/clang/each_target_has_the_first_that_knows_it",
                    each_target_has_the_first_that_knows_it);
    g_test_add_func("/toolchain/clang/a_missing_one_is_named_with_the_remedy",
                    a_missing_one_is_named_with_the_remedy);
    g_test_add_func("/toolchain/clang/one_without_a_linker_is_refused",
                    one_without_a_linker_is_refused);
    g_test_add_data_func("/toolchain/clang/a_compiler_cache_in_path_is_skipped", NULL,
                         a_compiler_cache_in_path_is_skipped);
    g_test_add_data_func("/toolchain/clang/so_is_one_beside_a_linker", "",
                         a_compiler_cache_in_path_is_skipped);
    g_test_add_func("/toolchain/clang/a_version_tells_whose_build_it_is",
                    a_version_tells_whose_build_it_is);
    g_test_add_func("/toolchain/clang/a_signal_is_named", a_signal_is_named);
    g_test_add_func("/toolchain/clang/failures_of_the_machine_are_not_the_kernels",
                    failures_of_the_machine_are_not_the_kernels);
    g_test_add_func("/toolchain/clang/a_trial_that_the_machine_ends_is_made_again",
                    a_trial_that_the_machine_ends_is_made_again);
    g_test_add_func("/toolchain/clang/a_clang_dies_with_its_caller", a_clang_dies_with_its_caller);
    g_test_add_func("/toolchain/clang/success_without_an_object_is_a_failure",
                    success_without_an_object_is_a_failure);
    g_test_add_func("/toolchain/clang/nothing_is_left_behind", nothing_is_left_behind);
    status = g_test_run();
    g_rmdir(temporary);
    return status;
}
