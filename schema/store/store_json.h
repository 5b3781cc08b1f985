/*
 * Rows as JSON: reading the members of a row, and problems and configs in the
 * form of their tables. Internal to the store.
 */
#ifndef SCHEMA_STORE_STORE_JSON_H
#define SCHEMA_STORE_STORE_JSON_H

#include "schema/store/failure.h"
#include "schema/store/store.h"
#include "solvers/framework/space.h"
#include "solvers/problem/problem.h"

#include <jansson.h>

typedef json_t StoreJson;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreJson, json_decref)

/* Sets STORE_ERROR_DAMAGED, for a row that no importer, planner or worker writes. Always returns false. */
G_GNUC_PRINTF(2, 3)
bool store_damaged(GError **error, const char *format, ...);

/* Members of an object. A missing or null member reads as 0, false or "" (NULL for
 * json_member_text_or_null()). Texts are copies. */
int64_t json_member_int(const json_t *object, const char *name);
double json_member_double(const json_t *object, const char *name);
bool json_member_bool(const json_t *object, const char *name);
char *json_member_text(const json_t *object, const char *name);
char *json_member_text_or_null(const json_t *object, const char *name);
/* Sets *number and returns true if the value is a whole number from `least` to `most`. */
bool json_int_within(const json_t *value, int64_t least, int64_t most, int64_t *number);
/* The texts of an array, "" for an element that is not a text; no texts if it is not an array. NULL-terminated; free
 * with g_strfreev(). */
char **texts_from_json(const json_t *array);

/* The object's member "failure". STORE_ERROR_DAMAGED for an unknown number. */
bool failure_from_json(const json_t *object, enum failure *failure, GError **error);

/* A JSON string of any bytes: bytes that are not UTF-8 are replaced; NULL becomes null. */
json_t *json_from_text(const char *text);
/* Numbers that are not finite become 0. */
json_t *json_from_double(double value);

/* Problems and configs in the form of their tables. The readers check everything. They return false with
 * STORE_ERROR_DAMAGED for unknown names, numbers out of range and arrays of the wrong length, and leave the result
 * empty but valid. Whether a problem can be computed is for problem_validate() to say. */
/* The number of strides of a problem that is not packed. */
#define PROBLEM_STRIDES (STRIDED_COUNT * 5)
json_t *problem_to_json(const struct problem *p);
bool problem_from_json(const json_t *object, struct problem *p, GError **error);
json_t *config_to_json(const struct perf_config *config);
bool config_from_json(const json_t *array, struct perf_config *config, GError **error);

#endif
