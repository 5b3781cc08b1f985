/* Shared by the files of the GPU library's double only: gpu_double.c has the library's functions,
 * gpu_double_words.c parses the faults that a test asks for, gpu_double_kernels.c has the kernels
 * that the double can compute. */
#ifndef TESTS_SUPPORT_DOUBLES_GPU_DOUBLE_H
#define TESTS_SUPPORT_DOUBLES_GPU_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>

/* ---- gpu_double_words.c ---- */

/* Whether GPU_DOUBLE, or the file that GPU_DOUBLE_FILE names, contains the word. Tests may change
 * that file at any time. */
bool double_said(const char *word);
/* The number of the device that this process uses. */
extern int double_device;
/* double_said() for the word alone, for "WORD@variant" and for "WORD#device" of this process's
 * device. */
bool double_said_of(const char *word, int variant);
/* Returns true once for all processes that share GPU_DOUBLE_FILE and this name, then false. */
bool double_is_first(const char *name);
/* Sets a mark, or asks whether it is set. A mark is a file beside GPU_DOUBLE_FILE, so all processes
 * see it. */
void double_mark(const char *name);
bool double_marked(const char *name);

/* ---- gpu_double_kernels.c ---- */

#define NO_VARIANT (-1) /* the variant of a kernel without variants, or of no kernel */

struct double_kernel {
    const char *name;
    double ms; /* ms that a launch of variant 0 takes */
    void (*run)(void **arguments);
    int variant_at; /* index of the argument that tells the kernel's variant, or NO_VARIANT */
    int output_at;  /* index of the argument that the kernel writes to */
    int arguments;  /* how many it has; each is at most 8 bytes */
};

/* The kernel of that name; NULL if the name is not in the image or the double cannot compute that
 * kernel. */
const struct double_kernel *double_kernel_find(const char *image, size_t bytes, const char *name);
int double_kernel_variant(const struct double_kernel *kernel, void **arguments);
double double_kernel_ms(const struct double_kernel *kernel, int variant);

#endif
