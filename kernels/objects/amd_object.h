/*
 * What an AMD code object says of itself: an ELF file whose note "AMDGPU" holds
 * its target and its kernels' needs, as LLVM's AMDGPUUsage.rst ("Code Object
 * V3 and above") has it. It may come from anywhere, so nothing in it is
 * trusted.
 */
#ifndef KERNELS_OBJECTS_AMD_OBJECT_H
#define KERNELS_OBJECTS_AMD_OBJECT_H

#include "kernels/objects/code_object.h"
#include "solvers/framework/target.h"

/* A kernel's needs; -1 for what the object does not state. */
struct amd_kernel {
    /* Vector ones count accumulation registers in where both share a file (gfx90a and later). */
    int64_t vector_registers, scalar_registers, accumulation_registers;
    int64_t vector_spills, scalar_spills; /* scalar ones go to lanes of vector registers first */
    int64_t scratch_bytes;                /* private memory of a work-item */
    int64_t local_bytes;
};

struct amd_object {
    char target[80]; /* "gfx90a:sramecc+:xnack-" */
    struct amd_kernel kernel;
};

/* Reads what the object says of kernel `entry`. KERNELS_ERROR_OBJECT when it is no such object, is
 * damaged, or has no kernel of that name. */
bool amd_object_read(GBytes *code, const char *entry, struct amd_object *object, GError **error);

/* Fills in what a compiler's facts are: registers, spills, scratch and local memory. */
void amd_kernel_facts(const struct amd_kernel *kernel, struct code_object *object);

/* Whether an object for such a target ("gfx90a:xnack+") runs there: the architecture is the same, and no
 * feature is the opposite of the target's. One that either leaves open is of no matter. */
bool amd_object_suits(const char *object_target, const struct target *target);

/* The name that AMD's tools have for a target: "gfx90a:sramecc-:xnack+" of "_nosramecc_xnack". */
#define AMD_TARGET_MAX 80
void amd_target_name(const struct target *target, char name[AMD_TARGET_MAX]);

#endif
