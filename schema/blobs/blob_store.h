/*
 * Stores of code objects outside the database: S3-compatible stores and WebDAV
 * folders. Each kind is a small table of functions, chosen by the scheme of the
 * URL:
 *
 * s3://BUCKET[/PREFIX]?region=R&endpoint=URL&style=path|host,
 * webdav+https://HOST[:PORT]/FOLDER, webdav+http://HOST[:PORT]/FOLDER
 *
 * An object is bytes under a name, and never changes. Readers verify its length
 * and SHA-256, which they know from the database.
 *
 * Credentials belong to the node (s3_credentials.h, blob_webdav.c). They are
 * never part of a URL or a message. Certificates are verified, against the
 * bundle CURL_CA_BUNDLE if it is set. Requests are repeated after growing pauses
 * if the server is unreachable or answers 5xx or 429, and after no other
 * refusal.
 *
 * Errors: STORE_ERROR_CONNECTION after the last attempt; STORE_ERROR_BLOBS if
 * repeating cannot help; STORE_ERROR_NOT_FOUND for a missing object;
 * STORE_ERROR_DAMAGED for an object that is too large. One thread at a time may
 * use a store. Internal to the room.
 */
#ifndef SCHEMA_BLOBS_BLOB_STORE_H
#define SCHEMA_BLOBS_BLOB_STORE_H

#include "schema/store/store.h"

/* Most bytes of an object. A code object has a few kilobytes, seldom a few megabytes. */
#define BLOB_BYTES_MAX ((gsize)64 << 20)

typedef struct blob_store BlobStore;

/* How long to try. Tests set shorter times. */
struct blob_patience {
    int attempts; /* attempts for each request; default 5 */
    int pause_ms; /* pause in ms before the second attempt, default 200; doubled for each further one, and varied by half */
    int stall_seconds; /* An attempt fails after this many seconds at less than a kilobyte a second; default 30. */
};

/* Checks the URL; connects to nothing yet. patience: NULL for the defaults. */
BlobStore *blob_store_open(const char *url, const struct blob_patience *patience, GError **error);
void blob_store_close(BlobStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlobStore, blob_store_close)

/* Stores an object under a name of letters, digits, '-' and one '/'. A store with folders
 * creates those that it needs. */
bool blob_store_put(BlobStore *store, const char *name, GBytes *bytes, GError **error);
/* Reads an object. An object of more than `most` bytes is an error, and is not read to its end. */
GBytes *blob_store_get(BlobStore *store, const char *name, gsize most, GError **error);
/* Removes an object; true also if the store has no such object. */
bool blob_store_remove(BlobStore *store, const char *name, GError **error);

/* Whether this node may use the store: puts, reads and removes a test object. */
bool blob_store_probe(BlobStore *store, GError **error);

/* ---- for the kinds of stores ---- */

struct blob_store_kind {
    const char *scheme; /* of the URL */
    /* Opens a parsed URL that has no user or password. Returns a struct that begins with a struct
     * blob_store. */
    BlobStore *(*open)(GUri *url, GError **error);
    bool (*put)(BlobStore *store, const char *name, GBytes *bytes, GError **error);
    GBytes *(*get)(BlobStore *store, const char *name, gsize most, GError **error);
    bool (*remove)(BlobStore *store, const char *name, GError **error);
    void (*close)(BlobStore *store); /* frees all members of the store's struct but `base` */
};
extern const struct blob_store_kind blob_s3, blob_webdav, blob_webdav_plain;

/* Whether the text is a host's name or address. GLib decodes %-escapes in a URL's host: a decoded line end
 * would begin a header, and a decoded '@' or '#' would lead to another host. */
bool blob_host_valid(const char *host);

struct blob_store {
    const struct blob_store_kind *kind;
    char *url; /* for messages */
    struct http *http;
};

#endif
