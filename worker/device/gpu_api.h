/*
 * HIP's module API and CUDA's driver API have the same functions under different
 * names. So device_gpu.c is written once, over a table of functions that is filled
 * from the vendor's library. The table has HIP's types: CUDA's handles are
 * pointers of the same size, and its status codes equal HIP's where this code
 * looks at them (tests/worker/device/test_gpu_api.c compares with cuda.h if it is
 * installed). Differences, such as the attributes' numbers, are in the vendor's
 * row.
 */
#ifndef WORKER_DEVICE_GPU_API_H
#define WORKER_DEVICE_GPU_API_H

#include "worker/device/device.h"

/* Include GLib's headers before this one: HIP defines a macro __noinline__, which breaks them. */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

/* The functions of the table: HIP's name, CUDA's symbol. CUDA's names with _v2 have to be used:
 * those without it are functions of an older ABI. */
#define GPU_FUNCTIONS(ROW)                                                                         \
    ROW(Init, "cuInit")                                                                            \
    ROW(DriverGetVersion, "cuDriverGetVersion")                                                    \
    ROW(GetDeviceCount, "cuDeviceGetCount")                                                        \
    ROW(DeviceGet, "cuDeviceGet")                                                                  \
    ROW(DeviceGetName, "cuDeviceGetName")                                                          \
    ROW(DeviceTotalMem, "cuDeviceTotalMem_v2")                                                     \
    ROW(DeviceGetAttribute, "cuDeviceGetAttribute")                                                \
    ROW(Malloc, "cuMemAlloc_v2")                                                                   \
    ROW(Free, "cuMemFree_v2")                                                                      \
    ROW(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                                                   \
    ROW(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                                                   \
    ROW(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2")                                                   \
    ROW(MemsetD8Async, "cuMemsetD8Async")                                                          \
    ROW(StreamCreateWithFlags, "cuStreamCreate")                                                   \
    ROW(StreamSynchronize, "cuStreamSynchronize")                                                  \
    ROW(StreamDestroy, "cuStreamDestroy_v2")                                                       \
    ROW(EventCreateWithFlags, "cuEventCreate")                                                     \
    ROW(EventRecord, "cuEventRecord")                                                              \
    ROW(EventSynchronize, "cuEventSynchronize")                                                    \
    ROW(EventElapsedTime, "cuEventElapsedTime")                                                    \
    ROW(EventDestroy, "cuEventDestroy_v2")                                                         \
    ROW(ModuleLoadData, "cuModuleLoadData")                                                        \
    ROW(ModuleUnload, "cuModuleUnload")                                                            \
    ROW(ModuleGetFunction, "cuModuleGetFunction")                                                  \
    ROW(ModuleLaunchKernel, "cuLaunchKernel")

struct gpu_api {
#define GPU_MEMBER(name, cuda) __typeof__(&hip##name) name;
    GPU_FUNCTIONS(GPU_MEMBER)
#undef GPU_MEMBER
};

enum gpu_attribute {
    GPU_UNITS,
    GPU_ITEMS_MAX, /* of a workgroup */
    GPU_WAVE,
    GPU_LOCAL_BYTES, /* local memory of a workgroup, unless a launch asks for more */
    GPU_CACHE_BYTES, /* bytes of the last-level cache */
    GPU_ATTRIBUTE_COUNT,
};

struct gpu_library;

struct gpu_vendor {
    const char *name;      /* "hip", "cuda"; also the runtime's name in a device's stack */
    const char *setting;   /* environment variable that names another library file */
    const char *libraries; /* library files to try, joined by commas, the newest first */
    const char *origin;    /* the package that installs the libraries, for messages */
    enum vendor makes;     /* vendor in the targets of its devices */
    int attributes[GPU_ATTRIBUTE_COUNT];
    /* Divisors that split the version's number: CUDA's 12040 is 12.4. */
    int major_unit, minor_unit;
    /* Makes the device the current one of the process, in a context that lives as long as the
     * process. */
    bool (*enter)(const struct gpu_library *library, hipDevice_t id, GError **error);
    /* Fills in vendor, architecture and features of the target, and the memory if it is part of
     * the target's name. */
    bool (*name_target)(const struct gpu_library *library, hipDevice_t id, struct target *target,
                        GError **error);
    /* Lets launches of the kernel ask for so many bytes of local memory. NULL for a vendor whose
     * launches need no permission. */
    bool (*allow_local)(const struct gpu_library *library, hipFunction_t kernel, int64_t bytes,
                        GError **error);
    /* Names of functions that older libraries lack. uuid_text() writes the 16 bytes of a UUID as
     * the vendor's tools do; false if they are no UUID. */
    const char *uuid_function, *address_function;
    bool (*uuid_text)(const char bytes[16], struct device_identity *identity);
    /* The name of a status code; a static text. */
    const char *(*error_name)(const struct gpu_library *library, int status);
};
extern const struct gpu_vendor gpu_vendor_cuda, gpu_vendor_hip;

/* A vendor's library, opened at first use and never closed. */
struct gpu_library {
    struct gpu_api api;
    void *handle;
    const struct gpu_vendor *vendor;
};
/* Opens the vendor's library. DEVICE_ERROR_UNAVAILABLE: the library is missing or too old, or
 * finds no driver. */
const struct gpu_library *gpu_library_open(const struct gpu_vendor *vendor, GError **error);

/* Finds a function of the library. False with an error if the library lacks it, as older
 * libraries lack some. */
bool gpu_symbol(const struct gpu_library *library, const char *name, void *function,
                GError **error);

/* Fills the identity from the driver and sysfs; unknown texts become "". */
void gpu_identify(const struct gpu_library *library, hipDevice_t id,
                  struct device_identity *identity);
/* The text of a PCI device's file in sysfs, without trailing white space; NULL if it cannot be read. SKIPJACK_PCI
 * names another folder than /sys/bus/pci/devices. Free with g_free(). */
char *gpu_pci_file(const char *address, const char *name);
/* Whether the status is success. If not, sets an error: DEVICE_ERROR_MEMORY for a lack of
 * memory, DEVICE_ERROR_FAULT if the context cannot recover, else `code`. */
bool gpu_check(const struct gpu_library *library, int status, enum device_error code,
               const char *doing, GError **error);

#endif
