/* A small NVIDIA code object made by hand: an ELF file with a symbol and the resource needs of one
 * kernel. Tests read it and damage it; no GPU would run it. */
#ifndef TESTS_SUPPORT_KERNELS_CUDA_NOTE_H
#define TESTS_SUPPORT_KERNELS_CUDA_NOTE_H

#include <glib.h>

/* A code object for sm_90, compiled by version V13.0.88, with 40 registers and 16 bytes of stack.
 * old: with the ELF header that CUDA 12 writes. The section headers are at the end. Free with
 * g_byte_array_unref(). */
GByteArray *cuda_note_object(const char *kernel, gboolean old);

#endif
