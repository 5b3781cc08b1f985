/*
 * The report of a night as a page: one file that refers to no other host, for narrow and wide screens, light and
 * dark. Every text of the report is escaped.
 */
#ifndef COORDINATOR_NIGHTS_REPORT_NIGHT_HTML_H
#define COORDINATOR_NIGHTS_REPORT_NIGHT_HTML_H

#include <jansson.h>

/* The page of a report (night_report.h). Free with g_free(). */
char *night_html(const json_t *report);

#endif
