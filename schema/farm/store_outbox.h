/*
 * The outbox: messages to webhooks, kept until they are delivered. A message is claimed, sent and ended; if the process
 * dies between, another one may claim it when the hold is over, so a receiver gets it at least once, always with the
 * same id.
 */
#ifndef SCHEMA_FARM_STORE_OUTBOX_H
#define SCHEMA_FARM_STORE_OUTBOX_H

#include "schema/store/store.h"

/* Moves: waiting -> delivered, failed, dropped; failed -> waiting, dropped. The database has the same
 * (message_may_move()). */
enum message_state { MESSAGE_WAITING, MESSAGE_DELIVERED, MESSAGE_FAILED, MESSAGE_DROPPED };
#define MESSAGE_STATE_COUNT 4
const char *message_state_name(enum message_state state);

struct message {
    int64_t id;
    char *message_id; /* 32 hex digits: what the receiver knows it by */
    char *topic;
    char *receiver; /* the URL without what may be secret */
    char *body;
    enum message_state state;
    int tries;                                            /* with the one that a claim begins */
    int64_t made_unix, next_unix, tried_unix, ended_unix; /* 0: not yet */
    double age_seconds;                                   /* claimed messages */
    int status;              /* HTTP status of the last try, 0 without an answer */
    char *words;             /* what happened at the last try */
    char *url, *secret_file; /* claimed messages; NULL for others. secret_file is "" without one */
};
void message_free(struct message *message);
typedef struct message Message;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Message, message_free)

struct message_draft {
    const char *message_id, *topic, *receiver, *url;
    const char *secret_file; /* "" for none */
    const char *body;
};
/* Keeps a message, unless one of this topic for this URL is kept already. *is_new may be NULL. */
bool store_keep_message(Store *store, const struct message_draft *draft, bool *is_new,
                        GError **error);
/* Claims the message that is due longest. *message is NULL if none is due; *wait_seconds then says when one will be,
 * negative for never. */
bool store_claim_message(Store *store, double hold_seconds, struct message **message,
                         double *wait_seconds, GError **error);
/* Notes what came of a claimed message's try: delivered, given up (MESSAGE_FAILED), or to be tried again in
 * delay_seconds (MESSAGE_WAITING). Does nothing if another process has claimed it since. */
bool store_end_try(Store *store, const struct message *message, enum message_state state,
                   int status, const char *words, double delay_seconds, GError **error);

/* struct message *, the newest first; all: also those that were delivered or dropped. */
GPtrArray *store_list_messages(Store *store, bool all, GError **error);
/* Sends messages again now (MESSAGE_WAITING), or drops them. ids NULL: all that failed. *count: how many changed. */
bool store_change_messages(Store *store, const int64_t *ids, int id_count, enum message_state state,
                           int64_t *count, GError **error);

#endif
