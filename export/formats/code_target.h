/*
 * The devices that a code object was compiled for, read from its header: ELF files of AMD GPUs, NVIDIA
 * GPUs and CPUs, PoCL's programs, and clang's bundles of several. Other bytes (PTX, SPIR-V, compressed
 * bundles) do not name their device.
 */
#ifndef EXPORT_CODE_TARGET_H
#define EXPORT_CODE_TARGET_H

#include "solvers/framework/target.h"

/* As many of a code object's first bytes are enough to tell. */
#define CODE_HEAD_BYTES 4096

/* NULL where the code may run on the target, or names no device; else what it was compiled for ("gfx942",
 * "an AMD GPU", "sm_80", "a CPU"), to be freed with g_free(). The target needs its vendor and arch alone. */
char *code_other_target(const void *code, size_t length, const struct target *target);

#endif
