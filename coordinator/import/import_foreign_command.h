/*
 * `skipjack import --foreign`, a part of the command import.
 */
#ifndef COORDINATOR_IMPORT_IMPORT_FOREIGN_COMMAND_H
#define COORDINATOR_IMPORT_IMPORT_FOREIGN_COMMAND_H

#include <stdbool.h>

struct import_foreign_options {
    const char *target, *name; /* NULL where not given */
    bool dry_run, strict, json;
};

/* Returns the exit status. */
int import_foreign_command(char **paths, const struct import_foreign_options *options);

#endif
