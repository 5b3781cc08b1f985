/*
 * The database that a command uses: SKIPJACK_DB, or the embedded PostgreSQL
 * (embedded.h), started on demand.
 */
#ifndef SCHEMA_SERVER_DATABASE_H
#define SCHEMA_SERVER_DATABASE_H

#include "schema/store/store.h"

/* The URL that commands use: SKIPJACK_DB, else the embedded database's. *embedded is true for the embedded one. Free
 * with g_free(). Starts nothing. */
char *database_url(bool *embedded, GError **error);
/* The command that starts a worker of the database that commands use, for messages: the embedded one needs --embedded. */
const char *database_worker_command(void);
/* A URL or connection string without its passwords, for printing: unchanged if it has none, "(unreadable)" if libpq
 * cannot parse it. Free with g_free(). */
char *database_without_password(const char *url);
/* The result of a migration of the database; all zero if nothing was missing. */
struct migrated {
    int migrations;  /* how many it applied */
    bool functions;  /* whether it laid the functions anew */
    bool was_former; /* whether it took over a database of the old migrations 0001 to 0071 */
};
/* Applies what is missing in one transaction, one program at a time. Says on stderr if it took over a former database. */
bool database_migrate(const char *url, struct migrated *done, GError **error);

/* Opens the database for a command. Starts and migrates the embedded one, and says on stderr that it is used unless
 * `quiet`. An external database is migrated by `db migrate` alone. */
Store *database_open(bool quiet, GError **error);

#endif
