/*
 * OpenCL, opened at run time, so that the program starts on machines without it. The compiler
 * (toolchain_opencl.c) and the worker's device share this table of functions. Any thread may call these
 * functions. A library that could not be opened is tried again at the next call.
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
    ROW(EnqueueMapBuffer)                                                                          \
    ROW(EnqueueMarkerWithWaitList)                                                                 \
    ROW(EnqueueNDRangeKernel)                                                                      \
    ROW(EnqueueReadBuffer)                                                                         \
    ROW(EnqueueUnmapMemObject)                                                                     \
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

/* Pointers to OpenCL's functions, named without "cl": cl->BuildProgram is clBuildProgram. */
struct opencl {
#define OPENCL_MEMBER(name) __typeof__(&cl##name) name;
    OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
};

/* Sets the environment that PoCL reads when it is loaded; call it first in a process that uses OpenCL.
 * cache_dir is PoCL's folder for intermediate files, one for each process that compiles. It is created, or must
 * belong to this user and be writable by nobody else; otherwise KERNELS_ERROR_UNAVAILABLE. With these settings
 * a program's binary holds the finished code of kernels whose workgroup size is an attribute, so that another
 * process need not compile at its first launch. */
bool opencl_environment(const char *cache_dir, GError **error);

/* Opens the OpenCL library and returns its functions, valid until the process ends. NULL and
 * KERNELS_ERROR_UNAVAILABLE without OpenCL. */
const struct opencl *opencl_open(GError **error);

/* Writes up to `max` devices of all platforms. Returns their count, or -1 and an error where OpenCL is missing. */
int opencl_devices(cl_device_id *devices, int max, GError **error);

/* Finds the first device that opencl_device_target() supports, with its target. Where none is, the error is
 * KERNELS_ERROR_UNAVAILABLE. */
bool opencl_host_device(cl_device_id *device, struct target *t, GError **error);

/* The device's target with the limits that the device reports: "cpu-skylake-avx512_2" for a CPU of PoCL.
 * KERNELS_ERROR_TARGET for other devices. */
bool opencl_device_target(cl_device_id device, struct target *t, GError **error);

/* Bytes for the platform's version as a kernel's identity has it: "PoCL 3.1 LLVM 15.0.6". */
#define OPENCL_VERSION_MAX 128
bool opencl_device_version(cl_device_id device, char version[OPENCL_VERSION_MAX], GError **error);

/* The name of an OpenCL status: "CL_OUT_OF_RESOURCES", or "OpenCL error -9999" for an unknown code. The text is
 * static, or the thread's own until its next call. */
const char *opencl_error_name(cl_int status);

#endif
