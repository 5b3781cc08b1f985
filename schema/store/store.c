/*
 * A connection, and statements on it. Answers are waited for here with a
 * deadline: libpq's own wait has none, and would never end behind a proxy that
 * keeps acknowledging bytes for a dead server.
 */
#include "schema/store/store_private.h"

#include "schema/monitor/log.h"
#include "schema/server/connection.h"
#include "schema/sql/migrate.h"
#include "schema/store/blockers.h"
#include "schema/store/store_queue.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

/* Waits until the socket can be read, or written if bytes are unsent. False past the deadline. Bytes that
 * arrived while this process was stopped are noticed first, however late it is. */
static bool socket_ready(PGconn *connection, bool unsent, gint64 end_us)
{
    struct pollfd at = {.fd = PQsocket(connection), .events = POLLIN};
    int ready;
    if (unsent)
        at.events |= POLLOUT;
    do {
        gint64 left_ms = (end_us - g_get_monotonic_time()) / 1000;
        ready = poll(&at, 1, (int)CLAMP(left_ms, 0, G_MAXINT));
    } while (ready < 0 && errno == EINTR);
    return ready != 0;
}

/* True also if the connection broke: the result then says so. */
static bool result_comes(PGconn *connection, gint64 end_us)
{
    while (PQstatus(connection) == CONNECTION_OK) {
        int unsent = PQflush(connection);
        if (unsent < 0 || (unsent == 0 && !PQisBusy(connection)))
            return true;
        if (!socket_ready(connection, unsent > 0, end_us))
            return false;
        if (!PQconsumeInput(connection))
            return true;
    }
    return true;
}

/* Puts the connection into the state that it has after the server closed it. */
static void hang_up(PGconn *connection)
{
    shutdown(PQsocket(connection), SHUT_RDWR);
    while (PQstatus(connection) == CONNECTION_OK && PQconsumeInput(connection))
        continue;
}

/* Returns the last result; a failed one is always last. NULL past the deadline. */
static PGresult *last_result(PGconn *connection, gint64 end_us)
{
    PGresult *last = NULL;
    while (result_comes(connection, end_us)) {
        PGresult *next = PQgetResult(connection);
        if (next == NULL)
            return last;
        PQclear(last);
        last = next;
    }
    PQclear(last);
    hang_up(connection);
    return NULL;
}

PGresult *store_await(PGconn *connection, bool sent, double seconds, GError **error)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
    PGresult *rows = sent ? last_result(connection, end_us) : NULL;
    ExecStatusType status = PQresultStatus(rows);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return rows;
    if (rows == NULL && sent)
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "database: no answer within %.0f seconds: the connection is given up", seconds);
    else
        store_set_error(connection, rows, error);
    PQclear(rows);
    return NULL;
}

G_DEFINE_QUARK(skipjack - store - error - quark, store_error)

#define PARAMETERS_MAX 24
#define BYTEA_OID      17

/* Longer than the server's statement_timeout (600 s), so that the server's error arrives first. */
#define PATIENCE_SECONDS 630

/* A statement waits for a lock for 10 s. Then blockers_end() has the sessions ended that hold the lock, and
 * the statement is repeated with a wait of 70 s. PostgreSQL grants locks in turn, and a worker's transaction
 * lasts at most 60 s (10 s while its client is idle): the longer wait ends with the lock, or with a session
 * that may be ended. */
#define LOCK_TIMEOUT      "SET lock_timeout = '10s'"
#define LONG_LOCK_TIMEOUT "SET lock_timeout = '70s'"

/* Ten minutes for a statement: creating a campaign of 100,000 jobs takes about one. The server also ends a
 * statement whose client is gone. The search path has our schema alone. */
static const char session_setup[] = "SET search_path = skipjack, pg_temp;"
                                    "SET statement_timeout = '10min';"
                                    "SET client_connection_check_interval = '5s';" LOCK_TIMEOUT ";"
                                    "SET idle_in_transaction_session_timeout = '5min';"
                                    "SET client_min_messages = warning";

struct parameters {
    int count;
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX], formats[PARAMETERS_MAX];
    Oid types[PARAMETERS_MAX];
    char *owned[PARAMETERS_MAX];
};

static void parameters_clear(struct parameters *parameters)
{
    for (int i = 0; i < parameters->count; i++)
        g_free(parameters->owned[i]);
}

static char *parameter_text(char type, va_list *arguments)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    const char *text;
    switch (type) {
    case 's':
        text = va_arg(*arguments, const char *);
        return text == NULL ? NULL : g_utf8_make_valid(text, -1);
    case 'i': return g_strdup_printf("%d", va_arg(*arguments, int));
    case 'l': return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)va_arg(*arguments, int64_t));
    case 'b': return g_strdup(va_arg(*arguments, int) ? "t" : "f");
    case 'd': return g_strdup(g_ascii_dtostr(digits, sizeof digits, va_arg(*arguments, double)));
    case 'j': return json_dumps(va_arg(*arguments, json_t *), JSON_COMPACT | JSON_ENCODE_ANY);
    default: g_assert_not_reached();
    }
}

static void parameters_init(struct parameters *parameters, const char *types, va_list *arguments)
{
    memset(parameters, 0, sizeof *parameters);
    parameters->count = (int)strlen(types);
    g_assert(parameters->count <= PARAMETERS_MAX);
    for (int i = 0; i < parameters->count; i++) {
        if (types[i] == 'y') {
            GBytes *bytes = va_arg(*arguments, GBytes *);
            gsize size = 0;
            parameters->values[i] = bytes == NULL ? NULL : g_bytes_get_data(bytes, &size);
            if (bytes != NULL && size == 0)
                parameters->values[i] = "";
            parameters->lengths[i] = (int)size;
            parameters->formats[i] = 1;
            parameters->types[i] = BYTEA_OID;
        } else if (types[i] == 'a') {
            const GByteArray *array = va_arg(*arguments, GByteArray *);
            parameters->values[i] = (const char *)array->data;
            parameters->lengths[i] = (int)array->len;
            parameters->formats[i] = 1;
        } else {
            parameters->values[i] = parameters->owned[i] = parameter_text(types[i], arguments);
        }
    }
}

#define DEADLOCK_STATE "40P01"
/* Our own message: the server's depends on its language. */
#define DEADLOCK_WORDS "two sessions waited for each other, and the server ended this one's work"

static bool is_lost(PGconn *connection, const char *state)
{
    static const char *const lost[] = {"57P01", "57P02", "57P03", "40001", DEADLOCK_STATE};
    if (PQstatus(connection) != CONNECTION_OK || state == NULL || strncmp(state, "08", 2) == 0)
        return true;
    /* Class 53: the server's disk is full, or it lacks memory or connections. Such states pass. */
    if (strncmp(state, "53", 2) == 0)
        return true;
    for (gsize i = 0; i < G_N_ELEMENTS(lost); i++) {
        if (strcmp(state, lost[i]) == 0)
            return true;
    }
    return false;
}

static enum store_error error_of_state(PGconn *connection, const char *state)
{
    static const struct {
        const char *state;
        enum store_error error;
    } table[] = {
        {"SJ001", STORE_ERROR_NOT_FOUND}, {"SJ002", STORE_ERROR_STATE},
        {"SJ003", STORE_ERROR_FENCE},     {"SJ004", STORE_ERROR_REFUSED},
        {"23514", STORE_ERROR_REFUSED}, /* check constraint */
        {"42P01", STORE_ERROR_SCHEMA},  /* undefined table */
        {"42883", STORE_ERROR_SCHEMA},  /* undefined function */
        {"42501", STORE_ERROR_ACCESS},  /* no privilege */
        {"55P03", STORE_ERROR_LOCKED},  /* lock timeout */
    };
    if (state == NULL || is_lost(connection, state))
        return STORE_ERROR_CONNECTION;
    for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
        if (strcmp(state, table[i].state) == 0)
            return table[i].error;
    }
    return STORE_ERROR_QUERY;
}

static void add_roles(const char *login, GError **error)
{
    g_autofree char *words = g_steal_pointer(&(*error)->message);
    (*error)->message = g_strdup_printf(
        "%s; the login '%s' lacks the role for this: skipjack_reader reads, skipjack_worker "
        "works, skipjack_coordinator does both and changes campaigns, only the owner migrates "
        "(skipjack db roles)",
        words, login);
}

bool store_is_deadlock(const GError *error)
{
    return g_error_matches(error, STORE_ERROR, STORE_ERROR_CONNECTION) &&
           strstr(error->message, DEADLOCK_WORDS) != NULL;
}

void store_set_error(PGconn *connection, const PGresult *rows, GError **error)
{
    const char *state = rows == NULL ? NULL : PQresultErrorField(rows, PG_DIAG_SQLSTATE);
    const char *words = rows == NULL ? NULL : PQresultErrorField(rows, PG_DIAG_MESSAGE_PRIMARY);
    const char *detail = rows == NULL ? NULL : PQresultErrorField(rows, PG_DIAG_MESSAGE_DETAIL);
    if (g_strcmp0(state, DEADLOCK_STATE) == 0)
        words = DEADLOCK_WORDS;
    g_autofree char *message = g_strdup(words != NULL ? words : PQerrorMessage(connection));
    g_strchomp(message);
    g_set_error(error, STORE_ERROR, error_of_state(connection, state), "database: %s%s%s", message,
                detail == NULL ? "" : ": ", detail == NULL ? "" : detail);
    if (error != NULL && g_str_has_prefix(message, "permission denied"))
        add_roles(PQuser(connection), error);
}

#define SECRET_BYTES 32

static gpointer make_secret(gpointer data)
{
    unsigned char bytes[SECRET_BYTES];
    GString *text = g_string_new(NULL);
    (void)data;
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        g_error("the kernel gives no random bytes: %s", g_strerror(errno));
    for (gsize i = 0; i < sizeof bytes; i++)
        g_string_append_printf(text, "%02x", bytes[i]);
    return g_string_free(text, FALSE);
}

static const char *secret_of(const Store *store)
{
    static GOnce once = G_ONCE_INIT;
    return store->secret != NULL ? store->secret : g_once(&once, make_secret, NULL);
}

/* The secret is a parameter, since other sessions of the login can see the text of a session's last
 * statement. */
static bool present_secret(Store *store, GError **error)
{
    static const char present_sql[] =
        "SELECT set_config('skipjack.secret', $1, false),"
        " (SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = 'skipjack')";
    const char *values[] = {secret_of(store)};
    bool sent =
        PQsendQueryParams(store->connection, present_sql, 1, NULL, values, NULL, NULL, 0) != 0;
    g_autoptr(StoreRows) rows =
        store_await(store->connection, sent, store->patience_seconds, error);
    if (rows != NULL)
        store->is_workers = PQgetvalue(rows, 0, 1)[0] == 'f';
    return rows != NULL;
}

bool store_act_as(Store *store, const char *secret, GError **error)
{
    g_free(store->secret);
    store->secret = g_strdup(secret);
    return present_secret(store, error);
}

static bool set_up_session(Store *store, GError **error)
{
    g_autofree char *listen =
        store->listener == 0
            ? g_strdup("")
            : g_strdup_printf(";LISTEN skipjack_worker_%" G_GINT64_FORMAT, (gint64)store->listener);
    g_autofree char *setup = g_strconcat(session_setup, listen, NULL);
    g_autoptr(StoreRows) rows = store_await(
        store->connection, PQsendQuery(store->connection, setup), store->patience_seconds, error);
    return rows != NULL && present_secret(store, error);
}

/* A claim whose answer was lost may have leased jobs. They would stay leased as long as this worker sends
 * heartbeats. */
static bool release_doubtful_claim(Store *store, GError **error)
{
    if (store->doubtful_token == 0)
        return true;
    g_autofree char *worker = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)store->doubtful_worker);
    g_autofree char *token = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)store->doubtful_token);
    const char *values[] = {worker, token};
    bool sent = PQsendQueryParams(store->connection, "SELECT skipjack_work.release_claim($1, $2)",
                                  2, NULL, values, NULL, NULL, 0);
    g_autoptr(StoreRows) rows =
        store_await(store->connection, sent, store->patience_seconds, error);
    if (rows != NULL)
        store->doubtful_token = 0;
    return rows != NULL;
}

static bool store_ready(Store *store, GError **error)
{
    if (PQstatus(store->connection) != CONNECTION_OK) {
        PQreset(store->connection);
        if (PQstatus(store->connection) != CONNECTION_OK) {
            store_set_error(store->connection, NULL, error);
            return false;
        }
        /* The server may have been migrated or replaced since. */
        if (!set_up_session(store, error) || !migrations_check(store->connection, error))
            return false;
    }
    return release_doubtful_claim(store, error);
}

static PGresult *run_once(Store *store, const char *sql, const struct parameters *parameters,
                          int result_format, GError **error)
{
    if (!store_ready(store, error))
        return NULL;
    /* Non-blocking: store_await() sends what the socket does not take at once. */
    bool sent = PQsetnonblocking(store->connection, true) == 0 &&
                PQsendQueryParams(store->connection, sql, parameters->count, parameters->types,
                                  parameters->values, parameters->lengths, parameters->formats,
                                  result_format);
    PGresult *rows = store_await(store->connection, sent, store->patience_seconds, error);
    /* Migrations are complete (checked at connecting), so a function that is missing for a worker's login is
     * one that the login may not see. */
    if (rows == NULL && store->is_workers && error != NULL && *error != NULL &&
        g_error_matches(*error, STORE_ERROR, STORE_ERROR_SCHEMA)) {
        (*error)->code = STORE_ERROR_ACCESS;
        add_roles(PQuser(store->connection), error);
    }
    return rows;
}

static void set_lock_timeout(Store *store, const char *sql)
{
    PQclear(store_await(store->connection, PQsendQuery(store->connection, sql),
                        store->patience_seconds, NULL));
}

/* A statement that timed out waiting for a lock has changed nothing. It is repeated until the store's
 * patience ends. In a transaction it fails, since the whole transaction has failed. */
static PGresult *run_unlocked(Store *store, const char *sql, const struct parameters *parameters,
                              int result_format, GError **error)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)(store->patience_seconds * G_USEC_PER_SEC);
    for (bool waits_long = false;; waits_long = true) {
        g_autoptr(GError) failure = NULL;
        if (waits_long)
            set_lock_timeout(store, LONG_LOCK_TIMEOUT);
        PGresult *rows = run_once(store, sql, parameters, result_format, &failure);
        if (waits_long && PQtransactionStatus(store->connection) == PQTRANS_IDLE)
            set_lock_timeout(store, LOCK_TIMEOUT);
        if (rows != NULL)
            return rows;
        bool is_locked = g_error_matches(failure, STORE_ERROR, STORE_ERROR_LOCKED);
        if (is_locked && PQtransactionStatus(store->connection) == PQTRANS_IDLE &&
            g_get_monotonic_time() < end_us) {
            blockers_end(store->connection, store->patience_seconds);
            continue;
        }
        if (is_locked) {
            failure->code = STORE_ERROR_CONNECTION;
            g_autofree char *words = g_steal_pointer(&failure->message);
            failure->message =
                g_strdup_printf("%s: another session holds it; skipjack status says which", words);
        }
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
}

static PGresult *run(Store *store, GError **error, bool repeat, int result_format, const char *sql,
                     const char *types, va_list *arguments)
{
    struct parameters parameters;
    g_autoptr(GError) first = NULL;
    parameters_init(&parameters, types, arguments);
    PGresult *rows = run_unlocked(store, sql, &parameters, result_format, &first);
    if (rows == NULL && repeat && g_error_matches(first, STORE_ERROR, STORE_ERROR_CONNECTION))
        rows = run_unlocked(store, sql, &parameters, result_format, error);
    else if (rows == NULL)
        g_propagate_error(error, g_steal_pointer(&first));
    parameters_clear(&parameters);
    return rows;
}

PGresult *store_run(Store *store, GError **error, const char *sql, const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    PGresult *rows = run(store, error, false, 0, sql, types, &arguments);
    va_end(arguments);
    return rows;
}

PGresult *store_read(Store *store, GError **error, const char *sql, const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    PGresult *rows = run(store, error, true, 0, sql, types, &arguments);
    va_end(arguments);
    return rows;
}

PGresult *store_read_binary(Store *store, GError **error, const char *sql, const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    PGresult *rows = run(store, error, true, 1, sql, types, &arguments);
    va_end(arguments);
    return rows;
}

bool store_do(Store *store, GError **error, const char *sql, const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    g_autoptr(StoreRows) rows = run(store, error, false, 0, sql, types, &arguments);
    va_end(arguments);
    return rows != NULL;
}

json_t *store_row_json(const PGresult *rows, int row)
{
    const char *text = PQgetvalue(rows, row, 0);
    json_t *object = json_loads(text, JSON_DECODE_ANY, NULL);
    /* A real number beyond 64 bits comes as an integer with all its digits. */
    if (object == NULL)
        object = json_loads(text, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    return object != NULL ? object : json_null();
}

GPtrArray *store_list(const PGresult *rows, store_read_row read, GDestroyNotify destroy)
{
    int count = PQntuples(rows);
    GPtrArray *list = g_ptr_array_new_full((guint)count, destroy);
    for (int i = 0; i < count; i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        g_ptr_array_add(list, read(object));
    }
    return list;
}

GPtrArray *store_list_checked(const PGresult *rows, store_read_checked read, GDestroyNotify destroy,
                              GError **error)
{
    int count = PQntuples(rows);
    GPtrArray *list = g_ptr_array_new_full((guint)count, destroy);
    for (int i = 0; i < count; i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        gpointer item = read(object, error);
        if (item == NULL) {
            g_ptr_array_unref(list);
            return NULL;
        }
        g_ptr_array_add(list, item);
    }
    return list;
}

/* Notices of the server, such as its last message before it shuts down. */
static void hear_notice(void *data, const char *words)
{
    (void)data;
    log_write(LEVEL_INFO, "database_said", NULL, "database: %s", words);
}

Store *store_open(const char *url, GError **error)
{
    Store *store = g_new0(Store, 1);
    store->patience_seconds = STORE_OPEN_SECONDS;
    store->connection = connection_open(url, "skipjack", error);
    if (store->connection != NULL)
        PQsetNoticeProcessor(store->connection, hear_notice, NULL);
    if (store->connection != NULL && set_up_session(store, error) &&
        migrations_check(store->connection, error)) {
        store->patience_seconds = PATIENCE_SECONDS;
        return store;
    }
    store_close(store);
    return NULL;
}

void store_set_patience(Store *store, double seconds)
{
    store->patience_seconds = seconds;
}

void store_close(Store *store)
{
    if (store == NULL)
        return;
    PQfinish(store->connection);
    store_known_clear(store);
    g_free(store->secret);
    g_clear_pointer(&store->blob_stores, g_hash_table_unref);
    g_free(store);
}

bool store_row_type(Store *store, const char *table, unsigned *type, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT $1::regtype::oid", "s", table);
    if (rows == NULL)
        return false;
    *type = (unsigned)strtoul(PQgetvalue(rows, 0, 0), NULL, 10);
    return true;
}

/* A statement inside a transaction cannot be repeated alone, so it waits for locks without a limit, for
 * instance while another session creates a campaign. */
bool store_begin(Store *store, GError **error)
{
    return store_do(store, error, "BEGIN", "") &&
           store_do(store, error, "SET LOCAL lock_timeout = 0", "");
}

bool store_begin_reading(Store *store, GError **error)
{
    return store_do(store, error, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "");
}

bool store_end(Store *store, bool keep, GError **error)
{
    return store_do(store, error, keep ? "COMMIT" : "ROLLBACK", "");
}
