/*
 * Measures how long a network's first start takes (`--cold`). A fresh build child
 * compiles the layers that a file lists, and a fresh eval child runs them; each
 * child has an empty folder for its caches. Needs no database and stores nothing.
 */
#ifndef WORKER_AGENT_AGENT_COLD_H
#define WORKER_AGENT_AGENT_COLD_H

struct cold_options {
    const char *path; /* {"layers":[{"problem":KEY,"solver":NAME,"config":"64,8","runs":N}, ...]} */
    const char *device;             /* device of the eval child, as --eval names it */
    double compile_timeout_seconds; /* a kernel */
    /* Deadline of the whole network, in addition to the time that its operations take. */
    double run_timeout_seconds;
};

/* Compiles the file's kernels one after the other, loads them all, runs the layers in order
 * twice, each as often as the file says, after packing the filters that are packed, and prints
 * {"kernels","bytes","compile_seconds","load_seconds","pack_seconds","first_seconds","second_seconds"} on
 * stdout. All caches are empty at the start. Returns the exit status: 0; 1 after a failure,
 * which was logged; 128 plus the signal's number after SIGINT, SIGTERM or SIGHUP. */
int agent_cold(const struct cold_options *options);

#endif
