/*
 * Output goes through a filter that lets no control byte
 * through: names of files, campaigns and networks, and lines of input come from
 * others, and could move a terminal's cursor, colour it or set its title.
 */
#ifndef COORDINATOR_SAFE_OUTPUT_H
#define COORDINATOR_SAFE_OUTPUT_H

/* From here on stdout and stderr show control characters other than line ends and tabs, and bytes that
 * are no UTF-8, as \xNN. DEL and the control characters behind it are shown as \u00NN: JSON holds them as they are
 * within its strings, and stays JSON that way. Writes to the descriptors themselves are not filtered: the cursor of a
 * progress line is moved that way. Called once, before anything is printed. */
void safe_output_begin(void);

#endif
