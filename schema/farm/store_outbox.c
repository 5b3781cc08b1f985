/* Messages in the outbox. sql/functions/outbox.sql makes all changes. */
#include "schema/farm/store_outbox.h"

#include "schema/store/store_private.h"

#include <stdlib.h>
#include <string.h>

static const char *const state_names[MESSAGE_STATE_COUNT] = {"waiting", "delivered", "failed",
                                                             "dropped"};

const char *message_state_name(enum message_state state)
{
    g_assert((int)state >= 0 && state < MESSAGE_STATE_COUNT);
    return state_names[state];
}

void message_free(struct message *message)
{
    if (message == NULL)
        return;
    g_free(message->message_id);
    g_free(message->topic);
    g_free(message->receiver);
    g_free(message->body);
    g_free(message->words);
    g_free(message->url);
    g_free(message->secret_file);
    g_free(message);
}

static void free_message(gpointer data)
{
    message_free(data);
}

static gpointer read_message(const json_t *object)
{
    struct message *message = g_new0(struct message, 1);
    g_autofree char *state = json_member_text(object, "state");
    message->id = json_member_int(object, "id");
    message->message_id = json_member_text(object, "message_id");
    message->topic = json_member_text(object, "topic");
    message->receiver = json_member_text(object, "receiver");
    message->body = json_member_text(object, "body");
    for (int i = 0; i < MESSAGE_STATE_COUNT; i++)
        if (strcmp(state, state_names[i]) == 0)
            message->state = (enum message_state)i;
    message->tries = (int)json_member_int(object, "tries");
    message->made_unix = json_member_int(object, "made");
    message->next_unix = json_member_int(object, "next");
    message->tried_unix = json_member_int(object, "tried");
    message->ended_unix = json_member_int(object, "ended");
    message->age_seconds = json_member_double(object, "age");
    message->status = (int)json_member_int(object, "status");
    message->words = json_member_text(object, "words");
    message->url = json_member_text_or_null(object, "url");
    message->secret_file = json_member_text_or_null(object, "secret_file");
    return message;
}

bool store_keep_message(Store *store, const struct message_draft *draft, bool *is_new,
                        GError **error)
{
    g_autoptr(StoreRows) rows = store_run(
        store, error, "SELECT keep_message($1, $2, $3, $4, $5, $6)", "ssssss", draft->message_id,
        draft->topic, draft->receiver, draft->url, draft->secret_file, draft->body);
    if (rows != NULL && is_new != NULL)
        *is_new = PQgetvalue(rows, 0, 0)[0] == 't';
    return rows != NULL;
}

bool store_claim_message(Store *store, double hold_seconds, struct message **message,
                         double *wait_seconds, GError **error)
{
    *message = NULL;
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT claim_message($1)", "d", hold_seconds);
    if (rows == NULL)
        return false;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    if (json_object_get(object, "message_id") != NULL)
        *message = read_message(object);
    *wait_seconds =
        json_is_number(json_object_get(object, "wait")) ? json_member_double(object, "wait") : -1;
    return true;
}

bool store_end_try(Store *store, const struct message *message, enum message_state state,
                   int status, const char *words, double delay_seconds, GError **error)
{
    g_autofree char *valid = g_utf8_make_valid(words, -1);
    return store_do(store, error, "SELECT end_try($1, $2, $3, $4, $5, $6)", "lisisd", message->id,
                    message->tries, message_state_name(state), status, valid, delay_seconds);
}

GPtrArray *store_list_messages(Store *store, bool all, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT to_jsonb(o) - 'body' || jsonb_build_object('made', extract(epoch FROM made_at)::bigint,"
        " 'next', extract(epoch FROM next_at)::bigint, 'tried', extract(epoch FROM tried_at)::bigint,"
        " 'ended', extract(epoch FROM ended_at)::bigint)"
        " FROM outbox o WHERE $1 OR state IN ('waiting', 'failed') ORDER BY id DESC",
        "b", all);
    return rows != NULL ? store_list(rows, read_message, free_message) : NULL;
}

bool store_change_messages(Store *store, const int64_t *ids, int id_count, enum message_state state,
                           int64_t *count, GError **error)
{
    g_autoptr(StoreJson) list = ids != NULL ? json_array() : NULL;
    for (int i = 0; ids != NULL && i < id_count; i++)
        json_array_append_new(list, json_integer(ids[i]));
    g_autofree char *text = list != NULL ? json_dumps(list, 0) : NULL;
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT change_messages($1::jsonb, $2)",
                                          "ss", text, message_state_name(state));
    if (rows != NULL)
        *count = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return rows != NULL;
}
