/*
 * skipjack db token: tokens of serve's HTTP API. Internal to the folder.
 */
#ifndef SCHEMA_COMMANDS_TOKEN_COMMAND_H
#define SCHEMA_COMMANDS_TOKEN_COMMAND_H

/* Runs the verb: argv[0] is its name. Returns the exit status. */
int command_db_token(int argc, char **argv);

#endif
