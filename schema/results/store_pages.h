/*
 * Pages: lists for people, a part at a time, as `serve` answers them. A list's
 * items come from one function of functions/pages.sql, and the answer has them as the database
 * gives them: the members of each are those of the schemas in coordinator/serve/openapi.json.
 */
#ifndef SCHEMA_RESULTS_STORE_PAGES_H
#define SCHEMA_RESULTS_STORE_PAGES_H

#include "schema/store/store.h"

#include <jansson.h>

enum page {
    PAGE_LOG,
    PAGE_CAMPAIGNS,
    PAGE_OPEN_CAMPAIGNS, /* those active or paused, without the numbers of their jobs: {"ID": item} */
    PAGE_JOBS,
    PAGE_JOB,
    PAGE_REJECTIONS,
    PAGE_CONDITIONS, /* the newest of each device, by its UUID or address: {"DEVICE": item} */
    PAGE_QUARANTINE,
    PAGE_PROBLEMS,
    PAGE_PROBLEM,
    PAGE_PROBLEM_CONFIGS,
    PAGE_TARGETS,
    PAGE_CAMPAIGN_GOLDEN, /* whole, without an order */
    PAGE_GOLDEN_DIFF,     /* whole, without an order */
    PAGE_NIGHTS,
    PAGE_NIGHT,
    PAGE_NIGHT_JOBS,
    PAGE_NIGHT_FINDINGS,
    PAGE_NEWEST_NIGHTS, /* of each name */
    PAGE_PAST_RATES,    /* rates of the last hour; asked: step_seconds */
    PAGE_OUTBOX,        /* one item: how many messages wait */
    PAGE_COUNT
};

/* asked: the question's members ("campaign", "target", ...), borrowed. These mean the same for all lists:
 *   "limit"    most items, 100 if it is missing
 *   "after"    the `next` of the page before
 *   "search"   only items whose problem's key has this text (where the items have a problem); a page of a
 *              search may have fewer items and still a next one
 *   "failure"  a failure's name
 *   "reason"   the name of a night's reason
 *   "key"      a problem's key
 * Returns an array, a new reference, and *next: the `after` of the next page, NULL at the end; free with g_free(). next
 * may be NULL. STORE_ERROR_REFUSED for an unknown failure, reason, key or `after`. */
json_t *store_page(Store *store, enum page page, const json_t *asked, char **next, GError **error);

/* The id of the problem of a key. STORE_ERROR_REFUSED for a text that is no key, STORE_ERROR_NOT_FOUND for a problem
 * that is not stored. */
bool store_find_problem(Store *store, const char *key, int64_t *id, GError **error);

#endif
