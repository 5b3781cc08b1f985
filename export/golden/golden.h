/*
 * Chooses the entries of a campaign that go into the next golden version. An entry is a problem
 * with a solver. Each entry of the campaign is compared with the base, the newest approved version:
 * it is taken if the base lacks it, if it replaces an entry that no longer holds, or if it is
 * faster beyond the noise. All other entries are only counted. Every result passes export's gate
 * (gate.h) first.
 *
 * Measured times vary by chance, so always taking the smaller of two times would in the end keep
 * the luckiest one. Where campaign and base disagree beyond the noise, in either direction, or
 * about a problem's winner, the configs of both are therefore measured again in the campaign
 * (store_golden.h), and the entry gets its time from these measurements, better or worse. A first
 * round decides which config comes first: the base's, unless another one is faster beyond the
 * noise. A second round gives the times, so that no time is kept because it was lucky.
 *
 * A single login could report any time. Where another login has workers that can measure the
 * target, the fastest entry of a problem is only taken when the times of two logins agree. Until
 * then, workers of another login measure it again, and the problem's other entries that are faster
 * than the base wait, too.
 *
 * A kernel-db can hold one code object of a name. If an entry that is taken brings another code
 * object, under the same name, than an entry of the base (from another compiler, for instance),
 * then the base's entry is replaced as well: an export would refuse one of the two.
 */
#ifndef EXPORT_GOLDEN_GOLDEN_H
#define EXPORT_GOLDEN_GOLDEN_H

#include "export/release/export.h"
#include "schema/results/store_golden.h"

struct golden_wish {
    int64_t campaign;
    /* version to compare with, which must be the newest approved one; a negative number means
     * whichever this is */
    int base;
    const char *by, *note;
    /* Two medians differ beyond the noise if their distance exceeds `noise` times the mean of both
     * interquartile ranges, and is at least the part `gain` (a fraction, 0.01 for 1 %) of the old
     * median. */
    double noise, gain;
    bool allow_incomplete; /* propose from a campaign that is not complete, too (completeness.h) */
    /* take results measured while the device drifted or was throttled, too (schema/store/drift.h) */
    bool allow_drift;
    /* take faster entries at once, without measuring them again or waiting for a second login */
    bool allow_unconfirmed;
    /* have the entries measured again on which campaign and base disagree */
    bool remeasure;
};
#define GOLDEN_NOISE_FACTOR 1.0
/* default of --gain in percent: two processes that measure one config differ by about as much */
#define GOLDEN_GAIN_PERCENT 1.0

enum golden_finding {
    GOLDEN_NEW_PROBLEM, /* taken: */
    GOLDEN_NEW_SOLVER,
    GOLDEN_OTHER_REVISION, /* replaces an entry whose solver revision this program lacks */
    GOLDEN_NOT_VALID,      /* replaces an entry that the gate refuses today */
    /* replaces an entry measured under software that the campaign does not ask for */
    GOLDEN_OTHER_STACK,
    GOLDEN_BETTER,
    GOLDEN_CONFIRMED,   /* measured again, the base's config stays first and gets its new time */
    GOLDEN_BASE_FAILED, /* measured again, the base's config failed */
    /* its kernel in the base has the name of another entry's new kernel */
    GOLDEN_SHARED_KERNEL,
    GOLDEN_WITHIN_NOISE, /* not taken: */
    GOLDEN_WORSE,
    GOLDEN_UNCONFIRMED, /* disagrees with the base, and has not been measured again yet */
    GOLDEN_REFUSED,     /* by the gate */
    /* Findings about entries of the base that the campaign does not replace: */
    GOLDEN_STALE_LEFT,  /* no longer valid */
    GOLDEN_KERNEL_LEFT, /* its code object has the same name as another one that is taken */
    GOLDEN_FINDING_COUNT,
};
/* findings below this one are reasons why an entry is taken; this one and those behind it are
 * reasons why it is not */
#define GOLDEN_TAKEN_COUNT GOLDEN_WITHIN_NOISE
/* The finding's name: "new problem". Static. */
const char *golden_finding_name(enum golden_finding finding);

/* How many winners have a time that no second login has confirmed. */
struct golden_logins {
    int alone; /* taken nevertheless: no other login can measure them, or the wish allows it */
    /* left out until another login measures them; golden_summary.disputes counts them, too */
    int awaited;
    int disagreed; /* those of `awaited` that several logins measured with different times */
    /* logins, joined by ", ", that measured these winners, and that could measure them again; NULL
     * for no login */
    char *measured_by, *able;
};
struct golden_summary {
    char *target;
    /* numbers of the versions; version is 0 if there is nothing to propose */
    int base, version;
    bool is_new;                      /* false if an equal version had been proposed before */
    int counts[GOLDEN_FINDING_COUNT]; /* entries */
    int disputes;                     /* entries that have to be measured again */
    /* the result of asking for these measurements; zeros if the wish does not ask */
    struct golden_remeasure remeasure;
    struct golden_logins logins;
    struct refusals refused; /* results that the gate refused, counts[GOLDEN_REFUSED] of them */
    struct completeness completeness; /* of the campaign */
};
void golden_summary_clear(struct golden_summary *summary);

/* Proposes a version. *summary is cleared by the caller, also after failure. EXPORT_ERROR_EMPTY if
 * the campaign has no results, EXPORT_ERROR_CHECK if it is build-only, EXPORT_ERROR_INCOMPLETE if it is not complete and that is not
 * allowed. */
bool golden_propose(Store *store, const struct golden_wish *wish, struct golden_summary *summary,
                    GError **error);

#endif
