/*
 * The embedded PostgreSQL: a private cluster under SKIPJACK_HOME (default
 * $XDG_DATA_HOME/skipjack; for root /var/lib/skipjack, run as another user,
 * since PostgreSQL refuses root). It is reached by a unix socket only. It
 * survives a crash, a stale pid file and being killed. One server at a time
 * holds the home, on whatever host or container that shares it (home_lock.h).
 * A command on another host uses that server if its socket answers there, and
 * otherwise refuses the home.
 *
 * HOME/database.lock        held while a command creates, starts or stops the server, and by initdb until it ends
 * HOME/server.lock          held by the server's processes for their whole life; names their host
 * HOME/postgres/data        the cluster, of the server's user, mode 0700
 * HOME/postgres/data.new    a cluster that initdb is making, renamed when complete
 * HOME/postgres/log         output of initdb and the server; log.old is the log before
 * HOME/postgres/socket      mode 0700; another folder if this path would be too long
 */
#ifndef SCHEMA_SERVER_EMBEDDED_H
#define SCHEMA_SERVER_EMBEDDED_H

#include "schema/store/store.h"

#include <sys/types.h>

struct embedded_status {
    bool exists, running;
    char *home, *socket_dir, *url, *version;
    /* Process id of the server; 0 if it does not run, or runs on another host or in another
     * container. */
    long pid;
    char *elsewhere; /* where else the server runs: "on host 'node7' ..."; NULL if it does not */
};
void embedded_status_clear(struct embedded_status *status);

/* Creates and starts the cluster if needed, waits until it answers, and applies migrations. If
 * two processes call it at once, one starts the server and the other waits. Does nothing if the
 * server runs already. */
bool embedded_start(GError **error);
/* Stops the server; true also if it does not run. Refuses a server of another PID namespace or host and names it. */
bool embedded_stop(GError **error);
bool embedded_status(struct embedded_status *status, GError **error);
/* The home's folder, which may not exist yet: other things of a user's Skipjack are kept there, too. Free with
 * g_free(). */
char *embedded_home(GError **error);
/* Whether the database of that URL accepts a connection. */
bool embedded_answers(const char *url);

/* ---- for the files of this folder ---- */

/* The user that runs the server: this process's user; for root "postgres", "nobody", or the owner of an existing
 * cluster. */
struct server_user {
    uid_t uid;
    gid_t gid;
    char name[64]; /* the user's name; "" for a user without one */
};

typedef struct embedded {
    char *home, *folder, *data, *data_new, *log, *socket_dir;
    struct server_user user;
} Embedded;

/* Fills in the paths and the user; changes no file. */
bool embedded_init(struct embedded *embedded, GError **error);
void embedded_clear(struct embedded *embedded);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Embedded, embedded_clear)
/* The URL of a database of the cluster. libpq checks by it that the server runs as the right user. Free with
 * g_free(). */
char *embedded_url(const struct embedded *embedded, const char *database);
/* The last lines of the log, for messages. Free with g_free(). */
char *embedded_log_tail(const struct embedded *embedded);

#endif
