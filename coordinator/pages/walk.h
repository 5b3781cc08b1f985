/*
 * Everything that the program says of its command lines, asked of the program itself: of the command table, then of
 * each command and verb (coordinator/cli/describe.h).
 */
#ifndef COORDINATOR_PAGES_WALK_H
#define COORDINATOR_PAGES_WALK_H

#include <glib.h>
#include <jansson.h>

/*
 * The command table as `skipjack --describe` prints it; each row of "commands" has also the members of the command's
 * own description, and in "verbs", where there are some, each verb has those of the verb's. A new reference; NULL with
 * COORDINATOR_ERROR_PROCESS if a command does not describe itself.
 */
json_t *pages_walk(GError **error);

/* A text of a description, or NULL. */
const char *pages_text(const json_t *object, const char *name);

#endif
