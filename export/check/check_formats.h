/* One check for each file format. check.c has a table with a row for each function; each function
 * is in the file of its name. Internal to the folder. */
#ifndef EXPORT_CHECK_CHECK_FORMATS_H
#define EXPORT_CHECK_CHECK_FORMATS_H

#include "export/check/check_report.h"

void check_find_db(const char *path, struct check_report *report);
void check_perf_db(const char *path, struct check_report *report);
void check_perf_text(const char *path, struct check_report *report);
void check_kernel_db(const char *path, struct check_report *report);
void check_sjdb(const char *path, struct check_report *report);
/* Also compares the files that the manifest lists, and looks for unlisted ones of the release beside it. */
void check_manifest(const char *path, struct check_report *report);

#endif
