/*
 * The .sjdb of an export: what the other files hold, and what they cannot: problems with an epilogue, the
 * params that a problem shares no row for, and how each solver runs. Internal to the room.
 */
#ifndef EXPORT_EXPORT_COMPACT_H
#define EXPORT_EXPORT_COMPACT_H

#include "export/release/export_write.h"

bool export_compact_write(const struct export_files *files, const char *path, GError **error);
/* Reads it back: EXPORT_ERROR_CHECK where it does not say what the plan says. */
bool export_compact_verify(const struct export_files *files, const char *path, GError **error);

#endif
