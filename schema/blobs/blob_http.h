/*
 * HTTP requests to stores of code objects, by libcurl's easy interface: one
 * connection that is kept open, limits on time and size, and repeated attempts
 * after failures that may pass. Internal to the folder.
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
    const char *url;            /* the URL, without credentials: error messages show it */
    const HttpHeaders *headers; /* further headers, or NULL; the caller keeps them */
    GBytes *body;               /* or NULL */
    /* Most bytes of the body of an answer with status 2xx; a longer body is an error. */
    gsize most;
    /* user and password for basic authentication, or the key id and secret to sign with; user
     * NULL for none */
    const char *user, *password;
    /* CURLOPT_AWS_SIGV4, "aws:amz:REGION:s3": user and password are the key that signs the request, with all
     * headers and the body's SHA-256. NULL: basic authentication. */
    const char *sigv4;
    /* if user is NULL: basic authentication by the netrc file's entry for the host, if any */
    bool netrc;
};

struct http_answer {
    long status;
    GByteArray *body; /* the answer's body; of an error answer only its beginning */
};
void http_answer_clear(struct http_answer *answer);
typedef struct http_answer HttpAnswer;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HttpAnswer, http_answer_clear)

/* Sends the request, several times if needed. True if the server answered, also with status 4xx; *answer
 * is then filled. STORE_ERROR_CONNECTION if the server did not answer, or still answered 5xx or 429 at the
 * last attempt. STORE_ERROR_BLOBS if another attempt would fail, too (a certificate, an answer too large).
 * STORE_ERROR_DAMAGED if the answer to a GET is too large. */
bool http_do(Http *http, const struct http_request *request, struct http_answer *answer,
             GError **error);

/* Sets STORE_ERROR_BLOBS with the answer's status and the error code in its XML body. */
void http_refused(const struct http_request *request, const struct http_answer *answer,
                  GError **error);
/* The error code in the XML of an answer, such as NoSuchKey, or NULL. Free with g_free(). */
char *http_error_code(const struct http_answer *answer);

#endif
