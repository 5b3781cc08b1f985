/*
 * The report of a build-only campaign: its kernels; nothing was measured.
 */
#ifndef COORDINATOR_REPORTS_REPORT_BUILT_H
#define COORDINATOR_REPORTS_REPORT_BUILT_H

#include "coordinator/cli/table.h"
#include "schema/store/store.h"

struct report_built {
    /* one row for each solver: its problems, the configs that were built, and those that
     * building refused */
    Table *solvers;
    Table *matrix; /* the table that report_matrix_instructions() makes */
    int64_t configs, refused, code_bytes;
    int kernels;
    double compile_seconds;
};

/* Reads a build-only campaign. NULL with an error if it cannot be read. */
struct report_built *report_built_new(Store *store, int64_t campaign, GError **error);
void report_built_free(struct report_built *built);

void report_built_print(const struct report_built *built, FILE *out);
/* Returns the report as JSON, a new reference. */
json_t *report_built_json(const struct report_built *built);

#endif
