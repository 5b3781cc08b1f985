/*
 * What the database says of a job, checked before it is used. Whoever writes
 * there may err: a row that no planner or worker makes must end its job with a
 * reason, and no more than its job.
 */
#ifndef WORKER_WORK_CHECK_H
#define WORKER_WORK_CHECK_H

#include "schema/store/store_kernels.h"
#include "worker/agent/work.h"

/* Why the job cannot be worked on, NULL where it can: its rows are damaged, this program has not its
 * solver at its revision, its target is not known (NULL), its numbers make no sense, an eval claim has
 * no open round. Configs are not judged here: the solver refuses them one by one. Free with g_free(). */
char *work_check(const struct job *job, const struct target *target, enum pool pool);

/* Whether an outcome that was verified has a time that can be. */
bool work_check_time(const struct outcome *outcome);

/* Whether what the database has under a kernel's key is the kernel that the launch asks for.
 * WORKER_ERROR_INVALID says what differs. */
bool work_check_kernel(const struct launch *launch, const struct target *target,
                       const struct kernel_row *row, GError **error);

#endif
