/*
 * Reads an AMD code object: an ELF file whose note "AMDGPU" holds its target and the needs of its kernels, as
 * LLVM's AMDGPUUsage.rst describes ("Code Object V3 and above"). Objects may come from anywhere: every offset
 * and length is checked.
 */
#ifndef KERNELS_OBJECTS_AMD_OBJECT_H
#define KERNELS_OBJECTS_AMD_OBJECT_H

#include "kernels/objects/code_object.h"
#include "solvers/framework/target.h"

/* The resources that a kernel needs of a device; -1 where the object does not state a number. */
struct amd_kernel {
    /* Vector registers include accumulation registers where both share a file (gfx90a and later). */
    int64_t vector_registers, scalar_registers, accumulation_registers;
    int64_t vector_spills, scalar_spills; /* scalar spills go to lanes of vector registers first */
    int64_t scratch_bytes;                /* scratch (private) memory of a work-item */
    int64_t local_bytes;
};

struct amd_object {
    char target[80]; /* the target as AMD's tools spell it: "gfx90a:sramecc+:xnack-" */
    struct amd_kernel kernel;
};

/* Reads the needs of kernel `entry`. KERNELS_ERROR_OBJECT for another kind of file, a damaged one, or one
 * without that kernel. */
bool amd_object_read(GBytes *code, const char *entry, struct amd_object *object, GError **error);

/* Copies the kernel's registers, spills, scratch and local memory into the object's fields. */
void amd_kernel_facts(const struct amd_kernel *kernel, struct code_object *object);

/* Whether an object for `object_target` ("gfx90a:xnack+") runs on the target: equal architecture, and no feature that
 * contradicts the target's. A feature that only one of the two names is no contradiction. */
bool amd_object_suits(const char *object_target, const struct target *target);

/* Bytes for the target's name as AMD's tools spell it: "gfx90a:sramecc-:xnack+" for "gfx90a_nosramecc_xnack". */
#define AMD_TARGET_MAX 80
void amd_target_name(const struct target *target, char name[AMD_TARGET_MAX]);

#endif
