/*
 * Writes the .sjdb of an export. It holds the entries that the other files hold, and what their
 * formats cannot express: other operators, strides, epilogues, each problem's own params, and the launches of
 * each solver. Internal to the folder.
 */
#ifndef EXPORT_RELEASE_EXPORT_COMPACT_H
#define EXPORT_RELEASE_EXPORT_COMPACT_H

#include "export/release/export_write.h"

bool export_compact_write(const struct export_files *files, const char *path, GError **error);
/* Reads the written file. EXPORT_ERROR_CHECK if its content differs from the plan. */
bool export_compact_verify(const struct export_files *files, const char *path, GError **error);

#endif
