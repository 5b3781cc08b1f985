/*
 * skipjack db blobs [--json] [--check | --move URL] [--drop-damaged]. Internal
 * to the folder.
 */
#ifndef SCHEMA_COMMANDS_BLOBS_COMMAND_H
#define SCHEMA_COMMANDS_BLOBS_COMMAND_H

/* Runs the verb: argv[0] is its name. Returns the exit status. */
int command_db_blobs(int argc, char **argv);

#endif
