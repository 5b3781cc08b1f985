/* skipjack db blobs: shows the places of code objects, checks and moves them. */
#include "schema/commands/blobs_command.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/progress_line.h"
#include "coordinator/cli/table.h"
#include "schema/blobs/blobs.h"
#include "schema/monitor/signals.h"
#include "schema/server/database.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define COMMAND "db blobs"

#define MOVERS       8 /* connections that move objects at once: each mostly waits for a server */
#define LOOK_MS      100
#define MESSAGES_MAX 20

struct request {
    gboolean json, drop_damaged, check;
    char *to; /* or NULL */
};

/* Counters of the movers, and the flag that ends them. */
static volatile gint stop, moved, kilobytes, running;
static const char *done_word; /* the word for progress messages: "moved", or "read" with --check */

struct mover {
    GThread *thread;
    Store *store;
    struct blob_move move;
    GError *error;
};

/* ---- showing ---- */

static void print_json(const GPtrArray *places)
{
    json_t *list = json_array();
    for (guint i = 0; i < places->len; i++) {
        const struct blob_place *place = places->pdata[i];
        json_array_append_new(list, json_pack("{ss sb sI sI sI}", "url", place->url, "current",
                                              place->current, "objects", (json_int_t)place->objects,
                                              "bytes", (json_int_t)place->bytes, "loose",
                                              (json_int_t)place->loose));
    }
    table_show_json(list);
}

static void print_places(const GPtrArray *places)
{
    for (guint i = 0; i < places->len; i++) {
        const struct blob_place *place = places->pdata[i];
        if (!place->current && place->objects == 0 && place->loose == 0 && i > 0)
            continue;
        printf("%s %s: %" G_GINT64_FORMAT " code objects, %.1f MB", place->current ? "*" : " ",
               place->url, (gint64)place->objects, (double)place->bytes / 1e6);
        if (place->loose > 0)
            printf("; %" G_GINT64_FORMAT " objects without a kernel", (gint64)place->loose);
        putchar('\n');
    }
    printf("* marks the place of new objects\n");
}

static bool show(Store *store, bool json, GError **error)
{
    g_autoptr(GPtrArray) places = store_list_blob_places(store, error);
    if (places == NULL)
        return false;
    json ? print_json(places) : print_places(places);
    return true;
}

/* Counts the code objects to move or check: those not at the current place, or all outside the database. */
static bool count_objects(Store *store, bool check, int64_t *count, GError **error)
{
    g_autoptr(GPtrArray) places = store_list_blob_places(store, error);
    *count = 0;
    for (guint i = 0; places != NULL && i < places->len; i++) {
        const struct blob_place *place = places->pdata[i];
        bool counts = check ? strcmp(place->url, BLOBS_IN_DATABASE) != 0 : !place->current;
        *count += counts ? place->objects : 0;
    }
    return places != NULL;
}

/* ---- moving ---- */

static void on_signal(int number)
{
    (void)number;
    g_atomic_int_set(&stop, 1);
}

static gpointer run_mover(gpointer data)
{
    struct mover *mover = data;
    if (!store_move_blobs(mover->store, &mover->move, &mover->error))
        g_atomic_int_set(&stop, 1); /* end the other movers, which would meet the same error */
    g_atomic_int_add(&running, -1);
    return NULL;
}

static void show_progress(struct progress_line *line, int64_t total, gint64 since)
{
    double seconds = (double)(g_get_monotonic_time() - since) / G_USEC_PER_SEC;
    int done = g_atomic_int_get(&moved);
    double rest = done > 0 ? seconds / done * (double)(total - done) : 0;
    g_autofree char *text = g_strdup_printf(
        "%d of %" G_GINT64_FORMAT " code objects %s, %.1f MB, about %.0f s left", done,
        (gint64)total, done_word, g_atomic_int_get(&kilobytes) / 1e3, MAX(rest, 0));
    progress_line_show(line, text);
}

static void watch(int64_t total)
{
    struct progress_line line;
    progress_line_init(&line);
    gint64 start = g_get_monotonic_time(), said = start;
    while (g_atomic_int_get(&running) > 0) {
        g_usleep(LOOK_MS * 1000);
        if (g_get_monotonic_time() - said >= G_USEC_PER_SEC) {
            said = g_get_monotonic_time();
            show_progress(&line, total, start);
        }
    }
    progress_line_end(&line);
}

/* Opens a connection for each mover, so that a lack of connections is noticed before the move begins. */
static bool start_movers(struct mover *movers, const char *url, const struct request *request,
                         GError **error)
{
    for (int i = 0; i < MOVERS; i++) {
        movers[i].store = store_open(url, error);
        if (movers[i].store == NULL)
            return false;
        movers[i].move = (struct blob_move){.share = i,
                                            .shares = MOVERS,
                                            .check = request->check,
                                            .drop_damaged = request->drop_damaged,
                                            .stop = &stop,
                                            .moved = &moved,
                                            .kilobytes = &kilobytes,
                                            .damaged = g_ptr_array_new_with_free_func(g_free)};
    }
    g_atomic_int_set(&running, MOVERS);
    for (int i = 0; i < MOVERS; i++)
        movers[i].thread = g_thread_new("mover", run_mover, &movers[i]);
    return true;
}

static int report_damaged(const struct mover *movers, bool dropped)
{
    int count = 0;
    for (int i = 0; i < MOVERS; i++) {
        const GPtrArray *damaged = movers[i].move.damaged;
        for (guint j = 0; damaged != NULL && j < damaged->len; j++) {
            if (count++ < MESSAGES_MAX)
                fprintf(stderr, "skipjack db blobs: %s\n", (const char *)damaged->pdata[j]);
        }
    }
    if (count > 0 && dropped)
        fprintf(stderr,
                "skipjack db blobs: %d damaged code objects were dropped; they are compiled again "
                "when they are needed\n",
                count);
    else if (count > 0)
        fprintf(stderr,
                "skipjack db blobs: %d code objects are damaged and stay where they are; restore "
                "them there, or let them be compiled again: db blobs --check --drop-damaged\n",
                count);
    return count;
}

static void end_movers(struct mover *movers, GError **error)
{
    for (int i = 0; i < MOVERS; i++) {
        if (movers[i].thread != NULL)
            g_thread_join(movers[i].thread);
        if (movers[i].error != NULL && *error == NULL)
            g_propagate_error(error, g_steal_pointer(&movers[i].error));
        g_clear_error(&movers[i].error);
        store_close(movers[i].store);
        g_clear_pointer(&movers[i].move.damaged, g_ptr_array_unref);
    }
}

/* Removes objects that no kernel names. Objects that cannot be removed now are left for a later
 * sweep. */
static void sweep(Store *store)
{
    g_autoptr(GError) error = NULL;
    int removed;
    if (!store_sweep_blobs(store, &removed, &error))
        fprintf(
            stderr,
            "skipjack db blobs: all objects are moved, but not all of the former ones are removed; the same "
            "command goes on with it: %s\n",
            error->message);
}

/* Returns jobs to building whose built round needs code that was dropped: evaluating the round
 * would fail. */
static bool rebuild(Store *store, GError **error)
{
    int jobs = 0;
    if (!store_rebuild_rounds(store, &jobs, error))
        return false;
    if (jobs > 0)
        fprintf(stderr, "skipjack db blobs: rounds of %d jobs had lost code and are built again\n",
                jobs);
    return true;
}

static int finish_move(Store *store, const struct request *request, int damaged, GError *error)
{
    if (error == NULL && request->drop_damaged)
        rebuild(store, &error);
    if (error != NULL) {
        g_prefix_error(&error, "stopped; the same command continues: ");
        return cli_fail(COMMAND, error);
    }
    if (g_atomic_int_get(&stop)) {
        fprintf(stderr, "stopped; the same command continues\n");
        return CLI_INTERRUPTED;
    }
    if (!request->check)
        sweep(store);
    return damaged > 0 && !request->drop_damaged ? CLI_FAILED : CLI_DONE;
}

static int move_all(Store *store, const struct request *request, const char *url)
{
    struct mover movers[MOVERS] = {0};
    GError *error = NULL;
    int64_t total = 0;
    int damaged = 0;
    done_word = request->check ? "read" : "moved";
    signals_catch(on_signal);
    if ((!request->check && !store_use_blob_place(store, request->to, &error)) ||
        !count_objects(store, request->check, &total, &error))
        return cli_fail(COMMAND, error);
    if (start_movers(movers, url, request, &error)) {
        watch(total);
        damaged = report_damaged(movers, request->drop_damaged);
    }
    end_movers(movers, &error);
    fprintf(stderr, "%d code objects %s, %.1f MB\n", g_atomic_int_get(&moved), done_word,
            g_atomic_int_get(&kilobytes) / 1e3);
    return finish_move(store, request, damaged, error);
}

/* ---- the command ---- */

static bool parse(int argc, char **argv, struct request *request)
{
    const GOptionEntry entries[] = {
        CLI_JSON_OPTION(&request->json),
        {"check", 0, 0, G_OPTION_ARG_NONE, &request->check,
         "read every code object that is outside the database, and name those that are missing or damaged",
         NULL},
        {"move", 0, 0, G_OPTION_ARG_STRING, &request->to,
         "store new code objects at URL, and move all others there", "URL"},
        {"drop-damaged", 0, 0, G_OPTION_ARG_NONE, &request->drop_damaged,
         "forget code that cannot be read: it is compiled again when needed", NULL},
        {0}};
    const struct cli cli = {
        .command = COMMAND,
        .summary =
            "Shows where code objects are stored and how many bytes they take. With --move new ones are "
            "stored at the URL, and all others are moved there while workers go on. A move may be "
            "stopped at any time; called again it goes on.",
        .notes =
            "URL is one of\n"
            "  database                                  PostgreSQL itself, the default\n"
            "  s3://BUCKET/PREFIX?region=R&endpoint=URL  a store that speaks S3 (&style=path|host)\n"
            "  webdav+https://HOST/FOLDER                a WebDAV folder\n\n"
            "Each node needs credentials of its own: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY\n"
            "or ~/.aws/credentials; SKIPJACK_WEBDAV_USER and _PASSWORD or ~/.netrc.\n",
        .example = "skipjack db blobs --move 's3://tuning/kernels?region=eu-north-1'",
        .options = entries};
    GError *error = NULL;
    if (!cli_parse(&cli, &argc, &argv))
        return false;
    if (request->check && request->to != NULL)
        cli_misuse(&error, "use either --check or --move");
    else if (request->drop_damaged && request->to == NULL && !request->check)
        cli_misuse(&error, "--drop-damaged needs --check or --move");
    else
        return true;
    cli_fail(COMMAND, error);
    return false;
}

static int run(const struct request *request)
{
    GError *error = NULL;
    bool embedded;
    g_autofree char *url = database_url(&embedded, &error);
    g_autoptr(Store) store = url != NULL ? database_open(false, &error) : NULL;
    if (store == NULL)
        return cli_fail(COMMAND, error);
    int status = request->to != NULL || request->check ? move_all(store, request, url) : CLI_DONE;
    if (!show(store, request->json, &error))
        return cli_fail(COMMAND, error);
    return status;
}

int command_db_blobs(int argc, char **argv)
{
    struct request request = {0};
    int status = parse(argc, argv, &request) ? run(&request) : CLI_USAGE;
    g_free(request.to);
    return status;
}
