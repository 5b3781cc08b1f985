/*
 * Rows of the database about a job, checked before they are used. A row that no planner or worker of ours writes must
 * end its job with a reason, and must not end the agent.
 */
#ifndef WORKER_WORK_CHECK_H
#define WORKER_WORK_CHECK_H

#include "schema/store/store_kernels.h"
#include "worker/agent/work.h"

/* Why the job cannot be worked on: its rows are damaged, this program lacks its solver in its revision, its target is
 * unknown (NULL), a number is out of range, or an eval claim has no open round. NULL where it can be worked on. Configs
 * are not checked here: the solver refuses them one by one. Free with g_free(). */
char *work_check(const struct job *job, const struct target *target, enum pool pool);

/* Whether a verified or slow outcome has samples and possible times: positive, finite, and the minimum not above the
 * median. Other outcomes pass. */
bool work_check_time(const struct outcome *outcome);

/* Whether the stored row is the kernel that the launch asks for. WORKER_ERROR_INVALID names the member that differs. */
bool work_check_kernel(const struct launch *launch, const struct target *target,
                       const struct kernel_row *row, GError **error);

#endif
