/*
 * The devices that a code object was compiled for, read from its header: ELF files of AMD GPUs, NVIDIA
 * GPUs and CPUs, PoCL's programs, and clang's bundles of several. Other bytes (PTX, SPIR-V, compressed
 * bundles) do not name their device.
 */
#ifndef EXPORT_FORMATS_CODE_TARGET_H
#define EXPORT_FORMATS_CODE_TARGET_H

#include "solvers/framework/target.h"

/* This many bytes from the front of a code object are enough for code_other_target(). */
#define CODE_HEAD_BYTES 4096

/* Returns NULL if the code may run on the target or names no device. Otherwise returns the device
 * it was compiled for ("gfx942", "an AMD GPU", "sm_80", "a CPU"); free with g_free(). Only the
 * target's vendor and arch are read. */
char *code_other_target(const void *code, size_t length, const struct target *target);

#endif
