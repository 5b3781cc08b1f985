/*
 * The .sjdb of an export. It holds the entries of the other files, and what these cannot hold:
 * problems with an epilogue, each problem's own params, and the launches of each solver. Internal
 * to the folder.
 */
#ifndef EXPORT_EXPORT_COMPACT_H
#define EXPORT_EXPORT_COMPACT_H

#include "export/release/export_write.h"

bool export_compact_write(const struct export_files *files, const char *path, GError **error);
/* Reads the file back. EXPORT_ERROR_CHECK if it differs from the plan. */
bool export_compact_verify(const struct export_files *files, const char *path, GError **error);

#endif
