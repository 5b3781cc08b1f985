/*
 * Opening a connection to PostgreSQL: what a connection string really means,
 * together with the environment and the files that libpq reads; TLS for every
 * server that is not on this machine; and no password in anything that is
 * printed or that another process can see. Internal to the room.
 */
#ifndef SCHEMA_SERVER_CONNECTION_H
#define SCHEMA_SERVER_CONNECTION_H

#include "schema/store/store.h"

#include <libpq-fe.h>

typedef PQconninfoOption ConnectionOptions;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConnectionOptions, PQconninfoFree)

/* All options as libpq would use them: of the string, its service, the environment. Asks no server.
 * NULL with STORE_ERROR_ACCESS where the string cannot be read; the message has no part of it. */
ConnectionOptions *connection_resolve(const char *url, GError **error);
/* One of them, NULL where it is not set. Borrowed. */
const char *connection_option(const ConnectionOptions *options, const char *keyword);

enum connection_tls {
    TLS_AS_ASKED, /* sslmode is left as it is */
    TLS_RAISED,   /* sslmode becomes "require" */
    TLS_REFUSED,  /* it was switched off for a server elsewhere */
};
/* The rule. host and hostaddr may be lists, as libpq has them, or NULL. One host that is neither a
 * socket nor a loopback address is enough; insecure: who runs this has said that the network is his. */
enum connection_tls connection_tls(const char *host, const char *hostaddr, const char *sslmode,
                                   bool insecure);

/* The url may be any connection string of libpq; what it says of timeouts wins over our defaults.
 * STORE_ERROR_CONNECTION where the server is away or refuses, STORE_ERROR_ACCESS where it is not asked.
 * Close with PQfinish(). */
PGconn *connection_open(const char *url, const char *application, GError **error);

/* The string without its passwords, as it is where it has none, "(unreadable)" where libpq cannot read it: for
 * what is printed. It is usable where they come from elsewhere. Free with g_free(). */
char *connection_without_password(const char *url);
/* For the command line of another program, which everybody sees: without passwords, with TLS by our rule.
 * *password gets the one that the string had, or NULL. Free both with g_free(). */
char *connection_for_child(const char *url, char **password, GError **error);

#endif
