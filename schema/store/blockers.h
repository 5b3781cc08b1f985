/*
 * Sessions of the database that others wait for. A worker's login may leave a
 * transaction open, and with it locks on the rows that it wrote. Functions of
 * the farm skip such rows where they can; a wait for a lock ends after ten
 * seconds; then the waiting session has the database's owner end the session
 * that holds the lock, if the owner may.
 */
#ifndef SCHEMA_STORE_BLOCKERS_H
#define SCHEMA_STORE_BLOCKERS_H

#include "schema/store/store.h"

struct blocker {
    /* Process id of the session's server process; 0: a prepared transaction. */
    int pid;
    /* Login: the session's; nodes: where this login's workers run, "" for none. */
    char *login, *nodes;
    /* State and last statement of the session; "" if the owner may not see them. */
    char *state, *statement;
    /* Age of the session's transaction in seconds; negative if the owner may not see it. */
    double seconds;
    int waiting;           /* how many sessions wait for it; 0 for a worker's idle transaction */
    double waited_seconds; /* how long the longest waiting session has waited */
    /* is_worker: the login is a worker's; may_end: the database's owner may end the session. */
    bool is_worker, may_end;
};

/* Sessions that others have waited for longer than a second, and workers' sessions whose transaction has been
 * open for longer than `lease_watch.open_seconds`. GPtrArray of struct blocker *. */
GPtrArray *blockers_list(Store *store, GError **error);

/* "idle in transaction: SELECT ...", and what to do about it. Free with g_free(). */
char *blocker_describe(const struct blocker *blocker);
char *blocker_remedy(const struct blocker *blocker);

/* Asks the database to end the sessions of workers' logins that others wait for. Returns whether it ended any: false
 * also if the login may not ask, or the answer does not come within patience_seconds. connection: a PGconn *. Internal
 * to the room. */
struct pg_conn;
bool blockers_end(struct pg_conn *connection, double patience_seconds);

#endif
