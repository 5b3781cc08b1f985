/*
 * Twins are configs of a job that have the same code objects and start them on the
 * same grid with the same arguments. One of them is timed; its twins are verified,
 * each in its place, and take over the times. Twins of a config that was wrong take
 * over its failure. Twins are recognised only if the toolchain gives equal bytes
 * for equal input. A struct twins keeps a limited number of outcomes of one device
 * in memory.
 */
#ifndef WORKER_AGENT_EVAL_TWINS_H
#define WORKER_AGENT_EVAL_TWINS_H

#include "schema/store/store_kernels.h"
#include "worker/agent/work.h"

typedef struct twins Twins;
Twins *twins_new(void);
void twins_free(Twins *twins);

/* A text that is equal for twins of the job and different for all other configs. rows: the
 * kernel of each launch. NULL if a kernel's toolchain is not reproducible, or its code is not
 * known. Free with g_free(). */
char *twins_name(int64_t job, const struct solution *solution,
                 const struct kernel_row *const rows[SOLUTION_LAUNCHES_MAX]);

/* Keeps the outcome of the open round's config `index` under its twins_name(), if the kernels
 * alone decide the outcome: verified, slow, wrong result, or out of bounds. */
void twins_record(Twins *twins, const char *name, const struct work *work, int index);

/* Whether the outcome kept under that name is of a config that was found right, so that its twins are verified. */
bool twins_was_right(Twins *twins, const char *name);

/* Gives the open round's config `index` the outcome kept under its twins_name(), with a detail
 * that names the twin. Returns false if no outcome is kept under that name. */
bool twins_take(Twins *twins, const char *name, struct work *work, int index);

#endif
