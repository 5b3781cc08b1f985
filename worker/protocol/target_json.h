/*
 * Targets, limits and device identities as JSON objects, for messages between
 * agent and children. A target's object has all of its fields, so that both sides
 * decide by the same limits.
 */
#ifndef WORKER_PROTOCOL_TARGET_JSON_H
#define WORKER_PROTOCOL_TARGET_JSON_H

#include "solvers/framework/space.h"
#include "worker/device/device.h"

#include <jansson.h>

/* The target as an object; a new reference. */
json_t *target_to_json(const struct target *target);
/* Reads target_to_json()'s object strictly: every field must be present, of its type and within
 * its size, and the target valid (target_validate()). WORKER_ERROR_FRAME names the wrong field. */
bool target_from_json(const json_t *object, struct target *target, GError **error);

/* A campaign's limits on solutions as an object; a new reference. Agent and child need equal
 * limits to make the same solutions. */
json_t *limits_to_json(const struct context_limits *limits);
/* Reads limits_to_json()'s object; NULL: no limits. WORKER_ERROR_FRAME if a member has a wrong
 * type. */
bool limits_from_json(const json_t *object, struct context_limits *limits, GError **error);

/* The identity as an object; a new reference. */
json_t *identity_to_json(const struct device_identity *identity);
/* Reads identity_to_json()'s object. Missing and too long texts become "". */
void identity_from_json(const json_t *object, struct device_identity *identity);

#endif
