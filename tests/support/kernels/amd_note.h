/* A small AMD code object made by hand: an ELF header, one note segment, and metadata for one
 * kernel. Tests read it and damage it; no GPU would run it. */
#ifndef TESTS_SUPPORT_KERNELS_AMD_NOTE_H
#define TESTS_SUPPORT_KERNELS_AMD_NOTE_H

#include <glib.h>

/* target: as in "gfx90a:xnack+". The kernel has 40 vector and 20 scalar registers, of which 3
 * and 2 are spilled, 16 bytes of scratch memory and 1024 of local memory. Free with
 * g_byte_array_unref(). */
GByteArray *amd_note_object(const char *target, const char *kernel);

#endif
