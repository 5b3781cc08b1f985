/*
 * The code objects that an eval child received, by kernel key. Each is loaded into the device when it is first needed
 * and stays loaded until it is forgotten.
 */
#ifndef WORKER_EVAL_EVAL_KERNELS_H
#define WORKER_EVAL_EVAL_KERNELS_H

#include "worker/device/device.h"

struct eval_kernels;

struct eval_kernels *eval_kernels_new(struct device *device);
void eval_kernels_free(struct eval_kernels *kernels);
/* Adds a code object under its kernel key; takes a reference. A key that was added before keeps
 * its first code object. */
void eval_kernels_add(struct eval_kernels *kernels, const char *key, GBytes *code);
/* Unloads the program of a key and forgets its code; no invocation may use it any more. */
void eval_kernels_forget(struct eval_kernels *kernels, const char *key);
/* The key's loaded program, owned by kernels. DEVICE_ERROR_LOAD if the key is unknown or its code does not load. */
struct device_program *eval_kernels_program(struct eval_kernels *kernels, const char *key,
                                            GError **error);

#endif
