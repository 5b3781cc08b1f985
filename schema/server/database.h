/*
 * Finds the database, and runs the embedded PostgreSQL: a private cluster reached by a
 * unix socket only, under SKIPJACK_HOME (default $XDG_DATA_HOME/skipjack; as
 * root /var/lib/skipjack, run as another user, since PostgreSQL refuses root).
 * It survives a crash, a stale pid file and being killed. One server at a time
 * holds the home, whatever container or host it runs in; from elsewhere it is
 * used where its socket answers, and the home is refused where it does not.
 */
#ifndef SCHEMA_SERVER_DATABASE_H
#define SCHEMA_SERVER_DATABASE_H

#include "schema/store/store.h"

struct database_status {
    bool exists, running;
    char *home, *socket_dir, *url, *version;
    long pid;        /* 0 when it does not run, or runs elsewhere */
    char *elsewhere; /* "on host 'node7' ...": where else it runs; NULL when it does not */
};
void database_status_clear(struct database_status *status);

/* The URL commands use: SKIPJACK_DB, else the embedded database's. *embedded tells which. Free with
 * g_free(). Starts nothing. */
char *database_url(bool *embedded, GError **error);
/* A URL or connection string without its passwords, as it is where it has none, "(unreadable)" where libpq
 * cannot read it: for what is printed. Free with g_free(). */
char *database_without_password(const char *url);
/* Creates and starts the embedded cluster where needed (two processes at once: one starts, the other
 * waits), waits until it answers, and applies migrations. Does nothing when it runs already. */
bool database_start(GError **error);
/* Also done when it does not run. A server of another PID namespace or host is refused, and named. */
bool database_stop(GError **error);
bool database_status(struct database_status *status, GError **error);
/* Applies the migrations that are missing, each in a transaction, one program at a time. *applied counts. */
bool database_migrate(const char *url, int *applied, GError **error);

/* What commands call: resolves the URL, starts and migrates the embedded one, says on stderr which one it
 * is when it is the embedded one (quiet suppresses that), and opens a store. An external database is
 * migrated only by `db migrate`. */
Store *database_open(bool quiet, GError **error);

#endif
