/*
 * The cost of each network's first start: the kernels that it needs, the seconds to compile them,
 * and their bytes, for three choices of kernels:
 *
 *   static   the fastest config that is not dynamic; a problem without one runs its fastest
 *   dynamic  the fastest config whose one kernel serves all sizes; a problem without one runs its
 *            fastest
 *   mixed    starts as dynamic does, while the kernels of static are compiled; then runs, of both,
 *            the faster config of each problem
 *
 * Partly specialised solvers (coordinator/dynamism/dynamism.h) are not dynamic: their kernels are
 * compiled for a shape. `report --dynamic` compares the forms of one target in more detail, and
 * measures cold starts.
 *
 * Kernels, their bytes and their compile seconds come from the database, for entries of campaigns
 * and golden versions. A .sjdb has kernels and bytes, but no seconds. Find-dbs have neither.
 */
#ifndef EXPORT_USAGE_USAGE_COLD_H
#define EXPORT_USAGE_USAGE_COLD_H

#include "export/usage/usage_questions.h"
#include "schema/store/store.h"

/* SHA-256 (hex) of code objects that are shipped: a set. Free with g_hash_table_unref(). */
GHashTable *usage_cache_new(void);
/* Adds the code objects of a kernel-db or a .sjdb. EXPORT_ERROR_KIND for any other file. */
bool usage_cache_add(GHashTable *cache, const char *path, GError **error);

/* Answers as usage_answer() does, under the key "cold". store: NULL if no entry is from a database. cache: NULL if
 * none was named; the kernels of a .sjdb always count as shipped for its own entries. EXPORT_ERROR_EMPTY if no entry
 * has known kernels. */
bool usage_answer_cold(Usage *usage, Store *store, GHashTable *cache, json_t *json, FILE *out,
                       GError **error);

#endif
