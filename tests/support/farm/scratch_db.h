/*
 * A real PostgreSQL for one test program: an embedded one in a scratch folder,
 * started by the first call and stopped, with its folder removed, when the
 * program ends, also by abort. SKIPJACK_HOME then names that folder, and
 * SKIPJACK_DB is unset.
 */
#ifndef TESTS_SUPPORT_FARM_SCRATCH_DB_H
#define TESTS_SUPPORT_FARM_SCRATCH_DB_H

#include "schema/server/database.h"

/* The scratch home; no database is created in it by this call. Static. */
const char *scratch_home(void);
/* For benchmarks, called first: the database runs with its usual settings. Tests run it without
 * fsync, since their data need not survive a power cut. */
void scratch_durable(void);
/* The URL of the scratch database with all migrations applied, static. Ends the program on
 * failure. */
const char *scratch_db_url(void);
/* Creates another empty, migrated database in the same server and returns its URL. Free with
 * g_free(). */
char *scratch_db_new(void);
/* A store on scratch_db_url(), whose tables are emptied first. Close with store_close(). */
Store *scratch_store(void);

#endif
