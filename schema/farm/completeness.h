/*
 * How complete a campaign is: how many of its jobs have ended, and which
 * problems have no winner.
 */
#ifndef SCHEMA_FARM_COMPLETENESS_H
#define SCHEMA_FARM_COMPLETENESS_H

#include "schema/store/store.h"
#include "schema/store/store_campaigns.h"

/* The kind of the event for a problem that no solver serves; its detail is the problem's key. It is
 * written when the campaign is made. Upkeep drops events after some months: such problems are then no
 * longer counted. */
#define EVENT_NO_SOLVER "no solver"

#define COMPLETENESS_NAMED 1000 /* most problems listed by key; all are counted */

struct completeness {
    int jobs, ended; /* done or failed */
    int untried; /* of the ended jobs: those that the campaign's budget ended before they tried a config */
    /* Problems without a verified config (in a build-only campaign: without a finished job),
     * including those that no solver serves. */
    int without_winner;
    /* char *: keys of the first COMPLETENESS_NAMED problems without a winner. */
    GPtrArray *problems;
};
/* Reads a campaign's completeness, of all its problems, or only of those of a network or tag
 * (NULL for no filter). Clear *completeness also after a failure. */
bool store_completeness(Store *store, const struct campaign *campaign, const char *network,
                        const char *tag, struct completeness *completeness, GError **error);
void completeness_clear(struct completeness *completeness);

/* Whether all jobs have ended and each problem has a winner. */
bool completeness_is_whole(const struct completeness *completeness);
/* A text such as "campaign 3 is not complete: 96 of its 164 jobs have ended, 1 problem has no
 * winner (KEY)". Free with g_free(). */
char *completeness_text(const struct completeness *completeness, int64_t campaign);

#endif
