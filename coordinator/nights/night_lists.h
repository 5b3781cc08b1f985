/*
 * A night's account for people and programs: its steps, its campaigns, its jobs by reason.
 */
#ifndef COORDINATOR_NIGHTS_NIGHT_LISTS_H
#define COORDINATOR_NIGHTS_NIGHT_LISTS_H

#include "schema/results/store_nights.h"

/* Returns the object that `run --json` and `nights show --json` print, a new reference, or NULL. */
json_t *night_details_json(Store *store, const struct night *night, GError **error);
/* Prints the same for people. */
bool night_details_print(Store *store, const struct night *night, GError **error);

#endif
