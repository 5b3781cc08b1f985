/*
 * skipjack db collect: drops what nobody needs any more. Internal to the room:
 * `db` is its command.
 */
#ifndef SCHEMA_COMMANDS_COLLECT_COMMAND_H
#define SCHEMA_COMMANDS_COLLECT_COMMAND_H

/* Runs the verb: argv[0] is its name. Returns the exit status. */
int command_db_collect(int argc, char **argv);

#endif
