/*
 * HIP's module API and CUDA's driver API are the same functions under two names, so what runs a GPU is written
 * once, over a table of functions that a vendor's library fills. Their types are HIP's; CUDA's handles
 * are pointers of the same size, and its status codes are those of HIP as far as they are looked at
 * here (tests/worker/device/test_gpu_api.c compares with cuda.h where that is at hand). What differs, such as
 * the numbers of attributes, where a wrong one succeeds with a wrong value, is in the vendor's row.
 */
#ifndef WORKER_GPU_API_H
#define WORKER_GPU_API_H

#include "worker/device/device.h"

/* Behind GLib's headers, which cannot be read once HIP has made a macro of __noinline__. */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

/* HIP's name, CUDA's symbol. Newer forms of CUDA's functions have a number at their end; those without
 * are of another ABI. */
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
    GPU_LOCAL_BYTES, /* of a workgroup, without asking for more at a launch */
    GPU_CACHE_BYTES, /* of the last level */
    GPU_ATTRIBUTE_COUNT,
};

struct gpu_library;

struct gpu_vendor {
    const char *name;      /* "hip", of a device's stack too */
    const char *setting;   /* names another library */
    const char *libraries; /* by commas, the newest first */
    const char *origin;    /* what brings them */
    enum vendor makes;     /* of its devices, as targets have it */
    int attributes[GPU_ATTRIBUTE_COUNT];
    int major_unit, minor_unit; /* of the number that a version is: CUDA's 12040 is 12.4 */
    /* Makes the device the process's own, in a context that lives as long as the process. */
    bool (*enter)(const struct gpu_library *library, hipDevice_t id, GError **error);
    /* Vendor, architecture, features, and the memory where the target's name has it. */
    bool (*name_target)(const struct gpu_library *library, hipDevice_t id, struct target *target,
                        GError **error);
    /* Lets launches of the kernel ask for that much local memory; NULL where they may as they are. */
    bool (*allow_local)(const struct gpu_library *library, hipFunction_t kernel, int64_t bytes,
                        GError **error);
    /* Functions that only newer libraries have, and a UUID's text of 16 bytes; false where it is none. */
    const char *uuid_function, *address_function;
    bool (*uuid_text)(const char bytes[16], struct device_identity *identity);
    /* A status code's name; static. */
    const char *(*error_name)(const struct gpu_library *library, int status);
};
extern const struct gpu_vendor gpu_vendor_cuda, gpu_vendor_hip;

/* A vendor's library, opened at first use and kept for the process's life. */
struct gpu_library {
    struct gpu_api api;
    void *handle;
    const struct gpu_vendor *vendor;
};
/* DEVICE_ERROR_UNAVAILABLE: it is not here, is too old, or finds no driver. */
const struct gpu_library *gpu_library_open(const struct gpu_vendor *vendor, GError **error);

/* The function of that name, where there is one. */
bool gpu_symbol(const struct gpu_library *library, const char *name, void *function,
                GError **error);

/* Fills all that the driver and sysfs know. */
void gpu_identify(const struct gpu_library *library, hipDevice_t id,
                  struct device_identity *identity);
/* A file of the PCI device's, without white space at its end; NULL where there is none. SKIPJACK_PCI names
 * another folder than /sys/bus/pci/devices. Free with g_free(). */
char *gpu_pci_file(const char *address, const char *name);
/* True for success; else an error of `code`, of MEMORY where the status says so, or of FAULT where nothing
 * can be trusted after it. */
bool gpu_check(const struct gpu_library *library, int status, enum device_error code,
               const char *doing, GError **error);

#endif
