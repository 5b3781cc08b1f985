/*
 * skipjack db roles: creates the roles of a farm's database and logins in them.
 * Internal to the folder.
 */
#ifndef SCHEMA_COMMANDS_ROLES_COMMAND_H
#define SCHEMA_COMMANDS_ROLES_COMMAND_H

/* Runs the verb: argv[0] is its name. Returns the exit status. */
int command_db_roles(int argc, char **argv);

#endif
