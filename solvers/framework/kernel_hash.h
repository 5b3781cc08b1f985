/*
 * What a solver's device source is, without the source: solvers are pure and
 * do not see kernels/, yet a solver's identity includes the text it launches.
 * Made at build time by kernels/tools/embed.c.
 */
#ifndef SOLVERS_FRAMEWORK_KERNEL_HASH_H
#define SOLVERS_FRAMEWORK_KERNEL_HASH_H

/*
 * The SHA-256 (64 lower-case hex digits) of the device source `file`, a name
 * within kernels/device/ such as "direct_fwd.cl", with the dialect header that
 * it includes. NULL when there is no such file. The string is static.
 */
const char *kernel_source_hash(const char *file);

#endif
