/*
 * Work of one device without a database: a fresh build child compiles the kernels, one after the other, a fresh eval
 * child receives them all and then one request. Each child has an empty folder for its caches.
 */
#ifndef WORKER_AGENT_DIRECT_H
#define WORKER_AGENT_DIRECT_H

#include <jansson.h>

#include "solvers/framework/solution.h"

struct direct;

struct direct_job {
    const char *name;   /* events of the log begin with it: "cold" writes "cold_failed" */
    const char *device; /* device of the eval child, as --eval names it */
    double compile_timeout_seconds; /* a kernel */
    double run_timeout_seconds;     /* the request, in addition to direct_allow() */
    /* Called once, when the target is known. Adds the kernels with direct_add_kernels() and returns a new reference to
     * the request, an object whose "op" is the name of the answer, too; NULL with an error. */
    json_t *(*plan)(struct direct *direct, const struct target *target, void *data, GError **error);
    /* Called with the answer. Returns whether the work is done well. */
    bool (*take)(struct direct *direct, const json_t *answer, void *data);
    void *data;
};

/* What was compiled. */
struct direct_facts {
    int kernels;   /* distinct ones */
    int64_t bytes; /* of all code objects */
    double compile_seconds;
    const char *target; /* the target's name; the job's */
};

/* Runs the job. Returns the exit status: 0; 1 after a failure, which was logged; 128 plus the signal's number after
 * SIGINT, SIGTERM or SIGHUP. */
int direct_run(const struct direct_job *job);

/* Adds the kernels of a solution, those that are new, and appends their keys, one for each launch, to `keys`. */
bool direct_add_kernels(struct direct *direct, const struct solution *solution, json_t *keys,
                        GError **error);
/* Allows the request so many seconds more. */
void direct_allow(struct direct *direct, double seconds);
void direct_facts(const struct direct *direct, struct direct_facts *facts);

/* Reads a JSON file of at most most_bytes; logs why it cannot and returns NULL. */
json_t *direct_read_file(const char *name, const char *path, gsize most_bytes);

#endif
