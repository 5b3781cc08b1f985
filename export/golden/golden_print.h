/* What the verbs of `skipjack golden` print, as text or as one JSON value. Internal to the room. */
#ifndef EXPORT_GOLDEN_PRINT_H
#define EXPORT_GOLDEN_PRINT_H

#include "export/golden/golden.h"

/* Lists are of store_golden.h. rows: what the version changes of its base, NULL where there is none. */
void golden_print_versions(const GPtrArray *versions, bool json);
void golden_print_changes(const char *target, int a, int b, const GPtrArray *rows, bool json);
/* False where what was refused cannot be read back. */
bool golden_print_summary(const struct golden_summary *summary, const GPtrArray *rows, bool json,
                          GError **error);
void golden_print_state(const char *target, int version, const char *state, bool json);
void golden_print_pruned(const char *target, int before, const struct golden_pruned *pruned,
                         bool json);
/* target NULL: the farm's. */
void golden_print_policy(const char *target, bool two_persons, bool json);

#endif
