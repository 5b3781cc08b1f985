/* skipjack db blobs: where code objects are, and moving them. */
#include "schema/commands/blobs_command.h"

#include "coordinator/cli/terminal.h"
#include "schema/blobs/blobs.h"
#include "schema/monitor/signals.h"
#include "schema/server/database.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOVERS       8 /* most of a move is waiting for a server */
#define LOOK_MS      100
#define LOG_SECONDS  10
#define MESSAGES_MAX 20
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

struct request {
    bool json, drop_damaged, check;
    const char *to; /* or NULL */
};

/* What movers count, and what ends them. */
static volatile gint stop, moved, kilobytes, running;
static const char *done_word; /* what was done to an object */

struct mover {
    GThread *thread;
    Store *store;
    struct blob_move move;
    GError *error;
};

static int fail(GError *error)
{
    fprintf(stderr, "skipjack db blobs: %s\n", error->message);
    g_error_free(error);
    return EXIT_FAILED;
}

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
    json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
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
    printf("* is where new ones go\n");
}

static bool show(Store *store, bool json, GError **error)
{
    g_autoptr(GPtrArray) places = store_list_blob_places(store, error);
    if (places == NULL)
        return false;
    json ? print_json(places) : print_places(places);
    return true;
}

/* Code objects that are to be looked at: those elsewhere than where new ones go, or all outside. */
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
        g_atomic_int_set(&stop, 1); /* the others need not run into the same */
    g_atomic_int_add(&running, -1);
    return NULL;
}

static void print_progress(int64_t total, gint64 since, bool terminal)
{
    double seconds = (double)(g_get_monotonic_time() - since) / G_USEC_PER_SEC;
    int done = g_atomic_int_get(&moved);
    double rest = done > 0 ? seconds / done * (double)(total - done) : 0;
    if (terminal)
        terminal_restart_line();
    fprintf(stderr, "%d of %" G_GINT64_FORMAT " code objects %s, %.1f MB, about %.0f s left%s",
            done, (gint64)total, done_word, g_atomic_int_get(&kilobytes) / 1e3, MAX(rest, 0),
            terminal ? "" : "\n");
    fflush(stderr);
}

static void watch(int64_t total)
{
    bool terminal = isatty(STDERR_FILENO);
    gint64 start = g_get_monotonic_time(), said = start;
    gint64 pause = (terminal ? 1 : LOG_SECONDS) * G_USEC_PER_SEC;
    while (g_atomic_int_get(&running) > 0) {
        g_usleep(LOOK_MS * 1000);
        if (g_get_monotonic_time() - said >= pause) {
            said = g_get_monotonic_time();
            print_progress(total, start, terminal);
        }
    }
    if (terminal && said != start)
        fputc('\n', stderr);
}

/* Opens a connection for each, so that a database that has no more is known before anything moves. */
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

/* What the former places still hold is removed by a later sweep where this one cannot. */
static void sweep(Store *store)
{
    g_autoptr(GError) error = NULL;
    int removed;
    if (!store_sweep_blobs(store, &removed, &error))
        fprintf(stderr,
                "skipjack db blobs: all is moved, but not all former objects are removed; the same "
                "command goes on with it: %s\n",
                error->message);
}

/* Rounds that wait for what was dropped would fail. */
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
        g_prefix_error(&error, "stopped, the same command goes on: ");
        return fail(error);
    }
    if (g_atomic_int_get(&stop)) {
        fprintf(stderr, "stopped, the same command goes on\n");
        return EXIT_INTERRUPTED;
    }
    if (!request->check)
        sweep(store);
    return damaged > 0 && !request->drop_damaged ? EXIT_FAILED : EXIT_DONE;
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
        return fail(error);
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
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            request->json = true;
        } else if (strcmp(argv[i], "--drop-damaged") == 0) {
            request->drop_damaged = true;
        } else if (strcmp(argv[i], "--check") == 0) {
            request->check = true;
        } else if (strcmp(argv[i], "--move") == 0 && i + 1 < argc) {
            request->to = argv[++i];
        } else {
            fprintf(stderr, "skipjack db blobs: %s '%s', see: skipjack db blobs --help\n",
                    strcmp(argv[i], "--move") == 0 ? "a URL must follow" : "unknown argument",
                    argv[i]);
            return false;
        }
    }
    if (request->check && request->to != NULL)
        fprintf(stderr, "skipjack db blobs: --check and --move are two commands\n");
    else if (request->drop_damaged && request->to == NULL && !request->check)
        fprintf(stderr, "skipjack db blobs: --drop-damaged goes with --check or --move\n");
    else
        return true;
    return false;
}

static void print_help(void)
{
    printf(
        "usage: skipjack db blobs [--json] [--check | --move URL] [--drop-damaged]\n\n"
        "Shows where code objects are and how much they are. With --move new ones go to\n"
        "the URL from then on, and all others are moved there while workers go on. It may\n"
        "be stopped at any time; called again it goes on. URL is one of\n\n"
        "  database                                  PostgreSQL itself, the default\n"
        "  s3://BUCKET/PREFIX?region=R&endpoint=URL  a store that speaks S3 (&style=path|host)\n"
        "  webdav+https://HOST/FOLDER                a WebDAV folder\n\n"
        "Each node needs credentials of its own: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY\n"
        "or ~/.aws/credentials; SKIPJACK_WEBDAV_USER and _PASSWORD or ~/.netrc.\n\n"
        "  --json           the table as JSON\n"
        "  --check          read every code object that is outside the database, and name\n"
        "                   those that are missing or damaged\n"
        "  --drop-damaged   forget code that cannot be read: it is compiled again when needed\n\n"
        "example: skipjack db blobs --move s3://tuning/kernels?region=eu-north-1\n");
}

int command_db_blobs(int argc, char **argv)
{
    struct request request = {0};
    GError *error = NULL;
    bool embedded;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help();
            return EXIT_DONE;
        }
    }
    if (!parse(argc, argv, &request))
        return EXIT_USAGE;
    g_autofree char *url = database_url(&embedded, &error);
    g_autoptr(Store) store = url != NULL ? database_open(false, &error) : NULL;
    if (store == NULL)
        return fail(error);
    int status = request.to != NULL || request.check ? move_all(store, &request, url) : EXIT_DONE;
    if (!show(store, request.json, &error))
        return fail(error);
    return status;
}
