/*
 * Compiles for NVIDIA's GPUs with NVRTC, a library that needs no GPU and no
 * driver. It is opened at run time: SKIPJACK_NVRTC names it, by name or path
 * (unset: NVRTC_NAMES, the newest first). A target is served where a trial
 * compiles for it, once a process.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/objects/cuda_object.h"
#include "kernels/toolchains/toolchain_rows.h"

#define NVRTC_NAMES   "libnvrtc.so.13,libnvrtc.so.12,libnvrtc.so"
/* 177: a function of the dialect that a kernel does not use. */
#define NVRTC_FLAGS   "--std=c++17 --diag-suppress=177 --ptxas-options=-v"
#define ARGUMENTS_MAX 512 /* far more than the options of a launch can be */
#define TRIAL         "extern \"C\" __global__ void nothing() {}"

/* NVRTC's C interface, as its User Guide has it: codes are 0 for success. */
typedef struct _nvrtcProgram *nvrtc_program;
enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_INVALID_OPTION = 5, NVRTC_ERROR_COMPILATION = 6 };

struct nvrtc {
    int (*version)(int *major, int *minor);
    const char *(*error_text)(int code);
    int (*create)(nvrtc_program *program, const char *source, const char *name, int header_count,
                  const char *const *headers, const char *const *include_names);
    int (*destroy)(nvrtc_program *program);
    int (*compile)(nvrtc_program program, int option_count, const char *const *options);
    int (*log_size)(nvrtc_program program, size_t *size);
    int (*log)(nvrtc_program program, char *text);
    int (*cubin_size)(nvrtc_program program, size_t *size);
    int (*cubin)(nvrtc_program program, char *bytes);
};

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    {"nvrtcVersion", offsetof(struct nvrtc, version)},
    {"nvrtcGetErrorString", offsetof(struct nvrtc, error_text)},
    {"nvrtcCreateProgram", offsetof(struct nvrtc, create)},
    {"nvrtcDestroyProgram", offsetof(struct nvrtc, destroy)},
    {"nvrtcCompileProgram", offsetof(struct nvrtc, compile)},
    {"nvrtcGetProgramLogSize", offsetof(struct nvrtc, log_size)},
    {"nvrtcGetProgramLog", offsetof(struct nvrtc, log)},
    {"nvrtcGetCUBINSize", offsetof(struct nvrtc, cubin_size)},
    {"nvrtcGetCUBIN", offsetof(struct nvrtc, cubin)},
};

/* What is known of the library, kept for the process's life. */
static GMutex lock;
static struct nvrtc library;
static const char *library_version; /* interned; NULL until it is open */
static GHashTable *served; /* an architecture -> why it does not compile for it, "" when it does */

/* ---- the library ---- */

static bool functions_find(void *handle, const char *name, struct nvrtc *nvrtc, GError **error)
{
    for (gsize i = 0; i < G_N_ELEMENTS(functions); i++) {
        void *symbol = dlsym(handle, functions[i].name);
        if (!symbol) {
            g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                        "'%s' lacks %s: it is older than CUDA 11.2, or no NVRTC", name,
                        functions[i].name);
            return false;
        }
        memcpy((char *)nvrtc + functions[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}

static void *handle_open(const char **name)
{
    static char *found;
    const char *wish = g_getenv("SKIPJACK_NVRTC");
    g_auto(GStrv) names = g_strsplit(wish && *wish ? wish : NVRTC_NAMES, ",", -1);
    void *handle = NULL;

    for (char **at = names; *at && !handle; at++) {
        g_free(found);
        found = g_strdup(g_strstrip(*at));
        handle = dlopen(found, RTLD_NOW | RTLD_LOCAL);
    }
    *name = found;
    return handle;
}

/* Under the lock. A library that is not here is looked for again the next time. */
static bool library_open(GError **error)
{
    const char *name;
    int major = 0, minor = 0;
    void *handle;

    if (library_version)
        return true;
    handle = handle_open(&name);
    if (!handle) {
        g_set_error(
            error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
            "NVRTC is not on this machine (%s): it comes with the CUDA toolkit, from 12 on; "
            "name the library in SKIPJACK_NVRTC where it lies elsewhere",
            dlerror());
        return false;
    }
    if (!functions_find(handle, name, &library, error))
        return false;
    library.version(&major, &minor);
    g_autofree char *version = g_strdup_printf("NVRTC %d.%d", major, minor);
    library_version = g_intern_string(version);
    served = g_hash_table_new(g_str_hash, g_str_equal);
    return true;
}

/* ---- compiling ---- */

/* The arguments in storage, split at blanks; options hold no others (launch_options_valid()). */
static int split(char *storage, const char **arguments, int room)
{
    char *rest = storage;
    int count = 0;

    for (char *word; count < room && (word = strsep(&rest, " ")) != NULL;)
        if (*word)
            arguments[count++] = word;
    return count;
}

static char *take_log(nvrtc_program program)
{
    size_t size = 0;
    char *text;

    if (library.log_size(program, &size) != NVRTC_SUCCESS)
        return g_strdup("");
    text = g_malloc0(size + 1);
    library.log(program, text);
    return text;
}

static GBytes *take_code(nvrtc_program program)
{
    size_t size = 0;
    char *bytes;

    if (library.cubin_size(program, &size) != NVRTC_SUCCESS || size == 0)
        return NULL;
    bytes = g_malloc(size);
    if (library.cubin(program, bytes) == NVRTC_SUCCESS)
        return g_bytes_new_take(bytes, size);
    g_free(bytes);
    return NULL;
}

/* A target is one kind of device: from sm_90 on the form of its architecture is taken that has all of
 * its instructions ("sm_90a"), those too that no later one keeps. */
static const char *own_form(const char *arch)
{
    const char *number = arch + strlen("sm_");

    return atoi(number) >= 90 && strspn(number, "0123456789") == strlen(number) ? "a" : "";
}

/* The code and what NVRTC said; its code. */
static int run(const char *source, const char *options, const char *arch, GBytes **code, char **log)
{
    g_autofree char *storage = g_strdup_printf("--gpu-architecture=%s%s %s %s", arch,
                                               own_form(arch), toolchain_nvrtc.flags, options);
    const char *arguments[ARGUMENTS_MAX];
    nvrtc_program program = NULL;
    int count = split(storage, arguments, ARGUMENTS_MAX);
    int status = library.create(&program, source, "kernel.cu", 0, NULL, NULL);

    *code = NULL;
    *log = NULL;
    if (status == NVRTC_SUCCESS) {
        status = library.compile(program, count, arguments);
        *log = take_log(program);
        if (status == NVRTC_SUCCESS)
            *code = take_code(program);
        library.destroy(&program);
    }
    if (!*log)
        *log = g_strdup("");
    return status;
}

/* ---- which targets it serves ---- */

/* The release that the trial's object names is finer than the library's own word. */
static void refine_version(GBytes *code)
{
    struct cuda_object object;

    if (strstr(library_version, " V") || !cuda_object_read(code, "nothing", &object, NULL) ||
        !object.compiler[0])
        return;
    g_autofree char *version = g_strconcat(library_version, " ", object.compiler, NULL);
    library_version = g_intern_string(version);
}

/* Under the lock. "" where it serves the architecture, else the reason. */
static const char *try_arch(const char *arch)
{
    g_autoptr(GBytes) code = NULL;
    g_autofree char *log = NULL;
    const char *known = g_hash_table_lookup(served, arch);
    int status;

    if (known)
        return known;
    status = run(TRIAL, "", arch, &code, &log);
    if (code)
        refine_version(code);
    known = g_strdup(code                      ? ""
                     : status == NVRTC_SUCCESS ? "it gives no code for it"
                                               : library.error_text(status));
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

/* One library serves all targets: its version is the same for each. */
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

/* ---- a kernel ---- */

/* What ptxas reports of one kernel; a source may have several. NULL when nothing. */
static const char *report_of(const char *report, const char *entry)
{
    g_autofree char *head = g_strdup_printf("Compiling entry function '%s'", entry);

    return strstr(report, head);
}

/* The number in front of `what`, the next there is; -1 where nothing is said of it. */
static int64_t reported(const char *report, const char *what)
{
    const char *next = report ? strstr(report + 1, "Compiling entry function") : NULL;
    const char *found = report ? strstr(report, what) : NULL;
    const char *digits = found && (!next || found < next) ? found : NULL;

    while (digits && digits > report && g_ascii_isdigit(digits[-1]))
        digits--;
    return digits && digits < found ? g_ascii_strtoll(digits, NULL, 10) : -1;
}

/* ptxas' report is a fact, not a warning: what is left is what the compiler has to say. */
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

/* Registers and stack from the object; spills (a register has four bytes) and local memory from the
 * report, since objects for sm_90 and later count the system's own part of a workgroup's too. */
static bool take_facts(GBytes *code, const char *report, const char *entry,
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

static bool compile_failed(int status, const char *options, const char *entry, GError **error)
{
    bool source = status == NVRTC_ERROR_COMPILATION || status == NVRTC_ERROR_INVALID_OPTION;

    g_set_error(error, KERNELS_ERROR, source ? KERNELS_ERROR_COMPILE : KERNELS_ERROR_CRASH,
                "NVRTC %s the kernel '%s' with options '%s' (%s)%s",
                source ? "refused" : "failed over", entry, options, library.error_text(status),
                source ? ", its log says why" : "");
    return false;
}

static bool nvrtc_compile(const char *source, const char *options, const char *entry,
                          const struct target *target, struct code_object *object, GError **error)
{
    gint64 start = g_get_monotonic_time();
    g_autoptr(GBytes) code = NULL;
    g_autoptr(GError) why = NULL;
    g_autofree char *report = NULL;
    int status;

    memset(object, 0, sizeof(*object));
    if (!nvrtc_can_compile(target, error))
        return false;
    status = run(source, options, target->arch, &code, &report);
    object->log = without_report(report);
    object->seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    if (!code)
        return compile_failed(status, options, entry, error);
    if (!take_facts(code, report, entry, target, object, &why)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE, "NVRTC compiled it, but %s",
                    why->message);
        return false;
    }
    object->code = g_steal_pointer(&code);
    return true;
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
