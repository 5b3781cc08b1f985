/*
 * The agent of a node: it claims jobs, has build children compile their kernels and eval children measure them, and
 * stores the results. It runs on one libuv loop. It calls no compiler and opens no device itself, so that a crash or a
 * hang of either ends a child, never the agent.
 */
#ifndef WORKER_AGENT_H
#define WORKER_AGENT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct agent_options {
    int build;          /* build children, 0 for none */
    bool spare_cores;   /* agent_build_beside() limits the build children */
    char **devices;     /* names, NULL-terminated; each gets an eval child */
    bool until_empty;   /* end when nothing is left to claim */
    int64_t drain_unix; /* end in good order at that time, 0 for never */
    int64_t campaign;   /* 0: any */
    char **labels;      /* pools it works for, NULL-terminated, or NULL */
    int batch;          /* jobs that one claim brings at most */
    double lease_seconds;
    double compile_timeout_seconds; /* for a kernel */
    double run_timeout_seconds;     /* for a config, beside the time that its operations take */
    double sample_seconds;          /* budget for a config's repeats */
    int lock_mhz;                   /* the GPUs' clocks are locked at it; 0: not locked */
    int fault_limit;     /* faults in a row after which a GPU has to prove itself; 0: never */
    const char *metrics; /* "[ADDRESS:]PORT" of metrics and health; NULL: not served */
};

/* How many of `build` build children may run while so many GPUs are timed. One core stays free for each GPU, whose
 * launches must not wait for a compiler, and one for the agent and the database; at least one child may run. */
int agent_build_beside(int build, int gpus);

/* Works until SIGTERM, SIGINT or SIGHUP stops it, or with until_empty until nothing is left. url: of the database, which
 * has been migrated. Returns the process's exit status: 0 after an orderly end, 1 otherwise. */
int agent_run(const struct agent_options *options, const char *url, bool embedded);

#endif
