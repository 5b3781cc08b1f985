/*
 * Checks the database's rows about a job before they are used. A row that no
 * planner or worker of ours writes must end its job with a reason, and must not
 * end the agent.
 */
#ifndef WORKER_AGENT_WORK_CHECK_H
#define WORKER_AGENT_WORK_CHECK_H

#include "schema/store/store_kernels.h"
#include "worker/agent/work.h"

/* Why the job cannot be worked on: its rows are damaged, this program lacks its solver in its revision, its target is
 * unknown (NULL), a number is out of range, or an eval claim has no open round. NULL where it can be worked on. Configs
 * are not checked here: the solver refuses them one by one. Free with g_free(). */
char *work_check(const struct job *job, const struct target *target, enum pool pool);

/* Whether an outcome with a time (verified or slow) has samples, and possible times: positive,
 * finite, and the minimum not above the median. Always true for outcomes without a time. */
bool work_check_time(const struct outcome *outcome);

/* Whether the stored row is the kernel that the launch asks for. If not, sets
 * WORKER_ERROR_INVALID with the name of the field that differs. */
bool work_check_kernel(const struct launch *launch, const struct target *target,
                       const struct kernel_row *row, GError **error);

#endif
