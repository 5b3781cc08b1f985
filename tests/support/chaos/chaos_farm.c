#include "tests/support/chaos/chaos_farm.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "tests/support/chaos/chaos_room.h"
#include "tests/support/chaos/chaos_server.h"
#include "tests/support/chaos/sim_solver.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/patience.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKETIME "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"

/* Simulated workers' pace assumes that each job passes through a pool four times, in batches of ten
 * on average. */
#define PASSES     4
#define BATCH_MEAN 10

static const char preload[] = "LD_PRELOAD=" FAKETIME;

static Store *open_store(const char *url)
{
    g_autoptr(GError) error = NULL;
    Store *store = store_open(url, &error);
    if (store == NULL)
        g_error("chaos farm: %s", error->message);
    return store;
}

int64_t chaos_count(struct chaos *chaos, const char *sql, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(chaos->store, &error, sql, "l", campaign);
    if (rows == NULL)
        g_error("chaos farm: %s", error->message);
    return strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

/* ---- processes ---- */

static pid_t start_sim(struct chaos *chaos, const char *url, const struct actor *actor, int pace_ms,
                       const char *const *environment)
{
    g_autofree char *program = g_build_filename(chaos->programs, "sim_worker", NULL);
    g_autofree char *seed = g_strdup_printf("%u", chaos->seed + (guint)++chaos->started);
    g_autofree char *pace = g_strdup_printf("%d", pace_ms);
    g_autofree char *lease = g_strdup_printf("%d", CHAOS_LEASE_SECONDS);
    g_autofree char *words = g_strconcat(actor->log, ".err", NULL);
    const char *const argv[] = {program, url, actor->node, seed, pace, lease, actor->log, NULL};
    return room_start(&(struct room_process){
        .argv = argv, .environment = environment, .host = actor->host, .log = words});
}

static pid_t start_agent(struct chaos *chaos, const char *url, const struct actor *actor,
                         const char *const *environment)
{
    static const char *const options[] = {"worker", "--build",           "1",  "--sample-seconds",
                                          "0.02",   "--lease",           "4",  "--run-timeout",
                                          "5",      "--compile-timeout", "20", "--batch",
                                          "4"};
    g_autofree char *home = g_build_filename(room_folder(), actor->node, NULL);
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(argv, (gpointer)(uintptr_t)chaos->skipjack);
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
        g_ptr_array_add(argv, (gpointer)(uintptr_t)options[i]);
    g_ptr_array_add(argv, NULL);
    for (; environment && *environment; environment++)
        g_ptr_array_add(all, g_strdup(*environment));
    g_ptr_array_add(all, g_strconcat("SKIPJACK_DB=", url, NULL));
    g_ptr_array_add(all, g_strconcat("SKIPJACK_NODE=", actor->node, NULL));
    g_ptr_array_add(all, g_strconcat("SKIPJACK_HOME=", home, NULL));
    g_ptr_array_add(all, g_strconcat("TMPDIR=", chaos->hosts[actor->host].scratch, NULL));
    g_ptr_array_add(all, NULL);
    return room_start(&(struct room_process){.argv = (const char *const *)argv->pdata,
                                             .environment = (const char *const *)all->pdata,
                                             .host = actor->host,
                                             .log = actor->log});
}

static void start_actor(struct chaos *chaos, struct actor *actor)
{
    const struct host *host = &chaos->hosts[actor->host];
    int batches = chaos->size.sim_jobs * PASSES / BATCH_MEAN / (CHAOS_HOSTS * CHAOS_SIMS);
    int pace_ms = chaos->over ? 0 : chaos->size.seconds * 1000 / MAX(batches, 1);
    g_autofree char *url =
        g_strdup_printf("postgresql://skipjack@%s:%d/chaos", host->address, host->port);
    g_autofree char *file =
        g_strdup_printf("FAKETIME_TIMESTAMP_FILE=%s", host->clock ? host->clock : "");
    /* libfaketime shifts the wall clock only: durations, by the monotonic clock, stay true. */
    const char *const environment[] = {file, preload, "FAKETIME_CACHE_DURATION=1",
                                       "FAKETIME_DONT_FAKE_MONOTONIC=1", NULL};
    actor->resume_at = 0;
    actor->pid = actor->agent
                     ? start_agent(chaos, url, actor, host->clock ? environment : NULL)
                     : start_sim(chaos, url, actor, pace_ms, host->clock ? environment : NULL);
}

void chaos_fill(struct chaos *chaos)
{
    for (int i = 0; i < CHAOS_ACTORS; i++) {
        struct actor *actor = &chaos->actors[i];
        if (actor->pid == 0 || waitpid(actor->pid, NULL, WNOHANG) == actor->pid)
            start_actor(chaos, actor);
    }
}

void chaos_tell(struct chaos *chaos, int host, const char *command)
{
    g_autofree char *line = g_strconcat(command, "\n", NULL);
    if (write(chaos->hosts[host].to_proxy, line, strlen(line)) != (ssize_t)strlen(line))
        g_error("chaos farm: the proxy of host %d is gone", host);
}

static bool has_passed(gint64 *until, bool now)
{
    if (*until == 0 || (!now && g_get_monotonic_time() < *until))
        return false;
    *until = 0;
    return true;
}

static void resume_children(struct chaos *chaos, bool now)
{
    for (guint i = chaos->stopped->len; i-- > 0;) {
        struct stopped_child *child = &g_array_index(chaos->stopped, struct stopped_child, i);
        if (!has_passed(&child->resume_at, now))
            continue;
        kill(child->pid, SIGCONT);
        g_array_remove_index_fast(chaos->stopped, i);
    }
}

void chaos_heal(struct chaos *chaos, bool now)
{
    resume_children(chaos, now);
    for (int i = 0; i < CHAOS_ACTORS; i++)
        if (has_passed(&chaos->actors[i].resume_at, now))
            kill(chaos->actors[i].pid, SIGCONT);
    for (int i = 0; i < CHAOS_HOSTS; i++) {
        struct host *host = &chaos->hosts[i];
        g_autofree char *filler = g_build_filename(host->scratch, "filler", NULL);
        if (has_passed(&host->open_at, now))
            chaos_tell(chaos, i, "open");
        if (has_passed(&host->link_at, now))
            room_link_host(i, true);
        if (has_passed(&host->disk_at, now))
            g_unlink(filler);
    }
}

/* ---- setting up ---- */

static void make_host(struct chaos *chaos, int number)
{
    struct host *host = &chaos->hosts[number];
    char line[16] = "";
    int from;
    g_autofree char *program = g_build_filename(chaos->programs, "proxy", NULL);
    g_autofree char *port = g_strdup_printf("%d", server_port());
    g_autofree char *disk = g_strdup_printf("scratch%d", number);
    host->address = room_make_host(number);
    const char *const argv[] = {program, host->address, "127.0.0.1", port, NULL};
    host->proxy = room_start(&(struct room_process){
        .argv = argv, .host = -1, .to_fd = &host->to_proxy, .from_fd = &from});
    if (read(from, line, sizeof line - 1) <= 0)
        g_error("chaos farm: the proxy does not start");
    close(from);
    host->port = atoi(line);
    host->scratch = room_make_disk(disk, 96, &host->own_scratch);
    if (!chaos->namespaces || !g_file_test(FAKETIME, G_FILE_TEST_EXISTS))
        return;
    host->clock = g_strdup_printf("%s/clock%d", room_folder(), number);
    if (!g_file_set_contents(host->clock, "+0\n", -1, NULL))
        g_error("chaos farm: cannot write '%s'", host->clock);
}

static void name_actors(struct chaos *chaos)
{
    for (int i = 0; i < CHAOS_ACTORS; i++) {
        struct actor *actor = &chaos->actors[i];
        actor->host = i % CHAOS_HOSTS;
        actor->agent = i >= CHAOS_HOSTS * CHAOS_SIMS;
        actor->node = g_strdup_printf("host%d-%s%d", actor->host, actor->agent ? "agent" : "sim",
                                      i / CHAOS_HOSTS);
        actor->log = g_strdup_printf("%s/%s.log", room_folder(), actor->node);
    }
}

static bool await_done(Store *store, int64_t campaign, int seconds)
{
    gint64 limit = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    while (g_get_monotonic_time() < limit) {
        g_autoptr(GError) error = NULL;
        struct campaign *row = store_get_campaign(store, campaign, &error);
        bool done = row != NULL && strcmp(row->state, "done") == 0;
        campaign_free(row);
        if (done)
            return true;
        g_usleep(20000);
    }
    return false;
}

/* Runs the simulated campaign with one undisturbed worker, in a database of its own, so that the
 * farm's campaign does not take its results over. */
static void run_calm(struct chaos *chaos)
{
    g_autofree char *url = server_add_database("calm");
    g_autofree char *log = g_build_filename(room_folder(), "calm.log", NULL);
    char node[] = "calm";
    struct actor actor = {.host = -1, .node = node, .log = log};
    g_autoptr(Store) store = open_store(url);
    int64_t campaign = sim_campaign(store, chaos->size.sim_jobs);
    pid_t worker = start_sim(chaos, url, &actor, 0, NULL);
    if (!await_done(store, campaign, 300))
        g_error("chaos farm: the undisturbed campaign does not end");
    room_kill(worker);
    chaos->calm = sim_results(store, campaign);
}

static int64_t make_real_campaign(struct chaos *chaos, int problem_count,
                                  const char *const *arguments)
{
    g_autoptr(GString) problems = g_string_new("");
    for (int i = 0; i < problem_count; i++)
        g_string_append_printf(problems, "%d-6-6-1x1-%d-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n",
                               4 + i % 8, 4 + i / 8);
    return live_campaign(chaos->skipjack, problems->str, arguments);
}

static void make_real_campaigns(struct chaos *chaos)
{
    static const char *const several[] = {
        "--configs", "3", "--seed", "3", "--solvers", "ConvCpuDirect,ConvDirectNaive", NULL};
    static const char *const one[] = {"--configs",       "1", "--seed", "4", "--solvers",
                                      "ConvDirectNaive", NULL};
    g_setenv("SKIPJACK_DB", chaos->url, TRUE);
    chaos->real_campaigns[0] = make_real_campaign(chaos, chaos->size.real_problems, several);
    if (chaos->size.tiny_problems > 0)
        chaos->real_campaigns[1] = make_real_campaign(chaos, chaos->size.tiny_problems, one);
}

void chaos_init(struct chaos *chaos, const char *argv0, guint32 seed, const struct chaos_size *size)
{
    g_autofree char *folder = g_path_get_dirname(argv0);
    const char *skipjack = g_getenv("SKIPJACK");
    *chaos = (struct chaos){.size = *size, .seed = seed};
    chaos->random = g_rand_new_with_seed(seed);
    chaos->stopped = g_array_new(FALSE, FALSE, sizeof(struct stopped_child));
    chaos->programs = realpath(folder, NULL);
    chaos->skipjack = realpath(skipjack ? skipjack : "build/skipjack", NULL);
    if (chaos->skipjack == NULL)
        g_error("chaos farm: no program 'build/skipjack': run make, or set SKIPJACK");
    signal(SIGPIPE, SIG_IGN);
    /* Connections between hosts do not use TLS: the hosts are namespaces of this machine, and the
     * proxies do not speak it. */
    g_setenv("SKIPJACK_DB_INSECURE", "1", TRUE);
    chaos->namespaces = room_enter(&chaos->only_loopback);
    server_create(100 + size->sim_jobs / 50);
    run_calm(chaos);
    chaos->url = server_add_database("chaos");
    chaos->store = open_store(chaos->url);
    chaos->sim_campaign = sim_campaign(chaos->store, size->sim_jobs);
    make_real_campaigns(chaos);
    for (int i = 0; i < CHAOS_HOSTS; i++)
        make_host(chaos, i);
    name_actors(chaos);
}

/* ---- the end ---- */

bool chaos_finish(struct chaos *chaos, int seconds)
{
    chaos_heal(chaos, true);
    chaos->over = true;
    for (int i = 0; i < CHAOS_ACTORS; i++) {
        struct actor *actor = &chaos->actors[i];
        if (actor->agent || actor->pid == 0)
            continue;
        room_kill(actor->pid);
        actor->pid = 0;
    }
    chaos_fill(chaos);
    bool done = await_done(chaos->store, chaos->sim_campaign, seconds);
    for (int i = 0; i < 2 && chaos->real_campaigns[i] != 0; i++)
        done = done && await_done(chaos->store, chaos->real_campaigns[i], seconds);
    return done;
}

static bool end_agent(pid_t agent)
{
    gint64 limit = patience_end();
    int status;
    kill(agent, SIGTERM);
    while (g_get_monotonic_time() < limit) {
        if (waitpid(agent, &status, WNOHANG) == agent)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        g_usleep(10000);
    }
    room_kill(agent);
    return false;
}

bool chaos_dismiss(struct chaos *chaos)
{
    bool well = true;
    for (int i = 0; i < CHAOS_ACTORS; i++) {
        struct actor *actor = &chaos->actors[i];
        if (actor->agent)
            well = end_agent(actor->pid) && well;
        else
            room_kill(actor->pid);
    }
    for (int i = 0; i < CHAOS_HOSTS; i++) {
        close(chaos->hosts[i].to_proxy);
        room_kill(chaos->hosts[i].proxy);
    }
    return well;
}
