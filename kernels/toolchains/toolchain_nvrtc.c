/*
 * Compiles for NVIDIA's GPUs with NVRTC, a library of the CUDA toolkit (12 or later). SKIPJACK_NVRTC names it,
 * by name or path. A target is served where a trial kernel compiles for its architecture; each architecture is
 * tried once in a process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/objects/cuda_object.h"
#include "kernels/toolchains/rtc.h"
#include "kernels/toolchains/toolchain_rows.h"

/* 177 is the warning about unused functions: the dialect's header has more functions than a kernel needs. */
#define NVRTC_FLAGS "--std=c++17 --diag-suppress=177 --ptxas-options=-v"
#define TRIAL       "extern \"C\" __global__ void nothing() {}"

static GMutex lock; /* guards the variables below */
/* the library's version, interned; NULL until the library is open */
static const char *library_version;
static GHashTable
    *served; /* an architecture -> why NVRTC does not compile for it, "" where it does */

/* ---- a kernel ---- */

/* The part of ptxas' report about one kernel; a report may cover several kernels. NULL where it has no part about
 * this one. */
static const char *report_of(const char *report, const char *entry)
{
    g_autofree char *head = g_strdup_printf("Compiling entry function '%s'", entry);

    return strstr(report, head);
}

/* The number before the words `what` in a kernel's part of ptxas' report, -1 where these words are missing. */
static int64_t reported(const char *report, const char *what)
{
    const char *next = report ? strstr(report + 1, "Compiling entry function") : NULL;
    const char *found = report ? strstr(report, what) : NULL;
    const char *digits = found && (!next || found < next) ? found : NULL;

    while (digits && digits > report && g_ascii_isdigit(digits[-1]))
        digits--;
    return digits && digits < found ? g_ascii_strtoll(digits, NULL, 10) : -1;
}

/* The log without ptxas' report of registers and memory: a kernel that compiles without a warning has an empty log. */
static char *without_report(const char *log)
{
    g_auto(GStrv) lines = g_strsplit(log, "\n", -1);
    g_autoptr(GString) rest = g_string_new(NULL);

    for (char **line = lines; *line; line++)
        if (**line && !g_str_has_prefix(*line, "ptxas info") &&
            !g_str_has_prefix(*line, "ptxas    "))
            g_string_append_printf(rest, "%s\n", *line);
    return g_string_free(g_steal_pointer(&rest), FALSE);
}

/* Registers and stack are read from the object. Spills (a register has four bytes) and local memory are read from
 * ptxas' report, because objects for sm_90 and later count the local memory that the system reserves in each
 * workgroup as well. */
static bool read_facts(GBytes *code, const char *report, const char *entry,
                       const struct target *target, struct code_object *object, GError **error)
{
    struct cuda_object read;
    const char *said = report_of(report, entry);
    int64_t spilled = reported(said, " bytes spill stores");

    if (!cuda_object_read(code, entry, &read, error))
        return false;
    if (!cuda_object_suits(&read, target)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT,
                    "the code object is for sm_%d, and the target is %s", read.arch, target->id);
        return false;
    }
    object->registers = (int)read.registers;
    object->accumulation_registers = object->scalar_registers = -1;
    object->scratch_bytes = read.stack_bytes;
    object->spills = spilled < 0 ? -1 : (int)(spilled / 4);
    object->local_bytes = MAX(reported(said, " bytes smem"), 0);
    return true;
}

static bool blames_source(int status, const char *log)
{
    (void)log;
    return status == RTC_ERROR_COMPILATION || status == RTC_ERROR_INVALID_OPTION;
}

static const struct rtc_row row = {
    .name = "NVRTC",
    .symbols = {"nvrtcVersion", "nvrtcGetErrorString", "nvrtcCreateProgram", "nvrtcDestroyProgram",
                "nvrtcCompileProgram", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",
                "nvrtcGetCUBINSize", "nvrtcGetCUBIN"},
    .setting = "SKIPJACK_NVRTC",
    .files = "libnvrtc.so.13,libnvrtc.so.12,libnvrtc.so",
    .advice = "install the CUDA toolkit, 12 or later",
    .suspicion = "it is older than CUDA 11.2, or not NVRTC",
    .source_name = "kernel.cu",
    .blames_source = blames_source,
    .clean_log = without_report,
    .read_facts = read_facts,
};
static struct rtc nvrtc = {.row = &row};

/* ---- which targets NVRTC serves ---- */

/* Under the lock. */
static bool library_open(GError **error)
{
    int major = 0, minor = 0;

    if (library_version)
        return true;
    if (!rtc_open(&nvrtc, error))
        return false;
    nvrtc.call.version(&major, &minor);
    g_autofree char *version = g_strdup_printf("NVRTC %d.%d", major, minor);
    library_version = g_intern_string(version);
    served = g_hash_table_new(g_str_hash, g_str_equal);
    return true;
}

/* The architecture as NVRTC is asked for it. From sm_90 on the form "sm_90a" has all instructions of the
 * architecture, including those that later architectures drop. A target is one kind of device, so that its code
 * need not run on later ones. */
static char *arguments_for(const char *arch, const char *options)
{
    const char *number = arch + strlen("sm_");
    bool plain = strspn(number, "0123456789") == strlen(number);

    return g_strdup_printf("--gpu-architecture=%s%s %s %s", arch,
                           plain && atoi(number) >= 90 ? "a" : "", NVRTC_FLAGS, options);
}

/* Adds the compiler's release to the version: the object names it ("V13.0.88"), the library itself says "13.0". */
static void refine_version(GBytes *code)
{
    struct cuda_object object;

    if (strstr(library_version, " V") || !cuda_object_read(code, "nothing", &object, NULL) ||
        !object.compiler[0])
        return;
    g_autofree char *version = g_strconcat(library_version, " ", object.compiler, NULL);
    library_version = g_intern_string(version);
}

/* Under the lock. Tries to compile for the architecture: "" where NVRTC can, else the reason why it cannot. */
static const char *try_arch(const char *arch)
{
    g_autoptr(GBytes) code = NULL;
    g_autofree char *log = NULL;
    g_autofree char *arguments = NULL;
    const char *known = g_hash_table_lookup(served, arch);
    int status;

    if (known)
        return known;
    arguments = arguments_for(arch, "");
    status = rtc_run(&nvrtc, TRIAL, arguments, &code, &log);
    if (code)
        refine_version(code);
    known = g_strdup(code ? "" : rtc_refusal(&nvrtc, status));
    g_hash_table_insert(served, g_strdup(arch), (char *)known);
    return known;
}

static bool arch_served(const struct target *target, GError **error)
{
    const char *reason = try_arch(target->arch);

    if (!*reason)
        return true;
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET,
                "%s does not compile for %s (%s): name a library of another CUDA release in "
                "SKIPJACK_NVRTC",
                library_version, target->arch, reason);
    return false;
}

static bool nvrtc_can_compile(const struct target *target, GError **error)
{
    bool can;

    if (target->vendor != VENDOR_NVIDIA) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET,
                    "the nvrtc toolchain compiles for NVIDIA's GPUs, and %s is none", target->id);
        return false;
    }
    g_mutex_lock(&lock);
    can = library_open(error) && arch_served(target, error);
    g_mutex_unlock(&lock);
    return can;
}

/* NVRTC's version, the same for all targets. The library states its release only in code, so one architecture is
 * tried first. */
static const char *nvrtc_version(const struct target *target, GError **error)
{
    const char *version = NULL;

    if (target && !nvrtc_can_compile(target, error))
        return NULL;
    g_mutex_lock(&lock);
    if (library_open(error)) {
        try_arch("sm_90");
        version = library_version;
    }
    g_mutex_unlock(&lock);
    return version;
}

static bool nvrtc_compile(const char *source, const char *options, const char *entry,
                          const struct target *target, struct code_object *object, GError **error)
{
    g_autofree char *arguments = NULL;

    memset(object, 0, sizeof(*object));
    if (!nvrtc_can_compile(target, error))
        return false;
    arguments = arguments_for(target->arch, options);
    return rtc_compile(&nvrtc, source, arguments, entry, target, object, error);
}

const struct toolchain toolchain_nvrtc = {
    .name = "nvrtc",
    .vendor = VENDOR_NVIDIA,
    .version = nvrtc_version,
    .flags = NVRTC_FLAGS,
    .can_compile = nvrtc_can_compile,
    .reproducible = true,
    .compile = nvrtc_compile,
};
