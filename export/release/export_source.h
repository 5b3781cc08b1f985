/*
 * The results that an export judges, of a campaign or of a golden version, a part at a time: of each
 * part the gate learns the kernels as it is read. Internal to the room.
 */
#ifndef EXPORT_EXPORT_SOURCE_H
#define EXPORT_EXPORT_SOURCE_H

#include "export/release/export.h"
#include "export/release/gate.h"

struct export_source {
    /* Moves to the next part of about that many results. */
    bool (*advance)(const struct export_source *source, struct result_part *part, GError **error);
    /* GPtrArray of struct result *, by problem, then median. */
    GPtrArray *(*list)(const struct export_source *source, const struct result_part *part,
                       GError **error);
    /* Behind the last part: none of them was empty since the campaign was dropped meanwhile. */
    bool (*still_there)(const struct export_source *source, GError **error);
    Store *store;
    const struct export_wish *wish;
    const char *stack; /* golden rows: wanted of rows that fit, "" for any */
    struct gate *gate;
    int part_results;
};
#define EXPORT_PART_RESULTS 2000 /* some megabytes */

/* From the store: rows of a golden version are struct golden_row *, which begin with their result. */
void export_source_init(struct export_source *source, Store *store, const struct export_wish *wish,
                        struct gate *gate);

#endif
