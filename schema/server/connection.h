/*
 * Opening a connection to PostgreSQL. Resolves a connection string with the
 * environment and files that libpq reads; demands TLS for every server that is
 * not on this machine; keeps passwords out of everything that is printed or that
 * another process can see. Internal to the room.
 */
#ifndef SCHEMA_SERVER_CONNECTION_H
#define SCHEMA_SERVER_CONNECTION_H

#include "schema/store/store.h"

#include <libpq-fe.h>

typedef PQconninfoOption ConnectionOptions;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConnectionOptions, PQconninfoFree)

/* All options that libpq would use for the string: from the string, its service file and the
 * environment. Connects to nothing. NULL with STORE_ERROR_ACCESS if the string cannot be parsed;
 * the message does not quote it. */
ConnectionOptions *connection_resolve(const char *url, GError **error);
/* The value of an option, NULL if it is not set. Borrowed. */
const char *connection_option(const ConnectionOptions *options, const char *keyword);

enum connection_tls {
    TLS_AS_ASKED, /* sslmode is used as it was given */
    TLS_RAISED,   /* sslmode becomes "require" */
    TLS_REFUSED,  /* sslmode is "disable" for a server on another machine: an error */
};
/* Decides about TLS. TLS is needed if any host is neither a socket nor a loopback address. host and
 * hostaddr: lists as libpq takes them, or NULL. insecure: SKIPJACK_DB_INSECURE says that the network is
 * private. */
enum connection_tls connection_tls(const char *host, const char *hostaddr, const char *sslmode,
                                   bool insecure);

/* Connects to any connection string of libpq; its timeouts override ours. STORE_ERROR_CONNECTION if the
 * server is unreachable or refuses, STORE_ERROR_ACCESS if connecting is not allowed (TLS). Close with
 * PQfinish(). */
PGconn *connection_open(const char *url, const char *application, GError **error);

/* The string without its passwords, for printing: unchanged if it has none, "(unreadable)" if libpq cannot
 * parse it. Free with g_free(). */
char *connection_without_password(const char *url);
/* The string for the command line of another program, which every user can see: without passwords, with
 * TLS as connection_tls() decides. *password becomes the password that it had, or NULL. Free both with
 * g_free(). */
char *connection_for_child(const char *url, char **password, GError **error);

#endif
