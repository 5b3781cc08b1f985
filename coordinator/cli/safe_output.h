/*
 * A filter for standard output and standard error that escapes control bytes: names of files,
 * campaigns and networks come from other people, and could move a terminal's cursor, colour it or
 * set its title.
 */
#ifndef COORDINATOR_CLI_SAFE_OUTPUT_H
#define COORDINATOR_CLI_SAFE_OUTPUT_H

#include <stdio.h>

/* From here on stdout and stderr show control characters other than line ends and tabs, and bytes
 * that are no UTF-8, as \xNN. DEL and the control characters behind it are shown as \u00NN: so
 * that JSON strings that hold them stay valid JSON. Writes to the file descriptors bypass the
 * filter: a progress line moves the cursor so. Called once, before anything is printed. */
void safe_output_begin(void);

/* Creates or truncates a text file for writing through the same filter: people show reports with
 * cat. Returns NULL and sets errno where the file cannot be opened; fclose() closes it. */
FILE *safe_output_open(const char *path);

#endif
