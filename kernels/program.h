/*
 * The program of a launch, in any form. Dialect source (NAME.cl) and AMD assembly (NAME.s) are texts of
 * kernel_source.h. A ready code object (NAME.co) is read from the folder that SKIPJACK_OBJECTS names, below the
 * architecture: SKIPJACK_OBJECTS/gfx90a/NAME.co. The file's name says which form it is (launch->program_kind).
 */
#ifndef KERNELS_PROGRAM_H
#define KERNELS_PROGRAM_H

#include "kernels/toolchains/toolchain.h"

#define PROGRAM_HASH_LENGTH 64

/* SHA-256 (hex) of the text, or of the object's bytes: the program's part of a kernel's identity.
 * KERNELS_ERROR_SOURCE where there is no such text or object. */
bool program_hash(const char *file, const struct target *target, char hash[PROGRAM_HASH_LENGTH + 1],
                  GError **error);

/* A program to be built. The caller owns the texts. */
struct program {
    const char *file, *options, *entry;
    /* The expected program_hash() of a ready object; NULL to take whatever object is there now. It is not checked for
     * texts, which are part of this program. */
    const char *hash;
};

/* Compiles, assembles, or reads the code object. An object for a GPU is checked for the target and the entry.
 * Errors are those of toolchain->compile(), and KERNELS_ERROR_COMPILE where the toolchain does not assemble,
 * KERNELS_ERROR_OBJECT for an object that is damaged or another target's, KERNELS_ERROR_SOURCE for a missing
 * program, or a ready object with another hash. */
bool program_build(const struct toolchain *toolchain, const struct program *program,
                   const struct target *target, struct code_object *object, GError **error);

#endif
