#include "tests/support/chaos/chaos_faults.h"

#include "schema/store/store_private.h"
#include "tests/support/chaos/chaos_room.h"
#include "tests/support/chaos/chaos_server.h"
#include "tests/support/farm/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVERYBODY "%"

static gint64 later(struct chaos *chaos, double least_seconds, double most_seconds)
{
    double seconds = g_rand_double_range(chaos->random, least_seconds, most_seconds);
    return g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
}

static const char *always(const struct chaos *chaos)
{
    (void)chaos;
    return NULL;
}

/* ---- workers and their children ---- */

/* Draws an agent or a simulated worker; NULL if the drawn one is stopped now. */
static struct actor *any_actor(struct chaos *chaos, bool agent)
{
    int first = agent ? CHAOS_HOSTS * CHAOS_SIMS : 0;
    int end = agent ? CHAOS_ACTORS : CHAOS_HOSTS * CHAOS_SIMS;
    struct actor *actor = &chaos->actors[g_rand_int_range(chaos->random, first, end)];
    return actor->resume_at == 0 ? actor : NULL;
}

static const char *kill_actor(struct chaos *chaos, bool agent)
{
    struct actor *actor = any_actor(chaos, agent);
    if (actor == NULL)
        return NULL;
    room_kill(actor->pid);
    actor->pid = 0;
    return actor->node;
}

/* Stops a worker for longer than its lease, so that other workers claim its jobs. */
static const char *stop_actor(struct chaos *chaos, bool agent)
{
    struct actor *actor = any_actor(chaos, agent);
    if (actor == NULL)
        return NULL;
    kill(actor->pid, SIGSTOP);
    actor->resume_at = later(chaos, CHAOS_LEASE_SECONDS + 1.5, CHAOS_LEASE_SECONDS + 3);
    return actor->node;
}

static const char *kill_sim(struct chaos *chaos)
{
    return kill_actor(chaos, false);
}

static const char *stop_sim(struct chaos *chaos)
{
    return stop_actor(chaos, false);
}

static const char *kill_agent(struct chaos *chaos)
{
    return kill_actor(chaos, true);
}

static const char *stop_agent(struct chaos *chaos)
{
    return stop_actor(chaos, true);
}

/* Returns a child of a randomly drawn agent, whose node becomes *node; 0 if the agent is stopped or has no child whose
 * command line contains the words. */
static pid_t any_child(struct chaos *chaos, const char *words, const char **node)
{
    const struct actor *actor = any_actor(chaos, true);
    if (actor == NULL)
        return 0;
    g_autoptr(GArray) children = process_children(actor->pid, words);
    if (children->len == 0)
        return 0;
    *node = actor->node;
    return g_array_index(children, pid_t,
                         (guint)g_rand_int_range(chaos->random, 0, (gint32)children->len));
}

static const char *kill_child(struct chaos *chaos, const char *words)
{
    const char *node;
    pid_t child = any_child(chaos, words, &node);
    return child != 0 && kill(child, SIGKILL) == 0 ? node : NULL;
}

/* Stops a child for longer than the lease. Its agent goes on sending heartbeats, so only the
 * child's deadline ends it. */
static const char *stop_child(struct chaos *chaos, const char *words)
{
    const char *node;
    struct stopped_child stopped = {.pid = any_child(chaos, words, &node)};
    if (stopped.pid == 0 || kill(stopped.pid, SIGSTOP) != 0)
        return NULL;
    stopped.resume_at = later(chaos, CHAOS_LEASE_SECONDS + 1, CHAOS_LEASE_SECONDS + 3);
    g_array_append_val(chaos->stopped, stopped);
    return node;
}

static const char *kill_build(struct chaos *chaos)
{
    return kill_child(chaos, "child build");
}

static const char *stop_build(struct chaos *chaos)
{
    return stop_child(chaos, "child build");
}

static const char *kill_eval(struct chaos *chaos)
{
    return kill_child(chaos, "child eval");
}

static const char *stop_eval(struct chaos *chaos)
{
    return stop_child(chaos, "child eval");
}

/* ---- PostgreSQL ---- */

static const char *end_server(struct chaos *chaos, enum server_end end)
{
    server_stop(end);
    g_usleep((gulong)g_rand_int_range(chaos->random, 0, 1000000));
    server_start();
    return EVERYBODY;
}

static const char *stop_server_fast(struct chaos *chaos)
{
    return end_server(chaos, SERVER_FAST);
}

static const char *stop_server_immediately(struct chaos *chaos)
{
    return end_server(chaos, SERVER_IMMEDIATE);
}

static const char *kill_server(struct chaos *chaos)
{
    return end_server(chaos, SERVER_KILLED);
}

static const char *why_no_server_disk(const struct chaos *chaos)
{
    return server_has_disk() ? NULL : chaos->only_loopback;
}

static const char *fill_server_disk(struct chaos *chaos)
{
    server_fill_disk();
    g_usleep((gulong)g_rand_int_range(chaos->random, 500000, 2000000));
    server_free_disk();
    return EVERYBODY;
}

/* ---- hosts ---- */

static const char *host_nodes(int host)
{
    static char nodes[16];
    snprintf(nodes, sizeof nodes, "host%d-%%", host);
    return nodes;
}

static int any_host(struct chaos *chaos)
{
    return g_rand_int_range(chaos->random, 0, CHAOS_HOSTS);
}

static const char *tell_proxy(struct chaos *chaos, const char *command)
{
    int host = any_host(chaos);
    if (chaos->hosts[host].open_at != 0)
        return NULL;
    chaos_tell(chaos, host, command);
    chaos->hosts[host].open_at = later(chaos, 0.5, CHAOS_LEASE_SECONDS + 2);
    return host_nodes(host);
}

static const char *delay(struct chaos *chaos)
{
    return tell_proxy(chaos, "delay 150");
}

static const char *cut(struct chaos *chaos)
{
    return tell_proxy(chaos, "cut");
}

static const char *half_open(struct chaos *chaos)
{
    return tell_proxy(chaos, "half-open");
}

static const char *blackhole(struct chaos *chaos)
{
    return tell_proxy(chaos, "blackhole");
}

static const char *why_no_link(const struct chaos *chaos)
{
    return chaos->namespaces ? NULL : chaos->only_loopback;
}

static const char *pull_cable(struct chaos *chaos)
{
    int host = any_host(chaos);
    if (chaos->hosts[host].link_at != 0)
        return NULL;
    room_link_host(host, false);
    chaos->hosts[host].link_at = later(chaos, 0.5, CHAOS_LEASE_SECONDS + 2);
    return host_nodes(host);
}

static const char *why_no_scratch(const struct chaos *chaos)
{
    return chaos->hosts[0].own_scratch ? NULL : chaos->only_loopback;
}

static const char *fill_scratch(struct chaos *chaos)
{
    static char block[4096], node[32];
    int number = any_host(chaos);
    struct host *host = &chaos->hosts[number];
    gsize size = sizeof block;
    g_autofree char *filler = g_build_filename(host->scratch, "filler", NULL);
    if (host->disk_at != 0)
        return NULL;
    int fd = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    while (fd >= 0 && size > 0)
        if (write(fd, block, size) < 0)
            size /= 2;
    if (fd < 0 || errno != ENOSPC)
        g_error("chaos: cannot fill '%s': %s", filler, g_strerror(errno));
    close(fd);
    host->disk_at = later(chaos, 0.5, 2);
    snprintf(node, sizeof node, "host%d-agent%%", number);
    return node;
}

static const char *why_no_clock(const struct chaos *chaos)
{
    if (!chaos->namespaces)
        return chaos->only_loopback;
    return chaos->hosts[0].clock ? NULL : "libfaketime is not installed";
}

static const char *jump_clock(struct chaos *chaos)
{
    static const char *const jumps[] = {"+0\n", "+3600\n", "-3600\n", "+86400\n", "-86400\n"};
    int host = any_host(chaos);
    int jump = g_rand_int_range(chaos->random, 0, (gint32)G_N_ELEMENTS(jumps));
    if (!g_file_set_contents(chaos->hosts[host].clock, jumps[jump], -1, NULL))
        g_error("chaos: cannot set the clock of host %d", host);
    return host_nodes(host);
}

/* ---- the table ---- */

static const struct fault_row rows[] = {
    {"simulated worker killed", always, kill_sim},
    {"simulated worker stopped past its lease", always, stop_sim},
    {"agent killed", always, kill_agent},
    {"agent stopped past its lease", always, stop_agent},
    {"build child killed", always, kill_build},
    {"build child stopped past the lease", always, stop_build},
    {"eval child killed", always, kill_eval},
    {"eval child stopped past the lease", always, stop_eval},
    {"PostgreSQL stopped (fast)", always, stop_server_fast},
    {"PostgreSQL stopped (immediate)", always, stop_server_immediately},
    {"PostgreSQL killed", always, kill_server},
    {"PostgreSQL's disk full", why_no_server_disk, fill_server_disk},
    {"node's scratch full", why_no_scratch, fill_scratch},
    {"network delayed", always, delay},
    {"connections cut", always, cut},
    {"connections half open", always, half_open},
    {"network silent", always, blackhole},
    {"cable pulled", why_no_link, pull_cable},
    {"clock jumps", why_no_clock, jump_clock},
};

int fault_count(void)
{
    return (int)G_N_ELEMENTS(rows);
}

const struct fault_row *fault_at(int index)
{
    return &rows[index];
}

/* Lists the held jobs before the fault, since afterwards the server may be away. */
static StoreRows *held_jobs(struct chaos *chaos)
{
    g_autoptr(GError) error = NULL;
    StoreRows *held =
        store_read(chaos->store, &error,
                   "SELECT w.node, j FROM bundles b JOIN workers w ON w.id = b.worker_id,"
                   " unnest(b.job_ids) AS j",
                   "");
    if (held == NULL)
        g_error("chaos: %s", error->message);
    return held;
}

static bool is_struck(const char *node, const char *pattern)
{
    gsize length = strlen(pattern);
    bool several = pattern[length - 1] == '%';
    return strncmp(node, pattern, several ? length - 1 : length + 1) == 0;
}

bool fault_do(struct chaos *chaos, int index, struct fault_tally *tally)
{
    g_autoptr(StoreRows) held = held_jobs(chaos);
    const char *nodes = rows[index].strike(chaos);
    if (nodes == NULL)
        return false;
    tally->times++;
    for (int i = 0; i < PQntuples(held); i++) {
        int64_t id = strtoll(PQgetvalue(held, i, 1), NULL, 10);
        if (is_struck(PQgetvalue(held, i, 0), nodes))
            g_hash_table_add(tally->touched, g_memdup2(&id, sizeof id));
    }
    return true;
}
