/*
 * Dialogue at a terminal: questions before something is deleted, lines that are overwritten, and
 * suggestions for mistyped words.
 */
#ifndef COORDINATOR_CLI_TERMINAL_H
#define COORDINATOR_CLI_TERMINAL_H

#include <glib.h>
#include <stdbool.h>

/* Asks "QUESTION [y/N] " where standard input is a terminal, and returns whether the answer is
 * yes. The question is printed on standard error, or on the terminal itself when standard error
 * is redirected. When standard input is no terminal nobody can answer: returns true without
 * asking. `yes` (the command's --yes) returns true without asking, too. */
bool terminal_confirm(const char *question, bool yes);

/* Moves to the begin of the terminal's line and clears it, so that the next text on standard error
 * replaces what is there. */
void terminal_restart_line(void);

/* Returns the width of standard output in columns: the variable COLUMNS if it is a number, else
 * the terminal's width, else 0 for no limit. */
int terminal_columns(void);

/* Returns the word of the NULL-terminated list with the smallest Levenshtein distance from the
 * given word, or NULL when all are far. A word that begins with the given word is nearer than any
 * other. */
const char *nearest_word(const char *given, const char *const *words);

#endif
