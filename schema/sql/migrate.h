/*
 * Brings a database to the schema that the program carries, and refuses a
 * database that does not agree with it. Internal to the room; other rooms call
 * database_migrate().
 *
 * One transaction applies all pending migrations of tables and then lays the
 * functions anew, if their text changed. It waits for sessions that use a
 * table, and ends sessions of workers that keep a transaction open.
 *
 * Programs of several ages work side by side. A migration that leaves older
 * programs working has a line "-- oldest program: NNNN": the last migration of
 * the oldest program that may go on. Without the line it ends all older
 * programs. schema/sql/functions/revision.sql says the same for the functions,
 * by their revision. The database keeps these numbers, so an older program
 * learns from them whether it may go on beside migrations and functions that it
 * does not know.
 */
#ifndef SCHEMA_SQL_MIGRATE_H
#define SCHEMA_SQL_MIGRATE_H

#include "schema/server/database.h"
#include "schema/sql/migrations.h"
#include "schema/store/store.h"

#include <libpq-fe.h>

/* The tables and functions that a program wants in a database. */
struct schema_sql {
    const struct migration *migrations;
    size_t migrations_count;
    const struct definitions *definitions; /* NULL: leave the database's functions as they are */
};

/* The tables and functions of this program. */
struct schema_sql schema_sql_own(void);

/* Fails with STORE_ERROR_SCHEMA and the remedy if migrations or functions are missing, differ from the program's,
 * or came from a newer program that ended this one's age. */
bool migrations_check(PGconn *connection, GError **error);
/* Applies what is missing of `wanted`, while no other program migrates. On failure the database is as before. */
bool migrations_apply(PGconn *connection, const struct schema_sql *wanted, struct migrated *done,
                      GError **error);

#endif
