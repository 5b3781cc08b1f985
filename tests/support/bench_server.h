/*
 * Shared by the benchmarks of the queue: a server for hundreds of connections, its
 * processor time, campaigns of any size, and pgbench to compare with.
 * Functions end the program if something fails.
 */
#ifndef TESTS_SUPPORT_BENCH_SERVER_H
#define TESTS_SUPPORT_BENCH_SERVER_H

#include "schema/store/store.h"

/* Called first: the scratch database will be durable, with the settings of the embedded database,
 * except for max_connections. */
void bench_server_prepare(int connections);

/* WAL written since the cluster was made. */
int64_t bench_wal_bytes(Store *store);
/* Connections that are open now. */
int bench_connections(Store *store);
/* Processor time of all of the server's processes so far, of ended ones too. */
double bench_server_cpu_seconds(void);
/* Rows of a table. */
int64_t bench_count(Store *store, const char *table);
/* Bytes of a table with all of its partitions, indexes and TOAST. */
int64_t bench_table_bytes(Store *store, const char *table);

/* "name:revision:hash" of the solvers of bench_campaign(), NULL-terminated. */
extern const char *const bench_carried[];
/* A campaign of so many jobs: BENCH_SOLVERS made-up solvers on made-up problems, for gfx90a68. */
#define BENCH_SOLVERS 8
int64_t bench_campaign(Store *store, int jobs);

/* Lets pgbench take so many jobs of the campaign through both pools with the functions that the store
 * calls, in batches, with one fixed round; gives jobs a second. */
double bench_pgbench(Store *store, int64_t campaign, int jobs, int batch, int clients);

#endif
