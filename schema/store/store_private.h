/*
 * What the files of the store share: the connection, one way to run a
 * statement, and reading its rows. A statement that returns rows returns one
 * JSON object a row in its first column, so columns are read by name. Internal
 * to the room.
 */
#ifndef SCHEMA_STORE_STORE_PRIVATE_H
#define SCHEMA_STORE_STORE_PRIVATE_H

#include "schema/store/problem_part.h"
#include "schema/store/store.h"

#include <jansson.h>
#include <libpq-fe.h>

/* Where the last claim from a pool ended, see claim_jobs(). */
struct claim_place {
    int64_t campaign, position;
    int round, claims;
};

struct store {
    PGconn *connection;
    double patience_seconds; /* of a statement, from this side */
    /* A claim whose answer was lost: its jobs are released by the next call. */
    int64_t doubtful_worker, doubtful_token;
    struct claim_place places[2]; /* by enum pool */
    gint64 apart_until_us; /* claims go campaign by campaign: one of them cannot be claimed from */
    bool drains;           /* as the last beat told */
    bool is_workers;       /* its login sees the functions of workers alone */
    char *secret;          /* what it presents instead of the process's, or NULL */
    int64_t listener;      /* the worker whose channel is listened to, 0 for none */
    /* Rows that never change, by id, read when a claim first names them. */
    GHashTable *problems;  /* int64_t * -> struct problem * */
    GHashTable *solvers;   /* int64_t * -> struct claimed_solver * */
    GHashTable *campaigns; /* int64_t * -> struct campaign *, without its counts and budget */
    /* The numbers of our tables' row types, as the server of this connection has them. */
    unsigned rounds_type, outcomes_type, results_type;
    int types_of; /* the server's process that told them, 0 for none */
    /* Stores of code objects, opened when one is first needed. */
    GHashTable *blob_stores; /* their URL -> BlobStore * */
};

typedef PGresult StoreRows;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreRows, PQclear)
typedef json_t StoreJson;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreJson, json_decref)

/* Runs one statement. types has a letter for each parameter that follows: s a string or NULL, l an
 * int64_t, i an int, d a double, b a bool, j a json_t * (borrowed), y a GBytes * or NULL (bytea), a a
 * GByteArray * (borrowed): an array of store_rows.h, of the type that the statement expects. NULL with
 * a set error when it fails. store_read() is for statements without effect: where the connection
 * is lost it tries once more. */
PGresult *store_run(Store *store, GError **error, const char *sql, const char *types, ...);
PGresult *store_read(Store *store, GError **error, const char *sql, const char *types, ...);
/* store_run() for statements whose rows do not matter. */
bool store_do(Store *store, GError **error, const char *sql, const char *types, ...);
/* store_read() with the answer in binary form. */
PGresult *store_read_binary(Store *store, GError **error, const char *sql, const char *types, ...);

/* Patience with a server that was just reached. */
#define STORE_OPEN_SECONDS 60

/* The answer to what was sent (PQsendQuery() and its kin, whose result is `sent`). NULL with a set error where
 * it failed; also where it is not here in that time, which closes the connection. */
PGresult *store_await(PGconn *connection, bool sent, double seconds, GError **error);

/* Has the database end sessions of workers' logins that hold others up. Best effort: false also where none was
 * ended, or the login may not ask for it. (blockers.c) */
bool blockers_end(PGconn *connection, double patience_seconds);

/* What the session presents, so that the server knows whose leases it may touch. Borrowed. */
const char *store_secret(const Store *store);

/* Turns a failed answer (or a lost connection) into an error. */
void store_set_error(PGconn *connection, const PGresult *rows, GError **error);

/* The JSON object of a row: a new reference. Integers beyond 64 bits are read as reals. */
json_t *store_row_json(const PGresult *rows, int row);
/* A list of the rows, each made by `read` from its JSON object. store_list_checked() is for rows whose
 * values are used for more than being shown: NULL with an error where one is damaged. */
typedef gpointer (*store_read_row)(const json_t *object);
typedef gpointer (*store_read_checked)(const json_t *object, GError **error);
GPtrArray *store_list(const PGresult *rows, store_read_row read, GDestroyNotify destroy);
GPtrArray *store_list_checked(const PGresult *rows, store_read_checked read, GDestroyNotify destroy,
                              GError **error);
/* Sets STORE_ERROR_DAMAGED for a row that no importer, planner or worker makes. Always false. */
G_GNUC_PRINTF(2, 3)
bool store_damaged(GError **error, const char *format, ...);

/* Members of an object; absent and null ones are 0, false, "" (or NULL for json_text_or_null). Texts
 * are copies. */
int64_t json_member_int(const json_t *object, const char *name);
/* Whether the value is a whole number in a range; *number is then set. */
bool json_int_within(const json_t *value, int64_t least, int64_t most, int64_t *number);
double json_member_double(const json_t *object, const char *name);
bool json_member_bool(const json_t *object, const char *name);
char *json_member_text(const json_t *object, const char *name);
char *json_member_text_or_null(const json_t *object, const char *name);

/* A JSON string of any bytes: what is no UTF-8 is replaced; NULL becomes null. A number that is not
 * finite becomes 0. */
json_t *json_from_text(const char *text);
json_t *json_from_double(double value);

/* Problems, rounds and kept configs in the form of their tables. Readers check everything:
 * false or NULL and STORE_ERROR_DAMAGED for names that are not known, numbers beyond their field and
 * arrays of another length than they should have; the problem and the config are then valid and empty.
 * A problem that was read may still be none that can be computed: problem_validate(). */
json_t *problem_to_json(const struct problem *p);
bool problem_from_json(const json_t *object, struct problem *p, GError **error);
/* The same for a problem that solvers may be asked about: it is valid, too. The object has its id. */
bool read_valid_problem(const json_t *object, struct problem *problem, GError **error);
json_t *config_to_json(const struct perf_config *config);
bool config_from_json(const json_t *array, struct perf_config *config, GError **error);
struct round *round_from_json(const json_t *object, GError **error);
/* To be cleared also where it fails. */
bool kept_from_json(const json_t *object, struct kept *kept, GError **error);
void kept_clear(struct kept *kept);

/* The other way they are rows of rounds, outcomes and results, elements of an array of store_rows.h. */
void built_to_row(GByteArray *out, const struct job *job, const struct round *round);
void outcomes_to_row(GByteArray *out, const struct job *job, const struct round *round, bool open);
void kept_to_row(GByteArray *out, const struct job *job, const struct round *round,
                 const struct kept *kept, int rank);

/* A campaign may name a target that no device has described yet: its id says enough. */
bool store_ensure_target(Store *store, const char *id, GError **error);

/* The number of a table's row type, as this server has it: what an array of its rows begins with. */
bool store_row_type(Store *store, const char *table, unsigned *type, GError **error);

/* A struct campaign * from its row, with as much as the row has. */
gpointer store_read_campaign(const json_t *object);
/* The texts of an array, "" for an element that is not a text; no texts where it is not an array. Free with
 * g_strfreev(). */
char **texts_from_json(const json_t *array);
/* Sets the prior of those of the jobs that the worker claimed to build whose campaign asks for one. Where the
 * database cannot give them, that is the jobs' damage. False where the connection is lost. */
bool store_give_priors(Store *store, int64_t worker, GPtrArray *jobs, GError **error);
/* Forgets what claims have learned. */
void store_known_clear(Store *store);

/* The target is valid (target_validate()), else STORE_ERROR_DAMAGED. */
bool target_from_row(const json_t *object, struct target *target, GError **error);

/* A judged result (store_results.h) from its row, into a zeroed struct; to be cleared. The order is by problem,
 * median, solver and rank; elements are struct result *, or begin with one. */
void store_read_judged(const json_t *object, struct result *result);
void store_result_clear(struct result *result);
int store_compare_results(gconstpointer a, gconstpointer b);
/* The part's jobs as an array of the server, NULL where it names none (also for part NULL). */
char *store_part_jobs(const struct result_part *part);
#define PART_AFTER(part) ((part) != NULL ? (part)->after : INT64_MIN)
#define PART_LAST(part)  ((part) != NULL ? (part)->last : INT64_MAX)
/* The part's problems, by id: int64_t * -> struct problem *. Each is many jobs' and results', so those are read
 * without it. NULL with an error where one is damaged. */
GHashTable *store_part_problems(Store *store, int64_t campaign, const struct problem_part *part,
                                GError **error);
/* That of the object's problem_id, NULL and STORE_ERROR_DAMAGED where it is none of them. */
const struct problem *store_problem_of(GHashTable *problems, const json_t *object, GError **error);
/* store_list_checked() of what the statement reads of a campaign ($1) from $2 to $3, objects with a
 * problem_id. */
typedef gpointer (*store_read_of_problem)(const json_t *object, const struct problem *problem,
                                          GError **error);
GPtrArray *store_list_part(Store *store, int64_t campaign, const struct problem_part *part,
                           const char *sql, store_read_of_problem read, GDestroyNotify destroy,
                           GError **error);
/* Moves to the part that ends where the row says, or to the last one where there is no row. */
void store_part_move(struct result_part *part, const PGresult *rows);

/* What the names of enums stored as text are. */
const char *vendor_name(enum vendor vendor);

#endif
