/*
 * Output goes through a filter that lets no control byte
 * through: names of files, campaigns and networks, and lines of input come from
 * others, and could move a terminal's cursor, colour it or set its title.
 */
#ifndef COORDINATOR_CLI_SAFE_OUTPUT_H
#define COORDINATOR_CLI_SAFE_OUTPUT_H

#include <stdio.h>

/* From here on stdout and stderr show control characters other than line ends and tabs, and bytes that
 * are no UTF-8, as \xNN. DEL and the control characters behind it are shown as \u00NN: JSON holds them as they are
 * within its strings, and stays JSON that way. Writes to the descriptors themselves are not filtered: the cursor of a
 * progress line is moved that way. Called once, before anything is printed. */
void safe_output_begin(void);

/* Opens a text file anew for writing through the same filter: people show reports with cat. Returns NULL and sets
 * errno where the file cannot be opened; fclose() closes it. */
FILE *safe_output_open(const char *path);

#endif
