/*
 * An S3-compatible server for tests: real HTTP on a port of the loopback, in
 * threads of the test's own process, objects in memory. It computes the
 * signature (version 4) of each request from the request as it arrived. A
 * request is refused if its signature differs, if the hash of its body is wrong,
 * if it has an x-amz- header that is not signed, or if it is older than 15
 * minutes. object_server_fail() makes the server fail on demand.
 */
#ifndef TESTS_SUPPORT_OBJECT_SERVER_H
#define TESTS_SUPPORT_OBJECT_SERVER_H

#include <glib.h>
#include <stdbool.h>

#define OBJECT_SERVER_KEY_ID "AKIDSKIPJACKTEST"
#define OBJECT_SERVER_SECRET "not+a/secret%20but=looks like one"
#define OBJECT_SERVER_REGION "eu-test-1"
#define OBJECT_SERVER_BUCKET "skipjack-test"

typedef struct object_server ObjectServer;
/* Also sets AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and keeps proxies out of the way. */
ObjectServer *object_server_new(void);
void object_server_free(ObjectServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectServer, object_server_free)

int object_server_port(const ObjectServer *server);
/* "s3://skipjack-test/PREFIX?region=...&endpoint=..." Free with g_free(). */
char *object_server_url(const ObjectServer *server, const char *prefix);
/* From now on requests need this session token; NULL for none. */
void object_server_need_token(ObjectServer *server, const char *token);

enum object_fault {
    FAULT_INTERNAL, /* 500 */
    FAULT_BUSY,     /* 503 */
    FAULT_TOO_MANY, /* 429, to be tried again after a second */
    FAULT_FORBIDDEN,
    FAULT_WORDLESS,    /* 404 without a body */
    FAULT_CUT,         /* the connection, in a PUT's body or before an answer */
    FAULT_CUT_ANSWER,  /* the connection, in the answer's body */
    FAULT_WRONG_BYTES, /* one byte differs */
    FAULT_SHORTER,     /* a complete answer that lacks the last byte */
    FAULT_LONGER,      /* a megabyte follows */
    FAULT_SILENCE,     /* nothing for three seconds */
};
/* The next so many requests of that method meet it. */
void object_server_fail(ObjectServer *server, const char *method, enum object_fault fault,
                        int times);

/* Requests that came in, whatever became of them; method NULL for all. */
int object_server_requests(ObjectServer *server, const char *method);
/* Objects that are there, and one byte of each changed. */
int object_server_objects(ObjectServer *server);
void object_server_damage(ObjectServer *server);
void object_server_forget(ObjectServer *server);

#endif
