/*
 * Keeping and delivering messages. A failed try is followed by a pause that doubles, from 10 s to an hour, varied by
 * a quarter so that receivers that come back are not met by all at once; a receiver's Retry-After makes it longer. A
 * message is given up after three days.
 */
#include "coordinator/tell/tell.h"

#include "coordinator/cli/cli.h"
#include "coordinator/tell/tell_send.h"
#include "schema/farm/store_outbox.h"
#include "schema/monitor/log.h"
#include "schema/small_file.h"

#include <math.h>
#include <string.h>

#define PAUSE_FIRST_SECONDS 10.0
#define PAUSE_MOST_SECONDS  3600.0
#define RETRY_AFTER_MOST    21600.0 /* seconds of a receiver's Retry-After that are believed */
#define GIVE_UP_SECONDS     259200.0
#define REQUEST_SECONDS     30.0
/* A claimed message belongs to its process for as long as a request may take, and some. */
#define HOLD_SECONDS        (REQUEST_SECONDS + 30)
#define WAIT_STEP_US        100000
/* Bytes of a body: receivers and the database refuse more. */
#define BODY_BYTES_MAX      (512 << 10)

char *tell_public_url(const char *url)
{
    g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_PARSE_RELAXED | G_URI_FLAGS_ENCODED, NULL);
    if (uri == NULL || g_uri_get_host(uri) == NULL)
        return g_strdup("(no URL)");
    g_autofree char *port =
        g_uri_get_port(uri) > 0 ? g_strdup_printf(":%d", g_uri_get_port(uri)) : g_strdup("");
    const char *path = g_uri_get_path(uri);
    return g_strdup_printf("%s://%s%s/%s", g_uri_get_scheme(uri), g_uri_get_host(uri), port,
                           strlen(path) > 1 || g_uri_get_query(uri) != NULL ? "..." : "");
}

bool tell_check(const struct tell_receiver *receiver, GError **error)
{
    if (receiver->secret_file == NULL)
        return true;
    g_autofree char *secret = small_file_secret(receiver->secret_file, error);
    return secret != NULL;
}

/* ---- keeping ---- */

static char *new_id(void)
{
    g_autofree char *uuid = g_uuid_string_random();
    g_auto(GStrv) parts = g_strsplit(uuid, "-", -1);
    return g_strjoinv("", parts);
}

bool tell_keep(Store *store, const struct tell_receiver *receiver, const char *topic,
               const json_t *body, GError **error)
{
    g_autofree char *id = new_id();
    g_autofree char *shown = tell_public_url(receiver->webhook);
    /* The process that delivers may have another current folder. */
    g_autofree char *secret_file =
        receiver->secret_file != NULL ? g_canonicalize_filename(receiver->secret_file, NULL) : NULL;
    json_t *whole = json_copy((json_t *)body);
    json_object_set_new(whole, "id", json_string(id));
    char *text = json_dumps(whole, JSON_COMPACT);
    json_decref(whole);
    if (text == NULL || strlen(text) > BODY_BYTES_MAX) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "the message '%s' is no JSON object of at most %d bytes", topic,
                    BODY_BYTES_MAX);
        g_free(text);
        return false;
    }
    const struct message_draft draft = {
        .message_id = id,
        .topic = topic,
        .receiver = shown,
        .url = receiver->webhook,
        .secret_file = secret_file != NULL ? secret_file : "",
        .body = text,
    };
    bool kept = store_keep_message(store, &draft, NULL, error);
    g_free(text);
    return kept;
}

/* ---- delivering ---- */

static double pause_seconds(const struct message *message, const struct tell_answer *answer)
{
    double pause = MIN(PAUSE_FIRST_SECONDS * exp2(MIN(message->tries - 1, 20)), PAUSE_MOST_SECONDS);
    pause *= g_random_double_range(0.75, 1.25);
    return MAX(pause, MIN(answer->wait_seconds, RETRY_AFTER_MOST));
}

/* Sends the message once. Without its secret it is not sent: another process may have the file. */
static void try_message(const struct message *message, const volatile gint *stop,
                        struct tell_answer *answer)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *secret = NULL;
    if (*message->secret_file != '\0' &&
        (secret = small_file_secret(message->secret_file, &error)) == NULL) {
        *answer = (struct tell_answer){.result = TELL_LATER, .words = g_strdup(error->message)};
        return;
    }
    const struct tell_letter letter = {
        .url = message->url,
        .id = message->message_id,
        .body = message->body,
        .secret = secret,
        .now_unix = g_get_real_time() / G_USEC_PER_SEC,
        .seconds = REQUEST_SECONDS,
        .stop = stop,
    };
    tell_send(&letter, answer);
}

static bool deliver(Store *store, const struct message *message, const volatile gint *stop,
                    struct tell_counts *counts, GError **error)
{
    struct tell_answer answer;
    try_message(message, stop, &answer);
    enum message_state state =
        answer.result == TELL_DELIVERED ? MESSAGE_DELIVERED
        : answer.result == TELL_REFUSED || message->age_seconds > GIVE_UP_SECONDS ? MESSAGE_FAILED
                                                                                  : MESSAGE_WAITING;
    log_write(state == MESSAGE_DELIVERED ? LEVEL_INFO : LEVEL_WARNING, "message", NULL,
              "message %s about %s to %s, try %d: %s%s", message->message_id, message->topic,
              message->receiver, message->tries, answer.words,
              state == MESSAGE_FAILED ? "; given up (skipjack tell retry)" : "");
    counts->delivered += state == MESSAGE_DELIVERED;
    counts->failed += state == MESSAGE_FAILED;
    bool noted = store_end_try(store, message, state, answer.status, answer.words,
                               pause_seconds(message, &answer), error);
    g_free(answer.words);
    return noted;
}

static bool is_stopped(const volatile gint *stop)
{
    return stop != NULL && g_atomic_int_get(stop) != 0;
}

static int count_waiting(Store *store, GError **error)
{
    g_autoptr(GPtrArray) messages = store_list_messages(store, false, error);
    int waiting = 0;
    for (guint i = 0; messages != NULL && i < messages->len; i++)
        waiting +=
            ((const struct message *)g_ptr_array_index(messages, i))->state == MESSAGE_WAITING;
    return messages != NULL ? waiting : -1;
}

bool tell_deliver(Store *store, double wait_seconds, const volatile gint *stop,
                  struct tell_counts *counts, GError **error)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)(wait_seconds * G_USEC_PER_SEC);
    *counts = (struct tell_counts){0};
    while (!is_stopped(stop)) {
        g_autoptr(Message) message = NULL;
        double wait = -1;
        if (!store_claim_message(store, HOLD_SECONDS, &message, &wait, error))
            return false;
        if (message != NULL) {
            if (!deliver(store, message, stop, counts, error))
                return false;
            continue;
        }
        gint64 due_us = g_get_monotonic_time() + (gint64)(wait * G_USEC_PER_SEC);
        if (wait < 0 || due_us > end_us)
            break;
        while (g_get_monotonic_time() < due_us && !is_stopped(stop))
            g_usleep(WAIT_STEP_US);
    }
    counts->waiting = count_waiting(store, error);
    return counts->waiting >= 0;
}
