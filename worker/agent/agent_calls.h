/*
 * The store's calls on the agent's data lane. They run in the order they are
 * made, so a kernel is stored before the round that names it. Arguments must
 * stay as they are until `done`, which is called on the loop; a NULL done
 * leaves failures to agent_refused(). A call about a work never outlives it
 * when the work is freed from a later call's done: call_barrier() is such one.
 */
#ifndef WORKER_AGENT_CALLS_H
#define WORKER_AGENT_CALLS_H

#include "schema/store/conditions.h"
#include "schema/store/store_kernels.h"
#include "worker/agent/agent_state.h"

/* A config that was quarantined, and the job that it was of; or the whole job. */
struct condemned {
    int64_t campaign, job;
    bool whole; /* it failed, at no config */
    struct perf_config config;
};

typedef void call_done_fn(struct agent *agent, void *data, const GError *error);

void call_built(struct agent *agent, struct work *work, call_done_fn *done, void *data);
/* Copies the open round, which may change meanwhile. */
void call_partial(struct agent *agent, struct work *work, call_done_fn *done, void *data);
/* Takes kept over. */
void call_round(struct agent *agent, struct work *work, GArray *kept, bool more, double seconds,
                call_done_fn *done, void *data);
void call_fail_job(struct agent *agent, struct work *work, enum failure failure, const char *detail,
                   call_done_fn *done, void *data);
void call_finish_job(struct agent *agent, struct work *work, call_done_fn *done, void *data);
void call_release_job(struct agent *agent, struct work *work, call_done_fn *done, void *data);
void call_quarantine(struct agent *agent, struct work *work, int index);
/* Before the call that ends its claim. */
void call_device_use(struct agent *agent, struct work *work, const struct device_use *use);
/* The config may be of a job that has ended; nothing is lifted of one that stays failed. */
void call_lift_quarantine(struct agent *agent, const struct condemned *condemned);
/* The job, which its device's faults ended, or which is at hand: it goes to another one, but once. */
void call_return_job(struct agent *agent, const struct condemned *condemned, const char *device);
/* A device, by its place among the agent's, is out of service for that reason, or "": back. */
void call_device_service(struct agent *agent, int place, const char *reason);
void call_spent(struct agent *agent, struct work *work, double seconds);
/* work may be NULL. */
void call_event(struct agent *agent, const char *kind, struct work *work, const char *detail);
/* kernel must live until done. */
void call_put_kernel(struct agent *agent, const struct kernel_row *kernel, call_done_fn *done,
                     void *data);
/* Does nothing but come after all calls made before. */
void call_barrier(struct agent *agent, call_done_fn *done, void *data);

struct claimed {
    GPtrArray *jobs;       /* struct job *; the receiver steals them */
    GPtrArray *quarantine; /* struct quarantine_row * */
    GHashTable *targets;   /* id -> struct target * */
};
typedef void claimed_fn(void *data, struct claimed *claimed);
/* target NULL for any. A failure ends the agent, so claimed is always there. */
void call_claim(struct agent *agent, enum pool pool, const char *target, int batch,
                claimed_fn *done, void *data);

/* Rows of kernels by key. call_known: without code; call_load: with it, as the campaign's workers see them (0: no
 * campaign's). Takes keys (char *) over;
 * kernels that the database does not have are not in the table. */
typedef void kernels_fn(void *data, GHashTable *kernels);
void call_known(struct agent *agent, GPtrArray *keys, kernels_fn *done, void *data);
void call_load(struct agent *agent, GPtrArray *keys, int64_t campaign, kernels_fn *done,
               void *data);
/* Those that this program asks of devices itself (own_code.h), for an architecture, without code. */
void call_judges(struct agent *agent, const char *arch, kernels_fn *done, void *data);
void call_proofs(struct agent *agent, const char *arch, kernels_fn *done, void *data);

#endif
