/* The embedded PostgreSQL of the test's SKIPJACK_HOME, which the test itself starts and stops.
 * Functions without a result assert that they succeed. */
#ifndef TESTS_SUPPORT_FARM_OWN_CLUSTER_H
#define TESTS_SUPPORT_FARM_OWN_CLUSTER_H

#include "schema/server/database.h"
#include "schema/server/embedded.h"

void own_cluster_start(void);
void own_cluster_stop(void);
/* Clear with embedded_status_clear(). */
struct embedded_status own_cluster_status(void);
/* Runs a statement on the database that the program would use and returns its first value. Free
 * with g_free(). */
char *own_cluster_ask(const char *sql);
void own_cluster_expect(const char *sql, const char *expected);

#endif
