/*
 * Kernels for tests of where their code is, in the scratch database: each is a number, which its key is and its code is
 * made from. What returns nothing asserts that it succeeds.
 */
#ifndef TESTS_SUPPORT_BLOB_CODES_H
#define TESTS_SUPPORT_BLOB_CODES_H

#include "schema/blobs/blobs.h"

/* Free with g_bytes_unref(). */
GBytes *blob_codes_make(int number);
/* Valid until the thread's next call. */
const char *blob_codes_key(int number);
bool blob_codes_try_put(Store *store, int number, GError **error);
/* So many from the first on. */
void blob_codes_put(Store *store, int first, int count);
/* They are there, and right. */
void blob_codes_expect(Store *store, int first, int count);
/* Its code is not to be had, for that reason. */
void blob_codes_expect_failure(Store *store, int number, enum store_error code);
/* New code goes there from now on. */
void blob_codes_use(Store *store, const char *url);
/* Moves all code to where new code goes. Returns how many were damaged. */
int blob_codes_move(Store *store, bool drop_damaged, int *moved);
/* Removes what nobody needs any more: so many. */
void blob_codes_sweep(Store *store, int expected);
void blob_codes_expect_place(Store *store, const char *url, int objects, int loose);
/* The first value that the statement gives. Free with g_free(). */
char *blob_codes_ask(const char *url, const char *sql);
/* Those under way seem to be of two days ago. */
void blob_codes_age_uploads(void);
/* Kernels whose code is in the database itself. */
int blob_codes_in_rows(void);

#endif
