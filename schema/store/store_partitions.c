/* What dropped campaigns leave behind. */
#include "schema/store/store_private.h"

#include <string.h>

/* Detaching waits for whoever still reads the parent; whoever collects later goes on. */
#define PATIENCE    "SET statement_timeout = '5s'"
#define NO_PATIENCE "SET statement_timeout = '10min'"

static bool alter(Store *store, const char *format, const char *first, const char *second,
                  GError **error)
{
    char *quoted_first = PQescapeIdentifier(store->connection, first, strlen(first));
    char *quoted_second =
        second == NULL ? NULL : PQescapeIdentifier(store->connection, second, strlen(second));
    g_autofree char *sql = second == NULL
                               ? g_strconcat(format, quoted_first, NULL)
                               : g_strconcat("ALTER TABLE ", quoted_first, " DETACH PARTITION ",
                                             quoted_second, format, NULL);
    PQfreemem(quoted_first);
    PQfreemem(quoted_second);
    return store_do(store, error, sql, "");
}

static bool drop_partition(Store *store, const json_t *row, GError **error)
{
    const char *parent = json_string_value(json_object_get(row, "parent"));
    const char *child = json_string_value(json_object_get(row, "child"));
    bool pending = json_member_bool(row, "pending");
    return (json_member_bool(row, "detached") ||
            alter(store, pending ? " FINALIZE" : " CONCURRENTLY", parent, child, error)) &&
           alter(store, "DROP TABLE ", child, NULL, error);
}

/* One at a time: two that detach would wait for each other. */
#define TURN_SQL  "SELECT take_turn('partitions')"
#define LEAVE_SQL "SELECT end_turn('partitions')"

static bool drop_listed(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT to_jsonb(d) FROM dropped_partitions d", "");
    if (rows == NULL || !store_do(store, error, PATIENCE, ""))
        return false;
    bool dropped = true, lost = false;
    for (int i = 0; i < PQntuples(rows) && dropped; i++) {
        g_autoptr(StoreJson) row = store_row_json(rows, i);
        g_autoptr(GError) busy = NULL;
        dropped = drop_partition(store, row, &busy);
        lost = !dropped && g_error_matches(busy, STORE_ERROR, STORE_ERROR_CONNECTION);
        if (lost)
            g_propagate_error(error, g_steal_pointer(&busy));
    }
    store_do(store, NULL, NO_PATIENCE, "");
    return !lost;
}

/* Only a table's owner can detach its partitions. */
static bool read_owns(Store *store, bool *owns, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error,
                                           "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class"
                                           " WHERE oid = 'jobs'::regclass",
                                           "");
    if (rows != NULL)
        *owns = PQgetvalue(rows, 0, 0)[0] == 't';
    return rows != NULL;
}

bool store_drop_partitions(Store *store, GError **error)
{
    bool owns;
    if (!read_owns(store, &owns, error))
        return false;
    if (!owns)
        return store_do(store, error, "SELECT empty_dropped_partitions()", "");
    g_autoptr(StoreRows) alone = store_read(store, error, TURN_SQL, "");
    if (alone == NULL)
        return false;
    if (PQgetvalue(alone, 0, 0)[0] == 'f')
        return true;
    bool done = drop_listed(store, error);
    /* The turn also goes with the connection. */
    store_do(store, NULL, LEAVE_SQL, "");
    return done;
}
