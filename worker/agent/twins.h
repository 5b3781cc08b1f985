/*
 * Configs of a job that come to the same code objects, started on the same grid
 * with the same arguments, are twins: one of them is evaluated, and the others
 * take its outcome over. Only code of a toolchain that gives equal bytes for
 * equal input can be told apart so. What is kept is for one device, of the
 * agent's life, and bounded.
 */
#ifndef WORKER_TWINS_H
#define WORKER_TWINS_H

#include "schema/store/store_kernels.h"
#include "worker/agent/work.h"

typedef struct twins Twins;
Twins *twins_new(void);
void twins_free(Twins *twins);

/* What a config's outcome depends on, as a text that twins of the job share. rows: each launch's kernel.
 * NULL where a kernel's toolchain is not reproducible, or its code not known. Free with g_free(). */
char *twins_name(int64_t job, const struct solution *solution,
                 const struct kernel_row *const rows[SOLUTION_LAUNCHES_MAX]);

/* Keeps the outcome of a config of the work's open round under the name, where it is one that the
 * kernels alone decide: verified, dropped as slow, wrong, out of bounds. */
void twins_record(Twins *twins, const char *name, const struct work *work, int index);

/* Gives the config of the work's open round the outcome of its twin, and says so in its detail; false
 * where there is none. */
bool twins_take(Twins *twins, const char *name, struct work *work, int index);

#endif
