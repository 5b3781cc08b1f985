/*
 * The agent of a node: claims jobs, has their kernels compiled by build
 * children and measured by eval children, and stores what came out. It runs on
 * one libuv loop, calls no compiler and opens no device itself, so that
 * whatever those do, it lives to tell.
 */
#ifndef WORKER_AGENT_H
#define WORKER_AGENT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct agent_options {
    int build;          /* build children, 0 for none */
    bool spare_cores;   /* fewer of them where GPUs are timed, see agent_build_beside() */
    char **devices;     /* one eval child each, NULL-terminated, empty for none */
    bool until_empty;   /* end when nothing is left to claim */
    int64_t drain_unix; /* end in good order at that time, 0 for never */
    int64_t campaign;   /* 0: any */
    char **labels;      /* pools it works for, NULL-terminated, or NULL */
    int batch;          /* jobs a claim */
    double lease_seconds;
    double compile_timeout_seconds; /* a kernel */
    double run_timeout_seconds;     /* a config, beside what its operations need */
    double sample_seconds;          /* a config's repeats */
    int lock_mhz;                   /* that GPUs' clocks are locked at, 0 for not */
    int fault_limit; /* failures in a row, of several solvers, that take a GPU out of service, 0: never */
    const char *metrics; /* where to serve metrics and health (monitor.h), NULL for nowhere */
};

/* How many of `build` build children may run beside timed GPUs: one core stays free for each GPU, whose launches
 * must not wait for a compiler, and one for agent and database. At least one may run. */
int agent_build_beside(int build, int gpus);

/* Works until stopped by SIGTERM, SIGINT or SIGHUP, or until nothing is left. url is the database's, migrated
 * already. Returns the process's exit status: 0 after an orderly end, 1 otherwise. */
int agent_run(const struct agent_options *options, const char *url, bool embedded);

#endif
