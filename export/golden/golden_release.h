/*
 * Export of an approved golden version: the same files as of a campaign, with
 * another manifest beside them, TARGET.golden.json, that says what they are made
 * from. The same version and wish give the same bytes.
 */
#ifndef EXPORT_GOLDEN_RELEASE_H
#define EXPORT_GOLDEN_RELEASE_H

#include "export/release/export.h"
#include "schema/store/store_golden.h"

/* Finds the one with golden versions where target is NULL; free with g_free(). NULL with an error where there
 * is none (STORE_ERROR_NOT_FOUND), or several (G_OPTION_ERROR: somebody has to name one). */
char *golden_find_target(Store *store, const char *target, GError **error);
/* "3", or "latest" for the newest approved one of the target. */
bool golden_find_version(Store *store, const char *target, const char *word, int *version,
                         GError **error);

/* As export_campaign(). STORE_ERROR_STATE where the version
 * is not approved. */
bool golden_release(Store *store, const char *word, const char *target,
                    const struct export_wish *wish, const char *dir, struct export_summary *summary,
                    GError **error);

#endif
