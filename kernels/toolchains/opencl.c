#include "kernels/toolchains/opencl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLATFORMS_MAX 16
#define DEVICES_MAX   64

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define OPENCL_ROW(name) {"cl" #name, offsetof(struct opencl, name)},
    OPENCL_FUNCTIONS(OPENCL_ROW)
#undef OPENCL_ROW
};

/* PoCL loads and runs any code in its folder, so nobody else may write there. */
static bool check_private(const char *folder, GError **error)
{
    struct stat status;
    const char *why = NULL;

    if (lstat(folder, &status) != 0)
        why = g_strerror(errno);
    else if (!S_ISDIR(status.st_mode))
        why = "it is no folder";
    else if (status.st_uid != geteuid())
        why = "it belongs to another user";
    else if (status.st_mode & (S_IWGRP | S_IWOTH))
        why = "others may write to it";
    if (why)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "PoCL cannot keep code in '%s': %s; remove it, or name another folder", folder,
                    why);
    return !why;
}

bool opencl_environment(const char *cache_dir, GError **error)
{
    if (g_mkdir_with_parents(cache_dir, 0700) != 0) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "cannot make the folder '%s' for PoCL: %s", cache_dir, g_strerror(errno));
        return false;
    }
    if (!check_private(cache_dir, error))
        return false;
    g_setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", TRUE);
    g_setenv("POCL_CACHE_DIR", cache_dir, TRUE);
    return true;
}

static bool load_functions(struct opencl *cl, GError **error)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "cannot open OpenCL: %s (Debian's package is ocl-icd-libopencl1)", dlerror());
        return false;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(functions); i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol) {
            g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                        "libOpenCL.so.1 lacks %s: it is older than OpenCL 1.2", functions[i].name);
            dlclose(library);
            return false;
        }
        memcpy((char *)cl + functions[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}

const struct opencl *opencl_open(GError **error)
{
    static GMutex lock;
    static struct opencl functions_found;
    static bool loaded;

    g_mutex_lock(&lock);
    if (!loaded)
        loaded = load_functions(&functions_found, error);
    g_mutex_unlock(&lock);
    return loaded ? &functions_found : NULL;
}

int opencl_devices(cl_device_id *devices, int max, GError **error)
{
    const struct opencl *cl = opencl_open(error);
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0;
    int count = 0;

    if (!cl)
        return -1;
    if (cl->GetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < MIN(platform_count, PLATFORMS_MAX) && count < max; i++) {
        cl_uint found = 0;
        cl_int status = cl->GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, (cl_uint)(max - count),
                                         devices + count, &found);
        /* A platform without devices answers CL_DEVICE_NOT_FOUND, which is no failure: it adds no devices. */
        if (status == CL_SUCCESS)
            count += MIN((int)found, max - count);
    }
    return count;
}

bool opencl_host_device(cl_device_id *device, struct target *t, GError **error)
{
    cl_device_id devices[DEVICES_MAX];
    int count = opencl_devices(devices, DEVICES_MAX, error);

    if (count < 0)
        return false;
    for (int i = 0; i < count; i++) {
        if (opencl_device_target(devices[i], t, NULL)) {
            *device = devices[i];
            return true;
        }
    }
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                "OpenCL has %d devices here and none is a CPU of PoCL's (Debian's package is "
                "pocl-opencl-icd)",
                count);
    return false;
}

static bool device_text(const struct opencl *cl, cl_device_id device, cl_device_info what,
                        char text[256])
{
    text[0] = text[255] = '\0';
    return cl->GetDeviceInfo(device, what, 255, text, NULL) == CL_SUCCESS;
}

/* PoCL's CL_DEVICE_VERSION ends in LLVM's name of the CPU behind the triple: "OpenCL 3.0 PoCL HSTR:
 * pthread-x86_64-pc-linux-gnu-skylake-avx512". */
static bool pocl_cpu_name(const char *version, char *name, size_t size)
{
    static const char system[] = "-linux-gnu-";
    const char *build = strstr(version, "PoCL HSTR: ");
    const char *cpu = build ? strstr(build, system) : NULL;

    if (!cpu || !cpu[strlen(system)])
        return false;
    cpu += strlen(system);
    if (strlen(cpu) >= size)
        return false;
    g_strlcpy(name, cpu, size);
    return true;
}

static cl_ulong device_number(const struct opencl *cl, cl_device_id device, cl_device_info what,
                              size_t size)
{
    cl_ulong number = 0;

    g_assert(size <= sizeof(number) && G_BYTE_ORDER == G_LITTLE_ENDIAN);
    cl->GetDeviceInfo(device, what, size, &number, NULL);
    return number;
}

bool opencl_device_target(cl_device_id device, struct target *t, GError **error)
{
    const struct opencl *cl = opencl_open(error);
    char name[256], version[256];

    if (!cl)
        return false;
    device_text(cl, device, CL_DEVICE_NAME, name);
    device_text(cl, device, CL_DEVICE_VERSION, version);
    memset(t, 0, sizeof(*t));
    if (!(device_number(cl, device, CL_DEVICE_TYPE, sizeof(cl_device_type)) & CL_DEVICE_TYPE_CPU) ||
        !pocl_cpu_name(version, t->arch, sizeof(t->arch))) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_TARGET,
                    "OpenCL device '%s' (%s) is no CPU of PoCL's: its target has no name", name,
                    version);
        return false;
    }
    t->vendor = VENDOR_CPU;
    t->compute_units = (int)device_number(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
    target_set_id(t);
    target_set_limits(t);
    t->local_bytes = (int64_t)device_number(cl, device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
    t->max_workgroup =
        (int)device_number(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    t->vector_bytes =
        (int)sizeof(float) *
        (int)device_number(cl, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof(cl_uint));
    t->wave_size = 1;
    return true;
}

/* Copies the word behind `label`, up to a blank, a comma or a plus; "" where the text lacks the label. */
static void word_after(const char *text, const char *label, char *word, size_t size)
{
    const char *at = strstr(text, label);
    size_t length;

    word[0] = '\0';
    if (!at)
        return;
    at += strlen(label);
    length = strcspn(at, " ,+");
    g_strlcpy(word, at, MIN(length + 1, size));
}

bool opencl_device_version(cl_device_id device, char version[OPENCL_VERSION_MAX], GError **error)
{
    const struct opencl *cl = opencl_open(error);
    cl_platform_id platform = NULL;
    char text[512] = "", pocl[32], llvm[32];

    if (!cl)
        return false;
    cl->GetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    if (cl->GetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(text) - 1, text, NULL) !=
        CL_SUCCESS) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "the OpenCL platform does not state its version");
        return false;
    }
    word_after(text, "PoCL ", pocl, sizeof(pocl));
    word_after(text, "LLVM ", llvm, sizeof(llvm));
    if (pocl[0])
        g_snprintf(version, OPENCL_VERSION_MAX, "PoCL %s LLVM %s", pocl, llvm[0] ? llvm : "?");
    else
        g_strlcpy(version, text, OPENCL_VERSION_MAX);
    return true;
}

const char *opencl_error_name(cl_int status)
{
    static const struct {
        cl_int status;
        const char *name;
    } names[] = {
#define NAMED(status) {status, #status}
        NAMED(CL_SUCCESS),
        NAMED(CL_DEVICE_NOT_FOUND),
        NAMED(CL_DEVICE_NOT_AVAILABLE),
        NAMED(CL_COMPILER_NOT_AVAILABLE),
        NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        NAMED(CL_OUT_OF_RESOURCES),
        NAMED(CL_OUT_OF_HOST_MEMORY),
        NAMED(CL_PROFILING_INFO_NOT_AVAILABLE),
        NAMED(CL_BUILD_PROGRAM_FAILURE),
        NAMED(CL_MISALIGNED_SUB_BUFFER_OFFSET),
        NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        NAMED(CL_INVALID_VALUE),
        NAMED(CL_INVALID_DEVICE),
        NAMED(CL_INVALID_CONTEXT),
        NAMED(CL_INVALID_MEM_OBJECT),
        NAMED(CL_INVALID_BINARY),
        NAMED(CL_INVALID_BUILD_OPTIONS),
        NAMED(CL_INVALID_PROGRAM),
        NAMED(CL_INVALID_PROGRAM_EXECUTABLE),
        NAMED(CL_INVALID_KERNEL_NAME),
        NAMED(CL_INVALID_KERNEL_DEFINITION),
        NAMED(CL_INVALID_KERNEL),
        NAMED(CL_INVALID_ARG_INDEX),
        NAMED(CL_INVALID_ARG_VALUE),
        NAMED(CL_INVALID_ARG_SIZE),
        NAMED(CL_INVALID_KERNEL_ARGS),
        NAMED(CL_INVALID_WORK_DIMENSION),
        NAMED(CL_INVALID_WORK_GROUP_SIZE),
        NAMED(CL_INVALID_WORK_ITEM_SIZE),
        NAMED(CL_INVALID_GLOBAL_OFFSET),
        NAMED(CL_INVALID_EVENT_WAIT_LIST),
        NAMED(CL_INVALID_EVENT),
        NAMED(CL_INVALID_OPERATION),
        NAMED(CL_INVALID_BUFFER_SIZE),
        NAMED(CL_INVALID_GLOBAL_WORK_SIZE),
#undef NAMED
    };
    static _Thread_local char other[48];

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].status == status)
            return names[i].name;
    }
    g_snprintf(other, sizeof(other), "OpenCL error %d", status);
    return other;
}
