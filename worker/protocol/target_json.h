/*
 * A target as a JSON object, the way it travels between agent and children:
 * all of its fields, so that both sides judge by the same limits. Also which
 * device it is.
 */
#ifndef WORKER_TARGET_JSON_H
#define WORKER_TARGET_JSON_H

#include "solvers/framework/space.h"
#include "worker/device/device.h"

#include <jansson.h>

/* A new reference. */
json_t *target_to_json(const struct target *target);
/* Strict inverse: every field must be there, of its type and within its size, and the target valid
 * (target_validate()). WORKER_ERROR_FRAME names the field that is wrong. */
bool target_from_json(const json_t *object, struct target *target, GError **error);

/* The limits under which a campaign's solutions are made: agent and child must make the same. A new reference. */
json_t *limits_to_json(const struct context_limits *limits);
/* object NULL: no limits. WORKER_ERROR_FRAME where one is not of its type. */
bool limits_from_json(const json_t *object, struct context_limits *limits, GError **error);

/* A new reference. */
json_t *identity_to_json(const struct device_identity *identity);
/* What is missing or too long becomes "". */
void identity_from_json(const json_t *object, struct device_identity *identity);

#endif
