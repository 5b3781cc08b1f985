/*
 * A toolchain turns a kernel's source into a code object for a target. It is a small table of functions and
 * says which targets it serves before it is called. A compiler may crash or hang, and some run in the calling
 * process: call toolchains in a child process.
 */
#ifndef KERNELS_TOOLCHAINS_TOOLCHAIN_H
#define KERNELS_TOOLCHAINS_TOOLCHAIN_H

#include "kernels/objects/code_object.h"
#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"

struct toolchain {
    const char *name;   /* the toolchain's name: "opencl", "clang", "hiprtc", "nvrtc" */
    enum vendor vendor; /* vendor of the targets that it compiles for */
    /* The version that enters a kernel's identity for the target ("PoCL 3.1 LLVM 14.0.6"); for a NULL target
     * all versions that it has, as a node describes itself. Valid until the process ends. NULL and
     * KERNELS_ERROR_UNAVAILABLE where the toolchain is missing, KERNELS_ERROR_TARGET where it does not serve
     * the target. */
    const char *(*version)(const struct target *target, GError **error);
    /* Compiler flags that are added to every launch's options; part of a kernel's identity. */
    const char *flags;
    /* Text in front of every source, also part of the identity; NULL for none. */
    const char *prelude;
    bool (*can_compile)(const struct target *target, GError **error);
    /* Whether equal source, options and target always give a code object of equal bytes. */
    bool reproducible;
    /* Compiles `source` for the target. On success the caller owns *object (code_object_clear()). On
     * KERNELS_ERROR_COMPILE and _CRASH object->log is set too. Any thread. */
    bool (*compile)(const char *source, const char *options, const char *entry,
                    const struct target *target, struct code_object *object, GError **error);
    /* Assembles `source`, like compile(); options (-DNAME=VALUE, integers) become the assembler's symbols. NULL for a
     * toolchain that does not assemble. program.h calls one or the other. */
    bool (*assemble)(const char *source, const char *options, const char *entry,
                     const struct target *target, struct code_object *object, GError **error);
};

extern const struct toolchain *const toolchain_table[];
extern const int toolchain_table_count;
const struct toolchain *toolchain_find(const char *name);
/* The toolchain for a target: the first in the table that is on this machine and compiles for it.
 * SKIPJACK_TOOLCHAIN, for targets of the named toolchain's vendor, and `names` (NULL-terminated; NULL for all)
 * restrict the choice. The first call tries compilers and may take a second. NULL with
 * KERNELS_ERROR_UNAVAILABLE, or with KERNELS_ERROR_TARGET where all are present and none serves the target; the
 * message has each one's reason. */
const struct toolchain *toolchain_for_target(const struct target *target, const char *const *names,
                                             GError **error);
/* The toolchains of the target's vendor that a campaign's software constraints name: "clang" for "clang >= 15;
 * driver >= 535". NULL where they name none. Free with g_strfreev(). */
char **toolchain_names_in(const char *stack, const struct target *target);
/* Why a toolchain's version violates a campaign's constraints on it ("clang >= 15 < 20", "clang 15"); NULL
 * where it does not, and for constraints on other software. A node may have several clangs: check the version
 * that compiles for the target. Free with g_free(). */
char *toolchain_lacks(const struct toolchain *toolchain, const char *version, const char *stack);
/* Whether a node with this software description ("hiprtc HIPRTC 9.0; opencl PoCL 3.1") compiles for AMD's GPUs but
 * cannot assemble for them, so that it must not get assembly kernels. */
bool toolchain_stack_only_compiles(const char *stack);

#define KERNEL_KEY_LENGTH 64
/* Writes a kernel's identity: SHA-256 (hex) of the program's form, source or bytes, options, entry,
 * architecture and features (for CPUs the CPU's name), and the toolchain with its version, flags and prelude. */
void kernel_key(const char *source_sha256, const struct launch *launch, const struct target *target,
                const struct toolchain *toolchain, const char *toolchain_version,
                char key[KERNEL_KEY_LENGTH + 1]);

/* The built-in source with this file name; KERNELS_ERROR_SOURCE for an unknown name. */
struct kernel_source;
const struct kernel_source *kernel_source_find(const char *file, GError **error);

#endif
