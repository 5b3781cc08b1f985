/*
 * Lays functions, views and triggers anew, as a whole. Internal to schema/sql.
 *
 * A function is replaced in place, so sessions that call it meanwhile go on. A
 * function that cannot be replaced (its result or a parameter's name changed) is
 * dropped first. Views are replaced in place, which keeps privileges on them and
 * views that use them; if one cannot be, all views are dropped and made again.
 * Functions, views and triggers that the program does not define any more are
 * dropped. A function that a table needs (a constraint calls it) stays, and so does
 * what belongs to an extension in the schema, or was made by hand.
 */
#ifndef SCHEMA_SQL_LAY_H
#define SCHEMA_SQL_LAY_H

#include "schema/sql/migrations.h"
#include "schema/store/store.h"

#include <libpq-fe.h>

/* Beside functions. To lay a view waits for all sessions that read it, to lay a trigger for all that write its
 * table. */
struct lay_parts {
    bool views, triggers;
};

/* Inside a transaction whose search_path begins with skipjack; schema_functions exists. Leaves views and triggers as they are where `parts`
 * does not name them; views are laid also if a function that they use cannot be replaced in place. */
bool definitions_lay(PGconn *connection, const struct definitions *definitions,
                     struct lay_parts parts, GError **error);

#endif
