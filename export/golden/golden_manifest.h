/* What a golden release says of itself, see golden_release.h. Internal to the room. */
#ifndef EXPORT_GOLDEN_MANIFEST_H
#define EXPORT_GOLDEN_MANIFEST_H

#include "export/release/export.h"
#include "schema/store_golden.h"

/* versions: the target's line; wish: of which of them the files are, and which part. Writes the file, whole or
 * not at all; what it is made from is read a part at a time. */
bool golden_manifest_write(Store *store, const GPtrArray *versions, const struct export_wish *wish,
                           const GPtrArray *files, const char *path, GError **error);

#endif
