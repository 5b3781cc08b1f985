/*
 * A compiled kernel with its compiler's report, and the errors of this room.
 */
#ifndef KERNELS_OBJECTS_CODE_OBJECT_H
#define KERNELS_OBJECTS_CODE_OBJECT_H

#include <glib.h>
#include <stdint.h>

#define KERNELS_ERROR (kernels_error_quark())
GQuark kernels_error_quark(void);

enum kernels_error {
    KERNELS_ERROR_COMPILE, /* The compiler refused the source; the log says why. */
    KERNELS_ERROR_TARGET,  /* The toolchain cannot compile for this target. */
    /* The toolchain's library or program is not on this machine, or the machine did not let it finish (full disk,
     * killed process). The source may be right. */
    KERNELS_ERROR_UNAVAILABLE,
    KERNELS_ERROR_SOURCE, /* No kernel source of that name is built in. */
    KERNELS_ERROR_CRASH,  /* The compiler itself crashed; the log has its last messages. */
    KERNELS_ERROR_OBJECT, /* A code object is damaged, or made for another kernel or target. */
};

/* Counts are -1 where the compiler does not report them. */
struct code_object {
    GBytes *code;
    char *log;      /* the compiler's warnings and errors, "" without any */
    double seconds; /* wall-clock time of the compilation */
    int registers;  /* vector registers of a work-item */
    /* AMD: accumulation registers of a work-item, which `registers` includes where both kinds share a register file
     * (gfx90a and later), and scalar registers of a wave. */
    int accumulation_registers, scalar_registers;
    int spills;            /* spilled registers of a work-item */
    int64_t scratch_bytes; /* private memory of a work-item, for spills and arrays */
    int64_t local_bytes;   /* declared local memory of a workgroup */
    /* counts by name (instructions.h), set by program_build(); NULL where nothing was counted */
    char *instructions;
};
/* Frees what the object holds and clears it. */
void code_object_clear(struct code_object *object);

#endif
