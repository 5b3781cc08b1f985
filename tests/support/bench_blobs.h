/*
 * The cost of code objects: bytes a second through each place that may keep them,
 * and the rows that a job of a large space leaves behind. Functions print their
 * results and end the program if something fails.
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
/* Runs one job of `configs` configs, each with a kernel of its own, round by round to its end: the bytes of each table,
 * with and without upkeep meanwhile. The table of kernels should be empty before. */
struct bench_kernels bench_retention(int configs);

#endif
