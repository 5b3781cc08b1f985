/*
 * Applies the migrations that the program carries, and refuses a database that
 * does not agree with them. Internal to the room; the others call
 * database_migrate().
 */
#ifndef SCHEMA_MIGRATE_H
#define SCHEMA_MIGRATE_H

#include "schema/migrations.h"
#include "schema/store.h"

#include <libpq-fe.h>

/* STORE_ERROR_SCHEMA with the remedy when migrations are missing, were changed after they were applied,
 * or came from a newer program. */
bool migrations_check(PGconn *connection, GError **error);
/* Applies what is missing of `list`, under a lock that all programs share. */
bool migrations_apply(PGconn *connection, const struct migration *list, size_t count, int *applied,
                      GError **error);

#endif
