/*
 * Lays functions, views and triggers anew, as a whole. Internal to schema/sql.
 *
 * A function is replaced in place, so sessions that call it meanwhile go on. A
 * function that cannot be replaced (its result or a parameter's name changed) is
 * dropped first. Views are dropped and made again. Functions and triggers that
 * the program does not define any more are dropped; a function that a table
 * needs (a constraint calls it) stays.
 */
#ifndef SCHEMA_SQL_LAY_H
#define SCHEMA_SQL_LAY_H

#include "schema/sql/migrations.h"
#include "schema/store/store.h"

#include <libpq-fe.h>

/* Inside a transaction whose search_path begins with skipjack. Locks the tables of triggers if `with_triggers`,
 * else leaves triggers as they are. */
bool definitions_lay(PGconn *connection, const struct definitions *definitions, bool with_triggers,
                     GError **error);

#endif
