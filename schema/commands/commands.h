/*
 * The commands of this room, for main.c's table. argv[0] is the command's name.
 * Exit status: 0 done, 1 failed, 2 wrong usage.
 */
#ifndef SCHEMA_COMMANDS_COMMANDS_H
#define SCHEMA_COMMANDS_COMMANDS_H

/* skipjack db start|stop|status|migrate|url|blobs|psql */
int command_db(int argc, char **argv);

#endif
