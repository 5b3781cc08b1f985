/*
 * Kernels for tests of code objects, in the scratch database. Each kernel is a
 * number, from which its key and its code are made. Functions without a result
 * assert that they succeed.
 */
#ifndef TESTS_SUPPORT_BLOB_CODES_H
#define TESTS_SUPPORT_BLOB_CODES_H

#include "schema/blobs/blobs.h"

/* Free with g_bytes_unref(). */
GBytes *blob_codes_make(int number);
/* Valid until the thread's next call. */
const char *blob_codes_key(int number);
bool blob_codes_try_put(Store *store, int number, GError **error);
/* Stores `count` kernels from number `first` on. */
void blob_codes_put(Store *store, int first, int count);
/* Asserts that the kernels can be read and are right. */
void blob_codes_expect(Store *store, int first, int count);
/* Asserts that reading the kernel's code fails with this error. */
void blob_codes_expect_failure(Store *store, int number, enum store_error code);
/* Makes the URL the place of new code. */
void blob_codes_use(Store *store, const char *url);
/* Moves all code to the current place. Returns the number of damaged objects. */
int blob_codes_move(Store *store, bool drop_damaged, int *moved);
/* Runs a sweep, and asserts how many objects it removes. */
void blob_codes_sweep(Store *store, int expected);
void blob_codes_expect_place(Store *store, const char *url, int objects, int loose);
/* The first value that the statement gives. Free with g_free(). */
char *blob_codes_ask(const char *url, const char *sql);
/* Makes uploads under way look two days old. */
void blob_codes_age_uploads(void);
/* The number of kernels whose code is in the database. */
int blob_codes_in_rows(void);

#endif
