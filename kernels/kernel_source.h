/*
 * The device sources of all built-in solvers, part of the program, so that an installed worker needs no
 * source tree. Made at build time from kernels/device/ by kernels/tools/embed.c. The text of a kernel (.cl)
 * contains its headers and has no comments; assembly (.s) is as in its file.
 */
#ifndef KERNELS_KERNEL_SOURCE_H
#define KERNELS_KERNEL_SOURCE_H

#include <stddef.h>

struct kernel_source {
    const char *file;   /* the file's name without folders: "conv_fft.cl" */
    const char *text;   /* NUL-terminated, without #include */
    const char *sha256; /* SHA-256 of `text`, 64 lower-case hex digits */
};

/* All built-in sources, sorted by file (strcmp). */
extern const struct kernel_source kernel_sources[];
extern const size_t kernel_sources_count;

#endif
