/*
 * Whether a program's binary, as an OpenCL platform gives it, is whole. PoCL packs the files of its cache
 * into it as they lie on the disk, each behind its length (lib/CL/pocl_binary.c): a disk that was full
 * leaves one that loads, and brings the process down at the first launch. Other platforms' bytes are
 * their own affair.
 */
#ifndef KERNELS_TOOLCHAINS_OPENCL_BINARY_H
#define KERNELS_TOOLCHAINS_OPENCL_BINARY_H

#include <glib.h>
#include <stdbool.h>

/* KERNELS_ERROR_OBJECT where it is empty, or PoCL's and holds no finished code, or some that is cut off. */
bool opencl_binary_check(GBytes *binary, GError **error);

#endif
