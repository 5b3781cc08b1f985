/*
 * Compiles and assembles for AMD's GPUs by clang processes, without HIP's headers and device libraries. A node
 * may have several clangs, since each release knows the architectures of its time. SKIPJACK_CLANG lists them by
 * name or path, separated by commas (unset: CLANG_DEFAULT). A target is compiled by the first that compiles a
 * trial for it; the trial is made once in a process. Newer clangs come first, because they also know more of
 * older chips' hazards. Code objects have version 4, which all of AMD's current runtimes load.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kernels/objects/amd_object.h"
#include "kernels/toolchains/clang_end.h"
#include "kernels/toolchains/compiler_run.h"
#include "kernels/toolchains/toolchain_rows.h"

#define CLANG_DEFAULT "clang-19,clang-15"
#define CLANG_FLAGS                                                                                \
    "-O3 -std=c++17 -mcode-object-version=4 -fuse-cuid=none -nogpuinc -nogpulib -nostdinc "        \
    "-nostdinc++"
#define CLANG_TRIPLE  "amdgcn-amd-amdhsa"
#define ARGUMENTS_MAX 512 /* the most command-line words; a launch's options are far fewer */

/* An installed clang, kept until the process ends. */
struct clang {
    char *path; /* the program with links resolved, since clang finds its tools beside it */
    char *version;
    GHashTable *serves; /* a target's name -> why clang does not compile for it, "" where it does */
};

static GMutex lock; /* guards the list of clangs and their `serves` tables */

/* ---- running clang ---- */

/* Appends the words of a text, pointing into it, to a command line. */
static void add_words(const char **argv, int *argc, char **words)
{
    for (; *words; words++) {
        g_assert(*argc < ARGUMENTS_MAX);
        if (**words)
            argv[(*argc)++] = *words;
    }
}

static void add_common(const char **argv, int *argc, const struct clang *clang)
{
    argv[(*argc)++] = clang->path;
    argv[(*argc)++] = "-fno-crash-diagnostics";
    argv[(*argc)++] = "-Wno-unused-command-line-argument";
}

static bool run_compiler(struct compiler_run *run, const struct clang *clang, const char *target,
                         const char *source, const char *options, GError **error)
{
    g_autofree char *arch = g_strconcat("--offload-arch=", target, NULL);
    g_auto(GStrv) flags = g_strsplit(CLANG_FLAGS, " ", -1);
    g_auto(GStrv) defines = g_strsplit(options, " ", -1);
    const char *const fixed[] = {
        "-x",        "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-c", "kernel.cl", "-o",
        "kernel.co", NULL};
    const char *argv[ARGUMENTS_MAX + 1] = {NULL};
    int argc = 0;

    add_common(argv, &argc, clang);
    argv[argc++] = arch;
    add_words(argv, &argc, flags);
    add_words(argv, &argc, defines);
    add_words(argv, &argc, (char **)(void *)fixed);
    return compiler_run_write(run, "kernel.cl", source, error) &&
           compiler_run_program(run, argv, error);
}

/* The assembler's words for a launch's options: "-DNAME=VALUE" becomes "-Wa,-defsym,NAME=VALUE". */
static char **symbol_options(const char *options)
{
    char **words = g_strsplit(options, " ", -1);

    for (char **word = words; *word; word++) {
        if (g_str_has_prefix(*word, "-D")) {
            char *symbol = g_strconcat("-Wa,-defsym,", *word + 2, NULL);
            g_free(*word);
            *word = symbol;
        }
    }
    return words;
}

static bool run_assembler(struct compiler_run *run, const struct clang *clang, const char *target,
                          const char *source, const char *options, GError **error)
{
    g_autofree char *arch = g_strconcat("-mcpu=", target, NULL);
    g_auto(GStrv) symbols = symbol_options(options);
    const char *const fixed[] = {"-target", CLANG_TRIPLE, "-mcode-object-version=4",
                                 "-x",      "assembler",  "kernel.s",
                                 "-o",      "kernel.co",  NULL};
    const char *argv[ARGUMENTS_MAX + 1] = {NULL};
    int argc = 0;

    add_common(argv, &argc, clang);
    argv[argc++] = arch;
    add_words(argv, &argc, symbols);
    add_words(argv, &argc, (char **)(void *)fixed);
    return compiler_run_write(run, "kernel.s", source, error) &&
           compiler_run_program(run, argv, error);
}

/* ---- which clangs are installed ---- */

/* "Debian clang version 19.1.7 (3~deb12u1)" becomes "19.1.7 Debian (3~deb12u1)". The vendor is part of the
 * version, since vendors change a release. NULL for another text. */
static char *version_text(const char *output)
{
    g_autofree char *line = g_strndup(output, strcspn(output, "\n"));
    char *words = strstr(line, "clang version ");
    char *number, *rest;

    if (!words)
        return NULL;
    number = words + strlen("clang version ");
    rest = number + strcspn(number, " ");
    *words = '\0';
    if (*rest)
        *rest++ = '\0';
    g_strstrip(line);
    return g_strconcat(number, *line ? " " : "", line, *rest ? " " : "", rest, NULL);
}

static char *ask_version(const char *path, GError **error)
{
    g_auto(CompilerRun) run = {0};
    const char *const argv[] = {path, "--version", NULL};
    char *version = NULL;

    if (!compiler_run_open(&run, error) || !compiler_run_program(&run, argv, error))
        return NULL;
    if (run.status == 0)
        version = version_text(run.output);
    if (!version)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "'%s --version' is not what a clang says", path);
    return version;
}

/* Whether AMD's linker is beside clang. It must be, because the linker in PATH may be another release's. */
static bool has_linker(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *linker = g_build_filename(folder, "ld.lld", NULL);

    return g_file_test(linker, G_FILE_TEST_IS_EXECUTABLE);
}

/* The path of a program by name or path, with links resolved; NULL if no such program is found. */
static char *real_program(const char *name)
{
    g_autofree char *found = g_find_program_in_path(name);

    return found ? realpath(found, NULL) : NULL;
}

static struct clang *clang_new(const char *path, GError **error)
{
    char *version = NULL;
    struct clang *clang = NULL;

    if (!has_linker(path))
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "no linker ld.lld lies beside '%s' (Debian's packages are lld-15, lld-19)",
                    path);
    else
        version = ask_version(path, error);
    if (version) {
        clang = g_new(struct clang, 1);
        *clang = (struct clang){g_strdup(path), version,
                                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
    }
    return clang;
}

/* The first program in PATH with this name that is a clang: a compiler cache of the same name may come before it. */
static struct clang *clang_in_path(const char *name)
{
    g_auto(GStrv) folders = g_strsplit(g_getenv("PATH") ? g_getenv("PATH") : "", ":", -1);
    struct clang *clang = NULL;

    for (char **folder = folders; *folder && !clang; folder++) {
        g_autofree char *file = g_build_filename(*folder, name, NULL);
        char *path = real_program(file);
        clang = path ? clang_new(path, NULL) : NULL;
        free(path);
    }
    return clang;
}

/* Opens a clang by name or path. Where none works the error is about the first file of that name. */
static struct clang *clang_open(const char *name, GError **error)
{
    char *first = real_program(name);
    struct clang *clang = first ? clang_new(first, error) : NULL;

    if (!first)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE, "it is not on this machine");
    else if (!clang && !strchr(name, '/') && (clang = clang_in_path(name)))
        g_clear_error(error);
    free(first);
    return clang;
}

/* Under the lock. Finds a clang by name. One that is missing is looked for again at the next call. */
static struct clang *clang_find(const char *name, GError **error)
{
    static GHashTable *clangs;
    struct clang *clang;

    if (!clangs)
        clangs = g_hash_table_new(g_str_hash, g_str_equal);
    clang = g_hash_table_lookup(clangs, name);
    if (!clang) {
        clang = clang_open(name, error);
        if (clang)
            g_hash_table_insert(clangs, g_strdup(name), clang);
    }
    return clang;
}

static const char *clang_list(void)
{
    const char *names = g_getenv("SKIPJACK_CLANG");

    return names && *names ? names : CLANG_DEFAULT;
}

/* ---- which clangs serve a target ---- */

/* The message of a compiler that does not know the target, NULL where the run ended otherwise. */
static char *refusal(const struct compiler_run *run, const char *target)
{
    const char *line = strstr(run->output, "error: ");
    g_autofree char *reason = NULL;

    if (!line || !WIFEXITED(run->status) || WEXITSTATUS(run->status) != 1)
        return NULL;
    line += strlen("error: ");
    reason = g_strndup(line, strcspn(line, ";\n"));
    return strstr(reason, target) || strstr(reason, CLANG_TRIPLE) ? g_steal_pointer(&reason) : NULL;
}

/* Compiles a trial. Returns the compiler's reason against the target, "" without one; NULL where the trial did
 * not finish. */
static char *try_target(const struct clang *clang, const char *target, GError **error)
{
    g_auto(CompilerRun) run = {0};
    char buffer[CLANG_WORDS_MAX];
    const char *words, *outside;
    char *reason;

    if (!compiler_run_open(&run, error) ||
        !run_compiler(&run, clang, target, "extern \"C\" __attribute__((global)) void nothing() {}",
                      "", error))
        return NULL;
    if (run.status == 0)
        return g_strdup("");
    words = clang_crash_words(&run, buffer);
    outside = clang_outside_words(&run, words);
    reason = outside ? NULL : refusal(&run, target);
    if (!reason)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "clang %s could not be tried for %s: %s", clang->version, target,
                    outside ? outside
                    : words ? words
                            : "it fails without a word on the target");
    return reason;
}

/* Under the lock. Whether clang compiles for the target; otherwise the reason is appended. Only the compiler's
 * own answers are remembered: a trial that failed for another reason (error) is made again. */
static bool clang_serves(struct clang *clang, const char *target, GString *reasons, GError **error)
{
    const char *reason = g_hash_table_lookup(clang->serves, target);

    if (!reason) {
        char *tried = try_target(clang, target, error);
        if (!tried)
            return false;
        g_hash_table_insert(clang->serves, g_strdup(target), tried);
        reason = tried;
    }
    if (*reason)
        g_string_append_printf(reasons, "%sclang %s: %s", reasons->len ? "; " : "", clang->version,
                               reason);
    return *reason == '\0';
}

/* Under the lock. The first clang that serves the target, or NULL with each one's reason; *any says whether a clang
 * answered that it does not serve the target. A clang that could not be tried ends the search: it may serve the
 * target at the next trial, and equal kernels would then have two keys, one for each clang's version. */
static struct clang *clang_search(char **names, const char *target, GString *reasons, bool *any)
{
    for (; *names; names++) {
        g_autoptr(GError) why = NULL;
        struct clang *clang = clang_find(g_strstrip(*names), &why);
        if (clang && clang_serves(clang, target, reasons, &why))
            return clang;
        if (why)
            g_string_append_printf(reasons, "%s%s: %s", reasons->len ? "; " : "", *names,
                                   why->message);
        *any = clang ? !why : *any;
        if (clang && why)
            return NULL;
    }
    return NULL;
}

static bool is_amd(const struct target *target, GError **error)
{
    if (target->vendor == VENDOR_AMD)
        return true;
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET,
                "the clang toolchain compiles for AMD's GPUs, and %s is none", target->id);
    return false;
}

static const struct clang *clang_for(const struct target *target, GError **error)
{
    g_auto(GStrv) names = g_strsplit(clang_list(), ",", -1);
    g_autoptr(GString) reasons = g_string_new(NULL);
    char name[AMD_TARGET_MAX];
    const struct clang *clang;
    bool any = false;

    if (!is_amd(target, error))
        return NULL;
    amd_target_name(target, name);
    g_mutex_lock(&lock);
    clang = clang_search(names, name, reasons, &any);
    g_mutex_unlock(&lock);
    if (!clang)
        g_set_error(error, KERNELS_ERROR, any ? KERNELS_ERROR_TARGET : KERNELS_ERROR_UNAVAILABLE,
                    "no clang here compiles for %s (%s): install Debian's clang-19 and lld-19, or "
                    "name others in SKIPJACK_CLANG",
                    name, reasons->str);
    return clang;
}

static bool clang_can_compile(const struct target *target, GError **error)
{
    return clang_for(target, error) != NULL;
}

/* The versions of all clangs of this machine; kept until the process ends. */
static const char *all_versions(GError **error)
{
    static GHashTable *kept;
    g_auto(GStrv) names = g_strsplit(clang_list(), ",", -1);
    g_autoptr(GString) all = g_string_new(NULL);
    const char *text;

    g_mutex_lock(&lock);
    for (char **name = names; *name; name++) {
        const struct clang *clang = clang_find(g_strstrip(*name), NULL);
        if (clang)
            g_string_append_printf(all, "%s%s", all->len ? ", " : "", clang->version);
    }
    if (!kept)
        kept = g_hash_table_new(g_str_hash, g_str_equal);
    if (!g_hash_table_contains(kept, all->str))
        g_hash_table_add(kept, g_strdup(all->str));
    text = g_hash_table_lookup(kept, all->str);
    g_mutex_unlock(&lock);
    if (*text)
        return text;
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                "none of %s is on this machine with its linker: install Debian's clang-19 and "
                "lld-19, or name others in SKIPJACK_CLANG",
                clang_list());
    return NULL;
}

static const char *clang_version(const struct target *target, GError **error)
{
    const struct clang *clang;

    if (!target)
        return all_versions(error);
    clang = clang_for(target, error);
    return clang ? clang->version : NULL;
}

/* ---- compiling ---- */

/* Takes the object that the compiler left, if it has the entry. */
static bool take_object(const struct compiler_run *run, const struct clang *clang,
                        const char *entry, struct code_object *object, GError **error)
{
    g_autoptr(GBytes) code = run->status == 0 ? compiler_run_read(run, "kernel.co") : NULL;
    g_autoptr(GError) why = NULL;
    struct amd_object read;

    object->log = g_strdup(run->output);
    if (!code)
        return clang_failed(run, clang->version, entry, error);
    if (!amd_object_read(code, entry, &read, &why)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE, "clang %s compiled it, but %s",
                    clang->version, why->message);
        return false;
    }
    amd_kernel_facts(&read.kernel, object);
    object->code = g_steal_pointer(&code);
    return true;
}

typedef bool run_fn(struct compiler_run *run, const struct clang *clang, const char *target,
                    const char *source, const char *options, GError **error);

static bool run_and_take(run_fn *run_it, const char *source, const char *options, const char *entry,
                         const struct target *target, struct code_object *object, GError **error)
{
    gint64 start = g_get_monotonic_time();
    g_auto(CompilerRun) run = {0};
    char name[AMD_TARGET_MAX];
    const struct clang *clang;
    bool done;

    memset(object, 0, sizeof(*object));
    clang = clang_for(target, error);
    if (!clang || !compiler_run_open(&run, error))
        return false;
    amd_target_name(target, name);
    done = run_it(&run, clang, name, source, options, error) &&
           take_object(&run, clang, entry, object, error);
    object->seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    return done;
}

static bool clang_compile(const char *source, const char *options, const char *entry,
                          const struct target *target, struct code_object *object, GError **error)
{
    return run_and_take(run_compiler, source, options, entry, target, object, error);
}

static bool clang_assemble(const char *source, const char *options, const char *entry,
                           const struct target *target, struct code_object *object, GError **error)
{
    return run_and_take(run_assembler, source, options, entry, target, object, error);
}

const struct toolchain toolchain_clang = {
    .name = "clang",
    .vendor = VENDOR_AMD,
    .version = clang_version,
    .flags = CLANG_FLAGS,
    .can_compile = clang_can_compile,
    .reproducible = true,
    .compile = clang_compile,
    .assemble = clang_assemble,
};
