/*
 * Talking to a person at a terminal: questions before something is lost, lines
 * that are written again, and the nearest word to a mistyped one. Commands of
 * all rooms use it.
 */
#ifndef COORDINATOR_CLI_TERMINAL_H
#define COORDINATOR_CLI_TERMINAL_H

#include <glib.h>
#include <stdbool.h>

/* Asks "QUESTION [y/N] " where standard input is a terminal, and returns whether the answer is yes. The question is
 * printed on standard error, or on the terminal itself where standard error leads elsewhere. Where standard
 * input is no terminal nobody can answer: returns true, as it does without asking for `yes` (the command's
 * --yes). */
bool terminal_confirm(const char *question, bool yes);

/* Moves to the begin of the terminal's line and clears it, so that the next text on standard error
 * replaces what is there. */
void terminal_restart_line(void);

/* How many columns lines on standard output may take: COLUMNS where it is set to a number, else those of
 * the terminal, else 0, for no limit. */
int terminal_columns(void);

/* The word of the NULL-terminated list that is most like the given one, or NULL where none is like it. Words
 * are compared by Levenshtein's distance; one that begins with the given word is nearer than any other. */
const char *nearest_word(const char *given, const char *const *words);

#endif
