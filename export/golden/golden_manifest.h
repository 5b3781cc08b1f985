/* What a golden release says of itself, see golden_release.h. Internal to the room. */
#ifndef EXPORT_GOLDEN_MANIFEST_H
#define EXPORT_GOLDEN_MANIFEST_H

#include "export/release/export.h"
#include "schema/store/store_golden.h"

/* versions: the target's line; wish: the version and part of it that the files hold; files: the manifest's
 * member of that name, taken. The sources of the files are read a part at a time. */
bool golden_manifest_write(Store *store, const GPtrArray *versions, const struct export_wish *wish,
                           const struct target *target, json_t *files, const char *path,
                           GError **error);

#endif
