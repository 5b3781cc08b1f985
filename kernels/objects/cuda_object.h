/*
 * Reads an NVIDIA code object (cubin): an ELF file whose header names the architecture and whose sections
 * ".nv.info" hold lists of attributes with the needs of its kernels. NVIDIA documents it as ELF and no further;
 * the attributes are those that NVIDIA's own tools show (readelf, cuobjdump -elf). Objects may come from
 * anywhere: every offset and length is checked.
 */
#ifndef KERNELS_OBJECTS_CUDA_OBJECT_H
#define KERNELS_OBJECTS_CUDA_OBJECT_H

#include "kernels/objects/code_object.h"
#include "solvers/framework/target.h"

struct cuda_object {
    int arch; /* architecture: 90 for sm_90 and sm_90a */
    /* the compiler's version, "V13.0.88"; "" where the object does not name it */
    char compiler[32];
    /* per work-item: registers, bytes of stack; -1 where the object does not state them */
    int64_t registers;
    int64_t stack_bytes;
};

/* Reads the needs of kernel `entry`. KERNELS_ERROR_OBJECT for another kind of file, a damaged one, or one
 * without that kernel. */
bool cuda_object_read(GBytes *code, const char *entry, struct cuda_object *object, GError **error);

/* Whether the object is for the target's architecture. Suffixes as in "sm_90a" do not count. An object that states
 * no architecture suits no target. */
bool cuda_object_suits(const struct cuda_object *object, const struct target *target);

#endif
