/*
 * Telling receivers by webhooks. A message is first kept in the database (schema/farm/store_outbox.h) and then
 * delivered, at least once, always with the same id: a process that is killed, or a receiver that is away, loses
 * none. TELLING.md says what receivers get, and how they check the signature.
 */
#ifndef COORDINATOR_TELL_TELL_H
#define COORDINATOR_TELL_TELL_H

#include "schema/store/store.h"

#include <jansson.h>

struct tell_receiver {
    const char *webhook;     /* an http or https URL, which may hold a secret */
    const char *secret_file; /* the file with the key of the signature; NULL for none */
};

/* Returns false if the secret file cannot be read, is empty, or is readable by others: before a night begins. */
bool tell_check(const struct tell_receiver *receiver, GError **error);

/* Keeps a message for the receiver. topic: what it is about, "night gfx 2026-11-23"; a receiver gets each topic once,
 * so repeated calls keep the first message. body: a JSON object, which gets the message's id as the member "id". */
bool tell_keep(Store *store, const struct tell_receiver *receiver, const char *topic,
               const json_t *body, GError **error);

/* The body for a night's report (night_report.h): "text" and "blocks" as Slack's webhooks take them, and "skipjack".
 * A new reference. */
json_t *tell_night_body(const json_t *report);

struct tell_counts {
    int delivered, failed; /* failed: given up, until `tell retry` */
    int waiting;           /* to be tried again later */
};
/* Delivers what is due, one message after the other, and waits up to wait_seconds for those that become due. *stop
 * (NULL: none): a value other than 0 ends it after the current request. False only if the database fails. */
bool tell_deliver(Store *store, double wait_seconds, const volatile gint *stop,
                  struct tell_counts *counts, GError **error);

/* The URL without what may be secret: "https://hooks.slack.com/...". Free with g_free(). */
char *tell_public_url(const char *url);

#endif
