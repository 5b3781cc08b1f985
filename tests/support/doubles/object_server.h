/* An S3-compatible server for tests: real HTTP on a port of the loopback, in threads of the test's
 * process, with objects in memory. It computes the signature (version 4) of each request from the
 * request as it arrived. A request is refused if its signature differs, if its body's hash is
 * wrong, if an x-amz- header is not signed, or if it is older than 15 minutes. object_server_fail()
 * makes the server fail on demand. */
#ifndef TESTS_SUPPORT_DOUBLES_OBJECT_SERVER_H
#define TESTS_SUPPORT_DOUBLES_OBJECT_SERVER_H

#include <glib.h>
#include <stdbool.h>

#define OBJECT_SERVER_KEY_ID "AKIDSKIPJACKTEST"
#define OBJECT_SERVER_SECRET "not+a/secret%20but=looks like one"
#define OBJECT_SERVER_REGION "eu-test-1"
#define OBJECT_SERVER_BUCKET "skipjack-test"

typedef struct object_server ObjectServer;
/* Also sets AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and turns proxies off, in the
 * environment. */
ObjectServer *object_server_new(void);
void object_server_free(ObjectServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectServer, object_server_free)

int object_server_port(const ObjectServer *server);
/* "s3://skipjack-test/PREFIX?region=...&endpoint=..." Free with g_free(). */
char *object_server_url(const ObjectServer *server, const char *prefix);
/* From now on requests must carry this session token; NULL: no token. */
void object_server_need_token(ObjectServer *server, const char *token);

enum object_fault {
    FAULT_INTERNAL, /* 500 */
    FAULT_BUSY,     /* 503 */
    FAULT_TOO_MANY, /* answers 429 with Retry-After of one second */
    FAULT_FORBIDDEN,
    FAULT_WORDLESS,    /* answers 404 without a body */
    FAULT_CUT,         /* closes the connection, during a PUT's body or before an answer */
    FAULT_CUT_ANSWER,  /* closes the connection during the answer's body */
    FAULT_WRONG_BYTES, /* answers with one byte changed */
    FAULT_SHORTER,     /* answers without the last byte, as if the object were shorter */
    FAULT_LONGER,      /* answers with a megabyte more */
    FAULT_SILENCE,     /* answers after eight seconds */
};
/* The next `count` requests of that method meet this fault. */
void object_server_fail(ObjectServer *server, const char *method, enum object_fault fault,
                        int times);

/* The number of requests received, failed ones included; method NULL: of all methods. */
int object_server_requests(ObjectServer *server, const char *method);
/* The number of stored objects; and a function that changes one byte of each. */
int object_server_objects(ObjectServer *server);
void object_server_damage(ObjectServer *server);
void object_server_forget(ObjectServer *server);

#endif
