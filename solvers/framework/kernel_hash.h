/*
 * The hashes of device sources, without the sources: solvers do not see kernels/, yet a solver's identity
 * covers the text that it launches. Made at build time by kernels/tools/embed.c.
 */
#ifndef SOLVERS_FRAMEWORK_KERNEL_HASH_H
#define SOLVERS_FRAMEWORK_KERNEL_HASH_H

/* The SHA-256 (64 lower-case hex digits) of the device source with this file name ("conv_fft.cl"), headers
 * included. A static string; NULL where there is no such file. */
const char *kernel_source_hash(const char *file);

#endif
