/* Sessions that others wait for, as the SQL function blockers() finds them. */
#include "schema/store/blockers.h"

#include "schema/store/store_private.h"

static void blocker_free(gpointer data)
{
    struct blocker *blocker = data;
    g_free(blocker->login);
    g_free(blocker->nodes);
    g_free(blocker->state);
    g_free(blocker->statement);
    g_free(blocker);
}

static gpointer read_blocker(const json_t *object)
{
    struct blocker *blocker = g_new0(struct blocker, 1);
    const json_t *seconds = json_object_get(object, "seconds");
    blocker->pid = (int)json_member_int(object, "pid");
    blocker->login = json_member_text(object, "login");
    blocker->nodes = json_member_text(object, "nodes");
    blocker->state = json_member_text(object, "state");
    blocker->statement = json_member_text(object, "statement");
    blocker->seconds = json_is_number(seconds) ? json_number_value(seconds) : -1;
    blocker->waiting = (int)json_member_int(object, "waiting");
    blocker->waited_seconds = json_member_double(object, "waited_seconds");
    blocker->is_worker = json_member_bool(object, "worker");
    blocker->may_end = json_member_bool(object, "may_end");
    return blocker;
}

GPtrArray *blockers_list(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT blockers()", "");
    return rows == NULL ? NULL : store_list(rows, read_blocker, blocker_free);
}

char *blocker_describe(const struct blocker *blocker)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%s", blocker->state);
    if (*blocker->statement != '\0')
        g_string_append_printf(text, "%s%s", *blocker->state ? ": " : "", blocker->statement);
    return g_string_free(text, FALSE);
}

char *blocker_remedy(const struct blocker *blocker)
{
    if (blocker->is_worker && blocker->may_end)
        return g_strdup("the farm ends it");
    if (blocker->is_worker)
        return g_strdup_printf("skipjack db roles --login %s --role worker lets the farm end it",
                               blocker->login);
    if (blocker->pid == 0)
        return g_strdup("ROLLBACK PREPARED, see pg_prepared_xacts");
    return g_strdup_printf("SELECT pg_terminate_backend(%d)", blocker->pid);
}

bool blockers_end(PGconn *connection, double patience_seconds)
{
    g_autoptr(StoreRows) rows =
        store_await(connection, PQsendQuery(connection, "SELECT skipjack_work.end_blockers()"),
                    patience_seconds, NULL);
    return rows != NULL && PQntuples(rows) == 1 && PQgetvalue(rows, 0, 0)[0] != '0';
}
