/*
 * The logins that measured a winner. A time that one login alone has measured may be forged, or come from a device that is not
 * what it seems; so where the farm has another login that can measure the target, a winner counts when the times of
 * two logins agree. Internal to the room.
 */
#ifndef EXPORT_GOLDEN_LOGINS_H
#define EXPORT_GOLDEN_LOGINS_H

#include "export/golden/golden_spool.h"

enum golden_seconding {
    GOLDEN_SECONDED,   /* the times of two logins agree */
    GOLDEN_ALONE,      /* one login measured it, and no other one can */
    GOLDEN_UNSECONDED, /* one login measured it, and another one can */
    GOLDEN_DISAGREED,  /* several logins measured it, and their times differ */
};
/* *not_by: for the last two, the logins that are not to measure it the next time, a line each: all that measured
 * it, or where no other one can, those of the time that counts. Free with g_free(). NULL for the first two. */
enum golden_seconding golden_judge_logins(const struct golden_wish *wish,
                                          const struct golden_measured *measured, char **not_by);

/* Asks who measured the winners among what is to be taken: the fastest entry of a problem, where it is faster than
 * all that stays of the base. Where another login has to measure one first, all entries of its problem that are
 * faster than what stays are unconfirmed, and the winner is to be measured again, unless the wish allows
 * unconfirmed ones. Sets summary->logins. */
bool golden_doubt_logins(struct golden_spool *spool, Store *store, const struct golden_wish *wish,
                         struct golden_summary *summary, GError **error);

#endif
