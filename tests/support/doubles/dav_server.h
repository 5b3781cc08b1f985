/* Apache as a WebDAV server for tests: a child process on a port of the loopback, with its own
 * folder behind a password, with or without TLS (by a certificate made for the test). */
#ifndef TESTS_SUPPORT_DOUBLES_DAV_SERVER_H
#define TESTS_SUPPORT_DOUBLES_DAV_SERVER_H

#include <glib.h>
#include <stdbool.h>

#define DAV_USER     "skipjack"
#define DAV_PASSWORD "not a secret"

typedef struct dav_server DavServer;
/* Returns NULL, with a static text in *missing, if Apache or its modules are not installed. Ends
 * the program if they are installed and the server does not start. */
DavServer *dav_server_new(bool tls, const char **missing);
void dav_server_free(DavServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DavServer, dav_server_free)

/* "webdav+http://127.0.0.1:PORT/blobs" */
const char *dav_server_url(const DavServer *server);
int dav_server_port(const DavServer *server);
/* The path of the certificate by which clients verify the server. */
const char *dav_server_certificate(const DavServer *server);
/* The number of files in the server's folder. */
int dav_server_files(const DavServer *server);

#endif
