/* Checks that tests of several toolchains share. Each compiles a kernel named "copy" with the option -DSTEP=2. */
#ifndef TESTS_SUPPORT_KERNELS_TOOLCHAIN_CHECK_H
#define TESTS_SUPPORT_KERNELS_TOOLCHAIN_CHECK_H

#include "kernels/toolchains/toolchain.h"

/* Whether the toolchain compiles for the target here; otherwise skips the test with the toolchain's reason. */
bool toolchain_serves_or_skip(const struct toolchain *toolchain, const char *target_id);

bool toolchain_compile_copy(const struct toolchain *toolchain, const char *text,
                            const char *target_id, struct code_object *object, GError **error);

/* Asserts that two compilations of a small kernel give the same bytes, that these contain the
 * kernel for `made_for` (a target's name in AMD's objects, an architecture such as "sm_90" in
 * NVIDIA's), and that it uses few registers and no other memory. */
void toolchain_check_equal_bytes(const struct toolchain *toolchain, const char *text,
                                 const char *target_id, const char *made_for);

/* Asserts that the source is refused with this error code, and that message and log contain these
 * texts. */
void toolchain_check_refuses_source(const struct toolchain *toolchain, const char *target_id,
                                    const char *text, enum kernels_error code, const char *message,
                                    const char *log);

/* Asserts that the toolchain is unavailable and says why, if the variable `setting` names a library
 * that does not exist or that lacks `symbol`. Runs in processes of its own, since an open library
 * stays open. */
void toolchain_check_missing_library(const struct toolchain *toolchain, const char *target_id,
                                     const char *setting, const char *symbol);

#endif
