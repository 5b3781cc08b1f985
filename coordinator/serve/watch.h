/*
 * Serve's knowledge of the farm at any time: the state that was read last, the
 * rates of the last day, and the changes since the reading before, which are
 * sent to listeners.
 *
 * All calls are made on the loop's thread.
 */
#ifndef COORDINATOR_SERVE_WATCH_H
#define COORDINATOR_SERVE_WATCH_H

#include "coordinator/serve/ask.h"
#include "coordinator/serve/live.h"
#include "schema/farm/farm.h"

typedef struct watch Watch;

/* Begins to read. node: where serve runs; borrowed. */
Watch *watch_new(uv_loop_t *loop, Live *live, const char *node);
/* Reads no more; the loop must run until the reading under way is done. */
void watch_end(Watch *watch);
/* After the loop has ended. */
void watch_free(Watch *watch);

/* The state that was read last; NULL before the first time. */
const struct farm_state *watch_farm(const Watch *watch);
/* Whether the last reading succeeded, not long ago. */
bool watch_is_up(const Watch *watch);
/* Why it is not up, one line; "" if it is. Free with g_free(). */
char *watch_trouble(const Watch *watch);
double watch_ask_seconds(const Watch *watch);
/* The newest night of each name: array of {"name", "state", "begun_unix", "ended_unix", "deadline_unix", "findings",
 * "failed"}. Borrowed; NULL before the first reading. */
const json_t *watch_nights(const Watch *watch);
/* {"waiting", "failed", "oldest_seconds"} of the outbox; likewise. */
const json_t *watch_outbox(const Watch *watch);

/* Answers as the API gives them, borrowed; NULL before the first reading. */
const struct reply *watch_farm_reply(const Watch *watch);
const struct reply *watch_nodes_reply(const Watch *watch);
/* forecasts_to_json() of the last reading, borrowed. */
json_t *watch_forecasts(const Watch *watch);
/* The schema RateSeries of the last `minutes`, in at most `points`. A new reference. */
json_t *watch_rates(const Watch *watch, int minutes, int points);

#endif
