/*
 * A target as a JSON object, the way it travels between agent and children:
 * all of its fields, so that both sides judge by the same limits. Also which
 * device it is.
 */
#ifndef WORKER_TARGET_JSON_H
#define WORKER_TARGET_JSON_H

#include "worker/device/device.h"

#include <jansson.h>

/* A new reference. */
json_t *target_to_json(const struct target *target);
/* Strict inverse: every field must be there, of its type and within its size, and the target valid
 * (target_validate()). WORKER_ERROR_FRAME names the field that is wrong. */
bool target_from_json(const json_t *object, struct target *target, GError **error);

/* A new reference. */
json_t *identity_to_json(const struct device_identity *identity);
/* What is missing or too long becomes "". */
void identity_from_json(const json_t *object, struct device_identity *identity);

#endif
