/*
 * The roles of a farm's database. Roles belong to the whole server. Their rights
 * in one database are defined by its schema; every migration and roles_create()
 * grant them to those roles that exist. Internal to the room.
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

/* Finds a role; the name may leave out "skipjack_". NULL if no role has this name. */
const struct role *role_find(const char *name);

/* Creates the missing roles, grants all roles their rights in this database, and prints what it did. May
 * be repeated. STORE_ERROR_ACCESS if the login may not; the message says which login may. */
bool roles_create(PGconn *connection, GError **error);
struct role_login {
    const char *name;
    const struct role *role;
    /* The password; NULL keeps the present one. The server gets only its SCRAM verifier. */
    const char *password;
    int connections; /* most connections at once; 0: half of the server's for a new worker,
                      * unchanged for others */
};
/* Creates a login in a role, or adds an existing login to the role. */
bool roles_login(PGconn *connection, const struct role_login *login, GError **error);

#endif
