/*
 * Sessions of the database that others wait for. A worker's login may leave a
 * transaction open and with it the rows that it wrote: nobody waits for those
 * where that can be helped (migrations/0070_blockers.sql), a wait for a lock
 * ends after ten seconds, and whoever waited has the session ended that held
 * it, as far as the database's owner may.
 */
#ifndef SCHEMA_FARM_BLOCKERS_H
#define SCHEMA_FARM_BLOCKERS_H

#include "schema/store/store.h"

struct blocker {
    int pid;                 /* the server's process; 0: a transaction that was prepared and left */
    char *login, *nodes;     /* nodes: of the login's workers, "" for none */
    char *state, *statement; /* the last one; "" where the owner may not see them */
    double seconds;          /* of its transaction; negative where the owner may not see that */
    int waiting; /* sessions that wait for it, 0 for a worker's that left a transaction open */
    double waited_seconds;   /* the longest of them */
    bool is_worker, may_end; /* a worker's login; the farm ends it by itself */
};

/* Sessions that others have waited for since more than a second, and workers' sessions that left a transaction
 * open for longer than `lease_watch.open_seconds`. GPtrArray of struct blocker *. */
GPtrArray *blockers_list(Store *store, GError **error);

/* "idle in transaction: SELECT ...", and what can be done about it. Free with g_free(). */
char *blocker_describe(const struct blocker *blocker);
char *blocker_remedy(const struct blocker *blocker);

#endif
