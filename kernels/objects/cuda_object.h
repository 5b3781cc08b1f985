/*
 * What an NVIDIA code object (a cubin) says of itself: an ELF file whose header names the
 * architecture and whose sections ".nv.info" hold what its kernels need, one attribute behind the
 * other. NVIDIA documents the file as ELF and no more; what is read here is what its own tools show
 * (readelf, cuobjdump -elf). It may come from anywhere, so nothing in it is trusted.
 */
#ifndef KERNELS_OBJECTS_CUDA_OBJECT_H
#define KERNELS_OBJECTS_CUDA_OBJECT_H

#include "kernels/objects/code_object.h"
#include "solvers/framework/target.h"

struct cuda_object {
    int arch;          /* 90 for sm_90 and sm_90a */
    char compiler[32]; /* "V13.0.88", "" where the object does not name it */
    int64_t registers; /* of an item; -1 where it is not stated, as the next */
    int64_t stack_bytes;
};

/* Reads what the object says of kernel `entry`. KERNELS_ERROR_OBJECT when it is no such object, is
 * damaged, or has no kernel of that name. */
bool cuda_object_read(GBytes *code, const char *entry, struct cuda_object *object, GError **error);

/* Whether it is made for the target's architecture, as far as it says. */
bool cuda_object_suits(const struct cuda_object *object, const struct target *target);

#endif
