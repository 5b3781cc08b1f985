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
    const char *method; /* "GET", "PUT", "DELETE", "MKCOL" */
    const char *url;    /* without credentials; may be shown */
    GBytes *body;       /* or NULL */
    gsize most;         /* bytes of an answer 2xx; more is an error */
    /* Makes an attempt's headers: signatures hold for minutes. May be NULL. False with an error ends it. */
    bool (*headers)(void *data, HttpHeaders **headers, GError **error);
    void *data;
    const char *user, *password; /* basic authentication, where user is not NULL */
    bool netrc;                  /* from netrc where that has an entry */
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
