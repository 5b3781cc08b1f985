/*
 * Reads the results to be judged, of a campaign or a golden version, a part at a time. The gate
 * learns the kernels of each part as it is read. Internal to release and golden.
 */
#ifndef EXPORT_RELEASE_EXPORT_SOURCE_H
#define EXPORT_RELEASE_EXPORT_SOURCE_H

#include "export/release/export.h"
#include "export/release/gate.h"

struct export_source {
    /* Moves *part to the next one, of about part_results results. */
    bool (*advance)(const struct export_source *source, struct result_part *part, GError **error);
    /* Reads the results of the part: GPtrArray of struct result *, ordered by problem and then by
     * median time; those of a build-only campaign by job. */
    GPtrArray *(*list)(const struct export_source *source, const struct result_part *part,
                       GError **error);
    /* Called after the last part: fails if the campaign was dropped meanwhile, in which case the
     * parts read were empty or not complete. */
    bool (*still_there)(const struct export_source *source, GError **error);
    Store *store;
    const struct export_wish *wish;
    /* the software stack with which golden rows are compared, "" to accept any */
    const char *stack;
    struct gate *gate;
    int part_results;
};
#define EXPORT_PART_RESULTS 2000 /* default of part_results: these take some megabytes of memory */

/* Prepares to read from the store. Results of a golden version are struct golden_row *, which begin
 * with a struct result. */
void export_source_init(struct export_source *source, Store *store, const struct export_wish *wish,
                        struct gate *gate);

#endif
