/*
 * The roles of a farm's database. They belong to the whole server; what each
 * may do in one database is written there (migrations/0013_roles.sql), and
 * given to those roles that there are by every migration and by
 * roles_create(). Internal to the room.
 */
#ifndef SCHEMA_SERVER_ROLES_H
#define SCHEMA_SERVER_ROLES_H

#include "schema/store/store.h"

#include <libpq-fe.h>

struct role {
    const char *name, *may;
};
extern const struct role roles[];
extern const gsize roles_count;

/* NULL where there is none of that name, which may leave out "skipjack_". */
const struct role *role_find(const char *name);

/* Creates the roles that are missing, gives all of them what they may in this database, and says on
 * stdout what it did. May be repeated. STORE_ERROR_ACCESS where the login may not: the message says who
 * may. */
bool roles_create(PGconn *connection, GError **error);
struct role_login {
    const char *name;
    const struct role *role;
    const char *password; /* NULL leaves it as it is; it reaches the server as its verifier alone */
    int connections; /* it may have at once; 0: half of the server's for a new worker, else as it is */
};
/* Creates a login in a role, or puts one that there is into it. */
bool roles_login(PGconn *connection, const struct role_login *login, GError **error);

#endif
