/*
 * skipjack db collect: drops what the farm no longer needs. Internal to the
 * folder.
 */
#ifndef SCHEMA_COMMANDS_COLLECT_COMMAND_H
#define SCHEMA_COMMANDS_COLLECT_COMMAND_H

/* Runs the verb: argv[0] is its name. Returns the exit status. */
int command_db_collect(int argc, char **argv);

#endif
