/*
 * The agent of a node: it claims jobs, has build children compile their kernels and eval children measure them, and
 * stores the results. It runs on one libuv loop. It calls no compiler and opens no device itself, so that a crash or a
 * hang of either ends a child, never the agent.
 */
#ifndef WORKER_AGENT_AGENT_H
#define WORKER_AGENT_AGENT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct agent_options {
    int build;        /* build children, 0 for none */
    bool spare_cores; /* agent_build_beside() limits the build children */
    /* Devices, named as --eval names them, NULL-terminated; each gets an eval child. */
    char **devices;
    bool until_empty;   /* end when nothing is left to claim */
    int64_t drain_unix; /* end in good order at this Unix time (--drain-at), 0 for never */
    int64_t campaign;   /* 0: any */
    /* Pools of campaigns that this worker serves in addition to the campaigns without a pool
     * (--label); NULL-terminated, NULL for none. */
    char **labels;
    int batch; /* jobs that one claim brings at most */
    double lease_seconds;
    double compile_timeout_seconds; /* for a kernel */
    /* Deadline of one config's evaluation, in addition to the time that its operations take. */
    double run_timeout_seconds;
    double sample_seconds; /* device time for repeating one config */
    int lock_mhz;          /* lock the GPUs' clocks at this frequency; 0: do not lock */
    /* Device faults in a row after which a GPU has to prove that it can compute; 0: never. */
    int fault_limit;
    const char *metrics; /* "[ADDRESS:]PORT" of metrics and health; NULL: not served */
};

/* How many of the `build` build children may run on a node that measures on `gpus` GPUs: all of
 * them without a GPU. Else one core stays free for each GPU, whose launches must not wait for a
 * compiler, and one for the agent and the database; but at least one of the children may run. */
int agent_build_beside(int build, int gpus);

/* Works until SIGTERM, SIGINT or SIGHUP stops it, or with until_empty until nothing is left to
 * claim. url: the address of a database that has been migrated; embedded: this program starts
 * the server. Returns the process's exit status: 0 after an orderly end, 1 otherwise. */
int agent_run(const struct agent_options *options, const char *url, bool embedded);

#endif
