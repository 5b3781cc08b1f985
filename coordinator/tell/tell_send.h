/*
 * One POST of a message to a webhook, by libcurl. TLS certificates are verified, redirections are not followed: a
 * message goes to the host that its sender named, or nowhere. Internal to the folder.
 */
#ifndef COORDINATOR_TELL_TELL_SEND_H
#define COORDINATOR_TELL_TELL_SEND_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct tell_letter {
    const char *url;
    const char *id;            /* the message's id */
    const char *body;          /* JSON */
    const char *secret;        /* the key of the signature; NULL for none */
    int64_t now_unix;          /* the time that is signed */
    double seconds;            /* for the whole request */
    const volatile gint *stop; /* a value other than 0 ends the request; NULL: none */
};

enum tell_result {
    TELL_DELIVERED, /* status 2xx */
    TELL_LATER,   /* no answer, or one that says that a later try may succeed: 408, 425, 429, 5xx */
    TELL_REFUSED, /* the receiver refuses, or the URL is wrong: another try would fail, too */
};

struct tell_answer {
    enum tell_result result;
    int status;          /* of HTTP; 0 without an answer */
    double wait_seconds; /* Retry-After; 0 without */
    char *words;         /* what happened, for people; never the URL's path. Free with g_free(). */
};

/* Blocks until the receiver answered, or for letter->seconds. */
void tell_send(const struct tell_letter *letter, struct tell_answer *answer);

/* "v1=" and the HMAC-SHA256 of "UNIX.BODY" in hex. Free with g_free(). */
char *tell_signature(const char *secret, int64_t now_unix, const char *body);

#endif
