/*
 * What goes into the files, chosen from the results that pass the gate: a few
 * find-db entries a key, one perf record a config row and solver, and
 * every kernel that any of them needs. Internal to the room.
 */
#ifndef EXPORT_EXPORT_PLAN_H
#define EXPORT_EXPORT_PLAN_H

#include "export/export.h"
#include "export/formats/perf_db.h"
#include "export/gate.h"

struct planned_line {
    struct problem problem;
    char *text; /* a find-db line, without its line end */
};

struct planned_kernel {
    char *name, *args; /* as in the kernel-db */
    char *key;         /* in the store */
    char *sha256;      /* of the code object */
};

struct export_plan {
    GPtrArray *lines;   /* struct planned_line *, by key */
    GPtrArray *records; /* struct perf_record *, by perf_record_compare */
    GPtrArray *kernels; /* struct planned_kernel *, by name and args */
};

/* Counts into *summary, whose refused must be there. */
void export_plan_init(struct export_plan *plan, const struct export_wish *wish, struct gate *gate,
                      const GPtrArray *results, struct export_summary *summary);
void export_plan_clear(struct export_plan *plan);

/* Writes the files of `what` into folder and reads them back: EXPORT_ERROR_CHECK when one does not
 * say what the plan says. Appends the names of the files to names (g_free). */
bool export_plan_write(const struct export_plan *plan, Store *store, const struct target *target,
                       unsigned what, const char *folder, GPtrArray *names, GError **error);

#endif
