/*
 * Decides whether the times of winners are confirmed by a second login. A time that one login alone
 * measured may be forged, or come from a device that is not what it claims. Where the farm has
 * another login that can measure the target, a winner counts only when the times of two logins
 * agree (export/golden/GOLDEN.md). Internal to the folder.
 */
#ifndef EXPORT_GOLDEN_GOLDEN_LOGINS_H
#define EXPORT_GOLDEN_GOLDEN_LOGINS_H

#include "export/golden/golden_spool.h"

enum golden_seconding {
    GOLDEN_SECONDED,   /* the times of two logins agree */
    GOLDEN_ALONE,      /* one login measured it, and no other login has workers that can */
    GOLDEN_UNSECONDED, /* one login measured it, and another login has workers that can */
    GOLDEN_DISAGREED,  /* several logins measured it, and their times differ */
};
/* Judges one winner. For the last two results, *not_by (g_free()) lists the logins that must not
 * measure it next, one a line: all logins that measured it, or, if no further login can, only those
 * whose time counts now. NULL for the first two results. */
enum golden_seconding golden_judge_logins(const struct golden_wish *wish,
                                          const struct golden_measured *measured, char **not_by);

/* Judges all winners: for each problem the fastest entry to be taken, if it beats every entry of
 * the base that stays. If another login has to measure a winner first, the finding of all the
 * problem's entries that beat the base becomes GOLDEN_UNCONFIRMED, and the winner is added to those
 * to be measured again; unless the wish allows unconfirmed entries. Sets summary->logins. */
bool golden_doubt_logins(struct golden_spool *spool, Store *store, const struct golden_wish *wish,
                         struct golden_summary *summary, GError **error);

#endif
