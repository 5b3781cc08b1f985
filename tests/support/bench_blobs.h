/*
 * What code objects cost: bytes a second through the places where they may be,
 * and what a job of a large space leaves behind. Functions print, and end the
 * program where something fails.
 */
#ifndef TESTS_SUPPORT_BENCH_BLOBS_H
#define TESTS_SUPPORT_BENCH_BLOBS_H

#include "schema/store/store.h"

/* Puts code objects and gets them, first in the database, then in an S3 server of this process. */
void bench_blobs(Store *store);
/* Bytes of a row of kernels, with its indexes. */
struct bench_kernels {
    double bytes_with_code, bytes_without_code;
};
/* One job of so many configs, each with a kernel of its own, tried to the end in rounds: what lies in
 * which table, with and without upkeep meanwhile. The table of kernels should be empty before. */
struct bench_kernels bench_retention(int configs);

#endif
