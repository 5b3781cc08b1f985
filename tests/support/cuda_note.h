/*
 * A small NVIDIA code object made by hand: an ELF file with a symbol and the
 * needs of one kernel. Enough to be read, and to be damaged; no GPU would run it.
 */
#ifndef TESTS_SUPPORT_CUDA_NOTE_H
#define TESTS_SUPPORT_CUDA_NOTE_H

#include <glib.h>

/* For sm_90, by the compiler V13.0.88: 40 registers and 16 bytes of stack. old: with the header that CUDA
 * 12 writes. The section headers are its end. Free with g_byte_array_unref(). */
GByteArray *cuda_note_object(const char *kernel, gboolean old);

#endif
