/* `skipjack tell`: the messages to webhooks that are not delivered yet, or could not be. */
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/tell/tell.h"
#include "schema/farm/store_outbox.h"
#include "schema/monitor/log.h"
#include "schema/monitor/signals.h"
#include "schema/server/database.h"

#include <stdio.h>

static const struct table_column columns[] = {
    {"id", "id", TABLE_INT, 0},        {NULL, "message_id", TABLE_TEXT, 0},
    {"state", "state", TABLE_TEXT, 0}, {"about", "topic", TABLE_TEXT, 0},
    {"to", "receiver", TABLE_TEXT, 0}, {"tries", "tries", TABLE_INT, 0},
    {"next", "next", TABLE_TEXT, 0},   {NULL, "next_unix", TABLE_INT, 0},
    {NULL, "made_unix", TABLE_INT, 0}, {NULL, "ended_unix", TABLE_INT, 0},
    {NULL, "status", TABLE_INT, 0},    {"last try", "words", TABLE_TEXT, 0},
};

static volatile gint stop;

static void on_signal(int number)
{
    (void)number;
    g_atomic_int_set(&stop, 1);
}

static int verb_list(int argc, char **argv)
{
    gboolean json = FALSE, all = FALSE;
    const GOptionEntry options[] = {
        {"all", 'a', 0, G_OPTION_ARG_NONE, &all,
         "also messages that were delivered or dropped, as long as upkeep keeps them", NULL},
        CLI_JSON_OPTION(&json),
        {0}};
    const struct cli cli = {
        .command = "tell list",
        .summary =
            "Messages to webhooks that wait for their next try, or that were given up, with what the "
            "receiver said. URLs are shown without their path, which may be secret.",
        .example = "skipjack tell list --all --json",
        .options = options,
    };
    GError *error = NULL;
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    g_autoptr(Store) store = database_open(false, &error);
    g_autoptr(GPtrArray) messages = store != NULL ? store_list_messages(store, all, &error) : NULL;
    if (messages == NULL)
        return table_finish("tell list", NULL, json, error);
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < messages->len; i++) {
        const struct message *message = g_ptr_array_index(messages, i);
        bool waits = message->state == MESSAGE_WAITING;
        g_autofree char *next = waits ? when_text(message->next_unix) : NULL;
        table_int(table, message->id);
        table_text(table, message->message_id);
        table_text(table, message_state_name(message->state));
        table_text(table, message->topic);
        table_text(table, message->receiver);
        table_int(table, message->tries);
        table_text(table, next);
        table_int(table, message->next_unix);
        table_int(table, message->made_unix);
        table_int(table, message->ended_unix);
        table_int(table, message->status);
        table_text(table, *message->words != '\0' ? message->words : NULL);
    }
    return table_finish("tell list", table, json, NULL);
}

static int verb_send(int argc, char **argv)
{
    double wait_seconds = 0;
    const GOptionEntry options[] = {
        {"wait", 0, 0, G_OPTION_ARG_DOUBLE, &wait_seconds,
         "go on for SECONDS while messages wait for their next try (default: 0)", "SECONDS"},
        {0}};
    const struct cli cli = {
        .command = "tell send",
        .summary =
            "Delivers the messages that are due now, as 'serve' does every 30 seconds. Exit status 1 if "
            "messages still wait or were given up.",
        .example = "skipjack tell send --wait 60",
        .options = options,
    };
    GError *error = NULL;
    struct tell_counts counts;
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    if (!(wait_seconds >= 0 && wait_seconds <= 86400)) {
        cli_misuse(&error, "--wait takes seconds, a day's at most");
        return cli_fail("tell send", error);
    }
    g_autoptr(Store) store = database_open(false, &error);
    signals_catch(on_signal);
    if (store == NULL || !tell_deliver(store, wait_seconds, &stop, &counts, &error))
        return cli_fail("tell send", error);
    printf("%d delivered, %d given up, %d waiting\n", counts.delivered, counts.failed,
           counts.waiting);
    if (g_atomic_int_get(&stop) != 0)
        return CLI_INTERRUPTED;
    return counts.failed + counts.waiting > 0 ? CLI_FAILED : CLI_DONE;
}

/* ---- retry and drop ---- */

static bool parse_ids(char **texts, int count, GArray *ids, GError **error)
{
    for (int i = 0; i < count; i++) {
        int64_t id;
        if (!cli_parse_id(texts[i], &id, NULL))
            return cli_misuse(error, "'%s' is no id of a message: skipjack tell list shows them",
                              texts[i]);
        g_array_append_val(ids, id);
    }
    return true;
}

static bool change(const GArray *ids, enum message_state state, bool really, int64_t *count,
                   GError **error)
{
    g_autoptr(Store) store = database_open(false, error);
    const int64_t *list = ids->len > 0 ? (const int64_t *)(const void *)ids->data : NULL;
    if (store == NULL || !store_begin(store, error))
        return false;
    bool done = store_change_messages(store, list, (int)ids->len, state, count, error);
    return store_end(store, done && really, done ? error : NULL) && done;
}

static int verb_retry(int argc, char **argv)
{
    const struct cli cli = {
        .command = "tell retry",
        .arguments = "[ID...]",
        .summary =
            "Makes messages due now: those with these ids, or all that were given up. 'serve' delivers "
            "them, and so does 'tell send'.",
        .example = "skipjack tell retry 12 13",
        .most = -1,
    };
    GError *error = NULL;
    int64_t count = 0;
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int64_t));
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    if (!parse_ids(argv + 1, argc - 1, ids, &error) ||
        !change(ids, MESSAGE_WAITING, true, &count, &error))
        return cli_fail("tell retry", error);
    printf("%" G_GINT64_FORMAT " messages are due now\n", (gint64)count);
    return count < (int64_t)ids->len ? CLI_FAILED : CLI_DONE;
}

static int verb_drop(int argc, char **argv)
{
    struct cli_loss loss = {0};
    const GOptionEntry options[] = {CLI_LOSS_OPTIONS(&loss), {0}};
    const struct cli cli = {
        .command = "tell drop",
        .arguments = "[ID...]",
        .summary =
            "Drops messages that are not delivered: those with these ids, or all that were given up. "
            "Their receivers never get them.",
        .example = "skipjack tell drop --yes 12",
        .options = options,
        .most = -1,
    };
    GError *error = NULL;
    int64_t count = 0;
    int status = CLI_DONE;
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int64_t));
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    if (!parse_ids(argv + 1, argc - 1, ids, &error) ||
        !change(ids, MESSAGE_DROPPED, false, &count, &error))
        return cli_fail("tell drop", error);
    if (!cli_may_lose(&loss, &status, "%" G_GINT64_FORMAT " messages", (gint64)count))
        return status;
    if (!change(ids, MESSAGE_DROPPED, true, &count, &error))
        return cli_fail("tell drop", error);
    printf("%" G_GINT64_FORMAT " messages dropped\n", (gint64)count);
    return count < (int64_t)ids->len ? CLI_FAILED : CLI_DONE;
}

int command_tell(int argc, char **argv)
{
    static const struct cli_verb verbs[] = {
        {"list", "messages that wait or were given up", verb_list},
        {"send", "deliver what is due now", verb_send},
        {"retry", "make messages due now", verb_retry},
        {"drop", "drop messages that are not delivered", verb_drop},
    };
    static const struct cli_verbs list = {.command = "tell",
                                          .example = "skipjack tell list",
                                          .verbs = verbs,
                                          .count = G_N_ELEMENTS(verbs)};
    return cli_run_verb(&list, argc, argv);
}
