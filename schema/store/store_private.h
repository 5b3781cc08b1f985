/*
 * The connection inside a store, and the way to run a statement. Internal to
 * the room. A statement that returns rows returns one JSON object a row, in
 * the first column: members are then read by name (store_json.h).
 */
#ifndef SCHEMA_STORE_STORE_PRIVATE_H
#define SCHEMA_STORE_STORE_PRIVATE_H

#include "schema/store/store.h"
#include "schema/store/store_json.h"

#include <libpq-fe.h>

/* The position of the last job claimed from a pool: the next claim begins there. */
struct claim_place {
    int64_t campaign, position;
    int round, claims;
};

struct store {
    PGconn *connection;
    double patience_seconds; /* longest wait for an answer, set by store_set_patience() */
    /* A claim whose answer was lost: the next call releases its jobs. token 0 for none. */
    int64_t doubtful_worker, doubtful_token;
    struct claim_place places[2]; /* by enum pool */
    /* Until this monotonic time each claim first asks which campaign it can claim from, since
     * the jobs of one campaign make claims fail. */
    gint64 apart_until_us;
    bool drains;      /* store_drains() */
    bool is_workers;  /* the login is a worker's: it sees only the functions for workers */
    char *secret;     /* the secret to present instead of the process's, or NULL */
    int64_t listener; /* the worker whose notifications arrive here, 0 for none */
    /* Rows that never change, by id. Each is read when a claim first names it. */
    GHashTable *problems;  /* int64_t * -> struct claimed_problem * */
    GHashTable *solvers;   /* int64_t * -> struct claimed_solver * */
    GHashTable *campaigns; /* int64_t * -> struct campaign *, without its counts and budget */
    /* Type numbers, on this server, of rows of the tables rounds, outcomes and results. */
    unsigned rounds_type, outcomes_type, results_type;
    /* Process id of the server process that reported these type numbers, 0 for none. */
    int types_of;
    GHashTable *blob_stores; /* URL -> BlobStore *, opened at first need */
};

typedef PGresult StoreRows;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreRows, PQclear)

/* Runs one statement. types has a letter for each parameter that follows:
 *   s  const char * or NULL          i  int               b  bool
 *   l  int64_t                       d  double            j  json_t *, borrowed
 *   y  GBytes * or NULL, for bytea   a  GByteArray *, borrowed: an array of store_rows.h
 * Returns NULL with an error on failure. */
PGresult *store_run(Store *store, GError **error, const char *sql, const char *types, ...);
/* As store_run(), for statements that change nothing: tries once more after a lost connection. */
PGresult *store_read(Store *store, GError **error, const char *sql, const char *types, ...);
/* Like store_read(), with the answer in binary form. */
PGresult *store_read_binary(Store *store, GError **error, const char *sql, const char *types, ...);
/* As store_run(), for statements whose rows do not matter. */
bool store_do(Store *store, GError **error, const char *sql, const char *types, ...);

/* Longest wait in seconds for a server's answers while connecting. */
#define STORE_OPEN_SECONDS 60

/* Waits for the answer to a statement that PQsendQuery() or a similar function has sent; `sent` is that function's
 * result. NULL with an error if the statement failed, or if the answer does not come in `seconds`: the connection
 * is then closed. */
PGresult *store_await(PGconn *connection, bool sent, double seconds, GError **error);

/* Makes an error of a failed answer, or of a lost connection (rows NULL). */
void store_set_error(PGconn *connection, const PGresult *rows, GError **error);

/* The JSON object of a row, a new reference. Integers beyond 64 bits become reals. */
json_t *store_row_json(const PGresult *rows, int row);
/* Makes a list of the rows: `read` makes an item of each row's JSON object. store_list_checked() returns NULL with
 * an error if a row is damaged. */
typedef gpointer (*store_read_row)(const json_t *object);
typedef gpointer (*store_read_checked)(const json_t *object, GError **error);
GPtrArray *store_list(const PGresult *rows, store_read_row read, GDestroyNotify destroy);
GPtrArray *store_list_checked(const PGresult *rows, store_read_checked read, GDestroyNotify destroy,
                              GError **error);

/* The type number of a table's rows on this server: an array of rows begins with it (store_rows.h). */
bool store_row_type(Store *store, const char *table, unsigned *type, GError **error);

#endif
