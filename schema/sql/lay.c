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
 * Functions, views and triggers as they were. CREATE OR REPLACE writes a new
 * version of the row in the catalogue (a view's is its rule's), so rows with the
 * same xmin at the end were not laid. An extension in the schema keeps its members,
 * and what a user made by hand is not in the ledger's names. A ledger without names
 * is of a program that kept none: then everything counts as laid by a program.
 * Bodies are not checked, since they may call what is laid later.
 */
static const char begin_sql[] =
    "SET LOCAL client_min_messages = warning; SET LOCAL check_function_bodies = off;"
    "CREATE TEMPORARY TABLE former_functions ON COMMIT DROP AS"
    " SELECT p.oid AS id, p.xmin AS version, p.oid::regprocedure::text AS signature,"
    "  CASE n.nspname WHEN 'skipjack' THEN '' ELSE n.nspname || '.' END || p.proname AS name"
    " FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
    " WHERE n.nspname IN ('skipjack', 'skipjack_work') AND NOT EXISTS (SELECT 1 FROM pg_depend d"
    "  WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e');"
    "CREATE TEMPORARY TABLE former_views ON COMMIT DROP AS"
    " SELECT r.oid AS rule, r.xmin AS version, c.oid AS id, format('skipjack.%I', c.relname) AS named,"
    "  c.relname::text AS name"
    " FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid AND r.ev_type = '1'"
    " WHERE c.relnamespace = 'skipjack'::regnamespace AND c.relkind = 'v'"
    "  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass"
    "   AND d.objid = c.oid AND d.deptype = 'e');"
    "CREATE TEMPORARY TABLE former_triggers ON COMMIT DROP AS"
    " SELECT t.oid AS id, t.xmin AS version, format('%I ON %s', t.tgname, t.tgrelid::regclass) AS named,"
    "  t.tgname::text AS name"
    " FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    " WHERE c.relnamespace = 'skipjack'::regnamespace AND NOT t.tgisinternal AND t.tgparentid = 0;"
    "DELETE FROM former_functions f USING schema_functions l WHERE f.name <> ALL (l.names);"
    "DELETE FROM former_views f USING schema_functions l WHERE f.name <> ALL (l.names);"
    "DELETE FROM former_triggers f USING schema_functions l WHERE f.name <> ALL (l.names)";

static const char drop_all_views_sql[] =
    "DO $$ DECLARE thing text; BEGIN"
    " FOR thing IN SELECT named FROM former_views"
    " LOOP EXECUTE format('DROP VIEW IF EXISTS %s CASCADE', thing); END LOOP; END $$";

static const char drop_views_sql[] =
    "DO $$ DECLARE things text; BEGIN"
    " SELECT string_agg(f.named, ', ') INTO things FROM former_views f"
    "  JOIN pg_rewrite r ON r.oid = f.rule AND r.xmin = f.version;"
    " IF things IS NOT NULL THEN EXECUTE 'DROP VIEW ' || things; END IF; END $$";

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
    " LOOP EXECUTE format('DROP ROUTINE %s', thing); END LOOP; END $$";

/* Those of the name that were not laid yet. */
static const char drop_named_sql[] =
    "SELECT 'DROP ROUTINE ' || string_agg(f.signature, ', ') FROM former_functions f"
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

/* Functions come first, since views and triggers call them. A view needs the views that it names, and a function the
 * types of its parameters, so a definition that lacks something is tried again after the rest. */
static bool lay_all(PGconn *connection, const struct definitions *definitions,
                    struct lay_parts parts, GError **error)
{
    g_autoptr(GPtrArray) open = g_ptr_array_new();
    g_autoptr(GError) failure = NULL;
    const bool wanted[] = {[DEFINITION_FUNCTION] = true,
                           [DEFINITION_VIEW] = parts.views,
                           [DEFINITION_TRIGGER] = parts.triggers};
    for (int kind = DEFINITION_FUNCTION; kind <= DEFINITION_TRIGGER; kind++) {
        for (size_t i = 0; wanted[kind] && i < definitions->count; i++) {
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

static bool lay_and_drop(PGconn *connection, const struct definitions *definitions,
                         struct lay_parts parts, GError **error)
{
    return lay_all(connection, definitions, parts, error) &&
           (!parts.triggers || execute(connection, drop_triggers_sql, error)) &&
           (!parts.views || execute(connection, drop_views_sql, error)) &&
           execute(connection, drop_functions_sql, error);
}

/* The first try keeps views: they stay as they are, or are replaced in place. It fails if a view loses a column, or
 * uses a function that cannot be replaced in place. The second try drops all views first. */
bool definitions_lay(PGconn *connection, const struct definitions *definitions,
                     struct lay_parts parts, GError **error)
{
    g_autoptr(GError) failure = NULL;
    if (!execute(connection, begin_sql, error) ||
        !execute(connection, "SAVEPOINT keeps_views", error))
        return false;
    if (lay_and_drop(connection, definitions, parts, &failure))
        return execute(connection, "RELEASE SAVEPOINT keeps_views", error);
    /* Lock timeouts, deadlocks and lost connections have nothing to do with views. */
    bool other = g_error_matches(failure, STORE_ERROR, STORE_ERROR_LOCKED) ||
                 g_error_matches(failure, STORE_ERROR, STORE_ERROR_CONNECTION);
    if (other || !execute(connection, "ROLLBACK TO SAVEPOINT keeps_views", NULL)) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
    }
    parts.views = true;
    return execute(connection, drop_all_views_sql, error) &&
           lay_and_drop(connection, definitions, parts, error);
}
