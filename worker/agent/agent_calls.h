/*
 * The agent's calls on the data lane, a queue of calls over one database
 * connection. They run in the order in which they are made, so a kernel is stored
 * before the round that names it. Arguments must not change until `done` is
 * called, on the loop; with NULL for `done`, agent_refused() is called if the call
 * fails. All calls about a work must have ended before the work is freed: free it
 * in the `done` of a later call, such as call_barrier().
 */
#ifndef WORKER_AGENT_AGENT_CALLS_H
#define WORKER_AGENT_AGENT_CALLS_H

#include "schema/results/conditions.h"
#include "schema/store/store_kernels.h"
#include "worker/agent/agent_state.h"

/* A config that is blamed for a device fault, with its job; or a whole job. */
struct blamed {
    int64_t campaign, job;
    bool whole; /* the job is blamed, not a config: the device failed between two configs */
    struct perf_config config;
};

typedef void call_done_fn(struct agent *agent, void *data, const GError *error);

/* Rounds of one campaign that wait behind each other are stored by one statement. */

/* Stores the open round as built. spent: compile seconds, which are added to the campaign's
 * total. */
void call_built(struct agent *agent, struct work *work, double spent, call_done_fn *done,
                void *data);
/* Stores the open round's outcomes so far. The call copies the round, so the caller may change
 * it before `done`. */
void call_partial(struct agent *agent, struct work *work, call_done_fn *done, void *data);
/* Stores the open round as evaluated. kept: struct kept of the configs to keep; the call takes
 * it over. more: the job's search goes on with another round. end: why it does not (work_more()). seconds: since the device took the
 * job. use: how long the job had its device, and how long the device had work; NULL if unknown. */
void call_round(struct agent *agent, struct work *work, GArray *kept, bool more,
                enum search_end end, double seconds, const struct device_use *use,
                call_done_fn *done, void *data);
/* Stores what a final measured: the open round, and the intervals of its medians. */
void call_final(struct agent *agent, struct work *work, double seconds,
                const struct device_use *use, call_done_fn *done, void *data);
void call_fail_job(struct agent *agent, struct work *work, enum failure failure, const char *detail,
                   call_done_fn *done, void *data);
/* Ends a job whose search has nothing left to propose; end: why. */
void call_finish_job(struct agent *agent, struct work *work, enum search_end end,
                     call_done_fn *done, void *data);
void call_release_job(struct agent *agent, struct work *work, call_done_fn *done, void *data);
void call_quarantine(struct agent *agent, struct work *work, int index);
/* Stores how long the job had its device, and how long the device had work. Make this call before
 * the one that ends the job's claim. */
void call_device_use(struct agent *agent, struct work *work, const struct device_use *use);
/* Lifts the quarantine of the blamed config, so that other devices try it again, unless its job
 * stays failed. The job may have ended already. */
void call_lift_quarantine(struct agent *agent, const struct blamed *blamed);
/* Makes the blamed job ready for another device. The job is held by this worker, or was ended by
 * faults of its device. The database returns each job in this way only once. */
void call_return_job(struct agent *agent, const struct blamed *blamed, const char *device);
/* Stores that the agent's device at index `place` is out of service for the reason; with "" that
 * it is back. */
void call_device_service(struct agent *agent, int place, const char *reason);
/* Adds a line to the farm's event log, about the work's job; work may be NULL. */
void call_event(struct agent *agent, const char *kind, struct work *work, const char *detail);
/* Stores a compiled kernel. `kernel` must live until `done`. */
void call_put_kernel(struct agent *agent, const struct kernel_row *kernel, call_done_fn *done,
                     void *data);
/* Calls `done` after all calls that were made before have ended. */
void call_barrier(struct agent *agent, call_done_fn *done, void *data);

struct claimed {
    GPtrArray *jobs;       /* struct job *; a claimed_fn takes out the jobs that it works on */
    GPtrArray *quarantine; /* struct quarantine_row * */
    GHashTable *targets;   /* target id -> struct target *: the targets of the jobs */
};
typedef void claimed_fn(void *data, struct claimed *claimed);
/* Claims up to `batch` jobs of the target, or of any target if it is NULL. If the claim fails,
 * the failure is handled here, and `done` gets no jobs. */
void call_claim(struct agent *agent, enum pool pool, const char *target, int batch,
                claimed_fn *done, void *data);

/* Reads kernels by key: call_known() without their code, call_load() with the code, as the
 * campaign's workers get it (0: no campaign). Both take over keys, an array of char *. The table
 * has no entry for kernels that the database lacks. */
typedef void kernels_fn(void *data, GHashTable *kernels);
void call_known(struct agent *agent, GPtrArray *keys, kernels_fn *done, void *data);
void call_load(struct agent *agent, GPtrArray *keys, int64_t campaign, kernels_fn *done,
               void *data);
/* The kernels of the agent's own code (own_code.h) for an architecture, without their code. */
void call_judges(struct agent *agent, const char *arch, kernels_fn *done, void *data);
void call_proofs(struct agent *agent, const char *arch, kernels_fn *done, void *data);

#endif
