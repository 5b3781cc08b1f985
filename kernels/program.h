/*
 * A launch's program, whatever form it has: dialect source (NAME.cl) and AMD
 * assembly (NAME.s) are built into this program; a ready code object (NAME.co) is
 * read from the folder that SKIPJACK_OBJECTS names, below the architecture's
 * name: SKIPJACK_OBJECTS/gfx90a/NAME.co. The file's name says which it is
 * (launch->program_kind follows it).
 */
#ifndef KERNELS_PROGRAM_H
#define KERNELS_PROGRAM_H

#include "kernels/toolchains/toolchain.h"

#define PROGRAM_HASH_LENGTH 64

/* SHA-256 (hex) of what the program is made from: the text, or the object's bytes. The file's part of a
 * kernel's identity. KERNELS_ERROR_SOURCE when there is no such text or object. */
bool program_hash(const char *file, const struct target *target, char hash[PROGRAM_HASH_LENGTH + 1],
                  GError **error);

/* What is to be built; the texts are the caller's. */
struct program {
    const char *file, *options, *entry;
    const char *hash; /* what program_hash() said of it; NULL for what is there now */
};

/* Compiles, assembles, or reads the object; for a GPU's it checks that it is one for the target and has
 * the entry. Fails as toolchain->compile() does; KERNELS_ERROR_COMPILE also when the toolchain
 * assembles nothing, KERNELS_ERROR_OBJECT for an object that is none or is another target's,
 * KERNELS_ERROR_SOURCE for one that is not, or no longer, the one asked for. */
bool program_build(const struct toolchain *toolchain, const struct program *program,
                   const struct target *target, struct code_object *object, GError **error);

#endif
