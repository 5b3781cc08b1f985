/*
 * Verdicts on entries about which a campaign and the base disagreed: which config won when both
 * were measured again (export/golden/GOLDEN.md). Internal to the folder.
 */
#ifndef EXPORT_GOLDEN_GOLDEN_VERDICT_H
#define EXPORT_GOLDEN_GOLDEN_VERDICT_H

#include "export/golden/golden.h"

/* Compares two times by the wish's noise and gain: GOLDEN_BETTER, GOLDEN_WORSE or
 * GOLDEN_WITHIN_NOISE. A spread is the interquartile range divided by the median. */
struct golden_time {
    double median_ms, spread;
};
enum golden_finding golden_compare(const struct golden_wish *wish, const struct golden_time *old,
                                   const struct golden_time *fresh);

struct golden_verdict {
    char *config; /* text of the config that becomes the entry's first */
    enum golden_finding
        finding; /* GOLDEN_CONFIRMED, GOLDEN_BETTER, GOLDEN_BASE_FAILED, or GOLDEN_NEW_SOLVER if the base lacks the entry */
};
/* Returns the verdicts (struct golden_verdict *) by golden_entry_key() for entries that were
 * measured again. An entry has none if no config was verified, or if the device drifted or was throttled and the
 * wish does not allow drift. */
GHashTable *golden_read_verdicts(Store *store, const struct golden_wish *wish, const char *target,
                                 GError **error);
/* The key of an entry: "problem_id solver". Free with g_free(). */
char *golden_entry_key(int64_t problem_id, const char *solver);

#endif
