#include "schema/sql/lay.h"

#include "schema/store/store_private.h"

#include <string.h>

/* SQLSTATEs. Something that the statement needs is missing, and may be laid later: a relation, a type, a function. */
static const char *const missing_states[] = {"42P01", "42704", "42883"};
/* The function exists with another result or other names of parameters. */
#define CANNOT_REPLACE "42P13"

/* Every statement is tried under the savepoint. */
static const char begin_statement[] = "SAVEPOINT statement";
static const char undo_statement[] = "ROLLBACK TO SAVEPOINT statement; RELEASE SAVEPOINT statement";

/*
 * Functions and triggers as they were. CREATE OR REPLACE writes a new version of
 * the row in the catalogue, so rows with the same xmin at the end were not laid.
 * Bodies are not checked, since they may call what is laid later.
 */
static const char begin_sql[] =
    "SET LOCAL client_min_messages = warning; SET LOCAL check_function_bodies = off;"
    "CREATE TEMPORARY TABLE former_functions ON COMMIT DROP AS"
    " SELECT p.oid AS id, p.xmin AS version, p.oid::regprocedure::text AS signature,"
    "  CASE n.nspname WHEN 'skipjack' THEN '' ELSE n.nspname || '.' END || p.proname AS name"
    " FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
    " WHERE n.nspname IN ('skipjack', 'skipjack_work');"
    "CREATE TEMPORARY TABLE former_triggers ON COMMIT DROP AS"
    " SELECT t.oid AS id, t.xmin AS version, format('%I ON %s', t.tgname, t.tgrelid::regclass) AS named"
    " FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    " WHERE c.relnamespace = 'skipjack'::regnamespace AND NOT t.tgisinternal AND t.tgparentid = 0;"
    "DO $$ DECLARE thing text; BEGIN"
    " FOR thing IN SELECT format('skipjack.%I', relname) FROM pg_class"
    "  WHERE relnamespace = 'skipjack'::regnamespace AND relkind = 'v'"
    " LOOP EXECUTE format('DROP VIEW IF EXISTS %s CASCADE', thing); END LOOP; END $$";

static const char drop_triggers_sql[] =
    "DO $$ DECLARE thing text; BEGIN"
    " FOR thing IN SELECT f.named FROM former_triggers f"
    "  JOIN pg_trigger t ON t.oid = f.id AND t.xmin = f.version"
    " LOOP EXECUTE format('DROP TRIGGER %s', thing); END LOOP; END $$";

/* A function that a table needs has a row in pg_depend from a constraint, a default or an index. */
static const char drop_functions_sql[] =
    "DO $$ DECLARE thing text; BEGIN"
    " FOR thing IN SELECT f.signature FROM former_functions f"
    "  JOIN pg_proc p ON p.oid = f.id AND p.xmin = f.version"
    "  WHERE NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.refclassid = 'pg_proc'::regclass"
    "   AND d.refobjid = p.oid AND d.classid IN ('pg_constraint'::regclass,"
    "   'pg_attrdef'::regclass, 'pg_class'::regclass))"
    " LOOP EXECUTE format('DROP FUNCTION %s', thing); END LOOP; END $$";

/* Those of the name that were not laid yet. */
static const char drop_named_sql[] =
    "SELECT 'DROP FUNCTION ' || string_agg(f.signature, ', ') FROM former_functions f"
    " JOIN pg_proc p ON p.oid = f.id AND p.xmin = f.version WHERE f.name = $1";

static bool execute(PGconn *connection, const char *sql, GError **error)
{
    g_autoptr(StoreRows) rows = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(rows);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return true;
    store_set_error(connection, rows, error);
    return false;
}

static bool drop_named(PGconn *connection, const char *name, GError **error)
{
    g_autoptr(StoreRows) rows =
        PQexecParams(connection, drop_named_sql, 1, NULL, &name, NULL, NULL, 0);
    if (PQresultStatus(rows) == PGRES_TUPLES_OK)
        return PQgetisnull(rows, 0, 0) || execute(connection, PQgetvalue(rows, 0, 0), error);
    store_set_error(connection, rows, error);
    return false;
}

enum laid { LAID, LACKS_SOMETHING, FAILED };

static bool lacks_something(const char *state)
{
    for (gsize i = 0; i < G_N_ELEMENTS(missing_states); i++) {
        if (strcmp(state, missing_states[i]) == 0)
            return true;
    }
    return false;
}

/* After LACKS_SOMETHING the transaction goes on, after FAILED it does not. Both set the error. */
static enum laid lay(PGconn *connection, const struct definition *definition, GError **error)
{
    if (!execute(connection, begin_statement, error))
        return FAILED;
    for (bool dropped = false;; dropped = true) {
        g_autoptr(StoreRows) rows = PQexec(connection, definition->sql);
        if (PQresultStatus(rows) == PGRES_COMMAND_OK)
            return execute(connection, "RELEASE SAVEPOINT statement", error) ? LAID : FAILED;
        const char *state = PQresultErrorField(rows, PG_DIAG_SQLSTATE);
        bool replaces = g_strcmp0(state, CANNOT_REPLACE) == 0 && !dropped &&
                        definition->kind == DEFINITION_FUNCTION;
        if (!replaces) {
            store_set_error(connection, rows, error);
            g_prefix_error(error, "%s: ", definition->name);
            bool may_come = state != NULL && lacks_something(state);
            return execute(connection, undo_statement, NULL) && may_come ? LACKS_SOMETHING : FAILED;
        }
        if (!execute(connection, "ROLLBACK TO SAVEPOINT statement", error) ||
            !drop_named(connection, definition->name, error))
            return FAILED;
    }
}

/* Lays what can be laid of `open` and keeps the rest in it. */
static bool lay_some(PGconn *connection, GPtrArray *open, GError **error)
{
    for (guint i = 0; i < open->len;) {
        g_clear_error(error);
        enum laid laid = lay(connection, open->pdata[i], error);
        if (laid == FAILED)
            return false;
        if (laid == LAID)
            g_ptr_array_remove_index(open, i);
        else
            i++;
    }
    return true;
}

/* Functions come first, since a function that a view uses cannot be dropped. A view needs the views that it names, and a
 * function the types of its parameters, so a definition that lacks something is tried again after the rest. */
static bool lay_all(PGconn *connection, const struct definitions *definitions, bool with_triggers,
                    GError **error)
{
    g_autoptr(GPtrArray) open = g_ptr_array_new();
    g_autoptr(GError) failure = NULL;
    int last = with_triggers ? DEFINITION_TRIGGER : DEFINITION_VIEW;
    for (int kind = DEFINITION_FUNCTION; kind <= last; kind++) {
        for (size_t i = 0; i < definitions->count; i++) {
            if ((int)definitions->list[i].kind == kind)
                g_ptr_array_add(open, (gpointer)&definitions->list[i]);
        }
    }
    for (guint before = 0; open->len > 0 && open->len != before;) {
        before = open->len;
        if (!lay_some(connection, open, &failure))
            break;
    }
    if (open->len == 0)
        return true;
    g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}

bool definitions_lay(PGconn *connection, const struct definitions *definitions, bool with_triggers,
                     GError **error)
{
    return execute(connection, begin_sql, error) &&
           lay_all(connection, definitions, with_triggers, error) &&
           (!with_triggers || execute(connection, drop_triggers_sql, error)) &&
           execute(connection, drop_functions_sql, error);
}
