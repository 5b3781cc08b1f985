/*
 * A toolchain turns a kernel's source into a code object for a target. It is
 * a small table of functions; the list of targets it can really compile is
 * asked before it is called. Compiling may crash or hang (a compiler is a
 * large program, and some run in this process): callers run it in a child.
 */
#ifndef KERNELS_TOOLCHAINS_TOOLCHAIN_H
#define KERNELS_TOOLCHAINS_TOOLCHAIN_H

#include "kernels/objects/code_object.h"
#include "solvers/framework/solution.h"
#include "solvers/framework/target.h"

struct toolchain {
    const char *name;   /* "opencl", "clang", "hiprtc", "nvrtc" */
    enum vendor vendor; /* whose processors it compiles for */
    /* Its version as it enters the identity of a kernel for the target ("PoCL 3.1 LLVM 14.0.6"); NULL
     * for all that it has, as a node describes itself. Owned by the toolchain, kept for the process's
     * life. NULL and KERNELS_ERROR_UNAVAILABLE when it is not here, KERNELS_ERROR_TARGET when none of
     * it compiles for the target. */
    const char *(*version)(const struct target *target, GError **error);
    /* What it adds to every launch's options; part of a kernel's identity. */
    const char *flags;
    /* Text that it puts in front of every source, likewise; NULL for none. */
    const char *prelude;
    bool (*can_compile)(const struct target *target, GError **error);
    /* Code objects of equal input are equal byte for byte. */
    bool reproducible;
    /* On success fills *object, owned by the caller. On KERNELS_ERROR_COMPILE and _CRASH object->log
     * is set too. Called from any thread. */
    bool (*compile)(const char *source, const char *options, const char *entry,
                    const struct target *target, struct code_object *object, GError **error);
    /* The same for assembly, whose options (-DNAME=VALUE, whole numbers) become symbols; NULL when the
     * toolchain assembles nothing. program.h chooses between the two. */
    bool (*assemble)(const char *source, const char *options, const char *entry,
                     const struct target *target, struct code_object *object, GError **error);
};

extern const struct toolchain *const toolchain_table[];
extern const int toolchain_table_count;
const struct toolchain *toolchain_find(const char *name);
/* The toolchain that serves a target: the first in the table's order that is on this machine and compiles
 * for the target. SKIPJACK_TOOLCHAIN leaves only the one that it names, for targets of that one's vendor;
 * names (NULL-terminated, NULL for any) leaves only those. Compilers are tried, so this may take a second
 * the first time. NULL with KERNELS_ERROR_UNAVAILABLE, or _TARGET where all of them are here and none compiles for
 * the target; the message has each one's reason. */
const struct toolchain *toolchain_for_target(const struct target *target, const char *const *names,
                                             GError **error);
/* The toolchains of the target's vendor that a campaign's constraints on the software stack ask for: "clang" of
 * "clang >= 15; driver >= 535". NULL where they ask for none of them; free with g_strfreev(). */
char **toolchain_names_in(const char *stack, const struct target *target);
/* Why a version of the toolchain does not meet a campaign's constraints on it ("clang >= 15 < 20", "clang 15"); NULL if
 * it does, and for constraints on other things. A node may have several clangs, and is admitted by the first: this is
 * asked of the one that compiles for the target. Free with g_free(). */
char *toolchain_lacks(const struct toolchain *toolchain, const char *version, const char *stack);
/* Whether a node that describes its software so, "hiprtc HIPRTC 9.0; opencl PoCL 3.1", compiles for AMD's GPUs but
 * assembles nothing for them: kernels that are assembly are for other nodes. */
bool toolchain_stack_only_compiles(const char *stack);

#define KERNEL_KEY_LENGTH 64
/* A kernel's identity: SHA-256 (hex) of its program's form, source with all it includes, options, entry, target arch
 * and features (for CPUs the CPU's name), toolchain, its version, flags and prelude. */
void kernel_key(const char *source_sha256, const struct launch *launch, const struct target *target,
                const struct toolchain *toolchain, const char *toolchain_version,
                char key[KERNEL_KEY_LENGTH + 1]);

/* The built-in source of a launch; KERNELS_ERROR_SOURCE when there is none. */
struct kernel_source;
const struct kernel_source *kernel_source_find(const char *file, GError **error);

#endif
