/*
 * The farm that chaos is done to: hosts with a proxy to PostgreSQL each, simulated workers and an agent
 * on each, a campaign of simulated jobs and one of real ones.
 */
#ifndef TESTS_SUPPORT_CHAOS_FARM_H
#define TESTS_SUPPORT_CHAOS_FARM_H

#include "schema/store/store.h"

#include <sys/types.h>

#define CHAOS_HOSTS         2
#define CHAOS_SIMS          3 /* a host */
#define CHAOS_ACTORS        (CHAOS_HOSTS * (CHAOS_SIMS + 1))
#define CHAOS_LEASE_SECONDS 3

struct chaos_size {
    int seconds; /* of chaos */
    int sim_jobs, real_problems;
    int tiny_problems; /* of a further campaign, one config each, or 0 */
};

struct actor {
    int host;
    bool agent; /* else a simulated worker */
    pid_t pid;
    gint64 resume_at; /* stopped until then, in monotonic microseconds; 0: it runs */
    char *node, *log;
};

/* A child of an agent, stopped until then. It may be dead by then, and nobody has its number: ids are
 * not used again within a minute. */
struct stopped_child {
    pid_t pid;
    gint64 resume_at;
};

struct host {
    pid_t proxy;
    int to_proxy, port;
    char *address;
    char *clock;                      /* libfaketime's file, NULL without it */
    char *scratch;                    /* TMPDIR of its agent */
    bool own_scratch;                 /* a disk, that can be filled */
    gint64 open_at, link_at, disk_at; /* when its fault ends; 0: it has none */
};

struct chaos {
    struct chaos_size size;
    guint32 seed;
    GRand *random;
    bool namespaces;
    const char *only_loopback; /* why there are no namespaces; else NULL */
    const char *programs;      /* folder of proxy and sim_worker */
    const char *skipjack;
    char *url; /* past the proxies */
    Store *store;
    int64_t sim_campaign;
    int64_t real_campaigns[2]; /* the second one has the tiny problems, or is 0 */
    GHashTable *calm;          /* what the simulated campaign comes to undisturbed */
    struct host hosts[CHAOS_HOSTS];
    struct actor actors[CHAOS_ACTORS];
    GArray *stopped; /* struct stopped_child, those that go on later */
    int started;     /* processes so far: seeds of simulated workers */
    bool over;       /* what starts now works without pauses */
};

/* Makes room, server, campaigns and hosts, and finds out what an undisturbed farm comes to. argv0 is
 * the test's own path: its programs lie beside it. */
void chaos_init(struct chaos *chaos, const char *argv0, guint32 seed,
                const struct chaos_size *size);
/* Starts who is not there: at first all of them. */
void chaos_fill(struct chaos *chaos);
/* Ends what has passed: stopped ones go on, proxies open, links come up, disks are freed. now: all. */
void chaos_heal(struct chaos *chaos, bool now);
/* Commands the host's proxy. */
void chaos_tell(struct chaos *chaos, int host, const char *command);
/* Ends chaos and waits until all campaigns are done; false where they are not within the time. */
bool chaos_finish(struct chaos *chaos, int seconds);
/* Ends all workers, agents in good order; whether all of these did. */
bool chaos_dismiss(struct chaos *chaos);

/* A question about the whole database, without a proxy: the server must be there. */
int64_t chaos_count(struct chaos *chaos, const char *sql, int64_t campaign);

#endif
