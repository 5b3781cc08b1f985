#include "coordinator/import/import_store.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/progress_line.h"
#include "coordinator/plan/progress.h"
#include "schema/monitor/signals.h"
#include "schema/server/database.h"
#include "schema/store/store_problems.h"

#include <signal.h>
#include <stdio.h>

#define PIECE 5000 /* most problems or layers that one statement stores: some megabytes */

static volatile sig_atomic_t caught;
static struct progress_line line;

static void on_signal(int number)
{
    caught = number;
}

/* A signal also interrupts reading from a pipe to which nobody writes. */
void import_catch_signals(void)
{
    progress_line_init(&line);
    /* A log gets its first line of progress after some seconds, so a short import writes none. */
    line.shown = !line.terminal;
    line.last_us = g_get_monotonic_time();
    signals_catch(on_signal);
}

bool import_stopped(void)
{
    return caught != 0;
}

bool import_goes_on(const char *file, int64_t number)
{
    g_autofree char *text = g_strdup_printf("%s: %" G_GINT64_FORMAT " lines read", file, number);
    progress_line_show(&line, text);
    return !import_stopped();
}

void import_end_progress(void)
{
    progress_line_end(&line);
}

static bool goes_on(const char *what, int done, int all, GError **error)
{
    g_autofree char *text = g_strdup_printf("%d of %d %s stored", done, all, what);
    if (all > PIECE)
        progress_line_show(&line, text);
    if (import_stopped())
        g_set_error_literal(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY, "stopped");
    return !import_stopped();
}

/* Stores all problems. ids: room for the ids of all problems, in the order of the list. */
static bool store_problems(Store *store, const Import *import, const char *tag, int64_t *ids,
                           GError **error)
{
    int count = problem_list_count(import->problems);
    g_autofree struct problem *problems = g_new(struct problem, PIECE);
    for (int first = 0; first < count; first += PIECE) {
        int piece = MIN(count - first, PIECE);
        for (int i = 0; i < piece; i++)
            problems[i] = problem_list_get(import->problems, first + i)->problem;
        if (!store_put_problems(store, problems, piece, tag, ids + first, error) ||
            !goes_on("problems", first + piece, count, error))
            return false;
    }
    return true;
}

static bool store_layers(Store *store, const Import *import, const GArray *layers, int64_t version,
                         const int64_t *ids, GError **error)
{
    g_autofree struct stored_layer *stored = g_new(struct stored_layer, PIECE);
    int count = (int)layers->len;
    for (int first = 0; first < count; first += PIECE) {
        int piece = MIN(count - first, PIECE);
        for (int i = 0; i < piece; i++) {
            const struct layer *layer = &g_array_index(layers, struct layer, first + i);
            int index = problem_list_find(import->problems, &layer->problem);
            stored[i] = (struct stored_layer){layer->name, layer->multiplicity, ids[index]};
        }
        if (!store_add_layers(store, version, first, stored, piece, error) ||
            !goes_on("layers", first + piece, count, error))
            return false;
    }
    return true;
}

static bool store_network(Store *store, const Import *import, const struct import_network *network,
                          const int64_t *ids, struct network_change *change, GError **error)
{
    int64_t version;
    bool replaced = false;
    if (!store_begin_network(store, network->name, &version, error) ||
        !store_layers(store, import, network->layers, version, ids, error) ||
        !store_end_network(store, version, change, error) ||
        !store_describe_network(store, network->name, change->number, &network->facts, &replaced,
                                error))
        return false;
    if (replaced)
        fprintf(stderr, "network '%s@%d' has the same layers and other facts now\n", network->name,
                change->number);
    return true;
}

/* Stores problems and networks. changes: room for one for each network. */
static bool store_all(Store *store, const Import *import, const char *tag,
                      struct network_change *changes, GError **error)
{
    g_autofree int64_t *ids = g_new(int64_t, (gsize)problem_list_count(import->problems));
    if (!store_problems(store, import, tag, ids, error))
        return false;
    for (guint i = 0; i < import->networks->len; i++)
        if (!store_network(store, import, import->networks->pdata[i], ids, &changes[i], error))
            return false;
    return true;
}

/* microseconds between two checks whether the other import has ended */
#define TURN_US (G_USEC_PER_SEC / 5)

bool import_take_turn(Store *store, GError **error)
{
    bool taken = false, said = false;
    while (store_take_import(store, &taken, error) && !taken) {
        if (import_stopped()) {
            g_set_error_literal(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY, "stopped");
            return false;
        }
        if (!said)
            fprintf(stderr, "waiting for another import to end\n");
        said = true;
        g_usleep(TURN_US);
    }
    return taken;
}

/* Most deadlocks after which storing is tried again. They are possible, since a campaign that is
 * being made stores problems, too. */
#define DEADLOCKS_MAX 5

static bool store_once(Store *store, const Import *import, const char *tag,
                       struct network_change *changes, GError **error)
{
    if (!store_begin(store, error))
        return false;
    bool stored = store_all(store, import, tag, changes, error);
    progress_line_end(&line);
    if (stored)
        return store_end(store, true, error);
    store_end(store, false, NULL); /* an error of this call would only hide the first one */
    return false;
}

bool import_store(const Import *import, const char *tag, GError **error)
{
    g_autoptr(Store) store = database_open(false, error);
    g_autofree struct network_change *changes =
        g_new0(struct network_change, import->networks->len);
    if (!store || !import_take_turn(store, error))
        return false;
    for (int deadlocks = 0;; deadlocks++) {
        g_autoptr(GError) failure = NULL;
        if (store_once(store, import, tag, changes, &failure))
            break;
        if (!store_is_deadlock(failure) || deadlocks == DEADLOCKS_MAX || import_stopped()) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return false;
        }
        fputs("another command stores the same problems: storing begins again\n", stderr);
    }
    for (guint i = 0; i < import->networks->len; i++) {
        const struct import_network *network = import->networks->pdata[i];
        network_say_change(network->name, &changes[i]);
    }
    return true;
}

void network_say_change(const char *name, const struct network_change *change)
{
    if (change->previous == 0 || change->previous == change->number)
        return;
    fprintf(stderr,
            "network '%s' has other layers now: %s %d; version %d stays, and campaigns made for it "
            "keep it\n",
            name, change->is_new ? "version" : "again version", change->number, change->previous);
}
