/*
 * OpenCL, opened at run time: the program starts on machines without it. Both
 * who compiles for OpenCL (toolchain_opencl.c) and who launches on it (the
 * worker's device) use this one table of functions. Functions here may be
 * called from any thread; a library that could not be opened is tried again at
 * the next call.
 */
#ifndef KERNELS_TOOLCHAINS_OPENCL_H
#define KERNELS_TOOLCHAINS_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "kernels/toolchains/toolchain.h"

#define OPENCL_FUNCTIONS(ROW)                                                                      \
    ROW(BuildProgram)                                                                              \
    ROW(CreateBuffer)                                                                              \
    ROW(CreateCommandQueue)                                                                        \
    ROW(CreateContext)                                                                             \
    ROW(CreateKernel)                                                                              \
    ROW(CreateProgramWithBinary)                                                                   \
    ROW(CreateProgramWithSource)                                                                   \
    ROW(CreateSubBuffer)                                                                           \
    ROW(EnqueueBarrierWithWaitList)                                                                \
    ROW(EnqueueCopyBuffer)                                                                         \
    ROW(EnqueueFillBuffer)                                                                         \
    ROW(EnqueueMarkerWithWaitList)                                                                 \
    ROW(EnqueueNDRangeKernel)                                                                      \
    ROW(EnqueueReadBuffer)                                                                         \
    ROW(EnqueueWriteBuffer)                                                                        \
    ROW(Finish)                                                                                    \
    ROW(Flush)                                                                                     \
    ROW(GetDeviceIDs)                                                                              \
    ROW(GetDeviceInfo)                                                                             \
    ROW(GetEventProfilingInfo)                                                                     \
    ROW(GetKernelWorkGroupInfo)                                                                    \
    ROW(GetPlatformIDs)                                                                            \
    ROW(GetPlatformInfo)                                                                           \
    ROW(GetProgramBuildInfo)                                                                       \
    ROW(GetProgramInfo)                                                                            \
    ROW(ReleaseCommandQueue)                                                                       \
    ROW(ReleaseContext)                                                                            \
    ROW(ReleaseEvent)                                                                              \
    ROW(ReleaseKernel)                                                                             \
    ROW(ReleaseMemObject)                                                                          \
    ROW(ReleaseProgram)                                                                            \
    ROW(SetKernelArg)                                                                              \
    ROW(WaitForEvents)

/* clBuildProgram is cl->BuildProgram, and so on. */
struct opencl {
#define OPENCL_MEMBER(name) __typeof__(&cl##name) name;
    OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
};

/* Sets what PoCL reads when it is loaded; call first in a process that will use OpenCL. cache_dir
 * is PoCL's own folder for intermediate files, one a process that compiles. It is created; one that is
 * there already must belong to this user, and nobody else may write to it: else false, and
 * KERNELS_ERROR_UNAVAILABLE. With these settings a program's binary holds the finished code of kernels whose
 * workgroup size is an attribute, so that another process does not compile at its first launch. */
bool opencl_environment(const char *cache_dir, GError **error);

/* The functions, kept for the process's life. NULL and KERNELS_ERROR_UNAVAILABLE without OpenCL. */
const struct opencl *opencl_open(GError **error);

/* All devices of all platforms into devices[], at most max. Returns how many, or -1 with an error
 * set when OpenCL is not here. */
int opencl_devices(cl_device_id *devices, int max, GError **error);

/* The first device that opencl_device_target() accepts. */
bool opencl_host_device(cl_device_id *device, struct target *t, GError **error);

/* The target that a device is: "cpu-skylake-avx512_2" for a CPU of PoCL's, its limits as the device
 * states them. KERNELS_ERROR_TARGET for other devices. */
bool opencl_device_target(cl_device_id device, struct target *t, GError **error);

/* The platform's version as it enters a kernel's identity: "PoCL 3.1 LLVM 15.0.6". */
#define OPENCL_VERSION_MAX 128
bool opencl_device_version(cl_device_id device, char version[OPENCL_VERSION_MAX], GError **error);

/* "CL_OUT_OF_RESOURCES"; "OpenCL error -9999" for codes without a name. Static or thread's own. */
const char *opencl_error_name(cl_int status);

#endif
