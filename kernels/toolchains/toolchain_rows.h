/*
 * The toolchains' rows, each defined in the file of its name. Only toolchain.c needs them; everything else
 * walks the table.
 */
#ifndef KERNELS_TOOLCHAINS_TOOLCHAIN_ROWS_H
#define KERNELS_TOOLCHAINS_TOOLCHAIN_ROWS_H

#include "kernels/toolchains/toolchain.h"

extern const struct toolchain toolchain_clang;
extern const struct toolchain toolchain_hiprtc;
extern const struct toolchain toolchain_nvrtc;
extern const struct toolchain toolchain_opencl;

#endif
