/*
 * Kernels and their code, by the key of what they were built from.
 */
#ifndef SCHEMA_STORE_STORE_KERNELS_H
#define SCHEMA_STORE_STORE_KERNELS_H

#include "schema/store/failure.h"
#include "schema/store/store.h"

struct kernel_row {
    char *key; /* kernel_key(): 64 hex digits */
    char *file, *entry, *options, *arch, *toolchain, *toolchain_version;
    enum failure failure; /* NONE, COMPILE_ERROR, COMPILE_TIMEOUT, COMPILER_CRASH */
    char *log;
    double seconds; /* compile time */
    /* What its compiler says of it, -1 where it does not: of a work-item, registers, those that are
     * kept elsewhere for want of room, and the memory for them and for arrays; a workgroup's. */
    int registers, spills;
    int64_t scratch_bytes, local_bytes;
    /* Likewise: AMD's registers of matrix units, which registers counts in where both share a file, and a
     * wave's scalar ones. */
    int accumulation_registers, scalar_registers;
    char *instructions; /* "ds_read_b128 8, total 412"; NULL where nobody counted them */
    int64_t code_bytes; /* listed alone: of its code, 0 when it was collected */
    GBytes *code;       /* NULL when it failed, or was collected */
    char *code_sha256;  /* "" when it failed; made from the code when it is put */
    int64_t built_by;   /* worker */
    /* Read, never put: its login and node, "" where they are not known; whether the login is the session's, and
     * whether the campaign's workers may run its code on CPUs (store_get_campaign_kernel() alone tells that). */
    char *builder_login, *builder_node;
    bool is_own, is_trusted;
    /* Put: it takes the place of another login's code, where the worker holds an eval claim of a job that needs
     * it. */
    bool displaces;
};
void kernel_row_free(struct kernel_row *kernel);
/* The first writer of a key wins, except that code replaces a collected blob or a crash or timeout. Code
 * goes where blobs.h says, also STORE_ERROR_BLOBS. */
bool store_put_kernel(Store *store, const struct kernel_row *kernel, GError **error);
/* Which of the keys are known (built with code present, or failed for good: compile errors). GHashTable
 * key -> struct kernel_row * without code; free with g_hash_table_unref. */
GHashTable *store_known_kernels(Store *store, const char *const *keys, int count, GError **error);
/* The same of all judges (judge.cl) for an architecture whose code is there. */
GHashTable *store_judge_kernels(Store *store, const char *arch, GError **error);
/* And of what proves that a device can compute: the plain convolution, forward, in whatever types. */
GHashTable *store_proof_kernels(Store *store, const char *arch, GError **error);
/* All that configs of the campaign were built from, without code and each once, by architecture, file,
 * entry and options. Those of configs that building refused are not among them. struct kernel_row *. */
GPtrArray *store_list_kernels(Store *store, int64_t campaign, GError **error);
/* From wherever its code is, with its checksum verified: also STORE_ERROR_BLOBS and _DAMAGED. */
struct kernel_row *store_get_kernel(Store *store, const char *key, GError **error);
/* The same, as the campaign's workers see it. */
struct kernel_row *store_get_campaign_kernel(Store *store, const char *key, int64_t campaign,
                                             GError **error);
/* What a kernel costs whoever has to compile and keep it. */
struct kernel_cost {
    char *key;
    int64_t bytes;  /* of its code; 0 when it failed, or was collected */
    double seconds; /* compile time */
};
/* Of those of the keys that are known, and that alone: no kernel counts as used. GHashTable key ->
 * struct kernel_cost *; free with g_hash_table_unref. */
GHashTable *store_kernel_costs(Store *store, const char *const *keys, int count, GError **error);
/* Drops code objects that no kept result and no open job needs; returns how many. Also removes what
 * lies in stores of code objects without a kernel (store_sweep_blobs() of blobs.h). */
bool store_collect_kernels(Store *store, int *dropped, GError **error);

#endif
