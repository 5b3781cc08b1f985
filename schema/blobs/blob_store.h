/*
 * Stores of code objects outside the database, as a small table of functions:
 * S3-compatible ones and WebDAV folders, chosen by the scheme of their URL.
 * An object is bytes under a name and is never changed. What is in the store
 * is not believed: who reads an object knows its length and SHA-256.
 *
 *   s3://BUCKET[/PREFIX]?region=R&endpoint=URL&style=path|host
 *   webdav+https://HOST[:PORT]/FOLDER, webdav+http://...
 *
 * Credentials are each node's own (s3_credentials.h, blob_webdav.c), never part
 * of a URL, and never in a message. Certificates are verified, against the
 * bundle that CURL_CA_BUNDLE names where it is set. Requests are tried again
 * after growing pauses where the server is out of reach or says 5xx or 429; not
 * after any other refusal.
 *
 * Errors: STORE_ERROR_CONNECTION after the last try, STORE_ERROR_BLOBS for what
 * no repetition mends, STORE_ERROR_NOT_FOUND where there is no such object,
 * STORE_ERROR_DAMAGED where one is larger than it can be.
 * A store is used by one thread at a time. Internal to the room.
 */
#ifndef SCHEMA_BLOBS_BLOB_STORE_H
#define SCHEMA_BLOBS_BLOB_STORE_H

#include "schema/store/store.h"

/* Of one object: a code object has a few kilobytes, seldom a few megabytes. */
#define BLOB_BYTES_MAX ((gsize)64 << 20)

typedef struct blob_store BlobStore;

/* How long to try; NULL for the defaults. Tests are less patient. */
struct blob_patience {
    int attempts;      /* of a request, 5 */
    int pause_ms;      /* before the second, 200; doubled each time, and varied by half */
    int stall_seconds; /* less than a kilobyte a second for so long ends an attempt, 30 */
};

/* Checks the URL and connects to nothing yet. */
BlobStore *blob_store_open(const char *url, const struct blob_patience *patience, GError **error);
void blob_store_close(BlobStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlobStore, blob_store_close)

/* name: letters, digits, '-' and one '/'. Folders are made where the store has such. */
bool blob_store_put(BlobStore *store, const char *name, GBytes *bytes, GError **error);
/* An object of more than `most` bytes is an error, and not read further. */
GBytes *blob_store_get(BlobStore *store, const char *name, gsize most, GError **error);
/* True also where there is no such object. */
bool blob_store_remove(BlobStore *store, const char *name, GError **error);

/* Puts, reads and removes an object of its own: whether this node may use the store. */
bool blob_store_probe(BlobStore *store, GError **error);

/* ---- for those who implement one ---- */

struct blob_store_kind {
    const char *scheme; /* of the URL */
    /* url is parsed, has no user or password. Returns a struct that begins with a struct blob_store. */
    BlobStore *(*open)(GUri *url, GError **error);
    bool (*put)(BlobStore *store, const char *name, GBytes *bytes, GError **error);
    GBytes *(*get)(BlobStore *store, const char *name, gsize most, GError **error);
    bool (*remove)(BlobStore *store, const char *name, GError **error);
    void (*close)(BlobStore *store); /* frees all but `base` */
};
extern const struct blob_store_kind blob_s3, blob_webdav, blob_webdav_plain;

/* Whether it is a host's name or address. GLib takes a %-escape in a URL's host for the byte it stands
 * for: a line's end would begin a header, and '@' or '#' lead to another host. */
bool blob_host_valid(const char *host);

struct blob_store {
    const struct blob_store_kind *kind;
    char *url; /* as it may be shown */
    struct http *http;
};

#endif
