/* Messages to webhooks, against a receiver on a port of the loopback. */
#include "coordinator/tell/tell.h"
#include "coordinator/tell/tell_send.h"
#include "schema/farm/store_outbox.h"
#include "schema/farm/upkeep.h"
#include "schema/small_file.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECRET "a secret of a test"

/* ---- the receiver ---- */

struct letter {
    char *body, *id, *timestamp, *signature, *path;
};

struct receiver {
    struct MHD_Daemon *daemon;
    GMutex mutex;
    GPtrArray *letters;      /* struct letter * */
    const int *plan;         /* statuses of the next answers; 0 ends the plan: then 200 */
    const char *retry_after; /* or NULL */
    gint cut;                /* so many requests are closed without an answer */
};

static void letter_free(void *data)
{
    struct letter *letter = data;
    g_free(letter->body);
    g_free(letter->id);
    g_free(letter->timestamp);
    g_free(letter->signature);
    g_free(letter->path);
    g_free(letter);
}

static enum MHD_Result answer(struct receiver *receiver, struct MHD_Connection *connection)
{
    int status = receiver->plan != NULL && *receiver->plan != 0 ? *receiver->plan++ : 200;
    static char words[] = "said the receiver";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(words), words, MHD_RESPMEM_PERSISTENT);
    if (receiver->retry_after != NULL)
        MHD_add_response_header(response, "Retry-After", receiver->retry_after);
    if (status / 100 == 3)
        MHD_add_response_header(response, "Location", "/elsewhere");
    enum MHD_Result done = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return done;
}

static char *header(struct MHD_Connection *connection, const char *name)
{
    return g_strdup(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
}

static enum MHD_Result take(void *data, struct MHD_Connection *connection, const char *url,
                            const char *method, const char *version, const char *bytes,
                            size_t *size, void **state)
{
    struct receiver *receiver = data;
    GString *body = *state;
    (void)version;
    g_assert_cmpstr(method, ==, "POST");
    if (body == NULL) {
        *state = g_string_new(NULL);
        return MHD_YES;
    }
    if (*size > 0) {
        g_string_append_len(body, bytes, (gssize)*size);
        *size = 0;
        return MHD_YES;
    }
    struct letter *letter = g_new0(struct letter, 1);
    letter->path = g_strdup(url);
    letter->id = header(connection, "X-Skipjack-Id");
    letter->timestamp = header(connection, "X-Skipjack-Timestamp");
    letter->signature = header(connection, "X-Skipjack-Signature");
    letter->body = g_string_free(body, FALSE);
    *state = NULL;
    g_mutex_lock(&receiver->mutex);
    g_ptr_array_add(receiver->letters, letter);
    g_mutex_unlock(&receiver->mutex);
    if (g_atomic_int_get(&receiver->cut) > 0 && g_atomic_int_add(&receiver->cut, -1) > 0)
        return MHD_NO;
    return answer(receiver, connection);
}

static void forget(void *data, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode code)
{
    (void)data, (void)connection, (void)code;
    if (*state != NULL)
        g_string_free(*state, TRUE);
    *state = NULL;
}

static void receiver_open(struct receiver *receiver)
{
    memset(receiver, 0, sizeof *receiver);
    receiver->letters = g_ptr_array_new_with_free_func(letter_free);
    receiver->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, take, receiver, MHD_OPTION_SOCK_ADDR,
        &(struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
        MHD_OPTION_NOTIFY_COMPLETED, forget, NULL, MHD_OPTION_END);
    g_assert_nonnull(receiver->daemon);
}

static char *receiver_url(const struct receiver *receiver, const char *path)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(receiver->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return g_strdup_printf("http://127.0.0.1:%u%s", info->port, path);
}

static void receiver_close(struct receiver *receiver)
{
    MHD_stop_daemon(receiver->daemon);
    g_ptr_array_unref(receiver->letters);
}

static const struct letter *letter_at(const struct receiver *receiver, guint at)
{
    g_assert_cmpuint(at, <, receiver->letters->len);
    return g_ptr_array_index(receiver->letters, at);
}

/* ---- keeping and delivering ---- */

static void keep(Store *store, const char *url, const char *secret_file, const char *topic)
{
    g_autoptr(GError) error = NULL;
    json_t *body = json_pack("{ss}", "text", "slower \xc3\xa4 \"quoted\"");
    tell_keep(store, &(struct tell_receiver){url, secret_file}, topic, body, &error);
    g_assert_no_error(error);
    json_decref(body);
}

static struct tell_counts deliver(Store *store)
{
    struct tell_counts counts;
    g_autoptr(GError) error = NULL;
    tell_deliver(store, 0, NULL, &counts, &error);
    g_assert_no_error(error);
    return counts;
}

/* Makes all waiting messages due. */
static void let_time_pass(Store *store)
{
    g_autoptr(GError) error = NULL;
    store_do(store, &error,
             "UPDATE outbox SET next_at = now(), held_until = now() WHERE state = 'waiting'", "");
    g_assert_no_error(error);
}

static struct message *only_message(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) messages = store_list_messages(store, true, &error);
    g_assert_no_error(error);
    g_assert_cmpint(messages->len, ==, 1);
    return g_ptr_array_steal_index(messages, 0);
}

static const char *secret_file(TempFolder *folder)
{
    const char *path = temp_folder_write(folder, "secret", SECRET "\n", -1);
    g_assert_cmpint(chmod(path, 0600), ==, 0);
    return path;
}

/* The signature as a receiver in another language computes it. */
static char *perl_signature(TempFolder *folder, const struct letter *letter)
{
    const char *script =
        "use Digest::SHA qw(hmac_sha256_hex); local $/; open my $f, '<:raw', $ARGV[2];"
        "print 'v1=' . hmac_sha256_hex(\"$ARGV[1].\" . <$f>, $ARGV[0])";
    const char *body = temp_folder_write(folder, "body", letter->body, -1);
    const char *const argv[] = {"perl", "-e", script, SECRET, letter->timestamp, body, NULL};
    char *output = NULL;
    g_autoptr(GError) error = NULL;
    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, NULL, NULL,
                 &error);
    g_assert_no_error(error);
    return output;
}

static void test_message_arrives_signed(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct receiver receiver;
    receiver_open(&receiver);
    g_autofree char *url = receiver_url(&receiver, "/services/T0/SECRETPART");
    keep(store, url, secret_file(folder), "night gfx 2026-11-23");
    struct tell_counts counts = deliver(store);
    g_assert_cmpint(counts.delivered, ==, 1);
    g_assert_cmpint(counts.waiting, ==, 0);
    const struct letter *letter = letter_at(&receiver, 0);
    g_assert_cmpstr(letter->path, ==, "/services/T0/SECRETPART");
    g_autofree char *signature = perl_signature(folder, letter);
    g_assert_cmpstr(letter->signature, ==, signature);
    json_t *body = json_loads(letter->body, 0, NULL);
    g_assert_cmpstr(json_string_value(json_object_get(body, "id")), ==, letter->id);
    g_assert_cmpstr(json_string_value(json_object_get(body, "text")), ==,
                    "slower \xc3\xa4 \"quoted\"");
    json_decref(body);
    receiver_close(&receiver);
}

static void test_topic_is_told_once(void)
{
    g_autoptr(Store) store = scratch_store();
    struct receiver receiver;
    receiver_open(&receiver);
    g_autofree char *url = receiver_url(&receiver, "/a");
    g_autofree char *other = receiver_url(&receiver, "/b");
    keep(store, url, NULL, "night gfx 2026-11-23");
    keep(store, url, NULL, "night gfx 2026-11-23");
    keep(store, other, NULL, "night gfx 2026-11-23");
    g_assert_cmpint(deliver(store).delivered, ==, 2);
    keep(store, url, NULL, "night gfx 2026-11-23");
    g_assert_cmpint(deliver(store).delivered, ==, 0);
    g_assert_cmpint(receiver.letters->len, ==, 2);
    g_assert_null(letter_at(&receiver, 0)->signature);
    receiver_close(&receiver);
}

static void test_failing_receiver_gets_it_later(void)
{
    static const int plan[] = {500, 503, 429, 408, 0};
    g_autoptr(Store) store = scratch_store();
    struct receiver receiver;
    receiver_open(&receiver);
    receiver.plan = plan;
    g_autofree char *url = receiver_url(&receiver, "/hook");
    keep(store, url, NULL, "t");
    for (int i = 0; i < 4; i++) {
        struct tell_counts counts = deliver(store);
        g_assert_cmpint(counts.delivered + counts.failed, ==, 0);
        g_assert_cmpint(counts.waiting, ==, 1);
        g_autoptr(Message) message = only_message(store);
        g_assert_cmpint(message->status, ==, plan[i]);
        g_assert_cmpint(message->tries, ==, i + 1);
        /* The pause doubles, from 10 s, by at least three quarters of it. */
        g_assert_cmpint(message->next_unix - message->tried_unix, >=, (10 << i) * 3 / 4 - 1);
        let_time_pass(store);
    }
    g_assert_cmpint(deliver(store).delivered, ==, 1);
    for (guint i = 1; i < receiver.letters->len; i++)
        g_assert_cmpstr(letter_at(&receiver, i)->id, ==, letter_at(&receiver, 0)->id);
    g_assert_cmpint(receiver.letters->len, ==, 5);
    receiver_close(&receiver);
}

static void test_retry_after_is_honoured(void)
{
    static const int plan[] = {429, 0};
    g_autoptr(Store) store = scratch_store();
    struct receiver receiver;
    receiver_open(&receiver);
    receiver.plan = plan;
    receiver.retry_after = "1800";
    g_autofree char *url = receiver_url(&receiver, "/hook");
    keep(store, url, NULL, "t");
    deliver(store);
    g_autoptr(Message) message = only_message(store);
    g_assert_cmpint(message->next_unix - message->tried_unix, >=, 1799);
    receiver_close(&receiver);
}

static void test_refused_message_is_given_up_until_retry(void)
{
    static const struct {
        int status;
        const char *words;
    } rows[] = {{400, "HTTP 400: said the receiver"},
                {410, "HTTP 410: said the receiver"},
                {302, "redirections are not followed"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const int plan[] = {rows[i].status, 0};
        g_autoptr(Store) store = scratch_store();
        struct receiver receiver;
        g_autoptr(GError) error = NULL;
        int64_t count = 0;
        receiver_open(&receiver);
        receiver.plan = plan;
        g_autofree char *url = receiver_url(&receiver, "/hook");
        keep(store, url, NULL, "t");
        g_assert_cmpint(deliver(store).failed, ==, 1);
        g_assert_cmpint(receiver.letters->len, ==, 1);
        g_autoptr(Message) message = only_message(store);
        g_assert_cmpint(message->state, ==, MESSAGE_FAILED);
        g_assert_nonnull(strstr(message->words, rows[i].words));
        g_assert_true(store_change_messages(store, NULL, 0, MESSAGE_WAITING, &count, &error));
        g_assert_cmpint(count, ==, 1);
        g_assert_cmpint(deliver(store).delivered, ==, 1);
        receiver_close(&receiver);
    }
}

static void test_receiver_that_dies_gets_it_again(void)
{
    g_autoptr(Store) store = scratch_store();
    struct receiver receiver;
    receiver_open(&receiver);
    g_atomic_int_set(&receiver.cut, 1);
    g_autofree char *url = receiver_url(&receiver, "/hook");
    keep(store, url, NULL, "t");
    g_assert_cmpint(deliver(store).waiting, ==, 1);
    receiver_close(&receiver);
    /* The port has no listener now. */
    let_time_pass(store);
    g_assert_cmpint(deliver(store).waiting, ==, 1);
    g_autoptr(Message) message = only_message(store);
    g_assert_cmpint(message->status, ==, 0);
    g_assert_cmpint(message->tries, ==, 2);
}

static void test_killed_process_loses_no_message(void)
{
    g_autoptr(Store) store = scratch_store();
    struct receiver receiver;
    receiver_open(&receiver);
    g_autofree char *url = receiver_url(&receiver, "/hook");
    const char *database = scratch_db_url();
    keep(store, url, NULL, "t");
    pid_t child = fork();
    if (child == 0) {
        Store *own = store_open(database, NULL);
        struct message *message = NULL;
        double wait;
        if (own == NULL || !store_claim_message(own, 60, &message, &wait, NULL) || message == NULL)
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    int status;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFSIGNALED(status));
    /* The dead process holds the message for a while. */
    g_assert_cmpint(deliver(store).delivered, ==, 0);
    let_time_pass(store);
    g_assert_cmpint(deliver(store).delivered, ==, 1);
    receiver_close(&receiver);
}

static void test_late_result_of_an_old_claim_does_nothing(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_autoptr(Message) first = NULL;
    g_autoptr(Message) second = NULL;
    double wait;
    keep(store, "http://127.0.0.1:9/", NULL, "t");
    g_assert_true(store_claim_message(store, 60, &first, &wait, &error));
    let_time_pass(store);
    g_assert_true(store_claim_message(store, 60, &second, &wait, &error));
    g_assert_true(store_end_try(store, first, MESSAGE_FAILED, 400, "late", 0, &error));
    g_autoptr(Message) message = only_message(store);
    g_assert_cmpint(message->state, ==, MESSAGE_WAITING);
    g_assert_cmpint(message->tries, ==, 2);
    g_assert_true(store_end_try(store, second, MESSAGE_DELIVERED, 200, "HTTP 200", 0, &error));
    g_autoptr(Message) ended = only_message(store);
    g_assert_cmpint(ended->state, ==, MESSAGE_DELIVERED);
}

static void test_slow_receiver_is_left(void)
{
    g_autofree char *url = NULL;
    struct tell_answer answer_;
    /* Accepts connections by its backlog and never answers. */
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    g_assert_cmpint(bind(listener, (struct sockaddr *)&address, size), ==, 0);
    g_assert_cmpint(listen(listener, 1), ==, 0);
    g_assert_cmpint(getsockname(listener, (struct sockaddr *)&address, &size), ==, 0);
    url = g_strdup_printf("http://127.0.0.1:%u/SECRETPART", ntohs(address.sin_port));
    const struct tell_letter letter = {
        .url = url, .id = "0", .body = "{}", .now_unix = 1, .seconds = 0.2};
    tell_send(&letter, &answer_);
    g_assert_cmpint(answer_.result, ==, TELL_LATER);
    g_assert_null(strstr(answer_.words, "SECRETPART"));
    g_free(answer_.words);
    gint stop = 1;
    const struct tell_letter stopped = {
        .url = url, .id = "0", .body = "{}", .now_unix = 1, .seconds = 600, .stop = &stop};
    tell_send(&stopped, &answer_);
    g_assert_cmpint(answer_.result, ==, TELL_LATER);
    g_free(answer_.words);
    close(listener);
}

static void test_secret_must_be_closed_to_others(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    const char *path = secret_file(folder);
    g_assert_true(tell_check(&(struct tell_receiver){"http://127.0.0.1/", path}, &error));
    g_assert_cmpint(chmod(path, 0644), ==, 0);
    g_assert_false(tell_check(&(struct tell_receiver){"http://127.0.0.1/", path}, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM);
    g_assert_nonnull(strstr(error->message, "chmod 600"));
    g_clear_error(&error);
    path = temp_folder_write(folder, "empty", "\n", -1);
    g_assert_cmpint(chmod(path, 0600), ==, 0);
    g_assert_false(tell_check(&(struct tell_receiver){"http://127.0.0.1/", path}, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL);
}

static void test_message_waits_for_a_lost_secret(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct receiver receiver;
    receiver_open(&receiver);
    g_autofree char *url = receiver_url(&receiver, "/hook");
    const char *path = secret_file(folder);
    keep(store, url, path, "t");
    g_assert_cmpint(unlink(path), ==, 0);
    g_assert_cmpint(deliver(store).waiting, ==, 1);
    g_assert_cmpint(receiver.letters->len, ==, 0);
    secret_file(folder);
    let_time_pass(store);
    g_assert_cmpint(deliver(store).delivered, ==, 1);
    receiver_close(&receiver);
}

static void test_secret_part_of_url_is_not_shown(void)
{
    static const struct {
        const char *url, *shown;
    } rows[] = {
        {"https://hooks.slack.com/services/T0/B0/xyz", "https://hooks.slack.com/..."},
        {"http://user:word@host:8080/?key=x", "http://host:8080/..."},
        {"http://host/", "http://host/"},
        {"nonsense", "(no URL)"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *shown = tell_public_url(rows[i].url);
        g_assert_cmpstr(shown, ==, rows[i].shown);
    }
}

static void test_url_is_forgotten_after_delivery(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    struct receiver receiver;
    receiver_open(&receiver);
    g_autofree char *url = receiver_url(&receiver, "/hook");
    keep(store, url, NULL, "t");
    deliver(store);
    g_autoptr(StoreRows) rows = store_read(store, &error, "SELECT 1 FROM outbox_receivers", "");
    g_assert_no_error(error);
    g_assert_cmpint(PQntuples(rows), ==, 0);
    receiver_close(&receiver);
}

static void test_upkeep_forgets_old_outcomes(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    struct upkeep_options options = UPKEEP_DEFAULTS;
    struct upkeep_report report;
    int64_t count = 0;
    keep(store, "http://127.0.0.1:9/a", NULL, "old");
    g_assert_cmpint(deliver(store).waiting, ==, 1);
    g_autoptr(Message) message = only_message(store);
    g_assert_true(store_change_messages(store, &message->id, 1, MESSAGE_DROPPED, &count, &error));
    g_assert_cmpint(count, ==, 1);
    g_assert_true(upkeep_run(store, &options, &report, &error));
    g_assert_cmpint(report.parts[UPKEEP_MESSAGES].count, ==, 0);
    store_do(store, &error, "UPDATE outbox SET ended_at = now() - interval '31 days'", "");
    keep(store, "http://127.0.0.1:9/b", NULL, "new");
    g_assert_true(upkeep_run(store, &options, &report, &error));
    g_assert_cmpint(report.parts[UPKEEP_MESSAGES].count, ==, 1);
    g_autoptr(Message) left = only_message(store);
    g_assert_cmpstr(left->topic, ==, "new");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_setenv("no_proxy", "*", TRUE);
    g_test_add_func("/tell/message_arrives_signed", test_message_arrives_signed);
    g_test_add_func("/tell/topic_is_told_once", test_topic_is_told_once);
    g_test_add_func("/tell/failing_receiver_gets_it_later", test_failing_receiver_gets_it_later);
    g_test_add_func("/tell/retry_after_is_honoured", test_retry_after_is_honoured);
    g_test_add_func("/tell/refused_message_is_given_up_until_retry",
                    test_refused_message_is_given_up_until_retry);
    g_test_add_func("/tell/receiver_that_dies_gets_it_again",
                    test_receiver_that_dies_gets_it_again);
    g_test_add_func("/tell/killed_process_loses_no_message", test_killed_process_loses_no_message);
    g_test_add_func("/tell/late_result_of_an_old_claim_does_nothing",
                    test_late_result_of_an_old_claim_does_nothing);
    g_test_add_func("/tell/slow_receiver_is_left", test_slow_receiver_is_left);
    g_test_add_func("/tell/secret_must_be_closed_to_others", test_secret_must_be_closed_to_others);
    g_test_add_func("/tell/message_waits_for_a_lost_secret", test_message_waits_for_a_lost_secret);
    g_test_add_func("/tell/secret_part_of_url_is_not_shown", test_secret_part_of_url_is_not_shown);
    g_test_add_func("/tell/url_is_forgotten_after_delivery", test_url_is_forgotten_after_delivery);
    g_test_add_func("/tell/upkeep_forgets_old_outcomes", test_upkeep_forgets_old_outcomes);
    return g_test_run();
}
