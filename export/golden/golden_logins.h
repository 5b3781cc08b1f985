/*
 * Decides whether the times of winners are confirmed by a second login. A time that one login alone
 * measured may be forged, or come from a device that is not what it claims. Where the farm has
 * another login that can measure the target, a winner counts only when the times of two logins
 * agree (export/golden/GOLDEN.md). Internal to the folder.
 */
#ifndef EXPORT_GOLDEN_LOGINS_H
#define EXPORT_GOLDEN_LOGINS_H

#include "export/golden/golden_spool.h"

enum golden_seconding {
    GOLDEN_SECONDED,   /* the times of two logins agree */
    GOLDEN_ALONE,      /* one login measured it, and no other login can */
    GOLDEN_UNSECONDED, /* one login measured it, and another login can */
    GOLDEN_DISAGREED,  /* several logins measured it, and their times differ */
};
/* Judges one winner. For the last two results, *not_by (g_free()) becomes the logins that must not
 * measure it next, a line each: all that measured it, or, where no other login can, those of the
 * time that counts. NULL for the first two results. */
enum golden_seconding golden_judge_logins(const struct golden_wish *wish,
                                          const struct golden_measured *measured, char **not_by);

/* Judges all winners among the entries to be taken: the fastest entry of a problem, where it beats
 * all that stays of the base. If another login has to measure a winner first, all entries of its
 * problem that are faster than what stays become unconfirmed, and the winner is to be measured
 * again; unless the wish allows unconfirmed entries. Sets summary->logins. */
bool golden_doubt_logins(struct golden_spool *spool, Store *store, const struct golden_wish *wish,
                         struct golden_summary *summary, GError **error);

#endif
