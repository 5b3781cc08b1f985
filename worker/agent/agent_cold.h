/*
 * How long a network's first start takes: what a file lists is compiled by a fresh build child and run by a fresh
 * eval child, each with an empty folder for its caches. Needs no database and stores nothing.
 */
#ifndef WORKER_AGENT_COLD_H
#define WORKER_AGENT_COLD_H

struct cold_options {
    const char *path; /* {"layers":[{"problem":KEY,"solver":NAME,"config":"64,8","runs":N}, ...]} */
    const char *device;             /* the eval child's */
    double compile_timeout_seconds; /* a kernel */
    double run_timeout_seconds;     /* the network, beside what its operations need */
};

/* Compiles the file's kernels one after the other, loads them all, runs the layers in order twice,
 * each as often as it says, and prints {"kernels","bytes","compile_seconds","load_seconds",
 * "first_seconds","second_seconds"} on stdout. Caches are empty. Returns the exit status: 0, 1
 * after a failure, which was said, and 128 and its number after a signal (SIGINT, SIGTERM, SIGHUP). */
int agent_cold(const struct cold_options *options);

#endif
