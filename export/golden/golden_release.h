/*
 * Exports an approved golden version: the same files as for a campaign, with TARGET.golden.json as
 * their manifest, which says what they are made from. The same version and wish give the same
 * bytes.
 */
#ifndef EXPORT_GOLDEN_GOLDEN_RELEASE_H
#define EXPORT_GOLDEN_GOLDEN_RELEASE_H

#include "export/release/export.h"
#include "schema/results/store_golden.h"

/* Returns the target (g_free()) that an optional word names: `target` itself, or for NULL the only
 * target that has golden versions. NULL with STORE_ERROR_NOT_FOUND if no target has any, with
 * G_OPTION_ERROR if several have and one must be named. */
char *golden_find_target(Store *store, const char *target, GError **error);
/* Parses a version: "3", or "latest" for the newest approved one of the target. */
bool golden_find_version(Store *store, const char *target, const char *word, int *version,
                         GError **error);

/* As export_campaign(). STORE_ERROR_STATE if the version is not approved. */
bool golden_release(Store *store, const char *word, const char *target,
                    const struct export_wish *wish, const char *dir, struct export_summary *summary,
                    GError **error);

#endif
