/*
 * Compiles for AMD's GPUs with HIPRTC, a library of HIP. SKIPJACK_HIPRTC names it, by name or path. A target is
 * served where a trial kernel compiles for it; each target is tried once in a process.
 *
 * The library ends its process over a target that it does not know (HIP 5.2: gfx1100, gfx940 and later), so each
 * trial is a process of its own: this program started again, with TRIAL_SETTING in its environment. fork() alone
 * does not do, since the copy of a process with threads is not always fit for the library. A kernel that the
 * library does not survive ends the caller.
 *
 * The library has a linker's namespace of its own. Otherwise it and PoCL may load the same LLVM, and the process
 * ends when the second of them registers clang's options there.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/objects/amd_object.h"
#include "kernels/toolchains/compiler_run.h"
#include "kernels/toolchains/rtc.h"
#include "kernels/toolchains/toolchain_rows.h"

/* Flags that change code, as in toolchain_clang.c: kernels need neither HIP's headers nor its device libraries. */
#define HIPRTC_FLAGS  "-O3 -std=c++17 -mcode-object-version=4 -fuse-cuid=none -nogpuinc -nogpulib"
#define TRIAL         "extern \"C\" __attribute__((global)) void nothing() {}"
#define TRIAL_SECONDS 30 /* time limit of a trial in seconds; a trial takes less than one */
/* A trial's environment holds the target under this name; its answer is a file in its folder. */
#define TRIAL_SETTING "SKIPJACK_HIPRTC_TRIAL"
#define TRIAL_ANSWER  "answer"

/* The result of a trial compilation for one target. */
struct verdict {
    /* NULL where HIPRTC does not serve the target; else the library's version with the compiler's release. Interned.
     * */
    const char *version;
    char *reason; /* why HIPRTC does not serve the target; NULL where it does */
};

static GMutex lock; /* guards the variables below */
/* the library's version, interned; NULL until the library is open */
static const char *library_version;
/* a target's name -> struct verdict *, the result of its trial */
static GHashTable *verdicts;

/* ---- a kernel ---- */

/* The log with "kernel.cl" for the path of the source, a folder with another name in each compilation. */
static char *without_folder(const char *log)
{
    g_autoptr(GRegex) path = g_regex_new("\\S*/comgr-\\w+/input/CompileSource", 0, 0, NULL);
    char *text = g_regex_replace_literal(path, log, -1, 0, "kernel.cl", 0, NULL);

    /* Regular expressions refuse text that is not UTF-8; such a log is kept unchanged. */
    return text ? text : g_strdup(log);
}

/* A failure whose log has no error message is the compiler's own, not the source's: the library gives every failure
 * the same status. */
static bool blames_source(int status, const char *log)
{
    return status == RTC_ERROR_INVALID_OPTION || strstr(log, "error: ");
}

static bool read_facts(GBytes *code, const char *log, const char *entry,
                       const struct target *target, struct code_object *object, GError **error)
{
    struct amd_object read;

    (void)log;
    if (!amd_object_read(code, entry, &read, error))
        return false;
    if (!amd_object_suits(read.target, target)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT,
                    "the code object is for %s, and the target is %s", read.target, target->id);
        return false;
    }
    amd_kernel_facts(&read.kernel, object);
    return true;
}

static const struct rtc_row row = {
    .name = "HIPRTC",
    .symbols = {"hiprtcVersion", "hiprtcGetErrorString", "hiprtcCreateProgram",
                "hiprtcDestroyProgram", "hiprtcCompileProgram", "hiprtcGetProgramLogSize",
                "hiprtcGetProgramLog", "hiprtcGetCodeSize", "hiprtcGetCode"},
    .setting = "SKIPJACK_HIPRTC",
    .files = "libhiprtc.so.7,libhiprtc.so.6,libamdhip64.so.6,libamdhip64.so.5",
    .advice = "install Debian's libamdhip64-5 or ROCm's hip-runtime-amd",
    .suspicion = "it is not HIPRTC",
    .source_name = "kernel.cl",
    .own_namespace = true,
    .serial = true,
    .blames_source = blames_source,
    .clean_log = without_folder,
    .read_facts = read_facts,
};
static struct rtc hiprtc = {.row = &row};

/* ---- which targets HIPRTC serves ---- */

/* Under the lock. The version has the library's file name ("libamdhip64.so.5.2.21153"), which differs from release
 * to release; the number that the library itself reports is that of its interface. */
static bool library_open(GError **error)
{
    int major = 0, minor = 0;

    if (library_version)
        return true;
    if (!rtc_open(&hiprtc, error))
        return false;
    g_autofree char *file = g_path_get_basename(hiprtc.path);
    hiprtc.call.version(&major, &minor);
    g_autofree char *version = g_strdup_printf("HIPRTC %d.%d %s", major, minor, file);
    library_version = g_intern_string(version);
    verdicts = g_hash_table_new(g_str_hash, g_str_equal);
    return true;
}

static char *arguments_for(const char *target, const char *options)
{
    return g_strdup_printf("--gpu-architecture=%s " HIPRTC_FLAGS " %s", target, options);
}

/* The compiler's release, to be appended to a version: " LLVM 15.0.6" for an object that holds "Linker: Debian LLD
 * 15.0.6", "" for one that names no linker. Free with g_free(). */
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

/* Tries to compile for the target, in the trial's process. Returns "+" and the compiler's release, or "-" and the
 * reason. Free with g_free(). */
static char *trial_answer(const char *target)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) code = NULL;
    g_autofree char *log = NULL;
    g_autofree char *release = NULL;
    g_autofree char *arguments = arguments_for(target, "");
    int status;

    if (!library_open(&error))
        return g_strconcat("-", error->message, NULL);
    status = rtc_run(&hiprtc, TRIAL, arguments, &code, &log);
    if (!code)
        return g_strconcat("-", rtc_refusal(&hiprtc, status), NULL);
    release = release_of(code);
    return g_strconcat("+", release, NULL);
}

/* Runs before main(). A process that was started as a trial ends here. */
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

/* Runs a trial in a process of its own. Returns its answer, "" where it gave none; *status is its exit status as
 * waitpid() has it. NULL where no process can be started. */
static char *trial_start(const char *target, int *status, GError **error)
{
    static const char *const argv[] = {"/proc/self/exe", NULL};
    g_autofree char *setting = g_strconcat(TRIAL_SETTING "=", target, NULL);
    g_autofree char *same = g_strconcat("SKIPJACK_HIPRTC=", hiprtc.path, NULL);
    const char *const settings[] = {setting, same, "LD_LIBRARY_PATH", NULL};
    /* a private folder, which also takes the files that an aborted trial leaves */
    g_auto(CompilerRun) trial = {0};

    if (!compiler_run_open(&trial, error) ||
        !compiler_run_program_with(&trial, argv, settings, error))
        return NULL;
    *status = trial.status;
    g_autoptr(GBytes) answer = compiler_run_read(&trial, TRIAL_ANSWER);
    return answer ? g_strndup(g_bytes_get_data(answer, NULL), g_bytes_get_size(answer))
                  : g_strdup("");
}

/* A trial's verdict. NULL where the machine ended the trial (killed, out of time), which says nothing about the
 * target: the target is tried again. */
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

/* Under the lock. HIPRTC's version for the target; NULL where HIPRTC does not serve the target. */
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

/* HIPRTC's version for a target. For a NULL target it is the library's version without the compiler's release, found
 * without a trial. */
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

static bool hiprtc_compile(const char *source, const char *options, const char *entry,
                           const struct target *target, struct code_object *object, GError **error)
{
    g_autofree char *arguments = NULL;
    char name[AMD_TARGET_MAX];

    memset(object, 0, sizeof(*object));
    if (!hiprtc_can_compile(target, error))
        return false;
    amd_target_name(target, name);
    arguments = arguments_for(name, options);
    return rtc_compile(&hiprtc, source, arguments, entry, target, object, error);
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
