/*
 * `skipjack COMMAND --describe` prints a command's texts and options as JSON. Man pages and shell completion are made from
 * it (coordinator/pages), so options are defined where the command parses them and nowhere else. Users do not see
 * --describe.
 */
#ifndef COORDINATOR_CLI_DESCRIBE_H
#define COORDINATOR_CLI_DESCRIBE_H

#include "coordinator/cli/cli.h"

#include <jansson.h>

#define DESCRIBE_OPTION "--describe"

/* Returns true if --describe is the only argument. */
bool describe_asked(int argc, char *const *argv);

/* The command's texts and "options": an array of objects with "long", "short" (or null), "argument" (or null), "help"
 * and "file", which is true if the argument is a file's name. A new reference. */
json_t *describe_command(const struct cli *cli);
/* The texts of a command with verbs, and "verbs" with "name" and "summary". A new reference. */
json_t *describe_verbs(const struct cli_verbs *list);

/* Prints the description and releases it. */
void describe_print(json_t *description);

#endif
