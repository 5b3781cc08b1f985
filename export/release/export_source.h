/*
 * Reads the results to be judged, of a campaign or a golden version, a part at a time. The gate
 * learns the kernels of each part as it is read. Internal to release and golden.
 */
#ifndef EXPORT_EXPORT_SOURCE_H
#define EXPORT_EXPORT_SOURCE_H

#include "export/release/export.h"
#include "export/release/gate.h"

struct export_source {
    /* Moves to the next part, of about part_results results. */
    bool (*advance)(const struct export_source *source, struct result_part *part, GError **error);
    /* Reads a part: GPtrArray of struct result *, by problem, then median. */
    GPtrArray *(*list)(const struct export_source *source, const struct result_part *part,
                       GError **error);
    /* After the last part: fails if the campaign was dropped meanwhile, so that a part was empty
     * for that reason. */
    bool (*still_there)(const struct export_source *source, GError **error);
    Store *store;
    const struct export_wish *wish;
    const char *stack; /* for golden rows: the stack that fits, "" for any */
    struct gate *gate;
    int part_results;
};
#define EXPORT_PART_RESULTS 2000 /* results: some megabytes */

/* Reads from the store. Rows of a golden version are struct golden_row *, which begin with their
 * struct result. */
void export_source_init(struct export_source *source, Store *store, const struct export_wish *wish,
                        struct gate *gate);

#endif
