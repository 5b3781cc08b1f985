/* Numbered kernels for tests of code objects, in the scratch database: the number determines a
 * kernel's key and code. Functions without a result assert that they succeed. */
#ifndef TESTS_SUPPORT_FARM_BLOB_CODES_H
#define TESTS_SUPPORT_FARM_BLOB_CODES_H

#include "schema/blobs/blobs.h"

/* Free with g_bytes_unref(). */
GBytes *blob_codes_make(int number);
/* Valid until the thread's next call. */
const char *blob_codes_key(int number);
bool blob_codes_try_put(Store *store, int number, GError **error);
/* Stores `count` kernels from number `first` on. */
void blob_codes_put(Store *store, int first, int count);
/* Asserts that the kernels' code can be read and equals what was put. */
void blob_codes_expect(Store *store, int first, int count);
/* Asserts that reading the kernel's code fails with this code of STORE_ERROR. */
void blob_codes_expect_failure(Store *store, int number, enum store_error code);
/* Makes the store `url` the one that takes new code. */
void blob_codes_use(Store *store, const char *url);
/* Moves all code to the store that takes new code; *moved is the count of moved objects. Returns
 * the number of damaged ones. */
int blob_codes_move(Store *store, bool drop_damaged, int *moved);
/* Runs a sweep (removal of objects that no row names), and asserts how many objects it removes. */
void blob_codes_sweep(Store *store, int expected);
void blob_codes_expect_place(Store *store, const char *url, int objects, int loose);
/* Runs a statement and returns its first value. Free with g_free(). */
char *blob_codes_ask(const char *url, const char *sql);
/* Sets the begin of all unfinished uploads two days back. */
void blob_codes_age_uploads(void);
/* The number of kernels whose code is stored in the database itself. */
int blob_codes_in_rows(void);

#endif
