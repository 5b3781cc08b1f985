/* The farm of the chaos tests: several hosts, each with a proxy to PostgreSQL, simulated workers
 * and an agent; a campaign of simulated jobs and one of real ones. */
#ifndef TESTS_SUPPORT_CHAOS_CHAOS_FARM_H
#define TESTS_SUPPORT_CHAOS_CHAOS_FARM_H

#include "schema/store/store.h"

#include <sys/types.h>

#define CHAOS_HOSTS         2
#define CHAOS_SIMS          3 /* a host */
#define CHAOS_ACTORS        (CHAOS_HOSTS * (CHAOS_SIMS + 1))
#define CHAOS_LEASE_SECONDS 3

struct chaos_size {
    int seconds; /* of chaos */
    int sim_jobs, real_problems;
    /* problems of a further campaign, with one config each; 0: no such campaign */
    int tiny_problems;
};

struct actor {
    int host;
    bool agent; /* an agent; else a simulated worker */
    pid_t pid;
    gint64 resume_at; /* when the stopped process goes on, in monotonic microseconds; 0: it runs */
    char *node, *log;
};

/* A child of an agent that is stopped until resume_at. If it is dead by then, continuing it does no
 * harm: its process id is not given to another process within a minute. */
struct stopped_child {
    pid_t pid;
    gint64 resume_at;
};

struct host {
    pid_t proxy;
    int to_proxy, port;
    char *address;
    char *clock;      /* the file that sets libfaketime's time; NULL without libfaketime */
    char *scratch;    /* TMPDIR of the host's agent */
    bool own_scratch; /* scratch is a disk of its own, which a fault can fill */
    /* when the fault of the proxy, the link or the disk ends; 0: it has no fault */
    gint64 open_at, link_at, disk_at;
};

struct chaos {
    struct chaos_size size;
    guint32 seed;
    GRand *random;
    bool namespaces;
    const char *only_loopback; /* why there are no namespaces; NULL where there are */
    const char *programs;      /* the folder of the programs proxy and sim_worker */
    const char *skipjack;
    char *url; /* of the database, not through a proxy */
    Store *store;
    int64_t sim_campaign;
    /* ids; the second campaign has the tiny problems; 0: there is none */
    int64_t real_campaigns[2];
    GHashTable *calm; /* an undisturbed farm's results of the simulated campaign (sim_results()) */
    struct host hosts[CHAOS_HOSTS];
    struct actor actors[CHAOS_ACTORS];
    GArray *stopped; /* struct stopped_child: children that go on later */
    int started;     /* processes started so far; each number seeds one simulated worker */
    bool over;       /* chaos has ended: workers that start now work without pauses */
};

/* Makes the room (chaos_room.h), the server, hosts and campaigns, and finds an undisturbed farm's
 * results. argv0: the path of the test, whose folder has the programs proxy and sim_worker. */
void chaos_init(struct chaos *chaos, const char *argv0, guint32 seed,
                const struct chaos_size *size);
/* Starts each agent and simulated worker that is not running. */
void chaos_fill(struct chaos *chaos);
/* Ends each fault whose time is over: stopped processes go on, proxies let all through, links come
 * up, disks are freed. now: ends all faults. */
void chaos_heal(struct chaos *chaos, bool now);
/* Sends a command to the host's proxy (proxy.c). */
void chaos_tell(struct chaos *chaos, int host, const char *command);
/* Ends chaos, restarts the simulated workers without pauses, and waits for the campaigns one after the
 * other; false if one is not done within `seconds`. */
bool chaos_finish(struct chaos *chaos, int seconds);
/* Ends all workers, agents by SIGTERM, and the proxies. Returns whether all agents ended with status 0. */
bool chaos_dismiss(struct chaos *chaos);

/* Asks the database directly, not through a proxy; the server must be running. */
int64_t chaos_count(struct chaos *chaos, const char *sql, int64_t campaign);

#endif
