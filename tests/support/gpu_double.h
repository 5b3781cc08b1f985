/*
 * Shared by the files of the GPU library's double: gpu_double.c has the library's functions, gpu_double_words.c reads
 * the faults that a test asks for, gpu_double_kernels.c has the kernels that it can compute. Internal to the double.
 */
#ifndef TESTS_SUPPORT_GPU_DOUBLE_H
#define TESTS_SUPPORT_GPU_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>

/* ---- gpu_double_words.c ---- */

/* Whether the word is among those of GPU_DOUBLE, or of the file that GPU_DOUBLE_FILE names, which may change
 * at any time. */
bool double_said(const char *word);
/* The device that this process works with. */
extern int double_device;
/* The same, or with "@variant" behind it, or "#device". */
bool double_said_of(const char *word, int variant);
/* True once for all processes that share GPU_DOUBLE_FILE and this name, then false. */
bool double_is_first(const char *name);
/* Sets and asks for a mark that all processes see: a file beside the file of words. */
void double_mark(const char *name);
bool double_marked(const char *name);

/* ---- gpu_double_kernels.c ---- */

#define NO_VARIANT (-1) /* of a kernel that comes in one form, or of none */

struct double_kernel {
    const char *name;
    double ms; /* that a launch takes */
    void (*run)(void **arguments);
    int variant_at; /* the argument that says which form this is, or NO_VARIANT */
    int output_at;  /* the argument that is written */
};

/* The kernel of that name; NULL where the image does not hold it, or the double cannot compute it. */
const struct double_kernel *double_kernel_find(const char *image, size_t bytes, const char *name);
int double_kernel_variant(const struct double_kernel *kernel, void **arguments);
double double_kernel_ms(const struct double_kernel *kernel, int variant);

#endif
