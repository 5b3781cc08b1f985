/*
 * Checks that an OpenCL program's binary is complete. PoCL's binary is the files of its cache, each behind its
 * length (lib/CL/pocl_binary.c). A full disk leaves a binary that loads and then crashes the process at the
 * first launch. Binaries of other platforms are not checked.
 */
#ifndef KERNELS_TOOLCHAINS_OPENCL_BINARY_H
#define KERNELS_TOOLCHAINS_OPENCL_BINARY_H

#include <glib.h>
#include <stdbool.h>

/* Checks a program's binary. Sets KERNELS_ERROR_OBJECT for an empty binary, and for a binary of PoCL without finished
 * code or with code that is cut off. */
bool opencl_binary_check(GBytes *binary, GError **error);

#endif
