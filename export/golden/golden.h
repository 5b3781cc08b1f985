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
#include "schema/store/store_golden.h"

struct golden_wish {
    int64_t campaign;
    int base; /* the newest approved version, or it is refused; below 0 for that one */
    const char *by, *note;
    /* Faster beyond the noise: the medians are further apart than `noise` times the mean of both
     * interquartile ranges, and by `gain` of the old one at the least. */
    double noise, gain;
    bool allow_incomplete; /* also of a campaign that is not complete (completeness.h) */
    bool allow_drift; /* also what was measured while the device drifted (schema/store/drift.h) */
    bool allow_unconfirmed; /* what is better counts without being measured again */
    bool remeasure;         /* has what disagrees measured again */
};
#define GOLDEN_NOISE_FACTOR 1.0
#define GOLDEN_GAIN_PERCENT 1.0 /* less is below what one process differs from the next */

enum golden_finding {
    GOLDEN_NEW_PROBLEM, /* taken: */
    GOLDEN_NEW_SOLVER,
    GOLDEN_OTHER_REVISION, /* the base's is of a revision that the registry has not */
    GOLDEN_NOT_VALID,      /* the gate refuses the base's today */
    GOLDEN_OTHER_STACK,    /* the base's was not measured under what the campaign asks for */
    GOLDEN_BETTER,
    GOLDEN_CONFIRMED, /* the base's config stays, with the time that it took when measured again */
    GOLDEN_BASE_FAILED,   /* the base's config failed when it was measured again */
    GOLDEN_SHARED_KERNEL, /* the base's kernel has the name of another that was taken */
    GOLDEN_WITHIN_NOISE,  /* not taken: */
    GOLDEN_WORSE,
    GOLDEN_UNCONFIRMED, /* disagrees with the base, and was not measured again beside it yet */
    GOLDEN_REFUSED,     /* by the gate */
    /* Of the base, with nothing in the campaign to replace it: */
    GOLDEN_STALE_LEFT,  /* does not hold any more */
    GOLDEN_KERNEL_LEFT, /* its kernel has the name of another that was taken */
    GOLDEN_FINDING_COUNT,
};
#define GOLDEN_TAKEN_COUNT GOLDEN_WITHIN_NOISE /* those before it are reasons of rows */
/* "new problem". Static. */
const char *golden_finding_name(enum golden_finding finding);

/* Winners without times of two logins that agree. */
struct golden_logins {
    int alone; /* that are taken: no other login can measure them, or unconfirmed ones are allowed */
    int awaited; /* that are left out until another login measured them; they are among the disputes */
    int disagreed; /* of the awaited ones: those that several logins measured, with other times */
    char *measured_by,
        *able; /* logins, joined by ", ": who measured these, and who can; NULL for none */
};
struct golden_summary {
    char *target;
    int base, version;                 /* version 0: there is nothing to propose */
    bool is_new;                       /* false: it had been proposed before */
    int counts[GOLDEN_FINDING_COUNT];  /* entries */
    int disputes;                      /* entries to be measured again ... */
    struct golden_remeasure remeasure; /* ... and what became of that, where it was wished */
    struct golden_logins logins;
    struct refusals refused;          /* as many as were counted */
    struct completeness completeness; /* of the campaign */
};
void golden_summary_clear(struct golden_summary *summary);

/* Proposes what the campaign brings. *summary is the caller's to clear, also on failure. EXPORT_ERROR_EMPTY
 * where the campaign has no results, EXPORT_ERROR_INCOMPLETE where it is not complete and that is not allowed. */
bool golden_propose(Store *store, const struct golden_wish *wish, struct golden_summary *summary,
                    GError **error);

#endif
