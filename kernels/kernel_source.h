/*
 * The device sources of all built-in solvers, carried inside the program, so
 * that an installed worker needs no source tree. Made at build time from
 * kernels/device/ by kernels/tools/embed.c; each text stands alone, the dialect
 * header is already part of it.
 */
#ifndef KERNELS_KERNEL_SOURCE_H
#define KERNELS_KERNEL_SOURCE_H

#include <stddef.h>

struct kernel_source {
    const char *file;   /* name within kernels/device/: "direct_fwd.cl" */
    const char *text;   /* NUL-terminated, includes nothing */
    const char *sha256; /* of text, 64 lower-case hex digits */
};

/* Sorted by file (strcmp). */
extern const struct kernel_source kernel_sources[];
extern const size_t kernel_sources_count;

#endif
