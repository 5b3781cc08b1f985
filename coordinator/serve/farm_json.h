/*
 * The farm's state as the API answers it: the schemas Farm, Node, Campaign and
 * RatePoint of openapi.json.
 */
#ifndef COORDINATOR_SERVE_FARM_JSON_H
#define COORDINATOR_SERVE_FARM_JSON_H

#include "schema/farm/farm.h"

#include <jansson.h>

/* Facts about the answer that the farm's state does not have. */
struct farm_about {
    const char *node, *error;  /* error: why the database does not answer, NULL if it does */
    double answer_age_seconds; /* negative: there is no answer yet */
    unsigned listeners;
};

/* All return new references. farm may be NULL in farm_to_json() and forecasts_to_json(). */
json_t *farm_to_json(const struct farm_state *farm, const struct farm_about *about);
/* The array of nodes. conditions: of PAGE_CONDITIONS. */
json_t *nodes_to_json(const struct farm_state *farm, const json_t *conditions);
json_t *rate_to_json(const struct farm_state *farm);

/* The members that the row of an active or paused campaign has beside: {"ID": {"workers": 3, "eta_seconds": 60.5 or null}}. */
json_t *forecasts_to_json(const struct farm_state *farm);

/* A node without what changes all the time (ages): nodes that are equal in this have not changed. */
json_t *node_without_ages(const json_t *node);

#endif
