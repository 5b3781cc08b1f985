/* What a golden release says of itself, see golden_release.h. Internal to the room. */
#ifndef EXPORT_GOLDEN_MANIFEST_H
#define EXPORT_GOLDEN_MANIFEST_H

#include "export/export.h"
#include "schema/store_golden.h"

/* versions: the target's line; number: which of them the files are of. rows: struct golden_row *, all that
 * the release could draw from. Free with g_free(). */
char *golden_manifest(Store *store, const GPtrArray *versions, int number, const GPtrArray *rows,
                      const struct export_wish *wish, const GPtrArray *files, GError **error);

#endif
