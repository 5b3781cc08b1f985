/*
 * Verdicts on entries on which a campaign and the golden version disagreed
 * (golden.h): which config measuring again has chosen. Internal to the room.
 */
#ifndef EXPORT_GOLDEN_VERDICT_H
#define EXPORT_GOLDEN_VERDICT_H

#include "export/golden/golden.h"

/* GOLDEN_BETTER, GOLDEN_WORSE, or GOLDEN_WITHIN_NOISE as the wish has it. Spreads are over the medians. */
struct golden_time {
    double median_ms, spread;
};
enum golden_finding golden_compare(const struct golden_wish *wish, const struct golden_time *old,
                                   const struct golden_time *fresh);

struct golden_verdict {
    char *config; /* that the entry is to have first */
    enum golden_finding
        finding; /* GOLDEN_CONFIRMED, GOLDEN_BETTER, GOLDEN_BASE_FAILED; GOLDEN_NEW_SOLVER
                                    where the base has no such entry */
};
/* "problem_id solver" -> struct golden_verdict *, for entries that were measured again. There is no verdict where no
 * config was verified, and where the device drifted, unless the wish allows drift. */
GHashTable *golden_read_verdicts(Store *store, const struct golden_wish *wish, const char *target,
                                 GError **error);
/* The key of an entry. Free with g_free(). */
char *golden_entry_key(int64_t problem_id, const char *solver);

#endif
