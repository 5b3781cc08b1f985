/*
 * Chooses the entries of a campaign that go into the next golden version. Entries, a problem
 * with a solver, are compared one by one with what the base holds: what is new
 * is taken, what replaces an entry that does not hold any more, and what is
 * faster beyond the noise; the rest is counted. All of it passes export's gate
 * (gate.h) first.
 *
 * Noise has its lucky times: who takes the better time alone keeps the luckiest
 * one for ever. So where both disagree beyond the noise, either way, or about
 * the problem's winner, the configs of both sides are measured again in the
 * campaign before either counts (store_golden.h), and the entry then gets its
 * time from that, better or worse. A first round decides which config the entry
 * has first, the base's unless another one is faster beyond the noise; a second
 * round gives the times, so none is kept for its luck.
 *
 * One login alone may say of a config what it likes. So where another login has workers that can measure the
 * target, the fastest entry of a problem counts when the times of two logins agree; until then it is measured
 * again by workers of another login, and what is as fast of its problem waits with it.
 *
 * A kernel-db knows one code object of a name. Where what is taken brings
 * another one than an entry of the base has, as another compiler does, that
 * entry is replaced too, or it would be refused on export.
 */
#ifndef EXPORT_GOLDEN_H
#define EXPORT_GOLDEN_H

#include "export/release/export.h"
#include "schema/results/store_golden.h"

struct golden_wish {
    int64_t campaign;
    int base; /* must be the newest approved version; below 0 for whichever that is */
    const char *by, *note;
    /* Two medians differ beyond the noise if their distance exceeds `noise` times the mean of both
     * interquartile ranges, and `gain` (a percentage) of the old one. */
    double noise, gain;
    bool allow_incomplete; /* allow a campaign that is not complete (completeness.h) */
    bool allow_drift; /* allow results measured while the device drifted (schema/store/drift.h) */
    bool allow_unconfirmed; /* take better entries without measuring again */
    bool remeasure;         /* have disputed entries measured again */
};
#define GOLDEN_NOISE_FACTOR 1.0
#define GOLDEN_GAIN_PERCENT 1.0 /* two processes differ by this much */

enum golden_finding {
    GOLDEN_NEW_PROBLEM, /* taken: */
    GOLDEN_NEW_SOLVER,
    GOLDEN_OTHER_REVISION, /* the base's is of a solver revision that the registry lacks */
    GOLDEN_NOT_VALID,      /* the gate refuses the base's today */
    GOLDEN_OTHER_STACK, /* the base's was measured under software that the campaign does not ask for */
    GOLDEN_BETTER,
    GOLDEN_CONFIRMED,     /* the base's config stays, with its new time */
    GOLDEN_BASE_FAILED,   /* the base's config failed when measured again */
    GOLDEN_SHARED_KERNEL, /* the base's code object shares its name with one that is taken */
    GOLDEN_WITHIN_NOISE,  /* not taken: */
    GOLDEN_WORSE,
    GOLDEN_UNCONFIRMED, /* disagrees with the base, and was not measured again yet */
    GOLDEN_REFUSED,     /* by the gate */
    /* Entries of the base that the campaign cannot replace: */
    GOLDEN_STALE_LEFT,  /* no longer valid */
    GOLDEN_KERNEL_LEFT, /* its code object shares its name with one that is taken */
    GOLDEN_FINDING_COUNT,
};
#define GOLDEN_TAKEN_COUNT GOLDEN_WITHIN_NOISE /* findings below this one are reasons of rows */
/* The finding's name: "new problem". Static. */
const char *golden_finding_name(enum golden_finding finding);

/* Winners whose time no second login has confirmed. */
struct golden_logins {
    int alone;     /* taken: no other login can measure them, or unconfirmed ones are allowed */
    int awaited;   /* left out until another login measures them; also counted as disputes */
    int disagreed; /* awaited ones that several logins measured with different times */
    char *measured_by,
        *able; /* logins, joined by ", ": who measured these winners, and who can; NULL for none */
};
struct golden_summary {
    char *target;
    int base, version;                 /* version 0: nothing to propose */
    bool is_new;                       /* false: the same had been proposed before */
    int counts[GOLDEN_FINDING_COUNT];  /* entries */
    int disputes;                      /* entries to be measured again */
    struct golden_remeasure remeasure; /* the request to measure them, if the wish asked for it */
    struct golden_logins logins;
    struct refusals refused;          /* the refused results */
    struct completeness completeness; /* of the campaign */
};
void golden_summary_clear(struct golden_summary *summary);

/* Proposes a version. *summary is cleared by the caller, also after failure. EXPORT_ERROR_EMPTY if
 * the campaign has no results, EXPORT_ERROR_INCOMPLETE if it is not complete and that is not
 * allowed. */
bool golden_propose(Store *store, const struct golden_wish *wish, struct golden_summary *summary,
                    GError **error);

#endif
