/*
 * HTTP requests of stores of code objects, over libcurl's easy interface: one
 * connection that is kept, limits on time and size, and trying again what may
 * pass. Internal to the room.
 */
#ifndef SCHEMA_BLOBS_BLOB_HTTP_H
#define SCHEMA_BLOBS_BLOB_HTTP_H

#include "schema/blobs/blob_store.h"

#include <curl/curl.h>

typedef struct curl_slist HttpHeaders;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HttpHeaders, curl_slist_free_all)

typedef struct http Http;
Http *http_new(const struct blob_patience *patience);
void http_free(Http *http);

struct http_request {
    const char *method;         /* "GET", "PUT", "DELETE", "MKCOL" */
    const char *url;            /* without credentials: errors show it */
    const HttpHeaders *headers; /* beside those that every request has, or NULL; the caller's */
    GBytes *body;               /* or NULL */
    gsize most;                 /* bytes of an answer with status 2xx; a longer one is an error */
    const char *user,
        *password; /* sent as basic authentication, or signed with; user NULL for none */
    /* CURLOPT_AWS_SIGV4, "aws:amz:REGION:s3": user and password are the key that signs the request, with all
     * headers and the body's SHA-256. NULL: basic authentication. */
    const char *sigv4;
    bool
        netrc; /* without a user: basic authentication by the netrc file's entry for the host, if any */
};

struct http_answer {
    long status;
    GByteArray *body; /* of an error: its beginning */
};
void http_answer_clear(struct http_answer *answer);
typedef struct http_answer HttpAnswer;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HttpAnswer, http_answer_clear)

/* True where the server answered, also with 4xx, and *answer is filled. STORE_ERROR_CONNECTION where
 * it did not, or still said 5xx or 429 at the last attempt; STORE_ERROR_BLOBS for what would fail again
 * (a certificate, an answer too large); STORE_ERROR_DAMAGED for a GET's answer that is too large. */
bool http_do(Http *http, const struct http_request *request, struct http_answer *answer,
             GError **error);

/* Sets STORE_ERROR_BLOBS: the answer's status, and the error code of a body in S3's XML. */
void http_refused(const struct http_request *request, const struct http_answer *answer,
                  GError **error);
/* The error code in the XML of an answer, such as NoSuchKey, or NULL. Free with g_free(). */
char *http_error_code(const struct http_answer *answer);

#endif
