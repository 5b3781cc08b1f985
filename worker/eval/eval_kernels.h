/*
 * The code objects an eval child was given, by kernel key, each loaded into the
 * device when it is first needed and kept until it is forgotten.
 */
#ifndef WORKER_EVAL_KERNELS_H
#define WORKER_EVAL_KERNELS_H

#include "worker/device/device.h"

struct eval_kernels;

struct eval_kernels *eval_kernels_new(struct device *device);
void eval_kernels_free(struct eval_kernels *kernels);
/* Takes a reference. A key that is there already keeps its first code object. */
void eval_kernels_add(struct eval_kernels *kernels, const char *key, GBytes *code);
/* Nothing may use its program any more. */
void eval_kernels_forget(struct eval_kernels *kernels, const char *key);
/* The loaded program; DEVICE_ERROR_LOAD when the key is not there or its code does not load. */
struct device_program *eval_kernels_program(struct eval_kernels *kernels, const char *key,
                                            GError **error);

#endif
