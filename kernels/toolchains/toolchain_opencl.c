/*
 * Compiles for this machine's CPU through PoCL. The binary is taken after the build; with
 * opencl_environment()'s settings it holds the finished code.
 */
#include <string.h>

#include "kernels/toolchains/opencl.h"
#include "kernels/toolchains/opencl_binary.h"
#include "kernels/toolchains/toolchain_rows.h"

/* PoCL lets clang read a header with all of OpenCL's functions: 18,000 lines, a third of a kernel's compile
 * time. The header's own guard, among the flags, skips it; the functions that kernels call are declared here
 * with the same attributes. */
#define WITHOUT_HEADER "-D_OPENCL_H_"
static const char declarations[] =
    /* No warning about vectors wider than the CPU's registers: they are passed only among functions of one program.
     * */
    "#pragma clang diagnostic ignored \"-Wpsabi\"\n"
    "#define OPENCL_OVER __attribute__((overloadable))\n"
    "#define OPENCL_CONST OPENCL_OVER __attribute__((const))\n"
    "#define OPENCL_LOAD(SPACE, TYPE, N) \\\n"
    "    TYPE##N OPENCL_OVER __attribute__((pure)) vload##N(size_t, const SPACE TYPE *);\n"
    "#define OPENCL_STORE(SPACE, TYPE, N) void OPENCL_OVER vstore##N(TYPE##N, size_t, SPACE TYPE *);\n"
    "#define OPENCL_MOVE(SPACE, TYPE, N) OPENCL_LOAD(SPACE, TYPE, N) OPENCL_STORE(SPACE, TYPE, N)\n"
    "#define OPENCL_VECTOR(TYPE, N) \\\n"
    "    OPENCL_LOAD(__constant, TYPE, N) OPENCL_MOVE(__global, TYPE, N) \\\n"
    "    OPENCL_MOVE(__local, TYPE, N) OPENCL_MOVE(__private, TYPE, N) \\\n"
    "    TYPE##N OPENCL_CONST select(TYPE##N, TYPE##N, int##N);\n"
    "#define OPENCL_VECTORS(N) OPENCL_VECTOR(float, N) OPENCL_VECTOR(int, N)\n"
    "OPENCL_VECTORS(2) OPENCL_VECTORS(4) OPENCL_VECTORS(8) OPENCL_VECTORS(16)\n"
    "size_t OPENCL_CONST get_global_id(uint);\n"
    "size_t OPENCL_CONST get_group_id(uint);\n"
    "size_t OPENCL_CONST get_local_id(uint);\n"
    "void OPENCL_OVER __attribute__((convergent)) barrier(cl_mem_fence_flags);\n"
    "#line 1\n";

/* This machine's CPU as an OpenCL device, found at first use and kept until the process ends. */
struct host {
    cl_device_id device;
    cl_context context;
    struct target target;
    char version[OPENCL_VERSION_MAX];
};

static bool host_find(const struct opencl *cl, struct host *host, GError **error)
{
    cl_int status = CL_SUCCESS;

    if (!opencl_host_device(&host->device, &host->target, error) ||
        !opencl_device_version(host->device, host->version, error))
        return false;
    host->context = cl->CreateContext(NULL, 1, &host->device, NULL, NULL, &status);
    if (status != CL_SUCCESS) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "cannot create an OpenCL context: %s", opencl_error_name(status));
        return false;
    }
    return true;
}

static const struct host *host_open(GError **error)
{
    static GMutex lock;
    static struct host host;
    static bool found;
    const struct opencl *cl = opencl_open(error);

    if (!cl)
        return NULL;
    g_mutex_lock(&lock);
    if (!found)
        found = host_find(cl, &host, error);
    g_mutex_unlock(&lock);
    return found ? &host : NULL;
}

static const char *opencl_version(const struct target *target, GError **error)
{
    const struct host *host = host_open(error);

    (void)target;
    return host ? host->version : NULL;
}

static bool opencl_can_compile(const struct target *target, GError **error)
{
    const struct host *host;

    if (target->vendor != VENDOR_CPU) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET,
                    "the opencl toolchain compiles for CPUs, and %s is none", target->id);
        return false;
    }
    host = host_open(error);
    if (!host)
        return false;
    if (strcmp(target->arch, host->target.arch) != 0) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET,
                    "PoCL compiles for this machine's CPU alone, which is %s, and the target %s is "
                    "%s: build on a machine of that kind",
                    host->target.arch, target->id, target->arch);
        return false;
    }
    return true;
}

static char *take_log(const struct opencl *cl, const struct host *host, cl_program program)
{
    size_t size = 0;
    char *log;

    cl->GetProgramBuildInfo(program, host->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    log = g_malloc0(size + 1);
    cl->GetProgramBuildInfo(program, host->device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    return log;
}

static GBytes *take_binary(const struct opencl *cl, cl_program program, GError **error)
{
    size_t size = 0;
    g_autofree unsigned char *binary = NULL;
    cl_int status = cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);

    if (status == CL_SUCCESS && size > 0) {
        binary = g_malloc(size);
        status = cl->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
    }
    if (status != CL_SUCCESS || size == 0) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE,
                    "PoCL compiled the program and then gave no binary: %s",
                    opencl_error_name(status));
        return NULL;
    }
    return g_bytes_new_take(g_steal_pointer(&binary), size);
}

/* Checks that the program has the entry, and sets the local memory that the entry declares. */
static bool take_entry(const struct opencl *cl, const struct host *host, cl_program program,
                       const char *entry, struct code_object *object, GError **error)
{
    cl_int status = CL_SUCCESS;
    cl_ulong local_bytes = 0;
    cl_kernel kernel = cl->CreateKernel(program, entry, &status);

    if (status != CL_SUCCESS) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE,
                    "the compiled program has no usable kernel '%s': %s", entry,
                    opencl_error_name(status));
        return false;
    }
    cl->GetKernelWorkGroupInfo(kernel, host->device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local_bytes),
                               &local_bytes, NULL);
    cl->ReleaseKernel(kernel);
    object->local_bytes = (int64_t)local_bytes;
    object->registers = object->spills = -1;
    object->accumulation_registers = object->scalar_registers = -1;
    object->scratch_bytes = -1;
    return true;
}

/* Whether the platform can make a program of the binary, as the process that launches the kernel will have to. */
static bool loads(const struct opencl *cl, const struct host *host, GBytes *code, const char *entry,
                  struct code_object *object, GError **error)
{
    gsize size;
    const unsigned char *bytes = g_bytes_get_data(code, &size);
    cl_int status = CL_SUCCESS, accepted = CL_SUCCESS;
    cl_program program = cl->CreateProgramWithBinary(host->context, 1, &host->device, &size, &bytes,
                                                     &accepted, &status);
    if (status == CL_SUCCESS)
        status = cl->BuildProgram(program, 1, &host->device, "", NULL, NULL);
    bool loaded = status == CL_SUCCESS && take_entry(cl, host, program, entry, object, error);
    if (status != CL_SUCCESS)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT,
                    "the program's binary does not load again: %s", opencl_error_name(status));
    if (program)
        cl->ReleaseProgram(program);
    return loaded;
}

/* A binary that is damaged although the compiler succeeded is treated like a crash: the kernel is compiled again. */
static bool check_binary(const struct opencl *cl, const struct host *host, const char *entry,
                         struct code_object *object, GError **error)
{
    g_autoptr(GError) why = NULL;

    if (opencl_binary_check(object->code, &why) &&
        loads(cl, host, object->code, entry, object, &why))
        return true;
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_CRASH, "PoCL compiled the kernel '%s', but %s",
                entry, why->message);
    return false;
}

static bool build(const struct opencl *cl, const struct host *host, cl_program program,
                  const char *options, const char *entry, struct code_object *object,
                  GError **error)
{
    g_autofree char *all_options =
        g_strjoin(options[0] ? " " : "", toolchain_opencl.flags, options, NULL);
    cl_int status = cl->BuildProgram(program, 1, &host->device, all_options, NULL, NULL);

    object->log = take_log(cl, host, program);
    if (status != CL_SUCCESS) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE,
                    "PoCL refused the kernel '%s' with options '%s' (%s), its log says why", entry,
                    options, opencl_error_name(status));
        return false;
    }
    object->code = take_binary(cl, program, error);
    return object->code && take_entry(cl, host, program, entry, object, error) &&
           check_binary(cl, host, entry, object, error);
}

static bool opencl_compile(const char *source, const char *options, const char *entry,
                           const struct target *target, struct code_object *object, GError **error)
{
    const struct opencl *cl = opencl_open(error);
    const struct host *host = cl ? host_open(error) : NULL;
    gint64 start = g_get_monotonic_time();
    const char *texts[] = {toolchain_opencl.prelude, source};
    cl_int status = CL_SUCCESS;
    cl_program program;
    bool built;

    memset(object, 0, sizeof(*object));
    if (!host || !opencl_can_compile(target, error))
        return false;
    program = cl->CreateProgramWithSource(host->context, G_N_ELEMENTS(texts), texts, NULL, &status);
    if (status != CL_SUCCESS) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE,
                    "cannot hand the kernel '%s' to PoCL: %s", entry, opencl_error_name(status));
        return false;
    }
    built = build(cl, host, program, options, entry, object, error);
    cl->ReleaseProgram(program);
    object->seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    if (!built)
        g_clear_pointer(&object->code, g_bytes_unref);
    return built;
}

const struct toolchain toolchain_opencl = {
    .name = "opencl",
    .vendor = VENDOR_CPU,
    .version = opencl_version,
    .flags = "-cl-std=CL1.2 " WITHOUT_HEADER,
    .prelude = declarations,
    .can_compile = opencl_can_compile,
    .reproducible = false,
    .compile = opencl_compile,
};
