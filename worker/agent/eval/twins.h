/*
 * Configs of a job that have the same code objects and start them on the same grid with the same arguments are twins:
 * one of them is evaluated, and the others take its outcome over. Twins are recognised only where the toolchain gives
 * equal bytes for equal input. A struct twins keeps outcomes of one device in memory; their number is limited.
 */
#ifndef WORKER_TWINS_H
#define WORKER_TWINS_H

#include "schema/store/store_kernels.h"
#include "worker/agent/work.h"

typedef struct twins Twins;
Twins *twins_new(void);
void twins_free(Twins *twins);

/* A text that is equal for twins of the job and different for other configs. rows: each launch's kernel. NULL where a
 * kernel's toolchain is not reproducible, or its code is not known. Free with g_free(). */
char *twins_name(int64_t job, const struct solution *solution,
                 const struct kernel_row *const rows[SOLUTION_LAUNCHES_MAX]);

/* Keeps the outcome of a config of the work's open round under the name, where only the kernels decide it: verified,
 * slow, wrong, out of bounds. */
void twins_record(Twins *twins, const char *name, const struct work *work, int index);

/* Gives the config of the work's open round the outcome of its twin, with a detail that names the twin. Returns false
 * where no outcome is kept under the name. */
bool twins_take(Twins *twins, const char *name, struct work *work, int index);

#endif
