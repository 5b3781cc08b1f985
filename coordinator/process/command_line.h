/*
 * Command lines of this program that messages tell the user to run next.
 */
#ifndef COORDINATOR_PROCESS_COMMAND_LINE_H
#define COORDINATOR_PROCESS_COMMAND_LINE_H

/* How the user called this program, "build/skipjack"; main() sets it before any command runs. */
void command_line_set_program(const char *invoked);

/* Returns the command line of `words` (NULL-terminated), quoted for a shell and preceded by the settings that
 * name the database: it works when pasted into the user's shell. A SKIPJACK_DB that holds a password, or that
 * cannot be parsed, is left out. Free with g_free(). */
char *command_line(const char *const *words);

#endif
