/*
 * Compiles for AMD's GPUs with HIPRTC, a library of HIP's that needs no GPU, in
 * this process. It is opened at run time: SKIPJACK_HIPRTC names it, by name or
 * path (unset: HIPRTC_NAMES, the newest first). A target is served where a
 * trial compiles for it, once a process; the trial is a process of its own,
 * since the library ends the one it is in over a target that it does not know
 * (HIP 5.2: gfx1100, gfx940 and later). It is this program begun anew: a copy
 * of a process with threads, which fork() makes, now and then was not fit for it. A kernel that it does not survive ends
 * the caller. It has a namespace of its own, with its own C library: its LLVM
 * and PoCL's may be the same file, which then ends the process when the second
 * of them registers clang's options in it.
 */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/objects/amd_object.h"
#include "kernels/toolchains/compiler_run.h"
#include "kernels/toolchains/toolchain_rows.h"

/* Behind GLib's headers, which cannot be read once HIP has made a macro of __noinline__. */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hiprtc.h>

#define HIPRTC_NAMES  "libhiprtc.so.7,libhiprtc.so.6,libamdhip64.so.6,libamdhip64.so.5"
/* What clang is told too, as far as it concerns code: without HIP's headers and device libraries. */
#define HIPRTC_FLAGS  "-O3 -std=c++17 -mcode-object-version=4 -fuse-cuid=none -nogpuinc -nogpulib"
#define TRIAL         "extern \"C\" __attribute__((global)) void nothing() {}"
#define TRIAL_SECONDS 30 /* it takes less than one */
/* In its environment: the target that is tried. Its answer is a file in its folder. */
#define TRIAL_SETTING "SKIPJACK_HIPRTC_TRIAL"
#define TRIAL_ANSWER  "answer"

#define HIPRTC_FUNCTIONS(ROW)                                                                      \
    ROW(Version)                                                                                   \
    ROW(GetErrorString)                                                                            \
    ROW(CreateProgram)                                                                             \
    ROW(DestroyProgram)                                                                            \
    ROW(CompileProgram)                                                                            \
    ROW(GetProgramLogSize)                                                                         \
    ROW(GetProgramLog)                                                                             \
    ROW(GetCodeSize)                                                                               \
    ROW(GetCode)

struct hiprtc {
#define HIPRTC_MEMBER(name) __typeof__(&hiprtc##name) name;
    HIPRTC_FUNCTIONS(HIPRTC_MEMBER)
#undef HIPRTC_MEMBER
};

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define HIPRTC_ROW(name) {"hiprtc" #name, offsetof(struct hiprtc, name)},
    HIPRTC_FUNCTIONS(HIPRTC_ROW)
#undef HIPRTC_ROW
};

/* What a trial said of a target. */
struct verdict {
    const char
        *version; /* interned: the library's, with the compiler's release; NULL where it refuses */
    char *reason;
};

/* What is known of the library, kept for the process's life. */
static GMutex lock;
/* One compiles at a time, as in the library. */
static GMutex compiling;
static struct hiprtc library;
/* A function of the C library that HIPRTC was loaded with. It sets up the tables of characters for a thread
 * that another C library began. */
static void (*library_thread_init)(void);
/* The variable `environ` of that C library. This process's setenv() moves the environment. */
static char ***library_environ;
static char *library_path;
static const char *library_version; /* interned; NULL until it is open */
static GHashTable *verdicts;        /* a target's name -> struct verdict * */

/* ---- the library ---- */

static bool functions_find(void *handle, const char *name, struct hiprtc *hiprtc, GError **error)
{
    for (gsize i = 0; i < G_N_ELEMENTS(functions); i++) {
        void *symbol = dlsym(handle, functions[i].name);
        if (!symbol) {
            g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                        "'%s' lacks %s: it is no HIPRTC", name, functions[i].name);
            return false;
        }
        memcpy((char *)hiprtc + functions[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}

/* The first of the names that opens; *name is the caller's. */
static void *handle_open(char **name)
{
    const char *wish = g_getenv("SKIPJACK_HIPRTC");
    g_auto(GStrv) names = g_strsplit(wish && *wish ? wish : HIPRTC_NAMES, ",", -1);
    void *handle = NULL;

    for (char **at = names; *at && !handle; at++) {
        g_free(*name);
        *name = g_strdup(g_strstrip(*at));
        handle = dlmopen(LM_ID_NEWLM, *name, RTLD_NOW | RTLD_LOCAL);
    }
    return handle;
}

/* Releases tell themselves apart by their file's name, "libamdhip64.so.5.2.21153": what the library
 * says of its version is the interface's. */
static char *version_text(void)
{
    int major = 0, minor = 0;
    g_autofree char *file = g_path_get_basename(library_path);

    library.Version(&major, &minor);
    return g_strdup_printf("HIPRTC %d.%d %s", major, minor, file);
}

/* Where a library that was opened by the name lies. Free with g_free(). */
static char *path_of(void *handle, const char *name)
{
    struct link_map *map = NULL;
    char *path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? realpath(map->l_name, NULL) : NULL;
    char *found = g_strdup(path ? path : name);

    free(path);
    return found;
}

/* Under the lock. A library that is not here is looked for again the next time. */
static bool library_open(GError **error)
{
    g_autofree char *name = NULL;
    g_autofree char *version = NULL;
    void *handle;

    if (library_version)
        return true;
    handle = handle_open(&name);
    if (!handle) {
        g_set_error(
            error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
            "HIPRTC is not on this machine (%s): install Debian's libamdhip64-5 or ROCm's "
            "hip-runtime-amd, or name the library in SKIPJACK_HIPRTC where it lies elsewhere",
            dlerror());
        return false;
    }
    if (!functions_find(handle, name, &library, error)) {
        dlclose(handle);
        return false;
    }
    *(void **)&library_thread_init = dlsym(handle, "__ctype_init");
    library_environ = dlsym(handle, "environ");
    library_path = path_of(handle, name);
    version = version_text();
    library_version = g_intern_string(version);
    verdicts = g_hash_table_new(g_str_hash, g_str_equal);
    return true;
}

/* ---- compiling ---- */

static char *take_log(hiprtcProgram program)
{
    size_t size = 0;
    char *text;

    if (library.GetProgramLogSize(program, &size) != HIPRTC_SUCCESS)
        return g_strdup("");
    text = g_malloc0(size + 1);
    library.GetProgramLog(program, text);
    return text;
}

static GBytes *take_code(hiprtcProgram program)
{
    size_t size = 0;
    char *bytes;

    if (library.GetCodeSize(program, &size) != HIPRTC_SUCCESS || size == 0)
        return NULL;
    bytes = g_malloc(size);
    if (library.GetCode(program, bytes) == HIPRTC_SUCCESS)
        return g_bytes_new_take(bytes, size);
    g_free(bytes);
    return NULL;
}

/* The code and what HIPRTC said; its status. Options are split at blanks and hold no others
 * (launch_options_valid()). */
static hiprtcResult run(const char *source, const char *options, const char *target, GBytes **code,
                        char **log)
{
    g_autofree char *line =
        g_strdup_printf("--gpu-architecture=%s %s %s", target, toolchain_hiprtc.flags, options);
    g_auto(GStrv) words = g_strsplit(g_strchomp(line), " ", -1);
    hiprtcProgram program = NULL;
    hiprtcResult status;

    if (library_thread_init)
        library_thread_init();
    if (library_environ)
        *library_environ = environ;
    status = library.CreateProgram(&program, source, "kernel.cl", 0, NULL, NULL);
    *code = NULL;
    *log = NULL;
    if (status == HIPRTC_SUCCESS) {
        status = library.CompileProgram(program, (int)g_strv_length(words),
                                        (const char **)(void *)words);
        *log = take_log(program);
        if (status == HIPRTC_SUCCESS)
            *code = take_code(program);
        library.DestroyProgram(&program);
    }
    if (!*log)
        *log = g_strdup("");
    return status;
}

/* ---- which targets it serves ---- */

/* The release that linked the object, " LLVM 15.0.6" of "Linker: Debian LLD 15.0.6" in it; "" where it
 * does not say. Free with g_free(). */
static char *release_of(GBytes *code)
{
    static const char word[] = "LLD ";
    gsize size;
    const char *bytes = g_bytes_get_data(code, &size);
    const char *linker = memmem(bytes, size, "Linker: ", strlen("Linker: "));
    gsize left = linker ? size - (gsize)(linker - bytes) : 0;
    const char *found = linker ? memmem(linker, MIN(left, 64), word, strlen(word)) : NULL;
    gsize length = 0;

    if (!found)
        return g_strdup("");
    found += strlen(word);
    while (found + length < bytes + size &&
           (g_ascii_isdigit(found[length]) || found[length] == '.'))
        length++;
    return g_strdup_printf(" LLVM %.*s", (int)length, found);
}

/* "+" and the release, or "-" and the reason. */
static char *trial_answer(const char *target)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *log = NULL;
    g_autoptr(GBytes) code = NULL;
    g_autofree char *release = NULL;
    hiprtcResult status;

    if (!library_open(&error))
        return g_strconcat("-", error->message, NULL);
    status = run(TRIAL, "", target, &code, &log);
    if (!code)
        return g_strconcat("-",
                           status == HIPRTC_SUCCESS ? "it gives no code for it"
                                                    : library.GetErrorString(status),
                           NULL);
    release = release_of(code);
    return g_strconcat("+", release, NULL);
}

/* Before a program's main(): where it is the trial it ends here. */
__attribute__((constructor)) static void run_as_trial(void)
{
    const char *target = getenv(TRIAL_SETTING);
    char *answer;

    if (!target)
        return;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    alarm(TRIAL_SECONDS);
    answer = trial_answer(target);
    _exit(g_file_set_contents(TRIAL_ANSWER, answer, -1, NULL) ? 0 : 1);
}

/* The answer, "" for none, and how it ended. */
static char *trial_start(const char *target, int *status, GError **error)
{
    static const char *const argv[] = {"/proc/self/exe", NULL};
    g_autofree char *setting = g_strconcat(TRIAL_SETTING "=", target, NULL);
    g_autofree char *same = g_strconcat("SKIPJACK_HIPRTC=", library_path, NULL);
    const char *const settings[] = {setting, same, "LD_LIBRARY_PATH", NULL};
    g_auto(CompilerRun) trial = {0}; /* its folder takes what an aborted trial leaves */

    if (!compiler_run_open(&trial, error) ||
        !compiler_run_program_with(&trial, argv, settings, error))
        return NULL;
    *status = trial.status;
    g_autoptr(GBytes) answer = compiler_run_read(&trial, TRIAL_ANSWER);
    return answer ? g_strndup(g_bytes_get_data(answer, NULL), g_bytes_get_size(answer))
                  : g_strdup("");
}

/* What the library's trial is worth; NULL when the machine did not let it finish, which says nothing of
 * the target. */
static struct verdict *verdict_of(const char *answer, int status, const char *target,
                                  GError **error)
{
    int ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    struct verdict *verdict;

    if (ended_by == SIGKILL || ended_by == SIGALRM) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "HIPRTC's trial for %s was ended: %s", target, strsignal(ended_by));
        return NULL;
    }
    verdict = g_new0(struct verdict, 1);
    if (ended_by)
        verdict->reason = g_strdup_printf("it takes its process with it: %s", strsignal(ended_by));
    else if (status == 0 && answer[0] == '+') {
        g_autofree char *version = g_strconcat(library_version, answer + 1, NULL);
        verdict->version = g_intern_string(version);
    } else if (status == 0 && answer[0] == '-')
        verdict->reason = g_strdup(answer + 1);
    else
        verdict->reason = g_strdup("it ends its process without an answer");
    return verdict;
}

/* Under the lock. */
static const struct verdict *try_target(const char *target, GError **error)
{
    struct verdict *verdict = g_hash_table_lookup(verdicts, target);
    g_autofree char *answer = NULL;
    int status = 0;

    if (verdict)
        return verdict;
    answer = trial_start(target, &status, error);
    if (!answer)
        return NULL;
    verdict = verdict_of(answer, status, target, error);
    if (verdict)
        g_hash_table_insert(verdicts, g_strdup(target), verdict);
    return verdict;
}

/* Under the lock. The version that serves the target; NULL where none does. */
static const char *version_for(const char *target, GError **error)
{
    const struct verdict *verdict = library_open(error) ? try_target(target, error) : NULL;

    if (verdict && !verdict->version)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET,
                    "%s does not compile for %s (%s): name a library of a newer ROCm in "
                    "SKIPJACK_HIPRTC, or use the clang toolchain",
                    library_version, target, verdict->reason);
    return verdict ? verdict->version : NULL;
}

/* NULL target: what the library says of itself, without a trial. */
static const char *hiprtc_version(const struct target *target, GError **error)
{
    char name[AMD_TARGET_MAX];
    const char *version;

    if (target && target->vendor != VENDOR_AMD) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET,
                    "the hiprtc toolchain compiles for AMD's GPUs, and %s is none", target->id);
        return NULL;
    }
    if (target)
        amd_target_name(target, name);
    g_mutex_lock(&lock);
    version = target ? version_for(name, error) : library_open(error) ? library_version : NULL;
    g_mutex_unlock(&lock);
    return version;
}

static bool hiprtc_can_compile(const struct target *target, GError **error)
{
    return hiprtc_version(target, error) != NULL;
}

/* ---- a kernel ---- */

/* The source lies in a folder of the library's with another name each time. */
static char *without_folder(const char *log)
{
    g_autoptr(GRegex) path = g_regex_new("\\S*/comgr-\\w+/input/CompileSource", 0, 0, NULL);
    char *text = g_regex_replace_literal(path, log, -1, 0, "kernel.cl", 0, NULL);

    /* What is not UTF-8 is not replaced in. */
    return text ? text : g_strdup(log);
}

/* A compilation that failed without a word of an error says nothing of the source. */
static bool compile_failed(hiprtcResult status, const char *log, const char *entry, GError **error)
{
    bool source = status == HIPRTC_ERROR_INVALID_OPTION || strstr(log, "error: ");

    g_set_error(error, KERNELS_ERROR, source ? KERNELS_ERROR_COMPILE : KERNELS_ERROR_CRASH,
                "HIPRTC %s the kernel '%s' (%s)%s", source ? "refused" : "failed over", entry,
                library.GetErrorString(status), source ? ", its log says why" : "");
    return false;
}

static bool take_object(GBytes *code, const char *entry, const struct target *target,
                        struct code_object *object, GError **error)
{
    g_autoptr(GError) why = NULL;
    struct amd_object read;

    if (!amd_object_read(code, entry, &read, &why)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE, "HIPRTC compiled it, but %s",
                    why->message);
        return false;
    }
    if (!amd_object_suits(read.target, target)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT,
                    "HIPRTC compiled it for %s, and the target is %s", read.target, target->id);
        return false;
    }
    amd_kernel_facts(&read.kernel, object);
    object->code = g_bytes_ref(code);
    return true;
}

static bool hiprtc_compile(const char *source, const char *options, const char *entry,
                           const struct target *target, struct code_object *object, GError **error)
{
    gint64 start;
    g_autoptr(GBytes) code = NULL;
    g_autofree char *log = NULL;
    char name[AMD_TARGET_MAX];
    hiprtcResult status;

    memset(object, 0, sizeof(*object));
    if (!hiprtc_can_compile(target, error))
        return false;
    amd_target_name(target, name);
    g_mutex_lock(&compiling);
    start = g_get_monotonic_time();
    status = run(source, options, name, &code, &log);
    g_mutex_unlock(&compiling);
    object->log = without_folder(log);
    object->seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    if (!code)
        return compile_failed(status, object->log, entry, error);
    return take_object(code, entry, target, object, error);
}

const struct toolchain toolchain_hiprtc = {
    .name = "hiprtc",
    .vendor = VENDOR_AMD,
    .version = hiprtc_version,
    .flags = HIPRTC_FLAGS,
    .can_compile = hiprtc_can_compile,
    .reproducible = true,
    .compile = hiprtc_compile,
};
