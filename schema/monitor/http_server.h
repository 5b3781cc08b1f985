/*
 * The program's HTTP/1.1 server, on a libuv loop: `worker --metrics` and `serve`
 * use it. A table of routes says who answers which method and path. A handler
 * answers at once or later, with bytes, a file, or a stream of events.
 *
 * It is harmless to its process. Bounded are: connections and listeners to
 * streams, and both by the files that the process may open; bytes of a target,
 * headers and body; requests a second of an address; seconds of a request.
 * Beyond its connections, the oldest that has no answer under way is closed, so
 * that clients that send no request do not block others. Requests that are
 * refused get a JSON problem (RFC 9457). Every answer has the headers that keep
 * a browser from running or embedding what this server did not mean.
 *
 * All calls are made on the loop's thread.
 */
#ifndef SCHEMA_MONITOR_HTTP_SERVER_H
#define SCHEMA_MONITOR_HTTP_SERVER_H

#include "schema/monitor/http_target.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define HTTP_ERROR (http_error_quark())
GQuark http_error_quark(void);

enum http_error {
    HTTP_ERROR_LISTEN, /* It cannot listen at the given place. */
};

typedef struct http_server HttpServer;
typedef struct http_request HttpRequest;
typedef struct http_stream HttpStream;

/* A method with a path pattern (http_target_matches()) and who answers it. HEAD is answered as GET without a body. A
 * handler answers the request before it returns, or holds it (http_request_hold()) and answers it later. */
struct http_route {
    const char *method, *path;
    void (*answer)(void *data, HttpRequest *request);
    const void *about; /* for the handler: http_request_about() */
};

struct http_options {
    const struct http_route
        *routes; /* copied, their texts are not; the first one that matches counts */
    int route_count;
    void *data;        /* for the handlers */
    bool keep_alive;   /* connections may bring several requests */
    int connections;   /* most connections at once without those of listeners, up to 256 */
    int listeners;     /* most streams at once; 0: none */
    size_t body_bytes; /* longest body of a request */
    /* Names by which clients may call the server, NULL-terminated, beside those of http_host_fits(): a request with another
     * one in its header Host is answered 421. NULL: any name. Borrowed until http_server_close(). */
    const char *const *hosts;
    double requests_per_second; /* of one address (of IPv6: a /64), 0: any number */
};

/* Counts since the server began. */
struct http_counts {
    uint64_t requests;
    uint64_t by_class[6];       /* answers by status / 100 */
    uint64_t limited;           /* answered 429 */
    uint64_t closed;            /* connections that were closed for newer ones */
    uint64_t slow;              /* streams that were ended since their client read too slowly */
    int connections, listeners; /* now */
};

/* Starts the server. place: "PORT", "ADDRESS:PORT" or "[IPV6]:PORT"; the default address is 127.0.0.1, and
 * port 0 takes a free one. */
HttpServer *http_server_open(uv_loop_t *loop, const char *place, const struct http_options *options,
                             GError **error);
/* Stops the server: requests that are held, and streams, end. NULL does nothing. The loop must run until the handles
 * are closed. */
void http_server_close(HttpServer *server);
/* The URL at which it listens: "http://127.0.0.1:9464". */
const char *http_server_url(const HttpServer *server);
/* Whether only this machine reaches it. */
bool http_server_is_loopback(const HttpServer *server);
void http_server_counts(const HttpServer *server, struct http_counts *counts);

/* ---- a request; what is returned belongs to it ---- */

const char *http_request_method(const HttpRequest *request); /* "GET" for HEAD, too */
const struct http_target *http_request_target(const HttpRequest *request);
/* The path's segment in the place of {name} in the route's pattern. */
const char *http_request_named(const HttpRequest *request, const char *name);
/* A header's value, or NULL. */
const char *http_request_header(const HttpRequest *request, const char *name);
const char *http_request_body(const HttpRequest *request, size_t *length);
const void *http_request_about(const HttpRequest *request);
/* The client's address without its port. */
const char *http_request_address(const HttpRequest *request);
/* Takes a token from the address's bucket of refused logins: a few at once, then one in ten seconds. Returns
 * false if the bucket is empty: the caller is to answer 429 without looking. */
bool http_request_may_try(HttpRequest *request);
void http_request_failed_try(HttpRequest *request);

/* Keeps the request until http_request_release(); in between it is to be answered once. Its client may go away
 * meanwhile: the answer is then dropped. */
HttpRequest *http_request_hold(HttpRequest *request);
void http_request_release(HttpRequest *request);

/* ---- answers ---- */

struct http_answer {
    unsigned status;
    const char *type; /* media type */
    GBytes *body;     /* borrowed */
    const char *etag; /* with its quotes, or NULL: then it is not to be stored anywhere */
    /* Seconds for which a client need not ask again; 0: it asks each time, with the etag. */
    int fresh_seconds;
    const char *header, *value; /* one more header, or NULL */
};
void http_answer(HttpRequest *request, const struct http_answer *answer);
/* A problem: its detail in words. */
G_GNUC_PRINTF(3, 4)
void http_answer_problem(HttpRequest *request, unsigned status, const char *format, ...);
/* A file's bytes, or the range that the request asks for. Takes fd, of a regular file of `length` bytes. name: for the
 * client's folder of downloads. */
void http_answer_file(HttpRequest *request, int fd, uint64_t length, const char *etag,
                      const char *name);

/* Begins an answer without an end, of the given type. closed is called once, when the client is gone or
 * http_stream_end() was called; the stream is freed then. NULL if there are too many: the request is answered 503. */
HttpStream *http_stream_begin(HttpRequest *request, const char *type, void (*closed)(void *data),
                              void *data);
/* Sends bytes, which many streams may share. A client that has not read 4 MiB is disconnected. */
void http_stream_send(HttpStream *stream, GBytes *bytes);
void http_stream_end(HttpStream *stream);

#endif
