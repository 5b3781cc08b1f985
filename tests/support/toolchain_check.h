/* Checks that tests of several toolchains share. Each compiles a kernel named "copy" with the option -DSTEP=2. */
#ifndef TESTS_SUPPORT_TOOLCHAIN_CHECK_H
#define TESTS_SUPPORT_TOOLCHAIN_CHECK_H

#include "kernels/toolchains/toolchain.h"

/* Whether the toolchain compiles for the target here; otherwise skips the test with the toolchain's reason. */
bool toolchain_serves_or_skip(const struct toolchain *toolchain, const char *target_id);

bool toolchain_compile_copy(const struct toolchain *toolchain, const char *text,
                            const char *target_id, struct code_object *object, GError **error);

/* Two compilations of a small kernel give the same bytes, which hold the kernel for `made_for` (the name of a target
 * in AMD's objects, of an architecture in NVIDIA's: "sm_90"), with few registers and no other memory. */
void toolchain_check_equal_bytes(const struct toolchain *toolchain, const char *text,
                                 const char *target_id, const char *made_for);

/* The source is refused with this error; its message and the log hold these words. */
void toolchain_check_refuses_source(const struct toolchain *toolchain, const char *target_id,
                                    const char *text, enum kernels_error code, const char *message,
                                    const char *log);

/* In a process of its own, since an open library stays open: with `setting` naming a library that is not there,
 * and one that lacks `symbol`, the toolchain is unavailable and says why. */
void toolchain_check_missing_library(const struct toolchain *toolchain, const char *target_id,
                                     const char *setting, const char *symbol);

#endif
