/* The cost of code objects: throughput of each store that may hold them, and the rows that a job of
 * a large space leaves behind. Functions print their results and end the program if something
 * fails. */
#ifndef TESTS_SUPPORT_BENCH_BENCH_BLOBS_H
#define TESTS_SUPPORT_BENCH_BENCH_BLOBS_H

#include "schema/store/store.h"

/* Puts and gets code objects, first in the database, then in an S3 server that runs in this
 * process. */
void bench_blobs(Store *store);
/* Bytes that a row of the table of kernels takes, with its indexes. */
struct bench_kernels {
    double bytes_with_code, bytes_without_code;
};
/* Runs one job of `configs` configs, each with its own kernel, round by round to its end. Prints
 * each table's bytes, with and without upkeep during the work. The table of kernels should be empty
 * before. */
struct bench_kernels bench_retention(int configs);

#endif
