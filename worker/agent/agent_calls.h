/*
 * The store's calls on the agent's data lane. They run in the order in which they are made, so a kernel is stored
 * before the round that names it. Arguments must not change until `done` is called, on the loop; with NULL for done,
 * agent_refused() is called where the call fails. Calls about a work must have ended before the work is freed: free
 * it in the done of a later call, such as call_barrier().
 */
#ifndef WORKER_AGENT_CALLS_H
#define WORKER_AGENT_CALLS_H

#include "schema/results/conditions.h"
#include "schema/store/store_kernels.h"
#include "worker/agent/agent_state.h"

/* A config that is blamed for a fault of its device, and its job; or a whole job. */
struct blamed {
    int64_t campaign, job;
    bool whole; /* the job failed between two configs; config is not set */
    struct perf_config config;
};

typedef void call_done_fn(struct agent *agent, void *data, const GError *error);

/* Rounds of one campaign that wait behind each other are stored by one statement. */

/* Stores the open round as built. spent: compile seconds, added to the campaign's. */
void call_built(struct agent *agent, struct work *work, double spent, call_done_fn *done,
                void *data);
/* Stores the outcomes so far. The open round is copied, and may change before done. */
void call_partial(struct agent *agent, struct work *work, call_done_fn *done, void *data);
/* Stores the open round as evaluated. kept: struct kept, taken over. more: the job's search goes on. seconds: from the
 * job's begin on the device. use: the device's, or NULL. */
void call_round(struct agent *agent, struct work *work, GArray *kept, bool more, double seconds,
                const struct device_use *use, call_done_fn *done, void *data);
void call_fail_job(struct agent *agent, struct work *work, enum failure failure, const char *detail,
                   call_done_fn *done, void *data);
void call_finish_job(struct agent *agent, struct work *work, call_done_fn *done, void *data);
void call_release_job(struct agent *agent, struct work *work, call_done_fn *done, void *data);
void call_quarantine(struct agent *agent, struct work *work, int index);
/* How long the job's device was busy; made before the call that ends the job's claim. */
void call_device_use(struct agent *agent, struct work *work, const struct device_use *use);
/* Lets the blamed config be tried again, unless its job stays failed; the job may have ended. */
void call_lift_quarantine(struct agent *agent, const struct blamed *blamed);
/* Makes the blamed job ready for another device: one that its device's faults ended, or that this worker holds. The
 * database does so once a job. */
void call_return_job(struct agent *agent, const struct blamed *blamed, const char *device);
/* Stores that the agent's device at that index is out of service for the reason, or with "" that it is back. */
void call_device_service(struct agent *agent, int place, const char *reason);
/* Adds a line to the farm's event log. work may be NULL. */
void call_event(struct agent *agent, const char *kind, struct work *work, const char *detail);
/* kernel must live until done. */
void call_put_kernel(struct agent *agent, const struct kernel_row *kernel, call_done_fn *done,
                     void *data);
/* Calls done after all calls that were made before. */
void call_barrier(struct agent *agent, call_done_fn *done, void *data);

struct claimed {
    GPtrArray *jobs;       /* struct job *; claimed_fn steals them */
    GPtrArray *quarantine; /* struct quarantine_row * */
    GHashTable *targets;   /* id -> struct target * */
};
typedef void claimed_fn(void *data, struct claimed *claimed);
/* Claims up to batch jobs of the target, or of any where it is NULL. After a failure, which is handled, done gets no
 * jobs. */
void call_claim(struct agent *agent, enum pool pool, const char *target, int batch,
                claimed_fn *done, void *data);

/* Rows of kernels by key: call_known() without their code, call_load() with the code that the campaign's workers get
 * (0: no campaign). Both take keys (char *) over. Kernels that the database lacks are missing in the table. */
typedef void kernels_fn(void *data, GHashTable *kernels);
void call_known(struct agent *agent, GPtrArray *keys, kernels_fn *done, void *data);
void call_load(struct agent *agent, GPtrArray *keys, int64_t campaign, kernels_fn *done,
               void *data);
/* The kernels of the agent's own code (own_code.h) for an architecture, without their code. */
void call_judges(struct agent *agent, const char *arch, kernels_fn *done, void *data);
void call_proofs(struct agent *agent, const char *arch, kernels_fn *done, void *data);

#endif
