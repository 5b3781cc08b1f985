/*
 * The report of a night: one JSON document, from which the text for the terminal and the page for browsers are made,
 * so that all three say the same. REGRESSIONS.md lists its members.
 */
#ifndef COORDINATOR_NIGHTS_REPORT_NIGHT_REPORT_H
#define COORDINATOR_NIGHTS_REPORT_NIGHT_REPORT_H

#include "schema/store/store.h"

#include <jansson.h>

#define NIGHT_REPORT_VERSION 1

/* The night's work for a target after judging, as far as it came. NULL members: not asked for. */
struct night_report_target {
    const char *target;
    int golden_version; /* the proposed version; 0 for none */
    bool golden_approved;
    const char *golden_words;  /* what `golden propose` said, or why it failed; one or more lines */
    const char *export_folder; /* the release */
    const char *export_words;  /* why it failed; NULL if it did not */
};

/* Reads a night's report from its rows (store_nights.h): reasons, findings, unfinished jobs, steps, conditions. A new
 * reference, or NULL. The files of an export get their size and SHA-256. outcomes: one for each target that has any. */
json_t *night_report_read(Store *store, int64_t night, const struct night_report_target *outcomes,
                          int count, GError **error);

/* Whether the night's exit status is 1: a confirmed slow-down or failure, a failed step, a failed export. */
bool night_report_is_bad(const json_t *report);

/* The report as text, with a line end. Free with g_free(). */
char *night_report_text(const json_t *report);

/* Writes report.json, report.txt and report.html into FOLDER/NAME-DATE/, which is made. Each file is complete or as it
 * was before. *written (may be NULL): that folder; free with g_free(). */
bool night_report_write(const json_t *report, const char *folder, char **written, GError **error);

#endif
