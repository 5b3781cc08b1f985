/*
 * Checks a file of ours or of MIOpen's: is it sound, and fit to ship? The content tells the format;
 * the name tells only manifests, and text files that are empty or have no readable line at their
 * beginning. A check never fails on what a file holds: what cannot be read becomes part of the
 * report (export/check/CHECK.md).
 */
#ifndef EXPORT_CHECK_CHECK_H
#define EXPORT_CHECK_CHECK_H

#include "export/check/check_report.h"

/* Sets *kind to the format of the file's content. EXPORT_ERROR_KIND for any other content;
 * EXPORT_ERROR_IO or EXPORT_ERROR_DAMAGED if the file cannot be read. */
bool check_file_kind(const char *path, enum file_kind *kind, GError **error);

/* Checks one file, or a manifest with the files that it lists. Never NULL; free with check_report_free(). */
struct check_report *check_file(const char *path);

/* Appends the folder's files that have a format's or a manifest's name, sorted by name; or the path itself if it is no
 * folder. Elements are freed with g_free(). */
bool check_list_files(const char *path, GPtrArray *files, GError **error);

#endif
