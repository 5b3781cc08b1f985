/*
 * A connection to Skipjack's database, and the errors of all calls on it. The
 * other rooms reach PostgreSQL by this header and its neighbours alone
 * (store_problems.h, store_campaigns.h, store_queue.h, store_workers.h,
 * store_kernels.h, store_events.h and others), and by those of schema/results.
 *
 * Threads: calls block. One thread at a time may use a store.
 *
 * Transactions: each call takes effect as a whole or not at all. A call that
 * failed with STORE_ERROR_CONNECTION may be repeated: writes are idempotent
 * under a job's fence or by their key. Exceptions: store_create_campaign()
 * (look for the campaign's identity first), store_add_spent(), store_event().
 * A call on a lost connection opens it again.
 *
 * Ownership: a returned struct owns its strings and arrays. Its _free function,
 * or the GPtrArray that holds it, frees them.
 */
#ifndef SCHEMA_STORE_STORE_H
#define SCHEMA_STORE_STORE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define STORE_ERROR (store_error_quark())
GQuark store_error_quark(void);

enum store_error {
    STORE_ERROR_CONNECTION, /* The server or the store of code objects is unreachable or full: try again. */
    STORE_ERROR_SCHEMA,    /* The database lacks migrations, or a newer program has migrated it. */
    STORE_ERROR_QUERY,     /* The server refused a statement; the message has the server's words. */
    STORE_ERROR_NOT_FOUND, /* No such row. */
    STORE_ERROR_STATE,     /* The row's state does not allow the call. */
    STORE_ERROR_FENCE,     /* Another worker has claimed the job since: its result is refused. */
    STORE_ERROR_REFUSED,   /* A check of the database found the values impossible. */
    STORE_ERROR_BLOBS,     /* The store of code objects refuses: its operator has to act. */
    STORE_ERROR_DAMAGED, /* A code object is missing or has other bytes than were put; or a row has values
                               that no importer, planner or worker writes. */
    STORE_ERROR_LOCKED, /* Another transaction holds a lock. Calls of a store try again and end as
                               STORE_ERROR_CONNECTION. */
    STORE_ERROR_ACCESS, /* The login's role, or the way it connects, does not allow the call (ROLES.md). */
};

/* Whether the error is a deadlock: two transactions waited for each other, and the server undid this one
 * (STORE_ERROR_CONNECTION). The caller can begin again at once. */
bool store_is_deadlock(const GError *error);

typedef struct store Store;

/* url: a libpq connection string or URI. STORE_ERROR_SCHEMA if migrations are missing. */
Store *store_open(const char *url, GError **error);
void store_close(Store *store);
/* The longest wait for the answer to one statement. After it the connection is closed and the call fails with
 * STORE_ERROR_CONNECTION, whether or not the server did the work. Default: 630 s, longer than the server's own
 * limit of 600 s. */
void store_set_patience(Store *store, double seconds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_close)

/* Replaces the secret by which the database knows the worker (store_register_worker()): for a process that runs
 * several workers. At least 32 characters. */
bool store_act_as(Store *store, const char *secret, GError **error);

/* A transaction over several calls. store_end() keeps the changes of all of them, or undoes all of them: a dry
 * run is a transaction that is undone. */
bool store_begin(Store *store, GError **error);
/* A transaction whose calls see one state of the database, and which refuses every change. */
bool store_begin_reading(Store *store, GError **error);
bool store_end(Store *store, bool keep, GError **error);

#endif
