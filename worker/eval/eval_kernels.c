/* A code object is loaded when a config needs its kernel, not when it arrives. So a config that
 * is never reached costs no device memory, and a kernel that does not load fails its own config
 * only. */
#include "worker/eval/eval_kernels.h"

struct eval_kernels {
    struct device *device;
    GHashTable *stored; /* kernel key -> struct stored */
};

struct stored {
    struct device *device;
    GBytes *code;
    struct device_program *program; /* the loaded program; NULL until a config needs it */
};

static void stored_free(void *data)
{
    struct stored *stored = data;

    if (stored->program)
        stored->device->row->program_free(stored->program);
    g_bytes_unref(stored->code);
    g_free(stored);
}

struct eval_kernels *eval_kernels_new(struct device *device)
{
    struct eval_kernels *kernels = g_new(struct eval_kernels, 1);

    kernels->device = device;
    kernels->stored = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, stored_free);
    return kernels;
}

void eval_kernels_free(struct eval_kernels *kernels)
{
    if (!kernels)
        return;
    g_hash_table_unref(kernels->stored);
    g_free(kernels);
}

void eval_kernels_add(struct eval_kernels *kernels, const char *key, GBytes *code)
{
    if (g_hash_table_contains(kernels->stored, key))
        return;
    struct stored *stored = g_new(struct stored, 1);
    *stored = (struct stored){kernels->device, g_bytes_ref(code), NULL};
    g_hash_table_insert(kernels->stored, g_strdup(key), stored);
}

void eval_kernels_forget(struct eval_kernels *kernels, const char *key)
{
    g_hash_table_remove(kernels->stored, key);
}

struct device_program *eval_kernels_program(struct eval_kernels *kernels, const char *key,
                                            GError **error)
{
    struct stored *stored = g_hash_table_lookup(kernels->stored, key);

    if (!stored) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_LOAD, "the kernel %.12s was not received",
                    key);
        return NULL;
    }
    if (!stored->program)
        stored->program = kernels->device->row->load(kernels->device, stored->code, error);
    return stored->program;
}
