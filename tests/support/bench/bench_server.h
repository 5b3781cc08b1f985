/* Shared by the benchmarks of the queue: a server for hundreds of connections, its processor
 * time, campaigns of any size, and pgbench to compare with. Functions end the program if
 * something fails. */
#ifndef TESTS_SUPPORT_BENCH_BENCH_SERVER_H
#define TESTS_SUPPORT_BENCH_BENCH_SERVER_H

#include "schema/store/store.h"

/* Must be called first. The scratch database then runs with the embedded database's settings, so
 * commits are durable; only max_connections differs. */
void bench_server_prepare(int connections);

/* Bytes of WAL (write-ahead log) written since the cluster was made. */
int64_t bench_wal_bytes(Store *store);
/* The number of open connections. */
int bench_connections(Store *store);
/* Processor time in seconds of all of the server's processes so far, including those that have
 * ended. */
double bench_server_cpu_seconds(void);
/* The number of a table's rows. */
int64_t bench_count(Store *store, const char *table);
/* Bytes of a table with all of its partitions, indexes and TOAST tables. */
int64_t bench_table_bytes(Store *store, const char *table);

/* "name:revision:hash" of the solvers of bench_campaign(), NULL-terminated. */
extern const char *const bench_carried[];
/* Creates a campaign of `jobs` jobs: BENCH_SOLVERS made-up solvers on made-up problems, for
 * gfx90a68. */
#define BENCH_SOLVERS 8
int64_t bench_campaign(Store *store, int jobs);

/* Lets pgbench take `jobs` jobs of the campaign through both pools, by the SQL functions that the
 * store calls, in batches, with the same round for every job. Returns jobs a second. */
double bench_pgbench(Store *store, int64_t campaign, int jobs, int batch, int clients);

#endif
