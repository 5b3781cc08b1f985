/*
 * Applies the migrations that the program carries, and refuses a database that
 * does not agree with them. Internal to the room; the others call
 * database_migrate().
 *
 * Programs of several ages work side by side. A migration that leaves older
 * programs what they call (it adds, or replaces functions under the same
 * signatures) has a line "-- oldest program: NNNN", the last migration of the
 * oldest program that may go on; without the line it ends all older ones. The
 * ledger keeps that number, so that a program can tell of migrations that it
 * does not know whether they let it in.
 */
#ifndef SCHEMA_MIGRATE_H
#define SCHEMA_MIGRATE_H

#include "schema/migrations.h"
#include "schema/store/store.h"

#include <libpq-fe.h>

/* STORE_ERROR_SCHEMA with the remedy when migrations are missing, were changed after they were applied,
 * or came from a newer program that ended this one's age. */
bool migrations_check(PGconn *connection, GError **error);
/* Applies what is missing of `list`, under a lock that all programs share. */
bool migrations_apply(PGconn *connection, const struct migration *list, size_t count, int *applied,
                      GError **error);

#endif
