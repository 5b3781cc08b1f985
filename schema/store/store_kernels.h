/*
 * Kernels and their code. The key is a hash of all that determines the code
 * (kernel_key()).
 */
#ifndef SCHEMA_STORE_STORE_KERNELS_H
#define SCHEMA_STORE_STORE_KERNELS_H

#include "schema/store/failure.h"
#include "schema/store/store.h"

struct kernel_row {
    char *key; /* the kernel's key (kernel_key()): 64 hex digits */
    char *file, *entry, *options, *arch, *toolchain, *toolchain_version;
    /* The build's result: NONE, COMPILE_ERROR, COMPILE_TIMEOUT or COMPILER_CRASH. */
    enum failure failure;
    char *log;
    double seconds; /* compile time */
    /* Per work-item: registers, spilled registers, scratch bytes. Per workgroup: local memory. -1 if the
     * compiler does not report it. */
    int registers, spills;
    int64_t scratch_bytes, local_bytes;
    /* AMD: accumulation registers of matrix units (part of `registers` where the GPU has one register file
     * for both), and scalar registers of a wave. -1 if not reported. */
    int accumulation_registers, scalar_registers;
    /* Counts of instructions, "ds_read_b128 8, total 412"; NULL if not counted. */
    char *instructions;
    /* Bytes of the code; only store_list_kernels() fills it; 0 if the code was collected. */
    int64_t code_bytes;
    GBytes *code; /* the code object; NULL if the build failed or the code was collected */
    /* SHA-256 of the code in hex; "" if the build failed; computed by store_put_kernel(). */
    char *code_sha256;
    int64_t built_by; /* worker */
    /* Filled by reading: the builder's login and node ("" if unknown), whether that login is the session's
     * own, and whether the campaign's workers may run the code on CPUs (store_get_campaign_kernel() alone). */
    char *builder_login, *builder_node;
    bool is_own, is_trusted;
    /* For store_put_kernel(): replaces code of another login. The worker must hold an eval claim of a job
     * that needs the kernel. */
    bool displaces;
};
void kernel_row_free(struct kernel_row *kernel);
/* Stores a kernel. The first writer of a key wins; but code replaces collected code, a compiler crash and a
 * timeout. Also STORE_ERROR_BLOBS, from the store of code objects. */
bool store_put_kernel(Store *store, const struct kernel_row *kernel, GError **error);
/* The kernels among `keys` that need no build: their code is stored, or they failed with a compile error.
 * GHashTable key -> struct kernel_row * without code; free with g_hash_table_unref(). */
GHashTable *store_known_kernels(Store *store, const char *const *keys, int count, GError **error);
/* All judges (judge.cl) for an architecture whose code is stored, as a table like
 * store_known_kernels(). */
GHashTable *store_judge_kernels(Store *store, const char *arch, GError **error);
/* The kernels for an architecture by which a worker proves that a device computes: the plain forward
 * convolution in any types. */
GHashTable *store_proof_kernels(Store *store, const char *arch, GError **error);
/* All kernels of the campaign's configs, without code, each once, by architecture, file, entry and options.
 * Configs that building refused are left out. struct kernel_row *. */
GPtrArray *store_list_kernels(Store *store, int64_t campaign, GError **error);
/* Reads a kernel with its code, from the database or the store of code objects, and verifies its SHA-256.
 * Also STORE_ERROR_BLOBS, STORE_ERROR_DAMAGED. */
struct kernel_row *store_get_kernel(Store *store, const char *key, GError **error);
/* Like store_get_kernel(), and fills in is_trusted as the campaign's workers see it. */
struct kernel_row *store_get_campaign_kernel(Store *store, const char *key, int64_t campaign,
                                             GError **error);
/* A kernel's cost for a program that has to compile and keep it. */
struct kernel_cost {
    char *key;
    int64_t bytes; /* bytes of the code; 0 if the build failed or the code was collected */
    char *sha256;  /* of the code, in hex, also if the code was collected; "" if the build failed */
    double seconds; /* compile time */
};
/* The costs of the known kernels among `keys`. Asking does not count as a use of the kernel. GHashTable key
 * -> struct kernel_cost *; free with g_hash_table_unref(). */
GHashTable *store_kernel_costs(Store *store, const char *const *keys, int count, GError **error);
/* Drops code objects that neither a kept result nor an open job needs, and returns their number. Also
 * removes objects without a kernel from stores outside (store_sweep_blobs()). */
bool store_collect_kernels(Store *store, int *dropped, GError **error);

#endif
